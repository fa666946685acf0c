r"""A masked word from the others, $p(w_i \mid w_1, \dots, w_{i-1}, w_{i+1}, \dots, w_n)$, before transformers: from a
window, by convolutions, from two recurrent networks.

All are asked in one way: `model(tokens, real)` gives, for every place, the distribution of its word given what the model
reads of the others. None is a distribution over sentences: the conditionals of different places need not fit together.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Integer
from torch import Tensor, nn

from course_lib.recurrent import Recurrent
from course_lib.recurrent.layers import reverse
from course_lib.tokenizers.batching import Padded, tokens_at_the_left
from course_lib.validation import check_sizes


class Cloze(nn.Module):
    """What the three share: words 0..V-1, two symbols of their own for what is beyond the ends and what is masked.

    A subclass writes `fill(tokens, real)`: logits (B, T, V) of each word, of which it reads the others only.

    >>> class Guess(Cloze):
    ...     def fill(self, tokens, real):
    ...         return torch.zeros(*tokens.shape, self.vocab_size)
    >>> Guess(10, 4)(torch.tensor([[1, 5, 3]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, vocab_size: int, width: int, **config: Any):
        super().__init__()
        check_sizes(2, vocab_size=vocab_size)
        check_sizes(width=width)
        self.vocab_size, self.beyond, self.mask = vocab_size, vocab_size, vocab_size + 1
        self._config = {"vocab_size": vocab_size, "width": width, **config}
        self.tokens = nn.Embedding(vocab_size + 2, width)

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return dict(self._config)

    def extra_repr(self) -> str:
        """What `print(model)` says."""
        return ", ".join(f"{name}={value!r}" for name, value in self._config.items())

    def forward(self, tokens: Tensor, real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits of each word given the others.

        real  (B, T), True for words, which stand at the left; None: all are

        Raises ValueError for words outside the vocabulary or a mask that does not fit.
        """
        return self.fill(*self.check_tokens((tokens, real)))

    def fill(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """The model itself, on checked input; where `real` is False, tokens are `beyond`."""
        raise NotImplementedError(f"{type(self).__name__} does not define fill(tokens, real)")

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats of a word given the others, and the number of words."""
        tokens, real = self.check_tokens(batch)
        logits = self.fill(tokens, real)[real]                       # (N, V)
        return F.cross_entropy(logits, tokens[real]), len(logits)

    def check_tokens(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """Tokens, `beyond` where there is no word, and the mask; or a ValueError."""
        tokens, mask = tokens_at_the_left(batch, self.vocab_size)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        return tokens.masked_fill(~real, self.beyond), real


class WindowCloze(Cloze):
    r"""$p(w_i \mid \text{r words on each side}) = \mathrm{softmax}(U \tanh(H x + d) + b)$.

    vocab_size  V, number of words
    width       D, of the vector of a word
    radius      r, words to read on each side
    hidden      H, hidden units
    pooled      x is the mean of the 2r vectors; else x holds them one after the other

    Pooled, the order of the words is lost. One after the other, each place has weights of
    its own: their number grows with r, and what is learned at one distance says nothing at
    another.

    Slides: "Masked Language Modeling" from a fixed window, and its three limitations.

    >>> WindowCloze(10, 4, radius=2, hidden=8)(torch.tensor([[1, 5, 3]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, vocab_size: int, width: int, radius: int, hidden: int,
                 pooled: bool = False):
        super().__init__(vocab_size, width, radius=radius, hidden=hidden, pooled=pooled)
        if radius < 1 or hidden < 1:
            raise ValueError(f"radius is {radius} and hidden {hidden}; expected at least 1 "
                             "of each")
        self.radius, self.pooled = radius, pooled
        self.H = nn.Linear(width if pooled else 2 * radius * width, hidden)
        self.U = nn.Linear(hidden, vocab_size)

    def fill(self, tokens: Integer[Tensor, "B T"],
             real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        x = self.tokens(neighbours(tokens, self.radius, self.beyond))  # (B, T, 2r, D)
        x = x.mean(dim=2) if self.pooled else x.flatten(2)  # (B, T, D) or (B, T, 2r D)
        return self.U(torch.tanh(self.H(x)))


def neighbours(tokens: Integer[Tensor, "B T"], radius: int, beyond: int) -> Integer[Tensor, "B T W"]:
    """The `radius` words before each word and those after it, from left to right; `beyond` past the ends."""
    window = F.pad(tokens, (radius, radius), value=beyond).unfold(1, 2 * radius + 1, 1)    # (B, T, 2r + 1)
    return torch.cat([window[..., :radius], window[..., radius + 1:]], dim=-1)


class TextConv(nn.Module):
    r"""$y_i = b + \sum_{j=-k}^{k} W_j x_{i+j}$: a convolution over the words of a text,
    zeros past its ends.

    channels  C, of x and of y
    kernel    2k + 1, words that an output reads
    W[j]      (C, C), for the word j places to the right of i: W.shape is (2k + 1, C, C)

    The weights are the same for every i, and for every text: what a word takes from its
    neighbours hangs on how far they stand, never on which words they are.

    Slides: "1D convolutional networks", with a number w_j where we have a matrix. What is
    called a convolution here is a cross-correlation in mathematics: no kernel is turned
    round.

    >>> TextConv(4, kernel=3)(torch.randn(2, 7, 4)).shape
    torch.Size([2, 7, 4])
    """

    def __init__(self, channels: int, kernel: int):
        super().__init__()
        if kernel < 1 or kernel % 2 == 0:
            raise ValueError(f"kernel is {kernel}; expected an odd number, 2k + 1")
        self.k = kernel // 2
        scale = (channels * kernel) ** -0.5
        self.W = nn.Parameter(scale * (2 * torch.rand(kernel, channels, channels) - 1))
        self.b = nn.Parameter(torch.zeros(channels))

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        return F.conv1d(x.mT, self.W.permute(1, 2, 0), self.b, padding=self.k).mT


class ConvCloze(Cloze):
    r"""A masked word by convolutions: $h^l = h^{l-1} + \mathrm{ReLU}(\text{conv}(h^{l-1}))$, scores from $h^L_i$.

    vocab_size  V, number of words
    width       D, of vectors and layers
    kernel      2k + 1, words that a layer reads
    depth       L, layers: the receptive field is L k words on each side

    From the second layer on, the path from a word to its neighbour and back is open: the word
    itself has to be replaced by the mask in the input. So each place is a pass of its own.

    >>> ConvCloze(10, 4, kernel=3, depth=2).reach
    2
    """

    def __init__(self, vocab_size: int, width: int, kernel: int, depth: int):
        super().__init__(vocab_size, width, kernel=kernel, depth=depth)
        check_sizes(depth=depth)
        self.layers = nn.ModuleList(TextConv(width, kernel) for _ in range(depth))
        self.U = nn.Linear(width, vocab_size)

    @property
    def reach(self) -> int:
        """Words on each side of the mask that its scores can depend on."""
        return sum(layer.k for layer in self.layers)

    def at(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"], place: Integer[Tensor, "B"]
           ) -> Float[Tensor, "B V"]:
        """The scores of one masked word a row."""
        row = torch.arange(len(tokens), device=tokens.device)
        h = self.tokens(tokens.clone().index_put_((row, place), torch.full_like(place, self.mask)))
        inside = real[..., None].to(h.dtype)                         # (B, T, 1): past the end of a row there are zeros
        h = h * inside
        for layer in self.layers:
            h = (h + F.relu(layer(h))) * inside                      # (B, T, D)
        return self.U(h[row, place])

    def fill(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        B, T = tokens.shape
        place = torch.arange(T, device=tokens.device).repeat(B)      # T copies of each row, a place masked in each
        return self.at(tokens.repeat_interleave(T, 0), real.repeat_interleave(T, 0), place).view(B, T, -1)

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats of one word a row, drawn anew each time, and their number."""
        tokens, real = self.check_tokens(batch)
        place = torch.multinomial(real.float(), 1)[:, 0]             # (B,)
        logits = self.at(tokens, real, place)
        return F.cross_entropy(logits, tokens.gather(1, place[:, None])[:, 0]), len(tokens)


class BiRNNCloze(Cloze):
    r"""$p(w_i \mid \text{all others}) =
    \mathrm{softmax}(U [\overrightarrow{h}_{i-1}; \overleftarrow{h}_{i+1}] + b)$.

    vocab_size  V, number of words
    width       D, of the vector of a word
    hidden      H, of each direction
    cell        "rnn", "lstm" or "gru"

    The forward network has read what is before the word, the backward one what is after it,
    the word itself neither: one pass fills every gap. The parameters do not grow with the
    distance.

    Slides: "Masked Language Modelling with Recurrent Network".

    >>> BiRNNCloze(10, 4, hidden=8)(torch.tensor([[1, 5, 3]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, vocab_size: int, width: int, hidden: int, cell: str = "gru"):
        super().__init__(vocab_size, width, hidden=hidden, cell=cell)
        self.ahead, self.back = (Recurrent(cell, width, hidden) for _ in range(2))
        self.U = nn.Linear(2 * hidden, vocab_size)

    def fill(self, tokens: Integer[Tensor, "B T"],
             real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        lengths = None if real.all() else real.sum(dim=1)
        before = self.before(self.ahead, tokens, None)
        after = self.before(self.back, reverse(tokens, lengths), lengths)
        return self.U(torch.cat([before, reverse(after, lengths)], dim=-1))

    def before(self, layers: Recurrent, tokens: Integer[Tensor, "B T"],
               lengths: Tensor | None) -> Float[Tensor, "B T H"]:
        """h after the words before each one, in the order in which they are read: `beyond`
        stands before the first."""
        # (B, T): place i holds the word before it
        shifted = F.pad(tokens, (1, -1), value=self.beyond)
        return layers(self.tokens(shifted))[0]
