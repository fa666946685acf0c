"""Two drawings that compute what they say: MADE's connections, and the numbers of one query."""
from __future__ import annotations

import math
import re
from collections import Counter
from xml.etree import ElementTree

import torch

from course_lib.density import MADE
from course_lib.show.architectures import (
    made,
    query_key_value,
)
from course_lib.show.drawing import SVG, drawing
from course_lib.transformer.attention import attention_weights


def signs(name: str, sign: str, tied: bool | None = None) -> list[str]:
    """The labels of all shapes of a kind; only those with a double line, or without, if asked."""
    found = []
    for node in ElementTree.fromstring(drawing(name).svg).iter(f"{SVG}g"):
        outlines = [e for e in node if e.tag in (f"{SVG}polygon", f"{SVG}rect")]
        if node.get("class").split()[1:] == [f"cd-{sign}"] and (tied is None or tied == (len(outlines) == 2)):
            found.append("".join(node.itertext()))
    return found


def texts(name: str) -> str:
    """All texts of a drawing, one a line."""
    lines = ["".join(text.itertext()) for text in ElementTree.fromstring(drawing(name).svg).iter(f"{SVG}text")]
    return re.sub("[\u2003 ]+", " ", "\n".join(lines))


def shapes(name: str) -> set[tuple[int, ...]]:
    """Every shape that stands in a drawing."""
    return {tuple(map(int, found.split(", "))) for found in re.findall(r"\((\d+(?:, \d+)*)\)", texts(name))}


# --- density ---------------------------------------------------------------------------------------------------------


def test_made_drawing():
    model = MADE(3, (4, 4), order=[1, 2, 0], seed=2)
    assert [degrees.tolist() for degrees in (*model.degrees, model.degrees[0])] == made.DEGREES
    masks = [layer.mask.bool() for layer in model.layers]
    onward = [torch.eye(3)]                                          # paths from a layer to the outputs
    for mask in reversed(masks):
        onward.insert(0, onward[0] @ mask.float())
    lines = list(made.connections())
    assert len(lines) == sum(mask.numel() for mask in masks)
    for line in lines:
        mask = masks[line.layer]
        assert line.is_open == bool(mask[line.target, line.source]), line
        assert line.leads == bool(line.is_open and onward[line.layer + 1][made.OUTPUT, line.target] > 0), line
    assert {line.source for line in lines if line.leads and line.layer == 0} == {1}, "p(x_3 | x_2) reads x_2 alone"

    drawn = Counter(name for path in ElementTree.fromstring(drawing("made").svg).iter(f"{SVG}path")
                    for name in path.get("class").split() if name in ("cd-cut", "cd-cross", "cd-flow", "cd-attend"))
    open_, leading = sum(line.is_open for line in lines), sum(line.leads for line in lines)
    legend = 1                                                       # each kind of line once more, with its meaning
    assert drawn == {"cd-cut": len(lines) - open_ + legend, "cd-cross": len(lines) - open_ + legend,
                     "cd-flow": open_ - leading + legend, "cd-attend": leading + legend}
    assert signs("made", "unit")[3:11] == [str(m) for layer in made.DEGREES[1:3] for m in layer]
    assert {tuple(mask.shape) for mask in masks} == shapes("made")


# --- transformers ----------------------------------------------------------------------------------------------------


def test_query_key_value_drawing():
    vocabulary, i = ["the", "cat", "chases", "dog"], query_key_value.ASKS - 1
    table = torch.randn(4, 8, generator=torch.Generator().manual_seed(6), dtype=torch.float64)
    X = table[[vocabulary.index(word) for word in query_key_value.WORDS]]
    generator = torch.Generator().manual_seed(3)
    W_Q, W_K = (torch.randn(8, 4, generator=generator, dtype=torch.float64) / math.sqrt(8) for _ in range(2))
    W_V = torch.randn(8, 6, generator=generator, dtype=torch.float64)
    q, K = X @ W_Q, X @ W_K
    scores, weights = (q @ K.T / 2)[i], attention_weights(q, K)[i]
    assert [f"{s:.2f}".replace("-", "−") for s in scores.tolist()] == query_key_value.SCORES
    assert [f"{w:.2f}"[1:] for w in weights.tolist()] == query_key_value.WEIGHTS
    assert sum(int(weight[1:]) for weight in query_key_value.WEIGHTS) == 100           # as printed, too: "sum 1"
    assert signs("query_key_value", "unit") == query_key_value.SCORES + query_key_value.WEIGHTS
    assert signs("query_key_value", "weight", tied=True) == ["WK", "WV"]           # W^Q is met by one word here
    wanted = {W_Q.shape, W_V.shape, q[i].shape, K.shape, (X @ W_V).shape, scores.shape, (X @ W_V)[i].shape}
    assert shapes("query_key_value") == set(map(tuple, wanted))
