"""One function a comparison: it builds the contenders and says what is asked. The quickest contender comes first."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_lib import hub
from course_lib.autoregressive import AutoregressiveModel
from course_lib.density import FVSBN


@dataclass(frozen=True)
class Comparison:
    """Contenders by name, and the ratio that is asked for: `slow` takes at least `at_least` times as long as `fast`."""

    title: str
    text: str
    contenders: dict[str, Callable[[], object]]
    fast: str
    slow: str
    at_least: float


def fvsbn_sampling() -> Comparison:
    """Sixteen images of 28 x 28 from FVSBN trained on binarized MNIST, drawn in several ways."""
    model, num = hub.load("fvsbn-binarized-mnist"), 16
    n = model.n
    images = model.sample(num, generator=torch.Generator().manual_seed(0))

    def draw(sampler: AutoregressiveModel) -> torch.Tensor:
        return sampler.sample(num, generator=torch.Generator().manual_seed(0))

    class Loop(FVSBN):
        """FVSBN by the plain loop: predict, draw, update."""

        _ancestral = AutoregressiveModel._ancestral

    class Derived(Loop):
        """FVSBN as if it had written `conditionals` alone: the base class runs them again for every variable."""

        start, predict, update = AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update

    loop, derived = as_class(model, Loop), as_class(model, Derived)

    @torch.no_grad()
    def full_passes() -> None:
        for _ in range(n):
            model.conditionals(images)

    for other in (loop, derived):
        if not torch.equal(draw(other), images):
            raise AssertionError(f"{type(other).__name__} draws other images than sample: there is nothing to compare")
    return Comparison(
        f"FVSBN: {num} images of 28 x 28",
        f"`sample` solves blocks of equations; the plain loop adds one column of weights for each pixel; {n} full "
        f"forward passes of the {num} images are what a sampler costs that knows `conditionals` alone, its draws not "
        "counted. The three that draw give the same images.",
        {"sample": lambda: draw(model), "the loop of predict and update": lambda: draw(loop),
         f"{n} full forward passes": full_passes,
         "sampler derived from conditionals": lambda: draw(derived)},
        fast="sample", slow=f"{n} full forward passes", at_least=100.0)


def as_class(model: AutoregressiveModel, cls: type[AutoregressiveModel]) -> AutoregressiveModel:
    """The same parameters under another class."""
    twin = copy.copy(model)
    twin.__class__ = cls
    return twin


COMPARISONS = {"speed-fvsbn-sampling": fvsbn_sampling}
