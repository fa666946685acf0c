"""The inputs that exercises are checked with hide no mistake: not the next number, one sign, or square shapes alone."""
from __future__ import annotations

import pytest
import torch
from torch import Tensor

from course_lib.grading import EXERCISES
from course_lib.grading.checks import ClassGradient, Compare

# Arguments that are square by their contract: weights (D, D), tables of binary variables.
SQUARE = {("conditional_table", 0), ("dropped_parent_cost", 0), ("ordered_tables", 0), ("find_color_leaks", 0),
          ("fvsbn_conditionals", 1), ("fvsbn_sample", 1),
          ("fvsbn_products", 1), ("fvsbn_products", 2), ("ancestral_sample", 0), ("sample_ngram", 0),
          *(("cross_attention", k) for k in (2, 3, 4)), *(("cached_step", k) for k in (2, 3, 4)),
          ("rnn_forward", 3), ("through_time", 1),                   # from a state to the next
          ("glove_loss", 0),                                         # words near words
          ("deep_initialization", 1),                                # layers of one width
          *(("find_scores", k) for k in (1, 2, 3)),                  # so that a transposed one fits
          ("MendedAttention", 4), ("MendedAttention", 6),            # masks (T, T): each query to each key
          ("OwnRotaryAttention", 5), ("OwnRotaryAttention", 7),
          ("OwnGPT", 3), ("OwnGPT", 6)}                              # prompts; those of its other checks are uneven
ONE_SIGN = {("glove_loss", 0), ("perplexity_and_bits", 0)}           # counts; logarithms of probabilities
DRAWN = [(id, check) for id, exercise in EXERCISES.items() for check in exercise.checks if isinstance(check, Compare)]


def tensors(value):
    """Every tensor in an argument, however deep in lists."""
    if isinstance(value, Tensor):
        return [value]
    return [t for part in value for t in tensors(part)] if isinstance(value, list | tuple) else []


def convenient(cases: list[tuple], square=(), one_sign=()) -> list[str]:
    """What the cases have in common that a wrong answer could live on, argument by argument."""
    found, by_place = [], {}
    for arguments in cases:
        for k, argument in enumerate(arguments):
            for j, t in enumerate(tensors(argument)):
                by_place.setdefault((k, j), []).append(t)
    for (k, j), ts in by_place.items():
        whole = [t for t in ts if not t.is_floating_point() and t.dtype != torch.bool and t.numel() > 3]
        real = [t for t in ts if t.is_floating_point() and t.numel() > 3]
        wide = [t for t in ts if t.dim() > 1]
        if whole and all((t[..., 1:] == t[..., :-1] + 1).all() for t in whole):
            found.append(f"argument {k}: each integer is the one before it plus one")
        shares = all(0 <= t.min() and t.max() <= 1 for t in real)    # probabilities, uniforms, masks, zeros and ones
        if real and k not in one_sign and not shares and not any((t < 0).any() and (t > 0).any() for t in real):
            found.append(f"argument {k}: all numbers have one sign")
        if wide and k not in square and not any(len(set(t.shape)) == t.dim() for t in wide):
            found.append(f"argument {k}: two axes are always alike")
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("id, check", DRAWN, ids=[f"{id}: {check.name}" for id, check in DRAWN])
def test_draws_hide_nothing(id, check):
    cases = [case for seed in range(8) for case in check.cases(torch.Generator().manual_seed(seed))]
    square, one_sign = ({k for name, k in known if name == id} for known in (SQUARE, ONE_SIGN))
    assert not convenient(cases, square, one_sign)


@pytest.mark.parametrize("id", [id for id, exercise in EXERCISES.items() if any(isinstance(one, ClassGradient) for one in exercise.checks)])
def test_the_largest_gradient_that_is_asked_for_is_one(id):
    exercise = EXERCISES[id]
    for check in exercise.checks:
        if isinstance(check, ClassGradient):
            for args in check.cases(exercise.generator(3, check.name)):
                found = exercise.expected(*args)
                assert max(float(one.abs().max()) for one in found.values()) == pytest.approx(1, abs=1e-4)
