"""The drawing of a computation: every node with its value and its gradient, an arrow for each use."""
from __future__ import annotations

import pytest
from matplotlib.patches import FancyArrowPatch, Rectangle

from course_lib import show
from course_lib.basics import Value
from course_lib.basics.autodiff import ordered
from tests.basics.checks import random_graph


def parts(result):
    """Texts of the boxes from top to bottom, and the numbers of arrows and boxes."""
    ax = show.graphs.graph(result).axes[0]
    arrows = [t.arrow_patch for t in ax.texts if isinstance(getattr(t, "arrow_patch", None), FancyArrowPatch)]
    boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return [text.get_text() for text in ax.texts if text.get_text()], len(arrows), boxes


def test_graph_values_and_gradients():
    x, y, beta = Value(2.0, "x"), Value(7.0, "y"), Value(3.0, "beta")
    L = (y - beta * x) ** 2
    before, arrows, boxes = parts(L)
    assert before.count("–") == 6 and arrows == 5 and len(boxes) == 6         # no gradient yet is no gradient of 0
    L.backward()
    texts, _, _ = parts(L)
    boxes = {texts[i]: texts[i + 1:i + 3] for i in range(0, len(texts), 3)}
    assert boxes == {"x": ["2", "-6"], "y": ["7", "2"], "beta": ["3", "-4"], "*": ["6", "-2"], "-": ["1", "2"],
                     "** 2": ["1", "1"]}


def test_graph_arrows():
    a = Value(3.0, "a")
    y = a * a + 2
    y.label = "y"
    texts, arrows, boxes = parts(y)
    assert arrows == 4 and len(boxes) == 3 and "2" in texts and "y" in texts and "+" not in texts    # the label, if there is one


@pytest.mark.parametrize("seed", range(6))
def test_graph_layout(seed):
    nodes, _ = random_graph(Value, seed)
    at = show.graphs.place(nodes[-1])
    places = list(at.values())
    assert all(abs(x - u) >= 1 or abs(y - v) >= 0.9 for i, (x, y) in enumerate(places) for u, v in places[:i])
    assert all(at[id(parent)][0] < at[id(value)][0] for value in ordered(nodes[-1]) for parent in value.parents)


def test_graph_too_large():
    x = Value(1.0)
    for _ in range(50):
        x = x.tanh()
    with pytest.raises(ValueError, match="result has a graph of 51 nodes; expected at most 40"):
        show.graphs.graph(x)
