"""A first-order Markov chain."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.tokenizers.sequences import Tokens, as_sequences, check_prompt, check_symbols

IMPOSSIBLE = -100.0                                                  # a logit for p = 0: e^-100 = 4e-44


class State(NamedTuple):
    """Sampling state of a `MarkovChain`: the last symbol of each row."""

    last: Tensor                                                     # (B,), -1 before the first symbol


class MarkovChain(AutoregressiveModel):
    r"""$p(x_1) = \pi_{x_1}, \quad p(x_i = b \mid x_{i-1} = a) = A_{ab}$: a first-order chain, sequences of any length.

    num_states  V, number of symbols

    The chain has V - 1 parameters for the first symbol and V (V - 1) for the transitions. With a prompt, `context`
    (B, P), the distribution of x_1 is the row of A for the last symbol of the prompt, and $\pi$ is not used.

    Slides: the timeline of language models. Paper: Markov 1913, on vowels and consonants.

    >>> chain = MarkovChain(2).fit_counts([0, 0, 1, 0, 1, 1, 0, 0])
    >>> chain.transition  # row a: the distribution after a
    tensor([[0.5000, 0.5000],
            [0.6667, 0.3333]], grad_fn=<SoftmaxBackward0>)
    """

    def __init__(self, num_states: int):
        super().__init__(None, Categorical(num_states))
        self.initial_logits = nn.Parameter(torch.zeros(num_states))
        self.transition_logits = nn.Parameter(torch.zeros(num_states, num_states))   # row a: logits after a

    @property
    def config(self) -> dict:
        """The constructor's arguments."""
        return {"num_states": len(self.initial_logits)}

    @property
    def initial(self) -> Float[Tensor, "V"]:
        """The distribution of the first symbol, (V,)."""
        return self.initial_logits.softmax(dim=-1)

    @property
    def transition(self) -> Float[Tensor, "V V"]:
        """The transition matrix (V, V): row a is the distribution of the symbol after a."""
        return self.transition_logits.softmax(dim=-1)

    # every factor at once
    def conditionals(self, x: Integer[Tensor, "B n"],
                     context: Tensor | None = None) -> Distribution:
        first = self.predict(self.start(len(x), context)).logits     # (B, V)
        return self.conditional(torch.cat([first[:, None],
                                           self.transition_logits[x[:, :-1]]], dim=1))

    # one symbol at a time
    def start(self, batch: int, context: Integer[Tensor, "B P"] | None = None) -> State:
        if context is None:
            return State(torch.full((batch,), -1, device=self.initial_logits.device))
        return State(check_prompt(self, context, batch, 1)[:, -1])

    def predict(self, state: State) -> Distribution:
        begun = state.last[:, None] >= 0
        return self.conditional(torch.where(begun, self.transition_logits[state.last], self.initial_logits))   # (B, V)

    def update(self, state: State, x_i: Tensor) -> State:
        return State(x_i.long())

    def parents(self, i: int) -> list[int]:
        return [i - 1] if i else []

    def check_input(self, x: Tensor, context: Tensor | None = None) -> Integer[Tensor, "B n"]:
        return super().check_input(check_symbols(x), context)

    def check_context(self, context: Tensor, batch: int) -> None:
        check_prompt(self, context, batch, 1)

    @torch.no_grad()
    def fit_counts(self, tokens: Tokens, alpha: float = 0.0) -> MarkovChain:
        r"""Estimate the probabilities from counts: maximum likelihood for $\alpha = 0$,
        add-alpha smoothing for $\alpha > 0$. Returns self.

        tokens  one sequence (T,), or several sequences

        $A_{ab} = (c(a, b) + \alpha) / (c(a) + \alpha V)$, where c(a, b) counts transitions
        from a to b, c(a) all transitions from a, and V is the number of symbols. The first
        symbol of each sequence is counted for the initial distribution. With $\alpha = 0$ the
        row of a symbol without successor is uniform, and an unseen transition has p = e^-100,
        so that its logit is finite.
        """
        if alpha < 0:
            raise ValueError(f"alpha is {alpha}; expected 0 or more")
        size = len(self.initial_logits)
        sequences = [s.to(self.initial_logits.device) for s in as_sequences(tokens, size)]
        first = torch.stack([s[0] for s in sequences])
        pairs = torch.cat([s[:-1] * size + s[1:] for s in sequences])
        self._set(torch.bincount(first, minlength=size) + alpha,
                  torch.bincount(pairs, minlength=size ** 2).reshape(size, size) + alpha)
        return self

    @classmethod
    def from_probabilities(cls, initial: Float[Tensor, "V"], transition: Float[Tensor, "V V"]) -> MarkovChain:
        """Build a chain from the distribution of the first symbol and the transition matrix.

        initial     (V,), probability of each first symbol
        transition  (V, V): row a is the distribution of the symbol after a

        Raises ValueError unless `initial` and each row of `transition` are probabilities that sum to 1 within 1e-6.
        """
        for name, p in (("initial", initial), ("transition", transition)):
            if (p < 0).any() or ((p.sum(-1) - 1).abs() > 1e-6).any():
                sums = f"sums to {p.sum().item():.6g}" if p.dim() == 1 else f"has rows that sum to {p.sum(-1).tolist()}"
                raise ValueError(f"{name} has the minimum {p.min().item():.6g} and {sums}; expected probabilities that "
                                 f"sum to 1{' in each row' if p.dim() > 1 else ''}")
        chain = cls(len(initial)).to(initial.device, initial.dtype)
        chain._set(initial, transition)
        return chain

    @torch.no_grad()
    def _set(self, initial: Tensor, transition: Tensor) -> None:
        for logits, weight in ((self.initial_logits, initial), (self.transition_logits, transition)):
            total = weight.double().sum(dim=-1, keepdim=True)
            p = torch.where(total > 0, weight / total.clamp(min=1e-300), 1 / len(self.initial_logits))
            logits.copy_(p.log().clamp(min=IMPOSSIBLE))

    def stationary(self) -> Float[Tensor, "V"]:
        r"""The stationary distribution $\mu$ of the transition matrix A, (V,): $\mu A = \mu$.

        Raises ValueError if it is not unique.
        """
        a = self.transition.detach().double()
        equations = torch.cat([a.T - torch.eye(len(a), dtype=a.dtype, device=a.device), torch.ones_like(a[:1])])
        if torch.linalg.matrix_rank(equations, rtol=1e-9) < len(a):
            raise ValueError("transition has several closed classes (sets of symbols that the chain does not leave); "
                             "expected one, so that the stationary distribution is unique")
        right_side = torch.zeros(len(a) + 1, dtype=a.dtype, device=a.device)
        right_side[-1] = 1
        return torch.linalg.lstsq(equations, right_side[:, None]).solution[:, 0].clamp(min=0).to(self.transition.dtype)

    def entropy_rate(self) -> Float[Tensor, ""]:
        r"""The entropy rate of the chain, $-\sum_a \mu_a \sum_b A_{ab} \ln A_{ab}$, in nats per symbol.

        $\mu$ is the `stationary` distribution.
        """
        a = self.transition.detach()
        return -(self.stationary()[:, None] * torch.xlogy(a, a)).sum()
