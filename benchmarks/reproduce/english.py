"""English sentences, raw text of the sources of chapter documents, each once; and a run of two language models on them, one from each end."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce import word_texts
from benchmarks.reproduce.pretraining import letters
from benchmarks.reproduce.recipes import fitted
from benchmarks.reproduce.run import Job, Parts, Row, Run, Trained, of_items, own
from benchmarks.reproduce.text import by_ngram
from course_lib import data
from course_lib.counting import NGram
from course_lib.data import Splits
from course_lib.data.readers import read_text
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.words import BiLM

SENTENCE = re.compile(r"(?<=[.!?;])\s+")                             # where one ends and the next begins
UNKNOWN = "\u2047"                                                   # stands for <unk>: a sign that no text has
RARE = 100                                                           # a letter seen less often is unknown too
HELD_OUT = 1000                                                      # sentences to validate on, and as many to test on
LICENCE = "each text under its own: " + "; ".join(f"{one.name} ({one.licence})" for one in word_texts.SOURCES.values())
CITATION = "; ".join(one.citation for one in word_texts.SOURCES.values())
INFO = own("Sentences of eight sources, lower case, each once; 1,000 held out to validate on and 1,000 to test on, at random. No sentence "
           "of a part on which this course measures is among them.", CITATION, LICENCE)


class Tagged(NamedTuple):
    """A sentence of the treebank: words, their universal tags, and the relation of each to its head."""

    words: list[str]
    tags: list[str]
    relations: list[str]


def text_of(name: str) -> str:
    return read_text(word_texts.path(name))


def treebank(part: str) -> list[Tagged]:
    """The sentences of UD English EWT; multi-word tokens and empty nodes, whose numbers are no integers, are left out."""
    sentences = []
    for block in text_of({"train": "ud"}.get(part, f"ud {part}")).strip().split("\n\n"):
        rows = [line.split("\t") for line in block.split("\n") if line[0] != "#"]
        rows = [row for row in rows if row[0].isdigit()]
        sentences.append(Tagged([row[1] for row in rows], [row[3] for row in rows], [row[7].split(":")[0] for row in rows]))
    return sentences


def passages(key: str) -> list[str]:
    """Of XQuAD: its contexts, or its questions."""
    paragraphs = [p for article in json.loads(text_of("xquad"))["data"] for p in article["paragraphs"]]
    return [p["context"] for p in paragraphs] if key == "context" else [qa["question"] for p in paragraphs for qa in p["qas"]]


def sources() -> Iterator[tuple[str, list[str]]]:
    """Every source and its sentences, as they stand there."""
    def cut(text: str) -> list[str]:
        return SENTENCE.split(" ".join(text.split()))

    yield "UD English EWT", [" ".join(sentence.words) for sentence in treebank("train")]
    wiki = [line.strip() for name in ("valid", "test") for line in text_of(f"wikitext {name}").split("\n")]
    wiki = [line.replace("<unk>", UNKNOWN).replace(" @", "").replace("@ ", "") for line in wiki if line[:1] not in ("", "=")]
    yield "WikiText-2", [one for line in wiki for one in cut(line)]
    pairs = [line.split("\t") for part in ("dev", "test") for line in text_of(f"snli {part}").strip().split("\n")]
    yield "SNLI", [text for pair in pairs for text in pair[1:]]
    yield "SST-2", data.load_data("sst2").train
    yield "TREC", [question for _, question in word_texts.trec("trec")]
    yield "inaugural addresses", [one for speech in word_texts.addresses().values() for one in cut(speech)]
    yield "Shakespeare", [one for speech in data.load_data("tiny_shakespeare").train.split("\n\n") for one in cut(speech)]
    yield "XQuAD", [one for passage in passages("context") for one in cut(passage)]


def test_parts() -> Iterator[tuple[str, list[str]]]:
    """What the course measures on: no sentence of it is read."""
    for part in ("dev", "test"):
        yield f"UD English EWT {part}", [" ".join(sentence.words) for sentence in treebank(part)]
    for name in ("sst2", "cola"):
        sets = data.load_data(name)
        yield name, [*sets.valid, *sets.test]
    captions = data.load_data("multi30k", source="de", target="en")
    yield "Multi30k", [english for _, english in (*captions.valid, *captions.test)]
    plays = data.load_data("tiny_shakespeare")
    yield "Shakespeare", [one for part in (plays.valid, plays.test) for speech in part.split("\n\n")
                          for one in SENTENCE.split(" ".join(speech.split()))]
    yield "TREC", [question for _, question in word_texts.trec("trec test")]
    yield "XQuAD", passages("question")


@cache
def sentences() -> list[str]:
    """All sentences, in the order of the sources: lower case, letters that are rare replaced by one sign."""
    banned = {letters(text) for _, texts in test_parts() for text in texts}
    kept = []
    for _, texts in sources():
        for text in texts:
            key = letters(text)
            if key and key not in banned:
                banned.add(key)
                kept.append(text.lower())
    count = Counter("".join(kept))
    rare = {ord(c): UNKNOWN for c in count if count[c] < RARE}
    return [text.translate(rare) for text in kept]


@cache
def draw() -> Splits:
    """In random order: what is read, 1,000 sentences to validate on, 1,000 to test on."""
    texts = sentences()
    order = torch.randperm(len(texts), generator=torch.Generator().manual_seed(0)).tolist()
    parts = {"test": order[:HELD_OUT], "valid": order[HELD_OUT:2 * HELD_OUT], "train": order[2 * HELD_OUT:]}
    return Splits("english", *([texts[i] for i in parts[part]] for part in ("train", "valid", "test")), info=INFO)


PIECES, LENGTH = 4000, 40                                            # symbols; pieces of a row
WEIGHTS = "elmo-english"


def in_rows(splits: Splits, length: int = LENGTH) -> Parts:
    """Sentences as pieces, [SEP] before and after each; what is left over at the end of a part is not used."""
    tokenizer = pieces(tuple(splits.train))
    edge = tokenizer.vocabulary.eos_id
    parts = []
    for part in ("train", "valid", "test"):
        stream = torch.cat([tokenizer.encode(text, eos=True) for text in getattr(splits, part)])
        stream = F.pad(stream, (1, 0), value=edge)
        parts.append(stream[:len(stream) // length * length].view(-1, length))
    return Parts(*parts, {**splits.info, "tokenizer": tokenizer.config})


@lru_cache(maxsize=1)
def pieces(texts: tuple[str, ...]) -> WordPieceTokenizer:
    """Word pieces learnt from what is read; the sign for what is unknown is none of them."""
    return WordPieceTokenizer.fit("\n".join(texts).replace(UNKNOWN, " "), PIECES)


def by_both_ways(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Next and previous pieces by AdamW; the last weights stay."""
    return fitted(job, row, {**settings, "checkpoint_every": 200}, name)


@torch.no_grad()
def nats_a_piece(model: nn.Module, part: Int[Tensor, "N T"]) -> dict[str, Any]:
    """Minus log p of a piece given its row, in nats, its standard error over rows; of both directions the mean, and each."""
    if isinstance(model, NGram):
        m = max(model.memory, 1)                                     # all models predict from the second piece on
        each = {"": -model.log_prob(part[:, m:], part[:, :m]) / (LENGTH - m)}
    else:
        each = {"forward": [], "backward": []}
        for rows in part.split(50):
            after, before = model.eval()(rows)
            each["forward"].append(F.cross_entropy(after[:, :-1].mT, rows[:, 1:], reduction="none").mean(dim=1))
            each["backward"].append(F.cross_entropy(before[:, 1:].mT, rows[:, :-1], reduction="none").mean(dim=1))
        each = {way: torch.cat(rows) for way, rows in each.items()}
    nats = torch.stack([rows.double() for rows in each.values()]).mean(dim=0)              # (N,)
    return of_items(nats, part.numel()) | {way: round(rows.mean().item(), 4) for way, rows in each.items() if way}


RUNS: dict[str, Run] = {run.name: run for run in (
    Run("elmo-english", "english", (
        Row("unigram", NGram, by_ngram, {"n": 1}, {"smoothing": "add", "alpha": 0.1}, measure=nats_a_piece),
        Row("bigram", NGram, by_ngram, {"n": 2}, {"smoothing": "kneser-ney"}, measure=nats_a_piece),
        Row("two LSTM language models, one from each end", BiLM, by_both_ways,
            {"vocab_size": PIECES, "width": 160, "layers": 2, "dropout": 0.1},
            {"epochs": 6, "batch_size": 64, "lr": 4e-3, "schedule": "linear", "warmup": 200, "clip": 1.0},
            measure=nats_a_piece, weights=WEIGHTS),
    ), draw=draw, prepare=in_rows, unit="nats a word piece",
        note="English sentences of eight sources, 4,000 word pieces. The counts read forward; the two language models predict "
             "each piece from what is before it and, apart, from what is after it: the figure is the mean of both directions."),
)}
