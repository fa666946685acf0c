"""The statistics behind the contract, against scipy's and against what they say of themselves."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from course_lib.contract.statistics import cell_masses, chi_square, p_value, uniform_tests
from tests.support.random import rng


def test_p_value_equals_scipy():
    for statistic, freedom in [(0.0, 1), (3.84, 1), (40.0, 15), (600.0, 511), (100.0, 1)]:
        assert p_value(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), rel=1e-9)
    assert p_value(math.inf, 3) == 0


def test_chi_square_equals_scipy():
    numbers = np.random.default_rng(0)
    expected = numbers.uniform(20, 60, 30)
    counts = numbers.poisson(expected).astype(float)
    counts *= expected.sum() / counts.sum()
    ours = chi_square(torch.tensor(counts), torch.tensor(expected))
    theirs = stats.chisquare(counts, expected)
    assert ours == (pytest.approx(theirs.statistic), 29)


def test_chi_square_rare_cells():
    expected = torch.tensor([100.0] + [1.0] * 40 + [0.5], dtype=torch.float64)
    statistic, freedom = chi_square(expected.clone(), expected)
    assert statistic == pytest.approx(0, abs=1e-9) and 3 <= freedom <= 8
    shifted = expected.clone()
    shifted[1:21] += 1                                               # 20 cells doubled, 20 empty: the total is kept
    shifted[21:41] -= 1
    statistic, freedom = chi_square(shifted, expected)
    assert p_value(statistic, freedom) < 1e-3
    counts = torch.tensor([5.0, 1.0], dtype=torch.float64)
    assert chi_square(counts, torch.tensor([6.0, 0.0], dtype=torch.float64))[0] == math.inf


def test_uniform_tests_margins_and_pairs():
    u = torch.rand(500, 3, generator=rng(), dtype=torch.float64)
    (margins, free_m), (common, free_c) = uniform_tests(u, bins=4)
    cells = (u * 4).long().numpy()
    want = sum(stats.chisquare(np.bincount(cells[:, d], minlength=4)).statistic for d in range(3))
    assert margins == pytest.approx(want) and free_m == 9
    pairs = 0.0
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        table = np.zeros((4, 4))
        np.add.at(table, (cells[:, a], cells[:, b]), 1)
        pairs += ((table - 500 / 16) ** 2 / (500 / 16)).sum()
    # each margin is part of two pairs
    assert common == pytest.approx(pairs - 2 * want) and free_c == 27
    assert p_value(margins, free_m) > 1e-3 and p_value(common, free_c) > 1e-3
    assert p_value(*uniform_tests(u ** 1.3)[0]) < 1e-6
    assert p_value(*uniform_tests(u[:, [0, 0]])[1]) < 1e-6


def test_cell_masses_equals_numpy():
    numbers = np.random.default_rng(0)
    x, y = np.sort(numbers.normal(size=60)), np.sort(numbers.normal(size=40))
    p = np.exp(-(x[:, None] ** 2 + y[None, :] ** 2))
    ours = cell_masses(torch.tensor(p), [torch.tensor(x), torch.tensor(y)])
    assert ours.shape == (59, 39)
    assert ours.sum().item() == pytest.approx(np.trapezoid(np.trapezoid(p, y, axis=1), x))
