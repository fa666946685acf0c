"""Byte-pair encoding beside Hugging Face's tokenizers (Rust); word vectors beside gensim (compiled). The text is tiny_shakespeare."""

from __future__ import annotations

import re
from functools import cache, partial

import torch

from benchmarks.speed.comparison import Comparison, peer
from course_lib.data import load_data
from course_lib.tokenizers import BytePairTokenizer, Vocabulary
from course_lib.words import CBOW, Corpus, SkipGram
from course_lib.words.word2vec import train

SYMBOLS = 4000                                                       # of the byte-pair vocabulary
WIDTH, WINDOW, NEGATIVES = 100, 5, 5


@cache
def text() -> str:
    data = load_data("tiny_shakespeare")
    return data.train + data.valid + data.test


def learned_in_rust():
    """A byte-level tokenizer of Hugging Face's library, trained on the text."""
    library = peer("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator([text()], library.trainers.BpeTrainer(
        vocab_size=SYMBOLS, initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    return tokenizer


def fitting() -> Comparison:
    """Learning byte pairs from a text."""
    ours, theirs = BytePairTokenizer.fit(text(), SYMBOLS), learned_in_rust()
    if len(ours.vocabulary) != theirs.get_vocab_size():
        raise AssertionError("the two learn vocabularies of different sizes")
    return Comparison(
        f"Byte-pair encoding: {SYMBOLS:,} symbols learned from 1.1 MB of text",
        "Both begin with the 256 bytes, split words alike, and learn as many merges; pairs that are equally frequent may be merged in "
        "another order.",
        {"course_lib": lambda: BytePairTokenizer.fit(text(), SYMBOLS), "tokenizers (Rust)": learned_in_rust},
        fast="course_lib", slow="tokenizers (Rust)")


def encoding() -> Comparison:
    """Encoding a text with the same merges."""
    library = peer("tokenizers")
    ours = BytePairTokenizer.fit(text(), SYMBOLS)
    ids = {symbol: i for i, symbol in enumerate(ours.vocabulary.symbols)}
    theirs = library.Tokenizer(library.models.BPE(vocab=ids, merges=ours.merges))
    theirs.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)

    def fast() -> list[int]:
        return ours.encode(text())

    def slow() -> list[int]:
        return theirs.encode(text()).ids

    if list(fast()) != slow():
        raise AssertionError("the two give different ids")
    return Comparison(
        "Byte-pair encoding: 1.1 MB of text with given merges",
        "Same vocabulary, same merges, same ids. Both keep the tokens of the words that they have encoded before, and each encodes the text "
        "more than once.",
        {"course_lib": fast, "tokenizers (Rust)": slow}, fast="course_lib", slow="tokenizers (Rust)")


def word_vectors(kind: type[SkipGram]) -> Comparison:
    """One epoch of training."""
    library = peer("gensim.models")
    sentences = [re.findall(r"[a-z']+", line) for line in text().lower().splitlines()]
    vocabulary = Vocabulary.of((word for line in sentences for word in line), min_count=5)
    corpus = Corpus.of(sentences, vocabulary)

    def ours() -> torch.Tensor:
        torch.manual_seed(0)
        model = kind(len(vocabulary), WIDTH)
        train(model, corpus, epochs=1, window=WINDOW, negatives=NEGATIVES)
        return model.centre.weight.detach()

    def theirs() -> torch.Tensor:
        model = library.Word2Vec(sentences, sg=int(kind is SkipGram), vector_size=WIDTH, window=WINDOW, negative=NEGATIVES,
                                 sample=0, min_count=5, epochs=1, workers=1)
        return torch.from_numpy(model.wv.vectors)

    if ours().shape != theirs().shape:
        raise AssertionError("the two have different vocabularies")
    name = "skip-gram" if kind is SkipGram else "CBOW"
    return Comparison(
        f"Word vectors by {name}, width {WIDTH}: one epoch over 1.1 MB of text",
        f"Window {WINDOW}, {NEGATIVES} negatives, words that occur at least 5 times, no subsampling, one thread. gensim's time includes "
        "its count of the words, and its loop is compiled; the course trains with torch in batches.",
        {"course_lib": ours, "gensim": theirs}, fast="course_lib", slow="gensim")


COMPARISONS = {"speed-byte-pairs-fit": fitting, "speed-byte-pairs-encode": encoding,
               "speed-skip-gram": partial(word_vectors, SkipGram), "speed-cbow": partial(word_vectors, CBOW)}
