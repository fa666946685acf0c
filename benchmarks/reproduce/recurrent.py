"""Runs of recurrent language models on characters: one long text, the memory carried through it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from torch import Tensor

from benchmarks.reproduce.language import WINDOW, consecutive
from benchmarks.reproduce.recipes import fitted
from benchmarks.reproduce.run import Job, Parts, Row, Run, Trained
from benchmarks.reproduce.text import BLOCK, numbered
from course_lib.data import Splits
from course_lib.recurrent import Carried, RecurrentLM, nats_of_text, streams
from course_lib.training import evaluate

WARM_UP = 1000                                                       # characters read before the first that is scored


def whole(splits: Splits) -> Parts:
    """Characters as numbers, those of all three parts: train (T,); valid and test (T,), each with the characters before it."""
    train, valid, test, info = numbered(splits)
    return Parts(train, (valid, train[-WARM_UP:]), (test, valid[-WARM_UP:]), info)


def by_streams(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Streams side by side, the memory carried from piece to piece; the weights of the best epoch on validation."""
    rest = {**settings}
    batch, length = rest.pop("streams"), rest.pop("piece")
    carried = replace(row, model=lambda **size: Carried(RecurrentLM(**size), batch))
    found = fitted(job, carried, rest, name, streams(job.splits.train, batch, length), streams(job.splits.valid[0], 10, length), seed=job.seed)
    return replace(found, model=found.model.model)


def nats_carried(model: RecurrentLM, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a character given all before it, in nats: its mean, the standard error over blocks of BLOCK, the
    characters it was taken over; beside it the mean where each is scored from its own window of WINDOW alone."""
    text, before = part
    nats = nats_of_text(model, text, before).double()
    blocks = nats[:len(nats) // BLOCK * BLOCK].view(-1, BLOCK).mean(dim=1)
    windows, error = evaluate(model, consecutive(text), batch_size=100)
    return {"mean": round(nats.mean().item(), 4), "standard_error": round((blocks.std() / math.sqrt(len(blocks))).item(), 4),
            "over": len(nats), "in_windows": round(windows / WINDOW, 4), "in_windows_error": round(error / WINDOW, 4)}


SETTINGS = {"streams": 32, "piece": 64, "lr": 4e-3, "betas": [0.9, 0.99], "weight_decay": 0.01, "clip": 1.0,
            "schedule": "cosine", "warmup": 100, "patience": 6}
SIZE = {"vocab_size": 65, "hidden": 256, "embedding": 64, "dropout": 0.25}
NOTE = ("32 streams in pieces of 64 characters, the memory carried on. Every character is scored once, given all before it; "
        "`in_windows` is the figure where each is scored from its own window of 64 characters alone, as for "
        "gpt-tiny-shakespeare.")


def character_run(cell: str, label: str, epochs: int, **more: Any) -> Run:
    name = f"{cell}-tiny-shakespeare"
    return Run(name, "tiny_shakespeare", (
        Row(label, RecurrentLM, by_streams, {**SIZE, "cell": cell, **more}, {**SETTINGS, "epochs": epochs},
            measure=nats_carried, weights=name),
    ), prepare=whole, unit="nats a character", note=NOTE)


RUNS: dict[str, Run] = {run.name: run for run in (
    character_run("lstm", "LSTM, width 256", 20, forget_bias=1.0),
    character_run("gru", "GRU, width 256", 10),
)}
