"""BERT: a bidirectional encoder, pre-trained by masked language modeling and next-sentence prediction."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.tokenizers.batching import tokens_and_mask
from course_lib.transformer import pretrained_bert
from course_lib.transformer.blocks import ACTIVATIONS, LayerNorm, TransformerBlock
from course_lib.transformer.corruption import Corrupted, Pair, mask_tokens, sentence_pairs
from course_lib.transformer.dropout import drop
from course_lib.transformer.positions import LearnedPositions
from course_lib.validation import check_sizes, is_all_true, values_checked

__all__ = ["BERT", "BERTConfig", "Corrupted", "Encoded", "Pair", "PretrainingBatch", "mask_tokens", "sentence_pairs"]


@dataclass(frozen=True)
class BERTConfig:
    """Sizes of a BERT; the defaults are the sizes of BERT base, with 110 million parameters.

    vocab_size   V, number of tokens
    window       maximum length of the input in tokens
    layers       number of blocks, each with `heads` attention heads
    d_model      D, size of the hidden states
    token_types  number of segment types; with 2, type 0 marks the first sentence and type 1 the second
    d_ff         hidden size of the feed-forward networks; None: 4 d_model
    dropout      dropout probability of embeddings, sublayers and attention weights
    activation   activation of the feed-forward networks: "relu", "gelu" or "gelu_tanh"
    eps          epsilon of the layer norms
    tied         whether the output layer of the masked language model shares the token embeddings

    >>> BERTConfig(vocab_size=30522).heads
    12
    """

    vocab_size: int
    window: int = 512
    layers: int = 12
    heads: int = 12
    d_model: int = 768
    d_ff: int | None = None
    token_types: int = 2
    dropout: float | int = 0.1
    activation: str = "gelu"
    eps: float | int = 1e-12
    tied: bool = True

    def __post_init__(self):
        check_sizes(vocab_size=self.vocab_size, window=self.window, layers=self.layers, heads=self.heads,
                    d_model=self.d_model, token_types=self.token_types)


class Encoded(NamedTuple):
    """Output of a BERT: vectors of the tokens, and of the whole input."""

    tokens: Tensor                                                   # (B, T, D): hidden states of the last block
    sentence: Tensor                                                 # (B, D): tanh(linear layer of [CLS]'s state)


class PretrainingBatch(NamedTuple):
    """Input of `BERT.loss`.

    tokens, token_types  (B, T), corrupted tokens and segment types
    mask                 (B, T), True for real tokens
    chosen               (B, T), True for tokens that are predicted
    targets              (B, T), original tokens; used where `chosen` is True
    next                 (B,), whether the second sentence follows the first; None: without next-sentence prediction

    >>> tokens = torch.tensor([[1, 5, 6, 2]])
    >>> read = mask_tokens(tokens, mask_id=3, vocab_size=8, special=(1, 2), rate=1.0)
    >>> segments, mask = torch.zeros_like(tokens), tokens > 0
    >>> batch = PretrainingBatch(read.tokens, segments, mask, read.chosen, tokens)
    >>> batch.chosen
    tensor([[False,  True,  True, False]])
    """

    tokens: Integer[Tensor, "B T"]
    token_types: Integer[Tensor, "B T"]
    mask: Bool[Tensor, "B T"]
    chosen: Bool[Tensor, "B T"]
    targets: Integer[Tensor, "B T"]
    next: Tensor | None = None


class BERT(nn.Module):
    r"""Bidirectional encoder $h^0 = \mathrm{LN}(E[x] + P + S[s])$, $\; h^l = \mathrm{block}_l(h^{l-1})$ with post-LN
    blocks.

    x are the tokens and s their segment types; E, P and S are embeddings of tokens, positions and segment types. From
    the last of the L blocks, `MaskedLanguageHead` predicts the tokens of a corrupted text, and a second head predicts
    from [CLS] whether the second sentence follows the first. BERT defines no distribution over texts, because each
    prediction depends on tokens on both sides.

    Slides: "BERT". Paper: Devlin et al. 2019.

    >>> bert = BERT(BERTConfig(vocab_size=8, window=16, layers=1, heads=2, d_model=4))
    >>> encoded = bert(torch.tensor([[1, 5, 3, 2]]))
    >>> encoded.tokens.shape, encoded.sentence.shape
    (torch.Size([1, 4, 4]), torch.Size([1, 4]))
    >>> # of the token at every position
    >>> bert.pretraining_logits(torch.tensor([[1, 5, 3, 2]]))[0].shape
    torch.Size([1, 4, 8])
    """

    def __init__(self, config: BERTConfig | dict):
        super().__init__()
        self.config = c = config if isinstance(config, BERTConfig) else BERTConfig(**config)
        D = c.d_model
        self.tokens = nn.Embedding(c.vocab_size, D)                  # E
        self.positions = LearnedPositions(c.window, D)               # P
        self.types = nn.Embedding(c.token_types, D)                  # S
        self.norm = LayerNorm(D, c.eps)
        self.blocks = nn.ModuleList(
            TransformerBlock(D, c.heads, c.d_ff or 4 * D, c.dropout, "post", c.activation, c.eps)
            for _ in range(c.layers))
        self.pooler = nn.Linear(D, D)
        self.mlm = MaskedLanguageHead(c)
        self.nsp = nn.Linear(D, 2)                                   # 0: next sentence, 1: another sentence
        for p in self.parameters():
            if p.dim() == 2:
                nn.init.normal_(p, 0, 0.02)
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    extra_repr = AutoregressiveModel.extra_repr                      # for print(model)

    def forward(self, tokens: Tensor, token_types: Tensor | None = None,
                mask: Bool[Tensor, "B T"] | None = None) -> Encoded:
        """Encode tokens (B, T) as a vector for each token, and a vector for the whole input.

        token_types  (B, T), segment type of each token; 0 by default
        mask         (B, T), True for real tokens; padding, on the right, is not attended to, and its output is
                     meaningless

        Raises ValueError if tokens or types are out of range, if the input is longer than the window, or if the mask is
        invalid.
        """
        x = self.states(tokens, token_types, mask)[-1]
        return Encoded(x, self.pooler(x[:, 0]).tanh())

    def states(self, tokens: Tensor, token_types: Tensor | None = None,
               mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B T D"]]:
        r"""Hidden states $h^0, \dots, h^L$: after the embeddings and after each block."""
        tokens, mask = tokens_and_mask((tokens, mask), self.config.vocab_size)
        self._check(tokens, token_types, mask)
        x = self.positions(self.tokens(tokens))                      # (B, T, D)
        x = x + (self.types.weight[0] if token_types is None else self.types(token_types))
        x = self.norm(x)
        x = drop(x, self.config.dropout) if self.training else x
        # (B, 1, T), for every query
        attend = None if mask is None or is_all_true(mask) else mask[:, None, :]
        states = [x]
        for block in self.blocks:
            x = block(x, attend)
            states.append(x)
        return states

    def pretraining_logits(self, tokens: Tensor, token_types: Tensor | None = None,
                           mask: Bool[Tensor, "B T"] | None = None
                           ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, "B 2"]]:
        """Return the logits of both pretraining tasks, for arguments as in `forward`: the logits (B, T, V) of masked
        language modeling at every position, and the logits (B, 2) of next-sentence prediction, with class 0 for "next"
        and class 1 for "not next"."""
        encoded = self(tokens, token_types, mask)
        return self.mlm(encoded.tokens, self.tokens.weight), self.nsp(encoded.sentence)

    def loss(self, batch: PretrainingBatch) -> tuple[Float[Tensor, ""], int]:
        """Return the loss in nats and the number of chosen tokens.

        The loss is the mean cross-entropy over the chosen tokens, plus, unless `batch.next` is None, the mean
        cross-entropy of next-sentence prediction. The output layer is applied to chosen positions only. Slides:
        equation (10).
        """
        batch = PretrainingBatch(*batch)
        if values_checked() and not batch.chosen.any():
            raise ValueError("chosen is False everywhere; expected True at one token or more: raise the rate of "
                             "mask_tokens, or use a larger batch")
        encoded = self(batch.tokens, batch.token_types, batch.mask)
        logits = self.mlm(encoded.tokens[batch.chosen], self.tokens.weight)          # (N, V)
        loss = F.cross_entropy(logits, batch.targets[batch.chosen])
        if batch.next is not None:
            loss = loss + F.cross_entropy(self.nsp(encoded.sentence), (~batch.next.bool()).long())
        return loss, len(logits)

    def check_batch(self, batch: PretrainingBatch | tuple) -> None:
        """Raise the ValueError that `loss` raises if tokens, types or mask are invalid."""
        given = PretrainingBatch(*batch)
        tokens, mask = tokens_and_mask((given.tokens, given.mask), self.config.vocab_size)
        self._check(tokens, given.token_types, mask)

    @torch.no_grad()
    def attention_weights(self, tokens: Tensor, token_types: Tensor | None = None,
                          mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B H T T"]]:
        """Attention weights, (B, H, T, T) for each layer, the first layer first; arguments as in `forward`."""
        weights, attend = [], None if mask is None else mask[:, None, :]

        def note(attention, inputs):
            weights.append(attention.weights(inputs[0], mask=attend))

        hooks = [block.attention.register_forward_pre_hook(note) for block in self.blocks]
        try:
            self(tokens, token_types, mask)
        finally:
            for hook in hooks:
                hook.remove()
        return weights

    def _check(self, tokens: Tensor, token_types: Tensor | None, mask: Bool[Tensor, "B T"] | None) -> None:
        if tokens.dim() != 2 or tokens.numel() == 0 or tokens.shape[1] > self.config.window:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, T) with T from 1 to "
                             f"{self.config.window}, the window")
        for name, value, many in (("tokens", tokens, self.config.vocab_size),
                                  ("token_types", token_types, self.config.token_types)):
            if values_checked() and value is not None and (value.min() < 0 or value.max() >= many):
                raise ValueError(f"{name} contains values from {value.min()} to {value.max()}; expected 0 to "
                                 f"{many - 1}")
        if token_types is not None and token_types.shape != tokens.shape:
            raise ValueError(f"token_types has shape {tuple(token_types.shape)}; expected {tuple(tokens.shape)}, as "
                             "tokens has")
        if values_checked() and mask is not None and not mask[:, 0].all():
            raise ValueError("mask is False at the first position of a row; expected padding on the right only, as "
                             "pad(texts, value) adds it")

    @classmethod
    def from_pretrained(cls, name: str | Path) -> BERT:
        """Load a BERT from the folder `name` with config.json and weights, or by its name on the Hugging Face hub.

        It is in eval mode. A pooler or heads that the file lacks are initialized at random, with a warning. Raises
        HubError, a ValueError, if the configuration is not supported, or if tensors are missing, unexpected or of a
        wrong shape.
        """
        return pretrained_bert.load(cls, name)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write config.json and model.safetensors in the format of Hugging Face's BertForPreTraining."""
        pretrained_bert.save(self, folder)


class MaskedLanguageHead(nn.Module):
    r"""Head of masked language modeling: logits $\mathrm{LN}(\phi(h W + b))\, E^\top + c$ of the token at a position.

    h is the hidden state, $\phi$ the activation of the configuration, and W, b and c are learned. E (V, D) are the
    token embeddings, which are an argument of the call, or a learned matrix if the configuration is not tied.
    """

    def __init__(self, c: BERTConfig):
        super().__init__()
        self.transform = nn.Linear(c.d_model, c.d_model)             # W, b
        self.norm = LayerNorm(c.d_model, c.eps)
        self.table = None if c.tied else nn.Linear(c.d_model, c.vocab_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(c.vocab_size))          # c
        self.activation = c.activation

    def forward(self, hidden: Float[Tensor, "... D"], embeddings: Float[Tensor, "V D"]) -> Float[Tensor, "... V"]:
        table = embeddings if self.table is None else self.table.weight
        return F.linear(self.norm(ACTIVATIONS[self.activation](self.transform(hidden))), table, self.bias)
