r"""Attention weights of a trained BERT by layer and head, compared with an untrained BERT and with ablation.

`maps` computes the attention weights of "bert-english" and of its twin, an untrained BERT of the same configuration, on
a few sentences, rounded to 1/10,000. `costs` computes the loss of each masked word, with all heads or with one head
ablated. Layers, heads and words are counted from 0 here, layers and heads from 1 in the figure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import torch
import traitlets
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, script, style
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.transformer.bert import BERT
from course_lib.transformer.heads import switched_off
from course_lib.using import untrained_twin

WEIGHTS = "bert-english"
SENTENCES = (                                                        # written for the course
    "my brother and his wife live in new york .",
    "the children are eating ice cream in the park .",
    "the king gave his son a horse and a sword .",
    "the man who sold the car paid his wife .",
    "two men are playing music in the street .",
    "where did the president of france go to school ?",
    "what is the name of the longest river in africa ?",
    "the film is funny , but the story is too long .",
    "she opened the door and closed it again .",
    "the old house on the hill was built in 1850 .",
    "he said that he would not go to war .",
    "a dog is running through the water with a ball .",
)
STEPS = 10_000                                                       # attention weights are multiples of 1 / STEPS
WIDER = 3                                                            # factor of the twin's matrices, to a scale of 0.06
LIMIT = 300_000                                                      # maximum number of base64 characters of weights
SIDES = ("looks", "looked at")


def twin(bert: BERT, seed: int = 0) -> BERT:
    """Return an untrained BERT with the configuration of `bert`, its random initial matrices multiplied by WIDER."""
    fresh = untrained_twin(bert, seed)
    with torch.no_grad():
        for p in fresh.parameters():
            p.mul_(WIDER if p.dim() == 2 else 1)
    return fresh


def maps(bert: BERT, tokens: Int[Tensor, " T"]) -> Float[Tensor, "L H T T"]:
    r"""Attention weights $\alpha$ of a text in each of L layers and H heads, (L, H, T, T), rounded to 1/10,000.

    Row i contains the weights of query i.

    tokens  ids of the text, [CLS] and [SEP] included
    """
    weights = torch.cat(bert.attention_weights(tokens[None]))        # (L, H, T, T)
    return (weights.double() * STEPS).round() / STEPS


@torch.no_grad()
def costs(bert: BERT, tokens: Int[Tensor, " T"], mask_id: int, off: Iterable[Sequence[int]] = ()
          ) -> Float[Tensor, " N"]:
    r"""Loss $-\ln p$ in nats of each of the N = T - 2 tokens between [CLS] and [SEP] when only this token is masked.

    tokens   ids, [CLS] and [SEP] included
    mask_id  id of [MASK]
    off      ablated heads, pairs (layer, head), both counted from 0
    """
    asked = torch.arange(1, len(tokens) - 1)
    rows = tokens.repeat(len(asked), 1)                              # (T - 2, T), one masked in each
    rows[asked - 1, asked] = mask_id
    with switched_off(bert, off):
        logits = bert.pretraining_logits(rows)[0][asked - 1, asked]  # (T - 2, V)
    return -logits.log_softmax(dim=-1).gather(1, tokens[asked, None])[:, 0]


def largest(weights: Float[Tensor, "T T"], count: int = 3) -> list[tuple[int, int, float]]:
    """Return the `count` largest weights of a head as (index of the query, index of the key, weight), largest first."""
    T = len(weights)
    order = weights.flatten().argsort(descending=True, stable=True)[:count].tolist()
    return [(at // T, at % T, weights.flatten()[at].item()) for at in order]


def pack(weights: Float[Tensor, "..."]) -> str:
    """Encode attention weights, row by row, as multiples of 1/10,000 in little-endian 16-bit integers and base64."""
    counts = (weights * STEPS).round().flatten().numpy().astype("<u2")
    return base64.b64encode(counts.tobytes()).decode("ascii")


class BertAttention(Explorable):
    """Attention weights of a sentence in each layer and head of a trained BERT, and the loss with the head ablated.

    model      a BERT; None for "bert-english" and its tokenizer
    tokenizer  tokenizer of `model`, with [CLS], [SEP] and [MASK]; required with `model`
    sentences  texts to choose from
    sentence   index of the selected text
    shown      selected head, [layer, head], both counted from 0
    word       index of the selected token, 0 for [CLS]
    side       "looks" if `word` is the query, "looked at" if it is the key
    untrained  show the untrained model of the same configuration

    Raises ValueError if the model is not a BERT, for values out of range, and if the attention weights of all texts
    exceed 300,000 characters in base64, so that fewer or shorter texts are needed.

    >>> BertAttention().text().splitlines()[0].split(". ")[1]
    'Layer 2, head 1: my brother and his wife live in new york .'
    """

    _esm = script("bert_attention")
    _css = style("bert_attention")
    size = traitlets.List(traitlets.Int()).tag(sync=True)            # numbers of layers and of heads
    steps = traitlets.Int(STEPS).tag(sync=True)
    texts = traitlets.List().tag(sync=True)                          # for each sentence: pieces, both maps, costs
    sentence = traitlets.Int(0).tag(sync=True)
    shown = traitlets.List(traitlets.Int()).tag(sync=True)
    word = traitlets.Int(0).tag(sync=True)
    side = traitlets.Unicode(SIDES[0]).tag(sync=True)
    untrained = traitlets.Bool(False).tag(sync=True)

    def __init__(self, model=None, tokenizer: WordPieceTokenizer | None = None,
                 sentences: Sequence[str] = SENTENCES, **traits):
        if (model is None) != (tokenizer is None):
            raise ValueError("model and tokenizer belong together; expected both or neither, got only "
                             f"{'tokenizer' if model is None else 'model'}")
        start = {}
        if model is None:
            from course_lib import hub
            model = hub.load(WEIGHTS)
            tokenizer = WordPieceTokenizer.from_config(hub.card(WEIGHTS).training["tokenizer"])
            start = {"shown": [1, 0], "word": 8} if sentences is SENTENCES else {}
        if not isinstance(model, BERT):
            raise ValueError(f"model is a {type(model).__name__}; expected a BERT")
        if not sentences or isinstance(sentences, str):
            raise ValueError(f"sentences is {sentences!r}; expected a list of at least one text")
        bert, c = _copy(model), model.config
        self._ids = [tokenizer.encode(text, bos=True, eos=True) for text in sentences]
        carried = 2 * sum(-(-2 * c.layers * c.heads * len(ids) ** 2 // 3) * 4 for ids in self._ids)      # base64
        if carried > LIMIT:
            raise ValueError(f"sentences has attention weights of {carried:,} characters in base64; expected at most "
                             f"{LIMIT:,}, so pass fewer or shorter sentences")
        other, mask_id = twin(bert), tokenizer.vocabulary.id("[MASK]")
        self._maps = [(maps(bert, ids), maps(other, ids)) for ids in self._ids]
        heads = [(layer, head) for layer in range(c.layers) for head in range(c.heads)]
        self._costs = [torch.stack([costs(bert, ids, mask_id, off) for off in ([], *([pair] for pair in heads))])
                       for ids in self._ids]                         # a row for all heads on, then one for each off
        packed = [{"pieces": [tokenizer.vocabulary.symbol(i) for i in ids.tolist()], "trained": pack(both[0]),
                   "untrained": pack(both[1]), "costs": [[round(v, 4) for v in row] for row in nats.tolist()]}
                  for ids, both, nats in zip(self._ids, self._maps, self._costs)]
        super().__init__(**{"size": [c.layers, c.heads], "texts": packed, "shown": [0, 0],
                            "alt": f"Attention of {len(heads)} heads in a trained BERT", **start, **traits})

    @property
    def weights(self) -> Float[Tensor, "T T"]:
        """The attention weights (T, T) of the selected sentence, layer, head and model; row i is query i."""
        return self._maps[self.sentence][int(self.untrained)][self.shown[0], self.shown[1]]

    @property
    def costs(self) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """Losses (N,) in nats of the N words of the selected sentence: with all heads and with head `shown` ablated."""
        every = self._costs[self.sentence]
        return every[0], every[1 + self.shown[0] * self.size[1] + self.shown[1]]

    def cost_of(self, layer: int, head: int) -> float:
        """The increase of the mean loss in nats per masked word, over all sentences, when a head is ablated.

        layer, head  indices of the layer and of the head, from 0
        """
        row = 1 + layer * self.size[1] + head
        return torch.cat([nats[row] - nats[0] for nats in self._costs]).mean().item()

    def sharpness_of(self, layer: int, head: int, untrained: bool = False) -> float:
        """The largest attention weight of a query, averaged over all queries of all sentences, for one head.

        layer, head  indices of the layer and of the head, from 0
        untrained    use the untrained model
        """
        most = [both[int(untrained)][layer, head].max(dim=1).values for both in self._maps]
        return torch.cat(most).mean().item()

    def text(self) -> str:
        pieces, (layer, head) = self.texts[self.sentence]["pieces"], self.shown
        lines = [f"Interactive figure: attention in a {'BERT that has read nothing' if self.untrained else 'trained BERT'}"
                 f". Layer {layer + 1}, head {head + 1}: {' '.join(pieces[1:-1])}"]
        found = (f"{pieces[i]} looks at {pieces[j]} {a:.2f}" for i, j, a in largest(self.weights))
        lines.append(f"The three largest: {'; '.join(found)}")
        i = self.word
        row = self.weights[i] if self.side == SIDES[0] else self.weights[:, i]
        order = row.argsort(descending=True, stable=True)[:3].tolist()
        said = "looks at" if self.side == SIDES[0] else "is looked at by"
        lines.append(f"{pieces[i]} {said} " + ", ".join(f"{pieces[j]} {row[j]:.2f}" for j in order))
        with_it, without = self.costs
        lines.append(f"A hidden word costs {with_it.mean():.2f} nats in this sentence, {without.mean():.2f} with this head "
                     f"off; over all {len(self.texts)} sentences {round(self.cost_of(layer, head), 2) + 0:+.2f}")
        return "\n".join(lines)

    @traitlets.validate("sentence", "word", "shown", "side")
    def _valid(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if name == "side" and value not in SIDES:
            raise ValueError(f"side is {value!r}; expected {' or '.join(map(repr, SIDES))}")
        if name == "shown" and not (len(value) == 2 and all(0 <= v < most for v, most in zip(value, self.size))):
            raise ValueError(f"shown is {value}; expected [layer, head] with layer 0 to {self.size[0] - 1} and head 0 "
                             f"to {self.size[1] - 1}")
        if name in ("sentence", "word"):
            most = len(self._ids if name == "sentence" else self._ids[self.sentence])
            if not 0 <= value < most:
                raise ValueError(f"{name} is {value}; expected 0 to {most - 1}")
        return value

    @traitlets.observe("sentence")
    def _another(self, change):
        """Keep `word` within the new sentence."""
        self.word = min(self.word, len(self._ids[self.sentence]) - 1)


def _copy(model: BERT) -> BERT:
    """Return a copy of the model in float64 and eval mode."""
    bert = BERT(model.config)
    bert.load_state_dict(model.state_dict())
    return bert.double().eval()
