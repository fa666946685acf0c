"""A run on English sentences: BERT fills in what is hidden, and beside it counts and a language model of the same size."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.reproduce import english
from benchmarks.reproduce.pretraining import MASK, SPECIAL, HiddenWords
from benchmarks.reproduce.run import Job, Parts, Row, Run, Trained
from benchmarks.reproduce.text import by_ngram
from course_lib.autoregressive import evaluating
from course_lib.counting import NGram
from course_lib.data import Splits
from course_lib.training import fit
from course_lib.training.history import Report
from course_lib.transformer.bert import BERT, BERTConfig, mask_tokens
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.words import Corpus, cooccurrences, ppmi, truncated_svd

LENGTH = 64                                                          # pieces of a row, [CLS] the first of them
WEIGHTS = "bert-english"
RATE = 0.3                                                           # of the pieces that are hidden
DEVIATION = 0.06                                                     # of the first weights, and of the vectors at the start
WATCHED = 200                                                        # rows of the validation set, read every so often


def packed(splits: Splits) -> Parts:
    """Sentences one after the other, [SEP] between two, cut into rows; [CLS] stands before each row."""
    parts = english.in_rows(splits, LENGTH - 1)
    cls = parts.info["tokenizer"]["symbols"].index("[CLS]")
    rows = (F.pad(part, (1, 0), value=cls) for part in parts[:3])
    return Parts(*rows, parts.info)


# --- the models, and how they start ----------------------------------------------------------------------------------


def bert(**size: int | float) -> BERT:
    return BERT(BERTConfig(english.PIECES, LENGTH, **size))


def gpt(**size: int | float) -> GPT:
    return GPT(GPTConfig(english.PIECES, LENGTH, **size))


def vectors_of(rows: Int[Tensor, "N T"], vocabulary: int, width: int) -> Float[Tensor, "V D"]:
    """Vectors of word pieces as in chapter word-vectors: singular vectors of the positive mutual information within three places.

    They have mean 0 and the deviation of the weights that they replace.
    """
    kept = min(width, vocabulary)
    corpus = Corpus(rows.flatten(), torch.arange(len(rows)).repeat_interleave(rows.shape[1]), vocabulary)
    u, s, _ = truncated_svd(ppmi(cooccurrences(corpus, 3), 0.75), kept)
    vectors = F.pad(u * s.sqrt(), (0, width - kept))
    return (vectors - vectors.mean()) / vectors.std() * DEVIATION


@torch.no_grad()
def begun(model: BERT | GPT, rows: Int[Tensor, "N T"], vectors: bool) -> BERT | GPT:
    """The model before its first update: wider weights than the class draws, embeddings from `vectors_of` or not."""
    for p in model.parameters():
        if p.dim() == 2:
            p.mul_(DEVIATION / 0.02)
    if vectors:
        model.tokens.weight.copy_(vectors_of(rows, *model.tokens.weight.shape))
    return model


class Watch:
    """Every so many steps: what was read, and the nats on a few validation rows, kept in a file so that a killed run has all."""

    def __init__(self, path: Path, model: nn.Module, rows: Int[Tensor, "N T"], pieces: int, every: int):
        self.path, self.model, self.rows, self.pieces, self.every = path, model, rows, pieces, every
        self.points = dict(json.loads(path.read_text())) if path.exists() else {}

    def __call__(self, report: Report) -> None:
        if report.step % self.every == 0:
            self.points[report.step * self.pieces] = round(watched(self.model, self.rows), 4)
            self.path.write_text(json.dumps(sorted(self.points.items())))

    @property
    def curve(self) -> list[list[float]]:
        return [list(point) for point in sorted(self.points.items())]


def by_reading(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """So many epochs of the rows by AdamW, hidden pieces drawn anew each time; the last weights stay."""
    settings = dict(settings)
    vectors, every = settings.pop("vectors"), settings.pop("watch_every")
    torch.manual_seed(job.seed)
    model = begun(row.model(**row.arguments), job.splits.train, vectors).to(job.device)
    told = HiddenWords(model, RATE) if isinstance(model, BERT) else model
    watch = Watch(job.checkpoints / f"{name}.json", model, job.splits.valid[:WATCHED], settings["batch_size"] * LENGTH, every)
    with sdpa_kernel(SDPBackend.MATH):                               # rows are short: the blocked kernels take longer on a CPU
        history = fit(told, job.splits.train, seed=job.seed, device=job.device, checkpoint_every=200, callback=watch,
                      checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs, curve=watch.curve)


# --- what is measured ------------------------------------------------------------------------------------------------


def hidden(rows: Int[Tensor, "N T"], rate: float) -> tuple[Int[Tensor, "N T"], Bool[Tensor, "N T"]]:
    """The rows with pieces hidden, the same ones each time, all of them by [MASK]."""
    return mask_tokens(rows, MASK, english.PIECES, range(SPECIAL), rate=rate, shares=(1.0, 0.0, 0.0),
                       generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def watched(model: nn.Module, rows: Int[Tensor, "N T"]) -> float:
    """Nats of the hidden pieces, at the training's rate: of BERT from what is left, of any other from what is before it."""
    read, chosen = hidden(rows, RATE)
    with evaluating(model):
        if isinstance(model, BERT):
            return torch.cat([scores_of(model, some, places, told) for some, places, told in
                              zip(read.split(50), chosen.split(50), rows.split(50))]).mean().item()
        return before(model, rows)[chosen].mean().item()


def scores_of(model: BERT, read: Tensor, chosen: Bool[Tensor, "B T"], told: Tensor) -> Float[Tensor, "..."]:
    """Nats of the pieces at the chosen places."""
    states = model(read).tokens[chosen]                              # (M, D)
    return F.cross_entropy(model.mlm(states, model.tokens.weight), told[chosen], reduction="none")


def before(model: nn.Module, rows: Int[Tensor, "N T"]) -> Float[Tensor, "N T"]:
    """Nats of each piece from the pieces before it in its row; 0 at the first, which is [CLS]."""
    if isinstance(model, NGram):
        nats = -model.conditionals(rows[:, 1:], rows[:, :1]).log_prob(rows[:, 1:]).float()
    else:
        nats = torch.cat([F.cross_entropy(model(some[:, :-1]).mT, some[:, 1:], reduction="none") for some in rows.split(50)])
    return F.pad(nats, (1, 0))


def alone(model: BERT, rows: Int[Tensor, "N T"]) -> Float[Tensor, "N T"]:
    """Nats of each piece from all others of its row: hidden alone, a reading of the row a piece."""
    nats = torch.zeros(rows.shape)
    for place in range(1, rows.shape[1]):
        at = torch.zeros_like(rows[:1], dtype=torch.bool)
        at[0, place] = True
        for first in range(0, len(rows), 200):
            some = rows[first:first + 200]
            nats[first:first + 200, place] = scores_of(model, some.masked_fill(at, MASK), at.expand_as(some), some)
    return nats


@torch.no_grad()
def nats_a_piece(model: nn.Module, part: Int[Tensor, "N T"]) -> dict[str, Any]:
    """Minus log p of a piece, in nats, its standard error over rows, and the mean by the place in the row (eights).

    BERT reads all the row but the piece; the others read what stands before it. Signs such as [SEP] are not asked for.
    """
    with evaluating(model):
        nats = alone(model, part) if isinstance(model, BERT) else before(model, part)
        figures = {"hidden": round(watched(model, part[:WATCHED]), 4)} if isinstance(model, BERT) else {}
    asked = part >= SPECIAL                                          # (N, T)
    rows = torch.stack([row[places].double().mean() for row, places in zip(nats, asked) if places.any()])
    eights = [round(nats[:, k:k + 8][asked[:, k:k + 8]].mean().item(), 4) for k in range(0, part.shape[1], 8)]
    return {"mean": round(nats[asked].double().mean().item(), 4), "standard_error": round(rows.std().item() / math.sqrt(len(rows)), 4),
            "over": int(asked.sum()), **figures, "by place": eights}


# --- the table -------------------------------------------------------------------------------------------------------

SIZE = {"layers": 2, "heads": 4, "d_model": 128, "dropout": 0.0}
READING = {"epochs": 11, "batch_size": 32, "lr": 2e-3, "bf16": True, "schedule": "linear", "warmup": 200, "weight_decay": 0.01,
           "clip": 1.0, "watch_every": 250}
NOTE = ("English sentences of eight sources, 4,000 word pieces, in rows of 64. BERT is asked for one piece at a time and reads "
        "the rest of the row; the others read what stands before the piece. ")
SAME = "Size, rows, updates and rates are those of the run bert-english"

RUNS: dict[str, Run] = {run.name: run for run in (
    Run("bert-english", "english", (
        Row("unigram", NGram, by_ngram, {"n": 1}, {"smoothing": "add", "alpha": 0.1}, measure=nats_a_piece),
        Row("bigram", NGram, by_ngram, {"n": 2}, {"smoothing": "kneser-ney"}, measure=nats_a_piece),
        Row("BERT, embeddings from word vectors", bert, by_reading, SIZE, {**READING, "vectors": True}, measure=nats_a_piece,
            weights=WEIGHTS),
    ), draw=english.draw, prepare=packed, unit="nats a word piece",
        note=NOTE + "It learnt with 30 % of the pieces hidden; its curve is of such rows."),
    Run("bert-english-twin", "english", (
        Row("GPT, embeddings from word vectors", gpt, by_reading, SIZE, {**READING, "bf16": False, "vectors": True}, measure=nats_a_piece),
    ), draw=english.draw, prepare=packed, unit="nats a word piece",
        note=NOTE + SAME + ", in float32 where that computed in bfloat16."),
    Run("bert-english-chance", "english", (
        Row("BERT, embeddings from chance", bert, by_reading, SIZE, {**READING, "vectors": False}, measure=nats_a_piece),
    ), draw=english.draw, prepare=packed, unit="nats a word piece", note=NOTE + SAME + "; the first embeddings alone differ."),
)}
