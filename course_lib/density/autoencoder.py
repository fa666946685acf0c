"""Autoencoder without masks, which defines no distribution over x, for comparison with MADE."""

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
    r"""Autoencoder: $h = \mathrm{ReLU}(W x + c)$, and the reconstruction $\hat x$ has the raw parameters $V h + b$.

    n            number of variables
    hidden       widths of the hidden layers; an integer is one layer
    conditional  family of the reconstruction, `Bernoulli()` by default

    The loss $-\sum_i \log p(x_i \mid \hat x(x))$ measures the reconstruction of x from x itself. It is not a
    likelihood: output i depends on x_i, so $\sum_x \exp(\mathrm{reconstruction}(x))$ is not 1. The class therefore has
    no `log_prob` and no `sample`. MADE masks the weights of this network.

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
            raise ValueError(f"hidden is {hidden}; expected at least 1 in each layer")
        if n < 1:
            raise ValueError(f"n is {n}; expected at least 1")
        self.n, self.hidden = n, hidden
        self.conditional = conditional if conditional is not None else Bernoulli()
        widths = [n * self.conditional.num_inputs, *self.hidden, n * self.conditional.num_parameters]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"n": self.n, "hidden": list(self.hidden), "conditional": self.conditional}

    check_input, like = AutoregressiveModel.check_input, AutoregressiveModel.like    # the same validation

    @checked
    def forward(self, x: Shaped[Tensor, "B n"]) -> Distribution:
        """Distributions (B, n) of each variable given all variables, including itself."""
        h = self.conditional.encode(x, self.layers[0].weight.dtype).flatten(1)  # (B, n E)
        for layer in self.layers[:-1]:
            h = torch.relu(layer(h))
        return self.conditional(self.layers[-1](h).view(len(x), self.n,
                                                        *self.conditional.parameter_shape))

    @checked
    def reconstruction(self, x: Shaped[Tensor, "B n"]) -> Float[Tensor, "B"]:
        """Log-probability (B,) of each row given itself, in nats."""
        return self(x).log_prob(x).sum(dim=1)

    extra_repr = AutoregressiveModel.extra_repr                      # for print(model)

    def loss(self, x: Shaped[Tensor, "B n"]) -> Float[Tensor, ""]:
        """Cross-entropy of the reconstruction in nats, summed over variables, mean over rows."""
        return -self.reconstruction(x).mean()
