"""Descriptions of words in their sentences: by hand, by vectors, by the layers of a network. Several runs on tags share them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor

from benchmarks.reproduce import bert_english, english
from benchmarks.reproduce.english import Tagged
from course_lib import hub
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.tokenizers.batching import pad
from course_lib.transformer import join_segments
from course_lib.transformer.bert import BERT
from course_lib.words import BiLM
from course_lib.words.elmo import words_of_pieces

ROOM = bert_english.LENGTH - 2                                       # pieces of a sentence between [CLS] and [SEP]

Described = Float[np.ndarray, "N F"] | sparse.csr_matrix             # a row a word


def by_hand(train: list[Tagged]) -> Callable[[list[Tagged]], Described]:
    """The word, its last one, two and three letters, the word before and the word after: a column each."""
    def signs(sentences: list[Tagged]) -> Iterator[list[str]]:
        for sentence in sentences:
            words = ["<s>", *(word.lower() for word in sentence.words), "</s>"]
            for before, word, after in zip(words, words[1:], words[2:]):
                yield [f"word {word}", *(f"{k} letters {word[-k:]}" for k in (1, 2, 3)), f"before {before}", f"after {after}"]

    columns = dict.fromkeys(sign for found in signs(train) for sign in found)
    table = CountVectorizer(analyzer=lambda found: found, vocabulary=columns.keys(), binary=True, dtype=np.float32)
    return lambda sentences: table.transform(signs(sentences))


def by_word_vectors(train: list[Tagged]) -> Callable[[list[Tagged]], Described]:
    """The stored vectors (chapter word-vectors) of the word and of both neighbours, side by side; zeros for a word without one."""
    vectors = hub.load("english-words")
    table = F.pad(F.normalize(vectors.table, dim=1), (0, 0, 0, 1))
    unknown = len(vectors)

    def describe(sentences: list[Tagged]) -> Described:
        rows = []
        for sentence in sentences:
            ids = [vectors.vocabulary.id(w) if w in vectors else unknown for w in (word.lower() for word in sentence.words)]
            ids = torch.tensor([unknown, *ids, unknown])
            rows.append(table[ids].unfold(0, 3, 1).flatten(1))       # (words, 3 D)
        return torch.cat(rows).numpy()
    return describe


class Pieces(NamedTuple):
    """A sentence, or a part of one that the window holds, as word pieces: of which word each is, -1 for signs."""

    tokens: Int[Tensor, "T"]
    word: Int[Tensor, "T"]


def cut(sentence: Tagged, tokenizer: WordPieceTokenizer, first_id: int | None = None) -> Iterator[Pieces]:
    """[CLS] ... [SEP], or `first_id` in place of [CLS]; a sentence that is too long goes on in the next row, and a word is never
    cut by the edge."""
    cls, sep = tokenizer.vocabulary.bos_id if first_id is None else first_id, tokenizer.vocabulary.eos_id
    unknown = torch.tensor([tokenizer.vocabulary.id("[UNK]")])
    row, numbers, first = [], [], 0
    for number, word in enumerate(sentence.words):
        found = tokenizer.encode(word)[:ROOM]
        found = found if len(found) else unknown
        if len(numbers) + len(found) > ROOM:
            yield Pieces(join_segments(torch.cat(row), None, cls, sep)[0], torch.tensor([-1, *numbers, -1]))
            row, numbers, first = [], [], number
        row.append(found)
        numbers += [number - first] * len(found)
    yield Pieces(join_segments(torch.cat(row), None, cls, sep)[0], torch.tensor([-1, *numbers, -1]))


def by_states(model: BERT | BiLM, tokenizer: WordPieceTokenizer, first_id: int | None = None) -> Callable[[list[Tagged]], Described]:
    """All layers of a network side by side, the mean over the pieces of a word. `first_id` as in `cut`."""
    @torch.no_grad()
    def describe(sentences: list[Tagged]) -> Described:
        rows = [pieces for sentence in sentences for pieces in cut(sentence, tokenizer, first_id)]
        found: list[Tensor] = [torch.empty(0)] * len(rows)
        order = sorted(range(len(rows)), key=lambda k: len(rows[k].tokens))          # rows of like length are read together
        for some in torch.tensor(order).split(100):
            some = some.tolist()
            tokens, mask = pad([rows[k].tokens for k in some], tokenizer.vocabulary.pad_id)
            word, _ = pad([rows[k].word for k in some], -1)
            words = int(word.max()) + 1
            states = torch.cat(model.states(tokens, mask=mask), dim=-1)              # (B, T, E)
            for k, vectors in zip(some, words_of_pieces(states, word, words)):
                found[k] = vectors[:int(rows[k].word.max()) + 1]
        return torch.cat(found).numpy()
    model.eval()
    return describe


@cache
def pieces_of(name: str) -> WordPieceTokenizer:
    return WordPieceTokenizer.from_config(hub.card(name).training["tokenizer"])


def pieces_of_bert() -> WordPieceTokenizer:
    return pieces_of(bert_english.WEIGHTS)


def pieces_of_elmo() -> WordPieceTokenizer:
    return pieces_of(english.WEIGHTS)


@cache
def fresh_bert(vectors: bool, seed: int = 0) -> BERT:
    """The network of the stored weights before its first update."""
    torch.manual_seed(seed)
    rows = bert_english.packed(english.draw()).train if vectors else torch.empty(0)
    return bert_english.begun(bert_english.bert(**bert_english.SIZE), rows, vectors)


def fresh_elmo(seed: int = 0) -> BiLM:
    """Language models of the size of the stored ones that have read nothing."""
    torch.manual_seed(seed)
    return BiLM(**hub.load(english.WEIGHTS).config)


def by_elmo(trained: bool) -> Callable[[list[Tagged]], Described]:
    """The stored language models of chapter fill-the-gap, or such as are not trained; an edge before the sentence and after it, as there."""
    model = hub.load(english.WEIGHTS) if trained else fresh_elmo()
    return by_states(model, pieces_of_elmo(), pieces_of_elmo().vocabulary.eos_id)


def with_hand_features(train: list[Tagged]) -> Callable[[list[Tagged]], Described]:
    """The hand features and ELMo's layers, these with deviation 1, side by side."""
    hand, network = by_hand(train), by_elmo(trained=True)
    known = network(train[:1000])
    mean, scale = known.mean(axis=0), known.std(axis=0) + 1e-6

    def describe(sentences: list[Tagged]) -> Described:
        return sparse.hstack([hand(sentences), sparse.csr_matrix((network(sentences) - mean) / scale)]).tocsr()
    return describe


DESCRIPTIONS: dict[str, Callable[[list[Tagged]], Callable[[list[Tagged]], Described]]] = {
    "hand features": by_hand,
    "word vectors": by_word_vectors,
    "BERT, untrained": lambda _: by_states(fresh_bert(vectors=False), pieces_of_bert()),
    "BERT before its first update": lambda _: by_states(fresh_bert(vectors=True), pieces_of_bert()),
    "BERT": lambda _: by_states(hub.load(bert_english.WEIGHTS), pieces_of_bert()),
    "ELMo, untrained": lambda _: by_elmo(trained=False),
    "ELMo": lambda _: by_elmo(trained=True),
    "hand features and ELMo": with_hand_features,
}
