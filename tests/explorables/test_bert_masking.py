"""The rule of the masked language model: its figure against `mask_tokens`, number by number and in shares."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.explorables import MaskingForBert
from course_lib.explorables.bert_masking import (
    DONE,
    HIDDEN,
    KEPT,
    RANDOM,
    SENTENCES,
    SPECIAL,
    VOCABULARY,
    candidates,
    fates,
    reads,
    reshare,
    uniforms,
)
from course_lib.transformer.bert import mask_tokens
from tests.explorables.conftest import state_of
from tests.explorables.figure import Figure, choose, click, data, fill, keys, marks, refused, texts

RULES = [(15, [80, 10, 10]), (15, [100, 0, 0]), (60, [30, 50, 20]), (100, [0, 0, 100]), (100, [70, 10, 20]),
         (1, [0, 50, 50])]
OWN = "kitten [MASK] the [UNK] zebra [PAD] zebra"                    # specials inside, a word that no list has


def by_the_library(tokens, words, rate, shares, numbers, monkeypatch):
    """mask_tokens with these u, f and r (3, rows, T) for its random numbers: what is read, and what is chosen."""
    ids = {token: i for i, token in enumerate([*SPECIAL, *words])}
    row = torch.tensor([ids[token] for token in tokens]).expand(numbers.shape[1:])
    stated = iter(numbers)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "rand", lambda shape, **_: next(stated))
        patch.setattr(torch, "randint", lambda high, shape, **_: (next(stated) * high).long())
        read, chosen = mask_tokens(row, ids["[MASK]"], len(ids), [ids[s] for s in SPECIAL if s != "[MASK]"],
                                   rate=rate / 100, shares=tuple(share / 100 for share in shares))
    names = list(ids)
    return [[names[i] for i in line] for line in read.tolist()], chosen


@pytest.mark.parametrize("sentence", [*SENTENCES, OWN])
def test_fates_equal_mask_tokens(sentence, monkeypatch):
    w, seen = MaskingForBert(sentence), set()
    words = candidates(w.words, VOCABULARY)
    for rate, shares in RULES:
        w.rate, w.shares = rate, shares
        numbers = uniforms(rate, 3 * 40 * len(w.tokens)).view(3, 40, -1)
        read, chosen = by_the_library(w.tokens, words, rate, shares, numbers, monkeypatch)
        fate = fates(w.ordinary, rate, shares, numbers[0], numbers[1])
        assert torch.equal(fate > 0, chosen)
        assert [reads(w.tokens, k, r, words) for k, r in zip(fate, numbers[2])] == read
        seen |= set(fate.flatten().tolist())
        for w.seed in range(5):
            line, asked = by_the_library(w.tokens, words, rate, shares, w.numbers[:, None], monkeypatch)
            assert w.reads == line[0] and torch.equal(w.fate > 0, asked[0])
            assert w.asked == [token for token, is_asked in zip(w.tokens, asked[0].tolist()) if is_asked]
    assert seen == {0, HIDDEN, RANDOM, KEPT}


def test_counts_literal_loop():
    w, T = MaskingForBert(SENTENCES[1], seed=3, draws=100, rate=30, shares=[50, 30, 20]), 15
    assert len(w.tokens) == T and int(w.ordinary.sum()) == 12, "a [SEP] inside"
    numbers, tally, empty = uniforms(3, 100 * 3 * T).tolist(), {0: 0, HIDDEN: 0, RANDOM: 0, KEPT: 0}, 0
    for d in range(100):
        u, f = (numbers[3 * T * d + T * part:][:T] for part in (0, 1))
        found = [0 if a >= 0.3 else HIDDEN if b < 0.5 else RANDOM if b < 0.8 else KEPT
                 for a, b, token in zip(u, f, w.tokens) if token not in SPECIAL]
        empty += not any(found)
        for k in found:
            tally[k] += 1
    chosen = 1200 - tally[0]
    assert [(row.count, row.of) for row in w.counts] == [
        (chosen, 1200), (tally[HIDDEN], chosen), (tally[RANDOM], chosen), (tally[KEPT], chosen), (empty, 100)]
    assert [row.expected for row in w.counts] == pytest.approx([0.3, 0.5, 0.3, 0.2, 0.7 ** 12])
    w.draws = 1
    assert w.counts[0].count == int((w.fate > 0).sum()), "the shown draw is the first that is counted"


def test_reshare_sums_to_one():
    for a in range(0, 101, 5):
        for b in range(0, 101 - a, 5):
            for i in range(3):
                for value in range(0, 101, 5):
                    new = reshare([a, b, 100 - a - b], i, value)
                    assert sum(new) == 100 and min(new) >= 0 and new[i] == value
    assert reshare([80, 10, 10], 0, 85) == [85, 10, 5] and reshare([80, 10, 10], 1, 30) == [70, 30, 0]
    assert reshare([80, 10, 10], 2, 0) == [90, 10, 0] and reshare([5, 90, 5], 2, 50) == [0, 50, 50]


# --- in the browser ----------------------------------------------------------------------------------------------------


def same_counts(js, rows) -> None:
    for got, row in zip(js, rows, strict=True):
        assert got[:2] == [row.count, row.of]
        assert [math.nan if v is None else v for v in got[2:]] == pytest.approx([row.expected, row.error], abs=1e-12, nan_ok=True)


def test_javascript_equals_package(modules):
    cases = []
    for k, (rate, shares) in enumerate(RULES):
        for n, sentence in enumerate([*SENTENCES, OWN]):
            w = MaskingForBert(sentence, rate=rate, shares=shares, seed=[0, 1, 999_999, 4711][(n + k) % 4], draws=[1, 100][k % 2])
            if k % 2:
                w.hand = [(7 * i + n) % 3 - 1 for i in range(len(w.tokens))]
            cases.append(w)
    cases.append(MaskingForBert(draws=10_000, seed=12))
    shared = [([a, b, 100 - a - b], i, v) for a in range(0, 101, 20) for b in range(0, 101 - a, 20) for i in range(3)
              for v in range(0, 101, 10)]
    found, seeds, new = modules.evaluate("""async ([cases, state, shared]) => {
      const m = await import("./bert_masking.js");
      return [cases.map(c => {
        const tokens = m.drawn(c);
        return { tokens, counts: m.counts(tokens.map(t => t.ordinary), c.rate, c.shares, c.seed, c.draws)
          .map(row => [row.count, row.of, row.expected, row.error]),
          uniforms: [...m.uniforms(c.seed, 100)], others: m.candidates(c.words, c.vocabulary, c.special) };
      }), Array.from({ length: 500 }, (_, seed) => m.drawn({ ...state, seed }).map(t => t.fate)),
      shared.map(one => m.reshare(...one))];
    }""", [[state_of(w) for w in cases], state_of(MaskingForBert()), shared])
    for w, js in zip(cases, found, strict=True):
        assert js["uniforms"] == uniforms(w.seed, 100).tolist(), "to the last bit"
        assert [[t[k] for t in js["tokens"]] for k in "ufr"] == w.numbers.tolist()
        assert [t["fate"] for t in js["tokens"]] == w.fate.tolist() and [t["read"] for t in js["tokens"]] == w.reads
        same_counts(js["counts"], w.counts)
        assert js["others"] == candidates(w.words, VOCABULARY)
    w = MaskingForBert()
    for seed, fate in enumerate(seeds):
        w.seed = seed
        assert fate == w.fate.tolist()
    assert new == [reshare(*case) for case in shared]


def agrees(page, w) -> None:
    fate = data(page, "fate")
    assert fate == w.fate.tolist() and marks(page, "[data-fate]", "read") == w.reads
    assert [data(page, k) for k in "ufr"] == w.numbers.tolist()
    is_pressed = page.evaluate("""() => [...document.querySelectorAll("[data-token]")].map(e =>
      e.getAttribute("aria-pressed") === "true")""")
    assert is_pressed == [k > 0 for k, is_word in zip(fate, w.ordinary.tolist()) if is_word]
    same_counts(list(map(list, zip(*(data(page, k) for k in ("count", "of", "expected", "error"))))), w.counts)
    cells = page.evaluate("[...document.querySelectorAll('[data-fate]')].map(e => [...e.children].map(c => c.textContent))")
    for i, (token, u, shown, f, done, read, asked) in enumerate(cells):
        k = fate[i]
        assert (token, u) == (w.tokens[i], f"{w.numbers[0, i]:.4f}") and bool(shown) is True
        assert f == (f"{w.numbers[1, i]:.4f}" if k and w.step > 1 else "") and done == (DONE[int(k)] if w.step > 1 else "")
        assert read == (w.reads[i] if w.step > 2 else "") and asked == (w.tokens[i] if k and w.step > 3 else "")
    text = texts(page, "[data-reads]")[0]
    assert text.endswith(" ".join(w.reads)) if w.step > 2 else text == ""
    for shown, row in zip(texts(page, "[data-count]"), w.counts, strict=True):
        assert f"{row.count:,} of {row.of:,}" in shown and f"{100 * row.expected:.2f}" in shown


AT_FIRST = [-1] * 9
BAD = [
    (lambda: MaskingForBert(""), r"words is \[\]; expected 1 to 20"),
    (lambda: MaskingForBert("[SEP] [MASK]"), "words is .*; expected 1 to 20 words, at least one of them not a special token"),
    (lambda: MaskingForBert("word " * 21), "words is .*; expected 1 to 20"),
    (lambda: MaskingForBert(["two words"]), "words contains 'two words'; expected words of 1 to 24 characters without spaces"),
    ({"rate": 0}, "rate is 0; expected 1 to 100"),
    ({"shares": [80, 10, 20]}, r"shares is \[80, 10, 20\]; expected three whole percentages"),
    ({"shares": [110, -10, 0]}, r"shares is \[110, -10, 0\]"),
    ({"seed": -1}, "seed is -1; expected 0 to 999999"),
    ({"step": 5}, "step is 5; expected 1 to 4"),
    ({"draws": 7}, "draws is 7; expected one of 1, 100, 10000"),
    ({"hand": [1]}, r"hand is \[1\]; expected 9 numbers"),
    ({"hand": [2] * 9}, "hand is .*; expected 9 numbers, one per token, .*: 1 to select"),
]
FIGURE = Figure(MaskingForBert, agrees, bad=BAD, change={"seed": 2, "step": 4},
                rich={"words": SENTENCES[1].split(), "step": 4, "draws": 10_000, "hand": [-1, 1, -1, 0] + [-1] * 11},
                says=("To be predicted: deftly, bookshelf.", "15.00% ± 1.35%",
                      "bookshelf     0.1035  0.1926  [MASK]     [MASK]"), moves=[
    *((click("next step"), {"step": k}) for k in (2, 3, 4)),
    (keys("Enter", at="next step"), {}),                             # this is the last one
    (keys("ArrowUp", "ArrowDown", "ArrowDown", "Space", at="[data-token='1']"), {"hand": [-1, -1, -1, 1, -1, -1, -1, -1, -1]}),
    (keys("ArrowRight", "Enter"), {"hand": [-1, -1, -1, 1, 0, -1, -1, -1, -1]}),
    (keys("Enter"), {"hand": [-1, -1, -1, 1, -1, -1, -1, -1, -1]}),  # as drawn
    (keys("End", "Tab", "Shift+Tab", "Space", "Space"), {}),         # one stop, which remembers its place
    (click("take back what you chose"), {"hand": AT_FIRST}),
    (keys("ArrowRight", at="fieldset label:has-text('chosen') >> input"), {"rate": 16}),
    (keys("End", at="fieldset [type=range] >> nth=1"), {"shares": [100, 0, 0]}),
    (keys("PageUp", at="fieldset [type=range] >> nth=3"), {"shares": [90, 0, 10]}),
    (refused("Seed", -3, "x"), {}),
    (fill("Seed", 999_999), {"seed": 999_999}),
    (click("new draw"), {"seed": 0}),
    (click("step back"), {"step": 3}),
    (choose("Draws", 10_000), {"draws": 10_000}),
    (choose("Rule", 2), {"rate": 15, "shares": [0, 50, 50]}),
    (choose("Draws", 1), {"draws": 1}),
    (choose("Sentence", 1), {"words": SENTENCES[1].split(), "hand": [-1] * 15}),
    (fill("or your own", OWN), {"words": OWN.split()}),
    (refused("or your own", "word " * 21, "[SEP] [SEP]"), {}),
    (fill("or your own", "back again"), {"words": ["back", "again"]}),
])
