"""Runs on text: characters as numbers, n-grams by counting, bits per character."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.recipes import Job, Trained
from course_lib.data import Splits
from course_lib.text import CharTokenizer
from course_lib.training import evaluate

if TYPE_CHECKING:
    from benchmarks.reproduce.run import Row

PROMPT = 6                                                           # characters before a block: the longest order
BLOCK = 110                                                          # valid and test have 507 blocks, nothing left over


class Parts(NamedTuple):
    """A text as numbers: train a row of symbols (T,), valid and test blocks, each with what stands before it."""

    train: Int[Tensor, "T"]
    valid: tuple[Int[Tensor, "N L"], Int[Tensor, "N P"]]
    test: tuple[Int[Tensor, "N L"], Int[Tensor, "N P"]]
    info: dict[str, Any]


def characters(splits: Splits) -> Parts:
    """Characters as numbers, those of all three parts.

    Every character of valid and test is scored once, given the characters before it, those of the part before included.
    """
    tokenizer = CharTokenizer.fit(splits.train + splits.valid + splits.test)
    train, valid, test = (tokenizer.encode(part) for part in (splits.train, splits.valid, splits.test))
    info = {**splits.info, "tokenizer": tokenizer.config}
    return Parts(train, blocks(train, valid), blocks(valid, test), info)


def blocks(before: Int[Tensor, "S"], text: Int[Tensor, "T"]) -> tuple[Int[Tensor, "N L"], Int[Tensor, "N P"]]:
    """The text in consecutive blocks (N, BLOCK), and the PROMPT symbols before each, (N, PROMPT)."""
    if len(text) % BLOCK:
        raise ValueError(f"text has {len(text)} symbols; blocks of {BLOCK} would leave {len(text) % BLOCK} unscored")
    whole = torch.cat([before[-PROMPT:], text])
    return text.view(-1, BLOCK), whole.unfold(0, PROMPT, BLOCK)[:len(text) // BLOCK]


def by_ngram(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Counts of the training text; the weights of interpolation, where there are any, from the validation text."""
    began = time.perf_counter()
    vocabulary = len(job.splits.info["tokenizer"]["symbols"])
    model = row.model(vocabulary=vocabulary, **row.arguments, **settings).fit_counts(job.splits.train)
    if settings["smoothing"] == "interpolated":
        model.fit_weights(job.splits.valid[0].flatten())
    return Trained(model.to(job.device), time.perf_counter() - began)


def bits_per_character(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log2 p of a character: its mean, the standard error over blocks, the characters it was taken over."""
    mean, error = evaluate(model, part, batch_size=64)
    unit = BLOCK * math.log(2)
    return {"mean": round(mean / unit, 4), "standard_error": round(error / unit, 4), "over": part[0].numel()}
