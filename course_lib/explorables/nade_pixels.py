r"""Completion of a small image by a trained NADE: the reader sets some pixels, and the model samples the others.

`run` computes the image and its probabilities from the given pixels, the number of steps and a seed. The figure stores
the weights as float32. A pixel without a value is called open.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from course_lib.conditional import Bernoulli
from course_lib.density.nade import NADE
from course_lib.explorables.base import Explorable, Whole, as_base64, script, style
from course_lib.explorables.draws import uniforms

LIMIT = 100_000                                                      # maximum number of bytes of parameters
OPEN = -1                                                            # code of a pixel without a value


class Run(NamedTuple):
    """The image of n pixels after some steps. Entry i of x and p is pixel i, row by row, whatever the model's order."""

    x: Int[Tensor, " n"]                                             # 1 ink, 0 empty, -1 open
    p: Float[Tensor, " n"]                                           # p(x_i = 1 | earlier pixels); NaN if one of them
                                                                     # is open
    known: int                                                       # number of pixels before the first open one
    log_prob: float                                                  # ln p of the first `known` pixels, in nats


@torch.no_grad()
def run(model: NADE, given: Sequence[int], steps: int, seed: int) -> Run:
    r"""Visit the first `steps` pixels in the model's order: keep the given pixels and sample the others.

    given  value of each pixel, 1 or 0, or -1 if it is open
    seed   seed of the uniform numbers

    The pixel i at step k is sampled by inverse CDF: it is 1 if $u_k \ge 1 - \hat x_i$, else 0, where $u_k$ is a uniform
    number and $\hat x_i = p(x_i = 1 \mid x_{<i})$. Given pixels that immediately follow the last step are visited too.
    If a given pixel comes after an open one in the order, the samples do not follow
    $p(\text{open} \mid \text{given})$, because a pixel is conditioned only on the pixels before it.
    """
    x, p, total = torch.tensor(list(given)), torch.full((model.n,), torch.nan, dtype=torch.float64), 0.0
    state, u, k = model.start(1), uniforms(seed, model.n), 0
    for k, i in enumerate(model.order.tolist()):
        factor = model.predict(state)
        p[i] = factor.probs.item()
        if x[i] == OPEN and k >= steps:
            return Run(x, p, k, total)
        if x[i] == OPEN:
            x[i] = int(u[k] >= 1 - p[i])
        value = x[i:i + 1].to(p.dtype)
        total += factor.log_prob(value).item()
        state = model.update(state, value)
    return Run(x, p, model.n, total)


def pack(model: NADE) -> str:
    """Encode the parameters W (n, H), c (H,), V (n, H), b (n,), in this order, as little-endian float32 in base64."""
    return as_base64((model.W, model.c, model.V, model.b))


def halves(images: Shaped[Tensor, "num n"], classes: Int[Tensor, " num"]) -> list[dict]:
    """Return a dict for each half of each image: its "label", and "given", the n pixels with the other half open.

    images   binary images of n pixels, row by row
    classes  the digit of each image
    """
    n, found = images.shape[1], []
    for place, keep in (("upper", slice(0, n // 2)), ("lower", slice(n // 2, n))):
        for digit, image in zip(classes.tolist(), images):
            given = torch.full((n,), OPEN)
            given[keep] = image[keep].long()
            found.append({"label": f"the {place} half of {'an' if digit == 8 else 'a'} {digit}", "given": given.tolist()})
    return found


class NadePixels(Explorable):
    """Completion of a small image by a trained NADE, one pixel at a time.

    model        a NADE of binary pixels, n a square number; None for "nade-digits", with halves of two test digits
    given        given pixels, n numbers row by row: 1 ink, 0 empty, -1 open
    steps, seed  number of pixels that are visited in the order of the model, and seed of their samples

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    another kind of model, for parameters above 100,000 bytes, and for other values.

    >>> print(NadePixels(seed=3).text().splitlines()[-2])
    pixels known in the order: 0 of 64, log-probability 0.0000 nats
    """

    _esm = script("nade_pixels")
    _css = style("nade_pixels")
    weights = traitlets.Unicode().tag(sync=True)
    hidden = traitlets.Int().tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    given = traitlets.List(traitlets.Int()).tag(sync=True)
    steps = Whole(0, 0, lambda figure: figure._model.n).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    starts = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(self, model=None, **traits):
        starts = []
        if model is None:
            from course_lib import hub
            from course_lib.data import load_data
            model = hub.load("nade-digits")
            digits = load_data("digits")
            starts = halves(digits.test[[2, 9]], digits.labels["test"][[2, 9]])
        self._model = copy.deepcopy(_check_model(model)).double()
        super().__init__(**{
            "order": model.order.tolist(), "hidden": model.hidden, "weights": pack(model), "starts": starts,
            "given": [OPEN] * model.n, "alt": f"NADE on {model.n} pixels, one at a time", **traits,
        })

    @property
    def result(self) -> Run:
        """The image after `steps` steps, with the probabilities of its pixels."""
        return run(self._model, self.given, self.steps, self.seed)

    @property
    def exact(self) -> bool:
        """Whether the given pixels precede the open ones in the order, so samples are conditioned on all of them."""
        is_open = [self.given[i] == OPEN for i in self.order]
        return is_open == sorted(is_open)

    def text(self) -> str:
        shown, side = self.result, round(len(self.order) ** 0.5)
        marks = ["?" if v == OPEN else "#" if v else "." for v in shown.x.tolist()]
        lines = ["Interactive figure: NADE draws pixel by pixel. # is ink, . is empty, ? is not drawn yet."]
        lines += ["".join(marks[r * side:(r + 1) * side]) for r in range(side)]
        lines.append(f"pixels known in the order: {shown.known} of {len(self.order)}, "
                     f"log-probability {shown.log_prob:.4f} nats")
        if not self.exact:
            lines.append("given pixels come after open ones: the drawn pixels are no draw from p(open | given)")
        if shown.known < len(self.order):
            i = self.order[shown.known]
            lines.append(f"next: row {i // side + 1}, column {i % side + 1}, probability of ink {shown.p[i]:.4f}")
        return "\n".join(lines)

    @traitlets.validate("given")
    def _valid_given(self, proposal):
        given, n = proposal["value"], self._model.n
        if len(given) != n:
            raise ValueError(f"given has {len(given)} entries; expected {n}, the number of pixels")
        for value in given:
            if value not in (OPEN, 0, 1):
                raise ValueError(f"given contains {value}; expected 1 (ink), 0 (empty) or -1 (open)")
        return given


def _check_model(model: object) -> NADE:
    if not isinstance(model, NADE) or not isinstance(model.conditional, Bernoulli):
        what = f"{type(model).__name__} with {getattr(model, 'conditional', None)}"
        raise ValueError(f"model is a {what}; expected a NADE with Bernoulli()")
    if round(model.n ** 0.5) ** 2 != model.n:
        raise ValueError(f"model has {model.n} variables; expected a square image, such as of 8 x 8 = 64 pixels")
    size = 4 * sum(p.numel() for p in model.parameters())
    if size > LIMIT:
        raise ValueError(f"model has {size:,} bytes of weights; expected at most {LIMIT:,}, so fewer hidden units")
    return model
