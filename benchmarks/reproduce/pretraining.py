"""A run of BERT: filling in hidden words of sentences at hand, then a task with few labels; beside it no pre-training, and counts of words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from course_lib import data
from course_lib.data import Splits
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.training.batches import POOL
from course_lib.transformer.bert import BERT, BERTConfig, PretrainingBatch, mask_tokens
from course_lib.transformer.segments import join_segments
from course_lib.transformer.task_heads import SequenceClassifier

PIECES, WINDOW = 4000, 84                                            # symbols; the longest input, in tokens
HELD_OUT = 500                                                       # labelled sentences by which a rate is chosen
PAD, MASK, SPECIAL = 0, 4, 5                                         # [PAD] [UNK] [CLS] [SEP] [MASK] come first


class Sentences(NamedTuple):
    tokens: Integer[Tensor, "B T"]                                   # [CLS] ... [SEP], filled up
    labels: Integer[Tensor, "B"]


class Task(NamedTuple):
    """Train and valid are parts of the training set, test is the development set; text is what is read without labels."""

    train: Sentences
    valid: Sentences
    test: Sentences
    text: Integer[Tensor, "S T"]
    info: dict[str, Any]


def letters(text: str) -> str:
    """By which two sentences are the same: case, spaces and signs do not count."""
    return "".join(c for c in text.lower() if c.isalnum())


def without(texts: Iterable[str], banned: Iterable[str]) -> list[int]:
    """Which of `texts` to keep: each sentence once, and none of `banned`."""
    seen, kept = {letters(text) for text in banned}, []
    for i, text in enumerate(texts):
        if letters(text) not in seen:
            seen.add(letters(text))
            kept.append(i)
    return kept


def task(splits: Splits, development: tuple[str, ...]) -> Task:
    """The labelled sentences of one set, and the unlabelled ones of SST-2, CoLA and the captions.

    Neither holds a sentence of the development and test sets of SST-2 and CoLA.
    """
    sets = {name: splits if splits.name == name else data.load_data(name) for name in ("sst2", "cola")}
    captions = [english for _, english in data.load_data("multi30k", source="de", target="en").train]
    banned = [text for one in sets.values() for part in (one.valid, one.test) for text in part]
    unlabelled = [*sets["sst2"].train, *sets["cola"].train, *captions]
    tokenizer, text = numbered(tuple(unlabelled[i] for i in without(unlabelled, banned)), PIECES)

    kept = torch.tensor(without(splits.train, banned))
    kept = kept[torch.randperm(len(kept), generator=torch.Generator().manual_seed(0))]
    parts = [labelled([splits.train[i] for i in rows], splits.labels["train"][rows], tokenizer)
             for rows in (kept[HELD_OUT:], kept[:HELD_OUT])]
    test = labelled([text for part in development for text in getattr(splits, part)],
                    torch.cat([splits.labels[part] for part in development]), tokenizer)
    return Task(*parts, test, text, {**splits.info, "tokenizer": tokenizer.config})


@lru_cache(maxsize=1)                                                # both tasks read the same, and it takes half a minute
def numbered(texts: tuple[str, ...], pieces: int) -> tuple[WordPieceTokenizer, Integer[Tensor, "S T"]]:
    """Word pieces learnt from the texts, and the texts in them."""
    tokenizer = WordPieceTokenizer.fit("\n".join(texts), pieces)
    return tokenizer, rectangle(texts, tokenizer)


def labelled(texts: Sequence[str], labels: Integer[Tensor, "B"], tokenizer: WordPieceTokenizer) -> Sentences:
    return Sentences(rectangle(texts, tokenizer), labels)


def rectangle(texts: Sequence[str], tokenizer: WordPieceTokenizer) -> Integer[Tensor, "B T"]:
    """[CLS] ... [SEP] in each row; what reaches past the window is cut off."""
    cls, sep = tokenizer.vocabulary.bos_id, tokenizer.vocabulary.eos_id
    return pad([join_segments(tokenizer.encode(text)[:WINDOW - 2], None, cls, sep)[0] for text in texts], PAD)[0]


def trimmed(tokens: Integer[Tensor, "B T"]) -> Integer[Tensor, "B L"]:
    """Without the columns that hold filling only."""
    return tokens[:, :int((tokens != PAD).sum(dim=1).max())]


# --- two stages ------------------------------------------------------------------------------------------------------


class HiddenWords(nn.Module):
    """A BERT that is asked for other words of a sentence each time it meets it, for each with probability `rate`."""

    def __init__(self, bert: BERT, rate: float = 0.15):
        super().__init__()
        self.bert, self.rate = bert, rate

    def loss(self, tokens: Integer[Tensor, "B T"]) -> tuple[Float[Tensor, ""], int]:
        tokens = trimmed(tokens)
        real = tokens != PAD
        read, chosen = mask_tokens(tokens, MASK, self.bert.config.vocab_size, range(SPECIAL), real, self.rate)
        return self.bert.loss(PretrainingBatch(read, torch.zeros_like(tokens), real, chosen, tokens))


class Classifier(nn.Module):
    """The class of a sentence from its [CLS]."""

    def __init__(self, **size: int | float):
        super().__init__()
        self.whole = SequenceClassifier(BERT(BERTConfig(PIECES, WINDOW, **size)), classes=2)

    def forward(self, tokens: Integer[Tensor, "B T"]) -> Float[Tensor, "B 2"]:
        tokens = trimmed(tokens)
        return self.whole(tokens, mask=tokens != PAD)

    def loss(self, batch: tuple[Tensor, Tensor]) -> Float[Tensor, ""]:
        return F.cross_entropy(self(batch[0]), batch[1])


def drawn(rows: int, wanted: int, seed: int) -> Integer[Tensor, "n"]:
    """`wanted` rows: all of them in random order, again and again."""
    generator = torch.Generator().manual_seed(seed)
    return torch.cat([torch.randperm(rows, generator=generator) for _ in range(math.ceil(wanted / rows))])[:wanted]


def by_updates(model: nn.Module, parts: tuple[Tensor, ...], settings: dict[str, Any], seed: int, job: Job, path: Path) -> float:
    """So many updates, whatever there is to read: `updates` batches in one pass. The seconds, where not counted before.

    Sentences of like length share a batch, unless there are so few of them that it would be the same one many times.
    """
    settings = dict(settings)
    rows = drawn(len(parts[0]), settings.pop("updates") * settings["batch_size"], seed)
    lengths = (parts[0][rows] != PAD).sum(dim=1) if len(parts[0]) >= POOL * settings["batch_size"] else None
    parts = tuple(part[rows] for part in parts)
    history = fit(model, parts if len(parts) > 1 else parts[0], epochs=1, seed=seed, checkpoint_every=500, lengths=lengths,
                  checkpoint=path, **settings)
    new = path not in job.counted
    job.counted.add(path)
    return sum(history.seconds) if new else 0.0


def pretrained(job: Job, size: dict[str, Any], settings: dict[str, Any]) -> tuple[BERT, float]:
    """A BERT that has read the text, and the seconds. It is kept beside the runs, so that all rows start from the same."""
    torch.manual_seed(job.seed)
    model = HiddenWords(BERT(BERTConfig(PIECES, WINDOW, **size)).to(job.device))
    seconds = by_updates(model, (job.splits.text,), settings, job.seed, job,
                         job.checkpoints.parent / "masked-language-model.safetensors")
    return model.bert, seconds


def by_fine_tuning(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A classifier a seed, each from labels of its own: `labels` of the training sentences, all if None.

    Where `pretraining` is None the weights are fresh; else those of BERT are the pre-trained ones, and the head and the
    order of the batches are what they are without.
    """
    settings = dict(settings)
    first, labels, seeds = (settings.pop(key) for key in ("pretraining", "labels", "seeds"))
    start, seconds = pretrained(job, row.arguments, first) if first else (None, 0.0)
    models, train = Repeats(), job.splits.train
    for seed in range(seeds):
        torch.manual_seed(1000 + seed)
        model = row.model(**row.arguments).to(job.device)
        if start is not None:
            model.whole.bert.load_state_dict(start.state_dict())
        chosen = drawn(len(train.labels), labels or len(train.labels), 2000 + seed)
        seconds += by_updates(model, (train.tokens[chosen], train.labels[chosen]), settings, 3000 + seed, job,
                              job.checkpoints / f"{name}-{seed}.safetensors")
        models.append(model)
    return Trained(models, seconds)


# --- the same sentences as counts of their words --------------------------------------------------------------------


class BagOfWords(nn.Module):
    r"""$p(y \mid x) = \mathrm{softmax}(W t(x) + b)$, where $t(x) \propto$ counts times inverse document frequencies.

    Which word pieces occur and how often; their order is lost. Two classes, one of which has the score 0.
    """

    def __init__(self, pieces: int = 0):
        super().__init__()
        pieces = pieces or PIECES
        self.register_buffer("frequency", torch.ones(pieces))        # ln((1 + sentences) / (1 + those with it)) + 1
        self.linear = nn.Linear(pieces, 1)

    def forward(self, tokens: Integer[Tensor, "B T"]) -> Float[Tensor, "B 2"]:
        weighed = F.normalize(counted(tokens, len(self.frequency)) * self.frequency, dim=1)
        score = self.linear(weighed)                                 # (B, 1)
        return torch.cat([torch.zeros_like(score), score], dim=1)


def counted(tokens: Integer[Tensor, "B T"], pieces: int) -> Float[Tensor, "B V"]:
    """How often each word piece occurs in each row; special tokens and filling do not count."""
    counts = torch.zeros(len(tokens), pieces)
    counts.scatter_add_(1, tokens, torch.ones_like(tokens, dtype=counts.dtype))
    counts[:, :SPECIAL] = 0
    return counts


def by_weighing(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Logistic regression with a penalty, to its optimum, a model a seed: on the labels that BERT gets with this seed."""
    models, train = Repeats(), job.splits.train
    for seed in range(settings["seeds"]):
        model = row.model(**row.arguments)
        chosen = drawn(len(train.labels), settings["labels"] or len(train.labels), 2000 + seed)
        counts = counted(train.tokens[chosen], len(model.frequency)).double().numpy()
        weights = TfidfTransformer().fit(counts)
        found = LogisticRegression(C=settings["C"], max_iter=2000).fit(weights.transform(counts), train.labels[chosen].numpy())
        with torch.no_grad():
            model.frequency.copy_(torch.from_numpy(weights.idf_))
            model.linear.weight.copy_(torch.from_numpy(found.coef_))
            model.linear.bias.copy_(torch.from_numpy(found.intercept_))
        models.append(model)
    return Trained(models)


@torch.no_grad()
def over_sentences(models: Repeats, part: Sentences) -> dict[str, Any]:
    """The share that the one model tells right, in percent, and its standard error over the sentences."""
    (model,) = models
    p = (model(part.tokens).argmax(dim=1) == part.labels).double().mean().item()
    return {"mean": round(100 * p, 2), "standard_error": round(100 * math.sqrt(p * (1 - p) / len(part.labels)), 2),
            "over": len(part.labels)}


# --- what is measured ------------------------------------------------------------------------------------------------


def per_cent_right(told: Integer[Tensor, "B"], labels: Integer[Tensor, "B"]) -> float:
    return 100 * (told == labels).double().mean().item()


@torch.no_grad()
def over_seeds(models: Repeats, part: Sentences, score: Callable[[Tensor, Tensor], float]) -> dict[str, Any]:
    """The mean of a score over seeds, its standard error over seeds, the sentences, and each seed's own."""
    each = []
    for model in models.eval():
        device = next(model.parameters()).device
        told = torch.cat([model(tokens.to(device)).argmax(dim=1).cpu() for tokens in part.tokens.split(100)])
        each.append(score(told, part.labels))
    return of_seeds(each, len(part.labels))


# --- the table -------------------------------------------------------------------------------------------------------

SIZE = {"layers": 2, "heads": 4, "d_model": 128, "dropout": 0.1}
READING = {"updates": 4500, "batch_size": 64, "lr": 1e-3, "schedule": "linear", "warmup": 200, "weight_decay": 0.01,
           "clip": 1.0}
TUNING = {"batch_size": 16, "schedule": "linear", "warmup": 20, "weight_decay": 0.01, "clip": 1.0}
UPDATES = {100: 80, 1000: 160, None: 500}                          # by labels


def arms(score: Callable[[Tensor, Tensor], float]) -> tuple[Row, ...]:
    """Every number of labels, from pre-trained weights and from scratch: the same updates, rates tried, and seeds."""
    return tuple(
        Row(f"{name}, {f'{labels:,}' if labels else 'all'} labels", Classifier, by_fine_tuning, SIZE,
            {**TUNING, "updates": updates, "labels": labels, "pretraining": first, "seeds": 1},
            over("lr", (3e-4, 1e-3)), partial(over_seeds, score=score), final={"seeds": 3})
        for labels, updates in UPDATES.items() for name, first in (("pre-trained", READING), ("from scratch", None)))


def counting(labels: int | None) -> Row:
    """With all labels nothing is drawn: there is one model, and its error is that over the sentences."""
    several = {"final": {"seeds": 3}} if labels else {}
    return Row(f"words counted, {f'{labels:,}' if labels else 'all'} labels", BagOfWords, by_weighing, {},
               {"labels": labels, "seeds": 1}, over("C", (0.3, 1.0, 3.0, 10.0)),
               partial(over_seeds, score=per_cent_right) if labels else over_sentences, **several)


NOTE = (f"Mean ± standard error over three seeds, each with its own labels, head and order of batches, after one pre-training: "
        f"{READING['updates']:,} batches of {READING['batch_size']} of the training sentences of SST-2 and CoLA and the English "
        "captions of Multi30k, 44,387 in all, none of them in a development or test set. Both ways have the same updates and "
        "the same two rates to choose from, by the first seed, on 500 training sentences that are not among the labels: at 100 "
        "labels, more than there are to learn from. ")
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("bert-sst2", "sst2", arms(per_cent_right), prepare=partial(task, development=("valid",)), unit="% right", best=max,
        note=NOTE + "Measured on the 872 sentences of the development set."),
    Run(
        "bag-of-words-sst2", "sst2", tuple(map(counting, UPDATES)), prepare=partial(task, development=("valid",)),
        unit="% right", best=max,
        note="Words counted: TF-IDF of the word pieces that BERT reads, and logistic regression with a penalty. Mean ± standard error "
             "over three seeds, each with the labels that BERT gets with it; with all labels nothing is drawn, and the error is over "
             "the sentences. The penalty is chosen by the first seed on the same 500 training sentences. Measured on the 872 "
             "sentences of the development set."),
)}
