r"""Masked language models before transformers, $p(w_i \mid w_1, \dots, w_{i-1}, w_{i+1}, \dots, w_n)$: window,
convolutional and bidirectional recurrent networks.

`model(tokens, real)` returns, for every position, the logits of its word given the other words. The conditionals of
different positions need not be consistent with a joint distribution over sentences.
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
    """Base class of masked language models: logits of each word of a text given the other words.

    vocab_size  V, number of words, whose ids are 0..V-1
    width       D, of the word vectors

    There are two more ids: `beyond` = V for positions beyond the ends of the text, and `mask` = V + 1 for a masked
    word. A subclass defines `fill(tokens, real)`, which returns logits (B, T, V) of each word; `real` (B, T) is True
    for words and False for padding.

    >>> class Guess(Cloze):
    ...     def fill(self, tokens, real):
    ...         return torch.zeros(*tokens.shape, self.vocab_size)
    >>> Guess(vocab_size=10, width=4)(torch.tensor([[1, 5, 3]])).shape
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
        """The arguments in `print(model)`."""
        return ", ".join(f"{name}={value!r}" for name, value in self._config.items())

    def forward(self, tokens: Tensor, real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T V"]:
        """Logits (B, T, V) of each word of the texts `tokens` (B, T) given the other words.

        real  (B, T), True for words, with padding on the right; None: no padding

        Raises ValueError if a word is outside the vocabulary, or if the shape or dtype of `real` is wrong.
        """
        return self.fill(*self.check_tokens((tokens, real)))

    def fill(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits as in `forward`, from validated arguments: where `real` is False, at padding, `tokens` is `beyond`."""
        raise NotImplementedError(f"{type(self).__name__} does not define fill(tokens, real)")

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats per word given the other words, and the number of words.

        batch  tokens (B, T), or a pair with their mask (B, T), True for words
        """
        tokens, real = self.check_tokens(batch)
        logits = self.fill(tokens, real)[real]                       # (N, V)
        return F.cross_entropy(logits, tokens[real]), len(logits)

    def check_tokens(self, batch: Padded) -> tuple[Tensor, Tensor]:
        """Return tokens (B, T), with `beyond` at padding, and the mask (B, T), True for words.

        batch  tokens (B, T), or a pair with their mask

        Raises ValueError if the tokens or the mask are invalid.
        """
        tokens, mask = tokens_at_the_left(batch, self.vocab_size)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        return tokens.masked_fill(~real, self.beyond), real


class WindowCloze(Cloze):
    r"""$p(w_i \mid \text{r words on each side}) = \mathrm{softmax}(U \tanh(H x + d) + b)$.

    vocab_size  V, number of words
    width       D, of the word vectors
    radius      r, number of words on each side
    hidden      H, hidden units
    pooled      whether x is the mean of the 2r vectors; otherwise it concatenates them

    The mean discards word order. With concatenation each position has its own weights, so
    the number of parameters grows with r, and positions share no parameters.

    Slides: "Masked Language Modeling" from a fixed window, and its three limitations.

    >>> WindowCloze(10, 4, radius=2, hidden=8)(torch.tensor([[1, 5, 3]])).shape
    torch.Size([1, 3, 10])
    """

    def __init__(self, vocab_size: int, width: int, radius: int, hidden: int,
                 pooled: bool = False):
        super().__init__(vocab_size, width, radius=radius, hidden=hidden, pooled=pooled)
        if radius < 1 or hidden < 1:
            raise ValueError(f"radius is {radius} and hidden is {hidden}; expected at "
                             "least 1 of each")
        self.radius, self.pooled = radius, pooled
        self.H = nn.Linear(width if pooled else 2 * radius * width, hidden)
        self.U = nn.Linear(hidden, vocab_size)

    def fill(self, tokens: Integer[Tensor, "B T"],
             real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        x = self.tokens(neighbours(tokens, self.radius, self.beyond))  # (B, T, 2r, D)
        x = x.mean(dim=2) if self.pooled else x.flatten(2)  # (B, T, D) or (B, T, 2r D)
        return self.U(torch.tanh(self.H(x)))


def neighbours(tokens: Integer[Tensor, "B T"], radius: int, beyond: int) -> Integer[Tensor, "B T W"]:
    """Ids of the W = 2 radius words around each word, from left to right, with `beyond` outside the row."""
    window = F.pad(tokens, (radius, radius), value=beyond).unfold(1, 2 * radius + 1, 1)    # (B, T, 2r + 1)
    return torch.cat([window[..., :radius], window[..., radius + 1:]], dim=-1)


class TextConv(nn.Module):
    r"""$y_i = b + \sum_{j=-k}^{k} W_j x_{i+j}$: a 1D convolution over the words of a text,
    with zero padding.

    channels  C, of x and of y
    kernel    2k + 1, the kernel size
    W[j]      (C, C), for the word at offset j from i: W.shape is (2k + 1, C, C)

    The weights depend on the offset only, not on i or on the words.

    Slides: "1D convolutional networks", with a scalar w_j instead of a matrix. As usual in
    deep learning, it is a cross-correlation: the kernel is not flipped.

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
    r"""A convolutional masked language model: $h^l = h^{l-1} + \mathrm{ReLU}(\text{conv}(h^{l-1}))$, logits from $h^L_i$.

    vocab_size  V, number of words
    width       D, of vectors and layers
    kernel      2k + 1, the kernel size of a layer
    depth       L, number of layers: the receptive field is L k words on each side

    From the second layer on, the output at a position depends on the word at this position
    through its neighbors. The word therefore has to be masked in the input, and each
    position needs its own pass.

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
        """Size of the receptive field: number of words on each side of the masked word."""
        return sum(layer.k for layer in self.layers)

    def at(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"], place: Integer[Tensor, "B"]
           ) -> Float[Tensor, "B V"]:
        """Logits of the word with index place[b], from 0, of each row b, which this method masks in the input.

        real  True for words, False for padding, where `tokens` is `beyond`
        """
        row = torch.arange(len(tokens), device=tokens.device)
        h = self.tokens(tokens.clone().index_put_((row, place), torch.full_like(place, self.mask)))
        inside = real[..., None].to(h.dtype)                         # (B, T, 1), zero at padding
        h = h * inside
        for layer in self.layers:
            h = (h + F.relu(layer(h))) * inside                      # (B, T, D)
        return self.U(h[row, place])

    def fill(self, tokens: Integer[Tensor, "B T"], real: Bool[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        B, T = tokens.shape
        place = torch.arange(T, device=tokens.device).repeat(B)      # copy t of a row has position t masked
        return self.at(tokens.repeat_interleave(T, 0), real.repeat_interleave(T, 0), place).view(B, T, -1)

    def loss(self, batch: Padded) -> tuple[Float[Tensor, ""], int]:
        """Mean cross-entropy in nats of one random word per row, which is masked, and the number of rows.

        batch  tokens (B, T), or a pair with their mask (B, T), True for words
        """
        tokens, real = self.check_tokens(batch)
        place = torch.multinomial(real.float(), 1)[:, 0]             # (B,)
        logits = self.at(tokens, real, place)
        return F.cross_entropy(logits, tokens.gather(1, place[:, None])[:, 0]), len(tokens)


class BiRNNCloze(Cloze):
    r"""$p(w_i \mid \text{all others}) =
    \mathrm{softmax}(U [\overrightarrow{h}_{i-1}; \overleftarrow{h}_{i+1}] + b)$.

    vocab_size  V, number of words
    width       D, of the word vectors
    hidden      H, of each direction
    cell        "rnn", "lstm" or "gru"

    The forward state depends on the words before position i, the backward state on those
    after it, so one pass predicts every word. The number of parameters does not depend on
    the distance.

    Slides: "Masked Language Modeling with Recurrent Network".

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
        """State before each word, in reading order; `beyond` precedes the first word."""
        # (B, T): the word before position i
        shifted = F.pad(tokens, (1, -1), value=self.beyond)
        return layers(self.tokens(shifted))[0]
