r"""BART's five corruptions of a text $x$, for a model $p(x \mid \tilde x)$ that reconstructs it.

Each function takes the tokens (T,) of one text, and returns the tokens of the corrupted text; a `generator` makes it
reproducible. They can be combined: BART's training uses text infilling after sentence permutation.

Slides: "BART's denoising objective". Paper: Lewis et al. 2019, section 2.2.
"""

from __future__ import annotations

import torch
from jaxtyping import Integer
from torch import Tensor

from course_lib.transformer.denoising.spans import check_mean, check_rate, place, poisson_lengths, token_row


def token_masking(tokens: Integer[Tensor, "..."], mask_id: int, rate: float | int = 0.15,
                  generator: torch.Generator | None = None) -> Integer[Tensor, "T"]:
    """Replace each token of a text (T,) by `mask_id` with probability `rate`; the length does not change.

    >>> token_masking(torch.arange(1, 7), mask_id=0, rate=1)
    tensor([0, 0, 0, 0, 0, 0])
    """
    tokens = token_row(tokens)
    return tokens.masked_fill(_chosen(tokens, rate, generator), mask_id)


def token_deletion(tokens: Integer[Tensor, "..."], rate: float | int = 0.15,
                   generator: torch.Generator | None = None) -> Integer[Tensor, "..."]:
    """Delete each token of a text (T,) with probability `rate`; nothing marks its position.

    The text may become empty; append an end token afterwards for a model that needs at least one token.

    >>> token_deletion(torch.arange(1, 7), rate=0.5, generator=torch.Generator().manual_seed(1))
    tensor([1, 4, 6])
    """
    tokens = token_row(tokens)
    return tokens[~_chosen(tokens, rate, generator)]


def text_infilling(tokens: Integer[Tensor, "..."], mask_id: int, rate: float | int = 0.3,
                   mean: float | int = 3.0,
                   generator: torch.Generator | None = None) -> Integer[Tensor, "..."]:
    """Replace spans by a single mask each, so that the model also has to predict how many
    tokens are missing.

    rate  share of the tokens that the spans cover, rounded to a whole number of tokens
    mean  mean length of a span; lengths are Poisson distributed, and a span of length 0
          inserts a mask

    >>> generator = torch.Generator().manual_seed(0)
    >>> text_infilling(torch.arange(1, 11), mask_id=0, generator=generator)
    tensor([ 1,  2,  3,  4,  5,  6,  0, 10])
    """
    tokens = token_row(tokens)
    check_rate(rate)
    check_mean(mean, 1e-3)
    lengths = poisson_lengths(round(rate * len(tokens)), mean, generator)
    read, at, mask = [], 0, tokens.new_tensor([mask_id])
    for start, end in place(len(tokens), lengths, generator):
        read += [tokens[at:start], mask]
        at = end
    return torch.cat([*read, tokens[at:]])


def sentence_permutation(tokens: Integer[Tensor, "..."], end_id: int,
                         generator: torch.Generator | None = None) -> Integer[Tensor, "T"]:
    """Permute the sentences of a text (T,); all orders, including the original order, are equally probable.

    end_id  id of the token that ends a sentence, and is part of it; tokens after the last `end_id` are a sentence too

    >>> text = torch.tensor([1, 2, 9, 3, 9, 4, 5, 9])                # 9 is the full stop
    >>> sentence_permutation(text, end_id=9, generator=torch.Generator().manual_seed(0))
    tensor([4, 5, 9, 1, 2, 9, 3, 9])
    """
    parts = split_sentences(tokens, end_id)
    return torch.cat([parts[i] for i in torch.randperm(len(parts), generator=generator).tolist()])


def document_rotation(tokens: Integer[Tensor, "..."], generator: torch.Generator | None = None) -> Integer[Tensor, "T"]:
    """Rotate a text (T,) to start at a token sampled uniformly; the tokens before it move to the end.

    >>> document_rotation(torch.arange(1, 7), generator=torch.Generator().manual_seed(0))
    tensor([3, 4, 5, 6, 1, 2])
    """
    tokens = token_row(tokens)
    return tokens.roll(-int(torch.randint(len(tokens), (), generator=generator)))


def split_sentences(tokens: Integer[Tensor, "..."], end_id: int) -> list[Integer[Tensor, "..."]]:
    """Split a text (T,) after every token `end_id`; return the sentences, each a tensor of tokens."""
    tokens = token_row(tokens)
    ends = (tokens == end_id).nonzero()[:, 0] + 1
    return [part for part in tokens.tensor_split(ends.cpu()) if len(part)]


def _chosen(tokens: Tensor, rate: float | int, generator: torch.Generator | None) -> Tensor:
    u = torch.rand(tokens.shape, generator=generator, device=None if generator is None else generator.device)
    return (u < check_rate(rate)).to(tokens.device)
