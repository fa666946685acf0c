"""BERT's 15 / 80 / 10 / 10 rule on one sentence, step by step: what is chosen, what is done to it, what is asked.

Three uniform numbers a token decide: u whether it is chosen, f its fate, r which random word would be put in. The
functions below are the reference for everything that `bert_masking.js` shows; the rule is that of
`course_lib.transformer.corruption.mask_tokens`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
import traitlets
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.explorables.base import Explorable, script, style

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]             # never chosen, never put in
SENTENCES = ["The curious kitten deftly climbed the bookshelf",      # the slide's
             "Toast is a simple yet delicious food [SEP] It's often served with butter",
             "The bank raised its rates while the river rose above its bank"]
VOCABULARY = sorted({word for s in SENTENCES for word in s.split()} - set(SPECIAL)) + [
    "apple", "bird", "cloud", "dances", "evening", "forest", "green", "harbour", "island", "jumps", "kettle", "letter",
    "music", "never", "orange", "paints", "quiet", "river's", "silver", "tall", "under", "violin", "window", "young"]
STEPS, DRAWS = 4, (1, 100, 10_000)
MOST, LONGEST, LAST_SEED = 20, 24, 999_999                           # words, letters a word, seeds
BY_DRAW, NOT_CHOSEN, CHOSEN = -1, 0, 1                               # what the reader's hand says of a token
UNCHOSEN, HIDDEN, RANDOM, KEPT = range(4)                            # what happens to it
DONE = ["", "[MASK]", "random", "unchanged"]


class Count(NamedTuple):
    """A share that was counted beside the one that is expected; `error` is the standard error of the share."""

    label: str
    count: int
    of: int
    expected: float
    error: float                                                     # NaN if `of` is 0


def uniforms(seed: int, n: int) -> Float[Tensor, "n"]:
    """The first n numbers in [0, 1) of a seed: number i is mix(mix(seed) + i * 0x9e3779b9) / 2^32, modulo 2^32.

    mix is the last step of MurmurHash3 with 32 bits (Appleby 2011), which JavaScript computes to the same bit.
    """
    start = _mix(np.array([seed], dtype=np.uint32))
    numbers = _mix(start + np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B9))
    return torch.from_numpy(numbers.astype(np.float64) / 2 ** 32)


def _mix(x: np.ndarray) -> np.ndarray:
    """A permutation of the numbers of 32 bits that leaves no trace of their order."""
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    x = (x ^ x >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return x ^ x >> np.uint32(16)


def fates(ordinary: Bool[Tensor, "T"], rate: int, shares: Sequence[int], u: Float[Tensor, "... T"],
          f: Float[Tensor, "... T"], hand: Int[Tensor, "T"] | None = None) -> Int[Tensor, "... T"]:
    """0 not chosen, 1 hidden, 2 replaced by a random word, 3 kept; rate and shares in percent.

    hand  1 chooses a token whatever u is, 0 does not choose it, -1 leaves it to u. Special tokens are never chosen.
    """
    chosen = u < rate / 100
    if hand is not None:
        chosen = torch.where(hand == BY_DRAW, chosen, hand == CHOSEN)
    hidden, replaced = f < shares[0] / 100, f < shares[0] / 100 + shares[1] / 100
    fate = torch.where(hidden, HIDDEN, torch.where(replaced, RANDOM, KEPT))
    return torch.where(chosen & ordinary, fate, UNCHOSEN)


def candidates(words: Sequence[str], vocabulary: Sequence[str]) -> list[str]:
    """The ordinary words that may be put in: the vocabulary, then those of the sentence that it lacks."""
    return list(dict.fromkeys(word for word in [*vocabulary, *words] if word not in SPECIAL))


def reads(tokens: Sequence[str], fate: Int[Tensor, "T"], r: Float[Tensor, "T"], words: Sequence[str]) -> list[str]:
    """What the model reads: [MASK], candidate floor(r * their number), or the token as it was."""
    put_in = (words[int(v * len(words))] for v in r.tolist())
    return ["[MASK]" if k == HIDDEN else other if k == RANDOM else token
            for token, k, other in zip(tokens, fate.tolist(), put_in)]


def counts(ordinary: Bool[Tensor, "T"], rate: int, shares: Sequence[int], seed: int, draws: int) -> list[Count]:
    """Shares over `draws` draws, of which the seed's first is the one that is shown; nothing chosen by hand."""
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
    """Share i set to `value`: the others make room, the last one first (the first, if i is the last)."""
    new = list(shares)
    first = 0 if i == 2 else 2
    new[i], new[first] = value, new[first] - (value - new[i])
    if new[first] < 0:
        third = 3 - i - first
        new[third], new[first] = new[third] + new[first], 0
    return new


class MaskingForBert(Explorable):
    """The rule of the masked language model on one sentence, with the numbers that decide it.

    words   the sentence, a string or a list of 1 to 20 words; [CLS] and [SEP] are put around it
    rate    percent of the tokens to be chosen, 1 to 100
    shares  percent of the chosen that are hidden, replaced, kept; three whole numbers that sum to 100
    seed    0 to 999999; the shown draw is its first, further draws are counted
    step    1 choose, 2 decide, 3 read, 4 ask
    draws   to be counted: 1, 100 or 10000
    hand    one number a token, [CLS] and [SEP] included: 1 chosen by hand, 0 not chosen, -1 as drawn

    Set any of them and the figure redraws; what the reader changes comes back. Raises ValueError for anything else.

    >>> figure = MaskingForBert(words="the cat sat", seed=1)
    >>> figure.tokens
    ['[CLS]', 'the', 'cat', 'sat', '[SEP]']
    """

    _esm = script("bert_masking")
    _css = style("bert_masking")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rate = traitlets.Int(15).tag(sync=True)
    shares = traitlets.List(traitlets.Int(), [80, 10, 10]).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)
    draws = traitlets.Int(100).tag(sync=True)
    hand = traitlets.List(traitlets.Int()).tag(sync=True)
    sentences = traitlets.List(traitlets.Unicode(), SENTENCES).tag(sync=True)
    vocabulary = traitlets.List(traitlets.Unicode(), VOCABULARY).tag(sync=True)
    special = traitlets.List(traitlets.Unicode(), SPECIAL).tag(sync=True)

    def __init__(self, words: str | Sequence[str] = SENTENCES[0], **traits):
        words = words.split() if isinstance(words, str) else list(words)
        hand = traits.pop("hand", [BY_DRAW] * (len(words) + 2))
        super().__init__(**{"words": words, **traits,
                            "alt": traits.get("alt", "The rule of the masked language model on one sentence")})
        self.hand = hand                                             # after the words, which set it back

    @property
    def tokens(self) -> list[str]:
        """The words between [CLS] and [SEP]."""
        return ["[CLS]", *self.words, "[SEP]"]

    @property
    def ordinary(self) -> Bool[Tensor, "T"]:
        """True where a token may be chosen."""
        return torch.tensor([token not in SPECIAL for token in self.tokens])

    @property
    def numbers(self) -> Float[Tensor, "3 T"]:
        """u, f and r of the draw that is shown."""
        return uniforms(self.seed, 3 * len(self.tokens)).view(3, -1)

    @property
    def fate(self) -> Int[Tensor, "T"]:
        """What becomes of each token, (T,): a number from `fates`."""
        u, f, _ = self.numbers
        return fates(self.ordinary, self.rate, self.shares, u, f, torch.tensor(self.hand))

    @property
    def reads(self) -> list[str]:
        """What the model reads in the place of each token."""
        return reads(self.tokens, self.fate, self.numbers[2], candidates(self.words, self.vocabulary))

    @property
    def asked(self) -> list[str]:
        """The tokens that the model must tell, in the order of the sentence."""
        return [token for token, k in zip(self.tokens, self.fate.tolist()) if k != UNCHOSEN]

    @property
    def counts(self) -> list[Count]:
        """Over many draws: how often each fate occurred, beside what is expected."""
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
            raise ValueError(f"words is {words}; expected 1 to {MOST}, not all of them special")
        for word in words:
            if len(word.split()) != 1 or len(word) > LONGEST:
                raise ValueError(f"words holds {word!r}; a word has 1 to {LONGEST} characters and no space")
        return words

    @traitlets.observe("words")
    def _nothing_by_hand(self, change):
        """Another sentence: what was chosen by hand is taken back."""
        self.hand = [BY_DRAW] * (len(change["new"]) + 2)

    @traitlets.validate("hand")
    def _valid_hand(self, proposal):
        hand, T = proposal["value"], len(self.words) + 2
        if len(hand) != T or not set(hand) <= {BY_DRAW, NOT_CHOSEN, CHOSEN}:
            raise ValueError(f"hand is {hand}; expected {T} numbers: 1 chosen, 0 not chosen, -1 as drawn")
        return hand

    @traitlets.validate("shares")
    def _valid_shares(self, proposal):
        shares = proposal["value"]
        if len(shares) != 3 or min(shares) < 0 or sum(shares) != 100:
            raise ValueError(f"shares is {shares}; expected three whole percentages that sum to 100")
        return shares

    @traitlets.validate("rate", "seed", "step", "draws")
    def _valid_number(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        if name == "draws" and value not in DRAWS:
            raise ValueError(f"draws is {value}; the figure counts {', '.join(map(str, DRAWS))}")
        low, high = {"rate": (1, 100), "seed": (0, LAST_SEED), "step": (1, STEPS), "draws": (1, max(DRAWS))}[name]
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}; expected {low} to {high}")
        return value
