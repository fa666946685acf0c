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


def test_matrices():
    model = MADE(3, (4, 5), order=[1, 2, 0])
    axes = show.masks.matrices(model).axes
    for ax, layer in zip(axes, model.layers, strict=True):
        assert torch.equal(torch.as_tensor(ax.images[0].get_array().data), layer.mask.int())
    assert [t.get_text() for t in axes[0].get_xticklabels()] == ["$x_1$: 3", "$x_2$: 1", "$x_3$: 2"]
    assert [t.get_text() for t in axes[2].get_yticklabels()] == ["$x_1$: 3", "$x_2$: 1", "$x_3$: 2"]


def test_readers_order():
    reads = torch.tensor([[0, 1, 1], [0, 0, 0], [0, 1, 0]]).bool()               # x2, x3, x1
    plain, sorted_ = show.masks.readers({"a": reads, "b": reads}, [range(3), [1, 2, 0]]).axes
    assert torch.as_tensor(plain.images[0].get_array().data).tolist() == reads.int().tolist()
    assert torch.as_tensor(sorted_.images[0].get_array().data).tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0]]
    assert [t.get_text() for t in sorted_.get_yticklabels()] == ["$x_{2}$", "$x_{3}$", "$x_{1}$"]
