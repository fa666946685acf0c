"""What heads for tasks refuse. What each reads: task_head_checks.py; their files: test_hugging_face_*.py."""
from __future__ import annotations

import pytest

from course_lib.transformer.gpt import GPT
from course_lib.transformer.task_heads import GPTClassifier, MultipleChoice, SequenceClassifier
from tests.support.types import untyped
from tests.transformer.bert_checks import TOKENS, small_bert


def gpt() -> GPT:
    return GPT({"vocab_size": 11, "window": 8, "layers": 1, "heads": 1, "d_model": 4})


@pytest.mark.parametrize("make, message", [
    (lambda: SequenceClassifier(small_bert(), 0), "classes is 0; expected at least 1"),
    (lambda: MultipleChoice(small_bert())(TOKENS), r"tokens has shape \(3, 8\); expected \(B, C, T\)"),
    (lambda: GPTClassifier(gpt(), 2, pad_id=11), r"pad_id is 11; expected 0 to 10"),
])
def test_bad_input(make, message):
    with untyped(), pytest.raises(ValueError, match=message):
        make()
