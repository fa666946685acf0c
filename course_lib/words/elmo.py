r"""ELMo: two language models, one reading from each end, and what their layers know of a word in its sentence.

$$\sum_t \log p_\rightarrow(w_t \mid w_1, \dots, w_{t-1}) + \log p_\leftarrow(w_t \mid w_{t+1}, \dots, w_n)$$

is the objective; the two share the word vectors and the softmax. The vector of a word in its sentence is then a mixture
of all layers, whose weights the task learns: $\gamma \sum_j s_j h_{t,j}$, $s = \mathrm{softmax}(w)$.
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

AT_ONCE = 512                                                        # scores of so many tokens fit into a processor's cache


class BiLM(nn.Module):
    r"""A forward and a backward language model of LSTMs over the same word vectors, with
    the same softmax.

    vocab_size  V, number of tokens
    width       D, of the word vectors and of each layer in each direction
    layers      L, LSTMs upon each other; each adds its output to what it reads (a residual
                connection), but the first
    dropout     probability of dropping, on what each layer reads and on what the softmax
                reads

    The scores of the next token are $E h_t + b$ with E the table of word vectors: tied, as
    in many language models. The two directions never meet below the softmax: where a layer
    read both, the layer above would read the word that it has to predict.

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
            raise ValueError(f"dropout is {dropout}; expected a probability of dropping, "
                             "from 0 to below 1")
        super().__init__()
        self.vocab_size, self.width = vocab_size, width
        self.depth, self.dropout = layers, dropout
        self.tokens = nn.Embedding(vocab_size, width)                # E
        self.bias = nn.Parameter(torch.zeros(vocab_size))            # b
        self.ahead, self.back = (
            nn.ModuleList(Recurrent("lstm", width, width, forget_bias=1.0)
                          for _ in range(layers))
            for _ in range(2))
        # h is below 1: so are the scores
        nn.init.normal_(self.tokens.weight, std=width ** -0.5)

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"vocab_size": self.vocab_size, "width": self.width, "layers": self.depth,
                "dropout": self.dropout}

    def extra_repr(self) -> str:
        """What `print(model)` says."""
        return ", ".join(f"{name}={value}" for name, value in self.config.items())

    # --- the two readings -----------------------------------------------------------------

    def one_way(self, x: Float[Tensor, "B T D"], layers: nn.ModuleList,
                lengths: Int[Tensor, "B"] | None) -> list[Float[Tensor, "B T D"]]:
        """The output of every layer, for vectors in the order in which they are read."""
        outputs = []
        for number, layer in enumerate(layers):
            h, _ = layer(F.dropout(x, self.dropout, self.training), lengths=lengths)
            x = h if number == 0 else h + x
            outputs.append(x)
        return outputs

    def both_ways(self, tokens: Tensor, mask: Bool[Tensor, "B T"] | None
                  ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Every layer's forward states (B, T, D), its backward states, each at the place of
        its token, and the vectors."""
        lengths = None if mask is None or mask.all() else mask.sum(dim=1)
        x = self.tokens(tokens)                                      # (B, T, D)
        ahead = self.one_way(x, self.ahead, lengths)
        back = [reverse(h, lengths)
                for h in self.one_way(reverse(x, lengths), self.back, lengths)]
        return ahead, back, x

    def scores(self, h: Float[Tensor, "... D"]) -> Float[Tensor, "... V"]:
        """E h + b."""
        return F.linear(F.dropout(h, self.dropout, self.training), self.tokens.weight,
                        self.bias)

    def forward(self, tokens: Tensor,
                mask: Bool[Tensor, "B T"] | None = None) -> tuple[Tensor, Tensor]:
        """Logits (B, T, V) of the token after each position, and (B, T, V) of the token
        before it.

        mask  (B, T), True for real tokens, which stand at the left: padding is not read,
              and logits there mean nothing
        """
        tokens, mask = self.check_tokens((tokens, mask))
        ahead, back, _ = self.both_ways(tokens, mask)
        return self.scores(ahead[-1]), self.scores(back[-1])

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats of a token, over both directions, and the number of
        predictions.

        batch  tokens (B, T): every token but the first is predicted from those before it,
               every token but the last from those after it; or a pair with their mask
        """
        tokens, mask = self.check_tokens(batch)
        if tokens.shape[1] < 2:
            raise ValueError(f"a row has {tokens.shape[1]} token; expected at least 2, one "
                             "to predict the other from")
        ahead, back, _ = self.both_ways(tokens, mask)
        reads = ahead[-1][:, :-1], back[-1][:, 1:]
        targets = tokens[:, 1:], tokens[:, :-1]
        if mask is not None:  # both ends of a pair are real where the second is
            reads, targets = ([part[mask[:, 1:]] for part in parts]
                              for parts in (reads, targets))
        # (N, D), N = 2 B (T - 1) or less
        h, target = torch.stack(reads).flatten(0, -2), torch.stack(targets).flatten()
        nats = sum(F.cross_entropy(self.scores(part), told, reduction="sum")
                   for part, told in zip(h.split(AT_ONCE), target.split(AT_ONCE)))
        return nats / len(target), len(target)

    # --- what is done with it -------------------------------------------------------------

    def states(self, tokens: Tensor,
               mask: Bool[Tensor, "B T"] | None = None) -> list[Float[Tensor, "B T E"]]:
        """The L + 1 layers of each token, E = 2D: its vector twice, then [forward;
        backward] of each LSTM."""
        tokens, mask = self.check_tokens((tokens, mask))
        ahead, back, x = self.both_ways(tokens, mask)
        return [torch.cat(pair, dim=-1) for pair in zip([x, *ahead], [x, *back])]

    def check_tokens(self, batch: Padded) -> tuple[Tensor, Tensor | None]:
        """Tokens (B, T) of the vocabulary and their mask, or a ValueError."""
        return tokens_at_the_left(batch, self.vocab_size)


class OneWay(AutoregressiveModel):
    r"""One of the two language models: $p(w_t \mid w_{<t})$, or backward $p(w_t \mid w_{>t})$, as a distribution.

    bilm      whose reading it is; the weights are shared
    edge      the token that stands before the text, backward after it
    backward  which of the two
    n         number of tokens; needed backward, where the last is drawn first

    What the contract proves of both is what makes ELMo's objective one: no direction sees what it predicts.

    >>> OneWay(BiLM(5, 4), edge=0, backward=True, n=3).order
    tensor([2, 1, 0])
    """

    def __init__(self, bilm: BiLM, edge: int, backward: bool = False, n: int | None = None):
        if not 0 <= edge < bilm.vocab_size:
            raise ValueError(f"edge is {edge}; this vocabulary has 0..{bilm.vocab_size - 1}")
        if backward and n is None:
            raise ValueError("backward is True and n is None; the last token comes first: expected its place, n tokens")
        super().__init__(n, Categorical(bilm.vocab_size), None if n is None or not backward else range(n - 1, -1, -1))
        self.bilm, self.edge, self.backward = bilm, edge, backward

    def conditionals(self, x: Tensor, context: None = None) -> Distribution:
        edge = x.new_full((len(x), 1), self.edge).long()
        if self.backward:
            return self.conditional(self.bilm(torch.cat([x.long(), edge], dim=1))[1][:, 1:])
        return self.conditional(self.bilm(torch.cat([edge, x.long()], dim=1))[0][:, :-1])


class LayerMix(nn.Module):
    r"""$\gamma \sum_j s_j h_j$ with $s = \mathrm{softmax}(w)$: one vector from all layers, L + 2 numbers to be learned.

    layers  how many there are to mix: L + 1 of a `BiLM`

    >>> mix = LayerMix(3)
    >>> layers = [torch.ones(2, 5), torch.zeros(2, 5), 2 * torch.ones(2, 5)]
    >>> mix(layers)[0, 0].item()                             # all weights 1/3 at the start
    1.0
    """

    def __init__(self, layers: int):
        super().__init__()
        check_sizes(layers=layers)
        self.w = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, states: list[Float[Tensor, "... E"]]) -> Float[Tensor, "... E"]:
        if len(states) != len(self.w) or len({tuple(h.shape) for h in states}) > 1:
            raise ValueError(f"states has shapes {[tuple(h.shape) for h in states]}; expected {len(self.w)} of one shape")
        s = self.w.softmax(dim=0)                                    # (L + 1,)
        return self.gamma * sum(weight * h for weight, h in zip(s, states))


def words_of_pieces(states: Float[Tensor, "B T E"], word: Integer[Tensor, "B T"], words: int) -> Float[Tensor, "B W E"]:
    """A vector a word: the mean over its pieces.

    word   (B, T) the number of the word that each piece is of, from 0; -1 for what is of none (edges, padding)
    words  W, of the longest row; a word without a piece is 0
    """
    if word.shape != states.shape[:2]:
        raise ValueError(f"word has shape {tuple(word.shape)}; expected {tuple(states.shape[:2])}, as the states")
    if word.min() < -1 or word.max() >= words:
        raise ValueError(f"word goes from {int(word.min())} to {int(word.max())}; expected -1 to {words - 1}")
    belongs = F.one_hot(word + 1, words + 1)[:, :, 1:].to(states.dtype)                    # (B, T, W)
    belongs = belongs / belongs.sum(dim=1, keepdim=True).clamp(min=1)
    return belongs.transpose(1, 2) @ states
