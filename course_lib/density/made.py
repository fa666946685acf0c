"""Masked autoencoder for distribution estimation (MADE)."""

from __future__ import annotations

import copy
from typing import Iterable, NamedTuple, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel, check_order
from course_lib.conditional import Conditional
from course_lib.density._fast_sampling import make_sampler
from course_lib.density._made_sampling import SortedWeights


class MaskedLinear(nn.Linear):
    r"""Linear layer with masked weights, $y = (W \odot M)\, x + b$.

    The mask is a buffer in the dtype of the weight. It is applied in the product, and the
    weight itself is not changed.

    >>> layer = MaskedLinear(3, 2)
    >>> layer.mask.copy_(torch.tensor([[1, 0, 0], [1, 1, 0]])).shape
    torch.Size([2, 3])
    >>> # the third input is cut off
    >>> torch.equal(layer(torch.tensor([[0.0, 0.0, 5.0]])), layer(torch.zeros(1, 3)))
    True
    """

    def __init__(self, inputs: int, outputs: int):
        super().__init__(inputs, outputs)
        self.register_buffer("mask", torch.ones(outputs, inputs))

    @property
    def masked_weight(self) -> Float[Tensor, "out in"]:
        r"""$W \odot M$."""
        return self.weight * self.mask

    def forward(self, x: Float[Tensor, "B in"]) -> Float[Tensor, "B out"]:
        return F.linear(x, self.masked_weight, self.bias)


class State(NamedTuple):
    """State after k variables: all units that depend on these variables only."""

    k: int                                                           # number of known variables
    layers: tuple[Tensor, ...]                                       # (B, units): input and hidden units, by degree
    sorted: SortedWeights                                            # weights, sorted by degree


class MADE(AutoregressiveModel):
    r"""Masked autoencoder: $h^l = \mathrm{ReLU}((W^l \odot M^l)\, h^{l-1} + b^l)$ with $h^0 = x$.

    n            number of variables
    hidden       widths of the hidden layers; an integer is one layer
    conditional  family of the factors
    order        order[k] is the variable that is sampled k-th
    seed         seed of the random degrees

    The degree of a variable's input and output is its position in the order, 1 to n. Each hidden unit has a random
    degree m in 1 to n - 1 and may depend on the first m variables only, so it is connected to the units below of the
    same or a smaller degree. An output is connected to units of a strictly smaller degree. With $m_k$ the degree of
    unit k, the masks are therefore $M_{kj} = [m_k \ge m_j]$ into hidden layers and $[m_k > m_j]$ into the output. The
    degrees of a layer are at least the smallest degree of the layer below, because a unit would otherwise have no
    inputs. Without hidden layers MADE is an FVSBN.

    Slides: "MADE". Paper: Germain, Gregor, Murray and Larochelle 2015.

    >>> model = MADE(784, hidden=(500, 500))
    >>> model.log_prob(torch.zeros(2, 784)).shape, model.sample(3).shape
    (torch.Size([2]), torch.Size([3, 784]))
    >>> # other masks, the same weights
    >>> model.remasked(seed=1).layers[0].weight is model.layers[0].weight
    True
    """

    def __init__(self, n: int, hidden: int | Sequence[int] = (500,),
                 conditional: Conditional | None = None,
                 order: Iterable[int] | Tensor | None = None, seed: int = 0):
        super().__init__(n, conditional, order)
        hidden = (hidden,) if isinstance(hidden, int) else tuple(hidden)
        if any(width < 1 for width in hidden):
            raise ValueError(f"hidden is {hidden}; expected at least 1 in each layer")
        self.hidden, self.seed = hidden, seed
        E, P = self.conditional.num_inputs, self.conditional.num_parameters
        widths = [n * E, *self.hidden, n * P]
        self.layers = nn.ModuleList(MaskedLinear(a, b) for a, b in zip(widths, widths[1:]))
        for j, width in enumerate(self.hidden):
            self.register_buffer(f"degrees_{j + 1}", torch.zeros(width, dtype=torch.long))
        self.set_degrees(draw_degrees(n, self.hidden, torch.Generator().manual_seed(seed)))

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"n": self.n, "hidden": list(self.hidden), "conditional": self.conditional,
                "order": self.order.tolist(), "seed": self.seed}

    # every factor at once: training and scoring
    def conditionals(self, x: Shaped[Tensor, "B n"],
                     context: Tensor | None = None) -> Distribution:
        h = self.conditional.encode(x, self.like().dtype).flatten(1)  # (B, n E)
        for layer in self.layers[:-1]:
            h = torch.relu(layer(h))                                 # (B, width)
        return self._family(self.layers[-1](h))                      # (B, n P)

    # one variable at a time: each hidden unit is computed once, when its last input is known
    def start(self, batch: int, context: Tensor | None = None) -> State:
        like = self.like()
        return State(0, (like.new_zeros(batch, 0),) * (1 + len(self.hidden)), SortedWeights(self))

    def predict(self, state: State) -> Distribution:
        self.variable_at(state.k)                                    # raises if all are known
        return self._family(state.sorted.output(state.layers[-1], state.k), column=0)

    def update(self, state: State, x_i: Shaped[Tensor, "B"]) -> State:
        """Return the state after the next variable has taken the value x_i: compute the units of degree k + 1."""
        self.variable_at(state.k)
        known = self.conditional.encode(x_i, self.like().dtype)      # (B, E)
        layers = [torch.cat([state.layers[0], known], dim=1)]
        for j, before in enumerate(state.layers[1:]):
            new = state.sorted.units(j, layers[j], state.k + 1)      # (B, units)
            layers.append(torch.cat([before, new], dim=1) if new.shape[1] else before)
        return State(state.k + 1, tuple(layers), state.sorted)

    # faster sampling: the same values
    def draw_all(self, u: Float[Tensor, "num n U"], given: Tensor | None = None, known: Tensor | None = None,
                 context: Tensor | None = None) -> Shaped[Tensor, "num n"]:
        """Same samples and arguments as `AutoregressiveModel.draw_all`, computed by `SortedWeights.sample`."""
        return SortedWeights(self).sample(make_sampler(self.conditional, u), len(u), given, known)

    # the masks
    @property
    def degrees(self) -> list[Int[Tensor, "..."]]:
        """List of the degrees of the inputs, (n,), then of the units of each hidden layer, (width,)."""
        return [self.order.argsort() + 1, *(getattr(self, f"degrees_{j + 1}") for j in range(len(self.hidden)))]

    def set_degrees(self, degrees: list[Int[Tensor, "..."]]) -> None:
        """Set the degrees of the hidden layers, a tensor (width,) for each layer, and compute the masks from them."""
        for own, new in zip(self.degrees[1:], degrees):
            own.copy_(new)
        E, P = self.conditional.num_inputs, self.conditional.num_parameters
        masks = made_masks(*self.degrees)
        masks[0] = masks[0].repeat_interleave(E, dim=1)              # the E inputs of a variable are adjacent
        masks[-1] = masks[-1].repeat_interleave(P, dim=0)            # and so do its P raw parameters
        for layer, mask in zip(self.layers, masks):
            layer.mask.copy_(mask)

    def remasked(self, seed: int, order: Iterable[int] | Tensor | None = None) -> MADE:
        """A model that shares this model's parameters; its degrees and order depend on `seed`.

        order  order[k] is the variable that is sampled k-th; default: a random order

        Training either model changes both. `Mixture([made.remasked(s) for s in range(K)])` is
        a mixture over K orders; each training batch uses one order, chosen at random.
        """
        generator = torch.Generator().manual_seed(seed)
        degrees = draw_degrees(self.n, self.hidden, generator)
        drawn = torch.randperm(self.n, generator=generator)
        # parameters are not copied
        other = copy.deepcopy(self, {id(p): p for p in self.parameters()})
        other.seed = seed
        other.order.copy_(drawn if order is None else check_order(order, self.n))
        other.set_degrees(degrees)
        return other

    def parents(self, i: int) -> list[int]:
        """Indices of the variables with a path to output i; in a small network some earlier variables have no path.

        Traced back from the output at position p, a path passes a unit of degree at most p - 1 in the last hidden
        layer, then a unit of the same or a smaller degree in each layer below, and ends at an input whose position is at
        most the last of these degrees. It therefore suffices to follow the largest possible degree in each layer.
        """
        position, *hidden = self.degrees
        reach = int(position[i]) - 1
        for degrees in reversed(hidden):
            reach = max((m for m in degrees.tolist() if m <= reach), default=0)
        return self.order[:reach].tolist()

    # raw parameters to distributions, and initialization
    def _family(self, raw: Float[Tensor, "B nP"], column: int | None = None) -> Distribution:
        raw = raw.reshape(len(raw), -1, *self.conditional.parameter_shape)
        return self.conditional(raw if column is None else raw[:, column])

    @torch.no_grad()
    def initialize(self, x: Shaped[Tensor, "N n"]) -> MADE:
        """Initialize the output layer so that each conditional is near the marginal of its column of x.

        The bias is set to the parameters of the marginals, and the weights are multiplied by 0.1. Returns self.
        """
        self.layers[-1].bias.copy_(self.conditional.marginal(self.check_input(x)).flatten())
        self.layers[-1].weight.mul_(0.1)
        return self


def draw_degrees(n: int, hidden: Sequence[int], generator: torch.Generator) -> list[Int[Tensor, "..."]]:
    """Sample the degrees (width,) of each hidden layer, from the smallest degree of the layer below to n - 1.

    hidden  widths of the hidden layers
    """
    degrees, low = [], 1
    for width in hidden:
        degrees.append(torch.randint(low, max(n, 2), (width,), generator=generator))
        low = int(degrees[-1].min())
    return degrees


def made_masks(position: Int[Tensor, "n"],
               *degrees: Int[Tensor, "..."]) -> list[Bool[Tensor, "out in"]]:
    """List of the layers' masks (out, in), given the degrees of inputs and hidden units.

    position  (n,), degree of each input: its position in the order, 1 to n
    degrees   (width,) for each hidden layer
    """
    below = [position, *degrees]
    hidden = [upper[:, None] >= lower for lower, upper in zip(below, degrees)]
    # strict: x_i must not depend on itself
    return [*hidden, position[:, None] > below[-1]]
