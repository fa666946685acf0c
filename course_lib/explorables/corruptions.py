"""One text under the pre-training objectives of chapter denoising: input, target, and positions with a loss.

The functions below follow the rules of `course_lib.transformer.corruption` and `course_lib.transformer.denoising`. An
argument `numbers` is an iterator of uniform numbers in [0, 1), from `numbers_of`, of which they take the next ones.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import traitlets

from course_lib.explorables.base import Explorable, OneOf, Whole, script, style
from course_lib.explorables.draws import uniforms

TEXTS = ["the cook bakes warm bread . she sells the bread . it rains .",
         "old cook kneads new bread kitchen . she slices small cake bakery .",
         "the captain paints the boat . the pier is quiet . he sails the boat to the pier ."]
VOCABULARY = ["apple", "cake", "digs", "flour", "garden", "kneads", "lamp", "milk", "old", "paints", "quiet", "river",
              "slices", "small", "tulip", "warms"]
MASK, END = "[M]", "."                                               # mask token, end of a sentence
SENTINELS = ["<X>", "<Y>", "<Z>", "<U>", "<V>", "<W>"]
SHARES = (0, 30, 50)                                                 # percentage of corrupted words; 0: as in the papers
MOST, LONGEST, LAST_SEED, READINGS = 24, 14, 9_999, 100              # largest number of tokens, length of a token,
                                                                     # seed, number of epochs
NUMBERS = 120                                                        # uniform numbers per epoch
RIGHT = 0.25                                                         # accuracy of the simulated ELECTRA generator

# name, percentage of corrupted tokens in the paper (0 if there is none), description
OBJECTIVES = (
    ("BERT", 15, "Words are chosen once; of ten chosen ones eight are hidden, one is replaced, one is kept. A loss at each."),
    ("RoBERTa", 15, "BERT's rule, drawn anew whenever the text is read."),
    ("ELECTRA", 15, "A small model fills the gaps, here a stand-in that is right one time in four. Of every word: was it put in?"),
    ("XLNet", 0, "Nothing is hidden. The words are told in a drawn order, each from those that come before it in that order."),
    ("T5", 15, "Spans leave the text, a sentinel stands for each, and what they were is written. A last sentinel ends it."),
    ("Pegasus", 0, "The sentence that shares most words with the rest is taken out and written."),
    ("BART: masked", 15, "Words are hidden. The whole text is written."),
    ("BART: deleted", 15, "Words are left out, and nothing shows where. The whole text is written."),
    ("BART: infilled", 30, "One mask for each span, however long, even for none. The whole text is written."),
    ("BART: permuted", 0, "The sentences in another order. The whole text is written."),
    ("BART: rotated", 0, "The text begins at a drawn word. The whole text is written."),
)
NAMES = [name for name, *_ in OBJECTIVES]


class Task(NamedTuple):
    """Input and target of a text under one objective."""

    reads: list[str]                                                 # tokens of the input
    tells: list[str]                                                 # tokens of the target
    at: list[int]                                                    # positions in `reads` with a loss; if empty, every
                                                                     # token of `tells` has one
    turn: list[int]                                                  # XLNet: each token's rank in the order, from 1;
                                                                     # empty for the other objectives

    @property
    def losses(self) -> int:
        """The number of positions with a loss."""
        return len(self.at) or len(self.tells)


def numbers_of(objective: int, seed: int, reading: int) -> Iterator[float]:
    """Return an iterator of uniform numbers in [0, 1), the same for all objectives that select single words.

    objective  index in OBJECTIVES
    seed       seed of the corruptions
    reading    number of the epoch, from 1
    """
    kind = 0 if NAMES[objective] in ("RoBERTa", "ELECTRA", "BART: masked", "BART: deleted") else objective
    return iter(uniforms((seed * 128 + reading) * 16 + kind + 1, NUMBERS))


def task(objective: int, tokens: Sequence[str], seed: int, reading: int = 1, share: int = 0,
         vocabulary: Sequence[str] = VOCABULARY) -> Task:
    """Return the input and the target of a pre-training objective for one text.

    objective   index in OBJECTIVES
    tokens      the text
    seed        seed of the corruption
    reading     number of the epoch, from 1; each epoch has another corruption
    share       percentage of corrupted tokens; 0 for the percentage in OBJECTIVES
    vocabulary  words from which random replacements are taken
    """
    name, paper, _ = OBJECTIVES[objective]
    tokens, rate, numbers = list(tokens), (share or paper) / 100, numbers_of(objective, seed, reading)
    T = len(tokens)
    if name in ("BERT", "RoBERTa", "ELECTRA", "BART: masked", "BART: deleted"):
        u, f, r = ([next(numbers) for _ in range(T)] for _ in range(3))
        chosen = [i for i in range(T) if u[i] < rate]
        others = list(dict.fromkeys([*vocabulary, *tokens]))
        put_in = [others[int(v * len(others))] for v in r]
        reads = list(tokens)
        if name == "ELECTRA":
            for i in chosen:
                reads[i] = tokens[i] if f[i] < RIGHT else put_in[i]
            return Task(reads, ["1" if a != b else "0" for a, b in zip(reads, tokens)], list(range(T)), [])
        if name in ("BERT", "RoBERTa"):
            for i in chosen:
                reads[i] = MASK if f[i] < 0.8 else put_in[i] if f[i] < 0.8 + 0.1 else tokens[i]
            return Task(reads, [tokens[i] for i in chosen], chosen, [])
        reads = [MASK if i in chosen else t for i, t in enumerate(tokens) if i not in chosen or name == "BART: masked"]
    elif name == "XLNet":
        order = permutation(T, numbers)
        return Task(tokens, [tokens[i] for i in order], list(range(T)), [order.index(i) + 1 for i in range(T)])
    elif name == "T5":
        return Task(*exchanged(tokens, separate_spans(T, rate, 3.0, numbers)), [], [])
    elif name == "Pegasus":
        return Task(*gap(tokens), [], [])
    elif name == "BART: infilled":
        lengths = poisson_lengths(half_even(rate * T), 3.0, numbers)
        reads, at = [], 0
        for start, end in placed(T, lengths, numbers):
            reads += [*tokens[at:start], MASK]
            at = end
        reads += tokens[at:]
    elif name == "BART: permuted":
        parts = cut_at_ends(tokens)
        reads = [t for i in permutation(len(parts), numbers) for t in parts[i]]
    else:
        start = int(next(numbers) * T)
        reads = tokens[start:] + tokens[:start]
    return Task(reads, tokens, [], [])


# --- what is drawn ---------------------------------------------------------------------------------------------------


def half_even(x: float) -> int:
    """Round to the nearest integer, and a half to the nearest even integer."""
    return round(x)


def permutation(n: int, numbers: Iterator[float]) -> list[int]:
    """Return a random permutation of 0 to n - 1: the argsort of the next n of `numbers`."""
    u = [next(numbers) for _ in range(n)]
    return sorted(range(n), key=lambda i: u[i])


def poisson(mean: float, u: float) -> int:
    """Sample a Poisson distribution with mean `mean` by the inverse CDF from the uniform number u; at most 50."""
    k, p = 0, math.exp(-mean)
    total = p
    while u >= total and k < 50:
        k += 1
        p *= mean / k
        total += p
    return k


def poisson_lengths(budget: int, mean: float, numbers: Iterator[float]) -> list[int]:
    """Sample lengths of spans that sum to `budget`: Poisson with mean `mean`, 0 included, the last one truncated."""
    lengths: list[int] = []
    while sum(lengths) < budget:
        lengths.append(min(poisson(mean, next(numbers)), budget - sum(lengths)))
    return lengths


def placed(T: int, lengths: Sequence[int], numbers: Iterator[float]) -> list[tuple[int, int]]:
    """Place spans of the given lengths at random, without overlap, in T tokens; return the (start, end) of each."""
    items = T - sum(lengths) + len(lengths)
    spans, taken = [], 0
    for number, (item, length) in enumerate(zip(sorted(permutation(items, numbers)[:len(lengths)]), lengths)):
        start = item - number + taken
        spans.append((start, start + length))
        taken += length
    return spans


def split(total: int, parts: int, numbers: Iterator[float]) -> list[int]:
    """Return `parts` random positive integers that sum to `total`."""
    cuts = sorted(i + 1 for i in permutation(total - 1, numbers)[:parts - 1])
    return [b - a for a, b in zip([0, *cuts], [*cuts, total])]


def separate_spans(T: int, rate: float, mean: float, numbers: Iterator[float]) -> list[tuple[int, int]]:
    """Sample the spans (start, end) of T5 in T tokens: they cover round(rate T) tokens, at least one token apart.

    rate  fraction of tokens in spans
    mean  mean length of the spans, which determines their number
    """
    covered = min(max(half_even(rate * T), 1), T - 1)
    number = min(max(1, half_even(covered / mean)), covered, T - covered + 1)
    sizes = split(covered, number, numbers)
    gaps = split(T - covered + 2, number + 1, numbers)
    spans, at = [], -1
    for before, size in zip(gaps, sizes):
        spans.append((at + before, at + before + size))
        at += before + size
    return spans


def exchanged(tokens: Sequence[str], spans: Sequence[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Return the text with a sentinel in place of each span, and the target: each sentinel and its span, then one more.

    spans  pairs (start, end) of indices in `tokens`, from 0, end excluded, in order
    """
    reads, tells, at = [], [], 0
    for (start, end), sentinel in zip(spans, SENTINELS):
        reads += [*tokens[at:start], sentinel]
        tells += [sentinel, *tokens[start:end]]
        at = end
    return [*reads, *tokens[at:]], [*tells, SENTINELS[len(spans)]]


def cut_at_ends(tokens: Sequence[str]) -> list[list[str]]:
    """Split the tokens of a text into sentences, after every full stop."""
    parts: list[list[str]] = [[]]
    for token in tokens:
        parts[-1].append(token)
        if token == END:
            parts.append([])
    return [part for part in parts if part]


def gap(tokens: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the text with a mask in place of its most central sentence, and this sentence, as in Pegasus.

    It is the sentence with the largest ROUGE-1 F1 with all others. A single sentence is not masked, and the target is
    then empty.
    """
    parts = cut_at_ends(tokens)
    if len(parts) < 2:
        return list(tokens), []
    scores = []
    for i, part in enumerate(parts):
        rest = Counter(t for j, other in enumerate(parts) if j != i for t in other)
        scores.append(2 * (Counter(part) & rest).total() / (len(part) + rest.total()))       # 2PR / (P + R)
    best = scores.index(max(scores))
    return [t for i, part in enumerate(parts) for t in ([MASK] if i == best else part)], parts[best]


# --- the figure ------------------------------------------------------------------------------------------------------


def cut(text: str) -> list[str]:
    """Split a text into words and full stops; question and exclamation marks become full stops."""
    return [END if t in ".?!" else t for t in re.findall(r"[^\s.?!]+|[.?!]", text)]


class Corruptions(Explorable):
    """One text under eleven pre-training objectives: input, target, and positions with a loss.

    words    the text, a string or a list of 2 to 24 tokens
    seed     seed of the corruptions, 0 to 9999
    reading  epoch, 1 to 100; BERT keeps the mask of epoch 1
    share    percentage of corrupted words, 30 or 50; 0 for the papers' values, 15, and 30 for BART's infilling
    row      index in `OBJECTIVES` of the objective that the figure describes

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    other values.

    >>> figure = Corruptions("the cat sat . it purred .", seed=2)
    >>> figure.tasks["BART: permuted"].reads
    ['it', 'purred', '.', 'the', 'cat', 'sat', '.']
    """

    _esm = script("corruptions")
    _css = style("corruptions")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    seed = Whole(7, 0, LAST_SEED).tag(sync=True)
    reading = Whole(1, 1, READINGS).tag(sync=True)
    share = OneOf(0, SHARES, ", ".join(map(str, SHARES))).tag(sync=True)
    row = Whole(0, 0, len(NAMES) - 1).tag(sync=True)
    texts = traitlets.List(traitlets.Unicode(), TEXTS).tag(sync=True)
    vocabulary = traitlets.List(traitlets.Unicode(), VOCABULARY).tag(sync=True)
    objectives = traitlets.List(default_value=[list(one) for one in OBJECTIVES]).tag(sync=True)

    def __init__(self, words: str | Sequence[str] = TEXTS[0], **traits):
        words = cut(words) if isinstance(words, str) else list(words)
        super().__init__(**{"words": words, **traits,
                            "alt": traits.get("alt", "One text under eleven objectives: read, told, and where a loss is")})

    @property
    def tasks(self) -> dict[str, Task]:
        """{name of the objective: its input and target}."""
        return {name: task(i, self.words, self.seed, 1 if name == "BERT" else self.reading, self.share, self.vocabulary)
                for i, name in enumerate(NAMES)}

    @property
    def losses(self) -> dict[str, float]:
        """{name of the objective: mean number of positions with a loss per 100 tokens}, over 100 epochs of the seed."""
        per = 100 / (READINGS * len(self.words))
        return {name: per * sum(task(i, self.words, self.seed, reading, self.share, self.vocabulary).losses
                                for reading in range(1, READINGS + 1)) for i, name in enumerate(NAMES)}

    def text(self) -> str:
        lines = [f"Interactive figure: {' '.join(self.words)}", f"Seed {self.seed}, reading {self.reading}."]
        every = self.losses
        for name, one in self.tasks.items():
            reads = [f"{t}({k})" for t, k in zip(one.reads, one.turn)] if one.turn else one.reads
            lines.append(f"{name}. Reads: {' '.join(reads)} | tells: {' '.join(one.tells) or 'nothing'} | "
                         f"losses: {one.losses}, {every[name]:.0f} for 100 tokens over {READINGS} readings")
        return "\n".join(lines)

    @traitlets.validate("words")
    def _valid_words(self, proposal):
        words = proposal["value"]
        if not 2 <= len(words) <= MOST:
            raise ValueError(f"words has {len(words)} tokens; expected 2 to {MOST}")
        for word in words:
            if len(cut(word)) != 1 or len(word) > LONGEST or word in (MASK, *SENTINELS):
                raise ValueError(f"words contains {word!r}; expected words of 1 to {LONGEST} characters without spaces "
                                 f"and full stops, and none of the special symbols {', '.join((MASK, *SENTINELS))}")
        return words
