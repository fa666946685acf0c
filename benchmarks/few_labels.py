"""Classification with few labels (chapter embeddings-and-probes): frozen features, cloze prompts without labels, and heads of several
layers.

python -m benchmarks.few_labels few       TREC's six classes from 0, 5, 10 and 20 questions of each; two minutes
python -m benchmarks.few_labels heads     one, two or three layers above the frozen network; half a minute
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks import steps
from benchmarks.contextual import DRAWS, HELD, PENALTIES, Features, by_layers, counted, described, scaled
from benchmarks.figures import of_seeds
from benchmarks.reproduce import bert_english
from benchmarks.reproduce.recipes import minimize
from benchmarks.reproduce.word_features import ROOM, pieces_of_bert
from benchmarks.steps import Kept
from benchmarks.word_vectors import averaged, tasks
from course_lib import hub, using
from course_lib.transformer import BERT

SIZES = (5, 10, 20)                                                  # labelled questions of each kind
LAYERS = ("layer 0, mean", "layer 1, mean", "layer 2, mean", "layer 3, the softmax, mean")
WAYS = {"averaged word vectors": ("averaged word vectors",), "bert-english": LAYERS,
        "untrained twin": tuple(f"untrained twin, {name}" for name in (LAYERS[0], LAYERS[2]))}


class Questions(NamedTuple):
    """Texts, and the class of each."""

    texts: list[str]
    kinds: np.ndarray

    def at(self, rows: Sequence[int]) -> Questions:
        return Questions([self.texts[i] for i in rows], self.kinds[rows])


def drawn(kinds: np.ndarray, size: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows: `size` of each class, and the first 500 of the same order, for model selection. Smaller sizes are subsets
    of larger ones."""
    order = np.random.default_rng(number).permutation(len(kinds))
    rest = order[HELD:]
    return np.concatenate([rest[kinds[rest] == kind][:size] for kind in np.unique(kinds)]), order[:HELD]


@cache
def questions() -> tuple[list[Questions], Questions, Questions]:
    """Labeled questions of each sample, of the largest size; those for model selection; the test."""
    texts, labels, test, wanted = tasks()["TREC"]
    train = Questions(texts, np.array(labels))
    few = [train.at(drawn(train.kinds, SIZES[-1], number)[0]) for number in range(DRAWS)]
    return few, train.at(drawn(train.kinds, 1, 0)[1]), Questions(test, np.array(wanted))


def of_size(few: Questions, size: int) -> np.ndarray:
    """Rows of a smaller sample in the largest."""
    return np.concatenate([np.flatnonzero(few.kinds == kind)[:size] for kind in np.unique(few.kinds)])


@cache
def sides(part: int) -> dict[str, Features]:
    """All representations of the questions of a sample; of those for model selection, -1; of the test, -2."""
    few, held, test = questions()
    return described({-1: held, -2: test}.get(part, few[part]).texts)


@cache
def of_all() -> TfidfVectorizer:
    """Weighted by all training questions, which needs no labels."""
    return counted(tasks()["TREC"][0])


def by_regression(ways: Sequence[str], size: int) -> tuple[list[float], list]:
    """Test accuracy in percent for each sample, and the choice with the first one: representation, penalty, scale."""
    few, held, test = questions()

    def score(number: int, way: str, C: float, how: str, part: int, truth: np.ndarray) -> float:
        rows = of_size(few[number], size)
        if way.startswith("TF-IDF"):
            weigh = of_all() if how == "all" else counted(few[number].at(rows).texts)
            own, other = (weigh.transform(each) for each in (few[number].at(rows).texts, (held if part == -1 else test).texts))
        else:
            own, other = scaled(sides(number)[way][rows], sides(part)[way], how=how)
        return 100 * LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(own, few[number].kinds[rows]).score(other, truth)

    hows = ("few", "all") if ways == ("TF-IDF",) else ("columns", "whole")
    chosen = max(product(ways, PENALTIES, hows), key=lambda way: score(0, *way, -1, held.kinds))
    return [score(number, *chosen, -2, test.kinds) for number in range(DRAWS)], list(chosen)


# --- no label, or three in the prompt --------------------------------------------------------------------------------

NAMES = (("name", "reason", "thing", "person", "place", "number"), ("word", "meaning", "object", "man", "city", "number"))
LEVELS = ("as they are", "minus no question", "minus the mean question")          # what is done with the scores of names
PATTERNS = ("{} it is a [MASK] .", "{} the answer is a [MASK] .", "{} [MASK] .")
SHORT = 8                                                            # pieces of a question that is an example


def gap_scores(model: BERT, texts: Sequence[str], names: Sequence[str]) -> Float[Tensor, "N K"]:
    """Log-probability of each class name at the masked position of each text."""
    return using.gap_scores(model, pieces_of_bert(), texts, names)


def prompts(texts: Sequence[str], pattern: str, names: Sequence[str], examples: Questions | None = None) -> list[str]:
    """The last examples that fit, with their class names inserted; then each text with the masked position."""
    shown = [] if examples is None else [pattern.format(text.lower()).replace("[MASK]", names[kind]) for text, kind in zip(*examples)]
    found = []
    for text in texts:
        own = [*shown, pattern.format(text.lower())]
        while len(own) > 1 and len(pieces_of_bert().encode(" ".join(own).replace("[MASK]", "a"))) > ROOM:
            own.pop(0)
        found.append(" ".join(own))
    return found


@cache
def examples(draw: int, number: int = 3) -> Questions:
    """Short questions of the sample, of different classes."""
    few = questions()[0][draw]
    rows = [i for i, text in enumerate(few.texts) if len(pieces_of_bert().encode(text.lower())) <= SHORT]
    rows = np.random.default_rng(draw).permutation(rows)
    return few.at([rows[few.kinds[rows] == kind][0] for kind in list(dict.fromkeys(few.kinds[rows]))[:number]])


@cache
def scores(part: int, names: tuple[str, ...], pattern: str | None, draw: int | None = None) -> Tensor:
    """Scores of the questions for model selection, -1, of the test, -2, or, without a question, 0. pattern: None for
    cosine similarity of averaged word vectors; draw: the sample whose examples precede the question.
    """
    _, held, test = questions()
    texts = {-1: held.texts, -2: test.texts, 0: [""]}[part]
    if pattern is None:
        vectors = hub.load("english-words")
        return torch.from_numpy(averaged(vectors, texts) @ averaged(vectors, list(names)).T)
    return gap_scores(hub.load(bert_english.WEIGHTS), prompts(texts, pattern, names, None if draw is None else examples(draw)), names)


def right(said: Tensor, truth: np.ndarray) -> float:
    return 100 * (said.numpy() == truth).mean().item()


def by_names(patterns: Sequence[str | None], shown: bool = False) -> tuple[list[float], list]:
    """Class whose name has the largest score; shown: after three examples, which differ between samples."""
    _, held, test = questions()

    def score(part: int, truth: np.ndarray, draw: int, names: tuple[str, ...], pattern: str | None, level: str) -> float:
        given = names, pattern, draw if shown else None
        minus = {LEVELS[0]: 0.0, LEVELS[1]: scores(0, *given), LEVELS[2]: scores(-1, *given).mean(dim=0)}[level]
        return right((scores(part, *given) - minus).argmax(dim=1), truth)

    chosen = max(product(NAMES, patterns, LEVELS), key=lambda way: score(-1, held.kinds, 0, *way))
    return [score(-2, test.kinds, draw, *chosen) for draw in range(DRAWS if shown else 1)], [" ".join(chosen[0]), *chosen[1:]]


def rows_of(kept: Kept) -> list[dict[str, Any]]:
    rows = []
    for name, found in kept.found.items():
        values, chosen = found
        more = {"chosen": ", ".join(map(str, chosen))} if chosen else {}
        rows.append({"model": name, "parameters": 0, "test": {**of_seeds(values, len(values)), **more}})
    return rows


def make_few() -> None:
    kept = Kept("using-few")
    labels, test = np.array(tasks()["TREC"][1]), questions()[2]
    kept("one kind for all", lambda: ([right(torch.full((len(test.kinds),), int(np.bincount(labels).argmax())), test.kinds)], []))
    kept("the name that is nearest, 0 of each kind", lambda: by_names((None,)))
    kept("a gap to fill, 0 of each kind", lambda: by_names(PATTERNS))
    kept("a gap to fill, three examples before it", lambda: by_names(PATTERNS, True))
    for size in SIZES:
        for name, ways in (("TF-IDF", ("TF-IDF",)), *WAYS.items()):
            kept(f"{name}, {size} of each kind", lambda ways=ways, size=size: by_regression(ways, size))
    steps.record("benchmarks.few_labels", "using", "using-few", "% right", rows_of(kept),
                 f"TREC's six kinds of question from few labels, on its 500 test questions: logistic regression on frozen features. "
                 f"Which layer of the network, the penalty, the scale of vectors and the texts that TF-IDF weighs by are chosen for "
                 f"each row by the first draw on {HELD} other training questions. Without labels: the kind whose name has the largest "
                 "cosine, and the name that bert-english finds likeliest in a gap after the question, alone or after three short "
                 f"questions with their names; the names, of two sets, the words around the gap, of three, and whether what a name "
                 f"gets for no question, or on the average, is taken off its score are chosen on the {HELD} too. Mean ± standard error over five "
                 "draws. One kind for all is the commonest of the training questions. The network and the word vectors read these "
                 "without their kinds.", {"name": "trec"})
    kept.done()


# --- layers in the head ----------------------------------------------------------------------------------------------

RATES, UPDATES, HIDDEN = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), 200, 64
HEADS = ("one layer", "two layers", "three layers")


def head(width: int, classes: int, extra: int) -> nn.Sequential:
    """`extra` layers of 64 with tanh, then the output layer."""
    layers: list[nn.Module] = []
    for _ in range(extra):
        layers += [nn.Linear(width, HIDDEN), nn.Tanh()]
        width = HIDDEN
    return nn.Sequential(*layers, nn.Linear(width, classes))


def trained(x: Tensor, kinds: Tensor, extra: int, lr: float, seed: int) -> nn.Sequential:
    """Training by AdamW on all labeled rows at once, with a learning rate that decays to 0."""
    torch.manual_seed(seed)
    model = head(x.shape[1], 6, extra)
    minimize(model, lambda update: F.cross_entropy(model(x), kinds), UPDATES, lr, lambda update: 1 - update / UPDATES, weight_decay=0.01)
    return model


def make_heads() -> None:
    few, held, test = questions()
    bert, way = hub.load(bert_english.WEIGHTS), LAYERS[2]
    vectors = [by_layers(bert, part.texts, softmax=False)[way] for part in (*few, test, held)]
    found: dict[tuple[str, int], tuple[list[float], float]] = {}
    for size, extra in product(SIZES, range(len(HEADS))):
        def score(number: int, lr: float, part: int, truth: np.ndarray, size: int = size, extra: int = extra) -> float:
            rows = of_size(few[number], size)
            own, other = (torch.from_numpy(each).float() for each in scaled(vectors[number][rows], vectors[part], how="columns"))
            with torch.enable_grad():
                model = trained(own, torch.from_numpy(few[number].kinds[rows]), extra, lr, number)
            return right(model(other).argmax(dim=1), truth)

        lr = max(RATES, key=lambda lr: score(0, lr, -1, held.kinds))
        found[HEADS[extra], size] = [score(number, lr, -2, test.kinds) for number in range(DRAWS)], lr
        print(size, HEADS[extra], found[HEADS[extra], size], flush=True)
    rows = []
    for (name, size), (values, lr) in found.items():
        ahead = of_seeds([a - b for a, b in zip(values, found[HEADS[0], size][0])], DRAWS)
        rows.append({"model": f"{name}, {size} of each kind", "parameters": 0,
                     "test": {**of_seeds(values, DRAWS), "lr": lr, "ahead": ahead["mean"], "ahead_error": ahead["standard_error"]}})
    steps.record("benchmarks.few_labels", "using", "using-heads", "% right", rows,
                 f"TREC's six kinds of question by heads of one to three layers, {HIDDEN} wide with tanh between them, on the mean of "
                 f"the top vectors of the frozen bert-english; {UPDATES} updates on all labelled questions at once. The rate, of five, "
                 f"is chosen for each row by the first draw on {HELD} other training questions. Mean ± standard error over five draws "
                 "of labels, the same for every head; ahead of one layer, paired. The network read the training questions without "
                 "their kinds.", {"name": "trec"})


STEPS = {"few": make_few, "heads": make_heads}
if __name__ == "__main__":
    steps.run("benchmarks.few_labels", __doc__, STEPS)
