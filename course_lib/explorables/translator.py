r"""A complete encoder-decoder transformer: the reader edits the sentence, inspects activations and ablates heads.

Two networks of 14,616 parameters for the toy language of chapter transformer run in the browser, with weights in half
precision. `run` computes the same values in Python in float64 from the same weights. A head is a pair of its part,
"encoder", "decoder" or "cross" (cross-attention), and its index, from 0 here and from 1 in the figure. The output of an
ablated head is zero. A box of the figure shows a matrix of values, such as the scores of a head; BOXES are their names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.data import toy_translation as language
from course_lib.explorables.base import STATIC, Explorable, OneOf, as_base64, script, style
from course_lib.transformer.attention import MultiHeadAttention, attention_weights
from course_lib.transformer.blocks import FeedForward, LayerNorm
from course_lib.transformer.heads import silenced
from course_lib.transformer.masks import causal_mask
from course_lib.transformer.positions import sinusoidal
from course_lib.transformer.transformer import Transformer

NETWORKS = ("translator-plain", "translator-dropped")
MEASURED = STATIC / "weights" / "translator-heads.json"
LIMIT = 100_000                                                      # largest number of characters of weights, measured
PARTS = ("encoder", "decoder", "cross")
HEADS = tuple((part, head) for part in PARTS for head in range(3))
STEPS = ("q", "k", "v", "scores", "weights", "out")                  # boxes of a head
LONGEST = 11                                                         # maximum output length, with the end token
BOXES = ("encoder.x", "decoder.x", "encoder.m", "decoder.last", "decoder.logits", "decoder.p",
         *(f"{part}.{name}" for part in PARTS for name in ("normed", "mixed", "sum")),
         *(f"{part}.{head}.{step}" for part, head in HEADS for step in STEPS),
         *(f"{part}.{name}" for part in ("ffn1", "ffn2") for name in ("normed", "hidden", "out", "sum")))
START = "the red car sees the white cat"


# --- the model -------------------------------------------------------------------------------------------------------


def attention_of(model: Transformer) -> dict[str, MultiHeadAttention]:
    """Return {part: its attention layer} of a transformer with one block in the encoder and one in the decoder."""
    (reads,), (writes,) = model.encoder, model.decoder
    return {"encoder": reads.attention, "decoder": writes.attention, "cross": writes.cross_attention}


@contextmanager
def heads_off(model: Transformer, off: Iterable[Sequence]) -> Iterator[None]:
    """Ablate heads of the model inside the `with` block.

    off  the ablated heads, pairs (part, index): a key of `attention_of`, and the index of the head, from 0
    """
    with ExitStack() as stack:
        for part, layer in attention_of(model).items():
            stack.enter_context(silenced(layer, [head for each, head in off if each == part]))
        yield


def _layers(model: Transformer) -> tuple[dict[str, LayerNorm], dict[str, FeedForward]]:
    """Return {part: its layer norm} and {part: its feed-forward network}.

    The feed-forward parts are "ffn1" of the encoder and "ffn2" of the decoder.
    """
    (reads,), (writes,) = model.encoder, model.decoder
    norms = {"encoder": reads.residual1.norm, "ffn1": reads.residual2.norm, "decoder": writes.residual1.norm,
             "cross": writes.residual2.norm, "ffn2": writes.residual3.norm}
    return norms, {"ffn1": reads.feed_forward, "ffn2": writes.feed_forward}


@torch.no_grad()
def run(model: Transformer, source: Sequence[int], target: Sequence[int],
        off: Iterable[Sequence] = ()) -> dict[str, Float[Tensor, "_ _"]]:
    """Run the model; return {box: its matrix of values, a row for each token} for all BOXES.

    source  ids of the source
    target  ids of the decoder input, the start symbol first
    off     ablated heads, as in `heads_off`

    Masked scores are minus infinity. Equations (19.3), (19.4) and (19.6), with pre-layer normalization as in (19.5).
    """
    found: dict[str, Tensor] = {}
    norms, networks = _layers(model)
    off = {(part, head) for part, head in off}

    def embed(table: Tensor, ids: Sequence[int]) -> Tensor:
        D = table.shape[1]
        return math.sqrt(D) * table[list(ids)] + sinusoidal(len(ids), D, dtype=table.dtype)

    def attend(part: str, x: Tensor, memory: Tensor | None = None) -> Tensor:
        layer = attention_of(model)[part]
        y = found[f"{part}.normed"] = norms[part](x)                 # (T, D)
        read, outs = y if memory is None else memory, []
        parts = zip((y, read, read), layer.qkv.weight.chunk(3), layer.qkv.bias.chunk(3))
        q, k, v = (torch.stack((z @ W.T + b).chunk(layer.heads, dim=-1)) for z, W, b in parts)        # (H, T, K)
        mask = causal_mask(len(x)) if part == "decoder" else torch.ones(len(y), len(read)).bool()
        for h in range(layer.heads):
            scores = (q[h] @ k[h].T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
            weights = attention_weights(q[h], k[h], mask)
            outs.append(weights @ v[h] * ((part, h) not in off))
            for step, value in zip(STEPS, (q[h], k[h], v[h], scores, weights, outs[-1])):
                found[f"{part}.{h}.{step}"] = value
        found[f"{part}.mixed"] = layer.out(torch.cat(outs, dim=-1))
        found[f"{part}.sum"] = x + found[f"{part}.mixed"]
        return found[f"{part}.sum"]

    def feed(part: str, x: Tensor) -> Tensor:
        y = found[f"{part}.normed"] = norms[part](x)
        found[f"{part}.hidden"] = networks[part].widen(y).relu()
        found[f"{part}.out"] = networks[part].narrow(found[f"{part}.hidden"])
        found[f"{part}.sum"] = x + found[f"{part}.out"]
        return found[f"{part}.sum"]

    found["encoder.x"] = embed(model.source.weight, source)
    m = found["encoder.m"] = model.encoder_norm(feed("ffn1", attend("encoder", found["encoder.x"])))
    found["decoder.x"] = embed(model.target.weight, target)
    z = feed("ffn2", attend("cross", attend("decoder", found["decoder.x"]), m))
    found["decoder.last"] = model.decoder_norm(z)
    found["decoder.logits"] = found["decoder.last"] @ model.target.weight.T
    found["decoder.p"] = found["decoder.logits"].softmax(dim=-1)
    return found


def translated(model: Transformer, source: Sequence[int], off: Iterable[Sequence] = ()) -> tuple[list[int], list[int]]:
    """Translate the source ids by greedy decoding, with the heads `off`, pairs (part, index), ablated.

    Returns the ids of the decoder input, the start symbol first, and of the output, up to and including the end symbol,
    at most LONGEST.
    """
    read: list[int] = [model.bos_id]
    while True:
        best = int(run(model, source, read, off)["decoder.p"][-1].argmax())
        if best == model.eos_id or len(read) == LONGEST:
            return read, [*read[1:], best]
        read.append(best)


def parameters(model: Transformer) -> list[Tensor]:
    """Return the parameters of the model, in the order in which the JavaScript of the figure reads them."""
    norms, networks = _layers(model)
    found = [model.source.weight, model.target.weight]

    def norm(layer: LayerNorm) -> None:
        found.extend([layer.gamma, layer.beta])

    for part in ("encoder", "ffn1", "", "decoder", "cross", "ffn2"):
        if not part:
            norm(model.encoder_norm)
            continue
        norm(norms[part])
        layers = ((networks[part].widen, networks[part].narrow) if part in networks
                  else (attention_of(model)[part].qkv, attention_of(model)[part].out))
        for layer in layers:
            found.extend([layer.weight, layer.bias])
    norm(model.decoder_norm)
    return found


def pack(model: Transformer) -> str:
    """Encode all parameters, row by row, in little-endian half precision and base64."""
    return as_base64(parameters(model), torch.float16)


def grammar() -> dict:
    """Return the toy language for the JavaScript: words in the order of their ids, and tables of translations."""
    english, italian = ([words.symbol(i) for i in range(len(words))] for words in language.vocabularies())
    return {"english": english, "italian": italian, "pronouns": language.PRONOUNS,
            **{name: {word: list(pair) for word, pair in table.items()} for name, table in
               (("verbs", language.VERBS), ("nouns", language.NOUNS), ("adjectives", language.ADJECTIVES),
                ("pastimes", language.PASTIMES))}}


def setting(off: Iterable[Sequence]) -> int:
    """Encode the ablated heads `off`, pairs (part, index), as a 9-bit number: bit k is 1 if HEADS[k] is ablated."""
    return sum(1 << HEADS.index((part, head)) for part, head in {tuple(pair) for pair in off})


# --- the figure ------------------------------------------------------------------------------------------------------


class Translator(Explorable):
    """Interactive figure: two small translation transformers on a sentence that the user edits; heads can be ablated.

    sentence  an English sentence of the grammar in `course_lib.data.toy_translation`
    network   0, or 1 for the network trained with head dropout
    off       heads ablated in both networks, [part, index] each, such as ["cross", 0]
    shown     the selected box, one of BOXES
    place     [row, column] of the selected number in this box, from 0

    Raises ValueError for a sentence outside the grammar and for values out of range. `python -m benchmarks.translators
    heads` measured the numbers of correct translations.

    >>> print(Translator(off=[]).text().splitlines()[1])
    English: the red car sees the white cat
    """

    _esm = script("translator_model", "translator")
    _css = style("translator")
    weights = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sizes = traitlets.Dict().tag(sync=True)
    grammar = traitlets.Dict().tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)
    sentence = traitlets.Unicode(START).tag(sync=True)
    network = OneOf(0, (0, 1), "0 or 1").tag(sync=True)
    off = traitlets.List(traitlets.List()).tag(sync=True)
    shown = OneOf("cross.2.weights", BOXES, f"one of {', '.join(BOXES)}").tag(sync=True)
    place = traitlets.List(traitlets.Int()).tag(sync=True)

    def __init__(self, **traits):
        from course_lib import hub
        models = [hub.load(STATIC / "weights" / name) for name in NETWORKS]
        weights, measured = [pack(model) for model in models], json.loads(MEASURED.read_text("utf-8"))
        size = sum(map(len, weights)) + len(json.dumps(measured))
        if size > LIMIT:
            raise ValueError(f"weights and measured have {size:,} characters together; expected at most {LIMIT:,}: use "
                             "smaller networks")
        self._models, c = [model.double().eval() for model in models], models[0].config
        self._words = language.vocabularies()
        super().__init__(**{
            "weights": weights, "measured": measured, "grammar": grammar(),
            "sizes": {"source": c.source, "target": c.target, "width": c.d_model, "heads": c.heads, "hidden": c.d_ff},
            "off": [], "place": [1, 2],
            "alt": "An encoder-decoder transformer that translates, all of its numbers", **traits})

    @property
    def ids(self) -> list[int]:
        """The ids of the words of `sentence`."""
        return [self._words[0].id(word) for word in self.sentence.split()]

    def says(self, network: int, off: Iterable[Sequence] = ()) -> str:
        """Return the translation of `sentence` by network 0 or 1 as text; `off` as in `heads_off`."""
        return language.to_text(torch.tensor(translated(self._models[network], self.ids, off)[1]))

    @property
    def result(self) -> dict[str, Float[Tensor, "_ _"]]:
        """{box: its matrix of values} of `network` on `sentence` and its own translation, with `off` ablated."""
        model = self._models[self.network]
        return run(model, self.ids, translated(model, self.ids, self.off)[0], self.off)

    @property
    def seeds(self) -> list[list[dict]]:
        """The results of each network, one dict per training seed, as numbers of correct translations.

        "valid" and "test" are with all heads; "one head off" is {head: number on the test sentences if it is ablated}.
        """
        from course_lib import hub
        found = f"right of {self.measured['sentences']}"
        return [hub.card(STATIC / "weights" / name).results[found] for name in NETWORKS]

    def right(self, network: int, off: Iterable[Sequence] = ()) -> int:
        """Return the number of test sentences that network 0 or 1 translates correctly; `off` as in `heads_off`."""
        return self.measured["networks"][network]["right"][setting(off)]

    def text(self) -> str:
        silent = ", ".join(f"{part} {head + 1}" for part, head in self.off) or "none"
        lines = ["Interactive figure: two encoder-decoder transformers of three heads a layer translate a sentence.",
                 f"English: {self.sentence}", f"Heads switched off: {silent}"]
        for network, name in enumerate(("trained as it is", "trained with heads dropped")):
            lines.append(f"{name}: {self.says(network, self.off)} (right {self.right(network, self.off)} of "
                         f"{self.measured['sentences']}; with all heads: {self.says(network)}, right "
                         f"{self.right(network)})")
        value = self.result[self.shown]
        i, j = (min(at, size - 1) for at, size in zip(self.place, value.shape))
        lines.append(f"{self.shown}, {value.shape[0]} x {value.shape[1]} numbers; row {i + 1}, column {j + 1}: "
                     f"{value[i, j]:.4f}")
        return "\n".join(lines)

    @traitlets.validate("sentence")
    def _valid_sentence(self, proposal):
        language.translate(proposal["value"])
        return proposal["value"]

    @traitlets.validate("off")
    def _valid_heads(self, proposal):
        for pair in proposal["value"]:
            if tuple(pair) not in HEADS:
                raise ValueError(f"off contains {list(pair)}; expected [part, head] with a part of "
                                 f"{', '.join(map(repr, PARTS))} and head 0, 1 or 2")
        return proposal["value"]

    @traitlets.validate("place")
    def _valid_place(self, proposal):
        if len(proposal["value"]) != 2 or min(proposal["value"]) < 0:
            raise ValueError(f"place is {proposal['value']}; expected a row and a column, 0 or more")
        return proposal["value"]
