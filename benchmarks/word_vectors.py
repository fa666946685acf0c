"""Training of the shipped word vectors, and the measurements of chapter documents on real text.

    python -m benchmarks.word_vectors vectors      makes, chooses, stores and measures the vectors: ten minutes
    python -m benchmarks.word_vectors documents    averages of them against TF-IDF, by the number of labels: two minutes
    python -m benchmarks.word_vectors topics       topics of the inaugural addresses: a minute
    python -m benchmarks.word_vectors settings     of the small world's vectors: each method's best, on other questions

Sentences of the course's validation and test sets are removed from the texts.
"""
from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from benchmarks import steps
from benchmarks.figures import standard_error
from benchmarks.reproduce import word_texts
from course_lib import hub
from course_lib.data import load_data
from course_lib.data.toy_company import analogies, draw_sentences
from course_lib.tokenizers import Vocabulary
from course_lib.words import (
    Corpus,
    GloVe,
    SkipGram,
    TopicModel,
    WordVectors,
    agreement,
    analogies_right,
    cooccurrences,
    count_words,
    ppmi,
    svd_vectors,
    truncated_svd,
)
from course_lib.words.word2vec import train

NAME, KEPT, WIDTH, MIN_COUNT = "english-words", 10_000, 100, 5
SKIP_GRAM = {"epochs": 10, "window": 5, "negatives": 5, "batch_size": 16384, "lr": 0.005, "threshold": 0.0005}
REPEATS = 1000                  # bootstrap samples of an interval
LABELS, DRAWS, PENALTIES = (50, 100, 300, 1000, None), 10, (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SMALL = {"sentences": 8000, "width": 24, "window": 3}               # chapter word-vectors's small world
GLOVE = {"maximum": (100.0, 50.0, 10.0), "lr": (0.3, 0.2, 0.1, 0.05, 0.02), "updates": (25, 50, 100, 200, 400, 600)}
SCALES = {"counts": 1 / 20, "frequencies": 20}                       # of the penalties: rows not of length 1
NOTE = "Texts, licences and what was left out stand on the card of the vectors."


def digest(text: Iterable[list[str]]) -> str:
    return hashlib.sha256("\n".join(" ".join(sentence) for sentence in text).encode()).hexdigest()


def record(name: str, unit: str, rows: list[dict[str, Any]], note: str, data: dict[str, Any]) -> None:
    steps.record("benchmarks.word_vectors", "words", name, unit, rows, note, data)


# --- the vectors ------------------------------------------------------------------------------------------------------


def candidates(corpus: Corpus) -> Iterable[tuple[str, Tensor, float]]:
    """Name, vectors and CPU seconds of each candidate."""
    for window in (5, 8):
        began = time.process_time()
        u, s, _ = truncated_svd(ppmi(cooccurrences(corpus, window, by_distance=True), 0.75), WIDTH)
        seconds = time.process_time() - began
        for p in (0.25, 0.5, 0.7):
            yield f"PPMI-SVD, window {window}, p {p}", u * s**p, seconds
    torch.manual_seed(0)
    model, began = SkipGram(corpus.num_words, WIDTH), time.process_time()
    train(model, corpus, **SKIP_GRAM, after_epoch=lambda epoch, loss: print(f"epoch {epoch}: {loss:.3f}", flush=True))
    yield "skip-gram with negative sampling, 10 epochs", model.centre.weight.detach(), time.process_time() - began


def halves() -> tuple[list, list]:
    """Every other question of all sections, for model selection; all questions of the family section, and the rest of
    the others."""
    every = [question for questions in word_texts.analogies().values() for question in questions]
    return every[::2], every[1::2]


def bootstrap(statistic: Callable[[list], float], items: list) -> list[float]:
    rng = np.random.default_rng(0)
    found = [statistic([items[i] for i in rng.integers(len(items), size=len(items))]) for _ in range(REPEATS)]
    return [round(float(end), 3) for end in np.percentile(found, (2.5, 97.5))]


def worth(vectors: WordVectors) -> dict[str, float]:
    """Criterion of model selection: each figure divided by its standard error, so that 50 pairs do not outweigh 2,000
    questions."""
    correlation, pairs = agreement(vectors, word_texts.scored("RG-65"))
    right, of = analogies_right(vectors, halves()[0])
    share = right / of
    error = math.sqrt(share * (1 - share) / of) or 1.0
    return {"RG-65": round(correlation, 3), "pairs": pairs, "analogies right": right, "of": of,
            "worth": round(correlation * math.sqrt(pairs - 1) + share / error, 2)}


def measured(vectors: WordVectors) -> dict[str, dict[str, Any]]:
    """For each word list: the figure, its 95 % interval, and the coverage."""
    found: dict[str, dict[str, Any]] = {}
    for name in ("WordSim-353", "SimLex-999", "RG-65"):
        pairs = word_texts.scored(name)
        known = [pair for pair in pairs if pair[0] in vectors and pair[1] in vectors]
        correlation, _ = agreement(vectors, known)
        found[name] = {"mean": round(correlation, 3), "interval": bootstrap(lambda some: agreement(vectors, some)[0], known),
                       "over": len(known), "of": len(pairs)}
    family = word_texts.analogies()["family"]
    for name, questions in (("family analogies", family), ("analogies that chose nothing", halves()[1])):
        right, known = analogies_right(vectors, questions)
        found[name] = {"mean": round(right / known, 3), "right": right, "over": known, "of": len(questions)}
    return found


def make_vectors() -> None:
    text, given = word_texts.training_text()
    vocabulary = Vocabulary.of((word for sentence in text for word in sentence), min_count=MIN_COUNT)
    corpus = Corpus.of(text, vocabulary)
    print(f"{len(text):,} sentences, {sum(map(len, text)):,} words, {len(vocabulary):,} of them often enough", flush=True)
    tried, rows = {}, []
    for name, table, seconds in candidates(corpus):
        figures = worth(WordVectors(vocabulary.symbols, table)) | {"CPU seconds": round(seconds, 1)}
        print(name, figures, flush=True)
        tried[name] = (figures, table)
        best = max(tried, key=lambda each: tried[each][0]["worth"])
    by_kind = {kind: max((each for each in tried if each.startswith(kind)), key=lambda each: tried[each][0]["worth"])
               for kind in ("PPMI-SVD", "skip-gram")}
    for name in by_kind.values():
        vectors = WordVectors(vocabulary.symbols[:KEPT], tried[name][1][:KEPT].half().float())
        rows.append({"model": name, "parameters": KEPT * WIDTH, "test": measured(vectors)})
        print(rows[-1], flush=True)
        if name == best:
            stored, chosen = vectors, rows[-1]["test"]
    words_a_second = round(SKIP_GRAM["epochs"] * len(corpus.tokens) / tried[by_kind["skip-gram"]][0]["CPU seconds"])
    tables = {each: figures for each, (figures, _) in tried.items()}
    sha256 = digest(text)
    notes = (f"A table of {KEPT:,} words by {WIDTH} numbers, in half precision: the most frequent words of the texts below, in "
             "lower case. " + " ".join(f"{name}: {what['words']:,} words, licence: {what['licence']}."
                                       for name, what in given.items())
             + " Sentences that stand in a validation or test part of the course were taken out. Left out for their terms: "
             + "; ".join(f"{name} ({why})" for name, why in word_texts.LEFT_OUT.items())
             + ". Vectors learn what their texts say of people too, prejudice included. "
             "Made by `python -m benchmarks.word_vectors vectors`.")
    hub.save(stored, hub.WEIGHTS, NAME, hub.Card(
        f"{best}: {KEPT:,} vectors of {WIDTH} numbers", ", ".join(word_texts.SOURCES),
        "; ".join(f"{source.name}: {source.licence}" for source in word_texts.SOURCES.values()),
        "; ".join(source.citation for source in word_texts.SOURCES.values()),
        {"chosen by": "RG-65 and every other analogy, each over its standard error", "words read": len(corpus.tokens),
         "sha256 of the sentences": sha256},
        {name: f"{row['mean']:.3f}, over {row['over']} of {row['of']}" for name, row in chosen.items()}, notes), torch.float16)
    record("word-vectors", "Spearman's correlation; share right", rows,
           f"{NOTE} Skip-gram read {words_a_second:,} words a CPU second on one thread.",
           {"name": "word_texts", "sources": given, "sha256": sha256, "tried": tables, "chosen": best,
            "words_a_second": words_a_second})


# --- documents --------------------------------------------------------------------------------------------------------


def tasks() -> dict[str, tuple[list, list, list, list]]:
    trec, test = word_texts.trec("trec"), word_texts.trec("trec test")
    sst2 = load_data("sst2")
    kinds = sorted({kind for kind, _ in trec})
    return {"TREC": ([q for _, q in trec], [kinds.index(k) for k, _ in trec], [q for _, q in test], [kinds.index(k) for k, _ in test]),
            "SST-2": (sst2.train, sst2.labels["train"].tolist(), sst2.valid, sst2.labels["valid"].tolist())}


def averaged(vectors: WordVectors, texts: list[str]) -> np.ndarray:
    """Mean of unit vectors, minus that of all words, normalized to length 1."""
    unit = vectors.unit()
    table = WordVectors(vectors.words, unit - unit.mean(dim=0))
    rows = torch.stack([table.average(word_texts.words(text)) for text in texts])
    return torch.nn.functional.normalize(rows, dim=1).numpy()


def make_documents() -> None:
    vectors, rows = hub.load(NAME), []
    for task, (texts, labels, test, wanted) in tasks().items():
        labels, wanted = np.array(labels), np.array(wanted)
        features = averaged(vectors, texts), averaged(vectors, test)
        for count in LABELS:
            scores: dict[str, list[float]] = {}
            chosen: dict[str, float] = {}
            for draw in range(DRAWS if count else 1):
                order = np.random.default_rng(draw).permutation(len(texts))
                held, rest = order[:500], order[500:]
                few = rest[:count] if count else rest
                sides = {"averaged vectors": (features[0][few], features[0][held], features[1])}
                for name, ngrams, norm in (("counts", 1, None), ("frequencies", 1, "l1"), ("TF-IDF", 1, "l2"),
                                           ("TF-IDF, bigrams too", 2, "l2")):
                    weigh = TfidfVectorizer(tokenizer=word_texts.words, lowercase=False, token_pattern=None,
                                            ngram_range=(1, ngrams), use_idf=name.startswith("TF-IDF"), norm=norm)
                    sides[name] = (weigh.fit_transform([texts[i] for i in few]), weigh.transform([texts[i] for i in held]),
                                   weigh.transform(test))
                sides["commonest class"] = (np.zeros((len(few), 1)), np.zeros((500, 1)), np.zeros((len(test), 1)))
                for name, (x, valid, x_test) in sides.items():
                    def fitted(C):
                        return LogisticRegression(C=C, max_iter=2000).fit(x, labels[few])
                    if name not in chosen:                           # by the first draw, on 500 other training texts
                        penalties = [C * SCALES.get(name, 1) for C in PENALTIES]
                        chosen[name] = max(penalties, key=lambda C: fitted(C).score(valid, labels[held]))
                    scores.setdefault(name, []).append(100 * fitted(chosen[name]).score(x_test, wanted))
            for name, found in scores.items():
                ahead = np.array(found) - np.array(scores["TF-IDF"])
                entry = {"mean": round(float(np.mean(found)), 2), "over": len(found), "labels": len(few),
                         "ahead": round(float(ahead.mean()), 2), "penalty": round(chosen[name], 3)}
                if len(found) > 1:
                    entry |= {"standard_error": round(standard_error(found), 2),
                              "ahead_error": round(standard_error(ahead), 2)}
                rows.append({"model": f"{task}, {name}, {count or 'all'} labels", "parameters": 0, "test": entry})
                print(rows[-1], flush=True)
    record("word-documents", "% right", rows,
           "Logistic regression, its penalty chosen by the first draw on 500 other training texts, for each row apart. Mean ± "
           "standard error over 10 draws of the labels, paired; TREC's 500 test questions, SST-2's 872 development sentences.",
           {"name": "trec and sst2"})


# --- topics -----------------------------------------------------------------------------------------------------------


def make_topics() -> None:
    addresses = word_texts.addresses()
    stop = set(TfidfVectorizer(stop_words="english").get_stop_words())
    docs = [[word for word in word_texts.words(text) if word.isalpha() and len(word) > 2 and word not in stop]
            for text in addresses.values()]
    vocabulary = Vocabulary.of((word for i, doc in enumerate(docs) if i % 5 for word in doc), min_count=8)
    counts = count_words(docs, vocabulary)
    new = torch.arange(len(docs)) % 5 == 0
    held = [doc for i, doc in enumerate(docs) if i % 5 == 0]
    seen, rest = count_words([doc[::2] for doc in held], vocabulary), count_words([doc[1::2] for doc in held], vocabulary)
    rows = []
    for num in (1, 2, 5, 10, 20):
        values, top = [], None
        for seed in range(3):
            model = TopicModel(counts[~new], num, alpha=0.1, iterations=60, seed=seed)
            values.append(model.perplexity(seen, rest))
            shares = model.mixtures(counts)
            top = top or [{"words": words, "most": list(addresses)[int(shares[:, k].argmax())]}
                          for k, words in enumerate(model.top_words(vocabulary.symbols))]
        rows.append({"model": f"{num} topic{'s' * (num > 1)}", "parameters": num * len(vocabulary), "test": {
            "mean": round(float(np.mean(values)), 1), "standard_error": round(standard_error(values), 1),
            "over": 3, "topics": top}})
        print(rows[-1], flush=True)
    record("word-topics", "perplexity", rows,
           f"{int((~new).sum())} inaugural addresses train, {int(new.sum())} are held out: every other content word places the "
           f"address, the others are predicted. {len(vocabulary):,} words; three seeds; topics and words of the first.",
           {"name": "inaugural addresses"})


# --- the small world -------------------------------------------------------------------------------------------------


def settings_of_glove(table: Tensor, num_words: int, seed: int) -> Iterable[tuple[tuple[Any, ...], Tensor]]:
    """Maximum count, learning rate, updates and which vectors are used; the vectors."""
    for maximum in GLOVE["maximum"]:
        for lr in GLOVE["lr"]:
            torch.manual_seed(seed)
            model, found = GloVe(num_words, SMALL["width"]), []

            def keep(number, _, model=model, found=found, common=(maximum, lr)):
                if number in GLOVE["updates"]:
                    found.append(((*common, number, "w + w~"), model.vectors))
                    found.append(((*common, number, "w"), model.word.detach().clone()))
            model.fit_counts(table, updates=max(GLOVE["updates"]), lr=lr, maximum=maximum, after_update=keep)
            yield from found


def make_settings() -> None:
    """Settings chosen on another text, by the questions that begin with one of the first three pairs; the chapter uses
    the others."""
    sentences = draw_sentences(SMALL["sentences"], torch.Generator().manual_seed(1))
    vocabulary = Vocabulary.of(word for sentence in sentences for word in sentence)
    corpus = Corpus.of(sentences, vocabulary)
    questions = [asked[:len(asked) // 2] for asked in analogies().values()]
    shares: dict[str, dict[tuple[Any, ...], list[float]]] = {"LSA": {}, "PPMI-SVD": {}, "GloVe": {}}

    def judge(kind: str, settings: tuple[Any, ...], vectors: Tensor) -> None:
        counted = [analogies_right(WordVectors(vocabulary.symbols, vectors), asked) for asked in questions]
        right, of = (sum(column) for column in zip(*counted))
        shares[kind].setdefault(settings, []).append(100 * right / of)

    for by_distance in (False, True):
        table = cooccurrences(corpus, SMALL["window"], by_distance)
        for p in (0.5, 0.0, 0.25, 0.75, 1.0):
            judge("LSA", (by_distance, p), svd_vectors((table.to_dense() + 1).log(), SMALL["width"], p))
            for power in (1.0, 0.75):
                judge("PPMI-SVD", (by_distance, p, power), svd_vectors(ppmi(table, power), SMALL["width"], p))
        for seed in (0, 1, 2):
            for settings, vectors in settings_of_glove(table, len(vocabulary), seed):
                judge("GloVe", (by_distance, *settings), vectors)
    named = {"LSA": ("by_distance", "p"), "PPMI-SVD": ("by_distance", "p", "power"),
             "GloVe": ("by_distance", "maximum", "lr", "updates", "kept")}
    rows = []
    for kind, tried in shares.items():
        means = {settings: float(np.mean(found)) for settings, found in tried.items()}
        for settings in sorted(means, key=means.__getitem__, reverse=True)[:5]:
            print(kind, dict(zip(named[kind], settings)), tried[settings], flush=True)
        best = max(means, key=means.__getitem__)
        rows.append({"model": kind, "parameters": 0, "test": {
            "mean": round(means[best], 1), "over": len(means), "least": round(min(means.values()), 1),
            "each": [round(each, 1) for each in tried[best]], "settings": dict(zip(named[kind], best))}})
    record("word-settings", "% right", rows,
           f"Analogies of the small world, {sum(map(len, questions))} questions that begin with one of the first three "
           f"pairs of each list, on another {SMALL['sentences']:,} sentences than the chapter's; {SMALL['width']} numbers a "
           f"word, windows of {SMALL['window']}. The best of `over` settings, the mean of three seeds for GloVe, and the "
           "worst.",
           {"name": "toy_company"})


STEPS = {"vectors": make_vectors, "documents": make_documents, "topics": make_topics, "settings": make_settings}
if __name__ == "__main__":
    steps.run("benchmarks.word_vectors", __doc__, STEPS)
