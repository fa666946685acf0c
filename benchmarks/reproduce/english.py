"""The English sentences that the language models of chapter fill-the-gap read: raw text of the sources of chapter documents, each sentence once."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import torch

from benchmarks.reproduce import word_texts
from benchmarks.reproduce.pretraining import letters
from course_lib import data
from course_lib.data import Splits
from course_lib.data.readers import read_text

SENTENCE = re.compile(r"(?<=[.!?;])\s+")                             # where one ends and the next begins
UNKNOWN = "\u2047"                                                   # stands for <unk>: a sign that no text has
RARE = 100                                                           # a letter seen less often is unknown too
HELD_OUT = 1000                                                      # sentences to validate on, and as many to test on
LICENCE = "each text under its own: " + "; ".join(f"{one.name} ({one.licence})" for one in word_texts.SOURCES.values())
CITATION = "; ".join(one.citation for one in word_texts.SOURCES.values())
INFO = {"protocol": "Sentences of eight sources, lower case, each once; 1,000 held out to validate on and 1,000 to test on, at "
                    "random. No sentence of a part on which this course measures is among them.",
        "licence": LICENCE, "citation": CITATION, "key": "", "comparable_with_papers": False}


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
