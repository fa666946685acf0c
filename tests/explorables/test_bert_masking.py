"""The rule of the masked language model: its figure against `mask_tokens`, number by number and in shares."""
from __future__ import annotations

import json
import math

import pytest
import torch

from course_lib.explorables import MaskingForBert
from course_lib.explorables.bert_masking import (
    BY_DRAW,
    HIDDEN,
    KEPT,
    RANDOM,
    SENTENCES,
    SPECIAL,
    VOCABULARY,
    candidates,
    counts,
    fates,
    reads,
    reshare,
    uniforms,
)
from course_lib.transformer.bert import mask_tokens

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


def test_the_numbers_of_a_seed_are_those_of_the_formula():
    """Whole numbers of any size and no library; the first of seed 1 written down, so that they stay for ever."""
    def mix(x):
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
            x = (x ^ x >> shift) * factor % 2 ** 32
        return x ^ x >> 16

    for seed in (0, 1, 77, 999_999):
        expected = [mix((mix(seed) + i * 0x9E3779B9) % 2 ** 32) / 2 ** 32 for i in range(50)]
        assert uniforms(seed, 50).tolist() == expected
    assert round(float(uniforms(1, 1)[0]), 4) == 0.1872
    assert uniforms(7, 10).tolist() == uniforms(7, 30)[:10].tolist(), "a longer draw begins with the shorter one"


def test_the_numbers_of_a_seed_behave_as_uniform_and_independent():
    """Chi-square in a grid of 10 x 10 for neighbours, u and f of a token (9 apart), and next draws (27 apart)."""
    for seed in (0, 1, 2, 999_999):
        x = (10 * uniforms(seed, 200_000)).long()
        assert 0 <= int(x.min()) and int(x.max()) <= 9
        for lag in (1, 9, 27):
            table = torch.bincount(10 * x[:-lag] + x[lag:], minlength=100).double()
            expected = table.sum() / 100
            assert float(((table - expected) ** 2 / expected).sum()) < 99 + 5 * math.sqrt(2 * 99)
    first = torch.stack([uniforms(seed, 2) for seed in range(5000)])
    grid = torch.bincount((first * 10).long() @ torch.tensor([10, 1]), minlength=100).double()
    assert float(((grid - 50) ** 2 / 50).sum()) < 99 + 5 * math.sqrt(2 * 99), "seeds that follow each other are apart"


@pytest.mark.parametrize("sentence", [*SENTENCES, OWN])
def test_the_rule_is_that_of_mask_tokens_number_by_number(sentence, monkeypatch):
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


def test_special_tokens_are_never_chosen_not_even_by_hand():
    w = MaskingForBert(OWN, rate=100)
    w.hand = [1] * len(w.tokens)
    assert w.tokens[0] == "[CLS]" and w.tokens[-1] == "[SEP]"
    untouched = [token for token, k in zip(w.tokens, w.fate.tolist()) if not k]
    assert untouched == ["[CLS]", "[MASK]", "[UNK]", "[PAD]", "[SEP]"]
    assert not set(candidates(w.words, VOCABULARY)) & set(SPECIAL)
    assert candidates(w.words, VOCABULARY)[-1] == "zebra" and candidates(w.words, VOCABULARY).count("zebra") == 1


def test_the_hand_chooses_and_the_numbers_decide_the_fate():
    w = MaskingForBert(hand=[-1, -1, -1, 1, 0, -1, -1, -1, -1])
    u, f, _ = w.numbers.tolist()
    assert u[3] >= 0.15 and 0.8 <= f[3] < 0.9 and u[4] < 0.15
    assert w.asked == ["kitten", "bookshelf"] and w.reads[3] in VOCABULARY and w.reads[3:5] != w.tokens[3:5]
    assert w.reads[4] == "deftly"
    counted = w.counts
    w.hand = [BY_DRAW] * 9
    assert w.asked == ["deftly", "bookshelf"]
    assert w.counts == counted, "what is chosen by hand is not counted"
    w.hand = [1] * 9
    w.words = "Seven words in place of seven others".split()
    assert w.hand == [BY_DRAW] * 9, "another sentence starts anew"


def test_counts_are_those_of_the_draws_one_by_one():
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


def test_expected_shares_are_those_of_the_library():
    """20,000 draws of mask_tokens with its own generator: within four standard errors of what the figure expects."""
    w = MaskingForBert(SENTENCES[1])
    for rate, shares in ((15, [80, 10, 10]), (40, [50, 20, 30])):
        ids = torch.tensor([token not in SPECIAL for token in w.tokens]).long() * torch.arange(4, 4 + len(w.tokens))
        read, chosen = mask_tokens(ids.expand(20_000, -1), 3, 5000, [0, 1, 2], rate=rate / 100,
                                   shares=tuple(s / 100 for s in shares), generator=torch.Generator().manual_seed(1))
        n, kept = int(chosen.sum()), chosen & (read == ids)
        found = [(n, 12 * 20_000), (int((read == 3)[chosen].sum()), n),
                 (n - int((read == 3)[chosen].sum()) - int(kept.sum()), n), (int(kept.sum()), n),
                 (int((~chosen).all(1).sum()), 20_000)]
        for (count, of), row in zip(found, counts(w.ordinary, rate, shares, 1, 1), strict=True):
            p = row.expected
            assert abs(count / of - p) < 4 * math.sqrt(p * (1 - p) / of) + 1 / 5000, row.label


def test_standard_errors_are_the_spread_over_seeds():
    """300 seeds, 100 draws each: deviations in units of the standard error have mean 0 and spread 1."""
    ordinary = MaskingForBert().ordinary
    z = torch.tensor([[(row.count / row.of - row.expected) / row.error
                       for row in counts(ordinary, 15, [80, 10, 10], seed, 100)] for seed in range(300)])
    assert (z.mean(0).abs() < 4 / math.sqrt(300)).all() and ((z.std(0) - 1).abs() < 0.17).all(), (z.mean(0), z.std(0))


def test_nothing_chosen_has_no_shares():
    w = MaskingForBert("the", rate=1, draws=1, seed=1)
    assert [row.of for row in w.counts] == [1, 0, 0, 0, 1] and math.isnan(w.counts[1].error)
    assert "To be predicted: nothing." in w.text() and "chosen: random            0 of 0, -;" in w.text()


def test_shares_always_sum_to_one_and_the_last_gives_way_first():
    for a in range(0, 101, 5):
        for b in range(0, 101 - a, 5):
            for i in range(3):
                for value in range(0, 101, 5):
                    new = reshare([a, b, 100 - a - b], i, value)
                    assert sum(new) == 100 and min(new) >= 0 and new[i] == value
    assert reshare([80, 10, 10], 0, 85) == [85, 10, 5] and reshare([80, 10, 10], 1, 30) == [70, 30, 0]
    assert reshare([80, 10, 10], 2, 0) == [90, 10, 0] and reshare([5, 90, 5], 2, 50) == [0, 50, 50]


def test_what_is_stored_is_small_and_has_words():
    w = MaskingForBert()
    assert repr(w) == "MaskingForBert()" and " ".join(w.words) == "The curious kitten deftly climbed the bookshelf"
    assert len(VOCABULARY) == len(set(VOCABULARY)) and not set(VOCABULARY) & set(SPECIAL)
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    row = w.counts[0]
    assert f"tokens chosen             {row.count} of 700, {row.count / 700:.2%}; 15.00% ± 1.35%" in text
    assert "To be predicted: deftly, bookshelf." in text and "bookshelf     0.1035  0.1926  [MASK]     [MASK]" in text
    state = {k: v for k, v in w.get_state().items() if k not in ("_esm", "_css")}
    assert len(json.dumps(state).encode()) <= 100_000


@pytest.mark.parametrize("make, message", [
    (lambda: MaskingForBert(""), r"words is \[\]; expected 1 to 20"),
    (lambda: MaskingForBert("[SEP] [MASK]"), "words is .*; expected 1 to 20, not all of them special"),
    (lambda: MaskingForBert("word " * 21), "words is .*; expected 1 to 20"),
    (lambda: MaskingForBert(["two words"]), "words holds 'two words'; a word has 1 to 24 characters and no space"),
    (lambda: MaskingForBert(["a" * 25]), "words holds 'a+'; a word has 1 to 24 characters"),
    (lambda: MaskingForBert(rate=0), "rate is 0; expected 1 to 100"),
    (lambda: MaskingForBert(rate=101), "rate is 101; expected 1 to 100"),
    (lambda: MaskingForBert(shares=[80, 10, 20]), r"shares is \[80, 10, 20\]; expected three whole percentages"),
    (lambda: MaskingForBert(shares=[110, -10, 0]), r"shares is \[110, -10, 0\]"),
    (lambda: MaskingForBert(seed=-1), "seed is -1; expected 0 to 999999"),
    (lambda: MaskingForBert(step=5), "step is 5; expected 1 to 4"),
    (lambda: MaskingForBert(draws=7), "draws is 7; the figure counts 1, 100, 10000"),
    (lambda: MaskingForBert(hand=[1]), r"hand is \[1\]; expected 9 numbers"),
    (lambda: MaskingForBert(hand=[2] * 9), "hand is .*; expected 9 numbers: 1 chosen, 0 not chosen, -1 as drawn"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
