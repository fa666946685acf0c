"""A recurrent language model on letters, with attention and without: as many parameters, the same seconds, three seeds."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.language import WINDOW, consecutive
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, over
from benchmarks.reproduce.text import numbered
from course_lib.data import Splits
from course_lib.recurrent import AttentiveLM, RecurrentLM
from course_lib.training import evaluate

SEEDS, SCORED, SHOWN = (0, 1, 2), 20_000, 24                         # characters that are scored; those whose weights are kept


def in_windows(splits: Splits) -> Parts:
    """The training text as numbers; of valid and test the first SCORED characters."""
    train, valid, test, info = numbered(splits)
    return Parts(train, valid[:SCORED + 1], test[:SCORED + 1], info)


def by_seconds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """AdamW on windows drawn anew, for `seconds` of CPU time a seed; the rate falls to 0 over them, the last weights stay.

    `curve` has for each seed the characters that it read and its nats on the validation part.
    """
    models, curve, spent = [], [], 0.0
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = row.model(**row.arguments).to(job.device)
        read, used = train_for(model, job.splits.train.to(job.device), seed=seed, **settings)
        models.append(model)
        curve.append([read, round(nats(model, job.splits.valid), 4)])
        spent += used
    return Trained(Repeats(models), spent, curve=curve)


def train_for(model: nn.Module, text: Int[Tensor, "T"], *, seed: int, seconds: float, lr: float, batch_size: int,
              clip: float) -> tuple[int, float]:
    """Train for so many seconds of CPU time; returns the characters read and the seconds."""
    generator = torch.Generator().manual_seed(seed)
    windows = text.unfold(0, WINDOW + 1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr, betas=(0.9, 0.99), weight_decay=0.01)
    began, read, used = time.process_time(), 0, 0.0
    while used < seconds:
        for group in optimizer.param_groups:
            group["lr"] = lr * (1 - used / seconds)
        loss, num = model.loss(windows[torch.randint(len(windows), (batch_size,), generator=generator)])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        read, used = read + num, time.process_time() - began
    return read, used


def nats(model: nn.Module, text: Int[Tensor, "T"]) -> float:
    """Minus log p of a character given those of its window before it, in nats: windows of WINDOW, one after another."""
    return evaluate(model.eval(), consecutive(text), batch_size=100)[0] / WINDOW


def nats_of_seeds(models: Repeats, text: Int[Tensor, "T"]) -> dict[str, Any]:
    """The mean over the seeds and its standard error; each seed; of a model that looks back, its weights on the beginning."""
    each = [nats(model, text) for model in models]
    found = {"mean": round(statistics.mean(each), 4), "standard_error": round(statistics.stdev(each) / math.sqrt(len(each)), 4),
             "over": len(consecutive(text)[0]) * WINDOW, "each": [round(value, 4) for value in each]}
    if isinstance(models[0], AttentiveLM):
        weights = models[0].attention_weights(text[None, :SHOWN])[0]
        found["shown"] = {"tokens": text[:SHOWN].tolist(), "weights": (100 * weights).round().int().tolist()}
    return found


SETTINGS = {"seconds": 20.0, "batch_size": 32, "clip": 1.0}
SIZE = {"vocab_size": 65, "cell": "gru", "embedding": 32}
RATES = over("lr", (0.004, 0.012))
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("looking-back-tiny-shakespeare", "tiny_shakespeare", (
        Row("GRU, width 116", RecurrentLM, by_seconds, {**SIZE, "hidden": 116}, SETTINGS, RATES, measure=nats_of_seeds),
        Row("GRU, width 96, that looks back", AttentiveLM, by_seconds, {**SIZE, "hidden": 96, "score": "bilinear"}, SETTINGS,
            RATES, measure=nats_of_seeds),
    ), prepare=in_windows, unit="nats a character",
        note="Windows of 64 characters, 20 seconds of one core for each seed, three seeds; ± is over the seeds. About the same "
             "number of parameters, the better of two rates on validation. A figure of a short training: compare the two rows "
             "with each other."),
)}
