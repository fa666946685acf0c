"""Ten thousand words of prose, written for the course and frozen: nine pieces about one small town by the sea.

Text to count and to train on where there is no network and no data set. The files are part of the course's text, under
its licence, CC BY 4.0. They never change: figures in the book depend on every character.
"""

from __future__ import annotations

from pathlib import Path

PARTS = ("train", "valid", "test")


def load_prose(part: str | None = None) -> str:
    """The prose, or one part of it: plain ASCII, a paragraph a line.

    Each of the nine pieces has ten paragraphs: the first eight are "train", the ninth "valid", the tenth "test". So the
    parts are blocks that do not touch a sentence of each other, and all nine subjects are in each. Raises ValueError
    for another part.
    """
    if part is not None and part not in PARTS:
        raise ValueError(f"part is {part!r}; there are {', '.join(PARTS)}, and None for the whole")
    block = {None: slice(None), "train": slice(0, 8), "valid": slice(8, 9), "test": slice(9, 10)}[part]
    pieces = sorted(Path(__file__).parent.glob("*.txt"))
    paragraphs = [piece.read_text(encoding="ascii").split("\n\n")[block] for piece in pieces]
    return "".join(paragraph.strip() + "\n" for kept in paragraphs for paragraph in kept)
