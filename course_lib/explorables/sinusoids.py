r"""Sinusoidal positional encodings of a sentence, shown as clocks of several frequencies.

The hand of clock i at position k is $(\sin \omega_i k, \cos \omega_i k)$ with $\omega_i = n^{-2i/D}$, for encodings of
width D and base n. `course_lib.transformer.positions` computes them; p(k) is the encoding of position k.
"""

from __future__ import annotations

import traitlets
from jaxtyping import Float
from torch import Tensor, float64

from course_lib.explorables.base import Explorable, OneOf, script, style
from course_lib.transformer.positions import frequencies, offset_distance, sinusoidal

SENTENCE = "King and Queen are walking on the road"                  # the slide's example
WIDTHS, BASES = (4, 6, 8, 16), (100, 1000, 10000)
MOST_WORDS = 16


class Sinusoids(Explorable):
    """Positional encodings of a sentence for a given position, offset, pair, width and base.

    words     the sentence, a string or a list of 2 to 16 words
    position  k, index of the selected word
    offset    o, from position k to the position k + o with which it is compared, which must be in the sentence
    pair      i, index of the selected clock, 0 to D/2 - 1
    width     D, length of an encoding: 4, 6, 8 or 16
    base      n, base of the frequencies: 100, 1000 or 10000

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    values out of range.

    >>> figure = Sinusoids(words="the cat saw the dog", position=1, offset=2)
    >>> print(figure.text().splitlines()[-1])
    From position 1 to 3 the encoding moves by 1.80638.
    """

    _esm = script("sinusoids")
    _css = style("sinusoids")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    position = traitlets.Int(0).tag(sync=True)
    offset = traitlets.Int(2).tag(sync=True)
    pair = traitlets.Int(0).tag(sync=True)
    width = OneOf(8, WIDTHS).tag(sync=True)
    base = OneOf(100, BASES).tag(sync=True)
    widths = traitlets.List(traitlets.Int(), list(WIDTHS)).tag(sync=True)
    bases = traitlets.List(traitlets.Int(), list(BASES)).tag(sync=True)

    def __init__(self, words: str | list[str] = SENTENCE, **traits):
        words = words.split() if isinstance(words, str) else list(words)
        if not 2 <= len(words) <= MOST_WORDS:
            raise ValueError(f"words has {len(words)} words; expected 2 to {MOST_WORDS} words")
        traits.setdefault("offset", min(2, len(words) - 1 - traits.get("position", 0)))
        super().__init__(**{"words": words, "alt": f"Sinusoidal positions of “{' '.join(words)}”", **traits})

    @property
    def table(self) -> Float[Tensor, "T D"]:
        """The positional encodings of the T words in float64; row k is p(k)."""
        return sinusoidal(len(self.words), self.width, self.base, dtype=float64)

    @property
    def products(self) -> Float[Tensor, "T"]:
        """The inner products of p(k), for the selected position k, with the encodings of all positions."""
        return self.table @ self.table[self.position]

    @property
    def distance(self) -> float:
        """The norm of p(k + o) - p(k), which depends only on the offset o."""
        return offset_distance(self.offset, self.width, self.base)

    def text(self) -> str:
        k, other = self.position, self.position + self.offset
        omega = frequencies(self.width, self.base)[self.pair].item()
        sine, cosine = self.table[k, 2 * self.pair:2 * self.pair + 2].tolist()
        lines = [f"Interactive figure: sinusoidal positions of “{' '.join(self.words)}”, "
                 f"width {self.width}, base {self.base}.",
                 f"Clock {self.pair} turns by {omega:.5f} radians a word. At “{self.words[k]}”, position {k}, it shows "
                 f"sin {sine:.5f}, cos {cosine:.5f}; an offset of {self.offset} turns it by {omega * self.offset:.5f}.",
                 "position  word  inner product with the chosen one"]
        lines += [f"{j:8d}  {word}  {v:.5f}" for j, (word, v) in enumerate(zip(self.words, self.products.tolist()))]
        lines.append(f"From position {k} to {other} the encoding moves by {self.distance:.5f}.")
        return "\n".join(lines)

    @traitlets.validate("pair")
    def _valid_pair(self, proposal):
        pair = proposal["value"]
        if not 0 <= pair < self.width // 2:
            raise ValueError(f"pair is {pair}; expected 0 to {self.width // 2 - 1} for a width of {self.width}")
        return pair

    @traitlets.observe("width")
    def _pair_within_width(self, change):
        self.pair = min(self.pair, change["new"] // 2 - 1)

    @traitlets.validate("position", "offset")
    def _valid_place(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        k, o = (value, self.offset) if name == "position" else (self.position, value)
        last = len(self.words) - 1
        if not 0 <= k <= last or not 0 <= k + o <= last:
            raise ValueError(f"{name} is {value}, so position is {k} and position + offset is {k + o}; expected both "
                             f"to be positions of words, 0 to {last}")
        return value
