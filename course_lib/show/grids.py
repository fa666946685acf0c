"""Image grids."""

from __future__ import annotations

from typing import Mapping

import matplotlib.pyplot as plt
from einops import rearrange
from matplotlib.figure import Figure
from torch import Tensor

from course_lib.show import style  # noqa: F401  sets the defaults of figures


def images(rows: Mapping[str, Tensor], height: int | None = None, scale: float = 0.55, cmap: str = "gray_r",
           limits: tuple[float, float] | None = (0.0, 1.0)) -> Figure:
    """Draw an image grid with a labeled row of images for each entry of `rows`; return a Matplotlib figure.

    rows    {label: B images of n pixel values, (B, n), each image row by row}
    height  height of an image in pixels; None: images are square
    scale   side of an image in inches
    cmap    name of a Matplotlib color map
    limits  values at the ends of `cmap`, by default 0 white and 1 black; None: the minimum and maximum of each image
    """
    columns = max(len(x) for x in rows.values())
    fig, axes = plt.subplots(len(rows), columns, figsize=(scale * columns, (scale + 0.25) * len(rows)), squeeze=False)
    low, high = limits or (None, None)
    for line, (label, x) in zip(axes, rows.items()):
        h = height or round(x.shape[1] ** 0.5)
        for ax in line:
            ax.set_axis_off()
        for ax, image in zip(line, x.detach().cpu().float()):
            ax.imshow(rearrange(image, "(h w) -> h w", h=h), cmap=cmap, vmin=low, vmax=high)
        line[0].set_title(label, loc="left", fontsize=9)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=0.88, wspace=0.08, hspace=0.4)
    plt.close(fig)                                                   # shown once, as the value of the cell
    return fig
