"""What the models of the course make, for the front page and README.md: digits, a play, the attention of a sentence.

    python tools/front_page.py            draw the pictures, write the blocks between their marks
    python tools/front_page.py --check    fail if one is stale

Everything is drawn anew from the weights that ship with the package, in float64 and from seed 0: nothing is chosen by hand.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from course_lib import hub  # noqa: E402
from course_lib.data import toy_agreement  # noqa: E402
from course_lib.decoding import sample  # noqa: E402
from course_lib.tokenizers import CharTokenizer  # noqa: E402
from tools.chapters import between, chapters  # noqa: E402
from tools.picture import Picture  # noqa: E402

INTRO, README, DRAWINGS = ROOT / "book" / "intro.md", ROOT / "README.md", ROOT / "book" / "drawings"
SIDE, GAP, COLUMNS = 28, 4, 8
PAINTER, WRITER, READER = "nade-binarized-mnist", "gpt-tiny-shakespeare-long", "gpt-agreement"
PROMPT, TEMPERATURE, LENGTH = "KING RICHARD:\n", 0.5, 240
SENTENCE = "the girl near the dogs sees the ball ."
SEED = 0


# --- what they make --------------------------------------------------------------------------------------------------


def digits(model) -> Tensor:
    """Two rows of images, (16, 784): the first ones that the seed gives."""
    return model.sample(2 * COLUMNS, generator=torch.Generator().manual_seed(SEED)).long()


def play(model) -> str:
    """What the GPT writes after the prompt, up to its last whole line of speech."""
    tokenizer = CharTokenizer.from_config(hub.card(WRITER).training["tokenizer"])
    prompt = tokenizer.encode(f"\n\n{PROMPT}")[None]                 # (1, P)
    drawn = sample(model, length=LENGTH, context=prompt, temperature=TEMPERATURE,
                   generator=torch.Generator().manual_seed(SEED))
    lines = tokenizer.decode(drawn.tokens[0]).split("\n")[:-1]
    while lines and (not lines[-1] or lines[-1].endswith(":")):      # a speaker who says nothing any more
        lines.pop()
    return PROMPT + "\n".join(lines).strip()


class Attention(NamedTuple):
    """Weights (T, T) of one head, its layer and place (both from 1), the words, start symbol first, and the likeliest next one."""

    weights: list[list[float]]
    layer: int
    head: int
    words: list[str]
    says: str


def attention(model) -> Attention:
    """Of all heads, the one that at the full stop gives most to the subject, whose pronoun comes next."""
    tokens, _ = toy_agreement.to_ids([SENTENCE])                     # (1, T)
    with torch.no_grad():
        weights = torch.stack(model.attention_weights(tokens), 1)[0]                 # (L, H, T, T)
        says = toy_agreement.vocabulary().symbol(int(model(tokens)[0, -1].argmax()))
    words = [toy_agreement.BOS, *SENTENCE.split()]
    asks, asked = len(words) - 1, words.index("girl")
    best = int(weights[:, :, asks, asked].flatten().argmax())
    layer, head = divmod(best, weights.shape[1])
    return Attention([[round(w, 2) for w in row] for row in weights[layer, head].tolist()], layer + 1, head + 1,
                     words, says)


# --- how it is drawn -------------------------------------------------------------------------------------------------


def picture_of_digits(x: Tensor) -> str:
    """Above, the first image while it is drawn; below, all of them."""
    n = SIDE * SIDE
    width, height = COLUMNS * (SIDE + GAP) + GAP, 3 * (SIDE + GAP) + 2 * GAP
    art = Picture(width, height, "Digits drawn by NADE, pixel by pixel", alt_of_digits())
    for column in range(COLUMNS):
        known = n * (column + 1) // COLUMNS
        left, top = GAP + column * (SIDE + GAP), GAP
        full, rest = divmod(known, SIDE)
        art.square(left, top, SIDE, SIDE, "ink-tint")                # what is not drawn yet, below what is
        art.square(left, top, SIDE, full, "data-tint")
        if rest:
            art.square(left, top + full, rest, 1, "data-tint")
        grown = torch.where(torch.arange(n) < known, x[0], 0)
        art.pixels(left, top, grown.view(SIDE, SIDE).tolist(), "data")
    for k, image in enumerate(x):
        row, column = divmod(k, COLUMNS)
        art.pixels(GAP + column * (SIDE + GAP), 3 * GAP + (row + 1) * (SIDE + GAP), image.view(SIDE, SIDE).tolist())
    return art.svg()


def alt_of_digits() -> str:
    return (f"Three rows of {COLUMNS} small black and white images of {SIDE} by {SIDE} pixels. In the first row one digit "
            f"grows from the top, an eighth of its pixels more from image to image. The other two rows are {2 * COLUMNS} "
            "finished images: many can be read as a digit, some are broken strokes.")


def picture_of_attention(a: Attention) -> str:
    T, cell, left, top = len(a.words), 29, 52, 56
    art = Picture(360, top + T * cell + 12, f"Attention of head {a.head} in layer {a.layer}", alt_of_attention(a))
    for j, word in enumerate(a.words):
        art.turned(left + j * cell + cell / 2, top - 8, word, 45)
        art.text(left - 6, top + j * cell + cell / 2, a.words[j], 12, anchor="end")
    for i in range(T):
        for j in range(i + 1):
            art.square(left + j * cell + 1, top + i * cell + 1, cell - 2, cell - 2, "ink-tint")
            if a.weights[i][j] > 0:
                art.square(left + j * cell + 1, top + i * cell + 1, cell - 2, cell - 2, "data", a.weights[i][j])
    art.outline(left - 1, top + (T - 1) * cell - 1, T * cell + 2, cell + 2, "learn")
    return art.svg()


def alt_of_attention(a: Attention) -> str:
    last = sorted(zip(a.weights[-1], a.words), reverse=True)
    return (f"Attention weights of the text “{SENTENCE}” as a triangle of squares: a row for each word that asks, a column for "
            f"each word that is asked, itself and those before it. In the framed last row the full stop gives {last[0][0]:.2f} "
            f"to “{last[0][1]}” and {last[1][0]:.2f} to “{last[1][1]}”.")


# --- the pages -------------------------------------------------------------------------------------------------------


def made() -> tuple[dict[str, str], str, Attention, dict[str, int]]:
    """The pictures by name, the play, the attention, and how many parameters each model has."""
    models = {name: hub.load(name).double().eval() for name in (PAINTER, WRITER, READER)}
    a = attention(models[READER])
    pictures = {"front-digits": picture_of_digits(digits(models[PAINTER])), "front-attention": picture_of_attention(a)}
    return pictures, play(models[WRITER]), a, {name: sum(p.numel() for p in m.parameters()) for name, m in models.items()}


def chapter(number: str, folder: str = "") -> str:
    return f"[Chapter {int(number)}]({folder}{chapters()[number]['notebook']})"


def for_intro(text: str, a: Attention, size: dict[str, int]) -> str:
    """The strip of the front page."""
    return "\n".join([
        ":::::{div} course-strip", "",
        "::::{div} course-strip-wide",
        ":::{image} drawings/front-digits.svg", ":class: course-drawing dark-light", f":alt: {alt_of_digits()}", ":::", "",
        f"**Nobody wrote these digits.** NADE drew them, one pixel after another: {SIDE * SIDE} conditionals that share one "
        f"matrix. Above, the first of them while it is drawn; below, the first {2 * COLUMNS} that the seed gives. {chapter('04')}",
        "::::", "",
        "::::{div} course-strip-half",
        "```text", text, "```", "",
        f"**It learned from characters alone**: real words, most of them, in lines of verse. A GPT of {size[WRITER]:,} parameters goes on from "
        f"“{PROMPT.strip()}”, at temperature {TEMPERATURE}. {chapter('16')}",
        "::::", "",
        "::::{div} course-strip-half",
        ":::{image} drawings/front-attention.svg", ":class: course-drawing dark-light", f":alt: {alt_of_attention(a)}", ":::", "",
        f"**Whom does a word ask?** One head of a GPT of {size[READER]:,} parameters. The next word that the GPT expects is "
        f"“{a.says}”, and here the full stop asks “{max(zip(a.weights[-1], a.words))[1]}”. Is that the reason? {chapter('13')} "
        "takes the head away and looks.",
        "::::", "",
        ":::::"])


def for_readme(text: str, size: dict[str, int]) -> str:
    """Digits and a play."""
    quoted = "\n".join(["```text", text, "```"])
    return "\n".join([
        f"![{alt_of_digits()}](book/drawings/front-digits.svg)", "",
        f"Digits by NADE, one pixel after another ({chapter('04', 'book/').replace('Chapter', 'chapter')}), and "
        f"what a GPT of {size[WRITER]:,} parameters writes after “{PROMPT.strip()}”, at temperature {TEMPERATURE} "
        f"({chapter('16', 'book/').replace('Chapter', 'chapter')}). Both from seed 0, none chosen:", "", quoted])


def wanted() -> dict[Path, str]:
    pictures, text, a, size = made()
    pages = {DRAWINGS / f"{name}.svg": svg for name, svg in pictures.items()}
    for path, block in ((INTRO, for_intro(text, a, size)), (README, for_readme(text, size))):
        pages[path] = between(path.read_text(encoding="utf-8"), "outputs", block)
    return pages


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture or a block is stale")
    check = parser.parse_args(arguments).check
    pages = wanted()
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is stale: run python tools/front_page.py", file=sys.stderr)
        else:
            path.write_text(pages[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
