"""Positional encodings, which attention needs because it is invariant to the order of its inputs.

The modules take embeddings x (B, T, D) and return them with positions encoded. Positions are 0..T-1 by default; for a
cache or for padding on the left, other positions are passed as integers (T,) or (B, T). In formulas $x_k$ is the
embedding at position k, $x'_k$ the result, $P_k$ a learned embedding of position k, $e_k$ the one-hot vector of
position k, of size `window`, and W are learned matrices.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.validation import may_sync, values_checked

# --- sinusoids -------------------------------------------------------------------------------------------------------


def frequencies(d: int, base: float | int = 10000.0, device: torch.device | str | None = None) -> Float[Tensor, "E"]:
    r"""Frequencies $\omega_i = n^{-2i/d}$ for i < d/2, in radians per position, where n is `base`; in float64."""
    if d < 1 or not base > 0:
        raise ValueError(f"d is {d} and base is {base}; expected d of at least 1 and a positive base")
    i = torch.arange((d + 1) // 2, dtype=torch.float64, device=device)
    return base ** (-2 * i / d)


def sinusoidal(positions: int | Int[Tensor, "..."], d: int, base: float | int = 10000.0,
               dtype: torch.dtype | None = None) -> Float[Tensor, "... d"]:
    r"""Sinusoidal positions, $p(k, 2i) = \sin(k / n^{2i/d})$ and
    $p(k, 2i+1) = \cos(k / n^{2i/d})$; n is `base`, 10000 in the paper.

    positions  k: integers of any shape, or a number of positions, 0..k-1
    d          size of the encoding; an odd one ends with a sine

    Computed in float64 and then converted to dtype, because a float32 angle of 5000 radians
    is wrong in the fourth digit. Slides: "Positional encoding in transformers". Paper:
    Vaswani et al. 2017, section 3.5.
    """
    if isinstance(positions, int):
        positions = torch.arange(positions)
    # (..., E), a pair each
    angle = positions[..., None].double() * frequencies(d, base, positions.device)
    # sine, cosine, sine, cosine, ...
    table = rearrange([angle.sin(), angle.cos()], "pair ... E -> ... (E pair)")
    return table[..., :d].to(dtype or torch.get_default_dtype())


def offset_difference(position: int, offset: int, d: int, base: float | int = 10000.0) -> Float[Tensor, "D"]:
    r"""Difference $p(k + o) - p(k)$ of `sinusoidal` encodings for k = `position` and o = `offset`, in float64:

    sine components    $2 \cos\bigl(\omega_i (k + o/2)\bigr) \sin(\omega_i o / 2)$,
    cosine components  $-2 \sin\bigl(\omega_i (k + o/2)\bigr) \sin(\omega_i o / 2)$,

    by the sum-to-product identities, with $\omega_i$ from `frequencies`. `d` and `base` are as in `sinusoidal`. Both
    components depend on k; the sum of their squares does not. The slide prints the sine formula for all components.
    """
    omega = frequencies(d, base)
    middle, half = omega * (position + offset / 2), omega * offset / 2
    return rearrange([2 * middle.cos() * half.sin(), -2 * middle.sin() * half.sin()], "pair E -> (E pair)")[:d]


def offset_distance(offset: int, d: int, base: float | int = 10000.0) -> float:
    r"""Distance $\lVert p(k + o) - p(k) \rVert = 2 \sqrt{\sum_i \sin^2(\omega_i o / 2)}$ of `sinusoidal` encodings for
    o = `offset` and every position k, with $\omega_i$ from `frequencies`.

    d, base  size and base of the encoding, as in `sinusoidal`; d must be even
    """
    return 2 * math.sqrt((_paired(d, base) * offset / 2).sin().square().sum().item())


def offset_product(offset: int, d: int, base: float | int = 10000.0) -> float:
    r"""Dot product $p(k)^\top p(k + o) = \sum_i \cos(\omega_i o)$ of `sinusoidal` encodings for o = `offset` and every
    position k, with $\omega_i$ from `frequencies`.

    d, base  size and base of the encoding, as in `sinusoidal`; d must be even
    """
    return (_paired(d, base) * offset).cos().sum().item()


def offset_rotation(offset: int, d: int, base: float | int = 10000.0) -> Float[Tensor, "d d"]:
    r"""Matrix R (d, d) with $p(k + o) = R\, p(k)$ for every position k, where p is `sinusoidal` and o = `offset`.

    R rotates the i-th pair (sine, cosine) by $\omega_i o$, with $\omega_i$ from `frequencies`, in float64. d must be
    even, so that every sine has its cosine. `base` is as in `sinusoidal`.
    """
    angle = _paired(d, base) * offset
    blocks = rearrange([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], "(i j) E -> E i j", i=2)
    return torch.block_diag(*blocks)                                 # [[cos, sin], [-sin, cos]] along the diagonal


def rotary(x: Float[Tensor, "... T K"], positions: Int[Tensor, "..."] | None = None,
           base: float | int = 10000.0) -> Float[Tensor, "... T K"]:
    r"""Rotary positions: rotate the pair $(x_{2i}, x_{2i+1})$ of a query or key at position k by angle $\omega_i k$.

    x          (..., T, K), queries or keys
    positions  k of each of the T vectors, (T,) or with axes that broadcast to (..., T); None: 0..T-1
    base       n in the frequencies $\omega_i = n^{-2i/K}$

    The dot product of a rotated query and key then depends on the positions only through their difference. K must be
    even. Source: Su et al. 2021, "RoFormer".
    """
    T, K = x.shape[-2:]
    omega = _paired(K, base, x.device)
    positions = torch.arange(T, device=x.device) if positions is None else positions
    angle = positions[..., None].double() * omega                    # (..., T, K/2)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = rearrange(x, "... (E pair) -> pair ... E", pair=2)        # each (..., T, K/2)
    return rearrange([a * cos - b * sin, a * sin + b * cos], "pair ... E -> ... (E pair)")


def _paired(d: int, base: float | int, device: torch.device | str | None = None) -> Float[Tensor, "E"]:
    if d % 2:
        raise ValueError(f"d is {d}; expected an even number, so that every sine has its cosine")
    return frequencies(d, base, device)


def positions_among(mask: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return the position of each token, counted from 0 among the real tokens of its row, for which `mask` is True.

    Padding may be on either side. It gets the position of the last real token before it, or 0 if there is none.
    """
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


# --- modules ---------------------------------------------------------------------------------------------------------


class Positions(nn.Module):
    """Base class of positional encodings: maps embeddings (B, T, D) to (B, T, `d_out`); it validates positions."""

    window: int | None = None                                        # number of positions; None: unlimited

    def resolve(self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "..."] | None) -> Int[Tensor, "..."]:
        """Return the positions of x, (T,) or (B, T): `positions`, or 0 to T - 1 if it is None.

        Raises ValueError if `positions` has another shape, or if a position is negative or not less than `window`.
        """
        if positions is None:
            positions = torch.arange(x.shape[1], device=x.device)
        elif tuple(positions.shape) not in (x.shape[1:2], x.shape[:2]):
            raise ValueError(f"positions has shape {tuple(positions.shape)}; expected ({x.shape[1]},), the same for "
                             f"all rows, or {tuple(x.shape[:2])}")
        if values_checked() and positions.numel() and (positions.min() < 0 or self.window is not None
                                                       and positions.max() >= self.window):
            raise ValueError(f"positions contains {positions.min()} to {positions.max()}; expected 0 and more"
                             + ("" if self.window is None else f", below {self.window}, the length of the table"))
        return positions


class LearnedPositions(Positions):
    """Learned position embeddings, $x'_k = x_k + P_k$, for `window` positions.

    >>> LearnedPositions(window=16, d_model=8)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, window: int, d_model: int):
        super().__init__()
        self.window, self.d_out = window, d_model
        self.table = nn.Embedding(window, d_model)

    def forward(self, x: Float[Tensor, "B T D"],
                positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T D"]:
        return x + self.table(self.resolve(x, positions))


class SinusoidalPositions(Positions):
    r"""Sinusoidal positions, $x'_k = x_k + p(k)$, or $\sqrt{D}\, x_k + p(k)$, as in the paper, if `scale`.

    D is `d_model`; p is the encoding `sinusoidal`, and `base` an argument of it.

    >>> SinusoidalPositions(d_model=4)(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    """

    def __init__(self, d_model: int, base: float | int = 10000.0, scale: bool = False):
        super().__init__()
        self.d_out, self.base, self.factor = d_model, base, math.sqrt(d_model) if scale else 1.0

    def forward(self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T D"]:
        positions, D = self.resolve(x, positions), x.shape[-1]
        if positions.dim() == 1 or not may_sync(positions):          # the number of distinct positions is a value
            return self.factor * x + sinusoidal(positions, D, self.base, x.dtype)
        different, place = positions.unique(return_inverse=True)     # compute the sines of each position once
        return self.factor * x + sinusoidal(different, D, self.base, x.dtype)[place]


class OneHotPositions(Positions):
    """One-hot positions, concatenated with the embedding: $x'_k = (x_k, e_k)$, of size
    D + `window`.

    >>> OneHotPositions(window=3, d_model=1)(torch.zeros(1, 2, 1))
    tensor([[[0., 1., 0., 0.],
             [0., 0., 1., 0.]]])
    """

    def __init__(self, window: int, d_model: int):
        super().__init__()
        self.window, self.d_out = window, d_model + window

    def forward(self, x: Float[Tensor, "B T D"],
                positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T E"]:
        # (..., T, window)
        e = F.one_hot(self.resolve(x, positions), self.window).to(x.dtype)
        return torch.cat([x, e.expand(len(x), -1, -1)], dim=-1)      # (B, T, D + window)


class CombinedPositions(Positions):
    r"""Embedding and position in one hidden layer:
    $x'_k = W^\top \mathrm{ReLU}(W_x^\top x_k + W_e^\top e_k)$.

    >>> CombinedPositions(window=16, d_model=8, hidden=32)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, window: int, d_model: int, hidden: int):
        super().__init__()
        self.window, self.d_out = window, d_model
        self.from_x = nn.Linear(d_model, hidden, bias=False)         # W_x
        # W_e: e_k is one-hot, so a row is looked up
        self.from_e = nn.Embedding(window, hidden)
        self.out = nn.Linear(hidden, d_model, bias=False)            # W

    def forward(self, x: Float[Tensor, "B T D"],
                positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T D"]:
        return self.out(F.relu(self.from_x(x) + self.from_e(self.resolve(x, positions))))


class SeparatePositions(Positions):
    r"""Embedding and position in separate hidden layers:
    $x'_k = W_1^\top \mathrm{ReLU}(W_x^\top x_k) + W_2^\top \mathrm{ReLU}(W_e^\top e_k)$.

    Both hidden layers have `hidden` units.

    >>> SeparatePositions(window=16, d_model=8, hidden=32)(torch.randn(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(self, window: int, d_model: int, hidden: int):
        super().__init__()
        self.window, self.d_out = window, d_model
        self.from_x = nn.Linear(d_model, hidden, bias=False)         # W_x
        self.from_e = nn.Embedding(window, hidden)                   # W_e
        self.out_x = nn.Linear(hidden, d_model, bias=False)          # W_1
        self.out_e = nn.Linear(hidden, d_model, bias=False)          # W_2

    def forward(self, x: Float[Tensor, "B T D"],
                positions: Int[Tensor, "..."] | None = None) -> Float[Tensor, "B T D"]:
        e = F.relu(self.from_e(self.resolve(x, positions)))
        return self.out_x(F.relu(self.from_x(x))) + self.out_e(e)
