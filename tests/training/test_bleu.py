"""BLEU by hand, by nltk, and with its signature."""
from __future__ import annotations

import math
import sys

import pytest

from course_lib.training import bleu

HYPOTHESES = ["the cat sat on the red mat .", "a dog runs through the wet grass today", "two men play chess in a park , quietly"]
REFERENCES = [["the cat sat on the mat .", "there is a cat on the red mat ."], ["a dog runs in the wet grass", "the dog is running"],
              ["two men are playing chess in the park , quietly", "two men play chess in a quiet park"]]


def test_bleu_equals_nltk():
    from nltk.translate.bleu_score import corpus_bleu

    theirs = corpus_bleu([[r.split() for r in each] for each in REFERENCES], [h.split() for h in HYPOTHESES])
    assert bleu(HYPOTHESES, REFERENCES, tokenize="none").score == pytest.approx(100 * theirs, rel=1e-9)
    short = bleu(["the cat sat on"], [["the cat sat on the mat"]], tokenize="none")
    assert short.score == pytest.approx(100 * math.exp(1 - 6 / 4), rel=1e-9)


def test_bleu_signature():
    plain, cut = bleu(["It's a cat."], [["It's a cat."]]), bleu(["It's a CAT."], [["it's a cat."]], "none", lowercase=True)
    assert plain.score == pytest.approx(100) and "tok:13a" in plain.signature and "case:mixed" in plain.signature
    assert "tok:none" in cut.signature and "case:lc" in cut.signature and "version:" in cut.signature


@pytest.mark.parametrize("hypotheses, references, says", [
    ([], [], "0 texts"), (["a"], [["a"], ["b"]], "1 texts and references 2"), (["a"], ["a"], "references contains a text"),
    (["a"], [[]], "an empty list"),
])
def test_bad_input(hypotheses, references, says):
    with pytest.raises(ValueError, match=says):
        bleu(hypotheses, references)


def test_bleu_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(ModuleNotFoundError, match="pip install sacrebleu"):
        bleu(["a"], [["a"]])
