"""The four habits of training, each left out in turn: small translators of captions, the same updates for every arm."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.language import (
    FIRST,
    PAD,
    PIECES,
    Sentences,
    bleu_of,
    pairs,
    translate,
    translator,
    words_of,
)
from benchmarks.reproduce.pretraining import by_updates
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from course_lib.training import bleu, evaluate
from course_lib.transformer.transformer import Transformer


class WordByWord(nn.Module):
    """Each word's own translation, whatever stands beside it; a word that was never met is copied.

    That of a word f is the e of the largest 2 n(f, e) / (n(f) + n(e)), where n counts the training sentences, or pairs
    of them, that have it (Dice's coefficient). Beside it, how often each piece is, by which a target gets its nats.
    """

    def __init__(self, german: list[str], english: list[str], targets: Tensor):
        super().__init__()
        alone, together = (Counter(), Counter()), Counter()
        for f, e in zip(words_of(german), words_of(english)):
            both = set(f.split()), set(e.split())
            for counts, words in zip(alone, both):
                counts.update(words)
            together.update((a, b) for a in both[0] for b in both[1])
        best: dict[str, tuple[float, str]] = {}
        for (f, e), count in together.items():
            best[f] = max(best.get(f, (0.0, "")), (2 * count / (alone[0][f] + alone[1][e]), e))
        self.words, self.translations = sorted(best), sorted({e for _, e in best.values()})
        number = {e: i for i, e in enumerate(self.translations)}
        self.chosen = nn.Parameter(torch.tensor([number[best[f][1]] for f in self.words]), requires_grad=False)
        often = targets[targets != PAD].bincount(minlength=PIECES + FIRST) + 1
        self.often = nn.Parameter(often.double(), requires_grad=False)

    def translate(self, texts: list[str]) -> list[str]:
        known = dict(zip(self.words, (self.translations[i] for i in self.chosen.tolist())))
        return [" ".join(known.get(word, word) for word in text.split()) for text in words_of(texts)]

    def log_prob(self, target: Tensor, source: Tensor) -> Tensor:
        """By the frequency of the pieces alone, (B,)."""
        each = (self.often / self.often.sum()).log()[target]
        return each.masked_fill(target == PAD, 0).sum(dim=1)


def by_words(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: words are counted."""
    train = job.splits.train
    model = row.model(sources(train), train.texts, train.target)
    return Trained(model)


def sources(part: Sentences) -> list[str]:
    """The sources as text again."""
    return [part.read_by.decode(row[row != PAD] - FIRST) for row in part.source]


def by_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A translator a seed, each trained for `updates` batches of sentences of like length; the last weights stay."""
    settings, models, seconds = dict(settings), Repeats(), 0.0
    for seed in range(settings.pop("seeds")):
        torch.manual_seed(seed)
        model, train = row.model(**row.arguments).to(job.device), job.splits.train
        seconds += by_updates(model, (train.source, train.target), settings, seed, job,
                              job.checkpoints / f"{name}-{settings['updates']}-{seed}.safetensors")
        models.append(model)
    return Trained(models, seconds)


def bleu_and_nats(model: Repeats | WordByWord, part: Sentences) -> dict[str, Any]:
    """BLEU of lower-cased tokens, the mean over seeds, and minus log p of a piece of the reference, not smoothed.

    The standard errors are over seeds; that of words as counted, which has none, is over resampled sentences.
    """
    if isinstance(model, WordByWord):
        nats = {"mean": round(nats_a_piece(model, part), 4)}
        return {**bleu_of(model.translate(sources(part)), part.texts), "nats": nats}
    texts = [[text] for text in words_of(part.texts)]
    scores = [bleu(words_of(translate(each, part)), texts, tokenize="none") for each in model]
    return {**of_seeds([score.score for score in scores], len(texts)), "signature": scores[0].signature,
            "nats": over_seeds([nats_a_piece(each, part) for each in model])}


def over_seeds(values: list[float]) -> dict[str, Any]:
    """Mean and standard deviation, and each seed's own value."""
    return {"mean": round(statistics.mean(values), 4), "deviation": round(statistics.stdev(values), 4),
            "seeds": [round(value, 4) for value in values]}


def log_p_a_piece(models: Repeats, part: Sentences) -> dict[str, float]:
    """By which a rate is chosen: the mean log p of a piece, of the first seed. The larger is the better."""
    return {"mean": -round(nats_a_piece(models[0], part), 4)}


def nats_a_piece(model: Transformer | WordByWord, part: Sentences) -> float:
    """The end of a sentence is a piece too."""
    return evaluate(model, (part.target, part.source))[0] * len(part.target) / int((part.target != PAD).sum())


# --- the table -------------------------------------------------------------------------------------------------------

UPDATES, BATCH, WARM = 960, 32, 96
SIZE = {"d_model": 128, "heads": 4, "d_ff": 256, "encoder_layers": 1, "decoder_layers": 1, "norm": "pre"}
HABITS = {"dropout": 0.1, "smoothing": 0.1, "warmup": WARM, "clip": 1.0}
RATES = over("lr", (3e-3, 6e-3, 1.5e-3))
LEFT_OUT = {"all four habits": {}, "no warm-up": {"warmup": 0}, "no label smoothing": {"smoothing": 0.0},
            "no dropout": {"dropout": 0.0}, "no clipping": {"clip": None}}


def arm(label: str, change: dict[str, Any]) -> Row:
    """A translator with the habits as they are but for `change`. The rates are tried for a third of the updates."""
    habits = {**HABITS, **change}
    final = {"updates": UPDATES, "seeds": 3, "warmup": habits["warmup"]}
    return Row(f"{label}, {UPDATES:,} updates", translator, by_seeds,
               {**SIZE, "dropout": habits["dropout"], "smoothing": habits["smoothing"]},
               {"updates": UPDATES // 3, "batch_size": BATCH, "betas": [0.9, 0.98], "schedule": "cosine", "bf16": True,
                "warmup": habits["warmup"] // 3, "clip": habits["clip"], "seeds": 1},
               RATES, bleu_and_nats, final=final, choose=log_p_a_piece)


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("habits-multi30k", "multi30k", (
        Row("word by word, as counted", WordByWord, by_words, measure=bleu_and_nats),
        *(arm(label, change) for label, change in LEFT_OUT.items()),
    ), prepare=pairs, unit="BLEU", best=max,
        note="The four habits of training, each left out in turn. German to English on the byte pairs of "
             "translation-multi30k, lower-cased, greedy, sacrebleu on tokens (tokenize none). Smaller than that run: 1 + 1 "
             f"layers, the inner width 256, {UPDATES:,} updates of {BATCH} pairs, which is {UPDATES * BATCH / 29000:.1f} "
             "times through the training set, in bfloat16. Of three peak rates each arm has its own best, by the "
             "log-likelihood of the validation sentences, of one seed, in a third of the updates. The mean of three seeds and "
             "its standard error over them. Word by word: of each German word the English one that goes with it most, its "
             "standard error over resampled sentences; the record's nats beside it are by the frequency of the pieces alone."),
)}
