"""ELECTRA: a generator fills masked positions, and a discriminator predicts for *every* token whether it was replaced.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.transformer.bert import BERT, PretrainingBatch
from course_lib.transformer.blocks import ACTIVATIONS


class Replaced(NamedTuple):
    """Input and targets of ELECTRA's discriminator."""

    tokens: Tensor                                                   # (B, T), with sampled tokens at masked positions
    replaced: Tensor                                                 # (B, T), True where `tokens` differs from the text


def replace(targets: Integer[Tensor, "..."], chosen: Bool[Tensor, "..."], drawn: Integer[Tensor, "..."]) -> Replaced:
    """Replace the original tokens `targets` of a text by the sampled tokens `drawn` where `chosen` is True.

    The arguments have equal shapes. Returns `tokens`, the resulting text, and `replaced`, True where `tokens` differs
    from `targets`: a sampled token that equals the original token does not count as replaced.

    >>> text, drawn = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 9, 9]])
    >>> replace(text, torch.tensor([[True, False, True]]), drawn).replaced
    tensor([[False, False,  True]])
    """
    for name, value in (("chosen", chosen), ("drawn", drawn)):
        if value.shape != targets.shape:
            raise ValueError(f"{name} has shape {tuple(value.shape)}; expected {tuple(targets.shape)}, as in targets")
    tokens = torch.where(chosen, drawn, targets)
    return Replaced(tokens, tokens != targets)


class ReplacedTokenHead(nn.Module):
    r"""Logit of "replaced" for each token, $w^\top \phi(h_t W + b) + c$, from its hidden state $h_t$ (D,).

    D is `d_model`, $\phi$ is `activation`, "relu", "gelu" or "gelu_tanh"; w, W, b and c are learned.
    """

    def __init__(self, d_model: int, activation: str = "gelu"):
        super().__init__()
        self.transform, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, 1)
        self.activation = activation

    def forward(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T"]:
        return self.out(ACTIVATIONS[self.activation](self.transform(hidden)))[..., 0]


class ELECTRA(nn.Module):
    r"""ELECTRA, with loss $\mathcal{L} = \mathcal{L}_\mathrm{MLM}(\text{generator}) + \lambda\, \mathbb{E}\,\frac{1}{T}
    \sum_t -\ln p(\text{replaced}_t \mid \hat x)$.

    The second term is the discriminator's mean cross-entropy over all T tokens of $\hat x$, the text whose masked
    tokens are replaced by samples from the generator; $\text{replaced}_t$ is the label whether token t differs from the
    original token, and $\mathbb{E}$ is the expectation over samples.

    generator      small BERT, trained by masked language modeling; no gradient flows through its samples
    discriminator  BERT that is used after pre-training
    weight         $\lambda$, 50 in the paper, because the discriminator's loss is much smaller than the generator's

    Training is not adversarial: the generator maximizes the likelihood of the original tokens. Slides: "Other models".
    Paper: Clark et al. 2020.

    >>> from course_lib.transformer import BERTConfig, mask_tokens
    >>> small, large = (BERT(BERTConfig(vocab_size=12, window=8, layers=1, heads=2,
    ...                                 d_model=d)) for d in (4, 8))
    >>> model, tokens = ELECTRA(small, large), torch.randint(5, 12, (2, 6))
    >>> read = mask_tokens(tokens, mask_id=4, vocab_size=12, special=range(4), rate=0.5)
    >>> everywhere = torch.ones_like(read.chosen)
    >>> batch = PretrainingBatch(read.tokens, 0 * tokens, everywhere, read.chosen, tokens)
    >>> model.put_in(batch).tokens.shape, model.logits(tokens).shape
    (torch.Size([2, 6]), torch.Size([2, 6]))
    """

    def __init__(self, generator: BERT, discriminator: BERT, weight: float | int = 50.0):
        super().__init__()
        if generator.config.vocab_size != discriminator.config.vocab_size:
            raise ValueError(f"generator has a vocabulary of {generator.config.vocab_size} tokens and discriminator of "
                             f"{discriminator.config.vocab_size}; expected the same vocabulary in both")
        if weight < 0:
            raise ValueError(f"weight is {weight}; expected at least 0")
        self.generator, self.discriminator, self.weight = generator, discriminator, weight
        self.head = ReplacedTokenHead(discriminator.config.d_model, discriminator.config.activation)

    @property
    def config(self) -> dict:
        """Arguments of the constructor, {name: value}."""
        return {"generator": self.generator, "discriminator": self.discriminator, "weight": self.weight}

    def logits(self, tokens: Integer[Tensor, "B T"], token_types: Tensor | None = None,
               mask: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T"]:
        """Return the discriminator's logits (B, T) of "this token was replaced"; token types and mask as in `BERT`."""
        return self.head(self.discriminator(tokens, token_types, mask).tokens)

    forward = logits

    @torch.no_grad()
    def put_in(self, batch: PretrainingBatch,
               generator: torch.Generator | None = None) -> Replaced:
        """Replace each masked token by a sample from the generator network; `generator`
        is the random number generator."""
        batch = PretrainingBatch(*batch)
        scores, _ = self.generator.pretraining_logits(batch.tokens, batch.token_types,
                                                      batch.mask)
        u = torch.rand(scores.shape, generator=generator,
                       device=None if generator is None else generator.device)
        # Gumbel: a sample from the softmax
        drawn = (scores - (-u.to(scores).clamp(1e-12).log()).log()).argmax(dim=-1)
        return replace(batch.targets, batch.chosen, drawn)

    def loss(self, batch: PretrainingBatch,
             generator: torch.Generator | None = None) -> tuple[Float[Tensor, ""], int]:
        """Generator loss plus `weight` times the discriminator loss, each a mean over
        tokens, and the number of tokens that are not padding."""
        batch = PretrainingBatch(*batch)
        gaps, _ = self.generator.loss(batch._replace(next=None))
        asked = self.put_in(batch, generator)
        scores = self.logits(asked.tokens, batch.token_types, batch.mask)  # (B, T)
        replaced = asked.replaced[batch.mask].to(scores.dtype)
        told = F.binary_cross_entropy_with_logits(scores[batch.mask], replaced)
        return gaps + self.weight * told, int(batch.mask.sum())
