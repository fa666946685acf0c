r"""The distribution of the next word after two prefixes, under temperature, top-k and top-p.

`after` computes it by `course_lib.decoding.reshape`, over the whole vocabulary of V words of a word n-gram.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.conditional import Categorical
from course_lib.counting import NGram
from course_lib.data.corpus import load_prose
from course_lib.decoding import log_probs, reshape
from course_lib.explorables.base import Explorable, as_base64, script, style
from course_lib.explorables.decoding_tree import stated_uniforms
from course_lib.tokenizers import WordTokenizer

CONTEXTS = ("in the", "the old", "at the", "he", "she could", "of the")     # the first two are shown first
CUTS = ("none", "top-k", "top-p", "both")
MOST_SYMBOLS, MOST_CONTEXTS, MOST_DRAWS = 2000, 8, 40                # largest vocabulary, number of prefixes, `draws`


class Setting(NamedTuple):
    """The settings of temperature, top-k and top-p, by which `after` changes a distribution."""

    cut: str = "top-k"                                               # "none", "top-k", "top-p" or "both" (k, then p)
    temperature: float = 1.0                                         # log-probabilities are divided by it
    top_k: int = 5                                                   # number of words that top-k keeps
    top_p: float = 0.6                                               # probability mass that top-p keeps
    late: bool = False                                               # apply the temperature after the cut


class After(NamedTuple):
    """A distribution of the next word after temperature, top-k and top-p."""

    log_p: Float[Tensor, " V"]                                       # ln p of each word; -inf for excluded words
    kept: Bool[Tensor, " V"]                                         # True for words that are not excluded
    mass: float                                                      # probability of the kept words before top-k, top-p


def after(log_p: Float[Tensor, " V"], setting: Setting) -> After:
    """Apply temperature, top-k and top-p, in this order, to a distribution of the next word.

    log_p    ln p of each word
    setting  values of temperature, top-k and top-p; if `setting.late`, the temperature is applied last
    """
    k = setting.top_k if setting.cut in ("top-k", "both") else None
    p = setting.top_p if setting.cut in ("top-p", "both") else None
    if setting.late:
        cut = reshape(log_p, 1, k, p)
        changed, whole = reshape(cut, setting.temperature), log_p.log_softmax(dim=-1)
        kept = cut > -torch.inf
    else:
        changed, whole = reshape(log_p, setting.temperature, k, p), reshape(log_p, setting.temperature)
        kept = changed > -torch.inf
    return After(changed, kept, whole.exp()[kept].sum().item())


def ranked(log_p: Float[Tensor, " V"]) -> list[int]:
    """Return the ids of all words by decreasing probability; ties by decreasing id, as in top-p."""
    return log_p.sort(stable=True).indices.flip(0).tolist()


def spelt(symbol: str) -> str:
    """Write a symbol as text: punctuation in quotes, spaces and line ends as visible characters.

    >>> [spelt(symbol) for symbol in (" sea", ".", " ")]
    ['sea', '“.”', '␣']
    """
    text = symbol.strip()
    if not text:
        return "⏎" if symbol == "\n" else "␣"
    return text if any(c.isalnum() for c in text) else f"“{text}”"


@lru_cache(maxsize=1)
def prose_model() -> tuple[NGram, WordTokenizer]:
    """Return the trigram model of chapter decoding, fitted to the course's prose in lower case, and its tokenizer."""
    sentences = re.findall(r"\S[^.?!]*[.?!]", load_prose("train").lower())
    words = WordTokenizer.fit("\n".join(sentences), unk="<unk>", bos="<s>", eos="</s>")
    model = NGram(n=3, vocab_size=len(words.vocabulary), bos_id=words.vocabulary.bos_id, smoothing="kneser-ney")
    model.fit_counts([words.encode(sentence, eos=True) for sentence in sentences])
    return model, words


class NextWord(Explorable):
    """The most probable next words after two prefixes, and the words that temperature, top-k and top-p keep.

    contexts      2 to 8 prefixes, each a text of at least one token
    model, words  a language model and its tokenizer; None for the trigram model of chapter decoding
    left, right   indices of the two selected prefixes
    cut           "none", "top-k", "top-p" or "both"
    temperature   temperature, 0 to 2
    top_k, top_p  number of words that top-k keeps, from 1; probability mass that top-p keeps, 0 < top_p <= 1
    late          apply the temperature after top-k and top-p; `course_lib.decoding` applies it before them
    draws, seed   number of samples, 0 to 40, and their seed, 0 or more

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    values out of range.

    >>> print(NextWord().text().splitlines()[1])
    after “in the”: keeps 5 of 1,229 words, which hold 0.136 of the mass
    """

    _esm = script("decoding_search", "next_word")
    _css = style("next_word")
    contexts = traitlets.List(traitlets.Unicode()).tag(sync=True)
    symbols = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tables = traitlets.List(traitlets.Unicode()).tag(sync=True)      # ln p of every symbol, float32 in base64
    left = traitlets.Int(0).tag(sync=True)
    right = traitlets.Int(1).tag(sync=True)
    cut = traitlets.Unicode("top-k").tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(5).tag(sync=True)
    top_p = traitlets.Float(0.6).tag(sync=True)
    late = traitlets.Bool(False).tag(sync=True)
    draws = traitlets.Int(10).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)

    def __init__(self, contexts: Sequence[str] = CONTEXTS, model: nn.Module | None = None, words: Any = None, **traits):
        if isinstance(contexts, str) or not 2 <= len(contexts) <= MOST_CONTEXTS:
            raise ValueError(f"contexts is {contexts!r}; expected a list of 2 to {MOST_CONTEXTS} texts")
        if (model is None) != (words is None):
            raise ValueError("model and words belong together; expected both or neither, got only "
                             f"{'words' if model is None else 'model'}")
        model, words = prose_model() if model is None else (model, words)
        symbols = list(words.vocabulary.symbols)
        if len(symbols) > MOST_SYMBOLS:
            raise ValueError(f"words has {len(symbols)} symbols; expected at most {MOST_SYMBOLS} in its vocabulary")
        rows = []
        with torch.no_grad():
            for text in contexts:
                if len(prompt := words.encode(text)) == 0:
                    raise ValueError(f"contexts contains {text!r}; expected texts of at least one token")
                rows.append(log_probs(model, model.predict(model.start(1, prompt[None])))[0].float().numpy())
        self._rows = [torch.from_numpy(row.astype(np.float64)) for row in rows]
        super().__init__(**{"contexts": list(contexts), "symbols": symbols,
                            "tables": [as_base64([torch.from_numpy(row)]) for row in rows],
                            "alt": "The next word after two beginnings, under one setting", **traits})

    @property
    def setting(self) -> Setting:
        """`cut`, `temperature`, `top_k`, `top_p` and `late`, which determine the distributions."""
        return Setting(*(getattr(self, name) for name in Setting._fields))

    @property
    def shown(self) -> tuple[int, int]:
        """The indices of the two selected prefixes."""
        return self.left, self.right

    def log_p(self, i: int) -> Float[Tensor, " V"]:
        """ln p of each of V words after prefix i of `contexts`, before temperature, top-k and top-p, in float64."""
        return self._rows[i]

    def after(self, i: int) -> After:
        """The distribution of the next word after prefix i of `contexts`, changed by `setting`."""
        return after(self.log_p(i), self.setting)

    def drawn(self, i: int) -> list[int]:
        """Sample the ids of `draws` words after prefix i by inverse CDF; all prefixes use the same uniform numbers."""
        changed = self.after(i).log_p
        u = torch.tensor(stated_uniforms(self.seed, self.draws), dtype=torch.float64)
        family = Categorical(len(changed))
        return family.draw(family(changed.expand(len(u), -1)), u[:, None]).tolist()

    def text(self) -> str:
        s, names = self.setting, self.symbols
        used = [f"top-k {s.top_k}"] if s.cut in ("top-k", "both") else []
        used += [f"top-p {s.top_p:g}"] if s.cut in ("top-p", "both") else []
        heat = [f"temperature {s.temperature:g}"]
        order = ", then ".join(used + heat if s.late else heat + used)
        lines = [f"Interactive figure: the next word after two beginnings; {order}."]
        for i in self.shown:
            found, possible = self.after(i), int((self.log_p(i) > -math.inf).sum())
            lines.append(f"after “{self.contexts[i]}”: keeps {int(found.kept.sum()):,} of {possible:,} words, "
                         f"which hold {found.mass:.3f} of the mass")
            p, q = self.log_p(i).exp(), found.log_p.exp()
            lines.append("  " + ", ".join(f"{spelt(names[v])} {p[v]:.3f} becomes {q[v]:.3f}"
                                          for v in ranked(self.log_p(i))[:5]))
            if self.draws:
                lines.append("  drawn: " + ", ".join(spelt(names[v]) for v in self.drawn(i)))
        return "\n".join(lines)

    @traitlets.validate("left", "right", "cut", "temperature", "top_k", "top_p", "draws", "seed")
    def _valid(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        fits, needed = {
            "left": (lambda v: 0 <= v < len(self._rows), f"a number from 0 to {len(self._rows) - 1}"),
            "right": (lambda v: 0 <= v < len(self._rows), f"a number from 0 to {len(self._rows) - 1}"),
            "cut": (lambda v: v in CUTS, " or ".join(map(repr, CUTS))),
            "temperature": (lambda v: 0 <= v <= 2, "a number from 0 to 2"),
            "top_k": (lambda v: 1 <= v <= len(self._rows[0]), f"a number from 1 to {len(self._rows[0])}"),
            "top_p": (lambda v: 0 < v <= 1, "0 < top_p <= 1"),
            "draws": (lambda v: 0 <= v <= MOST_DRAWS, f"a number from 0 to {MOST_DRAWS}"),
            "seed": (lambda v: v >= 0, "a number from 0 on"),
        }[name]
        if not fits(value):
            raise ValueError(f"{name} is {value!r}; expected {needed}")
        return value
