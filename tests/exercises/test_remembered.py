"""Functions that remember what they were asked last: the same answers as without, and nobody spoils them."""
from __future__ import annotations

import torch

from course_lib.exercises.remembered import Remembered


def counted(kept: int = 2):
    """A remembered function of a tensor and a number, and the list of what it was really asked."""
    asked = []

    def times(x, by=2):
        asked.append((x.tolist(), by))
        return x * by, x

    return Remembered(times, kept), asked


def test_another_question_is_another_answer():
    f, asked = counted(kept=9)
    x = torch.tensor([1, 0])
    for question in (x, x.float(), x.double(), x[:1], x[None], 1 - x):
        assert torch.equal(f(question)[0], question * 2) and f(question)[0].dtype == question.dtype
    assert f(x, 3)[0].tolist() == f(x, by=3)[0].tolist() == [3, 0]
    assert len(asked) == 8


def test_neither_the_answer_nor_the_question_can_be_spoilt():
    f, _ = counted()
    x = torch.ones(2)
    for part in f(x):
        part.zero_()
    assert f(x)[0].tolist() == [2, 2]
    x.mul_(7)                                                  # the same object, another question
    assert f(x)[0].tolist() == [14, 14]
    assert [part.tolist() for part in f(torch.ones(2))] == [[2, 2], [1, 1]]


def test_a_gradient_goes_through():
    f, asked = counted()
    x = torch.ones(2, requires_grad=True)
    for _ in range(2):
        f(x)[0].sum().backward()
    assert x.grad.tolist() == [4, 4] and len(asked) == 2
