"""A run on stories of a grammar: one encoder-decoder for all of BART's noises, and each scored apart."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable

import torch
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.denoising import END, INFO, MASK, PAD, SEP, coded, draw, pair_model, told, train_by
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained
from course_lib.data import Splits
from course_lib.decoding import greedy
from course_lib.tokenizers import pad
from course_lib.transformer import Transformer
from course_lib.transformer.denoising import (
    document_rotation,
    sentence_permutation,
    text_infilling,
    token_deletion,
    token_masking,
)

NOISES: dict[str, Callable[[Tensor, torch.Generator], Tensor]] = {
    "words masked": lambda text, g: token_masking(text, MASK, 0.15, g),
    "words deleted": lambda text, g: token_deletion(text, 0.15, g),
    "spans infilled": lambda text, g: text_infilling(text, MASK, 0.3, 3.0, g),
    "sentences permuted": lambda text, g: sentence_permutation(text, END, g),
    "text rotated": lambda text, g: document_rotation(text, g),
}


class Restorer(nn.Module):
    """An encoder-decoder, and the noise that it is asked about."""

    def __init__(self, model: nn.Module, noise: str):
        super().__init__()
        self.model, self.noise = model, noise


def train_to_restore(model: Transformer, seed: int, updates: int) -> Transformer:
    """On all five noises, one a text, drawn anew in every batch."""
    g, train = torch.Generator().manual_seed(seed), coded(draw().train)
    texts, end = [tokens[real][1:-1] for tokens, real in zip(train.tokens, train.real)], torch.tensor([SEP])
    names = list(NOISES)

    def loss(rows: Tensor, step: int) -> Tensor:
        which = torch.randint(len(names), (len(rows),), generator=g).tolist()
        read = [torch.cat([NOISES[names[k]](texts[i], g), end]) for i, k in zip(rows.tolist(), which)]
        return model.loss((pad(read, PAD), pad([torch.cat([texts[i], end]) for i in rows.tolist()], PAD)))[0]

    train_by(model, loss, len(texts), updates, 3e-3, seed)
    return model.eval()


@cache
def restoring(seed: int, updates: int) -> Transformer:
    torch.manual_seed(seed)
    return train_to_restore(pair_model(64, 2), seed, updates)


def by_restoring(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    models = Repeats(Restorer(restoring(seed, settings["updates"]), settings["noise"]) for seed in range(settings["seeds"]))
    return Trained(models)


@torch.no_grad()
def restored(models: Repeats, lines: list[str]) -> dict[str, Any]:
    """Per cent of stories given back word for word."""
    part, each, end = coded(lines), [], torch.tensor([SEP])
    texts = [tokens[real][1:-1] for tokens, real in zip(part.tokens, part.real)]
    for seed, model in enumerate(models):
        g = torch.Generator().manual_seed(500 + seed)
        read = [NOISES[model.noise](text, g) for text in texts]
        out = greedy(model.model, length=24, context=pad([torch.cat([r, end]) for r in read], PAD), eos_id=SEP)
        right = [torch.equal(row[:n - 1], text) for row, n, text in zip(out.tokens, out.length.tolist(), texts)]
        each.append(100 * sum(right) / len(right))
    return of_seeds(each, len(texts))


@cache
def draw_stories() -> Splits:
    """The stories of `draw`, and others of two sentences to score."""
    return Splits("toy_stories", draw().train, told(400, 96, 2), told(500, 97, 2), info=INFO)


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("noises-stories", "toy_stories", tuple(
        Row(noise, Restorer, by_restoring, {}, {"noise": noise, "updates": 1000, "seeds": 3}, measure=restored) for noise in NOISES),
        draw=draw_stories, unit="% of stories restored word for word", best=max,
        note="One encoder-decoder, two layers of width 64 on each side, trained on all five noises of BART, one a story; each noise "
             "scored apart on 500 new stories of two sentences. Mean ± standard error over three seeds."),
)}
