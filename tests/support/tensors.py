"""Comparing tensors, and the gradients of tensors."""
from __future__ import annotations

import torch

from tests.support.random import normal


def same(a, b, tol=1e-9):
    """Equal to `tol`, as a difference and as a share; in shape and dtype too."""
    torch.testing.assert_close(a, b, rtol=tol, atol=tol)


def gradients(output, inputs, seed=9):
    """Of one number that depends on every component of the output, each with a weight of its own."""
    return torch.autograd.grad((output * normal(*output.shape, seed=seed)).sum(), inputs)
