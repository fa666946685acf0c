"""The next word after two beginnings: its numbers are the library's, its tail is there, its point is visible untouched."""
from __future__ import annotations

import json
import math

import pytest
import torch

from course_lib.counting import NGram
from course_lib.decoding import keep_top_k, keep_top_p, reshape, sample
from course_lib.explorables.next_word import CONTEXTS, NextWord, Setting, after, prose_model, ranked, spelt
from course_lib.tokenizers import CharTokenizer


def test_the_distributions_are_those_of_the_chapters_model():
    """Every symbol is there, the start symbol alone has no probability, and float32 costs less than 1e-5."""
    w, (model, words) = NextWord(), prose_model()
    assert len(w.symbols) == 1230 and w.contexts == list(CONTEXTS)
    for i, text in enumerate(CONTEXTS):
        want = model.predict(model.start(1, words.encode(text)[None])).probs[0].double()
        torch.testing.assert_close(w.log_p(i).exp(), want, rtol=0, atol=1e-5)
        assert (w.log_p(i) == -math.inf).nonzero().tolist() == [[words.vocabulary.bos_id]]
        assert w.log_p(i).exp().sum().item() == pytest.approx(1, abs=1e-5)


def test_the_point_is_there_untouched():
    """One k: most of a flat beginning is cut, and signs come along after a sure one. One p: both sizes adapt."""
    w = NextWord()
    assert w.setting == Setting("top-k", 1, 5) and w.shown == (0, 1)
    flat, sure = w.after(0), w.after(1)
    assert flat.mass < 0.2 and sure.mass > 0.8
    first = w.log_p(1).argmax()
    assert w.log_p(1)[first].exp() > 0.8 and {w.symbols[v] for v in sure.kept.nonzero()[:, 0].tolist()} >= {".", ","}
    w.cut = "top-p"
    sizes = [int(w.after(i).kept.sum()) for i in w.shown]
    assert sizes[0] > 50 and sizes[1] == 1
    assert [w.after(i).mass >= 0.6 for i in w.shown] == [True, True]


@pytest.mark.parametrize("cut", ["none", "top-k", "top-p", "both"])
@pytest.mark.parametrize("tau, k, p", [(1, 5, 0.6), (0.5, 20, 0.9), (2, 1, 0.3), (0, 7, 0.5), (1.3, 1230, 1.0)])
def test_a_setting_is_the_librarys(cut, tau, k, p):
    log_p = NextWord().log_p(2)
    options = {"top_k": k if cut in ("top-k", "both") else None, "top_p": p if cut in ("top-p", "both") else None}
    got, want = after(log_p, Setting(cut, tau, k, p)), reshape(log_p, tau, **options)
    assert torch.equal(got.log_p, want) and torch.equal(got.kept, want > -torch.inf)
    assert got.mass == pytest.approx(reshape(log_p, tau).exp()[got.kept].sum().item())
    late, first = after(log_p, Setting(cut, tau, k, p, late=True)), reshape(log_p, 1, **options)
    assert torch.equal(late.log_p, reshape(first, tau)) and torch.equal(late.kept, first > -torch.inf)
    assert late.mass == pytest.approx(log_p.softmax(0)[late.kept].sum().item())


def test_a_late_temperature_leaves_the_kept_set_and_an_early_one_does_not():
    log_p, sizes = NextWord().log_p(2), {}
    for late in (False, True):
        sizes[late] = [int(after(log_p, Setting("top-p", tau, late=late)).kept.sum()) for tau in (0.5, 1, 2)]
    assert len(set(sizes[True])) == 1 and sizes[False] == sorted(set(sizes[False]))
    assert sizes[False][1] == sizes[True][0]


def test_what_is_kept_comes_first_in_the_order_of_the_page():
    w = NextWord()
    for i in range(len(CONTEXTS)):
        order, log_p = torch.tensor(ranked(w.log_p(i))), w.log_p(i)
        assert (log_p[order].diff() <= 0).all()
        for kept in (keep_top_k(log_p, 7), keep_top_p(log_p, 0.6), keep_top_p(log_p, 0.93)):
            n = int(kept.sum())
            assert kept[order[:n]].all() and not kept[order[n:]].any()


def test_draws_follow_the_setting():
    """As many at once as the figure holds: only what is kept, the likeliest nearly as often as it should be."""
    w = NextWord(draws=40)
    counts = torch.zeros(2, len(w.symbols), dtype=torch.long)
    for seed in range(50):
        w.seed = seed
        for row, i in zip(counts, w.shown):
            row += torch.bincount(torch.tensor(w.drawn(i)), minlength=len(w.symbols))
    for row, i in zip(counts, w.shown):
        found = w.after(i)
        assert row.sum() == 2000 and not row[~found.kept].any()
        best = found.log_p.argmax()
        p = found.log_p[best].exp().item()
        assert abs(row[best].item() - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p))


def test_any_model_of_symbols_will_do():
    words = CharTokenizer.fit("to be or not to be")
    model = NGram(n=2, vocab_size=len(words.vocabulary), smoothing="add")
    model.fit_counts(words.encode("to be or not to be"))
    w = NextWord(["t", "b"], model, words, cut="top-p", top_p=0.3)
    assert w.symbols == words.vocabulary.symbols and "after “b”: keeps 1 of" in w.text()
    torch.testing.assert_close(w.after(0).log_p, reshape(w.log_p(0), top_p=0.3))
    assert sample(model, 1, words.encode("b")[None], top_p=0.3).tokens.item() in w.after(1).kept.nonzero()


def test_what_is_stored_is_small_and_has_words():
    w = NextWord()
    assert repr(w) == "NextWord()" and len(json.dumps(w.get_state()).encode()) <= 100_000
    lines = w.text().splitlines()
    assert lines[0] == "Interactive figure: the next word after two beginnings; temperature 1, then top-k 5."
    assert lines[1] == "after “in the”: keeps 5 of 1,229 words, which hold 0.136 of the mass"
    assert lines[2].startswith("  town 0.031 becomes 0.226, ") and "“.” 0.009 becomes" in lines[5]
    assert lines[3].count(",") == 9 and len(lines) == 7
    assert len(NextWord(draws=0).text().splitlines()) == 5
    late = NextWord(cut="both", late=True).text().splitlines()[0]
    assert late.endswith("top-k 5, then top-p 0.6, then temperature 1.")
    assert [spelt(s) for s in ("\n", " it's", " ,")] == ["⏎", "it's", "“,”"]


@pytest.mark.parametrize("make, message", [
    (lambda: NextWord("in the"), "contexts is 'in the'; expected a list of 2 to 8 beginnings"),
    (lambda: NextWord(["in the"]), "expected a list of 2 to 8 beginnings"),
    (lambda: NextWord(["in the", ""]), "contexts holds '', which has no symbol"),
    (lambda: NextWord(model=prose_model()[0]), "model and words belong together"),
    (lambda: NextWord(left=6), "left is 6; expected a number from 0 to 5"),
    (lambda: NextWord(right=-1), "right is -1"),
    (lambda: NextWord(cut="min-p"), "cut is 'min-p'; expected 'none' or 'top-k' or 'top-p' or 'both'"),
    (lambda: NextWord(temperature=2.1), "temperature is 2.1; expected a number from 0 to 2"),
    (lambda: NextWord(top_k=0), "top_k is 0; expected a number from 1 to 1230"),
    (lambda: NextWord(top_p=0), "top_p is 0"),
    (lambda: NextWord(draws=41), "draws is 41; expected a number from 0 to 40"),
    (lambda: setattr(NextWord(), "seed", -1), "seed is -1"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_vocabulary_that_does_not_fit_is_refused():
    words = CharTokenizer.fit("".join(map(chr, range(0x4E00, 0x4E00 + 2001))))
    model = NGram(n=2, vocab_size=len(words.vocabulary), smoothing="add")
    with pytest.raises(ValueError, match="words has 2001 symbols; at most 2000 fit into the figure"):
        NextWord([chr(0x4E00), chr(0x4E01)], model, words)
