"""A run on a task of counting: after some a, as many b."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, over
from course_lib.data import Splits
from course_lib.recurrent import Recurrent

END, A, B = range(3)                                                 # the end of a word is the start of the next
SEEN, VALID, TEST = range(1, 11), range(11, 31), range(31, 61)       # the numbers of a
LIMIT = 200                                                          # up to here the first mistake is looked for
NETWORKS = {"RNN": {"cell": "rnn"}, "LSTM": {"cell": "lstm", "forget_bias": 1.0}, "GRU": {"cell": "gru"}}
INFO = {
    "protocol": "n letters a, then n letters b. To train on: n from 1 to 10; to validate: 11 to 30; to test: 31 to 60.",
    "licence": "MIT, as the code that writes it", "citation": "a task of this course, benchmarks.reproduce.as_many", "key": "",
    "comparable_with_papers": False,
}


def draw() -> Splits:
    """All words of each part: nothing is drawn."""
    return Splits("as_many", *(["a" * n + "b" * n for n in part] for part in (SEEN, VALID, TEST)), info=INFO)


def as_numbers(splits: Splits) -> Parts:
    """The numbers of a of each part's words."""
    return Parts(*([len(word) // 2 for word in part] for part in (splits.train, splits.valid, splits.test)), splits.info)


def words(counts: list[int]) -> Int[Tensor, "N T"]:
    """A row for each n: the sign, n letters a, n letters b, the sign; filled up with signs."""
    rows = torch.full((len(counts), 2 * max(counts) + 2), END)
    for row, n in zip(rows, counts):
        row[1:n + 1], row[n + 1:2 * n + 1] = A, B
    return rows


def certain(read: Int[Tensor, "N T"]) -> Tensor:
    """(N, T - 1), boolean: the next letter is certain. It is once a b was read, up to the sign at the end."""
    return (read == B)[:, :-1]


class Counts(nn.Module):
    """Reads a word letter by letter and says the next one."""

    def __init__(self, hidden: int, **cell: Any):
        super().__init__()
        self.layers, self.out = Recurrent(inputs=3, hidden=hidden, **cell), nn.Linear(hidden, 3)

    def forward(self, read: Int[Tensor, "N T"]) -> Float[Tensor, "N T V"]:
        """Scores of what follows each letter."""
        return self.out(self.layers(F.one_hot(read, 3).to(self.out.weight.dtype))[0])


class Bigram(nn.Module):
    """Says what most often followed the last letter."""

    def __init__(self):
        super().__init__()
        self.times = nn.Parameter(torch.zeros(3, 3), requires_grad=False)        # [last, next]

    def forward(self, read: Int[Tensor, "N T"]) -> Float[Tensor, "N T V"]:
        """Scores of what follows each letter."""
        return self.times[read]


def by_rule(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The pairs of neighbours in the training words, counted."""
    model = row.model(**row.arguments)
    for n in job.splits.train:
        (word,) = words([n])
        model.times.index_put_((word[:-1], word[1:]), torch.ones(()), accumulate=True)
    return Trained(Repeats([model]))


def by_updates(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Adam, all training words at every update; the rate falls to 0 over the second half.

    The loss is that of a language model: every letter is predicted, and the sign at the end.
    """
    models, read = Repeats(), words(job.splits.train)
    told = read[:, 1:].clone()
    told[:, 1:][(read[:, 1:-1] == END)] = -100                       # behind the end
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        model = row.model(**row.arguments)
        optimizer = torch.optim.Adam(model.parameters(), settings["lr"], fused=True)
        for update in range(settings["updates"]):
            optimizer.param_groups[0]["lr"] = settings["lr"] * min(1.0, 2 - 2 * update / settings["updates"])
            loss = F.cross_entropy(model(read[:, :-1]).flatten(0, 1), told.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
            optimizer.step()
        models.append(model)
    return Trained(models)


@torch.no_grad()
def right(model: nn.Module, counts: list[int]) -> Tensor:
    """(N,), boolean: of the word with each count, every letter that is certain is said."""
    read = words(counts)
    said = model(read[:, :-1]).argmax(dim=2)
    return ((said == read[:, 1:]) | ~certain(read)).all(dim=1)


def furthest(model: nn.Module, limit: int) -> int:
    """The largest n up to which every word is right, at most `limit`."""
    return int(right(model, list(range(1, limit + 1))).int().cumprod(0).sum())


def up_to(models: Repeats, part: list[int]) -> dict[str, Any]:
    """How far each seed counts, at most to the largest n of the part: tells rates apart where hardly a whole word is right."""
    return of_seeds([float(furthest(model, max(part))) for model in models], 1)


def percent_right(models: Repeats, part: list[int]) -> dict[str, Any]:
    """Percent of words that are right, over the letters that are certain: the mean over seeds, its standard error, and each.

    seen      percent of the training words that each seed has right
    furthest  the largest n of each seed up to which it has every word right, at most LIMIT
    """
    found = of_seeds([100 * right(model, part).double().mean().item() for model in models], len(part))
    return found | {"seen": [round(100 * right(model, list(SEEN)).double().mean().item()) for model in models],
                    "furthest": [furthest(model, LIMIT) for model in models]}


RATES = over("lr", (0.01, 0.03, 0.1, 0.3))
SETTINGS = {"updates": 4000, "clip": 1.0, "seeds": 3}
SIZES = (4, 16)                                                      # hidden units
RUNS: dict[str, Run] = {"as-many": Run(
    "as-many", "as_many", (
        Row("bigram", Bigram, by_rule, measure=percent_right),
        *(Row(f"{name}, {units} units", Counts, by_updates, {"hidden": units, **cell}, SETTINGS, RATES, percent_right,
              choose=up_to)
          for name, cell in NETWORKS.items() for units in SIZES)),
    prepare=as_numbers, draw=draw, unit="% right", best=max,
    note="n letters a, then n letters b: the share of words in which every letter from the second b to the sign at the end is "
         "told from those before it. Trained on n from 1 to 10, tested on 31 to 60; of four rates the one with which "
         "a network counts furthest, looked at up to n = 30. 4,000 updates. Mean ± standard error over three seeds.")}
