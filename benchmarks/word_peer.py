"""gensim's skip-gram on the text of the shipped word vectors, beside that of this course.

    python -m benchmarks.word_peer peer        three rates, then three seeds of the best: seven minutes

The course's figures are those of the record word-vectors. gensim and its two dependencies are in
requirements-bench.txt.
"""
from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from benchmarks import steps, store
from benchmarks.figures import standard_error
from benchmarks.reproduce import word_texts
from benchmarks.speed.comparison import peer
from benchmarks.word_vectors import KEPT, MIN_COUNT, SKIP_GRAM, WIDTH, measured, worth
from course_lib.tokenizers import Vocabulary
from course_lib.words import Corpus, WordVectors

SEEDS = range(3)
RATES = (0.025, 0.05, 0.1)                                           # of gensim: its own, twice and four times that
LISTS = ("WordSim-353", "SimLex-999", "RG-65", "family analogies", "analogies that chose nothing")


def theirs(text: list[list[str]], words: list[str], seed: int, rate: float) -> Tensor:
    """gensim's vectors, in the order of `words`; common settings are the same."""
    model = peer("gensim.models").Word2Vec(
        text, sg=1, vector_size=WIDTH, window=SKIP_GRAM["window"], negative=SKIP_GRAM["negatives"], ns_exponent=0.75,
        sample=SKIP_GRAM["threshold"], min_count=MIN_COUNT, epochs=SKIP_GRAM["epochs"], alpha=rate, min_alpha=rate / 250,
        workers=1, seed=seed + 1)
    return torch.from_numpy(model.wv[words].copy())


def row(name: str, tables: Iterable[Tensor], words: list[str]) -> tuple[dict[str, Any], list[float]]:
    """Mean over seeds of each word list, its standard error and each seed's value; CPU seconds of each seed."""
    found, seconds, began = [], [], time.process_time()
    for table in tables:
        seconds.append(time.process_time() - began)
        found.append(measured(WordVectors(words[:KEPT], table[:KEPT].half().float())))
        print(name, {each: figures["mean"] for each, figures in found[-1].items()}, f"{seconds[-1]:.0f} s", flush=True)
        began = time.process_time()
    test = {}
    for each in LISTS:
        means = [one[each]["mean"] for one in found]
        test[each] = {"mean": round(sum(means) / len(means), 3), "standard_error": round(standard_error(means), 3), "each": means,
                      "over": found[0][each]["over"], "of": found[0][each]["of"]}
    return {"model": name, "parameters": KEPT * WIDTH, "test": test}, seconds


def make_peer() -> None:
    text, given = word_texts.training_text()
    vocabulary = Vocabulary.of((word for sentence in text for word in sentence), min_count=MIN_COUNT)
    corpus, words = Corpus.of(text, vocabulary), list(vocabulary.symbols)
    tried = {}
    for rate in RATES:
        tried[rate] = worth(WordVectors(words, theirs(text, words, 0, rate)))
        print(rate, tried[rate], flush=True)
    best = max(tried, key=lambda rate: tried[rate]["worth"])
    version = peer("gensim").__version__
    stored = store.read()["word-vectors"]
    own = next(each for each in stored["rows"] if each["model"].startswith("skip-gram"))
    other, seconds = row(f"gensim {version}, three seeds", (theirs(text, words, seed, best) for seed in SEEDS), words)
    gap = {each: round(own["test"][each]["mean"] - other["test"][each]["mean"], 3) for each in LISTS}
    told = [stored["data"]["words_a_second"], round(SKIP_GRAM["epochs"] * len(corpus.tokens) * len(seconds) / sum(seconds))]
    steps.record("benchmarks.word_peer", "words", "word-peer", "Spearman's correlation; share right", [own, other],
                 f"On the text of the shipped vectors, which both read {SKIP_GRAM['epochs']} times with the same width, window, number of "
                 "negatives and subsampling; gensim's rate is the best of three by RG-65 and every other analogy, and its figures are "
                 f"means of three seeds. gensim, which is compiled, read {told[1]:,} words a CPU second on one thread; this course "
                 f"{told[0]:,}, measured for word-vectors, maybe on another processor.",
                 {"name": "word_texts", "sources": given, "tried": tried, "rate": best, "ahead": gap, "words_a_second": told})


STEPS = {"peer": make_peer}
if __name__ == "__main__":
    steps.run("benchmarks.word_peer", __doc__, STEPS)
