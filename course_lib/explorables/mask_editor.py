"""Attention weights under an editable mask, and the dependence of outputs on inputs after one and two layers.

Words are counted from 0 here, from 1 in the figure. `mask[i][j]` is True if word i may attend to word j.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import traitlets
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, script, style

WORDS = ["the", "cat", "chases", "dog", "(padding)"]
SCORES = [[0.3, 1.2, -0.5, 0.8, 0.1],                               # made for the figure: both signs, no two rows alike
          [1.1, -0.2, 1.6, 0.4, 0.9],
          [-0.7, 1.8, 0.2, 1.3, -0.4],
          [0.9, 0.6, 2.1, -0.3, 0.5],
          [0.2, -1.0, 0.7, 1.4, -0.6]]
MOST = 8                                                             # largest number of words


def masked_weights(scores: Float[Tensor, "n n"], mask: Bool[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """The softmax of each row of `scores` over columns where `mask` is True; zeros in a row without such a column."""
    weights = torch.zeros_like(scores)
    for i, row in enumerate(mask.tolist()):
        allowed = [j for j, may in enumerate(row) if may]
        if allowed:
            e = (scores[i, allowed] - scores[i, allowed].max()).exp()
            weights[i, allowed] = e / e.sum()
    return weights


def first_layer(mask: Bool[Tensor, "n n"], layers: int = 2) -> Int[Tensor, "n n"]:
    """Return (n, n): [i, j] is the smallest number of layers after which output i can depend on input j.

    It is 0 if output i cannot depend on input j after `layers` layers. A layer has a residual connection, so output i
    depends on input i.
    """
    step = mask | torch.eye(len(mask), dtype=torch.bool)
    reached, first = torch.eye(len(mask), dtype=torch.bool), torch.zeros(mask.shape, dtype=torch.long)
    for layer in range(1, layers + 1):
        reached = (step.long() @ reached.long()) > 0
        first[reached & (first == 0)] = layer
    return first


def presets(n: int) -> dict[str, list[list[bool]]]:
    """Return {name: mask of n rows of n booleans}, for n words; in the masks with padding, the last word is padding.

    Entry [i][j] is True if word i, a query, may attend to word j, a key.
    """
    rows = range(n)
    return {
        "none: every word sees every word": [[True for j in rows] for i in rows],
        "causal": [[j <= i for j in rows] for i in rows],
        "padding": [[j < n - 1 for j in rows] for i in rows],
        "causal and padding": [[j <= i and j < n - 1 for j in rows] for i in rows],
        "off by one": [[j <= i + 1 for j in rows] for i in rows],
    }


def verdict(words: Sequence[str], mask: Bool[Tensor, "n n"]) -> str:
    """Return a sentence on whether a model of two layers, both with this mask, is causal for the text `words`."""
    first, n = first_layer(mask), len(words)
    later = [(i, j) for i in range(n) for j in range(i + 1, n) if first[i, j]]
    if not later:
        return "Causal: no output reaches a later word, after one layer or two."
    i, j = min(later, key=lambda pair: (first[pair], pair))
    once = sum(first[pair] == 1 for pair in later)
    return (f"Not causal: output {i + 1}, “{words[i]}”, reads word {j + 1}, “{words[j]}”. Later words reached: "
            f"{once} of {n * (n - 1) // 2} pairs after one layer, {len(later)} after two.")


class MaskEditor(Explorable):
    """Attention weights of a short sentence under an editable mask.

    words   two to eight words; None for an example with its scores
    scores  attention scores (n, n) before the softmax, row i for query i; required with `words`
    mask    n rows of n booleans: mask[i][j] is True if word i may attend to word j; causal by default

    Setting `mask` updates the figure, and changes in the figure set it. `apply(name)` sets one of `presets(n)`. Raises
    ValueError for a number of words outside this range, and for scores or a mask of another shape.

    >>> figure = MaskEditor()
    >>> figure.apply("causal")
    >>> print(figure.text().splitlines()[-1])
    Causal: no output reaches a later word, after one layer or two.
    """

    _esm = script("mask_editor")
    _css = style("mask_editor")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    mask = traitlets.List(traitlets.List(traitlets.Bool())).tag(sync=True)
    presets = traitlets.List(traitlets.Dict()).tag(sync=True)

    def __init__(self, words: Sequence[str] | None = None, scores=None, **traits):
        if (words is None) != (scores is None):
            raise ValueError("words and scores belong together; expected both or neither, got only "
                             f"{'scores' if words is None else 'words'}")
        words = list(WORDS if words is None else words)
        n = len(words)
        if not 2 <= n <= MOST:
            raise ValueError(f"words has {n} words; expected 2 to {MOST} words")
        table = torch.as_tensor(SCORES if scores is None else scores, dtype=torch.float64).detach().cpu()
        if table.shape != (n, n):
            raise ValueError(f"scores has shape {tuple(table.shape)}; expected ({n}, {n})")
        if not bool(table.isfinite().all()):
            raise ValueError("scores contains an infinity or NaN; expected finite numbers")
        offered = presets(n)
        super().__init__(**{"words": words, "scores": table.tolist(), "mask": offered["causal"],
                            "presets": [{"label": label, "mask": mask} for label, mask in offered.items()],
                            "alt": "A mask to edit, the attention weights that it leaves, and what reaches what",
                            **traits})

    @property
    def weights(self) -> Float[Tensor, "n n"]:
        """The attention weights under the mask, in float64; row i is query i."""
        return masked_weights(torch.tensor(self.scores, dtype=torch.float64), torch.tensor(self.mask))

    @property
    def reach(self) -> Int[Tensor, "n n"]:
        """[i, j]: smallest number of layers, 1 or 2, after which output i can depend on input j; 0 if there is none."""
        return first_layer(torch.tensor(self.mask))

    @property
    def verdict(self) -> str:
        """A sentence on whether a model of two layers with this mask is causal."""
        return verdict(self.words, torch.tensor(self.mask))

    def apply(self, name: str) -> None:
        """Set `mask` to the preset of this name in `presets(n)`. Raises ValueError for an unknown name."""
        offered = presets(len(self.words))
        if name not in offered:
            raise ValueError(f"name is {name!r}; expected one of {', '.join(map(repr, offered))}")
        self.mask = offered[name]

    def text(self) -> str:
        width = max(map(len, self.words)) + 1
        lines = ["Interactive figure: attention weights under a mask to edit. Row: who asks. Column: who is asked.",
                 " " * width + "".join(f"{word:>{width}}" for word in self.words)]
        for word, row, allowed in zip(self.words, self.weights.tolist(), self.mask):
            cells = (f"{a:.2f}" if may else "-" for a, may in zip(row, allowed))
            lines.append(f"{word:{width}}" + "".join(f"{cell:>{width}}" for cell in cells))
        return "\n".join([*lines, self.verdict])

    @traitlets.validate("mask")
    def _valid_mask(self, proposal):
        mask, n = proposal["value"], len(self.words)
        if n and [len(row) for row in mask] != [n] * n:
            raise ValueError(f"mask has rows of {[len(row) for row in mask]}; expected {n} rows of {n} booleans each")
        return mask
