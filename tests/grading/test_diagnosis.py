"""A misconception is named only where it is the only one that fits; two are joined only where both sentences are true."""
from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.grading import EXERCISES, Exercise, evaluate
from course_lib.grading.protocol.calls import Local
from course_lib.grading.verdict import grade

# answers that were once told something false, and the words of it

def alpha_too_late(train, test, V, alpha):
    counts = torch.zeros(V, V, dtype=torch.float64)
    counts.index_put_((train[:-1], train[1:]), torch.ones(len(train) - 1, dtype=torch.float64), accumulate=True)
    p = counts / counts.sum(1, keepdim=True) + alpha
    return -p.log2()[test[:-1], test[1:]].mean()


def mean_of_probabilities(log_probs, n):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))
    return [k for k, f in enumerate(log_probs) if abs(f(states).double().exp().mean() - 1) > 1e-3]


def mutual_information(joint, child, parent):
    joint = joint.sum(tuple(k for k in range(joint.ndim) if k not in (child, parent)), keepdim=True)
    return (joint * (joint / (joint.sum(child, keepdim=True) * joint.sum(parent, keepdim=True))).log()).sum()


def small_number_in_the_logarithm(x, p):
    return (x * (p + 1e-5).log() + (1 - x) * (1 - p + 1e-5).log()).sum(1)


def upper_triangle(x, W, c):
    return torch.sigmoid(x @ W.tril(-1) + c)


def unshifted(logits, tokens, lengths):
    real = torch.arange(tokens.shape[1]) < lengths[:, None]
    return -logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0][real].mean()


def eps_of_its_own(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, x.shape[-1:], gamma, beta)


def additive_mask(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ v
    scores = scores + torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return scores.softmax(-1).masked_fill(~mask, 0) @ v


def integer_masks(*args):
    return [mask.long() for mask in EXERCISES["made_masks"].solve(*args)]


FALSE = {
    "bigram_bits": [(alpha_too_late, "do not add alpha"), (lambda *_: float("nan"), "do not add alpha")],
    "find_impostors": [(mean_of_probabilities, "And:")],
    "dropped_parent_cost": [(mutual_information, "after the child")],
    "bernoulli_chain_loglik": [(small_number_in_the_logarithm, "does not reach it")],
    "fvsbn_conditionals": [(upper_triangle, "And:")],
    "next_token_loss": [(unshifted, "one token too many")],
    "layer_norm": [(eps_of_its_own, "gives NaN")],
    "attention": [(additive_mask, "does not reach it")],
    "made_masks": [(integer_masks, "they are booleans")],
}


@pytest.mark.parametrize("id, answer, words", [(id, *one) for id, some in FALSE.items() for one in some])
def test_right_value_with_wrong_gradient(id, answer, words):
    for seed in range(5):
        report = evaluate(id, answer, seed)
        assert report.state != "right" and words not in report.message, report


def test_overwritten_tensor_is_explained():
    def answer(a):
        shifted = a - a.amax(-1, keepdim=True)
        weights = shifted.exp()
        total = weights.sum(-1, keepdim=True).log()
        weights *= 2
        return shifted - total

    report = evaluate("stable_log_softmax", answer, 0)
    assert report.state == "wrong_gradient" and "writes over a tensor" in report.message and "FloatTensor" not in str(report)


# an exercise made for these tests: the twins act on different inputs, or hide one another

def made(cases=None, **twins):
    """x.exp() + y, with the twins as functions of (x, y, result)."""
    exercise = Exercise("made", "00", "Made up", "x, y (4,)", [], 1, 1)

    @exercise.reference()
    def reference(x, y):
        result = x.exp() + y
        for step in steps:
            result = step(x, y, result)
        return result

    steps = []                                           # one for each twin, so that two can act together
    for name, (sentence, change) in twins.items():
        steps.append(exercise.step(lambda x, y, result: result))
        exercise.misconception(steps[-1], sentence, name)(change)

    def drawn(generator):
        return [(torch.randn(4, generator=generator), torch.randn(4, generator=generator)) for _ in range(2)]

    return exercise.compare("values", cases or drawn)


def run(exercise, answer, seed=0):
    return grade(exercise, Local(answer).call, seed)


def large(generator):
    """In the second case an exponential overflows."""
    x = torch.randn(4, generator=generator)
    return [(x, x + 1), (torch.tensor([0.0, 1.0, 2.0, 1000.0]), x)]


PLUS = ("Your result is one too large.", lambda x, y, result: result + 1)
MINUS = ("Your result has the wrong sign.", lambda x, y, result: -result)
SILENT = ("You add nothing.", lambda x, y, result: result * math.nan)
SPEAKING = ("Your result is NaN: you divide by zero.", lambda x, y, result: result * math.nan)


@pytest.mark.parametrize("twin", [SILENT, SPEAKING])
def test_all_nan_names_nothing(twin):
    report = run(made(twin=twin), lambda x, y: x * math.nan)
    assert report.misconception is None and report.message.startswith("Every entry is NaN")


def test_positions_of_nan_are_informative():
    def root(x, y, result):
        return x.exp() + y.sqrt().square()

    report = run(made(root=("You take a root of what may be negative.", root)), lambda x, y: x.exp() + y.sqrt().square())
    assert report.misconception == "root"


def test_infinities_need_sentence_about_them():
    for sentence, name in (("Your result overflows where x is large.", "twin"), ("Your result is no sum.", None)):
        exercise = made(twin=(sentence, lambda x, y, result: result + (x.amax() > 50) * math.inf if x.amax() > 50 else result))
        exercise.compare("large", lambda generator: [(torch.full((4,), 60.0), torch.ones(4))])
        report = run(exercise, lambda x, y: exercise.solve(x, y, bugs=["twin"]))
        assert report.misconception == name, report


def test_pair_that_adds_up():
    report = run(made(plus=PLUS, minus=("Your y is left out.", lambda x, y, result: result - y)), lambda x, y: x.exp() + 1)
    assert report.message == "Your result is one too large. And: Your y is left out." and report.misconception is None


def test_pair_with_hidden_one():
    """The pair gives 3, whatever the first of the two does; the single twins do not."""
    hides = ("You return zeros.", lambda x, y, result: result * 0 + (3 if not torch.equal(result, x.exp() + y) else 1))
    report = run(made(plus=PLUS, minus=MINUS, hides=hides), lambda x, y: torch.full((4,), 3.0))
    assert "And:" not in report.message, report.message


def test_refuted_misconception_is_not_named():
    """Twin and answer agree on the first check; on the second the answer is right, and the twin is not."""
    exercise = made(always=PLUS)
    exercise.compare("zeros", lambda generator: [(torch.zeros(4), torch.zeros(4))])
    assert run(exercise, lambda x, y: x.exp() + y + 1).misconception == "always"
    report = run(exercise, lambda x, y: x.exp() + y + (1 if x.any() else 0))
    assert report.misconception is None and "off by the same +1" in report.message


def test_wrong_type_is_not_misconception():
    exercise = made(complex_=("Your values are right, but they are integers.", lambda x, y, result: result.long()))
    report = run(exercise, lambda x, y: (x.exp() + y).to(torch.complex64))
    assert report.misconception is None and report.state == "wrong_shape" and "complex" in report.message


@pytest.mark.parametrize("id, wrong", [("fvsbn_conditionals", True), ("OwnTrigram", True), ("fvsbn_sample", False)])
def test_verdict_without_explanation(id, wrong):
    exercise = EXERCISES[id]
    bugs = list(exercise.misconceptions)[:1] if wrong else []
    whole, short = (evaluate(id, lambda *args: exercise.solve(*args, bugs=bugs), 1, explain=explain) for explain in (True, False))
    assert (whole.state == "right") is not wrong and bool(whole.misconception) is wrong
    assert (short.state, short.earned, short.seed, len(short.checks)) == (whole.state, whole.earned, whole.seed, len(whole.checks))
    assert short.misconception is None and not short.shown


def test_broken_rule_of_a_function_that_was_handed_out():
    def beam_search(step_fn, bos, eos, beam, max_len, alpha=0.0):
        tokens = [bos]
        while True:
            tokens.append(int(step_fn(tokens).argmax()))

    report = evaluate("beam_search", beam_search, 0)
    assert report.state == "error" and "is not extended. You passed [" in report.message and "KeyError" not in report.message


def test_answer_that_samples_by_itself():
    report = run(made(), lambda x, y: x.exp() + y + torch.randn(4))
    assert report.message.startswith("Two calls with the same arguments give different results")
