"""Runs on text: characters as numbers, n-grams by counting, bits per character."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.run import Job, Parts, Row, Trained
from course_lib.data import Splits
from course_lib.tokenizers import CharTokenizer
from course_lib.training import evaluate

PROMPT = 6                                                           # characters before a block: what the longest window reads
BLOCK = 110                                                          # valid and test have 507 blocks, nothing left over


def characters(splits: Splits) -> Parts:
    """Characters as numbers, those of all three parts: train (T,); valid and test blocks, each with what stands before it.

    Every character of valid and test is scored once, given the characters before it, those of the part before included.
    """
    train, valid, test, info = numbered(splits)
    return Parts(train, blocks(train, valid), blocks(valid, test), info)


def numbered(splits: Splits) -> tuple[Int[Tensor, "T"], Int[Tensor, "T"], Int[Tensor, "T"], dict[str, Any]]:
    """The three parts as numbers, of the characters that any of them has, and the set's info with the tokenizer's."""
    tokenizer = CharTokenizer.fit(splits.train + splits.valid + splits.test)
    parts = (tokenizer.encode(part) for part in (splits.train, splits.valid, splits.test))
    return *parts, {**splits.info, "tokenizer": tokenizer.config}


def blocks(before: Int[Tensor, "S"], text: Int[Tensor, "T"], block: int = BLOCK,
           prompt: int = PROMPT) -> tuple[Int[Tensor, "N L"], Int[Tensor, "N P"]]:
    """The text in consecutive blocks (N, block), and the symbols before each, (N, prompt)."""
    if len(text) % block:
        raise ValueError(f"text has {len(text)} symbols; blocks of {block} would leave {len(text) % block} unscored")
    whole = torch.cat([before[-prompt:], text])
    return text.view(-1, block), whole.unfold(0, prompt, block)[:len(text) // block]


def by_ngram(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Counts of the training text; the weights of interpolation, where there are any, from the validation text."""
    symbols = len(job.splits.info["tokenizer"]["symbols"])
    model = row.model(vocab_size=symbols, **row.arguments, **settings).fit_counts(job.splits.train)
    if settings["smoothing"] == "interpolated":
        model.fit_weights(job.splits.valid[0].flatten())
    return Trained(model.to(job.device))


def bits_per_character(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log2 p of a character: its mean, the standard error over blocks, the characters it was taken over."""
    mean, error = evaluate(model, part, batch_size=64)
    unit = BLOCK * math.log(2)
    return {"mean": round(mean / unit, 4), "standard_error": round(error / unit, 4), "over": part[0].numel()}
