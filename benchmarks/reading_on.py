"""Language-model fine-tuning of bert-english on the texts of a task before its classes are learned (chapter fine-tuning).

    python -m benchmarks.reading_on adaptation    TREC with that step and without it, by numbers of labels; eight
                                                  minutes
    python -m benchmarks.reading_on forgetting    loss of masked words after each: the networks of `adaptation`

Figures are stored in a scratch file beside the records until `forgetting` is done, so that an interrupted run resumes.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache, partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks import contextual, steps, store
from benchmarks.contextual import HELD, SIZES, TUNING, MeanClassifier, in_pieces, questions, tuned
from benchmarks.figures import of_seeds
from benchmarks.reproduce import bert_english, english, word_texts
from benchmarks.reproduce.pretraining import PAD, SPECIAL, HiddenWords, drawn, letters
from benchmarks.steps import Kept
from course_lib import hub
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.transformer import BERT

RATES = contextual.ARMS["all layers"][1]                             # of either step, one chosen for each row
READING = {"batch_size": 32, "schedule": "linear", "warmup": 30, "weight_decay": 0.01, "clip": 1.0, "progress": False}
SEEDS = 3                                                            # the first ones of using-tuning
UPDATES = 310                                                        # of reading: the training questions twice
SOME = 300                                                           # labels at which the ways against forgetting are tried
OTHERS = {"train": 8000, "test": 1000}                               # sentences of other English


# --- texts -----------------------------------------------------------------------------------------------------------


@cache
def others(part: str) -> Int[Tensor, "N T"]:
    """English sentences other than TREC: `train` from the training set of the stored network, `test` from held-out
    text."""
    own = {letters(question) for _, question in word_texts.trec("trec")}
    texts = [text for text in getattr(english.draw(), part)[:OTHERS[part]] if letters(text) not in own]
    return pad(in_pieces(texts), PAD)[0]


def hidden_by_length(rows: Int[Tensor, "N T"]) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Rows batched by length, without padding; with the same pieces masked every time; and their positions."""
    lengths = (rows != PAD).sum(dim=1)
    for length in lengths.unique().tolist():
        some = rows[lengths == length, :length]
        yield some, *bert_english.hidden(some, bert_english.RATE)


@torch.no_grad()
def nats(model: BERT, rows: Int[Tensor, "N T"]) -> float:
    """Cross-entropy in nats per masked piece."""
    model.eval()
    return torch.cat([bert_english.scores_of(model, read, chosen, some) for some, read, chosen in hidden_by_length(rows)
                      if chosen.any()]).mean().item()


def other_rows(num: int, seed: int) -> Int[Tensor, "N T"]:
    return others("train")[drawn(len(others("train")), num, 7000 + seed)]


# --- the two steps ---------------------------------------------------------------------------------------------------


def read_on(lr: float, seed: int) -> BERT:
    """bert-english after updates on masked words of the training questions, without their labels."""
    torch.manual_seed(5000 + seed)
    model, rows = deepcopy(hub.load(bert_english.WEIGHTS)), questions().train[0]
    rows = rows[drawn(len(rows), UPDATES * READING["batch_size"], 6000 + seed)]
    fit(HiddenWords(model, bert_english.RATE), rows, epochs=1, lr=lr, seed=seed, lengths=(rows != PAD).sum(dim=1), **READING)
    return model


class Remembering(nn.Module):
    """Classifier whose loss includes that of masked words of other English text."""

    def __init__(self, classifier: MeanClassifier):
        super().__init__()
        self.classifier, self.old = classifier, HiddenWords(classifier.bert, bert_english.RATE)

    def loss(self, batch: tuple[Tensor, Tensor, Tensor, Tensor]) -> Float[Tensor, ""]:
        *labelled, old = batch
        return self.classifier.loss(tuple(labelled)) + self.old.loss(old)[0]


def figures(model: BERT) -> dict[str, float]:
    """Cross-entropy in nats per masked piece, of held-out questions and of other English text."""
    return {"questions": nats(model, questions().held[0]), "other English": nats(model, others("test"))}


# --- what is measured ------------------------------------------------------------------------------------------------


def readers(kept: Kept, name: str) -> Callable[[int], BERT]:
    """Fine-tuned language models by seed. The learning rate is the best on held-out questions with the first seed."""
    read = cache(read_on)
    lr, found = kept.of_seeds(name, RATES, lambda lr, seed: figures(read(lr, seed)), SEEDS, lambda nats: -nats["questions"])
    kept(name, lambda: {"lr": lr, "seeds": found})
    return partial(read, lr)


def arm(kept: Kept, name: str, start: Callable[[int], BERT], labels: int, rates: tuple[float, ...] = RATES,
        remembering: bool = False) -> None:
    """Fine-tuning of all layers on the classes. Learning rate by the first seed on held-out questions; then the test
    and the nats."""
    def measure(lr: float, seed: int) -> dict[str, float]:
        beside = (other_rows(contextual.UPDATES * TUNING["batch_size"], seed),) if remembering else ()
        model = tuned(start(seed), labels, seed, lr, None, Remembering if remembering else None, beside)
        return {"held": model.right(*questions().held), "test": model.right(*questions().test), **figures(model.bert)}

    lr, found = kept.of_seeds(name, rates, measure, SEEDS, lambda figure: figure["held"])
    kept(name, lambda: {"lr": lr, "seeds": found})


def counts() -> dict[str, float]:
    """Cross-entropy of the same masked pieces under unigram counts with add-0.1 smoothing."""
    read = torch.cat([questions().train[0].flatten(), others("train").flatten()])
    known = torch.full((bert_english.english.PIECES,), 0.1) + read[read >= SPECIAL].bincount(minlength=bert_english.english.PIECES)
    log_p = known.log() - known.sum().log()
    return {name: -torch.cat([log_p[some[chosen]] for some, _, chosen in hidden_by_length(rows)]).mean().item()
            for name, rows in (("questions", questions().held[0]), ("other English", others("test")))}


def measured() -> Kept:
    kept = Kept("using-adaptation")
    known = {row["model"]: row["test"] for row in store.read()["using-tuning"]["rows"]}

    def stored(seed: int) -> BERT:
        return hub.load(bert_english.WEIGHTS)

    kept("counts of pieces", lambda: {"seeds": [counts()]})
    kept("bert-english", lambda: {"seeds": [figures(stored(0))]})
    own = readers(kept, "the questions first")
    for labels in SIZES:
        arm(kept, f"at once, {labels:,} labels", stored, labels, rates=(known[f"all layers, {labels:,} labels"]["lr"],))
        arm(kept, f"the questions first, {labels:,} labels", own, labels)
    arm(kept, f"at once, other English beside, {SOME} labels", stored, SOME, remembering=True)
    return kept


# --- the records -----------------------------------------------------------------------------------------------------

def how() -> str:
    return ("The stored bert-english, all layers trained on TREC's kinds as in using-tuning. The questions first: before that "
            f"{UPDATES} updates of {READING['batch_size']} of the {len(questions().train[0]):,} training questions without their "
            f"kinds, {bert_english.RATE:.0%} of the pieces hidden; the rate, of three, has the fewest nats on {HELD} other training "
            "questions. The network had read all of these before, among eight sources. Other English beside: hidden words of a "
            "sentence of its former text are added to the loss, one a question. ")


def tabled(kept: Kept, what: str, prefix: str = "") -> list[dict[str, Any]]:
    """A row for each method that has the figure, in the order of the labels."""
    names = [name for name, found in kept.found.items() if "seeds" in found and what in found["seeds"][0]]
    labels = {name: int(name.split(", ")[-1].split()[0].replace(",", "")) if name.endswith("labels") else 0 for name in names}
    rows = []
    for name in sorted(names, key=lambda name: labels[name]):
        seeds = [seed[what] for seed in kept.found[name]["seeds"]]
        rate = {"lr": kept.found[name]["lr"]} if "lr" in kept.found[name] else {}
        rows.append({"model": prefix + name, "parameters": 0, "test": {**of_seeds(seeds, len(seeds)), **rate}})
    return rows


def make_adaptation() -> None:
    steps.record("benchmarks.reading_on", "using", "using-adaptation", "% right", tabled(measured(), "test"),
                 how() + f"% right on the 500 test questions, mean ± standard error over {SEEDS} seeds, each with its own labels, the "
                 f"same for all rows; the rate of each row is chosen by the first seed on the {HELD} questions.", {"name": "trec"})


def make_forgetting() -> None:
    kept = measured()
    rows = [row for what in ("questions", "other English") for row in tabled(kept, what, f"{what}: ")]
    steps.record("benchmarks.reading_on", "using", "using-forgetting", "nats a hidden piece", rows,
                 how() + f"Nats of the {bert_english.RATE:.0%} of pieces that are hidden, the same ones for every row: of {HELD} training "
                 "questions that the step does not read, and of 1,000 sentences that the stored network never read, TREC aside. "
                 "Counts of pieces: how often each piece stands in what is read, nothing of the sentence.", {"name": "trec"})
    kept.done()


STEPS = {"adaptation": make_adaptation, "forgetting": make_forgetting}
if __name__ == "__main__":
    steps.run("benchmarks.reading_on", __doc__, STEPS)
