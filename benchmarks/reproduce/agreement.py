"""A small GPT on two sentences at a time from a grammar: the model whose heads chapter 13 shows."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from benchmarks.reproduce.recipes import Job, Trained
from benchmarks.reproduce.run import Row, Run, Target
from course_lib.data import Splits, toy_agreement
from course_lib.training import fit
from course_lib.transformer.gpt import GPT, GPTConfig

SIZES = {"train": 12000, "valid": 1000, "test": 1000}
INFO = {
    "protocol": f"Texts drawn independently; the entropy of the grammar is {toy_agreement.entropy():.4f} nats a text.",
    "licence": "MIT, as the code that draws it",
    "citation": "a grammar of this course, course_lib.data.toy_agreement", "key": "", "comparable_with_papers": False,
}


class Parts(NamedTuple):
    """Texts as tokens after the start symbol, filled up, and where a token is real."""

    train: tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]
    valid: tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]
    test: tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]
    info: dict[str, Any]


@cache
def draw() -> Splits:
    """Texts of the grammar, all parts from one generator with seed 0."""
    generator = torch.Generator().manual_seed(0)
    parts = {part: [str(text) for text in toy_agreement.texts(num, generator)] for part, num in SIZES.items()}
    return Splits("toy_agreement", **parts, info=INFO)


def as_tokens(splits: Splits) -> Parts:
    """Words as numbers."""
    words = toy_agreement.vocabulary()
    info = {**splits.info, "tokenizer": {"symbols": [words.symbol(i) for i in range(len(words))], "bos": toy_agreement.BOS}}
    return Parts(*(toy_agreement.to_ids(getattr(splits, part)) for part in SIZES), info)


def by_texts(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Every word of every text from those before it; the last weights stay."""
    torch.manual_seed(job.seed)
    model = row.model(**row.arguments).to(job.device)
    history = fit(model, job.splits.train, seed=job.seed, device=job.device,
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs)


def word_gpt(**size: int) -> GPT:
    return GPT(GPTConfig(vocab_size=len(toy_agreement.vocabulary()), window=toy_agreement.LONGEST, bos_id=0, **size))


@torch.no_grad()
def nats_a_text(model: GPT, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a text, in nats: its mean, the standard error, the texts it was taken over."""
    tokens, real = part
    log_p = model.eval()(tokens[:, :-1], real[:, :-1]).log_softmax(-1)
    log_p = log_p.gather(-1, tokens[:, 1:, None])[..., 0].masked_fill(~real[:, 1:], 0)
    nats = -log_p.sum(1).double()                                    # (N,)
    return {"mean": round(nats.mean().item(), 4), "standard_error": round(nats.std().item() / len(nats) ** 0.5, 4),
            "over": len(nats)}


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("gpt-agreement", "toy_agreement", (
        Row("GPT, 2 layers of 4 heads, width 32", word_gpt, by_texts,
            {"layers": 2, "heads": 4, "d_model": 32, "d_ff": 64},
            {"epochs": 12, "batch_size": 64, "lr": 5e-3, "weight_decay": 0.1, "schedule": "cosine", "warmup": 100,
             "clip": 1.0},
            measure=nats_a_text, target=Target(13.5), weights="gpt-agreement"),
    ), prepare=as_tokens, draw=draw, unit="nats a text",
        note="No model of the grammar can go below its entropy, 13.29 nats a text; a sample of texts can."),
)}
