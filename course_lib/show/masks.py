"""Draw the network of a MADE, its masks, and dependence patterns: which factor depends on which variable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from jaxtyping import Bool
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.density.made import MADE
from course_lib.show import ACCENT, INK

FAINT = "#9aa5b1"


def network(model: MADE, output: int | None = None) -> Figure:
    """Draw the units of a small MADE with their degrees, inputs at the bottom, and the unmasked connections.

    output  index of a variable, from 0: all paths to its factor are drawn in color; None: no path is colored

    A unit without a path to an output or from an input has a dashed outline.
    """
    masks = [layer.mask.bool().cpu() for layer in model.layers]
    rows = [*model.degrees, model.degrees[0]]                        # inputs, hidden layers, outputs
    widest = max(len(row) for row in rows)
    places = [[(k + 0.5) * widest / len(row) for k in range(len(row))] for row in rows]
    used = [torch.zeros(len(row), dtype=torch.bool) for row in rows]
    if output is not None:
        used[-1][output] = True
        for depth in range(len(masks) - 1, -1, -1):
            used[depth] = masks[depth][used[depth + 1]].any(dim=0)
    fig, ax = plt.subplots(figsize=(0.85 * widest + 1.6, 1.05 * len(rows) + 0.4))
    for depth, mask in enumerate(masks):
        for upper, lower in mask.nonzero().tolist():
            strong = bool(used[depth + 1][upper])
            ax.plot([places[depth][lower], places[depth + 1][upper]], [depth, depth + 1], zorder=1 + strong,
                    color=ACCENT if strong else FAINT, linewidth=2.2 if strong else 1.0)
    dead = idle(masks)
    for depth, row in enumerate(rows):
        for k, degree in enumerate(row.tolist()):
            ax.scatter(places[depth][k], depth, s=430, facecolor="white", zorder=3, linewidth=1.6,
                       edgecolor=ACCENT if used[depth][k] else INK,
                       linestyle="--" if 0 < depth <= len(model.hidden) and dead[depth - 1][k] else "-")
            ax.text(places[depth][k], depth, str(degree), ha="center", va="center", zorder=4, color=INK)
    for k in range(model.n):
        ax.text(places[0][k], -0.42, f"$x_{k + 1}$", ha="center", va="center")
        before = ", ".join(f"x_{j + 1}" for j in sorted(model.order[: int(model.degrees[0][k]) - 1].tolist()))
        ax.text(places[-1][k], len(rows) - 0.58, f"$p(x_{k + 1}{' | ' + before if before else ''})$", ha="center",
                va="center", fontsize=9)
    ax.set(xlim=(-0.2, widest + 0.2), ylim=(-0.7, len(rows) - 0.3))
    ax.set_axis_off()
    plt.close(fig)                                                   # shown once, as the value of the cell
    return fig


def idle(masks: Sequence[Bool[Tensor, "_ _"]]) -> list[Bool[Tensor, "..."]]:
    """Return a tensor for each hidden layer: True for its units without a path from an input or to an output.

    masks  mask (units above, units below) of each layer of connections, the first from the inputs
    """
    above = [torch.ones(len(masks[-1]), dtype=torch.bool)]
    for mask in reversed(masks[1:]):
        above.insert(0, mask[above[0]].any(dim=0))                   # has a path to a reachable output
    below, unused = torch.ones(masks[0].shape[1], dtype=torch.bool), []
    for mask, up in zip(masks, above):
        below = mask[:, below].any(dim=1)
        unused.append(~(below & up))
    return unused[:-1]


def matrices(model: MADE) -> Figure:
    """Draw the mask of each layer of a small MADE as a matrix, with the degrees of its units.

    The rows are the units of the layer, the columns the units of the layer below.
    """
    names = ["input", *(f"hidden {j + 1}" for j in range(len(model.hidden))), "output"]
    if len(model.hidden) == 1:
        names[1] = "hidden"
    rows = [*model.degrees, model.degrees[0]]
    fig, axes = plt.subplots(1, len(model.layers), squeeze=False, figsize=(2.7 * len(model.layers), 2.6))
    for depth, (ax, layer) in enumerate(zip(axes[0], model.layers)):
        _grid(ax, layer.mask.bool().cpu(), _labels(rows[depth + 1], depth + 1 == len(model.layers)),
              _labels(rows[depth], depth == 0))
        ax.set_ylabel(names[depth + 1])
        ax.set_xlabel(names[depth])
    fig.tight_layout()
    plt.close(fig)
    return fig


def readers(patterns: Mapping[str, Bool[Tensor, "n n"]], orders: Sequence[Sequence[int]] | None = None) -> Figure:
    """Draw dependence patterns {title: pattern}, where pattern[i, j] is True if factor i depends on variable j.

    orders  for each pattern, the order in which its rows and columns are drawn; None for 0, 1, ...
    """
    fig, axes = plt.subplots(1, len(patterns), squeeze=False, figsize=(3.1 * len(patterns), 3.1))
    for k, (ax, (title, reads)) in enumerate(zip(axes[0], patterns.items())):
        order = list(range(len(reads))) if orders is None else list(orders[k])
        names = [f"$x_{{{i + 1}}}$" for i in order]
        _grid(ax, reads.cpu()[order][:, order], names, names)
        ax.set_title(title, fontsize=9, loc="left")
        ax.set(xlabel="variable read", ylabel="factor")
    fig.tight_layout()
    plt.close(fig)
    return fig


def _labels(degrees: Tensor, variables: bool) -> list[str]:
    return [f"$x_{k + 1}$: {m}" if variables else str(m) for k, m in enumerate(degrees.tolist())]


def _grid(ax, on: Bool[Tensor, "rows columns"], rows: list[str], columns: list[str]) -> None:
    ax.imshow(on.int().numpy(), cmap="gray_r", vmin=0, vmax=1.6)
    ax.set_xticks(range(on.shape[1]), columns, fontsize=8, rotation=90 if max(map(len, columns)) > 2 and
                  on.shape[1] > 4 and ":" in columns[0] else 0)
    ax.set_yticks(range(on.shape[0]), rows, fontsize=8)
    ax.set_xticks([k - 0.5 for k in range(1, on.shape[1])], minor=True)
    ax.set_yticks([k - 0.5 for k in range(1, on.shape[0])], minor=True)
    ax.grid(which="minor", color=FAINT, linewidth=0.6)
    ax.tick_params(which="both", length=0)
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_color(FAINT)
