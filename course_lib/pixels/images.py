"""Base class of image models: order of the pixels and colors, families of the factors, classes."""

from __future__ import annotations

import functools
from typing import Sequence

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, State
from course_lib.conditional import Conditional, DiscretizedLogistic, DiscretizedLogisticMixture
from course_lib.pixels.masks import MaskedConv2d, group_of, kernel_mask, widened
from course_lib.validation import is_validating


class ImageModel(AutoregressiveModel):
    r"""Base class of image models, which predict the colors of pixel t one after another: $p(x) = \prod_t
    p(x_t^R \mid x_{<t})\, p(x_t^G \mid x_{<t}, x_t^R)\, p(x_t^B \mid x_{<t}, x_t^R, x_t^G)$.

    shape        (C, H, W), or (H, W) for one channel. A row of x is a flattened image: n = C H W variables
    conditional  family of every factor
    colors       "masks": every layer has a group of channels for each color, and masks between groups. "chain": the
                 network depends on earlier pixels only and returns the parameters of all colors at once; the means of
                 a color are linear in the earlier colors, see `chained`. It requires a `DiscretizedLogisticMixture`
    classes      number of classes, for a model of p(x | class) whose context is the class of each row, (B,); None: p(x)

    Pixels are sampled row by row from the top left, and the colors of a pixel one after another. The columns of x have
    the layout (C, H, W), so the sampling order differs from the order of the columns if C > 1. A subclass defines
    `raw(image, label)`, and `seen(image)` for `receptive_field`.

    Slides: "PixelRNN", the factorization over colors.

    >>> from course_lib.pixels import PixelCNN
    >>> model = PixelCNN((3, 2, 2), width=6, depth=1, first=3)
    >>> model.order.tolist()  # red, green, blue of the first pixel, ...
    [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]
    >>> model.parents(8)                                             # blue of the first pixel
    [0, 4]
    """

    def __init__(self, shape: Sequence[int], conditional: Conditional | None = None, colors: str = "masks",
                 classes: int | None = None):
        shape = tuple(shape) if len(shape) == 3 else (1, *shape)
        if len(shape) != 3 or min(shape) < 1:
            raise ValueError(f"shape is {list(shape)}; expected (channels, height, width) or (height, width), "
                             "each at least 1")
        C, H, W = shape
        super().__init__(C * H * W, conditional, rearrange(torch.arange(C * H * W), "(C p) -> (p C)", C=C))
        if colors not in ("masks", "chain"):
            raise ValueError(f"colors is {colors!r}; expected 'masks' or 'chain'")
        if colors == "chain" and not isinstance(self.conditional, DiscretizedLogisticMixture):
            raise ValueError(f"colors is 'chain' and conditional is {self.conditional}; expected a "
                             "DiscretizedLogisticMixture as conditional, or colors 'masks'")
        if classes is not None and classes < 1:
            raise ValueError(f"classes is {classes}; expected at least 1, or None")
        self.shape, self.colors, self.classes = shape, colors, classes
        self.groups = C if colors == "masks" else 1                  # groups of channels in every layer
        pairs, k = C * (C - 1) // 2, getattr(self.conditional, "k", 0)
        self.outputs = C * self.conditional.num_parameters if colors == "masks" else k * (1 + 2 * C + pairs)

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"], context: Tensor | None = None) -> Distribution:
        return self.family(self.raw(self.image(x), self.label(context)), x)

    def raw(self, image: Float[Tensor, "B C H W"], label: Int[Tensor, "B"] | None) -> Float[Tensor, "B outputs H W"]:
        """Raw parameters of the factors at every pixel, from images with levels in [-1, 1] and their classes, or None.

        Their number `outputs` is C P, P parameters for each color in turn; for a chain of colors see `chained`.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define raw(image, label)")

    # inputs and outputs of a network
    def image(self, x: Shaped[Tensor, "B n"]) -> Float[Tensor, "B C H W"]:
        """Reshape x to images, with levels 0..K-1 scaled to [-1, 1], so that the padding 0 differs from level 0."""
        return rearrange(self.scaled(x), "B (C h w) -> B C h w", C=self.shape[0], h=self.shape[1])

    def scaled(self, x: Tensor) -> Tensor:
        """Scale levels 0..K-1 of x, of any shape, to [-1, 1]; continuous values are not scaled."""
        K, x = self.conditional.num_values, x.to(self.head[-1].bias.dtype)
        return x if K is None else 2 * x / (K - 1) - 1

    def family(self, raw: Float[Tensor, "B outputs H W"], x: Shaped[Tensor, "B n"]) -> Distribution:
        """Factors, batch shape (B, n), from the raw parameters of all pixels; x is used only if `colors` is "chain"."""
        B, (C, H, _) = len(raw), self.shape
        if self.colors == "chain":
            each = self.chained(rearrange(raw, "B P h w -> B h w P"), rearrange(x, "B (C h w) -> B h w C", C=C, h=H))
            return self.conditional(rearrange(each, "B h w C three k -> B (C h w) three k"))
        each = rearrange(raw, "B (C P) h w -> B (C h w) P", C=C)     # color by color
        return self.conditional(each.reshape(B, self.n, *self.conditional.parameter_shape))

    def chained(self, raw: Float[Tensor, "... outputs"], x: Int[Tensor, "... C"]) -> Float[Tensor, "... C 3 k"]:
        r"""Raw parameters of each color of a pixel, for a chain of colors within the mixture (PixelCNN++, equation 3).

        raw  k logits of the weights, C k means, C k log scales, and k coefficients gamma for each pair of colors
        x    levels of the colors of the pixel; the parameters of color c depend on the colors before c only

        Component j of color c has mean $\mu_{cj} + \sum_{b<c} \gamma_{cbj}\, x_b$. All colors of a pixel come from the
        same component, $p(x) = \sum_j \pi_j \prod_c p_j(x_c \mid x_{<c})$. The mixture weights of color c are therefore
        posterior probabilities, proportional to $\pi_j \prod_{b<c} p_j(x_b \mid x_{<b})$. Returns the logits of these
        weights, the means and the log scales of the k components, along the axis of size 3.
        """
        C, k = self.shape[0], self.conditional.k
        weights, mean, log_scale, gamma = raw.split([k, C * k, C * k, raw.shape[-1] - (2 * C + 1) * k], dim=-1)
        mean, log_scale = (t.unflatten(-1, (C, k)) for t in (mean, log_scale))
        gamma = torch.tanh(gamma).unflatten(-1, (C * (C - 1) // 2, k)) if C > 1 else gamma
        value, pair, each = self.scaled(x), 0, []
        for c in range(C):
            mu = mean[..., c, :]                                     # (..., k)
            for b in range(c):
                mu = mu + gamma[..., pair, :] * value[..., b, None]
                pair += 1
            each.append(torch.stack([weights, mu, log_scale[..., c, :]], dim=-2))                  # (..., 3, k)
            component = DiscretizedLogistic(mu, log_scale[..., c, :].clamp(min=-7).exp(), self.conditional.num_values)
            weights = weights + component.log_prob(x[..., c, None])
        return torch.stack(each, dim=-3)

    def of_color(self, raw: Float[Tensor, "B outputs"], pixel: Shaped[Tensor, "B C"], c: int) -> Distribution:
        """Factor of color c, from 0, of one pixel, (B,), from its raw parameters and levels of earlier colors."""
        if self.colors == "chain":
            return self.conditional(self.chained(raw, pixel)[:, c])
        return self.conditional(raw.view(len(raw), self.shape[0], *self.conditional.parameter_shape)[:, c])

    # one variable at a time: sampling
    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """Return the state after the next variable has taken the value x_i (B,); raise ValueError if x_i is invalid."""
        return super().update(state, self.check_value(x_i, len(state.x)))

    def check_value(self, x_i: Shaped[Tensor, "B"], batch: int) -> Shaped[Tensor, "B"]:
        """Return the values x_i (B,) in the dtype of the family; raise ValueError if they are invalid.

        batch  B, number of rows of the state

        Within `sample`, x_i is returned without validation.
        """
        if is_validating(self):
            return x_i
        shape = tuple(x_i.shape) if isinstance(x_i, Tensor) else None
        if shape != (batch,):
            raise ValueError(f"x_i {f'is {x_i!r}' if shape is None else f'has shape {shape}'}; expected a tensor of shape "
                             f"({batch},), a value for each row of the state")
        return self.conditional.check(x_i, "x_i", self.like().dtype)

    # classes
    def label(self, context: Tensor | None) -> Int[Tensor, "B"] | None:
        """Class of each row, (B,), from the context (B,) or (B, 1); None for a model without classes."""
        if self.classes is not None and context is None:
            raise ValueError(f"context is None; expected integers (B,), the class of each row, 0 to {self.classes - 1}")
        return None if context is None else context.reshape(-1)

    def check_context(self, context: Tensor, batch: int) -> None:
        if self.classes is None:
            super().check_context(context, batch)
        if tuple(context.shape) not in ((batch,), (batch, 1)) or context.is_floating_point():
            raise ValueError(f"context has shape {tuple(context.shape)} and dtype {context.dtype}; expected integers "
                             f"of shape ({batch},), the class of each row")
        if not ((context >= 0) & (context < self.classes)).all():
            raise ValueError(f"context contains classes from {context.min()} to {context.max()}; expected "
                             f"0 to {self.classes - 1}")

    # receptive fields
    def parents(self, i: int) -> list[int]:
        """Indices of the variables that factor i depends on, its receptive field: all variables before i, or fewer."""
        return self.receptive_field[i].nonzero()[:, 0].tolist()

    @functools.cached_property
    def receptive_field(self) -> Bool[Tensor, "n n"]:
        """Matrix, True at [i, j] if factor i depends on variable j. An earlier j with False is in the blind spot."""
        C, H, W = self.shape
        seen = self.seen(torch.eye(self.n, dtype=torch.bool).view(-1, C, H, W))                    # (n, groups, H, W)
        if self.colors == "chain":                                   # and the earlier colors of the pixel
            seen = seen.repeat(1, C, 1, 1) | _colors_before(C, H, W)
        return seen.flatten(1).T.contiguous()

    def seen(self, image: Bool[Tensor, "n C H W"]) -> Bool[Tensor, "n groups H W"]:
        """Receptive fields of `raw`: [j, g, r, c] is True if color group g in row r, column c depends on variable j.

        image  image[j] is True at variable j only
        """
        raise NotImplementedError(f"{type(self).__name__} does not define seen(image)")

    def field_of(self, seen: Bool[Tensor, "n in H W"], layer: MaskedConv2d, kind: str) -> Bool[Tensor, "n groups H W"]:
        """Receptive field after a masked layer of kind "A" or "B", with one channel per color group.

        seen  receptive field of the input of the layer, as in `widened`

        The mask is computed by `kernel_mask` for the kernel size of `layer`, and not taken from `layer`, so that
        `course_lib.contract.check_causal` can detect a wrong mask.
        """
        rows, k = layer.kernel_size
        mask = kernel_mask(k, kind, self.groups, seen.shape[1], self.groups)
        return widened(seen, mask[:, :, k // 2 + 1 - rows:k // 2 + 1])

    # initialization
    @torch.no_grad()
    def initialize(self, x: Shaped[Tensor, "N n"]) -> ImageModel:
        """Initialize the output layer so that each factor is near the marginal of its color over all pixels of x.

        The bias is set to the parameters of the marginals, and the weights are multiplied by 0.1. Returns self.
        """
        C, last = self.shape[0], self.head[-1]
        each = rearrange(self.check_input(x), "N (C p) -> (N p) C", C=C)
        marginal = self.conditional.marginal(each).to(last.bias.dtype)                             # (C, P)
        if self.colors == "chain":
            zeros, k = torch.zeros_like(last.bias), self.conditional.k
            zeros[k:(2 * C + 1) * k] = torch.cat([marginal[:, 1].flatten(), marginal[:, 2].flatten()])
            marginal = zeros
        last.bias.copy_(marginal.flatten())
        last.weight.mul_(0.1)
        return self


def _colors_before(C: int, H: int, W: int) -> Bool[Tensor, "n C H W"]:
    """[j, c, r, w] is True if variable j is a color of the pixel in row r, column w that comes before color c."""
    earlier = torch.ones(C, C).triu(1)                               # [b, c]: b before c
    return torch.einsum("bc,pq->bpcq", earlier, torch.eye(H * W)).reshape(C * H * W, C, H, W) > 0


def check_width(width: int, groups: int, name: str = "width") -> None:
    """Raise ValueError unless `width` is a multiple of `groups`; `name` is its name in the message."""
    group_of(width, groups, name)


def head(width: int, outputs: int, groups: int) -> nn.ModuleList:
    """Output layers of an image model: masked 1 x 1 convolutions, from `width` channels to `width`, then to `outputs`.

    The caller applies a ReLU before each of them. The `outputs` channels are the raw parameters of the factors.

    groups  number of groups of channels, one for each color, with masks between them
    """
    return nn.ModuleList([MaskedConv2d(width, width, 1, "B", groups), MaskedConv2d(width, outputs, 1, "B", groups)])
