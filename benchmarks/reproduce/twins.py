"""A run on stories of a grammar: two networks of one size, of which one reads the left side of a word and one both sides."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce import denoising
from benchmarks.reproduce.denoising import (
    INFO,
    MASK,
    SPECIAL,
    Part,
    causal,
    coded,
    labelled,
    masked,
    states,
    told,
    train_by,
)
from benchmarks.reproduce.pretraining import per_cent_right
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, of_items, over
from course_lib.data import Splits
from course_lib.transformer import GPT

STARTS = {"GPT": causal, "BERT": partial(masked, rate=0.3)}
PLACES = {"places 1 to 3": slice(1, 4), "places 4 to 7": slice(4, 8), "places 8 to 13": slice(8, 14)}     # [CLS] has place 0
LABELS, PENALTIES = 8, (0.1, 1, 10, 100)


class Asked(NamedTuple):
    """Whole stories, each of whose words is to be told, and single sentences with their subject."""

    stories: Part
    sentences: Part


@cache
def draw() -> Splits:
    """The texts of objectives-stories, and 200 and 400 new stories of two sentences before its single sentences."""
    known = denoising.draw()
    return Splits("toy_stories", known.train, told(200, 96, 2) + known.valid, told(400, 97, 2) + known.test, info=INFO)


def as_tokens(splits: Splits) -> Parts:
    def asked(lines: list[str]) -> Asked:
        whole = [line for line in lines if line.count(".") == 2]
        return Asked(coded(whole), coded(lines[len(whole):]))

    return Parts(coded(splits.train), asked(splits.valid), asked(splits.test), splits.info)


class Twin(nn.Module):
    """A trained network, and a logistic regression from the mean of its top vectors to the subject of a sentence."""

    def __init__(self, model: nn.Module, few: Part):
        super().__init__()
        self.model, self.few, self.subjects = model, few, LogisticRegression()

    def label(self, C: float) -> Twin:
        """Fitted anew, with the penalty 1 / C."""
        self.subjects = LogisticRegression(C=C, max_iter=1000).fit(mean_vectors(self.model, self.few), self.few.subject.numpy())
        return self

    def subjects_right(self, part: Part) -> float:
        """Per cent."""
        return per_cent_right(torch.tensor(self.subjects.predict(mean_vectors(self.model, part))), part.subject)


@torch.no_grad()
def mean_vectors(model: nn.Module, part: Part) -> Float[Tensor, "N D"]:
    """Of all that stands in a sentence, its signs too."""
    real = part.real[..., None]
    return (states(model, part.tokens, part.real) * real).sum(dim=1) / real.sum(dim=1)


def by_reading(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A network a seed. The penalty is chosen on the validation sentences by the first one."""
    twins, train = Repeats(), job.splits.train
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        model, loss = STARTS[settings["reader"]](train, seed)
        train_by(model, loss, len(train.tokens), settings["updates"], settings["lr"], seed)
        twins.append(Twin(model.eval(), labelled(LABELS, seed)))
    C = max(PENALTIES, key=lambda C: twins[0].label(C).subjects_right(job.splits.valid.sentences))
    for twin in twins:
        twin.label(C)
    return Trained(twins)


@torch.no_grad()
def nats_by_word(model: nn.Module, part: Part) -> Float[Tensor, "N T"]:
    """Minus ln p of the token at each place, 0 at the first: from what stands before it, or from all else, it alone hidden."""
    tokens, real = part.tokens, part.real
    if isinstance(model, GPT):
        return F.pad(F.cross_entropy(model(tokens[:, :-1], real[:, :-1]).mT, tokens[:, 1:], reduction="none"), (1, 0))
    alone = [model.pretraining_logits(tokens.index_fill(1, torch.tensor([t]), MASK), torch.zeros_like(tokens), real)[0][:, t]
             for t in range(1, tokens.shape[1])]
    return F.pad(F.cross_entropy(torch.stack(alone, dim=2), tokens[:, 1:], reduction="none"), (1, 0))


def words_of(part: Part) -> Bool[Tensor, "N T"]:
    """Where a word stands: no sign, no full stop."""
    return part.real & (part.tokens >= len(SPECIAL))


def nats_and_subjects(twins: Repeats, part: Asked) -> dict[str, Any]:
    """Nats a word: the mean over seeds, its standard error over seeds, and each; the same by place; subjects told right."""
    there, nats = words_of(part.stories), [nats_by_word(twin.model, part.stories) for twin in twins.eval()]

    def of(some: slice) -> dict[str, Any]:
        return of_seeds([each[:, some][there[:, some]].mean().item() for each in nats], int(there[:, some].sum()),
                        digits=4)

    return {**of(slice(None)), "by place": {name: of(some) for name, some in PLACES.items()},
            "subjects": of_seeds([twin.subjects_right(part.sentences) for twin in twins], len(part.sentences.subject))}


class Often(nn.Module):
    """How often each word occurs, and nothing else; words counted tell the subject."""

    def __init__(self, train: Part):
        super().__init__()
        counts = train.tokens[words_of(train)].bincount(minlength=len(denoising.symbols())).double()
        self.log_p = nn.Parameter((counts / counts.sum()).log(), requires_grad=False)


def by_counting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    return Trained(Often(job.splits.train))


def nats_counted(model: Often, part: Asked) -> dict[str, Any]:
    """The same by counts; the standard error is over words."""
    there, nats = words_of(part.stories), -model.log_p[part.stories.tokens]
    each = nats[there]
    return of_items(each) | {"by place": {name: {"mean": round(nats[:, some][there[:, some]].mean().item(), 4)}
                                          for name, some in PLACES.items()}}


RATES = over("lr", (4e-3, 8e-3, 1.6e-2))
UPDATES, SEEDS = 550, 3
RUNS: dict[str, Run] = {"twins-stories": Run(
    "twins-stories", "toy_stories", (
        Row("words counted", Often, by_counting, measure=nats_counted),
        *(Row(reader, Twin, by_reading, {}, {"reader": reader, "updates": UPDATES, "seeds": SEEDS}, RATES, nats_and_subjects)
          for reader in STARTS)),
    prepare=as_tokens, draw=draw, unit="nats a word",
    note=f"Two layers of width 32 each, trained on the 3,000 stories of objectives-stories for {UPDATES} updates of 64. GPT tells every "
         "word from those before it; BERT learns with 30 % of the words hidden, and is asked for one word at a time, which is hidden "
         "alone. Neither is told which sentences belong together. The best of three rates for each, by other stories and all seeds. "
         f"Mean ± standard error over {SEEDS} seeds. The record has the nats by place too, and the share of 1,000 subjects that a "
         f"logistic regression on mean vectors tells right after {LABELS} labels, other ones for each seed.")}
