"""NADE's running sum with recomputation in the backward pass, which saves the memory of n hidden layers."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from course_lib.conditional import Conditional
from course_lib.validation import may_sync

BLOCK = 16                                                           # one of BLOCK pre-activations is stored


def running_sum(family: Conditional, x: Shaped[Tensor, "B n"], W: Float[Tensor, "n E H"], c: Float[Tensor, "H"],
                V: Float[Tensor, "n P H"], b: Float[Tensor, "n P"], order: Int[Tensor, "n"]) -> Float[Tensor, "B n P"]:
    r"""Raw parameters $V_i\, \sigma(a_i) + b_i$ of each variable i of NADE, column i for variable i.

    The sum in $a_i = c + \sum_j W_j\, \mathrm{encode}(x_j)$ is over the variables j before i in `order`. E is the
    number of inputs per variable, P the number of raw parameters per variable, H the number of hidden units.
    """
    ordered = not may_sync(order) or bool((order.diff() != 1).any())
    if ordered:                                                      # sampling order; the natural order needs no copy
        x, (W, V, b) = x[:, order], (p.index_select(0, order) for p in (W, V, b))
    way = in_place if family.num_inputs == 1 and x.device.type == "cpu" else by_blocks
    raw = way(family, x, W, c, V, b)                                 # (n, B, P), in sampling order
    return (raw[order.argsort()] if ordered else raw).transpose(0, 1)


def in_place(family: Conditional, x: Shaped[Tensor, "B n"], W: Tensor, c: Tensor, V: Tensor,
             b: Tensor) -> Float[Tensor, "n B P"]:
    """`running_sum` on a CPU: one variable after another, overwriting one tensor (B, H), which stays in the cache.

    The variables of all arguments and of the result, (n, B, P), are in sampling order.
    """
    return RunningSum.apply(family.encode(x, W.dtype).transpose(0, 1).contiguous(), W, c, V, b)


def by_blocks(family: Conditional, x: Shaped[Tensor, "B n"], W: Tensor, c: Tensor, V: Tensor,
              b: Tensor) -> Float[Tensor, "n B P"]:
    """`running_sum` on a GPU, or with several inputs per variable (E > 1): one block of variables after another.

    Arguments and result as in `in_place`. The hidden layers of a block are recomputed in the backward pass.
    """
    a, raw = c.expand(len(x), -1), []                                # (B, H), before the first variable
    for block in zip(x.split(BLOCK, dim=1), W.split(BLOCK), V.split(BLOCK), b.split(BLOCK)):
        if torch.is_grad_enabled():
            out, a = checkpoint(one_block, family, a, *block, use_reentrant=False, preserve_rng_state=False)
        else:
            out, a = one_block(family, a, *block)
        raw.append(out)
    return torch.cat(raw)


def one_block(family: Conditional, a: Float[Tensor, "B H"], x: Shaped[Tensor, "B m"], W: Float[Tensor, "m E H"],
              V: Float[Tensor, "m P H"], b: Float[Tensor, "m P"]) -> tuple[Tensor, Tensor]:
    """Raw parameters (m, B, P) of m consecutive variables x, and the pre-activation (B, H) of the variable after them.

    a        pre-activation of the first of these variables
    W, V, b  parameters of these variables, as in `running_sum`
    """
    adds = family.linear(x, W)                                       # (m, B, H): contributions to later variables
    earlier = torch.ones(len(W), len(W), dtype=W.dtype, device=W.device).tril(-1)
    within = (earlier @ adds.flatten(1)).view_as(adds)               # contributions of earlier variables of the block
    h = torch.sigmoid(a + within)                                    # (m, B, H)
    raw = torch.baddbmm(b[:, None], h, V.transpose(1, 2))            # (m, B, P)
    return raw, a + within[-1] + adds[-1]


class RunningSum(torch.autograd.Function):
    r"""Raw parameters (n, B, P), $V_j\, \sigma(a_j) + b_j$ with $a_{j+1} = a_j + W_j x_j$ and $a_0 = c$, in place.

    Arguments: x (n, B, 1), W (n, 1, H), c (H,), V (n, P, H), b (n, P), in sampling order. Every BLOCK-th pre-activation
    is stored, and the backward pass recomputes the others from it. Subtracting the terms from the last pre-activation
    would round differently.
    """

    @staticmethod
    def forward(ctx, x: Tensor, W: Tensor, c: Tensor, V: Tensor, b: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):           # a sum of n terms needs float32
            a, kept = c.repeat(x.shape[1], 1), []                    # (B, H)
            raw, h = b[:, None].repeat(1, x.shape[1], 1), torch.empty_like(a)
            for j, (x_j, W_j, V_j, raw_j) in enumerate(zip(x, W, V, raw)):
                if j % BLOCK == 0:
                    kept.append(a.clone())
                raw_j.addmm_(torch.sigmoid(a, out=h), V_j.T)         # (B, P)
                a.addcmul_(x_j, W_j)
        ctx.save_for_backward(x, W, V, torch.stack(kept))
        return raw

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        x, W, V, kept = ctx.saved_tensors
        B, H = kept.shape[1:]
        into_x, into_W, into_V = (torch.empty_like(t) for t in (x, W, V))
        into_a, into_now = kept.new_zeros(B, H), kept.new_empty(B, H)          # into_a: from all later variables
        a, grad = kept.new_empty(BLOCK, B, H), grad.contiguous()
        with torch.autocast(x.device.type, enabled=False):
            for begin in reversed(range(0, len(x), BLOCK)):
                block = range(begin, min(begin + BLOCK, len(x)))
                a[0] = kept[begin // BLOCK]
                for j in block[:-1]:
                    torch.addcmul(a[j - begin], x[j], W[j], out=a[j - begin + 1])
                for j in reversed(block):
                    torch.mm(x[j].T, into_a, out=into_W[j])
                    if ctx.needs_input_grad[0]:
                        torch.mm(into_a, W[j].T, out=into_x[j])
                    h = a[j - begin].sigmoid_()
                    torch.mm(grad[j].T, h, out=into_V[j])
                    torch.mm(grad[j], V[j], out=into_now)            # into h
                    into_a.add_(torch.ops.aten.sigmoid_backward(into_now, h))          # times h (1 - h)
        return into_x if ctx.needs_input_grad[0] else None, into_W, into_a.sum(dim=0), into_V, grad.sum(dim=1)
