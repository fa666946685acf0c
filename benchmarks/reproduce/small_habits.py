"""The habits of training where there is nothing to guard against: few pairs of a grammar, few steps, each habit left out."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, of_items, over, own
from course_lib.data import Splits
from course_lib.data.toy_translation import draw_pairs, to_ids, translate, vocabularies
from course_lib.training import fit
from course_lib.transformer import Transformer, TransformerConfig

SEEDS, PAIRS, PAD = 5, 300, 0                                        # each seed has pairs of its own
INFO = own("Sentences drawn independently from a grammar, with their translation; none of those that are scored is among "
           "those to train on.", "a grammar of this course, course_lib.data.toy_translation")


class Sentences(NamedTuple):
    source: Int[Tensor, "N S"]
    target: Int[Tensor, "N T"]


@cache
def draw() -> Splits:
    """Pairs to train on, 200 to choose by and 200 to score; the words of each pair joined by spaces."""
    generator = torch.Generator().manual_seed(0)
    train = [(" ".join(p.source), " ".join(p.target)) for p in draw_pairs(SEEDS * PAIRS, generator)]
    known, new = set(train), []
    for p in draw_pairs(2000, generator):
        pair = " ".join(p.source), " ".join(p.target)
        if pair not in known:
            known.add(pair)
            new.append(pair)
    return Splits("toy_translation", train, new[:200], new[200:400], info=INFO)


def as_ids(splits: Splits) -> Parts:
    return Parts(*(Sentences(*to_ids([translate(source) for source, _ in getattr(splits, part)]))
                   for part in ("train", "valid", "test")), splits.info)


def translator(**settings: Any) -> Transformer:
    english, italian = vocabularies()
    return Transformer(TransformerConfig(len(english), len(italian), pad_id=PAD, bos_id=1, eos_id=2, form="slide", **settings))


def by_epochs(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A translator a seed, each on pairs of its own. With a warm-up the rate falls after it, as the paper's; without, it stays."""
    settings, models = dict(settings), Repeats()
    schedule = "inverse_sqrt" if settings["warmup"] else "constant"
    for seed in range(settings.pop("seeds")):
        torch.manual_seed(seed)
        model, few = row.model(**row.arguments), slice(PAIRS * seed, PAIRS * (seed + 1))
        fit(model, tuple(side[few] for side in job.splits.train), schedule=schedule, seed=seed, progress=False, **settings)
        models.append(model.eval())
    return Trained(models)


@torch.no_grad()
def nats_a_token(models: Repeats, part: Sentences) -> dict[str, Any]:
    """Of the targets, their ends too, not smoothed: the mean over seeds, its standard error over seeds, and each."""
    real = part.target != PAD
    each = [-model.conditionals(part.target, part.source).log_prob(part.target)[real].mean().item() for model in models.eval()]
    return of_seeds(each, int(real.sum()), digits=4)


class Often(nn.Module):
    """How often each token occurs in the targets, and nothing else; one is added to every count."""

    def __init__(self, train: Sentences):
        super().__init__()
        counts = train.target[train.target != PAD].bincount(minlength=len(vocabularies()[1])).double() + 1
        self.log_p = nn.Parameter((counts / counts.sum()).log(), requires_grad=False)


def by_counting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    return Trained(Often(job.splits.train))


def nats_counted(model: Often, part: Sentences) -> dict[str, Any]:
    """The same by counts; the standard error is over tokens."""
    return of_items(-model.log_p[part.target[part.target != PAD]])


HABITS = {"dropout": 0.1, "smoothing": 0.1, "warmup": 10, "clip": 1.0}
NONE = {"dropout": 0.0, "smoothing": 0.0, "warmup": 0, "clip": None}
LEFT_OUT = {"all four": (), "no warm-up": ("warmup",), "no smoothing": ("smoothing",), "no dropout": ("dropout",),
            "no clipping": ("clip",), "none": tuple(NONE)}
RATES = over("lr", (0.0075, 0.015, 0.03))
SIZE = {"d_model": 32, "heads": 4, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1}


def arm(label: str, without: tuple[str, ...]) -> Row:
    habits = {**HABITS, **{habit: NONE[habit] for habit in without}}
    return Row(label, translator, by_epochs, {**SIZE, "dropout": habits["dropout"], "smoothing": habits["smoothing"]},
               {"epochs": 8, "batch_size": 50, "warmup": habits["warmup"], "clip": habits["clip"], "seeds": 1},
               RATES, nats_a_token, final={"seeds": SEEDS})


RUNS: dict[str, Run] = {"habits-small": Run(
    "habits-small", "toy_translation", (
        Row("frequency of words", Often, by_counting, measure=nats_counted),
        *(arm(label, without) for label, without in LEFT_OUT.items())),
    prepare=as_ids, draw=draw, unit="nats a token",
    note=f"The habits of training, each left out in turn and all at once: one block on each side, width 32, eight times through {PAIRS} "
         f"pairs of a grammar in batches of 50, which is {8 * PAIRS // 50} updates. Not smoothed, on 200 sentences that are new. The best "
         "of three rates for each row, by other sentences and the first seed; after a warm-up the rate falls like one over the root of "
         f"the step, without one it stays. Mean ± standard error over {SEEDS} seeds, each with pairs of its own. The first row knows how "
         "often each word occurs, and nothing else.")}
