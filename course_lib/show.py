"""What the chapters show: the source of a class, rows of images. Everything returns an object that a notebook draws."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

INK, ACCENT, SECOND = "#1f2933", "#b3541e", "#1b6ca8"                # readable on white, told apart without colour vision

plt.rcParams.update({
    "figure.dpi": 100, "figure.facecolor": "white", "savefig.facecolor": "white", "font.size": 10,
    "axes.spines.top": False, "axes.spines.right": False, "axes.prop_cycle": plt.cycler(color=[SECOND, ACCENT, INK]),
    "image.interpolation": "nearest", "legend.frameon": False,
})


class Source:
    """Python source that a notebook shows highlighted, through Markdown."""

    def __init__(self, name: str, code: str):
        self.name, self.code = name, code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"

    def __repr__(self) -> str:
        return f"source of {self.name}"


def source(obj: Any, *members: str) -> Source:
    """The source of a function or a class as it stands in the package; of a class, only these members if named.

    Raises ValueError for a member that the class itself does not define.
    """
    code = textwrap.dedent(inspect.getsource(obj)).rstrip()
    if members:
        code = _excerpt(code, members, obj.__name__)
    return Source(obj.__qualname__, code)


def _excerpt(code: str, members: Sequence[str], name: str) -> str:
    """The head of a class with its docstring, then the members asked for, "..." where something was left out."""
    lines = code.split("\n")
    body = ast.parse(code).body[0].body
    found = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    missing = [m for m in members if m not in found]
    if missing:
        raise ValueError(f"members holds {missing[0]!r}; {name} defines {', '.join(found)}")
    has_docstring = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    parts, last = [], body[0].end_lineno if has_docstring else 1
    parts.append("\n".join(lines[:last]))
    for node in body:
        if not isinstance(node, ast.FunctionDef) or node.name not in members:
            continue
        begin = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1     # 0-based
        while lines[begin - 1].lstrip().startswith("#"):             # a comment above belongs to the member
            begin -= 1
        skipped = any(line.strip() for line in lines[last:begin])
        parts.append(("    ...\n\n" if skipped else "") + "\n".join(lines[begin:node.end_lineno]))
        last = node.end_lineno
    return "\n\n".join(parts)


def images(rows: Mapping[str, Tensor], height: int | None = None, scale: float = 0.55, cmap: str = "gray_r",
           limits: tuple[float, float] | None = (0.0, 1.0)) -> Figure:
    """Rows of images, each row with its label above: {label: (B, n)}. Square images unless `height` is given."""
    columns = max(len(x) for x in rows.values())
    fig, axes = plt.subplots(len(rows), columns, figsize=(scale * columns, (scale + 0.25) * len(rows)), squeeze=False)
    low, high = limits or (None, None)
    for line, (label, x) in zip(axes, rows.items()):
        h = height or round(x.shape[1] ** 0.5)
        for ax in line:
            ax.set_axis_off()
        for ax, image in zip(line, x.detach().cpu().float()):
            ax.imshow(image.reshape(h, -1), cmap=cmap, vmin=low, vmax=high)
        line[0].set_title(label, loc="left", fontsize=9)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=0.88, wspace=0.08, hspace=0.4)
    plt.close(fig)                                                   # shown once, as the cell's value
    return fig
