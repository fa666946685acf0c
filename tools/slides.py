"""The slides of each deck in their order, from book/slides.tsv: deck, title, the teaching points that the slide is about.

Slides with nothing to teach are not listed: titles, outlines, breaks, references. In brackets stand words of the course, where
slides share a title or have none. Two decks with the same slides share a list.
"""
from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "book" / "slides.tsv"
LISTS = {
    "A25 A24": "Autoregressive models",
    "N": "Generative models for NLP",
    "S": "Sequence processing architectures",
    "T": "Transformer language models",
}


@dataclass(frozen=True)
class Slide:
    """A slide, or several in a row with one title and one subject."""

    deck: str
    title: str
    points: tuple[str, ...]


def slides(table: Path = TABLE) -> list[Slide]:
    with table.open(encoding="utf-8", newline="") as file:
        return [Slide(row["deck"], row["slide"], tuple(row["points"].split()))
                for row in csv.DictReader(file, delimiter="\t")]


def problems(shown: list[Slide], points: Iterable) -> list[str]:
    """What the slides and the teaching points say differently of each other. A point has an id and decks."""
    named = {p.id: set(p.decks.split()) for p in points}
    found = [f"slides.tsv: {s.title!r} is of the deck {s.deck!r}; expected one of {', '.join(map(repr, LISTS))}"
             for s in shown if s.deck not in LISTS]
    order = [s.deck for k, s in enumerate(shown) if not k or shown[k - 1].deck != s.deck]
    if len(order) > len(set(order)):
        found.append("slides.tsv: the slides of a deck do not stand together")
    for s in shown:
        if not s.points:
            found.append(f"slides.tsv: {s.title!r} names no teaching point")
        if sum(s.deck == t.deck and s.title == t.title for t in shown) > 1:
            found.append(f"slides.tsv: {s.deck} has two slides {s.title!r}; tell them apart by words in brackets")
        found += [f"slides.tsv: {s.title!r} names {id}, which is no teaching point" for id in s.points if id not in named]
    for id, decks in named.items():
        there = {deck for s in shown if id in s.points for deck in s.deck.split()}
        found += [f"{id}: no slide of {deck} names it" for deck in sorted(decks - there)]
        found += [f"{id}: a slide of {deck} names it, and its row does not say {deck}" for deck in sorted(there - decks)]
    return found
