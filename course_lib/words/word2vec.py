"""word2vec: skip-gram and CBOW with negative sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.validation import check_sizes
from course_lib.words.counts import Corpus, window_pairs


def negative_sampling_loss(v: Float[Tensor, "B D"], u: Float[Tensor, "B D"],
                           negatives: Float[Tensor, "B K D"]) -> Float[Tensor, ""]:
    r"""Negative sampling loss $-\log \sigma(u_o^T v) - \sum_{k=1}^{K} \log \sigma(-u_k^T v)$, averaged over the batch.

    v          vectors of the words w
    u          vectors $u_o$ of the observed context words
    negatives  vectors $u_k$ of K sampled words (negatives) for each word w

    It is the binary cross-entropy of one observed pair (w, C+) and K negative pairs (w, C-).

    Slides: "Word2Vec as a pre-training". Paper: Mikolov et al. 2013.
    """
    true = (u * v).sum(dim=1)                                        # (B,)
    drawn = torch.einsum("bkd,bd->bk", negatives, v)                 # (B, K)
    return -(F.logsigmoid(true) + F.logsigmoid(-drawn).sum(dim=1)).mean()


class NoiseSampler:
    r"""Sampler of negatives with $p(w) \propto \mathrm{count}(w)^{power}$, excluding the target word.

    counts  (V,), count of each word in the training text; words with count 0 are not sampled
    power   1 for the unigram distribution, 0 for the uniform distribution

    Raises ValueError if fewer than two words have a count.

    >>> sampler = NoiseSampler(torch.tensor([16, 1, 0]))
    >>> sampler.probabilities                                        # 16^0.75 = 8
    tensor([0.8889, 0.1111, 0.0000], dtype=torch.float64)
    >>> sampler.draw(torch.tensor([0]), 3)
    tensor([[1, 1, 1]])
    """

    def __init__(self, counts: Tensor, power: float = 0.75):
        if counts.dim() != 1 or (counts < 0).any() or int((counts > 0).sum()) < 2:
            raise ValueError(f"counts has shape {tuple(counts.shape)} and {int((counts > 0).sum())} entries above 0; expected "
                             "(V,), a count of at least 0 for each word, at least two of them above 0")
        weights = torch.where(counts > 0, counts.double() ** power, 0.0)
        self.probabilities = weights / weights.sum()                 # (V,)
        self._edges = torch.cat([self.probabilities.new_zeros(1), self.probabilities.cumsum(dim=0)])

    def draw(self, target: Int[Tensor, "B"], k: int, generator: torch.Generator | None = None) -> Int[Tensor, "B K"]:
        """Sample k word ids for each target word, (B, K) with K = k; the target word itself is never sampled."""
        if k < 1:
            raise ValueError(f"k is {k}; expected at least 1")
        low, high = self._edges[target, None], self._edges[target + 1, None]     # (B, 1): the target's interval in [0, 1)
        u = torch.rand(len(target), k, generator=generator, dtype=torch.float64) * (low + self._edges[-1] - high)
        u = torch.where(u < low, u, u - low + high)                  # (B, K): its interval is skipped
        return torch.searchsorted(self._edges[1:], u, right=True).clamp(max=len(self.probabilities) - 1)


def kept_in_subsampling(counts: Tensor, threshold: float) -> Float[Tensor, "V"]:
    r"""Probability of keeping each word in subsampling, $\min\bigl(1, \sqrt{t / f(w)} + t / f(w)\bigr)$.

    counts     (V,), count of each word, from which its relative frequency f(w) is computed
    threshold  t, a relative frequency: words with a lower frequency are always kept

    The formula is that of the authors' program; the paper has $\sqrt{t / f(w)}$. Paper: Mikolov et al. 2013.
    """
    if threshold <= 0:
        raise ValueError(f"threshold is {threshold}; expected a frequency above 0, such as 0.001")
    ratio = threshold * counts.sum() / counts.clamp(min=1).double()
    return (ratio.sqrt() + ratio).clamp(max=1)


class SkipGram(nn.Module):
    r"""Skip-gram with negative sampling: a word predicts the words around it.

    Each word has two vectors, $v_w$ as the center and $u_w$ as context; v is used as the
    word vector.

    Slides: "Word2Vec as a pre-training". Paper: Mikolov et al. 2013.

    >>> model = SkipGram(num_words=4, width=2)
    >>> loss = model.loss(centre=torch.tensor([0]), context=torch.tensor([1]),
    ...                   negatives=torch.tensor([[2, 3]]))
    >>> loss.item()                                          # 3 ln 2 before training
    2.0794...
    """

    def __init__(self, num_words: int, width: int):
        super().__init__()
        if num_words < 2 or width < 1:
            raise ValueError(f"num_words is {num_words} and width is {width}; expected at "
                             "least 2 words and a width of 1")
        self.centre = nn.Embedding(num_words, width)                 # v
        self.context = nn.Embedding(num_words, width)                # u
        nn.init.uniform_(self.centre.weight, -0.5 / width, 0.5 / width)
        nn.init.zeros_(self.context.weight)

    @property
    def config(self) -> dict[str, int]:
        """The constructor's arguments."""
        return {"num_words": self.centre.num_embeddings, "width": self.centre.embedding_dim}

    def forward(self, centre: Int[Tensor, "B"],
                context: Int[Tensor, "B"]) -> Float[Tensor, "B"]:
        """Logit of each pair, the inner product of its two vectors."""
        return torch.einsum("bd,bd->b", self.context(context), self.centre(centre))

    def loss(self, centre: Int[Tensor, "B"], context: Int[Tensor, "B"],
             negatives: Int[Tensor, "B K"]) -> Float[Tensor, ""]:
        """Negative sampling loss of pairs, each with K negatives."""
        return negative_sampling_loss(self.centre(centre), self.context(context),
                                      self.context(negatives))

    def batches(self, corpus: Corpus, window: int, batch_size: int,
                generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches (centre, context) of an epoch, shuffled. The window of each
        center is sampled from 1 to `window`, so that near words occur more often."""
        reach = torch.randint(1, window + 1, corpus.tokens.shape, generator=generator)
        centre, context, _ = window_pairs(corpus, window, reach)
        for rows in torch.randperm(len(centre), generator=generator).split(batch_size):
            yield centre[rows], context[rows]


class CBOW(SkipGram):
    r"""Continuous bag of words (CBOW): the mean of the vectors of the context words predicts the center word w.

    The arguments are as in `SkipGram`. The logit is $u_w^T \frac{1}{C} \sum_{c} v_c$ for C context words c. There is
    one prediction per center word instead of one per pair, so training is faster than for skip-gram.

    >>> model = CBOW(num_words=4, width=2)
    >>> model.mean(torch.tensor([[1, -1]])).equal(model.centre(torch.tensor([1])))
    True
    """

    def forward(self, around: Int[Tensor, "B C"], word: Int[Tensor, "B"]) -> Float[Tensor, "B"]:
        """Logit (B,) of the center words `word`, given the ids `around` (B, C) of context words, padded with -1."""
        return torch.einsum("bd,bd->b", self.context(word), self.mean(around))

    def loss(self, around: Int[Tensor, "B C"], word: Int[Tensor, "B"],
             negatives: Int[Tensor, "B K"]) -> Float[Tensor, ""]:
        return negative_sampling_loss(self.mean(around), self.context(word),
                                      self.context(negatives))

    def mean(self, around: Int[Tensor, "B C"]) -> Float[Tensor, "B D"]:
        """Mean of the context vectors; `around` is padded with -1."""
        there = around >= 0                                          # (B, C)
        share = there / there.sum(dim=1, keepdim=True).clamp(min=1)
        v = self.centre.weight                                       # (V, D)
        return F.embedding_bag(around.clamp(min=0), v, mode="sum",
                               per_sample_weights=share.to(v))

    def batches(self, corpus: Corpus, window: int, batch_size: int, generator: torch.Generator
                ) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the batches of an epoch, shuffled: context words (B, 2 window), padded with -1, and center words.

        The window of each word is sampled from 1 to `window`. Words without context are omitted.
        """
        reach = torch.randint(1, window + 1, corpus.tokens.shape, generator=generator)
        around, there = words_around(corpus, window, reach)
        rows_with_any = there.any(dim=1).nonzero()[:, 0]
        for rows in rows_with_any[torch.randperm(len(rows_with_any), generator=generator)].split(batch_size):
            yield around[rows], corpus.tokens[rows]


def words_around(corpus: Corpus, window: int, reach: Int[Tensor, "T"]) -> tuple[Int[Tensor, "T C"], Bool[Tensor, "T C"]]:
    """Ids of the C = 2 window words around each word, from left to right, and a mask, True where there is a word.

    reach  (T,), window of each word, 1 to `window`

    In row t the ids outside the sentence of word t, and at distances above reach[t], are -1, and the mask is False.
    """
    check_sizes(window=window)
    T = len(corpus.tokens)
    offsets = torch.tensor([d for d in range(-window, window + 1) if d])
    place = torch.arange(T)[:, None] + offsets                       # (T, C)
    inside = place.clamp(0, T - 1)
    there = (place == inside) & (corpus.sentence[inside] == corpus.sentence[:, None]) & (offsets.abs() <= reach[:, None])
    return torch.where(there, corpus.tokens[inside], -1), there


CHUNK = 4096                                                         # pairs whose vectors fit into the CPU cache


def accumulate(model: SkipGram, given: Tensor, target: Tensor, drawn: Tensor, device: torch.device) -> Iterator[float]:
    """Accumulate the gradient of the mean loss of a batch, in chunks on a CPU; yield the summed loss of each chunk.

    given, target, drawn  arguments of `model.loss`, ids on the CPU: inputs, words to predict, and negatives
    device                device of the model
    """
    size = CHUNK if device.type == "cpu" else len(target)
    for part in zip(given.split(size), target.split(size), drawn.split(size)):
        loss = model.loss(*(ids.to(device) for ids in part)) * len(part[1])
        (loss / len(target)).backward()
        yield loss.item()


def train(model: SkipGram, corpus: Corpus, *, epochs: int, window: int = 5, negatives: int = 5, batch_size: int = 16384,
          lr: float = 0.01, power: float = 0.75, threshold: float | None = None, seed: int = 0,
          after_epoch: Callable[[int, float], None] | None = None) -> list[float]:
    """Train with Adam and a linearly decaying learning rate; return the mean loss of each epoch.

    model        SkipGram or CBOW, trained on its device
    window       largest distance of a context word; the window of each word is sampled from 1 to `window`
    negatives    K, number of negatives per pair, sampled with p(w) proportional to counts ** power
    batch_size   number of pairs per step
    lr           learning rate at the first step
    threshold    t in `kept_in_subsampling`, which is applied anew in each epoch; None: no subsampling
    after_epoch  called after each epoch with the number of completed epochs and the mean loss of the epoch

    Raises ValueError if the model and the corpus have different numbers of words, or if the corpus has no pair, and
    FloatingPointError if the loss is not finite.
    """
    if model.config["num_words"] != corpus.num_words:
        raise ValueError(f"model has {model.config['num_words']} words; expected {corpus.num_words}, as in corpus")
    check_sizes(window=window)
    if epochs < 1 or batch_size < 1:
        raise ValueError(f"epochs is {epochs} and batch_size is {batch_size}; expected at least 1 each")
    generator = torch.Generator().manual_seed(seed)
    noise = NoiseSampler(corpus.counts, power)
    keep = None if threshold is None else kept_in_subsampling(corpus.counts, threshold)
    device = model.centre.weight.device
    optimizer = torch.optim.Adam(model.parameters(), lr, fused=True)
    losses = []
    for epoch in range(epochs):
        text = corpus
        if keep is not None:
            stays = torch.rand(len(corpus.tokens), generator=generator) < keep[corpus.tokens]
            text = Corpus(corpus.tokens[stays], corpus.sentence[stays], corpus.num_words)
        batches = [batch for batch in model.batches(text, window, batch_size, generator) if len(batch[1])]
        if not batches:
            raise ValueError("corpus has no pair of words within a window; expected sentences of two words or more")
        total = 0.0
        for number, (given, target) in enumerate(batches):
            optimizer.param_groups[0]["lr"] = lr * (1 - (epoch + number / len(batches)) / epochs)
            drawn = noise.draw(target, negatives, generator)
            optimizer.zero_grad()
            total += sum(accumulate(model, given, target, drawn, device))
            optimizer.step()
        losses.append(total / sum(len(target) for _, target in batches))
        if not math.isfinite(losses[-1]):
            raise FloatingPointError(f"the loss of epoch {epoch + 1} is {losses[-1]}; expected a finite loss. lr is {lr}: try a smaller one")
        if after_epoch:
            after_epoch(epoch + 1, losses[-1])
    return losses
