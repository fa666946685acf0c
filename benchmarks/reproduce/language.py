"""Runs of transformers on text: a GPT that reads characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.recipes import Job, Trained
from benchmarks.reproduce.run import Row, Run, Target
from benchmarks.reproduce.text import Parts
from course_lib.data import Splits
from course_lib.text import CharTokenizer
from course_lib.training import evaluate, fit
from course_lib.transformer.gpt import GPT, GPTConfig

if TYPE_CHECKING:
    from typing import Any

WINDOW, BATCH, STEPS = 64, 12, 2000


def windows(splits: Splits) -> Parts:
    """Characters as numbers. Train: STEPS batches of windows from anywhere. Valid and test: consecutive windows.

    A window is WINDOW characters and the one before them, from which the first is predicted: every character is scored
    from what its own window holds, the first ones from little.
    """
    tokenizer = CharTokenizer.fit(splits.train + splits.valid + splits.test)
    train, valid, test = (tokenizer.encode(part) for part in (splits.train, splits.valid, splits.test))
    starts = torch.randint(len(train) - WINDOW, (STEPS * BATCH,), generator=torch.Generator().manual_seed(0))
    rows = train.unfold(0, WINDOW + 1, 1)[starts]
    return Parts(rows, consecutive(valid), consecutive(test), {**splits.info, "tokenizer": tokenizer.config})


def consecutive(text: Int[Tensor, "T"]) -> tuple[Int[Tensor, "N L"], Int[Tensor, "N 1"]]:
    """Windows (N, WINDOW) one after another, and the character before each, (N, 1); what is left over is not scored."""
    both = text.unfold(0, WINDOW + 1, WINDOW)
    return both[:, 1:], both[:, :1]


def by_steps(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """One pass over the windows that were drawn; the last weights stay."""
    torch.manual_seed(job.seed)
    model = row.model(**row.arguments).to(job.device)
    history = fit(model, job.splits.train, seed=job.seed, device=job.device, checkpoint_every=200,
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs)


def character_gpt(**size: int) -> GPT:
    return GPT(GPTConfig(window=WINDOW, **size))


def nats_a_character(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a character, in nats: its mean, the standard error over windows, the characters it was taken over."""
    mean, error = evaluate(model, part, batch_size=100)
    return {"mean": round(mean / WINDOW, 4), "standard_error": round(error / WINDOW, 4), "over": part[0].numel()}


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("gpt-tiny-shakespeare", "tiny_shakespeare", (
        Row("GPT, 4 layers, width 128", character_gpt, by_steps,
            {"vocabulary": 65, "layers": 4, "heads": 4, "d_model": 128},
            {"epochs": 1, "batch_size": BATCH, "lr": 2e-3, "betas": [0.9, 0.99], "weight_decay": 0.1, "clip": 1.0,
             "schedule": "cosine", "warmup": 100},
            measure=nats_a_character, target=Target(1.88), weights="gpt-tiny-shakespeare"),
    ), prepare=windows, unit="nats a character",
        note="2,000 steps of 12 windows of 64 characters. Each character is scored from its own window alone."),
)}
