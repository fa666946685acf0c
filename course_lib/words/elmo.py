r"""ELMo: a forward and a backward language model, and contextual vectors from their layers.

Training maximizes the log-likelihood of both directions, which share the word vectors and the output layer,

$$\sum_t \log p_\rightarrow(w_t \mid w_1, \dots, w_{t-1}) + \log p_\leftarrow(w_t \mid w_{t+1}, \dots, w_n).$$

The contextual vector of word t is a weighted sum of its states $h_{t,j}$ in all layers j, $\gamma \sum_j s_j h_{t,j}$
with $s = \mathrm{softmax}(w)$, where w and $\gamma$ are trained on the task that uses the vectors.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.recurrent import Recurrent
from course_lib.recurrent.layers import reverse
from course_lib.tokenizers.batching import Padded, tokens_at_the_left
from course_lib.validation import check_sizes

AT_ONCE = 512                                                        # tokens whose logits fit into the CPU cache


class BiLM(nn.Module):
    r"""A forward and a backward LSTM language model with shared word vectors and softmax.

    vocab_size  V, number of tokens
    width       D, of the word vectors and of each layer in each direction
    layers      L, number of LSTM layers, with residual connections from the second on
    dropout     probability, on the inputs of each layer and of the softmax

    The logits of the next token are $E h_t + b$ with E the word vectors (tied weights). The
    directions are separate below the softmax: if a layer combined both, the layer above
    would depend on the word that it predicts.

    Slides: the timeline's ELMo (2018). Paper: Peters et al. 2018, Deep contextualized word
    representations.

    >>> model = BiLM(vocab_size=20, width=8)
    >>> tokens = torch.tensor([[1, 5, 7, 2]])
    >>> after, before = model(tokens)  # logits of the next token, and of the one before
    >>> after.shape, [h.shape[-1] for h in model.states(tokens)]
    (torch.Size([1, 4, 20]), [16, 16, 16])
    """

    def __init__(self, vocab_size: int, width: int, layers: int = 2,
                 dropout: float | int = 0.0):
        check_sizes(2, vocab_size=vocab_size)
        check_sizes(width=width, layers=layers)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}; expected a probability, at least 0 "
                             "and less than 1")
        super().__init__()
        self.vocab_size, self.width = vocab_size, width
        self.depth, self.dropout = layers, dropout
        self.tokens = nn.Embedding(vocab_size, width)                # E
        self.bias = nn.Parameter(torch.zeros(vocab_size))            # b
        self.ahead, self.back = (
            nn.ModuleList(Recurrent("lstm", width, width, forget_bias=1.0)
                          for _ in range(layers))
            for _ in range(2))
        # |h| < 1, so the initial logits are small
        nn.init.normal_(self.tokens.weight, std=width ** -0.5)

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"vocab_size": self.vocab_size, "width": self.width, "layers": self.depth,
                "dropout": self.dropout}

    def extra_repr(self) -> str:
        """The arguments in `print(model)`."""
        return ", ".join(f"{name}={value}" for name, value in self.config.items())

    # --- the two directions ---------------------------------------------------------------

    def one_way(self, x: Float[Tensor, "B T D"], layers: nn.ModuleList,
                lengths: Int[Tensor, "B"] | None) -> list[Float[Tensor, "B T D"]]:
        """Outputs (B, T, D) of every layer in one direction; x is in reading order."""
        outputs = []
        for number, layer in enumerate(layers):
            h, _ = layer(F.dropout(x, self.dropout, self.training), lengths=lengths)
            x = h if number == 0 else h + x
            outputs.append(x)
        return outputs

    def both_ways(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None
                  ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return the forward states and the backward states, each a list of one (B, T, D)
        per layer with position t for token t, and the word vectors (B, T, D)."""
        lengths = None if mask is None or mask.all() else mask.sum(dim=1)
        x = self.tokens(tokens)                                      # (B, T, D)
        ahead = self.one_way(x, self.ahead, lengths)
        back = [reverse(h, lengths)
                for h in self.one_way(reverse(x, lengths), self.back, lengths)]
        return ahead, back, x

    def scores(self, h: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """Logits, E h + b."""
        return F.linear(F.dropout(h, self.dropout, self.training), self.tokens.weight,
                        self.bias)

    def forward(self, tokens: Tensor,
                mask: Bool[Tensor, "B T"] | None = None) -> tuple[Tensor, Tensor]:
        """Logits (B, T, V) of the token after each position, and (B, T, V) of the token
        before it.

        mask  (B, T), True for real tokens, with padding on the right; logits at padding
              are undefined
        """
        tokens, mask = self.check_tokens((tokens, mask))
        ahead, back, _ = self.both_ways(tokens, mask)
        return self.scores(ahead[-1]), self.scores(back[-1])

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per token over both directions, and the number of
        predictions.

        batch  tokens (B, T), or a pair with their mask
        """
        tokens, mask = self.check_tokens(batch)
        if tokens.shape[1] < 2:
            raise ValueError(f"tokens has shape {tuple(tokens.shape)}; expected (B, T) "
                             "with T at least 2")
        ahead, back, _ = self.both_ways(tokens, mask)
        reads = ahead[-1][:, :-1], back[-1][:, 1:]
        targets = tokens[:, 1:], tokens[:, :-1]
        if mask is not None:  # a pair is real if its second token is
            reads, targets = ([part[mask[:, 1:]] for part in parts]
                              for parts in (reads, targets))
        # (N, D), N = 2 B (T - 1) or less
        h, target = torch.stack(reads).flatten(0, -2), torch.stack(targets).flatten()
        nats = sum(F.cross_entropy(self.scores(part), told, reduction="sum")
                   for part, told in zip(h.split(AT_ONCE), target.split(AT_ONCE)))
        return nats / len(target), len(target)

    # --- features -------------------------------------------------------------------------

    def states(self, tokens: Tensor,
               mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B T E"]]:
        """List of L + 1 layers (B, T, E), E = 2D: the word vector of each token twice, then
        the states [forward; backward] of each LSTM."""
        tokens, mask = self.check_tokens((tokens, mask))
        ahead, back, x = self.both_ways(tokens, mask)
        return [torch.cat(pair, dim=-1) for pair in zip([x, *ahead], [x, *back])]

    def check_tokens(self, batch: Padded) -> tuple[Tensor, Tensor | None]:
        """Return tokens (B, T) and their mask. Raises ValueError if they are invalid."""
        return tokens_at_the_left(batch, self.vocab_size)


class OneWay(AutoregressiveModel):
    r"""One direction of a BiLM as an autoregressive model: $p(w_t \mid w_{<t})$, or backward $p(w_t \mid w_{>t})$.

    bilm      the model, whose weights are shared
    edge      token before the first token, or after the last token if backward
    backward  whether each token is predicted from the tokens after it
    n         number of tokens, required if backward, because the last token is sampled first; None: any number

    With this class `course_lib.contract.check_causal` can test that the prediction of a token does not depend on this
    token.

    >>> OneWay(BiLM(5, 4), edge=0, backward=True, n=3).order
    tensor([2, 1, 0])
    """

    def __init__(self, bilm: BiLM, edge: int, backward: bool = False, n: int | None = None):
        if not 0 <= edge < bilm.vocab_size:
            raise ValueError(f"edge is {edge}; expected 0 to {bilm.vocab_size - 1}, a token of the BiLM")
        if backward and n is None:
            raise ValueError("backward is True and n is None; expected the number of tokens n")
        super().__init__(n, Categorical(bilm.vocab_size), None if n is None or not backward else range(n - 1, -1, -1))
        self.bilm, self.edge, self.backward = bilm, edge, backward

    def conditionals(self, x: Tensor, context: None = None) -> Distribution:
        edge = x.new_full((len(x), 1), self.edge).long()
        if self.backward:
            return self.conditional(self.bilm(torch.cat([x.long(), edge], dim=1))[1][:, 1:])
        return self.conditional(self.bilm(torch.cat([edge, x.long()], dim=1))[0][:, :-1])


class LayerMix(nn.Module):
    r"""Weighted sum of layers, $\gamma \sum_j s_j h_j$ with $s = \mathrm{softmax}(w)$ and parameters w and $\gamma$.

    layers  number of layers $h_j$, size of w: L + 1 for a `BiLM`

    >>> mix = LayerMix(3)
    >>> layers = [torch.ones(2, 5), torch.zeros(2, 5), 2 * torch.ones(2, 5)]
    >>> mix(layers)[0, 0].item()                             # initial weights are 1/3
    1.0
    """

    def __init__(self, layers: int):
        super().__init__()
        check_sizes(layers=layers)
        self.w = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, states: list[Float[Tensor, "... E"]]) -> Float[Tensor, "... E"]:
        if len(states) != len(self.w) or len({tuple(h.shape) for h in states}) > 1:
            raise ValueError(f"states has shapes {[tuple(h.shape) for h in states]}; expected {len(self.w)} tensors of "
                             "one shape")
        s = self.w.softmax(dim=0)                                    # (L + 1,)
        return self.gamma * sum(weight * h for weight, h in zip(s, states))


def words_of_pieces(states: Float[Tensor, "B T E"], word: Integer[Tensor, "B T"], words: int) -> Float[Tensor, "B W E"]:
    """Pool the states of subword tokens (pieces) to one vector per word, the mean of the states of its pieces.

    states  (B, T, E), state of each piece
    word    (B, T), index of the word of each piece, from 0; -1 for special tokens and padding
    words   W, number of words of the longest row; the vector of a word without pieces is 0
    """
    if word.shape != states.shape[:2]:
        raise ValueError(f"word has shape {tuple(word.shape)}; expected {tuple(states.shape[:2])}, an index "
                         "for each token of states")
    if word.min() < -1 or word.max() >= words:
        raise ValueError(f"word contains indices from {int(word.min())} to {int(word.max())}; expected 0 to {words - 1}, "
                         f"because words is {words}, or -1 for a token without word")
    belongs = F.one_hot(word + 1, words + 1)[:, :, 1:].to(states.dtype)                    # (B, T, W)
    belongs = belongs / belongs.sum(dim=1, keepdim=True).clamp(min=1)
    return belongs.transpose(1, 2) @ states
