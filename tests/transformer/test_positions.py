"""Positions: the slides' numbers, the identities of the sinusoids, and what each module computes."""
from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.transformer import (
    CombinedPositions,
    LearnedPositions,
    OneHotPositions,
    SeparatePositions,
    SinusoidalPositions,
    rotary,
    sinusoidal,
)
from course_lib.transformer.positions import (
    offset_difference,
    offset_distance,
    offset_product,
    offset_rotation,
)
from tests.support.random import normal, redrawn
from tests.support.tensors import same
from tests.transformer import checks as check

F64 = torch.float64


@pytest.mark.parametrize("d", [5, 6])
@pytest.mark.parametrize("offset", [0, 1, 9])
def test_offset_difference(d, offset):
    for k in (0, 3, 200):
        table = sinusoidal(torch.tensor([k, k + offset]), d, dtype=F64)
        same(offset_difference(k, offset, d), table[1] - table[0])


@pytest.mark.parametrize("offset", [1, 4, 60])
def test_offset_distance_and_product(offset):
    for k in (0, 5, 3000):
        a, b = sinusoidal(torch.tensor([k, k + offset]), 8, dtype=F64)
        same((b - a).norm(), torch.tensor(offset_distance(offset, 8), dtype=F64))
        same(a @ b, torch.tensor(offset_product(offset, 8), dtype=F64))
    assert abs(offset_distance(offset, 8) - offset_distance(offset + 1, 8)) > 1e-3


@pytest.mark.parametrize("offset", [0, 1, 7, -3])
def test_offset_rotation(offset):
    R = offset_rotation(offset, 6, 100.0)
    table = sinusoidal(torch.arange(3, 40), 6, 100.0, F64)
    same(table @ R.T, sinusoidal(torch.arange(3, 40) + offset, 6, 100.0, F64))
    same(R @ R.T, torch.eye(6, dtype=F64))


def test_rotary():
    check.turns_pairs(rotary)
    x = normal(5, 6)
    turned = torch.stack([offset_rotation(-t, 6) @ x[t] for t in range(5)])   # turned the other way round
    same(rotary(x), turned)


# --- modules ---------------------------------------------------------------------------------------------------------

MADE = {"learned": lambda: LearnedPositions(9, 6), "sinusoidal": lambda: SinusoidalPositions(6),
        "one-hot": lambda: OneHotPositions(9, 6), "combined": lambda: CombinedPositions(9, 6, 11),
        "separate": lambda: SeparatePositions(9, 6, 11)}


def test_modules_formula():
    x, e = normal(2, 4, 6), torch.eye(9, dtype=F64)[:4]              # e: one-hot rows, T x window
    m = {name: redrawn(make()) for name, make in MADE.items()}
    same(m["learned"](x), x + e @ m["learned"].table.weight)
    same(m["sinusoidal"](x), x + sinusoidal(4, 6, dtype=F64))
    same(SinusoidalPositions(6, scale=True)(x), math.sqrt(6) * x + sinusoidal(4, 6, dtype=F64))
    same(m["one-hot"](x), torch.cat([x, e.expand(2, 4, 9)], dim=-1))
    c = m["combined"]
    same(c(x), F.relu(x @ c.from_x.weight.T + e @ c.from_e.weight) @ c.out.weight.T)
    s = m["separate"]
    same(s(x), F.relu(x @ s.from_x.weight.T) @ s.out_x.weight.T + F.relu(e @ s.from_e.weight) @ s.out_e.weight.T)


@pytest.mark.parametrize("name", MADE)
def test_modules_given_positions(name):
    """A cache starts in the middle; padding on the left gives each row positions of its own."""
    model, x = redrawn(MADE[name]()), normal(2, 8, 6)
    whole = model(x)
    assert whole.shape[-1] == model.d_out
    same(model(x[:, 5:], torch.arange(5, 8)), whole[:, 5:])
    rows = torch.tensor([[0, 1, 2], [4, 5, 6]])
    same(model(torch.stack([x[0, :3], x[1, 4:7]]), rows), torch.stack([whole[0, :3], whole[1, 4:7]]))


@pytest.mark.parametrize("name", [name for name in MADE if name != "sinusoidal"])
def test_modules_table_end(name):
    with pytest.raises(ValueError, match="positions contains 0 to 9; expected 0 and more, below 9"):
        MADE[name]()(torch.zeros(1, 10, 6))


@pytest.mark.parametrize("make, message", [
    (lambda: SinusoidalPositions(6)(torch.zeros(2, 3, 6), torch.tensor([-1, 0, 1])), "positions contains -1 to 1"),
    (lambda: SinusoidalPositions(6)(torch.zeros(2, 3, 6), torch.arange(4)), r"positions has shape \(4,\); expected"),
    (lambda: sinusoidal(3, 0), "d is 0"), (lambda: sinusoidal(3, 4, base=0.0), "base is 0.0"),
    (lambda: offset_rotation(1, 5), "d is 5; expected an even number"),
    (lambda: offset_distance(1, 5), "d is 5"), (lambda: rotary(torch.zeros(2, 3)), "d is 3"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
