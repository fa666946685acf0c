"""A run on a task of memory: letters that are said again after a wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from course_lib.data import Splits
from course_lib.recurrent import Recurrent

LETTERS, WORD = 4, 2                                                 # a word is two letters of a to d
WAITS = (5, 10, 20)                                                  # steps between the word and its copy
NETWORKS = {"RNN": {"cell": "rnn"}, "LSTM, forget bias 0": {"cell": "lstm", "forget_bias": 0.0},
            "LSTM, forget bias 1": {"cell": "lstm", "forget_bias": 1.0}, "GRU": {"cell": "gru"}}
INFO = {
    "protocol": "Words of two letters of four, drawn independently; those to train on are drawn anew.",
    "licence": "MIT, as the code that draws it", "citation": "a task of this course, benchmarks.reproduce.copying", "key": "",
    "comparable_with_papers": False,
}


class Parts(NamedTuple):
    """Words to copy. The recipe draws those that it trains on."""

    valid: Int[Tensor, "N W"]
    test: Int[Tensor, "N W"]
    info: dict[str, Any]


def draw() -> Splits:
    """Words of both parts, from one generator with seed 0."""
    generator = torch.Generator().manual_seed(0)
    valid, test = (["".join("abcd"[i] for i in word) for word in words(num, generator).tolist()] for num in (500, 1000))
    return Splits("copying", [], valid, test, info=INFO)


def words(num: int, generator: torch.Generator) -> Int[Tensor, "N W"]:
    """Words drawn from all that there are."""
    return torch.randint(LETTERS, (num, WORD), generator=generator)


def as_tokens(splits: Splits) -> Parts:
    """Letters as numbers."""
    valid, test = (torch.tensor([["abcd".index(letter) for letter in word] for word in part])
                   for part in (splits.valid, splits.test))
    return Parts(valid, test, splits.info)


class Copies(nn.Module):
    """Reads a word, waits for `wait` steps, and says its letters one after another at as many signs to speak."""

    def __init__(self, wait: int, hidden: int = 32, **cell: Any):
        super().__init__()
        self.wait = wait
        self.layers, self.out = Recurrent(inputs=LETTERS + 2, hidden=hidden, **cell), nn.Linear(hidden, LETTERS)

    def forward(self, told: Int[Tensor, "N W"]) -> Float[Tensor, "N W V"]:
        """Scores of the letters of the copy, of words of W letters."""
        h, _ = self.layers(F.one_hot(self.read(told), LETTERS + 2).to(self.out.weight.dtype))
        return self.out(h[:, -WORD:])

    def read(self, told: Int[Tensor, "N W"]) -> Int[Tensor, "N T"]:
        """What is read: the words, the wait, the signs to speak."""
        pause, speak = (torch.full((len(told), num), LETTERS + k, device=told.device)
                        for k, num in enumerate((self.wait, WORD)))
        return torch.cat([told, pause, speak], dim=1)


def by_updates(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Adam on rows drawn anew; the rate falls to 0 over the second half. A seed ends early once its loss stays low."""
    models = Repeats()
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        model, generator = row.model(**row.arguments), torch.Generator().manual_seed(100 + seed)
        optimizer, low = torch.optim.Adam(model.parameters(), settings["lr"], fused=True), 0
        for update in range(settings["updates"]):
            optimizer.param_groups[0]["lr"] = settings["lr"] * min(1.0, 2 - 2 * update / settings["updates"])
            told = words(settings["batch_size"], generator)
            loss = F.cross_entropy(model(told).flatten(0, 1), told.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), settings["clip"])
            optimizer.step()
            low = low + 1 if loss < settings["learned"] else 0
            if low == 10:
                break
        models.append(model)
    return Trained(models)


@torch.no_grad()
def percent_right(models: Repeats, part: Int[Tensor, "N W"]) -> dict[str, Any]:
    """Percent of letters that are right: the mean over seeds, its standard error over seeds, and each."""
    right = [(model(part).argmax(dim=2) == part).double() for model in models]
    return of_seeds([100 * each.mean().item() for each in right], part.numel())


RATES = over("lr", (0.005, 0.015, 0.045, 0.135))
SETTINGS = {"updates": 300, "batch_size": 32, "clip": 1.0, "seeds": 3, "learned": 0.02}
RUNS: dict[str, Run] = {"copying": Run(
    "copying", "copying", tuple(
        Row(f"{name}, a wait of {wait}", Copies, by_updates, {"wait": wait, **cell}, SETTINGS, RATES, percent_right)
        for wait in WAITS for name, cell in NETWORKS.items()),
    prepare=as_tokens, draw=draw, unit="% right", best=max,
    note="Two letters of four, a wait, then the same two: the share of letters that are right, 25 % by chance. 32 hidden "
         "units, trained for at most 300 updates of 32 words at each wait; the best of four rates for each row, on "
         "validation. Mean ± standard error over three seeds.")}
