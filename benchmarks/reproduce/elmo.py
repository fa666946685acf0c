"""A run on English sentences: two language models, one from each end, as ELMo has them, and counts beside them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce import english
from benchmarks.reproduce.run import Job, Parts, Row, Run, Trained
from benchmarks.reproduce.text import by_ngram
from course_lib.counting import NGram
from course_lib.data import Splits
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.training import fit
from course_lib.words import BiLM

PIECES, LENGTH = 4000, 40                                            # symbols; pieces of a row
WEIGHTS = "elmo-english"


def in_rows(splits: Splits, length: int = LENGTH) -> Parts:
    """Sentences as pieces, [SEP] before and after each; what is left over at the end of a part is not used."""
    tokenizer = pieces(tuple(splits.train))
    edge = tokenizer.vocabulary.eos_id
    parts = []
    for part in ("train", "valid", "test"):
        stream = torch.cat([tokenizer.encode(text, eos=True) for text in getattr(splits, part)])
        stream = F.pad(stream, (1, 0), value=edge)
        parts.append(stream[:len(stream) // length * length].view(-1, length))
    return Parts(*parts, {**splits.info, "tokenizer": tokenizer.config})


@lru_cache(maxsize=1)
def pieces(texts: tuple[str, ...]) -> WordPieceTokenizer:
    """Word pieces learnt from what is read; the sign for what is unknown is none of them."""
    return WordPieceTokenizer.fit("\n".join(texts).replace(english.UNKNOWN, " "), PIECES)


def by_both_ways(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Next and previous pieces by AdamW; the last weights stay."""
    torch.manual_seed(job.seed)
    model = row.model(**row.arguments).to(job.device)
    history = fit(model, job.splits.train, job.splits.valid, seed=job.seed, device=job.device, checkpoint_every=200,
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs)


@torch.no_grad()
def nats_a_piece(model: nn.Module, part: Int[Tensor, "N T"]) -> dict[str, Any]:
    """Minus log p of a piece given its row, in nats, its standard error over rows; of both directions the mean, and each."""
    if isinstance(model, NGram):
        m = max(model.memory, 1)                                     # all models predict from the second piece on
        each = {"": -model.log_prob(part[:, m:], part[:, :m]) / (LENGTH - m)}
    else:
        each = {"forward": [], "backward": []}
        for rows in part.split(50):
            after, before = model.eval()(rows)
            each["forward"].append(F.cross_entropy(after[:, :-1].mT, rows[:, 1:], reduction="none").mean(dim=1))
            each["backward"].append(F.cross_entropy(before[:, 1:].mT, rows[:, :-1], reduction="none").mean(dim=1))
        each = {way: torch.cat(rows) for way, rows in each.items()}
    nats = torch.stack([rows.double() for rows in each.values()]).mean(dim=0)              # (N,)
    return {"mean": round(nats.mean().item(), 4), "standard_error": round(nats.std().item() / math.sqrt(len(nats)), 4),
            "over": part.numel(), **{way: round(rows.mean().item(), 4) for way, rows in each.items() if way}}


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("elmo-english", "english", (
        Row("unigram", NGram, by_ngram, {"n": 1}, {"smoothing": "add", "alpha": 0.1}, measure=nats_a_piece),
        Row("bigram", NGram, by_ngram, {"n": 2}, {"smoothing": "kneser-ney"}, measure=nats_a_piece),
        Row("two LSTM language models, one from each end", BiLM, by_both_ways,
            {"vocab_size": PIECES, "width": 160, "layers": 2, "dropout": 0.1},
            {"epochs": 6, "batch_size": 64, "lr": 4e-3, "schedule": "linear", "warmup": 200, "clip": 1.0},
            measure=nats_a_piece, weights=WEIGHTS),
    ), draw=english.draw, prepare=in_rows, unit="nats a word piece",
        note="English sentences of eight sources, 4,000 word pieces. The counts read forward; the two language models predict "
             "each piece from what is before it and, apart, from what is after it: the figure is the mean of both directions."),
)}
