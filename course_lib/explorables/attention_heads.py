r"""Attention heads of a small trained GPT: the reader edits the text and ablates heads.

The model runs in the browser, with weights in half precision. `run` computes the same values in Python in float64, from
the same weights. Layers, heads and words are counted from 0 here, from 1 in the figure; position 0 is the start symbol.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.data import toy_agreement
from course_lib.explorables.base import Explorable, as_base64, script, style
from course_lib.transformer.gpt import GPT
from course_lib.transformer.heads import switched_off

LIMIT = 90_000                                                       # maximum number of base64 characters of weights
EXAMPLES = ("the girl near the dogs sees the ball . she wants the ball",
            "the girls near the dog see the ball . they want the ball",
            "the old king near the women draws the strange house . he likes the house",
            "the cat near the boys finds the small hat . it paints the hat",
            "the girl near the dogs see the ball .")


class Run(NamedTuple):
    """The values of a GPT with L layers of H heads on T tokens; row i belongs to the token with index i."""

    weights: Float[Tensor, "L H T T"]                                # row i is query i, column j is key j
    entropy: Float[Tensor, "L H T"]                                  # entropy of each row of `weights`, in nats
    p: Float[Tensor, "T V"]                                          # row i: distribution of the token after position i


@torch.no_grad()
def run(model: GPT, words: Sequence[int], off: Iterable[Sequence[int]] = ()) -> Run:
    r"""Compute attention weights $\alpha$, entropies $-\sum_j \alpha_{ij} \ln \alpha_{ij}$, and predictions on a text.

    words  ids of the text, without the start symbol
    off    ablated heads, pairs (layer, head), both counted from 0
    """
    tokens = torch.tensor([[model.bos_id, *words]])
    with switched_off(model, off):
        weights = torch.cat(model.attention_weights(tokens))         # (L, H, T, T)
        p = model(tokens)[0].softmax(dim=-1)                         # (T, V)
    return Run(weights, -torch.xlogy(weights, weights).sum(dim=-1), p)


def moved(p: Float[Tensor, "... V"], q: Float[Tensor, "... V"]) -> Float[Tensor, "..."]:
    r"""Total variation distance of the distributions p and q: $\frac12 \sum_v \lvert p_v - q_v \rvert$, from 0 to 1."""
    return (p - q).abs().sum(dim=-1) / 2


def parameters(model: GPT) -> list[Tensor]:
    """Return the parameters of the model, in the order in which the JavaScript of the figure reads them."""
    found = [model.tokens.weight, model.positions.table.weight]      # (V, D), (window, D)
    for block in model.blocks:
        attention, network, norms = block.attention, block.feed_forward, (block.residual1.norm, block.residual2.norm)
        layers = (attention.qkv, attention.out, network.widen, network.narrow)
        found += [t for norm in norms for t in (norm.gamma, norm.beta)]
        found += [t for layer in layers for t in (layer.weight, layer.bias)]
    return [*found, model.norm.gamma, model.norm.beta]


def pack(model: GPT) -> str:
    """Encode all parameters, row by row, in little-endian half precision and base64."""
    return as_base64(parameters(model), torch.float16)


class AttentionHeads(Explorable):
    """The attention heads of a small GPT on a text that the reader edits; each head can be ablated.

    model     a GPT with a start symbol, tied embeddings and activation "gelu_tanh", which the figure rounds to half
              precision; None for the network "gpt-agreement"
    words     text of each token id of `model`, in the order of the ids; required with `model`
    examples  texts to choose from; the first is selected
    text_ids  ids of the selected text, without the start symbol; `read(text)` sets them
    off       ablated heads, [layer, head] each
    shown     selected head, [layer, head]

    Setting `text_ids`, `off` or `shown` updates the figure. Raises ValueError if the model is of another kind or too
    large, a word or head does not exist, or a text exceeds the window.

    >>> figure = AttentionHeads()
    >>> print(figure.text().splitlines()[-1])
    All heads are on.
    """

    _esm = script("attention_heads")
    _css = style("attention_heads")
    weights = traitlets.Unicode().tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    examples = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    text_ids = traitlets.List(traitlets.Int()).tag(sync=True)
    off = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    shown = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, model=None, words: Sequence[str] | None = None, examples: Sequence[str] = (), **traits):
        if (model is None) != (words is None):
            raise ValueError("model and words belong together; expected both or neither, got only "
                             f"{'words' if model is None else 'model'}")
        first = [0, 3] if model is None else [0, 0]          # this head attends to the subject: chapter inside-a-transformer
        if model is None:
            from course_lib import hub
            vocabulary = toy_agreement.vocabulary()
            words = [vocabulary.symbol(i) for i in range(len(vocabulary))]
            model, examples = hub.load("gpt-agreement"), examples or EXAMPLES
        self._model, self._words = copy.deepcopy(_check_model(model, words)).half().double().eval(), list(words)
        weights = pack(model)
        if len(weights) > LIMIT:
            raise ValueError(f"model has weights of {len(weights):,} characters in base64; expected a smaller model, "
                             f"of at most {LIMIT:,}")
        texts = [self._ids(text) for text in examples] or [[i] for i in range(len(words)) if i != model.bos_id][:1]
        c = model.config
        sizes = {"layers": c.layers, "heads": c.heads, "width": c.d_model, "hidden": c.d_ff or 4 * c.d_model,
                 "window": c.window, "eps": c.eps, "start": c.bos_id}
        super().__init__(**{"weights": weights, "sizes": sizes, "words": list(words), "examples": texts,
                            "text_ids": texts[0], "off": [], "shown": first,
                            "alt": f"{c.layers * c.heads} attention heads of a small language model", **traits})

    @property
    def result(self) -> Run:
        """Attention weights, entropies and predictions of the selected text, with the heads of `off` ablated."""
        return run(self._model, self.text_ids, self.off)

    @property
    def moved(self) -> Float[Tensor, "T"]:
        """The total variation distance between the predictions with and without ablation, at each position."""
        return moved(self.result.p, run(self._model, self.text_ids).p)

    def read(self, text: str) -> None:
        """Select a text, words separated by spaces. Raises ValueError if a word is unknown or the text is too long."""
        self.text_ids = self._ids(text)

    def text(self) -> str:
        (layer, head), shown, T = self.shown, self.result, len(self.text_ids) + 1
        names = [self._words[i] for i in (self.sizes["start"], *self.text_ids)]
        width = max(map(len, names)) + 1
        lines = ["Interactive figure: attention of a small language model, head by head. "
                 f"Layer {layer + 1}, head {head + 1}; row: who asks, column: who is asked.",
                 " " * width + "".join(f"{name:>{width}}" for name in names)]
        for i, name in enumerate(names):
            row = (f"{a:.2f}" for a in shown.weights[layer, head, i, :i + 1].tolist())
            lines.append(f"{name:{width}}" + "".join(f"{a:>{width}}" for a in row))
        best = shown.p.max(dim=1)
        likely = (f"{self._words[v]} {p:.2f}" for p, v in zip(best.values.tolist(), best.indices.tolist()))
        lines.append("Most likely next: " + ", ".join(likely))
        silent = ", ".join(f"layer {a + 1} head {b + 1}" for a, b in self.off)
        change = self.moved
        lines.append(f"Switched off: {silent}; probability moved most at place {int(change.argmax()) + 1} of {T}: "
                     f"{change.max():.2f}" if silent else "All heads are on.")
        return "\n".join(lines)

    def _ids(self, text: str) -> list[int]:
        unknown = [word for word in text.split() if word not in self._words]
        if unknown:
            raise ValueError(f"text contains {', '.join(map(repr, unknown))}, unknown to the model; expected only "
                             f"words of {self._words}")
        return [self._words.index(word) for word in text.split()]

    @traitlets.validate("text_ids")
    def _valid_text(self, proposal):
        ids, c = proposal["value"], self._model.config
        if not 1 <= len(ids) <= c.window - 1:
            raise ValueError(f"text_ids has {len(ids)} ids; expected 1 to {c.window - 1}, because the window also "
                             "holds the start symbol")
        if any(not 0 <= i < c.vocab_size or i == c.bos_id for i in ids):
            raise ValueError(f"text_ids is {ids}; expected ids from 0 to {c.vocab_size - 1} other than {c.bos_id}, the "
                             "start symbol")
        return ids

    @traitlets.validate("off", "shown")
    def _valid_heads(self, proposal):
        pairs = proposal["value"] if proposal["trait"].name == "off" else [proposal["value"]]
        c = self._model.config
        for pair in pairs:
            if len(pair) != 2 or not (0 <= pair[0] < c.layers and 0 <= pair[1] < c.heads):
                raise ValueError(f"{proposal['trait'].name} contains {list(pair)}; expected [layer, head] with layer 0 "
                                 f"to {c.layers - 1} and head 0 to {c.heads - 1}")
        return proposal["value"]


def _check_model(model: object, words: Sequence[str]) -> GPT:
    if not isinstance(model, GPT):
        raise ValueError(f"model is a {type(model).__name__}; expected a GPT")
    c = model.config
    if c.bos_id is None:
        raise ValueError("model has bos_id None; expected the id of a start symbol")
    if not c.tied:
        raise ValueError(f"model has tied {c.tied}; expected True, embeddings shared with the output layer")
    if c.activation != "gelu_tanh":
        raise ValueError(f"model has activation {c.activation!r}; expected 'gelu_tanh'")
    if len(words) != c.vocab_size:
        raise ValueError(f"words has {len(words)} names; expected {c.vocab_size}, one for each id of the vocabulary")
    return model
