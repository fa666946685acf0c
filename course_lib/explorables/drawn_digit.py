r"""Digits sampled from trained networks, with the probability of each pixel and the effect of earlier pixels on it.

`trace` computes all values with the library: the sample, and the probability of every pixel when one earlier pixel is
flipped. The figure stores them as float32. Pixels are counted from 0 here; rows and columns from 1 in the figure.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.conditional import Bernoulli
from course_lib.explorables.base import STATIC, Explorable, Whole, as_base64, script, style
from course_lib.explorables.draws import uniforms
from course_lib.pixels import ImageModel

WEIGHTS = {"PixelCNN": "pixelcnn-drawn-digits", "gated PixelCNN": "gated-drawn-digits"}
SEEDS = (1, 2, 3)                                                    # seeds of the samples of each network
LIMIT = 100_000                                                      # maximum number of base64 characters of effects


class Trace(NamedTuple):
    """A sampled image of n pixels, row by row, with the values from which it was sampled."""

    x: Int[Tensor, " n"]                                             # 1 ink, 0 empty
    u: Float[Tensor, " n"]                                           # uniform numbers: x_i = 1 if u_i >= 1 - p_i
    p: Float[Tensor, " n"]                                           # p_i = p(x_i = 1 | pixels before i)
    effect: Float[Tensor, "n n"]                                     # [i, j]: p_i if x_j = 1 minus p_i if x_j = 0; NaN
                                                                     # if pixel i does not depend on pixel j


@torch.no_grad()
def trace(model: ImageModel, seed: int) -> Trace:
    r"""Sample an image pixel by pixel, and compute the effect of pixel j on the probability of ink $p_i$ of pixel i.

    It is $p_i(x_j = 1) - p_i(x_j = 0)$, with all other pixels as sampled."""
    u = torch.tensor(uniforms(seed, model.n), dtype=torch.float64)
    state, x, p = model.start(1), [], []
    for i in range(model.n):
        p.append(model.predict(state).probs.item())
        x.append(int(u[i] >= 1 - p[i]))
        state = model.update(state, torch.tensor([x[i]], dtype=torch.float64))
    image = torch.tensor(x)
    changed = image.repeat(2, model.n, 1)                            # (2, n, n): pixel j of row j is 0, and 1
    for value in (0, 1):
        changed[value].fill_diagonal_(value)
    empty, ink = model.conditionals(changed.flatten(0, 1).double()).probs.view(2, model.n, model.n)
    effect = (ink - empty).T                                         # [i, j]
    return Trace(image, u, torch.tensor(p, dtype=torch.float64), effect.masked_fill(~model.receptive_field, torch.nan))


class DrawnDigit(Explorable):
    """Digits sampled from small trained networks, with the probability of each pixel and its dependence on others.

    models   {name: model of square binary images}; None for a PixelCNN and a gated PixelCNN, trained on 8 x 8 digits
    network  index of the selected model
    drawing  index of the selected sample of this model, 0 to 2
    steps    number of pixels of the sample that are shown, 0 to n; the others are hidden
    pixel    index of the selected pixel, row by row

    Raises ValueError for other models and values out of range.

    >>> print(DrawnDigit().text().splitlines()[0])
    Interactive figure: PixelCNN draws a digit. # is ink, . is empty, ? is not drawn yet.
    """

    _esm = script("drawn_digit")
    _css = style("drawn_digit")
    side = traitlets.Int().tag(sync=True)
    traces = traitlets.List().tag(sync=True)                         # for each network: its name and its samples
    network = Whole(0, 0, lambda figure: len(figure._traces) - 1).tag(sync=True)
    drawing = Whole(0, 0, len(SEEDS) - 1).tag(sync=True)
    steps = Whole(0, 0, lambda figure: figure._n).tag(sync=True)
    pixel = Whole(0, 0, lambda figure: figure._n - 1).tag(sync=True)

    def __init__(self, models=None, **traits):
        if models is None:
            from course_lib import hub
            models = {name: hub.load(STATIC / "weights" / weights) for name, weights in WEIGHTS.items()}
        n = {_check(model).n for model in models.values()}
        if len(n) != 1:
            raise ValueError(f"models has images of {sorted(n)} pixels; expected one or more models, with images "
                             "of the same size")
        self._n, = n
        self._traces = [[trace(model.double().eval(), seed) for seed in SEEDS] for model in models.values()]
        lower = torch.ones(self._n, self._n).tril(-1).bool()
        stored = [{"name": name, "drawings": [
            {"x": "".join(map(str, t.x.tolist())), "u": as_base64([t.u]), "p": as_base64([t.p]), "effect": as_base64([t.effect[lower]])}
            for t in drawings]} for name, drawings in zip(models, self._traces)]
        size = sum(len(d["effect"]) for each in stored for d in each["drawings"])
        if size > LIMIT:
            raise ValueError(f"models has effects of {size:,} characters in base64; expected at most {LIMIT:,}: pass "
                             "fewer models or smaller images")
        side = round(self._n ** 0.5)
        at = side * (side // 2) + side // 2
        super().__init__(**{"side": side, "traces": stored, "steps": at, "pixel": at,
                            "alt": "A digit drawn pixel by pixel by a trained network", **traits})

    @property
    def result(self) -> Trace:
        """The selected sample with its probabilities and effects."""
        return self._traces[self.network][self.drawing]

    def text(self) -> str:
        t, side = self.result, self.side
        marks = ["?" if i >= self.steps else "#" if v else "." for i, v in enumerate(t.x.tolist())]
        lines = [f"Interactive figure: {self.traces[self.network]['name']} draws a digit. # is ink, . is empty, ? is "
                 "not drawn yet."]
        lines += ["".join(marks[r * side:(r + 1) * side]) for r in range(side)]
        i = self.pixel
        where = f"row {i // side + 1}, column {i % side + 1}"
        if i > self.steps:
            return "\n".join([*lines, f"{where} comes later."])
        row = t.effect[i, :i].nan_to_num()
        lines.append(f"{where}: probability of ink {t.p[i]:.4f}, given the {i} pixels before it")
        if i and row.abs().max() > 0:
            j = int(row.abs().argmax())
            lines.append(f"moved most by row {j // side + 1}, column {j % side + 1}: {row[j]:+.4f} if it is ink and "
                         "not empty")
        return "\n".join(lines)


def _check(model: object) -> ImageModel:
    if not isinstance(model, ImageModel):
        raise ValueError(f"models contains a {type(model).__name__}; expected image models of course_lib.pixels")
    if not isinstance(model.conditional, Bernoulli):
        raise ValueError(f"models contains a {type(model).__name__} with conditional {model.conditional}; expected "
                         "Bernoulli()")
    channels, height, width = model.shape
    if channels != 1 or height != width or model.classes is not None:
        raise ValueError(f"models contains a model of shape {list(model.shape)} and {model.classes or 'no'} classes; "
                         "expected a square image of one channel, without classes")
    return model
