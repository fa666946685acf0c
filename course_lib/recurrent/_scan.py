r"""The LSTM along a sequence with its backward pass written out: the same numbers, about half the work for autograd.

With $\delta h_t$ what reaches h_t from its own output and from step t + 1, and $\delta c_t$ likewise,

$$\delta c_t = \delta c_{t+1} \odot f_{t+1} + \delta h_t \odot o_t \odot (1 - \tanh^2 c_t),$$
$$\delta i_t = \delta c_t \odot g_t, \quad \delta f_t = \delta c_t \odot c_{t-1}, \quad
  \delta o_t = \delta h_t \odot \tanh c_t, \quad \delta g_t = \delta c_t \odot i_t,$$

each times the derivative of its sigmoid or tanh. Their product with W_h goes to h_{t-1}; the gradient of W_h is one
product over all steps, taken at the end.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable


def lstm_steps(a: Float[Tensor, "T B G"], W_h: Float[Tensor, "G H"], h: Float[Tensor, "B H"],
               c: Float[Tensor, "B H"]) -> tuple[Float[Tensor, "T B H"], Float[Tensor, "B H"]]:
    """`LSTMCell.step` for each a[t] in turn: h after every step, and c after the last."""
    return _LSTMSteps.apply(a, W_h, h, c)


class _LSTMSteps(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, W_h, h, c):
        T, B, G = a.shape
        H = G // 4
        gates, hs, cs, tanhs = torch.empty_like(a), *(a.new_empty(T + extra, B, H) for extra in (1, 1, 0))
        hs[0], cs[0] = h, c
        sigmoids, candidates = gates[:, :, :3 * H].unbind(), gates[:, :, 3 * H:].unbind()
        i, f, o, g = (part.unbind() for part in gates.view(T, B, 4, H).unbind(2))
        (h, *h_next), (c, *c_next), across = hs.unbind(), cs.unbind(), W_h.T
        for t, (a_t, gate, tanh) in enumerate(zip(a.unbind(), gates.unbind(), tanhs.unbind())):
            torch.addmm(a_t, h, across, out=gate)                    # (B, 4H): i, f, o, g
            sigmoids[t].sigmoid_()
            candidates[t].tanh_()
            h, c_t = h_next[t], c_next[t]
            torch.mul(f[t], c, out=c_t).addcmul_(i[t], g[t])
            torch.mul(o[t], torch.tanh(c_t, out=tanh), out=h)
            c = c_t
        ctx.save_for_backward(gates, hs, cs, tanhs, W_h)
        return hs[1:].clone(), cs[-1].clone()

    @staticmethod
    @once_differentiable
    def backward(ctx, dhs, dc):
        gates, hs, cs, tanhs, W_h = ctx.saved_tensors
        T, B, G = gates.shape
        gates = gates.view(T, B, 4, -1)
        i, f, o, g = gates.unbind(2)                                 # (T, B, H) each
        slope = gates * (1 - gates)                                  # of the sigmoids
        slope[:, :, 3] = 1 - g * g
        slope *= torch.stack([g, cs[:-1], tanhs, i], dim=2)          # (T, B, 4, H): da by dc, dc, dh and dc
        into_c, f = (o * (1 - tanhs * tanhs)).unbind(), f.unbind()
        da, dh = torch.empty_like(slope), torch.zeros_like(hs[0])
        steps = zip(slope.unbind(), slope[:, :, 2].unbind(), da.unbind(), da[:, :, 2].unbind(),
                    da.view(T, B, G).unbind(), dhs.unbind(), into_c, f)
        for slope_t, slope_o, da_t, da_o, flat, dh_t, into_c_t, f_t in reversed(list(steps)):
            dh = dh + dh_t
            dc = torch.addcmul(dc, dh, into_c_t)
            torch.mul(slope_t, dc[:, None], out=da_t)
            torch.mul(slope_o, dh, out=da_o)
            dh, dc = flat @ W_h, dc * f_t
        da = da.view(T, B, G)
        return da, da.flatten(0, 1).T @ hs[:-1].flatten(0, 1), dh, dc
