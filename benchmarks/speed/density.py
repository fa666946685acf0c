"""Training steps of NADE and MADE, beside the literal loop and other libraries."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.speed.comparison import Comparison, peer
from course_lib.density import MADE, NADE

BATCH, N = 128, 784                                                  # images per step, pixels


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


def made_step() -> Comparison:
    """Forward and backward pass of a MADE with two hidden layers, beside zuko and nflows."""
    torch.manual_seed(0)
    x = batch()
    order = torch.arange(N)
    zuko = peer("zuko.nn").MaskedMLP(order[:, None] > order, hidden_features=[500, 500], activation=nn.ReLU)
    nflows = peer("nflows.transforms.made").MADE(N, 500, num_blocks=1, output_multiplier=1, use_residual_blocks=False,
                                                 activation=torch.relu)
    nflows.initial_layer = nn.Sequential(nflows.initial_layer, nn.ReLU())
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
        "The layers have the same sizes; a ReLU, which nflows omits, follows its first layer.",
        calls, fast="course_lib", slow="zuko 1.6.0")


COMPARISONS = {
    "speed-nade-step": nade_step,
    "speed-made-step": made_step,
}
