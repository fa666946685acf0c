"""BLEU by hand, by nltk, and with its signature."""
from __future__ import annotations

import math
import sys
from collections import Counter

import pytest

from course_lib.training import bleu

HYPOTHESES = ["the cat sat on the red mat .", "a dog runs through the wet grass today", "two men play chess in a park , quietly"]
REFERENCES = [["the cat sat on the mat .", "there is a cat on the red mat ."], ["a dog runs in the wet grass", "the dog is running"],
              ["two men are playing chess in the park , quietly", "two men play chess in a quiet park"]]


def by_hand(hypotheses, references):
    """The paper's formula, over a corpus."""
    matches, totals, length, nearest = Counter(), Counter(), 0, 0
    for hypothesis, each in zip(hypotheses, references, strict=True):
        words, others = hypothesis.split(), [reference.split() for reference in each]
        length += len(words)
        nearest += min((abs(len(o) - len(words)), len(o)) for o in others)[1]
        for n in range(1, 5):
            def grams(tokens, n=n):
                return Counter(tuple(tokens[i:i + n]) for i in range(len(tokens) - n + 1))

            most = Counter()
            for other in others:
                most |= grams(other)
            matches[n] += sum((grams(words) & most).values())
            totals[n] += max(0, len(words) - n + 1)
    precision = math.exp(sum(math.log(matches[n] / totals[n]) for n in range(1, 5)) / 4)
    return 100 * min(1.0, math.exp(1 - nearest / length)) * precision


def test_the_formula():
    assert bleu(HYPOTHESES, REFERENCES, tokenize="none").score == pytest.approx(by_hand(HYPOTHESES, REFERENCES), rel=1e-9)
    short, one = ["the cat sat on"], [["the cat sat on the mat"]]
    assert bleu(short, one, tokenize="none").score == pytest.approx(100 * math.exp(1 - 6 / 4), rel=1e-9)


def test_it_is_nltks():
    from nltk.translate.bleu_score import corpus_bleu

    theirs = corpus_bleu([[r.split() for r in each] for each in REFERENCES], [h.split() for h in HYPOTHESES])
    assert bleu(HYPOTHESES, REFERENCES, tokenize="none").score == pytest.approx(100 * theirs, rel=1e-9)


def test_the_signature_tells_how_it_was_cut():
    plain, cut = bleu(["It's a cat."], [["It's a cat."]]), bleu(["It's a CAT."], [["it's a cat."]], "none", lowercase=True)
    assert plain.score == pytest.approx(100) and "tok:13a" in plain.signature and "case:mixed" in plain.signature
    assert "tok:none" in cut.signature and "case:lc" in cut.signature and "version:" in cut.signature


@pytest.mark.parametrize("hypotheses, references, says", [
    ([], [], "0 texts"), (["a"], [["a"], ["b"]], "1 texts and references 2"), (["a"], ["a"], "references holds a text"),
    (["a"], [[]], "an empty list"),
])
def test_bad_input(hypotheses, references, says):
    with pytest.raises(ValueError, match=says):
        bleu(hypotheses, references)


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ModuleNotFoundError, match="pip install sacrebleu"):
        bleu(["a"], [["a"]])
