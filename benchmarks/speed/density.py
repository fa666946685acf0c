"""Training steps and sampling of FVSBN, NADE and MADE, beside slower algorithms and other libraries."""

from __future__ import annotations

import copy

import torch
from torch import nn

from benchmarks.speed.comparison import Comparison, peer
from course_lib import hub
from course_lib.autoregressive import AutoregressiveModel
from course_lib.density import FVSBN, MADE, NADE

NUM, BATCH, N = 16, 128, 784                                         # sampled images, images per step, pixels


def fvsbn_sampling() -> Comparison:
    """Sixteen images sampled from FVSBN, trained on binarized MNIST, by several algorithms."""
    model, num = hub.load("fvsbn-binarized-mnist"), NUM
    n = model.n
    images = model.sample(num, generator=torch.Generator().manual_seed(0))

    def draw(sampler: AutoregressiveModel) -> torch.Tensor:
        return sampler.sample(num, generator=torch.Generator().manual_seed(0))

    class Loop(FVSBN):
        """FVSBN with the loop of predict and update."""

        draw_all = AutoregressiveModel.draw_all

    class Derived(Loop):
        """FVSBN with `conditionals` only, which the base class calls for every variable."""

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
        fast="sample", slow=f"{n} full forward passes")


def as_class(model: AutoregressiveModel, cls: type[AutoregressiveModel]) -> AutoregressiveModel:
    """The same parameters under another class."""
    twin = copy.copy(model)
    twin.__class__ = cls
    return twin


def full_passes(model: AutoregressiveModel, images: torch.Tensor, times: int):
    """A function that calls `conditionals` so many times, as a sampler without a state would."""
    @torch.no_grad()
    def call() -> None:
        for _ in range(times):
            model.conditionals(images)

    return call


def batch() -> torch.Tensor:
    """Random images with the mean of binarized MNIST."""
    return (torch.rand(BATCH, N, generator=torch.Generator().manual_seed(0)) < 0.13).float()


def nade_step() -> Comparison:
    """Forward and backward pass of NADE(500), by `conditionals` and by the literal loop."""
    torch.manual_seed(0)
    model, x = NADE(N, 500), batch()

    def step(form):
        def call():
            model.zero_grad(set_to_none=True)
            loss = -form(x).log_prob(x).sum(dim=1).mean()
            loss.backward()
            return loss.detach()
        return call

    fast, loop = step(model.conditionals), step(model.one_by_one)
    torch.testing.assert_close(fast(), loop())
    return Comparison(
        "NADE, 500 hidden: a training step",
        f"Forward and backward pass on {BATCH} images of 28 x 28. The literal loop is the running sum of the paper under "
        "autograd, which keeps every hidden layer; `conditionals` keeps one pre-activation in sixteen and goes over "
        "the ground again. Same loss, same gradients.",
        {"conditionals": fast, "the literal loop": loop}, fast="conditionals", slow="the literal loop")


def made_sampling(hidden: int, part: int):
    """Sixteen images sampled from MADE with one hidden layer, beside a full pass for each pixel."""
    def comparison() -> Comparison:
        torch.manual_seed(0)
        model = MADE(N, (hidden,)).eval()

        def draw(sampler: AutoregressiveModel = model) -> torch.Tensor:
            return sampler.sample(NUM, generator=torch.Generator().manual_seed(0))

        images = draw()
        passes = f"{N} full forward passes"
        return Comparison(
            f"MADE, {hidden} hidden: {NUM} images of 28 x 28",
            "`sample` computes each hidden unit once, when the pixels that it reads are known; a sampler that knows "
            f"`conditionals` alone runs {N} full passes, its draws not counted"
            + (f"; a {N // part}th of them was timed." if part < N else "."),
            {"sample": draw, passes: full_passes(model, images, part)},
            fast="sample", slow=passes, parts={passes: N // part})

    return comparison


def nade_sampling() -> Comparison:
    """Sixteen images sampled from NADE(500), by `sample` and by the loop of predict and update."""
    torch.manual_seed(0)
    model = NADE(N, 500)

    class Loop(NADE):
        """NADE with the loop of predict and update."""

        draw_all = AutoregressiveModel.draw_all

    loop = as_class(model, Loop)

    def draw(sampler: AutoregressiveModel) -> torch.Tensor:
        return sampler.sample(NUM, generator=torch.Generator().manual_seed(0))

    if not torch.equal(draw(model), draw(loop)):
        raise AssertionError("Loop draws other images than sample: there is nothing to compare")
    return Comparison(
        f"NADE, 500 hidden: {NUM} images of 28 x 28", "The same images, with less bookkeeping for each pixel.",
        {"sample": lambda: draw(model), "the loop of predict and update": lambda: draw(loop)},
        fast="sample", slow="the loop of predict and update")


def made_step() -> Comparison:
    """Forward and backward pass of a MADE with two hidden layers, beside zuko and nflows."""
    torch.manual_seed(0)
    x = batch()
    order = torch.arange(N)
    zuko = peer("zuko.nn").MaskedMLP(order[:, None] > order, hidden_features=[500, 500], activation=nn.ReLU)
    nflows = peer("nflows.transforms.made").MADE(N, 500, num_blocks=1, output_multiplier=1, use_residual_blocks=False,
                                                 activation=torch.relu)
    bce = nn.BCEWithLogitsLoss(reduction="sum")
    models = {"course_lib": MADE(N, (500, 500)), "zuko 1.6.0": zuko, "nflows 0.14": nflows}
    calls = {}
    for name, model in models.items():
        def call(model=model, ours=name == "course_lib"):
            model.zero_grad(set_to_none=True)
            loss = -model.log_prob(x).mean() if ours else bce(model(x), x) / BATCH
            loss.backward()
        calls[name] = call
    return Comparison(
        "MADE, two hidden layers of 500: a training step",
        f"Forward and backward pass on {BATCH} images of 28 x 28, with the masked networks of two libraries of flows. "
        "The layers have the same sizes; nflows has no activation after its first layer.",
        calls, fast="course_lib", slow="zuko 1.6.0")


COMPARISONS = {
    "speed-fvsbn-sampling": fvsbn_sampling,
    "speed-nade-step": nade_step,
    "speed-nade-sampling": nade_sampling,
    "speed-made-sampling-500": made_sampling(500, N),
    "speed-made-sampling-8000": made_sampling(8000, 28),
    "speed-made-step": made_step,
}
