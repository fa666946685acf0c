"""Samples of shipped models for the start page and README.md: two drawings, and a text between the marks of both pages.

Everything is sampled anew from the weights that ship with the package, in float64 and from seed 0.
"""
from __future__ import annotations

from pathlib import Path

from book._tools.chapters import README, ROOT, between

INTRO, DRAWINGS = ROOT / "book" / "intro.md", ROOT / "book" / "drawings"
SIDE, GAP, COLUMNS = 28, 4, 8
PROMPT, TEMPERATURE, LENGTH = "KING RICHARD:\n", 0.5, 240
SENTENCE = "the girl near the dogs sees the ball ."


def digits(model) -> str:
    """Sixteen images sampled by NADE. On load they appear pixel by pixel, once; where motion is unwanted they are there at once."""
    import torch

    from book._tools.picture import Picture

    x = model.sample(2 * COLUMNS, generator=torch.Generator().manual_seed(0)).long()              # (16, 784)
    width, height = COLUMNS * (SIDE + GAP) + GAP, 2 * (SIDE + GAP) + GAP
    art = Picture(width, height, "Digits sampled by NADE, pixel by pixel", f"{2 * COLUMNS} images of {SIDE} by {SIDE} pixels.")
    for k, image in enumerate(x):
        row, column = divmod(k, COLUMNS)
        left, top = GAP + column * (SIDE + GAP), GAP + row * (SIDE + GAP)
        art.square(left, top, SIDE, SIDE, "data-tint")
        art.pixels(left, top, image.view(SIDE, SIDE).tolist(), "data" if k == 0 else "ink")
    for row in range(2):
        for column in range(COLUMNS):
            art.cover(GAP + column * (SIDE + GAP), GAP + row * (SIDE + GAP), SIDE, 4)
    return art.svg()


def play(model, tokenizer) -> str:
    """What the GPT writes after the prompt, up to its last whole line of speech."""
    import torch

    from course_lib.decoding import sample

    sampled = sample(model, length=LENGTH, context=tokenizer.encode(f"\n\n{PROMPT}")[None], temperature=TEMPERATURE,
                     generator=torch.Generator().manual_seed(0))
    lines = tokenizer.decode(sampled.tokens[0]).split("\n")[:-1]
    while lines and (not lines[-1] or lines[-1].endswith(":")):
        lines.pop()
    return PROMPT + "\n".join(lines).strip()


def attention(model) -> str:
    """Of all heads, the one whose query at the full stop gives most weight to the subject: the pronoun comes next."""
    import torch

    from book._tools.picture import Picture
    from course_lib.data import toy_agreement

    tokens, _ = toy_agreement.to_ids([SENTENCE])                     # (1, T)
    words = [toy_agreement.BOS, *SENTENCE.split()]
    with torch.no_grad():
        weights = torch.stack(model.attention_weights(tokens), 1)[0]                 # (L, H, T, T)
    layer, head = divmod(int(weights[:, :, -1, words.index("girl")].flatten().argmax()), weights.shape[1])
    T, cell, left, top = len(words), 29, 52, 56
    art = Picture(360, top + T * cell + 12, f"Attention of head {head + 1} in layer {layer + 1}",
                  f"Attention weights of the text “{SENTENCE}” as a triangle of squares, a row for each query.")
    for i, word in enumerate(words):
        art.turned(left + i * cell + cell / 2, top - 8, word)
        art.text(left - 6, top + i * cell + cell / 2, word, 12, anchor="end")
        for j in range(i + 1):
            art.square(left + j * cell + 1, top + i * cell + 1, cell - 2, cell - 2, "ink-tint")
            if weight := round(float(weights[layer, head, i, j]), 2):
                art.square(left + j * cell + 1, top + i * cell + 1, cell - 2, cell - 2, "data", weight)
    art.outline(left - 1, top + (T - 1) * cell - 1, T * cell + 2, cell + 2, "learn")
    return art.svg()


def wanted() -> dict[Path, str]:
    from course_lib import hub
    from course_lib.tokenizers import CharTokenizer

    painter, writer, reader = (hub.load(name).double().eval() for name in (
        "nade-binarized-mnist", "gpt-tiny-shakespeare-long", "gpt-agreement"))
    tokenizer = CharTokenizer.from_config(hub.card("gpt-tiny-shakespeare-long").training["tokenizer"])
    text = f"```text\n{play(writer, tokenizer)}\n```"
    return {DRAWINGS / "front-digits.svg": digits(painter), DRAWINGS / "front-attention.svg": attention(reader),
            **{path: between(path.read_text("utf-8"), "sample", text) for path in (INTRO, README)}}
