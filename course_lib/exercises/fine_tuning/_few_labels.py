"""A small BERT that has read stories, and few labels: of the first of two sentences, whose words are half of all."""
from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_lib.data.toy_stories import SUBJECTS
from course_lib.transformer.bert import BERT, BERTConfig, PretrainingBatch, mask_tokens

PAD, CLS, SEP, MASK, FIRST = range(5)                        # the first of the words follows the four signs
COUNTS = tuple(len(words.replace(" / ", " ").split()) for words in next(iter(SUBJECTS.values())))
V, CLASSES, WIDTH, WINDOW = FIRST + len(SUBJECTS) * sum(COUNTS), len(SUBJECTS), 32, 2 * len(COUNTS) + 3
TRAIN, VALID, NEW = 48, 60, 400
PRETRAINING = 200                                            # updates


class Classifier(BERT):
    """The library's BERT without its heads and segments, and a linear layer on [CLS]: logits (B, classes) of tokens (B, T)."""

    def __init__(self):
        super().__init__(BERTConfig(V, WINDOW, layers=1, heads=4, d_model=WIDTH, d_ff=2 * WIDTH, dropout=0.0))
        del self.pooler, self.mlm, self.nsp, self.types
        self.types = Untyped(torch.zeros(1, WIDTH))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.states(tokens, mask=tokens != PAD)[-1][:, 0])


class Untyped(NamedTuple):
    """In the place of the segments' table: every token has segment 0, and that adds nothing."""

    weight: Tensor


class Task(NamedTuple):
    """What a call is given, and new sentences with their classes."""

    body: dict[str, Tensor]
    train: tuple[Tensor, Tensor]
    valid: tuple[Tensor, Tensor]
    new: tuple[Tensor, Tensor]


@lru_cache(1)
@torch.enable_grad()
def pretrained() -> dict[str, Tensor]:
    """The weights of an encoder that has filled gaps in stories of two sentences, each pair on one subject."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        bert = BERT(Classifier().config)
    for parameter in bert.parameters():
        parameter.data *= 5 if parameter.dim() == 2 else 1
    bert.types.weight.data.zero_()
    bert.types.requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    subjects = torch.randint(len(SUBJECTS), (4000,), generator=generator)
    stories = sentences(subjects, subjects, listed(), generator)
    optimizer = torch.optim.AdamW(bert.parameters(), betas=(0.9, 0.98))
    for step in range(PRETRAINING):
        optimizer.param_groups[0]["lr"] = 0.01 * min(1, (step + 1) / 30) * (1 - step / PRETRAINING)
        x = stories[torch.randint(len(stories), (64,), generator=generator)]
        read = mask_tokens(x, mask_id=MASK, vocab_size=V, special=range(FIRST), rate=0.2, generator=generator)
        loss, _ = bert.loss(PretrainingBatch(read.tokens, torch.zeros_like(x), x != PAD, read.chosen, x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: one.clone() for name, one in bert.state_dict().items() if not name.startswith(("pooler", "mlm", "nsp", "types"))}


def listed() -> list[Tensor]:
    """The words of each kind as numbers, (subjects, count): persons, verbs, things, places."""
    starts = FIRST + torch.arange(len(SUBJECTS))[:, None] * sum(COUNTS)
    return [starts + sum(COUNTS[:kind]) + torch.arange(count) for kind, count in enumerate(COUNTS)]


def sentences(first: Tensor, second: Tensor, words: list[Tensor], generator: torch.Generator) -> Tensor:
    """[CLS] A [SEP] B [SEP], (N, T): A on the subjects `first` (N,), B on `second`; now and then a word is left out."""
    N, columns, gone = len(first), [torch.full((len(first),), CLS)], [torch.zeros(len(first), dtype=torch.bool)]
    for subject in (first, second):
        left_out = torch.rand(N, len(COUNTS), generator=generator) < 0.25
        left_out[left_out.all(1)] = False
        for kind, of_kind in enumerate(words):
            columns.append(of_kind[subject, torch.randint(of_kind.shape[1], (N,), generator=generator)])
            gone.append(left_out[:, kind])
        columns.append(torch.full((N,), SEP))
        gone.append(torch.zeros(N, dtype=torch.bool))
    tokens, missing = torch.stack(columns, 1), torch.stack(gone, 1)
    order = missing.long().argsort(dim=1, stable=True)
    return tokens.masked_fill(missing, PAD).gather(1, order)


def drawn(generator: torch.Generator) -> Task:
    """Words under new numbers, half of each kind in the labelled sentences and the others in the rest; classes in another order."""
    number = torch.cat([torch.arange(FIRST), FIRST + torch.randperm(V - FIRST, generator=generator)])
    body = {name: one.clone() for name, one in pretrained().items()}
    body["tokens.weight"][number] = pretrained()["tokens.weight"]
    classes = torch.randperm(CLASSES, generator=generator)
    mixed = [row[:, torch.randperm(row.shape[1], generator=generator)] for row in listed()]
    labelled, others = [row[:, :row.shape[1] // 2] for row in mixed], [row[:, row.shape[1] // 2:] for row in mixed]
    found = []
    for count, words in ((TRAIN, labelled), (VALID, others), (NEW, others)):
        first = torch.randint(CLASSES, (count,), generator=generator)
        second = (first + torch.randint(1, CLASSES, (count,), generator=generator)) % CLASSES
        found.append((number[sentences(first, second, words, generator)], classes[first]))
    return Task(body, *found)
