"""One text under every objective: the figure against the package's own functions, number by number."""
from __future__ import annotations

import itertools
import math

import pytest
import scipy.stats
import torch

from course_lib.explorables import Corruptions
from course_lib.explorables.corruptions import (
    END,
    MASK,
    NAMES,
    OBJECTIVES,
    RIGHT,
    SENTINELS,
    SHARES,
    TEXTS,
    VOCABULARY,
    cut,
    numbers_of,
    task,
)
from course_lib.transformer.corruption import mask_tokens
from course_lib.transformer.denoising import (
    document_rotation,
    gap_sentences,
    order_masks,
    replace,
    restore,
    sentence_permutation,
    span_corruption,
    split_sentences,
    text_infilling,
    token_deletion,
    token_masking,
)
from tests.explorables.conftest import state_of
from tests.explorables.figure import Figure, choose, click, fill, keys, pressed, refused

OWN = ["cats purr", "one .", ". . . .", "a b a b a b a b a b a b a b a b a b a b a b a b"]
SIGNS = [MASK, *SENTINELS]


def by_the_library(name: str, paper: int, words: list[str], numbers, share: int, monkeypatch) -> tuple:
    """What is read and told, and the places with a loss, by the package's functions, which draw from `numbers`."""
    known = [*SIGNS, *dict.fromkeys([*VOCABULARY, *words])]
    ids = {token: i for i, token in enumerate(known)}
    text, T, rate = torch.tensor([ids[t] for t in words]), len(words), (share or paper) / 100
    one = lambda: next(numbers)                                                          # noqa: E731
    some = lambda shape: torch.tensor([one() for _ in range(math.prod(shape))], dtype=torch.float64).view(shape)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(torch, "rand", lambda shape, **_: some(shape))
        patch.setattr(torch, "randint", lambda high, shape, **_: (some(shape) * high).long())
        patch.setattr(torch, "randperm", lambda n, **_: some((n,)).argsort())
        patch.setattr(torch, "poisson", lambda mean, **_: torch.tensor(scipy.stats.poisson.ppf(one(), mean.item())))
        if name in ("BERT", "RoBERTa", "ELECTRA"):
            if name == "ELECTRA":
                u, f, r = some((3, T))
                draws, chosen = torch.tensor([ids[t] for t in known[len(SIGNS):]])[(r * (len(known) - len(SIGNS))).long()], u < rate
                read = replace(text, chosen, torch.where(f < RIGHT, text, draws))
                return words_of(known, read.tokens), [str(int(one)) for one in read.replaced], list(range(T))
            read, chosen = mask_tokens(text[None], ids[MASK], len(known), [ids[s] for s in SENTINELS], rate=rate)
            return words_of(known, read[0]), words_of(known, text[chosen[0]]), chosen[0].nonzero()[:, 0].tolist()
        if name == "T5":
            pair = span_corruption(text, [ids[s] for s in SENTINELS], rate, 3.0)
            assert torch.equal(restore(*pair, [ids[s] for s in SENTINELS]), text)
            return words_of(known, pair.read), words_of(known, pair.target), []
        read = {"BART: masked": lambda: token_masking(text, ids[MASK], rate), "BART: deleted": lambda: token_deletion(text, rate),
                "BART: infilled": lambda: text_infilling(text, ids[MASK], rate, 3.0),
                "BART: permuted": lambda: sentence_permutation(text, ids[END]) if END in ids else text,
                "BART: rotated": lambda: document_rotation(text)}[name]()
        return words_of(known, read), words, []


def words_of(known: list[str], tokens) -> list[str]:
    return [known[i] for i in tokens.tolist()]


@pytest.mark.parametrize("objective", [i for i, name in enumerate(NAMES) if name not in ("XLNet", "Pegasus")],
                         ids=lambda i: NAMES[i])
def test_task_equals_library(objective, monkeypatch):
    name, paper, _ = OBJECTIVES[objective]
    seen = set()
    for text in [*TEXTS, *OWN]:
        words = cut(text)
        for seed in range(6):
            for share in SHARES:
                found = task(objective, words, seed, 1 + seed % 3, share)
                numbers = numbers_of(objective, seed, 1 + seed % 3)
                assert (found.reads, found.tells, found.at) == by_the_library(name, paper, words, numbers, share, monkeypatch)
                assert found.losses == (len(found.at) or len(found.tells))
                seen.add(" ".join(found.reads))
    assert len(seen) > 12, "the draws differ"


def test_task_xlnet_masks():
    words = cut(TEXTS[0])
    for seed in range(20):
        found = task(NAMES.index("XLNet"), words, seed)
        order = [found.turn.index(k + 1) for k in range(len(words))]
        query = order_masks(order)[1]
        turn = torch.tensor(found.turn)
        assert torch.equal(query, turn[None] < turn[:, None])
        assert found.reads == words and found.tells == [words[i] for i in order] and found.at == list(range(len(words)))


def test_task_pegasus_sentence():
    for text in [*TEXTS, "a b . c d e . b c f ."]:
        ids = {token: i for i, token in enumerate(dict.fromkeys(cut(text)))}
        parts = [part.tolist() for part in split_sentences(torch.tensor([ids[t] for t in cut(text)]), ids[END])]
        gaps, found = gap_sentences(parts), task(NAMES.index("Pegasus"), cut(text), 0)
        assert [ids[t] for t in found.tells] == gaps.target[0]
        assert found.reads == [t for i, part in enumerate(parts)
                               for t in ([MASK] if i in gaps.chosen else [list(ids)[k] for k in part])]
    assert task(NAMES.index("Pegasus"), cut("one sentence ."), 0) == (["one", "sentence", "."], [], [], [])


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_python(modules):
    cases = [{"words": cut(text), "seed": seed, "share": share, "reading": reading, "i": i}
             for text, seed, share, reading in itertools.product([*TEXTS, *OWN], (0, 5, 9999), SHARES, (1, 2, 100))
             for i in range(len(NAMES))]
    got = modules.evaluate("""async ([cases, fixed]) => {
      const { task } = await import("./corruptions.js");
      return cases.map(c => { const t = task({ ...c, ...fixed }, c.i, c.reading); return [t.reads, t.tells, t.at, t.turn]; });
    }""", [cases, {"objectives": [list(one) for one in OBJECTIVES], "vocabulary": VOCABULARY}])
    for case, js in zip(cases, got, strict=True):
        assert js == list(task(case["i"], case["words"], case["seed"], case["reading"], case["share"])), case


def agrees(page, w) -> None:
    got = page.evaluate("""() => [...document.querySelectorAll("tbody tr")].map(e => [e.dataset,
      [...e.children].map(c => c.textContent.trim()), [1, 2].map(k => e.children[k].querySelectorAll(".cl-co-loss").length)])""")
    losses = w.losses
    for (row, cells, under), (name, t) in zip(got, w.tasks.items(), strict=True):
        assert (row["reads"], row["tells"]) == (" ".join(t.reads), " ".join(t.tells)), name
        assert [row["at"], row["turn"]] == [" ".join(map(str, part)) for part in (t.at, t.turn)], name
        assert int(row["losses"]) == t.losses and float(row["hundred"]) == pytest.approx(losses[name], abs=1e-9), name
        whole = t.tells == list(w.words) and not t.at
        assert cells[:2] == [name, " ".join(f"{a}{k}" for a, k in zip(t.reads, t.turn)) if t.turn else " ".join(t.reads)]
        assert whole or not t.tells or cells[2] == " ".join(t.tells)
        assert cells[3] == str(t.losses) and abs(int(cells[4]) - losses[name]) <= 0.5 + 1e-9
        assert under == ([len(t.at), 0] if t.at else [0, 1 if whole else len(t.tells)]), name
    assert pressed(page, "[data-row]") == [w.row]


BAD = [
    (lambda: Corruptions("one"), "words has 1 tokens; expected 2 to 24"),
    (lambda: Corruptions(["two words", "x"]), "words contains 'two words'; expected words of 1 to 14 characters without spaces"),
    ({"seed": -1}, "seed is -1; expected 0 to 9999"),
    ({"reading": 0}, "reading is 0; expected 1 to 100"),
    ({"share": 15}, "share is 15; expected 0, 30, 50"),
    ({"row": 11}, "row is 11; expected 0 to 10"),
]
FIGURE = Figure(Corruptions, agrees, bad=BAD, change={"row": 4}, rich={"share": 30}, height=620,
                says=("[M] warm bread . she sells the [M] . it rains [M] | tells: bakes bread . | losses: 3, ",
                      "ELECTRA. Reads: the cook milk warm bread . she sells the bread . it rains slices | tells: 0 0 1 0",
                      "XLNet. Reads: the("), moves=[
    (keys("Tab", "Tab", "ArrowDown", "ArrowDown", "Enter", at="begin again"), {"row": 2}),
    (click("read it again"), {"reading": 2}),
    (click("T5"), {"row": NAMES.index("T5")}),
    (choose("Spoilt", 50), {"share": 50}),
    (click("draw anew"), {"seed": 8, "reading": 1}),
    (choose("Text", 2), {"words": cut(TEXTS[2])}),
    (fill("or your own", "Only one sentence!"), {"words": ["Only", "one", "sentence", "."]}),
    (click("Pegasus"), {"row": NAMES.index("Pegasus")}),             # it needs two
    (refused("or your own", "word", "a [M] b", "b" * 15 + " c", "x " * 25), {}),
    (click("begin again"), lambda w: {k: v for k, v in state_of(Corruptions()).items() if k != "alt"}),
])
