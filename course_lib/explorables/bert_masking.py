"""BERT's masking rule on one sentence: select 15 % of the tokens; mask 80 % of them, replace 10 %, keep 10 %.

Three uniform numbers per token determine whether it is selected (u), how it is corrupted (f), and the random word that
replaces it (r). The rule is `course_lib.transformer.corruption.mask_tokens`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, OneOf, Whole, script, style

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]             # never selected, never inserted
SENTENCES = ["The curious kitten deftly climbed the bookshelf",      # the slide's
             "Toast is a simple yet delicious food [SEP] It's often served with butter",
             "The bank raised its rates while the river rose above its bank"]
VOCABULARY = sorted({word for s in SENTENCES for word in s.split()} - set(SPECIAL)) + [
    "apple", "bird", "cloud", "dances", "evening", "forest", "green", "harbour", "island", "jumps", "kettle", "letter",
    "music", "never", "orange", "paints", "quiet", "river's", "silver", "tall", "under", "violin", "window", "young"]
STEPS, DRAWS = 4, (1, 100, 10_000)                                   # number of steps, allowed values of `draws`
MOST, LONGEST, LAST_SEED = 20, 24, 999_999                           # largest number of words, length of a word, seed
BY_DRAW, NOT_CHOSEN, CHOSEN = -1, 0, 1                               # selection of a token by the reader
UNCHOSEN, HIDDEN, RANDOM, KEPT = range(4)                            # corruption of a token
DONE = ["", "[MASK]", "random", "unchanged"]                         # names of the corruptions


class Count(NamedTuple):
    """How often an event occurred in a number of trials, compared with its probability."""

    label: str                                                       # name of the event
    count: int                                                       # occurrences
    of: int                                                          # trials
    expected: float                                                  # probability of the event
    error: float                                                     # standard error of count / of; NaN if `of` is 0


def uniforms(seed: int, n: int) -> Float[Tensor, "n"]:
    """Return n pseudorandom numbers, uniform in [0, 1), for a seed, the same as in JavaScript to the last bit.

    Number i is mix(mix(seed) + i * 0x9e3779b9 modulo 2^32) / 2^32, where mix is the last step of 32-bit MurmurHash3
    (Appleby 2011).
    """
    start = _mix(np.array([seed], dtype=np.uint32))
    numbers = _mix(start + np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B9))
    return torch.from_numpy(numbers.astype(np.float64) / 2 ** 32)


def _mix(x: np.ndarray) -> np.ndarray:
    """Permute the 32-bit integers by the last step of MurmurHash3."""
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return x ^ x >> np.uint32(16)


def fates(ordinary: Bool[Tensor, "T"], rate: int, shares: Sequence[int], u: Float[Tensor, "... T"],
          f: Float[Tensor, "... T"], hand: Int[Tensor, "T"] | None = None) -> Int[Tensor, "... T"]:
    """Return the corruption of each token: 0 not selected, 1 masked, 2 replaced by a random word, 3 kept.

    ordinary  False for special tokens, which are never selected
    rate      percentage of selected tokens
    shares    percentages of the selected tokens that are masked, replaced and kept
    u, f      uniform numbers: a token is selected if 100 u < rate; it is masked if 100 f < shares[0], replaced if
              100 f < shares[0] + shares[1], and else kept
    hand      for each token, 1 selects it, 0 does not, -1 uses u; None uses u for all
    """
    chosen = u < rate / 100
    if hand is not None:
        chosen = torch.where(hand == BY_DRAW, chosen, hand == CHOSEN)
    hidden, replaced = f < shares[0] / 100, f < shares[0] / 100 + shares[1] / 100
    fate = torch.where(hidden, HIDDEN, torch.where(replaced, RANDOM, KEPT))
    return torch.where(chosen & ordinary, fate, UNCHOSEN)


def candidates(words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """Return the words for random replacement: the vocabulary and the words of the sentence, without special tokens."""
    return list(dict.fromkeys(word for word in [*vocabulary, *words] if word not in SPECIAL))


def reads(tokens: Sequence[str], fate: Int[Tensor, "T"], r: Float[Tensor, "T"], words: Sequence[str]) -> list[str]:
    """Return the input of the model: [MASK], a random word or the original token at each position.

    fate   corruption of each token, from `fates`
    r      uniform number of each token: the random word at its position is words[floor(r * len(words))]
    words  words for random replacement, from `candidates`
    """
    put_in = (words[int(v * len(words))] for v in r.tolist())
    return ["[MASK]" if k == HIDDEN else other if k == RANDOM else token
            for token, k, other in zip(tokens, fate.tolist(), put_in)]


def counts(ordinary: Bool[Tensor, "T"], rate: int, shares: Sequence[int], seed: int, draws: int) -> list[Count]:
    """Count selected tokens, their corruptions, and samples without a selected token over `draws` samples of `fates`.

    seed   seed of the uniform numbers
    draws  number of samples; the figure shows the first

    `ordinary`, `rate` and `shares` are described in `fates`. Selections by hand are ignored.
    """
    T = len(ordinary)
    u, f, _ = uniforms(seed, 3 * T * draws).view(draws, 3, T).unbind(1)
    fate = fates(ordinary, rate, shares, u, f)                       # (draws, T)
    m, chosen = int(ordinary.sum()), int((fate != UNCHOSEN).sum())
    found = [("tokens chosen", chosen, m * draws, rate / 100)]
    found += [(f"chosen: {DONE[k]}", int((fate == k).sum()), chosen, share / 100)
              for k, share in zip((HIDDEN, RANDOM, KEPT), shares)]
    found.append(("draws with nothing chosen", int((fate == UNCHOSEN).all(1).sum()), draws, (1 - rate / 100) ** m))
    return [Count(label, count, of, p, (p * (1 - p) / of) ** 0.5 if of else float("nan"))
            for label, count, of, p in found]


def reshare(shares: Sequence[int], i: int, value: int) -> list[int]:
    """Return the three shares, percentages, with share i, from 0, set to `value` and the sum unchanged.

    The difference is taken from the last share, or from the first if i is the last. If that share would be negative, it
    is 0, and the rest is taken from the remaining share.
    """
    new = list(shares)
    first = 0 if i == 2 else 2
    new[i], new[first] = value, new[first] - (value - new[i])
    if new[first] < 0:
        third = 3 - i - first
        new[third], new[first] = new[third] + new[first], 0
    return new


class MaskingForBert(Explorable):
    """The masking rule of BERT on one sentence, with the random numbers that determine it.

    words   the sentence, a string or a list of 1 to 20 words, without [CLS] and [SEP]
    rate    percentage of selected tokens, 1 to 100
    shares  percentages of the selected tokens that are masked, replaced, kept; integers that sum to 100
    seed    seed of the uniform numbers, 0 to 999999
    step    last step that is shown: 1 selection, 2 corruption, 3 input, 4 targets
    draws   number of samples over which fractions are computed: 1, 100 or 10000
    hand    one entry per token, [CLS] and [SEP] included: 1 selected by hand, 0 not selected, -1 as sampled

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    other values.

    >>> figure = MaskingForBert(words="the cat sat", seed=1)
    >>> figure.tokens
    ['[CLS]', 'the', 'cat', 'sat', '[SEP]']
    """

    _esm = script("bert_masking")
    _css = style("bert_masking")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rate = Whole(15, 1, 100).tag(sync=True)
    shares = traitlets.List(traitlets.Int(), [80, 10, 10]).tag(sync=True)
    seed = Whole(1, 0, LAST_SEED).tag(sync=True)
    step = Whole(1, 1, STEPS).tag(sync=True)
    draws = OneOf(100, DRAWS).tag(sync=True)
    hand = traitlets.List(traitlets.Int()).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), SENTENCES).tag(sync=True)
    vocabulary = traitlets.List(traitlets.Unicode(), VOCABULARY).tag(sync=True)
    special = traitlets.List(traitlets.Unicode(), SPECIAL).tag(sync=True)

    def __init__(self, words: str | Sequence[str] = SENTENCES[0], **traits):
        words = words.split() if isinstance(words, str) else list(words)
        hand = traits.pop("hand", [BY_DRAW] * (len(words) + 2))
        super().__init__(**{"words": words, **traits,
                            "alt": traits.get("alt", "The rule of the masked language model on one sentence")})
        self.hand = hand                                             # after words, which reset it

    @property
    def tokens(self) -> list[str]:
        """The tokens of the sentence: [CLS], the words, [SEP]."""
        return ["[CLS]", *self.words, "[SEP]"]

    @property
    def ordinary(self) -> Bool[Tensor, "T"]:
        """(T,): True for tokens that may be selected, which are not special."""
        return torch.tensor([token not in SPECIAL for token in self.tokens])

    @property
    def numbers(self) -> Float[Tensor, "3 T"]:
        """The uniform numbers u, f and r (3, T) of the sample that is shown.

        u determines whether a token is selected, f its corruption, and r the random word that may replace it."""
        return uniforms(self.seed, 3 * len(self.tokens)).view(3, -1)

    @property
    def fate(self) -> Int[Tensor, "T"]:
        """The corruption of each token, (T,): 0 not selected, 1 masked, 2 replaced by a random word, 3 kept."""
        u, f, _ = self.numbers
        return fates(self.ordinary, self.rate, self.shares, u, f, torch.tensor(self.hand))

    @property
    def reads(self) -> list[str]:
        """The input of the model, a token at each position."""
        return reads(self.tokens, self.fate, self.numbers[2], candidates(self.words, self.vocabulary))

    @property
    def asked(self) -> list[str]:
        """The targets: the original tokens at the selected positions, in the order of the sentence."""
        return [token for token, k in zip(self.tokens, self.fate.tolist()) if k != UNCHOSEN]

    @property
    def counts(self) -> list[Count]:
        """Counts of selected tokens and of each corruption in `draws` samples, and their probabilities."""
        return counts(self.ordinary, self.rate, self.shares, self.seed, self.draws)

    def text(self) -> str:
        hidden, replaced, kept = self.shares
        lines = [f"Interactive figure: {self.rate} % of the tokens are chosen; of those {hidden} % hidden, "
                 f"{replaced} % replaced by a random word, {kept} % unchanged. Draw of seed {self.seed}:",
                 f"{'token':14s}{'u':8s}{'f':8s}{'done':11s}reads"]
        for token, u, f, k, read in zip(self.tokens, *self.numbers[:2].tolist(), self.fate.tolist(), self.reads):
            lines.append(f"{token:14s}{u:.4f}  {f:.4f}  {DONE[k] if k else '-':11s}{read}")
        lines.append(f"To be predicted: {', '.join(self.asked) or 'nothing'}.")
        lines.append(f"Counted over {self.draws} draw{'s' * (self.draws > 1)}; expected share ± standard error:")
        for row in self.counts:
            share = f"{row.count / row.of:.2%}" if row.of else "-"
            lines.append(f"{row.label:26s}{row.count} of {row.of}, {share}; {row.expected:.2%} ± {row.error:.2%}")
        return "\n".join(lines)

    @traitlets.validate("words")
    def _valid_words(self, proposal):
        words = proposal["value"]
        if not 1 <= len(words) <= MOST or all(word in SPECIAL for word in words):
            raise ValueError(f"words is {words}; expected 1 to {MOST} words, at least one of them not a special token")
        for word in words:
            if len(word.split()) != 1 or len(word) > LONGEST:
                raise ValueError(f"words contains {word!r}; expected words of 1 to {LONGEST} characters without spaces")
        return words

    @traitlets.observe("words")
    def _nothing_by_hand(self, change):
        """Remove all selections by hand when the sentence changes."""
        self.hand = [BY_DRAW] * (len(change["new"]) + 2)

    @traitlets.validate("hand")
    def _valid_hand(self, proposal):
        hand, T = proposal["value"], len(self.words) + 2
        if len(hand) != T or not set(hand) <= {BY_DRAW, NOT_CHOSEN, CHOSEN}:
            raise ValueError(f"hand is {hand}; expected {T} numbers, one per token, [CLS] and [SEP] included: 1 to "
                             "select the token, 0 not to select it, -1 to sample its selection")
        return hand

    @traitlets.validate("shares")
    def _valid_shares(self, proposal):
        shares = proposal["value"]
        if len(shares) != 3 or min(shares) < 0 or sum(shares) != 100:
            raise ValueError(f"shares is {shares}; expected three whole percentages that sum to 100")
        return shares
