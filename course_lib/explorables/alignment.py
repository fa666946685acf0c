r"""Two small sequence-to-sequence models, without and with attention, and the attention weights of each decoder step.

Both are the `Seq2Seq` of chapter attention with 10 hidden units and token vectors of width 8. They run in the browser,
with weights in half precision. `written` computes the same values in Python, in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.data import toy_translation as language
from course_lib.explorables.base import STATIC, Explorable, as_base64, script, style
from course_lib.explorables.translator import LONGEST, grammar
from course_lib.recurrent import Seq2Seq

NETWORKS = {"alignment-one-vector": None, "alignment-attention": "additive"}             # name: score
LABELS = ("one vector", "attention")
START = "the small dog does not find the white mountain"


class Written(NamedTuple):
    """Result of greedy decoding: a translation of S source words to T tokens, with the probabilities of its steps."""

    ids: list[int]                                                   # ids of the T tokens, the end symbol included
    p: Float[Tensor, "T V"]                                          # row t: p(token t | source, tokens before t), over
                                                                     # the V tokens of the target vocabulary
    weights: Float[Tensor, "T S"]                                    # attention weights; without attention, 1 at S - 1


@torch.no_grad()
def written(model: Seq2Seq, source: list[int]) -> Written:
    """Translate the ids of the source words by greedy decoding, to at most LONGEST (11) tokens."""
    state, ids, p, weights = model.start(1, torch.tensor([source])), [], [], []
    while not ids or ids[-1] != model.eos_id and len(ids) < LONGEST:
        p.append(model.predict(state).probs[0])
        weights.append(state.weights[0].double())
        ids.append(int(p[-1].argmax()))
        state = model.update(state, torch.tensor([ids[-1]]))
    return Written(ids, torch.stack(p), torch.stack(weights))


def parameters(model: Seq2Seq) -> list[Tensor]:
    """Return the parameters of the model, in the order in which the JavaScript of the figure reads them."""
    cells = [*model.encoder.cells, *model.decoder.cells]
    score = () if model.score is None else (model.score.W, model.score.U, model.score.v)
    return [model.source.weight, model.target.weight, *(p for c in cells for p in (c.W_x, c.W_h, c.b, c.b_hn)),
            model.bridge.weight, model.bridge.bias, *score, model.readout[0].weight, model.readout[0].bias, model.head.bias]


class Alignment(Explorable):
    """Greedy translation of a sentence of the toy language, with a fixed vector and with attention.

    sentence  English sentence of the grammar of `course_lib.data.toy_translation`
    place     index, from 0, of the selected token of the translation with attention; if too large, the last token

    Raises ValueError for a sentence outside the grammar and for a negative `place`.

    >>> print(Alignment(sentence="I love music").text().splitlines()[-1])
    word 1, adoro, looks most at love: 0.79
    """

    _esm = script("translator_model", "alignment")
    _css = style("alignment")
    weights = traitlets.List(traitlets.Unicode()).tag(sync=True)     # parameters of both networks, in base64
    sizes = traitlets.Dict().tag(sync=True)
    grammar = traitlets.Dict().tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)                       # {length: `right` of both networks}
    sentence = traitlets.Unicode(START).tag(sync=True)
    place = traitlets.Int(0).tag(sync=True)

    def __init__(self, **traits):
        from course_lib import hub
        self._models = [hub.load(STATIC / "weights" / name).double().eval() for name in NETWORKS]
        self._words, c = language.vocabularies(), self._models[0].config
        self._cards = [hub.card(STATIC / "weights" / name) for name in NETWORKS]
        super().__init__(**{
            "weights": [as_base64(parameters(model), torch.float16) for model in self._models], "grammar": grammar(),
            "sizes": {"source": c["source"], "target": c["target"], "hidden": c["hidden"], "embedding": c["embedding"]},
            "measured": {words: [self.right(k, words) for k in (0, 1)] for words in self._lengths},
            "alt": "One sentence, translated with one vector and with attention", **traits})

    @property
    def _lengths(self) -> dict[str, int]:
        """{length in Italian words: number of test sentences of this length, of 400}."""
        return self._cards[0].results["sentences by words"]

    @property
    def seeds(self) -> list[list[dict]]:
        """The results of the network without attention and of the network with attention, one dict per training seed.

        "test" is the number of correct translations of 400 test sentences, and "by length" a list of the numbers for
        sentences of 3 to 8 Italian words.
        """
        return [card.results["right of 400"] for card in self._cards]

    def right(self, network: int, words: str) -> list[int]:
        """Return [fewest, most, all]: correct translations of the worst and the best seed, number of test sentences.

        network  0 for the network without attention, 1 for the network with attention
        words    length of the sentences that are counted, in Italian words, "3" to "8"
        """
        found = [seed["by length"][list(self._lengths).index(words)] for seed in self.seeds[network]]
        return [min(found), max(found), self._lengths[words]]

    @property
    def ids(self) -> list[int]:
        """The ids of the words of `sentence`."""
        return [self._words[0].id(word) for word in self.sentence.split()]

    @property
    def result(self) -> list[Written]:
        """The translations of `sentence` by the network without attention and by the network with attention."""
        return [written(model, self.ids) for model in self._models]

    def text(self) -> str:
        found, pair = self.result, language.translate(self.sentence)
        lines = ["Interactive figure: a sentence translated with one vector and with attention.",
                 f"English: {self.sentence}", f"Italian of the grammar: {' '.join(pair.target)}"]
        lines += [f"{label}: {language.to_text(torch.tensor(w.ids))}" for label, w in zip(LABELS, found)]
        t = min(self.place, len(found[1].ids) - 1)
        row, word = found[1].weights[t], self._words[1].symbol(found[1].ids[t])
        return "\n".join([*lines, f"word {t + 1}, {word}, looks most at {pair.source[int(row.argmax())]}: {row.max():.2f}"])

    @traitlets.validate("sentence")
    def _valid_sentence(self, proposal):
        language.translate(proposal["value"])
        return proposal["value"]

    @traitlets.validate("place")
    def _valid_place(self, proposal):
        if proposal["value"] < 0:
            raise ValueError(f"place is {proposal['value']}; expected 0 or more, the index of a token")
        return proposal["value"]
