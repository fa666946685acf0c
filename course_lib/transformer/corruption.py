"""Corruption for BERT's pre-training: masked tokens, and pairs of sentences."""

from __future__ import annotations

from typing import Iterable, NamedTuple, Sequence

import torch
from jaxtyping import Bool, Integer
from torch import Tensor

from course_lib.tokenizers.batching import tokens_and_mask


class Corrupted(NamedTuple):
    """Corrupted texts, as `mask_tokens` returns them, and the positions whose original tokens are predicted."""

    tokens: Tensor                                                   # (B, T), corrupted tokens, the model's input
    chosen: Tensor                                                   # (B, T), True where the loss is computed


class Pair(NamedTuple):
    """Example of next-sentence or sentence-order prediction: two sentences, and whether the second follows."""

    first: Tensor                                                    # (T1,), token ids
    second: Tensor                                                   # (T2,), token ids
    next: bool                                                       # True if the second follows in the document


def mask_tokens(tokens: Integer[Tensor, "B T"], mask_id: int, vocab_size: int, special: Iterable[int] = (),
                mask: Bool[Tensor, "B T"] | None = None, rate: float = 0.15,
                shares: tuple[float, float, float] = (0.8, 0.1, 0.1),
                generator: torch.Generator | None = None) -> Corrupted:
    """Choose each ordinary token of the texts (B, T) with probability `rate`; mask, replace or keep the chosen tokens.

    mask_id     id of the mask token, which is never chosen
    vocab_size  V; token ids are 0..V-1
    special     ids of further tokens that are never chosen and never inserted, such as [CLS], [SEP] and padding
    mask        (B, T), True for real tokens; padding is never chosen. None: all are real
    shares      probabilities of masking, replacing and keeping a chosen token, which sum to one; replacements are
                sampled uniformly from the ordinary tokens, all except `mask_id` and `special`

    The loss is computed at all chosen tokens, kept tokens included, so that the model has to predict every token from
    its context. Slides: "Masked language model". Paper: Devlin et al. 2019, section 3.1 and appendix A.1.
    """
    if not 0 < rate <= 1 or min(shares) < 0 or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(f"rate is {rate} and shares is {shares}; expected 0 < rate <= 1, and three shares, none below "
                         "0, that sum to 1")
    inside, mask = tokens_and_mask((tokens, mask), vocab_size)
    ordinary = torch.ones(vocab_size, dtype=torch.bool, device=tokens.device)
    ordinary[[mask_id, *special]] = False
    if inside.numel() and (inside.min() < 0 or inside.max() >= vocab_size):
        raise ValueError(f"tokens contains values from {inside.min()} to {inside.max()}; expected 0 to "
                         f"{vocab_size - 1}")
    device = tokens.device if generator is None else generator.device
    u, fate = (torch.rand(tokens.shape, generator=generator, device=device).to(tokens.device) for _ in range(2))
    chosen = ordinary[inside] & (u < rate)
    if mask is not None:
        chosen &= mask
    candidates = ordinary.nonzero()[:, 0]
    pick = torch.randint(len(candidates), tokens.shape, generator=generator, device=device).to(tokens.device)
    hidden, replaced = fate < shares[0], fate < shares[0] + shares[1]
    read = torch.where(chosen & replaced, candidates[pick], tokens)
    return Corrupted(torch.where(chosen & hidden, mask_id, read), chosen)


def sentence_pairs(documents: Sequence[Sequence[Integer[Tensor, "..."]]], generator: torch.Generator | None = None,
                   order: bool = False) -> list[Pair]:
    """Return a labeled pair for each two consecutive sentences of a document, in the order of the documents.

    With probability 1/2 the two sentences are kept, with the label `next` True; otherwise the label is False, and
    `order` determines the pair.

    documents  lists of sentences, each a tensor (T,) of token ids
    order      False: in a pair with the label False, a random sentence of another document replaces the second sentence
               (next-sentence prediction, BERT). True: the two sentences are exchanged (sentence-order prediction: the
               slides' "toast" example, and ALBERT)

    Raises ValueError if no document has two sentences, or if there is no other document to sample from.
    """
    sizes = torch.tensor([len(document) for document in documents])
    if len(sizes) == 0 or sizes.max() < 2:
        raise ValueError("documents contains only documents of fewer than two sentences; expected at least one "
                         "document of two or more sentences")
    if not order and (sizes > 0).sum() < 2:
        raise ValueError("documents has one document with sentences; expected at least 2, because a second sentence is "
                         "sampled from another document. With a single document, set order=True")
    everything = [sentence for document in documents for sentence in document]
    begins, pairs = (sizes.cumsum(0) - sizes).tolist(), []
    for document, begin in zip(documents, begins):
        for first, second in zip(document[:-1], document[1:]):
            kept = bool(torch.rand((), generator=generator) < 0.5)
            if kept:
                pairs.append(Pair(first, second, True))
            elif order:
                pairs.append(Pair(second, first, False))
            else:                                                    # a sentence of another document
                i = int(torch.randint(len(everything) - len(document), (), generator=generator))
                pairs.append(Pair(first, everything[i + len(document) * (i >= begin)], False))
    return pairs
