"""A run on a task of memory: letters that are said again after a wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.figures import of_seeds
from benchmarks.reproduce.as_many import NETWORKS, Reader, each_seed
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over, own
from course_lib.data import Splits

LETTERS, WORD = 4, 2                                                 # a word is two letters of a to d
WAITS = (5, 10, 20)                                                  # steps between the word and its copy


class Drawn(NamedTuple):
    """Words to copy. The recipe draws those that it trains on."""

    valid: Int[Tensor, "N W"]
    test: Int[Tensor, "N W"]
    info: dict[str, Any]


def draw() -> Splits:
    """Words of both parts, from one generator with seed 0."""
    generator = torch.Generator().manual_seed(0)
    valid, test = (["".join("abcd"[i] for i in word) for word in draw_words(num, generator).tolist()] for num in (500, 1000))
    return Splits("copying", [], valid, test, info=own(
        "Words of two letters of four, drawn independently; those to train on are drawn anew.",
        "a task of this course, benchmarks.reproduce.copying"))


def draw_words(num: int, generator: torch.Generator) -> Int[Tensor, "N W"]:
    return torch.randint(LETTERS, (num, WORD), generator=generator)


def as_tokens(splits: Splits) -> Drawn:
    """Letters as numbers."""
    return Drawn(*(torch.tensor([["abcd".index(letter) for letter in word] for word in part])
                   for part in (splits.valid, splits.test)), splits.info)


class Copies(Reader):
    """Reads a word, waits for `wait` steps, and says its letters one after another at as many signs to speak."""

    def __init__(self, wait: int, hidden: int = 32, **cell: Any):
        super().__init__(LETTERS + 2, LETTERS, hidden, **cell)
        self.wait = wait

    def forward(self, told: Int[Tensor, "N W"]) -> Float[Tensor, "N W V"]:
        """Scores of the letters of the copy, of words of W letters."""
        pause, speak = (told.new_full((len(told), num), LETTERS + k) for k, num in enumerate((self.wait, WORD)))
        return super().forward(torch.cat([told, pause, speak], dim=1))[:, -WORD:]


def by_updates(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Adam on rows drawn anew. A seed ends early once its loss stayed low for ten updates."""

    def task(model: Copies, seed: int) -> dict[str, Any]:
        generator, low = torch.Generator().manual_seed(100 + seed), [0]

        def loss(update: int) -> Tensor:
            told = draw_words(settings["batch_size"], generator)
            return F.cross_entropy(model(told).flatten(0, 1), told.flatten())

        def learned(value: float) -> bool:
            low[0] = low[0] + 1 if value < settings["learned"] else 0
            return low[0] == 10

        return {"loss": loss, "after": learned}

    return each_seed(row, settings, task)


@torch.no_grad()
def letters_right(models: Repeats, part: Int[Tensor, "N W"]) -> dict[str, Any]:
    """Percent of letters that are right: the mean over seeds, its standard error over seeds, and each."""
    return of_seeds([100 * (model(part).argmax(dim=2) == part).double().mean().item() for model in models], part.numel())


COPIED = {"updates": 300, "batch_size": 32, "clip": 1.0, "seeds": 3, "learned": 0.02}
OF_COPIES = {"RNN": NETWORKS["RNN"], "LSTM, forget bias 0": {"cell": "lstm", "forget_bias": 0.0},
             "LSTM, forget bias 1": NETWORKS["LSTM"], "GRU": NETWORKS["GRU"]}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("copying", "copying", tuple(
        Row(f"{name}, a wait of {wait}", Copies, by_updates, {"wait": wait, **cell}, COPIED, over("lr", (0.005, 0.015, 0.045, 0.135)),
            letters_right) for wait in WAITS for name, cell in OF_COPIES.items()),
        prepare=as_tokens, draw=draw, unit="% right", best=max,
        note="Two letters of four, a wait, then the same two: the share of letters that are right, 25 % by chance. 32 hidden "
             "units, trained for at most 300 updates of 32 words at each wait; the best of four rates for each row, on "
             "validation. Mean ± standard error over three seeds."),
)}
