"""What runs on sentences share: which sentences are the same, hidden words, labels that are drawn, so many updates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from benchmarks.reproduce.run import Job
from course_lib.training import fit
from course_lib.training.batches import POOL
from course_lib.transformer.bert import BERT, PretrainingBatch, mask_tokens

PAD, MASK, SPECIAL = 0, 4, 5                                         # [PAD] [UNK] [CLS] [SEP] [MASK] come first


def letters(text: str) -> str:
    """By which two sentences are the same: case, spaces and signs do not count."""
    return "".join(c for c in text.lower() if c.isalnum())


def without(texts: Iterable[str], banned: Iterable[str]) -> list[int]:
    """Which of `texts` to keep: each sentence once, and none of `banned`."""
    seen, kept = {letters(text) for text in banned}, []
    for i, text in enumerate(texts):
        if letters(text) not in seen:
            seen.add(letters(text))
            kept.append(i)
    return kept


class HiddenWords(nn.Module):
    """A BERT that is asked for other words of a sentence each time it meets it, for each with probability `rate`."""

    def __init__(self, bert: BERT, rate: float):
        super().__init__()
        self.bert, self.rate = bert, rate

    def loss(self, tokens: Integer[Tensor, "B T"]) -> tuple[Float[Tensor, ""], int]:
        tokens = tokens[:, :int((tokens != PAD).sum(dim=1).max())]   # without the columns that hold filling only
        real = tokens != PAD
        read, chosen = mask_tokens(tokens, MASK, self.bert.config.vocab_size, range(SPECIAL), real, self.rate)
        return self.bert.loss(PretrainingBatch(read, torch.zeros_like(tokens), real, chosen, tokens))


def drawn(rows: int, wanted: int, seed: int) -> Integer[Tensor, "n"]:
    """`wanted` rows: all of them in random order, again and again."""
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([torch.randperm(rows, generator=generator) for _ in range(math.ceil(wanted / rows))])[:wanted]


def by_updates(model: nn.Module, parts: tuple[Tensor, ...], settings: dict[str, Any], seed: int, job: Job, path: Path) -> float:
    """So many updates, whatever there is to read: `updates` batches in one pass. The seconds, where not counted before.

    Sentences of like length share a batch, unless there are so few of them that it would be the same one many times.
    """
    settings = dict(settings)
    rows = drawn(len(parts[0]), settings.pop("updates") * settings["batch_size"], seed)
    lengths = (parts[0][rows] != PAD).sum(dim=1) if len(parts[0]) >= POOL * settings["batch_size"] else None
    history = fit(model, tuple(part[rows] for part in parts), epochs=1, seed=seed, checkpoint_every=500, lengths=lengths,
                  checkpoint=path, **settings)
    new = path not in job.counted
    job.counted.add(path)
    return sum(history.seconds) if new else 0.0


def per_cent_right(told: Integer[Tensor, "B"], labels: Integer[Tensor, "B"]) -> float:
    return 100 * (told == labels).double().mean().item()
