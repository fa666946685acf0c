"""Mixtures of models with equal weights."""

from __future__ import annotations

import math
from typing import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel, evaluating


class Mixture(nn.Module):
    r"""Mixture with equal weights, $p(x) = \frac{1}{K} \sum_{k=1}^{K} p_k(x)$, for example over orders or masks.

    models  the K components: models of the same number of variables and with the same family of factors

    log p(x) is the logsumexp of the models' log-likelihoods of x, minus log K. Averaging the logits of each variable
    instead would give another distribution. A mixture has no conditionals: it scores and samples whole rows.

    Slides: "MADE". Paper: Germain et al. 2015; Uria, Murray and Larochelle 2014.

    >>> from course_lib.density import MADE
    >>> made = MADE(8, hidden=16)
    >>> # three orders, one set of weights
    >>> model = Mixture([made, made.remasked(seed=1), made.remasked(seed=2)])
    >>> model.log_prob(torch.zeros(5, 8)).shape, model.sample(2).shape
    (torch.Size([5]), torch.Size([2, 8]))
    """

    def __init__(self, models: Sequence[AutoregressiveModel]):
        super().__init__()
        if not models:
            raise ValueError("models is empty; expected at least one model")
        sizes = sorted({m.n for m in models}, key=str)
        if len(sizes) > 1:
            raise ValueError(f"models contains models of {sizes} variables; expected the same number n in all models")
        families = sorted({repr(m.conditional) for m in models})
        if len(families) > 1:
            raise ValueError(f"models contains models of the families {families}; expected the same family in all models")
        self.models = nn.ModuleList(models)
        self.n, self.conditional = models[0].n, models[0].conditional

    @property
    def config(self) -> dict:
        """Arguments of the constructor."""
        return {"models": list(self.models)}

    def log_prob(self, x: Tensor, context: Tensor | None = None) -> Float[Tensor, "B"]:
        """Exact log-likelihood (B,) of each row of x, in nats."""
        each = torch.stack([m.log_prob(x, context) for m in self.models])  # (K, B)
        return each.logsumexp(dim=0) - math.log(len(self.models))

    def forward(self, x: Tensor, context: Tensor | None = None) -> Float[Tensor, "B"]:
        """Return `log_prob(x)`, because a mixture has no conditionals."""
        return self.log_prob(x, context)

    def loss(self, x: Tensor, context: Tensor | None = None,
             generator: torch.Generator | None = None) -> Tensor:
        """Mean negative log-likelihood of the batch under a random component."""
        k = int(torch.randint(len(self.models), (), generator=generator))
        return -self.models[k].log_prob(x, context).mean()

    @torch.no_grad()
    def sample(self, num: int, given: Tensor | None = None, known: Tensor | None = None,
               context: Tensor | None = None, generator: torch.Generator | None = None,
               length: int | None = None) -> Tensor:
        """Sample `num` rows (num, n): first a component for each row, then the row from this component.

        The other arguments are as in `AutoregressiveModel.sample`. The components keep the probability 1/K whatever the
        known values are, so samples given known values are not exact.
        """
        if num < 1:
            raise ValueError(f"num is {num}; expected at least 1")
        given, known = self.models[0].check_given(num, self.models[0].length_for(length), given, known)
        seed = int(torch.randint(2 ** 62, (), generator=generator, device=generator.device if generator else None))
        which = torch.randint(len(self.models), (num,), generator=torch.Generator().manual_seed(seed))
        x: Tensor | None = None
        with evaluating(self):
            for k, model in enumerate(self.models):
                rows = (which == k).nonzero()[:, 0]
                if len(rows) == 0:
                    continue
                own = torch.Generator().manual_seed((seed + k + 1) % 2 ** 63)
                part = [None if t is None else t[rows.to(t.device)] for t in (given, known, context)]
                drawn = model.sample(len(rows), part[0], part[1], part[2], own, length)
                if x is None:
                    x = drawn.new_empty(num, drawn.shape[1])
                x[rows.to(x.device)] = drawn
        return x

    @torch.no_grad()
    def randomize(self, generator: torch.Generator | None = None) -> None:
        """Initialize every component at random."""
        for model in self.models:
            model.randomize(generator)
