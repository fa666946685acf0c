"""A run on the tags of UD English EWT from few sentences: what a BERT knows of words in their sentences, and what counts know."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce import bert_english, tagging
from benchmarks.reproduce.english import Tagged
from benchmarks.reproduce.pretraining import by_updates, drawn
from benchmarks.reproduce.recipes import coefficients
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from benchmarks.reproduce.word_features import DESCRIPTIONS, Described, cut, fresh_bert, pieces_of_bert
from course_lib import hub
from course_lib.data import Splits
from course_lib.tokenizers.batching import pad
from course_lib.transformer.bert import BERT
from course_lib.transformer.task_heads import TokenClassifier

SIZES = (10, 50, 200, 1000)                                          # tagged sentences
UNASKED = -100                                                       # a place without a tag: cross_entropy leaves it out


class Parts(NamedTuple):
    """Sentences of words and tags; the tags in order; and how an arm describes the words of sentences, made when first asked for."""

    train: list[Tagged]
    valid: list[Tagged]
    test: list[Tagged]
    tags: list[str]
    describe: Callable[[str], Callable[[list[Tagged]], Described]]
    info: dict[str, Any]


def parts_of(splits: Splits) -> Parts:
    train, valid, test = (tagging.parsed(getattr(splits, part)) for part in ("train", "valid", "test"))
    tags = sorted({tag for sentence in train for tag in sentence.tags})
    kept: dict[tuple[str, int], Described] = {}

    @cache
    def describe(name: str) -> Callable[[list[Tagged]], Described]:
        described = DESCRIPTIONS[name](train)

        def of(sentences: list[Tagged]) -> Described:
            if len(sentences) <= max(SIZES):
                return described(sentences)
            key = name, id(sentences)                                # valid and test: the same for every seed
            if key not in kept:
                kept[key] = described(sentences)
            return kept[key]
        return of

    return Parts(train, valid, test, tags, describe, splits.info)


def words_in(sentences: list[Tagged]) -> list[str]:
    """In lower case, one sentence after the other."""
    return [word.lower() for sentence in sentences for word in sentence.words]


def tags_in(sentences: list[Tagged], tags: list[str]) -> Int[np.ndarray, "..."]:
    return np.array([tags.index(tag) if tag in tags else -1 for sentence in sentences for tag in sentence.tags])


# --- the models ------------------------------------------------------------------------------------------------------


class Tagger(nn.Module):
    """Says the tag of every word of sentences; `seen` are the words of its tagged sentences."""

    def __init__(self, parts: Parts, own: list[Tagged]):
        super().__init__()
        self.parts, self.seen = parts, set(words_in(own))

    def told(self, sentences: list[Tagged]) -> Int[np.ndarray, "..."]:
        raise NotImplementedError


class Commonest(Tagger):
    """The tag that a word has most often; of a new word, the commonest tag of all."""

    def __init__(self, parts: Parts, own: list[Tagged]):
        super().__init__(parts, own)
        pairs = Counter(zip(words_in(own), tags_in(own, parts.tags).tolist()))
        self.words = sorted(self.seen)
        self.counts = nn.Parameter(torch.zeros(len(self.words), len(parts.tags)), requires_grad=False)
        for (word, tag), times in pairs.items():
            self.counts[self.words.index(word), tag] = times

    def told(self, sentences: list[Tagged]) -> Int[np.ndarray, "..."]:
        every = self.counts.sum(dim=0)
        best = dict(zip(self.words, (self.counts + 1e-3 * every / every.sum()).argmax(dim=1).tolist()))
        return np.array([best.get(word, int(every.argmax())) for word in words_in(sentences)])


class Probe(Tagger):
    r"""$p(y \mid w) = \mathrm{softmax}(W f(w) + b)$ of a description f that stays as it is."""

    def __init__(self, parts: Parts, own: list[Tagged], describe: str, C: float):
        super().__init__(parts, own)
        self.describe = parts.describe(describe)
        x, y = self.describe(own), tags_in(own, parts.tags)
        self.columns = np.unique(x.nonzero()[1]) if sparse.issparse(x) else np.arange(x.shape[1])
        dense = not sparse.issparse(x)
        self.mean, self.scale = (x.mean(axis=0), x.std(axis=0) + 1e-6) if dense else (0.0, 1.0)
        found = LogisticRegression(C=C, max_iter=200, tol=1e-3).fit(self.of(x), y)
        self.classes = found.classes_
        self.weight, self.bias = (nn.Parameter(part, requires_grad=False) for part in coefficients(found))

    def of(self, x: Described) -> Described:
        """The columns that the tagged words use; of a network each with mean 0 and deviation 1 over these words."""
        return x[:, self.columns] if sparse.issparse(x) else (x - self.mean) / self.scale

    def told(self, sentences: list[Tagged]) -> Int[np.ndarray, "..."]:
        scores = self.of(self.describe(sentences)) @ self.weight.numpy().T + self.bias.numpy()
        return self.classes[scores.argmax(axis=1)]


class Tuned(Tagger):
    """A network every weight of which is trained. `rows` gives what it reads, a row a sentence or a part of one, and the tags."""

    def rows(self, sentences: list[Tagged]) -> tuple[Tensor, Int[Tensor, "B W"]]:
        raise NotImplementedError

    def lengths(self, read: Tensor) -> Int[Tensor, "B"]:
        raise NotImplementedError

    def loss(self, batch: tuple[Tensor, Tensor]) -> tuple[Float[Tensor, ""], int]:
        logits, tags = self(batch[0]), batch[1]
        tags = tags[:, :logits.shape[1]]
        return F.cross_entropy(logits.mT, tags, ignore_index=UNASKED), int((tags != UNASKED).sum())

    @torch.no_grad()
    def told(self, sentences: list[Tagged]) -> Int[np.ndarray, "..."]:
        read, tags = self.rows(sentences)
        said = torch.full_like(tags, -1)
        for some in self.lengths(read).argsort().split(100):
            logits = self.eval()(read[some])
            said[some, :logits.shape[1]] = logits.argmax(dim=-1)
        return said[tags != UNASKED].numpy()


class FineTuned(Tuned):
    """A layer on the top vector of a word's first piece."""

    def __init__(self, parts: Parts, own: list[Tagged], bert: BERT):
        super().__init__(parts, own)
        self.pad_id = pieces_of_bert().vocabulary.pad_id
        kept = BERT(replace(bert.config, dropout=0.1))               # few labels: what was read without dropping is tuned with it
        kept.load_state_dict(bert.state_dict())
        self.whole = TokenClassifier(kept, len(parts.tags))

    def rows(self, sentences: list[Tagged]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        """Tokens, and the tag of each word at its first piece."""
        tokens, tags = [], []
        for sentence in sentences:
            rest = tags_in([sentence], self.parts.tags)
            for piece in cut(sentence, pieces_of_bert()):
                first = F.pad(piece.word[1:] != piece.word[:-1], (1, 0)) & (piece.word >= 0)
                place = torch.full_like(piece.tokens, UNASKED)
                place[first] = torch.from_numpy(rest[:int(first.sum())])
                rest = rest[int(first.sum()):]
                tokens.append(piece.tokens)
                tags.append(place)
        return pad(tokens, self.pad_id)[0], pad(tags, UNASKED)[0]

    def lengths(self, read: Int[Tensor, "B T"]) -> Int[Tensor, "B"]:
        return (read != self.pad_id).sum(dim=1)

    def forward(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        tokens = tokens[:, :int(self.lengths(tokens).max())]
        return self.whole(tokens, mask=tokens != self.pad_id)


# --- how they come about ---------------------------------------------------------------------------------------------


def own_sentences(parts: Parts, labels: int, seed: int) -> list[Tagged]:
    """The tagged sentences of a seed: the same for every arm."""
    return [parts.train[i] for i in drawn(len(parts.train), labels, 2000 + seed).tolist()]


STARTS: dict[str, Callable[[int], BERT]] = {                         # of a network whose every weight is trained
    "untrained": lambda seed: fresh_bert(vectors=False, seed=seed),
    "before its first update": lambda seed: fresh_bert(vectors=True, seed=seed),
    "pre-trained": lambda seed: hub.load(bert_english.WEIGHTS),
}


def by_fitting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A tagger a seed that is found at once, by counting or to the optimum."""
    settings = dict(settings)
    labels, seeds = settings.pop("labels"), settings.pop("seeds")
    models = Repeats(row.model(job.splits, own_sentences(job.splits, labels, seed), **settings) for seed in range(seeds))
    return Trained(models)


def by_fine_tuning(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A tagger a seed: every weight by AdamW, from one of `STARTS`."""
    settings = dict(settings)
    labels, seeds, start = (settings.pop(key) for key in ("labels", "seeds", "start"))
    seconds, models = 0.0, Repeats()
    for seed in range(seeds):
        own, bert = own_sentences(job.splits, labels, seed), STARTS[start](seed)
        torch.manual_seed(1000 + seed)
        model = row.model(job.splits, own, bert)
        path = job.checkpoints / f"{name}-{settings['lr']}-{seed}.safetensors"
        seconds += by_updates(model, model.rows(own), settings, 3000 + seed, job, path)
        models.append(model)
    return Trained(models, seconds)


def tags_right(models: Repeats, part: list[Tagged]) -> dict[str, Any]:
    """Per cent of words with the right tag: mean and standard error over seeds; the same of words that no tagged sentence had."""
    every, new, shares = [], [], []
    words = words_in(part)
    for model in models.eval():
        right = model.told(part) == tags_in(part, model.parts.tags)
        unseen = np.array([word not in model.seen for word in words])
        every.append(100 * right.mean().item())
        new.append(100 * right[unseen].mean().item() if unseen.any() else math.nan)
        shares.append(100 * unseen.mean().item())
    unseen = {**of_seeds(new, len(words)), "share": round(statistics.mean(shares), 1)}
    return {**of_seeds(every, len(words)), "unseen": unseen}


# --- the table -------------------------------------------------------------------------------------------------------

TUNING = {"batch_size": 16, "schedule": "linear", "warmup": 20, "weight_decay": 0.01, "clip": 1.0, "progress": False}
UPDATES = {10: 150, 50: 200, 200: 300, 1000: 500}
PENALTIES = {"hand features": (1.0, 10.0, 100.0), "hand features and ELMo": (0.01, 0.1, 1.0)}


def probe(name: str, labels: int, label: str | None = None) -> Row:
    """A row of frozen vectors: whatever DESCRIPTIONS names, a network of another chapter too."""
    return Row(f"{label or name}, {labels:,} sentences", Probe, by_fitting, {}, {"labels": labels, "describe": name, "seeds": 1},
               over("C", PENALTIES.get(name, (0.01, 0.1, 1.0))), tags_right, final={"seeds": 5})


def tuned(start: str, labels: int) -> Row:
    return Row(f"fine-tuned, {start}, {labels:,} sentences", FineTuned, by_fine_tuning, {},
               {**TUNING, "updates": UPDATES[labels], "labels": labels, "start": start, "seeds": 1},
               over("lr", (3e-4, 1e-3, 3e-3)), tags_right, final={"seeds": 5})


def frozen(labels: int) -> tuple[Row, ...]:
    return (Row(f"commonest tag of the word, {labels:,} sentences", Commonest, by_fitting, {}, {"labels": labels, "seeds": 5},
                measure=tags_right),
            probe("hand features", labels), probe("word vectors", labels),
            probe("BERT, untrained", labels, "frozen, untrained"),
            probe("BERT before its first update", labels, "frozen, before its first update"),
            probe("BERT", labels, "frozen, pre-trained"))


NOTE = ("Universal tags of UD English EWT, words in lower case, from few tagged sentences. Mean ± standard error over five seeds, "
        "each with its own sentences; what is chosen, is chosen on dev by the first seed. The network read the training "
        "sentences, those of all seeds, without their tags; none of dev or test. ")
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("bert-ewt", "ud_english_ewt", tuple(row for labels in SIZES for row in frozen(labels)), draw=tagging.draw, prepare=parts_of,
        unit="% of tags right", best=max,
        note=NOTE + "Frozen: logistic regression on all layers of the network, the mean over the pieces of a word. Hand features: "
             "the word, its last one to three letters, both neighbours. Word vectors: the stored ones, of the word and both "
             "neighbours. Before its first update, BERT has the embeddings that it starts from and untrained layers."),
    Run("elmo-ewt", "ud_english_ewt", tuple(probe(name, labels, label) for labels in SIZES for name, label in (
        ("ELMo, untrained", "frozen, untrained"), ("ELMo", "frozen, trained"), ("hand features and ELMo", None))),
        draw=tagging.draw, prepare=parts_of, unit="% of tags right", best=max,
        note=NOTE + "Logistic regression on all layers of the two language models of chapter Fill the gap, the mean over the pieces of a "
             "word; the last rows have the hand features of bert-ewt beside them, where the simple rules are too."),
    Run("bert-ewt-tuned", "ud_english_ewt", tuple(tuned(start, labels) for labels in SIZES for start in STARTS),
        draw=tagging.draw, prepare=parts_of, unit="% of tags right", best=max,
        note=NOTE +
             "A layer on the top vector of a word's first piece, every weight trained: the same updates and the same "
             "rates to choose from for every start. Frozen vectors and the simple rules are in the run bert-ewt."),
)}
