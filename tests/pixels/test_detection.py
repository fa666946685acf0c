"""Ranks, rates and repair: against scipy and scikit-learn, and by full passes."""
from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch
from scipy.stats import binomtest
from sklearn.metrics import roc_curve

from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import FVSBN, MADE, NADE
from course_lib.pixels import (
    GatedPixelCNN,
    PixelCNN,
    auc,
    auc_interval,
    compressed_bits,
    purify,
    rank_p_values,
    roc,
    typicality,
    wilson,
)
from tests.pixels import checks as check
from tests.support.random import drawn, normal, rng


def test_rank_p_values_ties():
    p = rank_p_values(torch.zeros(3000), torch.tensor([0.0, 0.0, -1.0, 1.0]), generator=rng(0))
    assert torch.allclose(p.unique(), torch.tensor([2, 3, 4]).double() / 5)                        # -1 is always below
    assert min((p == v).double().mean() for v in p.unique()) > 0.3

# --- p-values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scores, calibration, message", [
    (torch.zeros(2), torch.zeros(0), r"calibration has shape \(0,\); expected \(N,\) with N at least 1"),
    (torch.zeros(2, 1), torch.zeros(3), r"scores has shape \(2, 1\); expected \(N,\) with N at least 1"),
    (torch.tensor([0.0, float("nan")]), torch.zeros(3), r"scores contains NaN at index 1; expected scores"),
    (torch.zeros(2), torch.tensor([float("nan")]), r"calibration contains NaN at index 0"),
])
def test_rank_p_values_bad_input(scores, calibration, message):
    with pytest.raises(ValueError, match=message):
        rank_p_values(scores, calibration)


# --- rates -----------------------------------------------------------------------------------------------------------


def test_roc_equals_sklearn():
    check.is_the_area(auc)
    for seed in range(5):
        clean, other = torch.randint(6, (30,), generator=rng(seed)), torch.randint(8, (20,), generator=rng(seed + 9))
        alarms, hits = roc(clean, other)
        x, y, _ = roc_curve(np.r_[np.zeros(30), np.ones(20)], torch.cat([clean, other]), drop_intermediate=False)
        np.testing.assert_allclose(alarms, x)
        np.testing.assert_allclose(hits, y)


@pytest.mark.thorough
def test_auc_interval():
    clean, other = normal(60), normal(50, seed=1) + 1
    low, high = auc_interval(clean, other, repeats=400)
    assert low < auc(clean, other) < high and 0.08 < high - low < 0.25
    assert (low, high) == auc_interval(clean, other, repeats=400)
    hits = sum(low <= 0.7602 <= high for low, high in (                # Phi(1 / sqrt 2) = 0.7602
        auc_interval(normal(60, seed=2 * k), normal(50, seed=2 * k + 1) + 1, repeats=100) for k in range(40)))
    assert hits >= 33
    assert auc_interval(torch.zeros(5), torch.ones(5)) == (1.0, 1.0)


def test_wilson_equals_scipy():
    for count, of in ((0, 7), (3, 7), (7, 7), (447, 447), (352, 447), (1, 1)):
        want = binomtest(count, of).proportion_ci(method="wilson")
        assert wilson(count, of) == pytest.approx((want.low, want.high), abs=1e-6)


def test_other_scores():
    assert typicality(torch.tensor([-90.0, -80.0, -60.0]), torch.tensor([-80.0, -84.0])).tolist() == [8, 2, 22]
    x = torch.stack([torch.zeros(64), torch.randint(17, (64,), generator=rng(0))]).to(torch.uint8)
    bits = compressed_bits(x)
    assert bits.dtype == torch.float64 and bits[0] < 100 < bits[1]
    for row, length in zip(x, bits):                                 # zlib's own container adds 2 bytes and 4
        assert 8 * (len(zlib.compress(bytes(row.tolist()), 9)) - 6) == length
    assert torch.equal(compressed_bits(x.long()), bits)


@pytest.mark.parametrize("call, message", [
    (lambda: auc(torch.zeros(0), torch.zeros(2)), r"clean has shape \(0,\); expected \(N,\) with N at least 1"),
    (lambda: roc(torch.zeros(2), torch.zeros(2, 2)), r"other has shape \(2, 2\)"),
    (lambda: auc(torch.zeros(2), torch.tensor([1.0, float("nan")])), r"other contains NaN at index 1"),
    (lambda: auc_interval(torch.zeros(2), torch.zeros(2), repeats=0), "repeats is 0 and level is 0.95"),
    (lambda: typicality(torch.zeros(2), torch.zeros(0)), r"reference has shape \(0,\)"),
    (lambda: wilson(3, 2), "count is 3 and `of` is 2; expected 0 <= count <= of"),
    (lambda: compressed_bits(torch.full((1, 4), 256)), r"expected \(B, n\) with B at least 1, integers from 0 to 255"),
])
def test_rates_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- repair ----------------------------------------------------------------------------------------------------------

MODELS = [GatedPixelCNN((3, 3), 4, 2, 3, conditional=Categorical(5)), PixelCNN((3, 3), 4, 1, 3, conditional=Categorical(5)),
          NADE(9, 4, Categorical(5), order=torch.randperm(9, generator=rng(4))), MADE(9, (12,), DiscretizedLogisticMixture(2, 5)),
          FVSBN(9), PixelCNN((3, 1, 3), 6, 1, 3, conditional=Categorical(5))]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{type(m).__name__} {m.conditional}")
@pytest.mark.parametrize("eps", [0, 1, 9])
def test_purify_equals_full_passes(model, eps):
    """By full passes, a variable after another, in the model's order."""
    check.is_greedy(purify, drawn(model), eps)


def test_purify_bad_input():
    with pytest.raises(TypeError, match="NADE has continuous variables, MixtureOfGaussians.*; expected discrete levels"):
        purify(NADE(4, 3, MixtureOfGaussians(2)), torch.zeros(1, 4), 1)
    model = GatedPixelCNN((3, 3), 4, 2, 3, conditional=Categorical(5))
    for x, eps, message in ((torch.zeros(1, 9), -1, "eps is -1; expected an integer, 0 or more"),
                            (torch.zeros(1, 8), 1, "x has 8 variables; this model has 9"),
                            (torch.full((1, 9), 5), 1, "x contains 5 at")):
        with pytest.raises(ValueError, match=message):
            purify(model, x, eps)
