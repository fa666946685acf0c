"""Calls in this process: every way to fail has its state, and a call cannot hurt the caller."""
from __future__ import annotations

import signal
import sys
import time

import pytest
import torch

from course_lib.grading import evaluate
from course_lib.grading.protocol.calls import Local, same, time_limit


def forever(*args):
    while True:
        pass


def swallows(*args):
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            pass


def hungry(*args):
    return torch.empty(10**15)


def deep(*args):
    return deep(*args)


def leaves(*args):
    sys.exit(0)


def asks(*args):
    raise EOFError("no input here")


@pytest.mark.parametrize("fn, kind, says", [
    (forever, "timeout", "0.2 seconds"), (swallows, "timeout", "0.2 seconds"), (hungry, "memory", "allocate"),
    (deep, "error", "RecursionError"), (leaves, "error", "SystemExit"), (asks, "error", "no input here"),
    (lambda x: object(), "error", "an object of type object"), (lambda x: {1, 2}, "error", "an object of type set"),
], ids=lambda value: getattr(value, "__name__", None))
def test_outcome_kinds(fn, kind, says):
    outcome = Local(fn, deadline=0.2).call([torch.ones(2)])
    assert outcome.kind == kind and says in outcome.detail


def test_interrupt_is_raised():
    def stop(*args):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Local(stop).call([])


def test_time_limit_restores_timer():
    def mine(*_):
        pass

    before = signal.signal(signal.SIGALRM, mine)
    try:
        signal.setitimer(signal.ITIMER_REAL, 50)
        with time_limit(0.5):
            pass
        assert signal.getsignal(signal.SIGALRM) is mine
        assert 49 < signal.setitimer(signal.ITIMER_REAL, 0)[0] <= 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_changed_arguments():
    x, words = torch.arange(3.0), ["a", "b"]

    def greedy(x, words):
        x[0] = float("nan")
        words.append("c")
        return 1

    assert Local(greedy).call([x, words]).changed == (0, 1)
    assert x.tolist() == [0, 1, 2] and words == ["a", "b"]
    assert Local(lambda x, words: x + 1).call([x, words]).changed == ()
    assert Local(lambda x, words: words.append(object())).call([x, words]).changed == (1,)


def test_gradients_equal_autograd():
    x, w = torch.randn(3, 4), torch.randn(4)
    weight = torch.randn(3)
    outcome = Local(lambda x, w: (x @ w).sin()).call([x, w], wrt=(1,), weight=weight)
    mine = w.clone().requires_grad_()
    ((x @ mine).sin() * weight).sum().backward()
    assert torch.equal(outcome.gradients[1], mine.grad)
    assert Local(lambda x, w: (x @ w).detach()).call([x, w], wrt=(1,)).kind == "no_gradient"
    zero = Local(lambda x, w: x.sum(1) * (w * 0 + 1).sum()).call([x.requires_grad_(), w], wrt=(1,))
    assert not zero.gradients[1].any()


@pytest.mark.parametrize("one, two, equal", [
    (1, torch.tensor(1.0), True), (1.0, 1, True), (True, 1, False), (float("nan"), float("nan"), True),
    (torch.ones(2), torch.ones(2, 1), False), ([1, 2], (1, 2), True), ([1, 2], (2, 1), False),
    ({"a": 1.0}, {"a": 1.0001}, False),
    ({"a": 1.0}, {"b": 1.0}, False), ([1.0, torch.zeros(2)], [1.0, torch.zeros(2)], True), (None, 0, False), ("a", "a", True),
])
def test_same(one, two, equal):
    assert same(one, two, 1e-6, 1e-6) is equal
    assert same(two, one, 1e-6, 1e-6) is equal


@pytest.mark.parametrize("answer, state", [
    (lambda x, W, c: torch.zeros(3, 3).bool(), "wrong_shape"), (lambda x, W, c: 1.0, "wrong_shape"),
    (lambda x, W, c: [1.0], "wrong_shape"), (lambda x, W, c: torch.zeros(x.shape), "wrong_value"),
    (lambda x, W, c: torch.sigmoid(x @ W.tril(-1).T + c).long(), "wrong_shape"),
    (lambda x, W, c: torch.sigmoid(x @ W.tril(-1).T + c).detach(), "wrong_gradient"),
    (hungry, "memory"), (lambda x: x, "error"),
])
def test_report_states(answer, state):
    report = evaluate("fvsbn_conditionals", answer, 0)
    assert report.state == state, report
    assert report.earned == (5 if state == "wrong_gradient" else 0)
