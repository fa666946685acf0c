"""Ten thousand words of prose, written for the course and frozen: nine pieces about one small town by the sea.

The text is used for counting and training without a network connection or a data set. The files are part of the course's
text, under its licence, CC BY 4.0. They never change, because figures in the book depend on every character.
"""

from __future__ import annotations

from pathlib import Path

PARTS = ("train", "valid", "test")


def load_prose(part: str | None = None) -> str:
    """Return the prose as one string: plain ASCII, one paragraph per line.

    part  "train", "valid" or "test"; None: the whole text

    Each of the nine pieces has ten paragraphs: the first eight are "train", the ninth "valid", the tenth "test". The
    parts therefore share no sentence, and all nine subjects occur in each part. Raises ValueError for an unknown part.
    """
    if part is not None and part not in PARTS:
        raise ValueError(f"part is {part!r}; expected one of {', '.join(PARTS)}, or None for the whole")
    block = {None: slice(None), "train": slice(0, 8), "valid": slice(8, 9), "test": slice(9, 10)}[part]
    pieces = sorted(Path(__file__).parent.glob("*.txt"))
    paragraphs = [piece.read_text(encoding="ascii").split("\n\n")[block] for piece in pieces]
    return "".join(paragraph.strip() + "\n" for kept in paragraphs for paragraph in kept)
