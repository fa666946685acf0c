"""Layers of the stored bert-english as features of texts, and fine-tuning of some of them (chapter embeddings-and-probes).

    python -m benchmarks.contextual layers     every layer for classifiers and for similarity; six minutes
    python -m benchmarks.contextual tuning     the head, the top layer or all layers, with few labels; ten minutes

Figures are stored in a scratch file beside the records until a step is done, so that an interrupted run resumes.
"""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks import steps
from benchmarks.figures import of_seeds
from benchmarks.reproduce import bert_english, word_features, word_texts
from benchmarks.reproduce.pretraining import drawn
from benchmarks.reproduce.word_features import fresh_bert, pieces_of_bert
from benchmarks.steps import Kept
from benchmarks.word_vectors import averaged, tasks
from course_lib import hub
from course_lib.data.readers import read_rows, read_text
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.transformer import BERT
from course_lib.using import pooled

PENALTIES = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)                # the C of logistic regression
DRAWS, HELD = 5, 500                                                 # draws of the labels; training texts that choose
Features = np.ndarray | sparse.csr_matrix                            # a row a text


def in_pieces(texts: Sequence[str]) -> list[Int[Tensor, " T"]]:
    """[CLS], as many word pieces of the lower-cased text as fit in the window, [SEP]."""
    first, last = (torch.tensor([end]) for end in (pieces_of_bert().vocabulary.bos_id, pieces_of_bert().vocabulary.eos_id))
    return [torch.cat([first, pieces_of_bert().encode(text.lower())[:word_features.ROOM], last]) for text in texts]


# --- layers ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def by_layers(model: BERT, texts: Sequence[str], softmax: bool = True) -> dict[str, Float[np.ndarray, "N F"]]:
    """Each layer as one vector per text: the mean over its word pieces, without punctuation, and the vector of [CLS].
    The layer after the last is the softmax of the language model, averaged over the pieces."""
    rows, found = in_pieces(texts), {}
    order = sorted(range(len(rows)), key=lambda k: len(rows[k]))
    for some in torch.tensor(order).split(64):
        tokens, real = pad([rows[k] for k in some.tolist()], pieces_of_bert().vocabulary.pad_id)
        states = model.eval().states(tokens, mask=real)
        layers = {str(number): layer for number, layer in enumerate(states)}
        if softmax:
            layers[f"{len(states)}, the softmax"] = model.mlm(states[-1], model.tokens.weight).softmax(dim=-1)
        own = real & (tokens >= bert_english.SPECIAL)
        own |= real & ~own.any(dim=1, keepdim=True)                  # a text of unknown letters alone keeps its signs
        for name, layer in layers.items():
            for how, vectors in (("mean", pooled(layer, own)), ("[CLS]", pooled(layer, real, "first"))):
                table = found.setdefault(f"layer {name}, {how}", torch.zeros(len(rows), layer.shape[-1]))
                table[some] = vectors
    return {name: table.numpy() for name, table in found.items()}


def described(texts: Sequence[str]) -> dict[str, Features]:
    """The texts in every representation except counts."""
    twin = by_layers(fresh_bert(vectors=False), texts, softmax=False)
    return {"averaged word vectors": averaged(hub.load("english-words"), list(texts)),
            **by_layers(hub.load(bert_english.WEIGHTS), texts),
            **{f"untrained twin, {name}": twin[name] for name in ("layer 0, mean", "layer 2, mean")}}


def scaled(train: Features, *others: Features, how: str) -> list[Features]:
    """`columns`: standardize each column by `train`; `whole`: scale all by one factor; sparse matrices are unchanged.
    """
    if sparse.issparse(train):
        return [train, *others]
    mean, spread = train.mean(axis=0), train.std(axis=0)
    spread = spread + 1e-6 if how == "columns" else np.sqrt((spread**2).mean()) + 1e-12
    return [(x - mean) / spread for x in (train, *others)]


def counted(texts: Sequence[str]) -> TfidfVectorizer:
    return TfidfVectorizer(tokenizer=word_texts.words, lowercase=False, token_pattern=None, sublinear_tf=True).fit(texts)


def classified(kept: Kept, task: str, size: int = 100) -> None:
    """Logistic regression on `size` labels; penalty and scale are chosen with the first sample, on other training
    texts."""
    texts, labels, test, wanted = tasks()[task]
    labels, wanted = np.array(labels), np.array(wanted)

    @cache
    def sides() -> tuple[dict[str, Features], dict[str, Features]]:
        return described(texts), described(test)

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng(number).permutation(len(texts))
        return order[HELD:HELD + size], order[:HELD]

    def measure(name: str) -> list[float]:
        settings, found = None, []
        for number in range(DRAWS):
            few, held = draw(number)
            if name == "TF-IDF":
                weigh = counted([texts[i] for i in few])
                x, valid, x_test = (weigh.transform(each) for each in
                                    ([texts[i] for i in few], [texts[i] for i in held], test))
            else:
                x, valid, x_test = sides()[0][name][few], sides()[0][name][held], sides()[1][name]

            def score(C: float, how: str, new: Features, truth: np.ndarray, x=x, few=few) -> float:
                own, other = scaled(x, new, how=how)
                return LogisticRegression(C=C, max_iter=300, tol=1e-3).fit(own, labels[few]).score(other, truth)

            ways = [(C, how) for how in ("columns", "whole") for C in PENALTIES]
            settings = settings or max(ways, key=lambda way: score(*way, valid, labels[held]))
            found.append(100 * score(*settings, x_test, wanted))
        return found

    commonest = [100 * float((wanted == np.bincount(labels[draw(number)[0]]).argmax()).mean()) for number in range(DRAWS)]
    kept(f"{task}, {size:,} labels: commonest class", lambda: commonest)
    for name in ("TF-IDF", *NAMES):
        kept(f"{task}, {size:,} labels: {name}", lambda name=name: measure(name))


@cache
def pairs(part: str, most: int = 1500) -> list[tuple[str, str]]:
    """First `most` captions of SNLI, each with the first sentence that it entails."""
    rows = read_rows(read_text(word_texts.path(f"snli {part}")), part, 3)
    found: dict[str, str] = {}
    for label, premise, hypothesis in rows:
        if label == "entailment":
            found.setdefault(premise, hypothesis)
    return list(found.items())[:most]


def found_first(collection: Features, asked: Features) -> float:
    """Percentage of queries whose largest cosine similarity is with the document of the same index; a tie is an error.
    """
    if sparse.issparse(collection):
        scores = torch.from_numpy((asked @ collection.T).toarray())
    else:
        scores = F.normalize(torch.from_numpy(asked), dim=1) @ F.normalize(torch.from_numpy(collection), dim=1).T
    own = scores.diagonal()
    return 100 * ((scores >= own[:, None]).sum(dim=1) == 1).double().mean().item()


def similar(kept: Kept, size: int = 500) -> None:
    """Retrieval of captions: for `size` captions, the entailed sentence has to have the largest cosine similarity."""
    @cache
    def sides(part: str) -> tuple[dict[str, Features], dict[str, Features]]:
        both = list(zip(*pairs(part)))
        return described(both[0]), described(both[1])

    def measure(name: str) -> list[float]:
        def scores(part: str, how: str | None, number: int) -> float:
            some = np.random.default_rng(number).permutation(len(pairs(part)))[:size]
            if name == "TF-IDF":
                a, b = zip(*(pairs(part)[i] for i in some))
                weigh = counted(a)
                return found_first(weigh.transform(a), weigh.transform(b))
            a, b = (side[name][some] for side in sides(part))
            if how:
                scales = scaled(np.concatenate([a, b]), a, b, how=how)
                a, b = scales[1:]
            return found_first(a, b)

        how = max((None, "whole", "columns"), key=lambda way: scores("dev", way, 0))
        return [scores("test", how, number) for number in range(DRAWS)]

    for name in ("TF-IDF", *NAMES):
        kept(f"SNLI, {size:,} captions: {name}", lambda name=name: measure(name))


NAMES = ("averaged word vectors", *(f"layer {layer}, {how}" for layer in ("0", "1", "2", "3, the softmax")
                                    for how in ("mean", "[CLS]")),
         "untrained twin, layer 0, mean", "untrained twin, layer 2, mean")


def as_rows(kept: Kept) -> list[dict[str, Any]]:
    """A row for each figure that is no step on the way to another."""
    rows = []
    for key, found in kept.found.items():
        if not key.startswith(("held: ", "seed ")):
            values, more = (found["values"], {"lr": found["lr"]}) if isinstance(found, dict) else (found, {})
            rows.append({"model": key, "parameters": 0, "test": {**of_seeds(values, len(values)), **more}})
    return rows


def make_layers() -> None:
    kept = Kept("using-layers")
    for task in ("TREC", "SST-2"):
        classified(kept, task)
    similar(kept)
    steps.record("benchmarks.contextual", "using", "using-layers", "% right", as_rows(kept),
                 "The stored bert-english, two layers, frozen; layer 0 are its embeddings, layer 3 is the softmax of its language "
                 "model. Classifiers: logistic regression, its penalty and the scale of the vectors chosen by the first draw on "
                 f"{HELD} other training texts, each row apart; TREC's 500 test questions, SST-2's 872 development sentences. "
                 "Similarity: SNLI, the share of test captions that have, of 500, the largest cosine with a sentence that "
                 "follows from them; how vectors are scaled is chosen on dev. Mean ± standard error over five draws of labels or "
                 "captions. The network and the word vectors read the training texts of all three without labels, and SNLI's test "
                 "sentences too, without their pairs.", {"name": "trec, sst2 and snli"})
    kept.done()


# --- which layers to train -------------------------------------------------------------------------------------------

SIZES, SEEDS = (50, 300, 1000), 5
TUNING = {"batch_size": 16, "schedule": "linear", "warmup": 20, "weight_decay": 0.01, "clip": 1.0, "progress": False}
UPDATES = 100
ARMS = {"head only": (0, (3e-3, 1e-2, 3e-2)), "head and top layer": (1, (3e-4, 1e-3, 3e-3)),
        "all layers": (None, (3e-4, 1e-3, 3e-3))}                    # how many blocks are trained, None for all; rates to choose from


class MeanClassifier(nn.Module):
    """Linear classifier of the mean of the top vectors.

    trained  number of upper blocks that are trained; None for all weights. The output of the layers below is computed
             once, by `below`, without dropout
    """

    def __init__(self, bert: BERT, classes: int, trained: int | None = None):
        super().__init__()
        self.bert = BERT(replace(bert.config, dropout=0.1))
        self.bert.load_state_dict(bert.state_dict())
        self.first = None if trained is None else len(bert.blocks) - trained         # of the trained blocks
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(bert.config.d_model, classes))
        if self.first is not None:
            self.bert.requires_grad_(False)
            self.bert.blocks[self.first:].requires_grad_(True)

    @torch.no_grad()
    def below(self, tokens: Int[Tensor, "N T"]) -> Tensor:
        """Input of the trained part: tokens, or the vectors (N, T, D) of the layer below it."""
        if self.first is None:
            return tokens
        real = tokens != pieces_of_bert().vocabulary.pad_id
        return torch.cat([self.bert.eval().states(some, mask=own)[self.first] for some, own in zip(tokens.split(100), real.split(100))])

    def forward(self, read: Tensor, real: Bool[Tensor, "B T"]) -> Float[Tensor, "B C"]:
        longest = int(real.sum(dim=1).max())
        read, real = read[:, :longest], real[:, :longest]
        if self.first is None:
            read = self.bert.states(read, mask=real)[-1]
        for block in () if self.first is None else self.bert.blocks[self.first:]:
            read = block(read, real[:, None, :])
        return self.head(pooled(read, real))

    def loss(self, batch: tuple[Tensor, Tensor, Tensor]) -> Float[Tensor, ""]:
        read, real, labels = batch
        return F.cross_entropy(self(read, real), labels)

    @torch.no_grad()
    def right(self, tokens: Int[Tensor, "N T"], labels: Int[Tensor, " N"]) -> float:
        self.eval()
        real = tokens != pieces_of_bert().vocabulary.pad_id
        said = [self(*each).argmax(dim=1) for each in zip(self.below(tokens).split(100), real.split(100))]
        return 100 * (torch.cat(said) == labels).double().mean().item()


# TREC: to train, to choose and to test by, each tokens (N, T) and classes (N,).
Questions = namedtuple("Questions", "train held test")


@cache
def questions() -> Questions:
    texts, labels, test, wanted = tasks()["TREC"]
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))
    tokens, _ = pad(in_pieces(texts), pieces_of_bert().vocabulary.pad_id)
    kinds = torch.tensor(labels)
    new, _ = pad(in_pieces(test), pieces_of_bert().vocabulary.pad_id)
    return Questions((tokens[order[HELD:]], kinds[order[HELD:]]), (tokens[order[:HELD]], kinds[order[:HELD]]),
                     (new, torch.tensor(wanted)))


def tuned(start: BERT, labels: int, seed: int, lr: float, trained: int | None,
          told: Callable[[MeanClassifier], nn.Module] | None = None, beside: tuple[Tensor, ...] = ()) -> MeanClassifier:
    """The classifier after its updates; for a seed, all arms get the same labels and batches.

    told, beside  function of the classifier that has the loss, if it is not the classifier; and more tensors of its
                  batches, with a row for each sampled question
    """
    tokens, kinds = questions().train
    own = drawn(len(tokens), labels, 2000 + seed)
    torch.manual_seed(1000 + seed)
    model = MeanClassifier(start, 6, trained)
    tokens, kinds = tokens[own], kinds[own]
    tokens = tokens[:, :int((tokens != pieces_of_bert().vocabulary.pad_id).sum(dim=1).max())]
    rows = drawn(labels, UPDATES * TUNING["batch_size"], 3000 + seed)
    parts = model.below(tokens), tokens != pieces_of_bert().vocabulary.pad_id, kinds
    parts = (*(part[rows] for part in parts), *beside)
    fit(told(model) if told else model, parts, epochs=1, lr=lr, seed=seed, **TUNING)
    return model


def arm(kept: Kept, name: str, start: Callable[[int], BERT], labels: int, how: str) -> None:
    """Learning rate chosen with the first seed on held-out questions; then the test, for all seeds."""
    trained, rates = ARMS[how]

    def measure(lr: float, seed: int) -> list[float]:
        model = tuned(start(seed), labels, seed, lr, trained)
        return [model.right(*questions().held), model.right(*questions().test)]

    lr, found = kept.of_seeds(name, rates, measure, SEEDS, lambda both: both[0])
    kept(name, lambda: {"lr": lr, "values": [test for _, test in found]})


def by_counting(labels: int, C: float, seed: int) -> list[float]:
    """TF-IDF and logistic regression on the labeled questions of a seed: accuracy on held-out questions, and on the test."""
    texts, kinds, test, wanted = tasks()["TREC"]
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0))
    own = order[HELD:][drawn(len(texts) - HELD, labels, 2000 + seed)].tolist()
    weigh = counted([texts[i] for i in own])
    model = LogisticRegression(C=C, max_iter=2000).fit(weigh.transform([texts[i] for i in own]), [kinds[i] for i in own])
    held = order[:HELD].tolist()
    return [100 * model.score(weigh.transform([texts[i] for i in held]), [kinds[i] for i in held]),
            100 * model.score(weigh.transform(test), wanted)]


def make_tuning() -> None:
    kept, stored = Kept("using-tuning"), hub.load(bert_english.WEIGHTS)
    for labels in SIZES:
        _, found = kept.of_seeds(f"TF-IDF, {labels:,} labels", PENALTIES, partial(by_counting, labels), SEEDS, lambda both: both[0])
        kept(f"TF-IDF, {labels:,} labels", lambda found=found: [test for _, test in found])
        for name in ARMS:
            arm(kept, f"{name}, {labels:,} labels", lambda seed: stored, labels, name)
        arm(kept, f"untrained twin, all layers, {labels:,} labels", lambda seed: fresh_bert(vectors=False, seed=seed), labels,
            "all layers")
    steps.record("benchmarks.contextual", "using", "using-tuning", "% right", as_rows(kept),
                 f"TREC's six kinds of question from few labels, by the stored bert-english: the mean of its top vectors, a "
                 f"linear layer; {UPDATES} updates of 16, dropout 0.1. The rate, of three, is chosen "
                 f"for each row by the first seed on {HELD} other training questions. "
                 f"Mean ± standard error over {SEEDS} seeds, each with its own labels, the same for all rows; measured on the 500 "
                 "test questions. The network read the training questions without their labels.", {"name": "trec"})
    kept.done()


STEPS = {"layers": make_layers, "tuning": make_tuning}
if __name__ == "__main__":
    steps.run("benchmarks.contextual", __doc__, STEPS)
