"""Recurrent cells beside torch's own, on the same weights."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.speed.comparison import Comparison
from course_lib.recurrent import Recurrent

ROWS, STEPS, HIDDEN = 32, 64, 256
AT_MOST = {"LSTM": 1.6, "GRU": 1.25}                                 # times what torch takes


def cell_step(kind: str):
    """Forward and backward pass of one layer over a batch of sequences."""
    def comparison() -> Comparison:
        torch.manual_seed(0)
        theirs = getattr(nn, kind)(HIDDEN, HIDDEN, batch_first=True)
        ours = Recurrent.from_torch(theirs)
        x = torch.randn(ROWS, STEPS, HIDDEN, generator=torch.Generator().manual_seed(0)).requires_grad_()

        def step(module: nn.Module):
            def call() -> torch.Tensor:
                module.zero_grad(set_to_none=True)
                x.grad = None
                outputs, _ = module(x)
                outputs.square().mean().backward()
                return outputs.detach()

            return call

        fast, slow = step(ours), step(theirs)
        first = fast(), x.grad
        torch.testing.assert_close((slow(), x.grad), first)
        return Comparison(
            f"{kind}, {HIDDEN} hidden: forward and backward",
            f"One layer over {ROWS} rows of {STEPS} steps, the same weights, the same outputs and gradients. Ours is written in "
            "Python, step by step; torch's is one call.",
            {"course_lib": fast, f"torch.nn.{kind}": slow},
            fast="course_lib", slow=f"torch.nn.{kind}", at_least=round(1 / AT_MOST[kind], 4))

    return comparison


COMPARISONS = {"speed-lstm-step": cell_step("LSTM"), "speed-gru-step": cell_step("GRU")}
