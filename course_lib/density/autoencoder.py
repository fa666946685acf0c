"""A plain autoencoder: it reconstructs, and defines no distribution over x. It stands beside MADE for comparison."""

from __future__ import annotations

from typing import Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Conditional
from course_lib.validation import checked


class Autoencoder(nn.Module):
    r"""$h = \mathrm{ReLU}(W x + c)$, $\hat x$ from the raw numbers $V h + b$; several hidden layers likewise.

    n            number of variables
    hidden       widths of the hidden layers; a number is one layer
    conditional  family of what is reconstructed, `Bernoulli()` unless given

    It minimises $-\sum_i \log p(x_i \mid \hat x(x))$: how well x is reconstructed from x itself. That is no likelihood:
    output i has seen x_i, so $\sum_x \exp(\mathrm{reconstruction}(x))$ is not 1, and there is nothing to sample from.
    So there is no `log_prob` here and no `sample`. MADE is this network with the right paths cut.

    Slides: "Autoregressive models vs. autoencoders".

    >>> model = Autoencoder(4, hidden=3)
    >>> x = torch.tensor([[0, 1, 1, 0]])
    >>> model(x).probs.shape, model.reconstruction(x).shape
    (torch.Size([1, 4]), torch.Size([1]))
    """

    def __init__(self, n: int, hidden: int | Sequence[int] = (500,), conditional: Conditional | None = None):
        super().__init__()
        hidden = (hidden,) if isinstance(hidden, int) else tuple(hidden)
        if any(width < 1 for width in hidden):
            raise ValueError(f"hidden is {hidden}; a hidden layer needs at least one unit")
        if n < 1:
            raise ValueError(f"n is {n}; an autoencoder needs at least one variable")
        self.n, self.hidden = n, hidden
        self.conditional = conditional if conditional is not None else Bernoulli()
        widths = [n * self.conditional.num_inputs, *self.hidden, n * self.conditional.num_parameters]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"n": self.n, "hidden": list(self.hidden), "conditional": self.conditional}

    check_input, like = AutoregressiveModel.check_input, AutoregressiveModel.like    # bad input is refused alike

    @checked
    def forward(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        """Each variable as it is reconstructed from all of x, itself included: batch
        (B, n)."""
        h = self.conditional.encode(x, self.layers[0].weight.dtype).flatten(1)  # (B, n E)
        for layer in self.layers[:-1]:
            h = torch.relu(layer(h))
        return self.conditional(self.layers[-1](h).view(len(x), self.n,
                                                        *self.conditional.parameter_shape))

    @checked
    def reconstruction(self, x: Shaped[Tensor, "B n"]) -> Float[Tensor, "B"]:
        """How well each row is reconstructed, in nats: it looks like a log-likelihood and
        is none."""
        return self(x).log_prob(x).sum(dim=1)

    extra_repr = AutoregressiveModel.extra_repr                      # print(model) says its configuration

    def loss(self, x: Shaped[Tensor, "B n"]) -> Float[Tensor, ""]:
        """What training minimises: the cross-entropy of the reconstruction, summed over variables, mean over rows."""
        return -self.reconstruction(x).mean()
