"""Draw search trees with the sequences that decoding methods find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from course_lib.decoding.prefix_tree import PrefixTree
from course_lib.show import ACCENT, INK, SECOND

FAINT = "#9aa5b1"
WAYS = [(ACCENT, "-"), (SECOND, "--"), (INK, ":")]                   # distinct in color and dash


def tree(model: PrefixTree, ways: Mapping[str, Sequence[int]] | None = None) -> Figure:
    """Draw the search tree `model` with the probabilities of its branches and of its complete sequences.

    ways  {label: sequence of ids}, each drawn as a colored path from the root; at most three

    Branches of probability 0 are omitted. Raises ValueError for more than three `ways`.
    """
    ways = dict(ways or {})
    if len(ways) > len(WAYS):
        raise ValueError(f"ways has {len(ways)} sequences; expected at most {len(WAYS)}")
    at = place(model)
    depth, leaves = max(x for x, _ in at.values()), sum(model.eos_id in b for b in at)
    fig, ax = plt.subplots(figsize=(1.9 * depth + 2.2, 0.5 * leaves + 0.8))
    for prefix, (x, y) in at.items():
        if prefix:
            x0, y0 = at[prefix[:-1]]
            ax.plot([x0, x], [y0, y], color=FAINT, linewidth=1, zorder=1)
            p = probability(model, prefix) / probability(model, prefix[:-1])
            ax.text((x0 + x) / 2, (y0 + y) / 2, f"{p:.2g}", fontsize=8, ha="center", va="center", zorder=4,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
        name = "start" if not prefix else model.symbols[prefix[-1]]
        over = model.eos_id in prefix
        ax.text(x + 0.06 if over else x, y if over else y + 0.2, name, fontsize=9, ha="left" if over else "center",
                va="center" if over else "bottom", color=INK)
        ax.scatter([x], [y], s=22, color=INK, zorder=3)
        if over:
            ax.text(x + 0.42, y, f"p = {probability(model, prefix):.3g}", fontsize=9, va="center", color=INK)
    for (label, way), (colour, dash) in zip(ways.items(), WAYS):
        steps = [at[tuple(way[:t])] for t in range(len(way) + 1) if tuple(way[:t]) in at]
        ax.plot(*zip(*steps), color=colour, linestyle=dash, linewidth=2.6, zorder=2, label=label)
    if ways:
        ax.legend(loc="upper left", fontsize=9)
    ax.set(xlim=(-0.25, depth + 1.0), ylim=(-0.6, leaves - 0.2))
    ax.set_axis_off()
    plt.close(fig)                                                   # shown once, as the value of the cell
    return fig


def place(model: PrefixTree) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return {prefix: (x, y)} for all prefixes of positive probability, tuples of ids, in data coordinates of the plot.

    x is the length of the prefix. y increases upwards: complete sequences are at 0, 1, 2, ..., the first one on top,
    and a prefix is at the mean height of its continuations.
    """
    rows = {b: model.p[i].tolist() for i, b in enumerate(model.prefixes)}
    certain = model.p[-1].tolist()
    at, leaves = {}, []

    def visit(prefix: tuple[int, ...]) -> float:
        if model.eos_id in prefix:
            leaves.append(prefix)
            at[prefix] = (len(prefix), -float(len(leaves)))
            return at[prefix][1]
        p = rows.get(prefix, certain)
        heights = [visit((*prefix, v)) for v in range(len(p)) if p[v] > 0]
        at[prefix] = (len(prefix), sum(heights) / len(heights))
        return at[prefix][1]

    visit(())
    return {b: (float(x), y + len(leaves)) for b, (x, y) in sorted(at.items(), key=lambda item: len(item[0]))}


def probability(model: PrefixTree, prefix: Sequence[int]) -> float:
    """Return the probability of a prefix, given as ids: the product of the probabilities of its branches."""
    p, node = 1.0, model.root
    for v in prefix:
        p, node = p * model.p[node, v].item(), int(model.child[node, v])
    return p
