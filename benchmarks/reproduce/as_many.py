"""A run on a task of counting: after some a, as many b."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.recipes import minimize
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, over, own
from course_lib.data import Splits
from course_lib.recurrent import Recurrent

END, A, B = range(3)                                                 # the end of a word is the start of the next
SEEN, VALID, TEST = range(1, 11), range(11, 31), range(31, 61)       # the numbers of a
LIMIT = 200                                                          # up to here the first mistake is looked for
NETWORKS = {"RNN": {"cell": "rnn"}, "LSTM": {"cell": "lstm", "forget_bias": 1.0}, "GRU": {"cell": "gru"}}


class Reader(nn.Module):
    """Recurrent layers over one-hot symbols, and the scores of what is said after each."""

    def __init__(self, symbols: int, said: int, hidden: int, **cell: Any):
        super().__init__()
        self.layers, self.out = Recurrent(inputs=symbols, hidden=hidden, **cell), nn.Linear(hidden, said)

    def forward(self, read: Int[Tensor, "N T"]) -> Float[Tensor, "N T V"]:
        h, _ = self.layers(F.one_hot(read, self.layers.inputs).to(self.out.weight.dtype))
        return self.out(h)


def each_seed(row: Row, settings: dict[str, Any], task: Callable[[nn.Module, int], dict[str, Any]]) -> Trained:
    """A network for each seed, by Adam on the loss of `task(model, seed)`; the rate falls to 0 over the second half."""
    models, updates = Repeats(), settings["updates"]
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        models.append(row.model(**row.arguments))
        minimize(models[-1], updates=updates, lr=settings["lr"], share=lambda update: min(1.0, 2 - 2 * update / updates),
                 kind=torch.optim.Adam, clip=settings["clip"], **task(models[-1], seed))
    return Trained(models)


def draw() -> Splits:
    """All words of each part: nothing is drawn."""
    return Splits("as_many", *(["a" * n + "b" * n for n in part] for part in (SEEN, VALID, TEST)), info=own(
        "n letters a, then n letters b. To train on: n from 1 to 10; to validate: 11 to 30; to test: 31 to 60.",
        "a task of this course, benchmarks.reproduce.as_many", "MIT, as the code that writes it"))


def as_numbers(splits: Splits) -> Parts:
    """The numbers of a of each part's words."""
    return Parts(*([len(word) // 2 for word in part] for part in (splits.train, splits.valid, splits.test)), splits.info)


def words(counts: list[int]) -> Int[Tensor, "N T"]:
    """A row for each n: the sign, n letters a, n letters b, the sign; filled up with signs."""
    rows = torch.full((len(counts), 2 * max(counts) + 2), END)
    for row, n in zip(rows, counts):
        row[1:n + 1], row[n + 1:2 * n + 1] = A, B
    return rows


def counter(**size: Any) -> Reader:
    """Reads a word letter by letter and says the next one."""
    return Reader(3, 3, **size)


class Bigram(nn.Module):
    """Says what most often followed the last letter."""

    def __init__(self):
        super().__init__()
        self.times = nn.Parameter(torch.zeros(3, 3), requires_grad=False)        # [last, next]

    def forward(self, read: Int[Tensor, "N T"]) -> Float[Tensor, "N T V"]:
        return self.times[read]


def by_rule(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The pairs of neighbours in the training words, counted."""
    model = row.model(**row.arguments)
    for n in job.splits.train:
        (word,) = words([n])
        model.times.index_put_((word[:-1], word[1:]), torch.ones(()), accumulate=True)
    return Trained(Repeats([model]))


def by_updates(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Adam, all training words at every update. The loss is that of a language model."""
    return each_seed(row, settings, lambda model, seed: {"loss": counting(model, job.splits.train)})


def counting(model: Reader, train: list[int]):
    """Every letter is predicted, and the sign at the end."""
    read = words(train)
    told = read[:, 1:].clone()
    told[:, 1:][(read[:, 1:-1] == END)] = -100                       # behind the end
    return lambda update: F.cross_entropy(model(read[:, :-1]).flatten(0, 1), told.flatten())


@torch.no_grad()
def right(model: nn.Module, counts: list[int]) -> Tensor:
    """(N,), boolean: of the word with each count, every letter that is certain is said: from a b on, up to the sign at the end."""
    read = words(counts)
    said = model(read[:, :-1]).argmax(dim=2)
    return ((said == read[:, 1:]) | (read[:, :-1] != B)).all(dim=1)


def furthest(model: nn.Module, limit: int) -> int:
    """The largest n up to which every word is right, at most `limit`."""
    return int(right(model, list(range(1, limit + 1))).int().cumprod(0).sum())


def up_to(models: Repeats, part: list[int]) -> dict[str, Any]:
    """How far each seed counts, at most to the largest n of the part: tells rates apart where hardly a whole word is right."""
    return of_seeds([float(furthest(model, max(part))) for model in models], 1)


def words_right(models: Repeats, part: list[int]) -> dict[str, Any]:
    """Percent of words that are right, over the letters that are certain: the mean over seeds, its standard error, and each.

    seen      percent of the training words that each seed has right
    furthest  the largest n of each seed up to which it has every word right, at most LIMIT
    """
    found = of_seeds([100 * right(model, part).double().mean().item() for model in models], len(part))
    return found | {"seen": [round(100 * right(model, list(SEEN)).double().mean().item()) for model in models],
                    "furthest": [furthest(model, LIMIT) for model in models]}


COUNTED = {"updates": 4000, "clip": 1.0, "seeds": 3}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("as-many", "as_many", (
        Row("bigram", Bigram, by_rule, measure=words_right),
        *(Row(f"{name}, {units} units", counter, by_updates, {"hidden": units, **cell}, COUNTED, over("lr", (0.01, 0.03, 0.1, 0.3)),
              words_right, choose=up_to) for name, cell in NETWORKS.items() for units in (4, 16))),
        prepare=as_numbers, draw=draw, unit="% right", best=max,
        note="n letters a, then n letters b: the share of words in which every letter from the second b to the sign at the end is "
             "told from those before it. Trained on n from 1 to 10, tested on 31 to 60; of four rates the one with which "
             "a network counts furthest, looked at up to n = 30. 4,000 updates. Mean ± standard error over three seeds."),
)}
