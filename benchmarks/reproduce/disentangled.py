"""A run on DeBERTa's three terms: each switched off in turn, on three tasks of which each asks for another one of them."""

from __future__ import annotations

from functools import cache
from typing import Any, Callable, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.recipes import minimize
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over, own
from course_lib.data import Splits
from course_lib.transformer.denoising import DisentangledAttention
from course_lib.transformer.denoising.deberta import TERMS

T, SYMBOLS, MARKS, NOBODY = 12, 8, 4, -100                           # words of a row; symbols; marks 0..3; no question here
SPAN = 5                                                             # distances told apart: -4 to 4
INFO = own("Rows drawn independently; training goes on with new ones, and the scored ones are apart.",
           "three tasks of this course, benchmarks/reproduce/disentangled.py")


class Asked(NamedTuple):
    """Words of two parts, and the symbol that each place must tell."""

    symbols: Int[Tensor, "N T"]
    marks: Int[Tensor, "N T"]
    answers: Int[Tensor, "N T"]


def asker_says_where(num: int, g: torch.Generator) -> Asked:
    """A word's mark k asks for the symbol k + 1 places before it: what the *asker* is, and a distance."""
    symbols, marks = (torch.randint(high, (num, T), generator=g) for high in (SYMBOLS, MARKS))
    place = torch.arange(T) - marks - 1
    answers = symbols.gather(1, place.clamp(min=0)).where(place >= 0, NOBODY)
    return Asked(symbols, marks, answers)


def teller_says_where(num: int, g: torch.Generator) -> Asked:
    """A word's mark k sends its symbol k + 1 places on: what the word *looked at* is, and a distance.

    A place is asked where exactly one word sends to it.
    """
    symbols, marks = (torch.randint(high, (num, T), generator=g) for high in (SYMBOLS, MARKS))
    to = torch.arange(T) + marks + 1                                 # (num, T)
    sends = to[:, :, None] == torch.arange(T)                        # (num, from, to)
    answers = (sends * symbols[:, :, None]).sum(dim=1)
    return Asked(symbols, marks, answers.where(sends.sum(dim=1) == 1, NOBODY))


def same_mark(num: int, g: torch.Generator) -> Asked:
    """Each of six marks stands at two places drawn anew: tell the other's symbol. What both are, and no distance."""
    symbols = torch.randint(SYMBOLS, (num, T), generator=g)
    order = torch.rand(num, T, generator=g).argsort(dim=1)           # places 2k and 2k + 1 of the order have mark k
    marks = torch.zeros(num, T, dtype=torch.long).scatter(1, order, (torch.arange(T) // 2).expand(num, T))
    other = torch.zeros_like(order).scatter(1, order, order[:, torch.arange(T) ^ 1])
    return Asked(symbols, marks, symbols.gather(1, other))


TASKS: dict[str, Callable[[int, torch.Generator], Asked]] = {
    "the asker says where": asker_says_where, "the teller says where": teller_says_where, "same mark": same_mark}
ARMS = {"all three terms": TERMS, **{f"without {term}": tuple(t for t in TERMS if t != term) for term in TERMS}}


@cache
def draw() -> Splits:
    """Rows of all tasks, to choose by and to score: a line each, task, symbols, marks, answers."""
    def lines(num: int, seed: int) -> list[str]:
        return [f"{name}\t" + "\t".join(" ".join(map(str, row.tolist())) for row in one)
                for name, make in TASKS.items() for one in zip(*make(num, torch.Generator().manual_seed(seed)))]

    return Splits("disentangled", train=lines(1, 0), valid=lines(400, 1), test=lines(1000, 2), info=INFO)


def read(lines: list[str], task: str) -> Asked:
    rows = [[list(map(int, part.split())) for part in line.split("\t")[1:]] for line in lines if line.startswith(f"{task}\t")]
    return Asked(*torch.tensor(rows).unbind(1))


class OneLayer(nn.Module):
    """Symbol and mark of a word, one layer of disentangled attention, and the symbol told. No position is added."""

    def __init__(self, terms: tuple[str, ...], task: str, width: int = 32, heads: int = 4):
        super().__init__()
        self.task = task
        self.symbols, self.marks = nn.Embedding(SYMBOLS, width), nn.Embedding(max(MARKS, T // 2), width)
        self.attend = DisentangledAttention(width, heads, SPAN, terms)
        self.tell = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, SYMBOLS))

    def forward(self, symbols: Int[Tensor, "B T"], marks: Int[Tensor, "B T"]) -> Float[Tensor, "B T C"]:
        x = self.symbols(symbols) + self.marks(marks)
        return self.tell(x + self.attend(x))


def by_new_rows(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """AdamW on new rows in every update, the rate falling to 0; a model a seed."""
    models = Repeats()
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        model, g = row.model(**row.arguments), torch.Generator().manual_seed(100 + seed)

        def loss(update: int, model=model, g=g) -> Tensor:
            asked = TASKS[model.task](settings["batch_size"], g)
            return F.cross_entropy(model(asked.symbols, asked.marks).mT, asked.answers, ignore_index=NOBODY)

        minimize(model, loss, settings["updates"], settings["lr"], lambda update: 1 - update / settings["updates"])
        models.append(model)
    return Trained(models)


@torch.no_grad()
def symbols_right(models: Repeats, lines: list[str]) -> dict[str, Any]:
    """Per cent of the asked places with the right symbol: mean over seeds, its standard error over seeds, and each."""
    asked = read(lines, models[0].task)
    there, each = asked.answers != NOBODY, []
    for model in models.eval():
        each.append(100 * (model(asked.symbols, asked.marks).argmax(dim=-1) == asked.answers)[there].double().mean().item())
    return of_seeds(each, int(there.sum()))


RUNS: dict[str, Run] = {"deberta-terms": Run(
    "deberta-terms", "disentangled", tuple(
        Row(f"{arm}: {task}", OneLayer, by_new_rows, {"terms": list(terms), "task": task},
            {"updates": 250, "batch_size": 32, "seeds": 1}, over("lr", (5e-3, 1e-2)), symbols_right, final={"seeds": 3})
        for task in TASKS for arm, terms in ARMS.items()),
    draw=draw, unit="% of symbols right", best=max,
    note="One layer of disentangled attention, width 32, four heads, 250 updates of 32 new rows of 12 words; a word has a symbol "
         "and a mark, and no position is added. Of eight symbols one is right by chance in 12.5 %. Mean ± standard error over "
         "three seeds; the rate is chosen by other rows and the first seed.")}
