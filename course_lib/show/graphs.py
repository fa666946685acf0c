"""Draw computation graphs with values and gradients."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.basics.autodiff import Value, ordered
from course_lib.show.style import ACCENT, INK, SECOND

MOST = 40                                                            # maximum number of nodes of a graph


def graph(result: Value) -> Figure:
    """Draw the computation graph of `result`, from the inputs on the left to `result` on the right.

    A box shows the label of a node, or its operation if it has no label, its value in blue, and its gradient in orange,
    "–" if it has none. A number without a box is a constant. Raises ValueError if the graph has more than 40 nodes.
    """
    nodes = ordered(result)
    if len(nodes) > MOST:
        raise ValueError(f"result has a graph of {len(nodes)} nodes; expected at most {MOST}")
    at = place(result)
    columns, rows = 1 + max(x for x, _ in at.values()), 1 + max(y for _, y in at.values())
    fig, ax = plt.subplots(figsize=(min(8.2, 1.25 * columns + 0.3), 0.72 * rows + 0.3))
    for value in nodes:
        x, y = at[id(value)]
        for parent in value.parents:
            x0, y0 = at[id(parent)]
            bend = 0.0 if x - x0 < 1.5 else 0.3 if y0 >= y else -0.3           # around nodes in between
            ax.annotate("", (x - 0.36, y), (x0 + (0.36 if not constant(parent) else 0.2), y0),
                        arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 0.9, "shrinkA": 0, "shrinkB": 0,
                                    "connectionstyle": f"arc3,rad={bend}"})
        if constant(value):
            ax.text(x, y, f"{value.data:.4g}", ha="center", va="center", fontsize=9, color=SECOND)
            continue
        ax.add_patch(plt.Rectangle((x - 0.36, y - 0.4), 0.72, 0.8, facecolor="white", edgecolor=INK, zorder=2,
                                   linewidth=1.6 if value is result else 0.9))
        name = value.label or value.operation
        ax.text(x, y + 0.24, name, ha="center", va="center", fontsize=9, color=INK, zorder=3)
        ax.text(x, y - 0.02, f"{value.data:.4g}", ha="center", va="center", fontsize=9, color=SECOND, zorder=3)
        ax.text(x, y - 0.26, "–" if value.grad is None else f"{value.grad:.4g}", ha="center", va="center", fontsize=9,
                color=ACCENT, zorder=3)
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(-0.5, rows - 0.5))
    ax.set_axis_off()
    plt.close(fig)                                                   # shown once, as the value of the cell
    return fig


def constant(value: Value) -> bool:
    """Whether a node is a constant: a number without label and parents."""
    return not value.parents and not value.label


def place(result: Value) -> dict[int, tuple[float, float]]:
    """Return {id(node): (x, y)}, positions in the plot: x is the column, 0 on the left, and y increases upwards from 0.

    Nodes in the same column are at least one unit apart. A node is in a column right of its parents, and its height is
    near the mean height of the nodes that use it.
    """
    nodes = ordered(result)
    column: dict[int, float] = {}
    for value in nodes:
        column[id(value)] = 1 + max((column[id(parent)] for parent in value.parents), default=-1.0)
    readers: dict[int, list[Value]] = {id(value): [] for value in nodes}
    for value in nodes:
        for parent in value.parents:
            readers[id(parent)].append(value)
    for value in nodes:
        if not value.parents and readers[id(value)]:                 # inputs precede the first node that uses them
            column[id(value)] = min(column[id(reader)] for reader in readers[id(value)]) - 1
    height: dict[int, float] = {}
    taken: dict[float, list[float]] = {}
    for value in sorted(nodes, key=lambda v: -column[id(v)]):
        side = {id(parent): k for reader in readers[id(value)] for k, parent in enumerate(reader.parents)}
        wish = [height[id(r)] + (0.5 - side[id(value)]) * (len(r.parents) - 1) for r in readers[id(value)]]
        y = sum(wish) / len(wish) if wish else 0.0
        used = taken.setdefault(column[id(value)], [])
        steps = (step * sign for step in range(len(nodes)) for sign in (-1, 1))
        y = next(y + step * 0.5 for step in steps if all(abs(y + step * 0.5 - other) >= 0.99 for other in used))
        used.append(y)
        height[id(value)] = y
    lowest = min(height.values())
    return {key: (float(column[key]), height[key] - lowest) for key in height}
