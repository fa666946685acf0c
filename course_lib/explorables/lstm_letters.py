r"""States and gates of a small character LSTM on a text that the reader types; one gate can be fixed.

The model runs in the browser, with weights in half precision. `run` computes the same values in Python in float64 from
the same weights. Cells and letters are counted from 0 here, cells from 1 in the figure. Two line ends precede every
text, as before a speaker in the training data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.explorables.base import STATIC, Explorable, OneOf, Whole, as_base64, script, style
from course_lib.recurrent import LSTMCell, RecurrentLM
from course_lib.tokenizers import CharTokenizer

WEIGHTS = "lstm-letters"
LIMIT = 90_000                                                       # maximum number of base64 characters of weights
BEFORE, LONGEST = "\n\n", 160                                        # text before `typed`, its largest length
START = "ROMEO:\nThe night is long, and I go.\nFarewell!\n"
GATES = ("i", "f", "o")                                              # input, forget and output gate
HELD = ("", *(f"{gate}={value}" for gate in GATES for value in (0, 1)))          # allowed values of `held`


class Run(NamedTuple):
    """The states of the model with H cells on T letters; row t is after letter t."""

    gates: Float[Tensor, "T three H"]                                # input, forget and output gates
    c: Float[Tensor, "T H"]                                          # memory cells
    h: Float[Tensor, "T H"]                                          # hidden states
    logits: Float[Tensor, "T V"]                                     # logits of the next letter


def lstm_of(model: RecurrentLM) -> LSTMCell:
    """Return the single LSTM layer of the model."""
    cell, = model.layers.cells
    return cell


@torch.no_grad()
def run(model: RecurrentLM, ids: Sequence[int], cell: int = 0, held: str = "") -> Run:
    r"""Compute $c_t = f_t \odot c_{t-1} + i_t \odot g_t$ and $h_t = o_t \odot \tanh c_t$ for each letter of `ids`.

    i, f and o are the input, forget and output gates, and g is the candidate for the memory.

    cell  index, from 0, of the cell whose gate can be fixed
    held  the gate and its fixed value, such as "f=1"; "" fixes none
    """
    lstm = lstm_of(model)
    h, c = (part[0] for part in lstm.zeros(1))
    found = []
    for a in lstm.ahead(F.one_hot(torch.tensor(list(ids)), model.vocab_size).to(h.dtype)):
        z = (a + lstm.W_h @ h).view(4, -1)                           # (4, H): i, f, o, g
        gates, g = torch.sigmoid(z[:3]), torch.tanh(z[3])
        if held:
            gates[GATES.index(held[0]), cell] = float(held[2])
        i, f, o = gates
        c = f * c + i * g
        h = o * torch.tanh(c)
        found.append((gates, c, h, model.head(h)))
    return Run(*(torch.stack(part) for part in zip(*found)))


def parameters(model: RecurrentLM) -> list[Tensor]:
    """Return W_x, W_h and b of the LSTM, then weight and bias of the output layer, in the order of lstm_letters.js."""
    lstm = lstm_of(model)
    return [lstm.W_x, lstm.W_h, lstm.b, model.head.weight, model.head.bias]


class LstmLetters(Explorable):
    """The states and gates of an LSTM with 48 cells, trained on tiny Shakespeare, letter by letter.

    typed   the text, at most 160 characters of the model's vocabulary
    letter  index of the selected letter, from 0; 0 and 1 are the line ends before the text
    cell    index of the selected cell, from 0
    held    "" or a fixed gate of that cell: "i=0", "i=1", "f=0", ..., "o=1"

    Raises ValueError for unknown letters and values out of range.

    >>> print(LstmLetters(typed="O").text().splitlines()[0])
    Interactive figure: cell 23 of 48 in an LSTM that reads letters. c is its memory, h what it shows.
    """

    _esm = script("lstm_letters")
    _css = style("lstm_letters")
    weights = traitlets.Unicode().tag(sync=True)
    symbols = traitlets.List(traitlets.Unicode()).tag(sync=True)
    hidden = traitlets.Int().tag(sync=True)
    follows = traitlets.Dict().tag(sync=True)                        # measured: a cell and its correlations
    typed = traitlets.Unicode(START).tag(sync=True)
    letter = Whole(0, 0, LONGEST + 1).tag(sync=True)
    cell = Whole(0, 0, lambda figure: figure._hidden - 1).tag(sync=True)
    held = OneOf("", HELD).tag(sync=True)

    def __init__(self, **traits):
        from course_lib import hub
        path = STATIC / "weights" / WEIGHTS
        model, card = hub.load(path), hub.card(path)
        weights = as_base64(parameters(model), torch.float16)
        if len(weights) > LIMIT:
            raise ValueError(f"{WEIGHTS!r} has weights of {len(weights):,} characters in base64; expected a smaller "
                             f"model, of at most {LIMIT:,}")
        self._model, self._tokenizer = model.double(), CharTokenizer.from_config(card.training["tokenizer"])
        self._symbols, self._hidden = card.training["tokenizer"]["symbols"], lstm_of(model).hidden
        typed = traits.get("typed", START)
        super().__init__(**{"weights": weights, "symbols": self._symbols, "hidden": self._hidden, "typed": typed,
                            "follows": card.results["the place in the line"], "letter": min(len(typed), LONGEST) + 1,
                            "cell": card.results["the place in the line"]["cell"],
                            "alt": "The cells of an LSTM, letter by letter", **traits})

    @property
    def ids(self) -> list[int]:
        """The ids of the letters of `typed`, preceded by two line ends."""
        return self._tokenizer.encode(BEFORE + self.typed).tolist()

    @property
    def result(self) -> Run:
        """Gates, states and logits after each letter, with the gate `held` of `cell` fixed."""
        return run(self._model, self.ids, self.cell, self.held)

    def text(self) -> str:
        shown, t = self.result, self.letter
        lines = [f"Interactive figure: cell {self.cell + 1} of {self._hidden} in an LSTM that reads letters. "
                 "c is its memory, h what it shows.", "letter      c      i     f     o      h"]
        for name, gates, c, h in zip(BEFORE + self.typed, shown.gates[..., self.cell].tolist(),
                                     shown.c[:, self.cell].tolist(), shown.h[:, self.cell].tolist()):
            i, f, o = gates
            lines.append(f"{name if name != chr(10) else 'line end':8} {c:7.2f}  {i:.2f}  {f:.2f}  {o:.2f}  {h:6.2f}")
        best = shown.logits[min(t, len(shown.c) - 1)].softmax(dim=0).topk(3)
        likely = (f"{self._symbols[v]!r} {p:.2f}" for p, v in zip(best.values.tolist(), best.indices.tolist()))
        lines.append("Most likely next: " + ", ".join(likely))
        if self.held:
            lines.append(f"Gate {self.held[0]} of this cell is held at {self.held[2]}.")
        return "\n".join(lines)

    @traitlets.validate("typed")
    def _valid_text(self, proposal):
        value = proposal["value"]
        unknown = sorted(set(value) - set(self._symbols))
        if unknown:
            raise ValueError(f"typed contains {', '.join(map(repr, unknown))}; expected only characters of "
                             f"{''.join(self._symbols)!r}")
        if len(value) > LONGEST:
            raise ValueError(f"typed has {len(value)} characters; expected at most {LONGEST}")
        return value
