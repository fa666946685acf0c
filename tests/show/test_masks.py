"""The drawings of masks: the lines and squares are those of the model."""
from __future__ import annotations

import pytest
import torch
from matplotlib.colors import to_hex

from course_lib import show
from course_lib.density import MADE
from course_lib.show import ACCENT


@pytest.mark.parametrize("hidden, seed", [((4, 4), 2), ((5,), 0), ((), 0)])
def test_network_lines(hidden, seed):
    model = MADE(3, hidden, order=[1, 2, 0], seed=seed)
    plain = show.masks.network(model).axes[0]
    assert len(plain.lines) == sum(int(layer.mask.sum()) for layer in model.layers)
    assert not any(to_hex(line.get_color()) == ACCENT for line in plain.lines)
    for output in range(3):
        lit = [line for line in show.masks.network(model, output).axes[0].lines if to_hex(line.get_color()) == ACCENT]
        above, count = torch.eye(3)[output].bool(), 0
        for layer in reversed(model.layers):
            count += int(layer.mask[above].sum())
            above = layer.mask[above].bool().any(dim=0)
        assert len(lit) == count
    written = [text.get_text() for text in plain.texts]
    assert "$p(x_1 | x_2, x_3)$" in written and "$p(x_2)$" in written and "$p(x_3 | x_2)$" in written


def test_network_dead_units():
    model = MADE(3, (3, 3), order=[1, 2, 0])
    model.set_degrees([torch.tensor([1, 3, 2]), torch.tensor([2, 2, 1])])
    assert [row.tolist() for row in show.masks.idle([layer.mask.bool() for layer in model.layers])] == \
        [[False, True, False], [False, False, False]]
    circles = show.masks.network(model).axes[0].collections
    assert sum(circle.get_linestyle()[0][1] is not None for circle in circles) == 1
    model.set_degrees([torch.tensor([2, 2, 2]), torch.tensor([2, 1, 2])])           # the second reads nothing
    assert show.masks.idle([layer.mask.bool() for layer in model.layers])[1].tolist() == [False, True, False]
