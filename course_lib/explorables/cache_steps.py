"""The cost of generating text with a GPT, with and without a cache of keys and values, operation by operation.

A pass through the GPT predicts one token, in the nine OPERATIONS. The cost is the number of multiplications in matrix
products for one text: projections, scores, weighted sums, feed-forward networks and the logits of the last position, as
in the GPT of this package. A pass over several positions computes the scores of all pairs, including masked ones. Not
counted are biases, norms, activations and the scaling of scores; exponentials of the softmax are counted separately.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

import traitlets

from course_lib.explorables.base import Explorable, script, style

WORDS = "The curious kitten deftly climbed the bookshelf".split()
OPERATIONS = ["embed", "project q, k, v", "append to the cache", "scores", "softmax", "weighted sum", "project out",
              "feed-forward", "logits"]
EMBED, PROJECT, APPEND, SCORES, SOFTMAX, SUM, OUT, FEED, LOGITS = range(len(OPERATIONS))
BOUNDS = {"prompt": (1, 4), "layers": (1, 48), "width": (1, 4096), "heads": (1, 64), "feed_forward": (1, 16384),
          "vocabulary": (2, 100_000), "tokens": (2, 1024)}           # smallest, largest value; totals are below 2^53
PRESETS = [{"label": "a toy", "layers": 2, "width": 8, "heads": 2, "feed_forward": 32, "vocabulary": 50},
           {"label": "gpt-tiny-shakespeare", "layers": 4, "width": 128, "heads": 4, "feed_forward": 512,
            "vocabulary": 65},
           {"label": "GPT-2, the smallest", "layers": 12, "width": 768, "heads": 12, "feed_forward": 3072,
            "vocabulary": 50257}]


class Size(NamedTuple):
    """The size of a GPT."""

    layers: int                                                      # L, number of blocks
    width: int                                                       # D, width of the model
    heads: int                                                       # H, heads of a block, each of width D / H
    feed_forward: int                                                # F, hidden width of the feed-forward networks
    vocabulary: int                                                  # V, number of tokens


class Work(NamedTuple):
    """The cost of one or more operations, in four counts."""

    attention: int = 0                                               # multiplications of scores and weighted sums
    weights: int = 0                                                 # multiplications with parameters
    exponentials: int = 0                                            # in the softmax of attention
    stored: int = 0                                                  # numbers written to the cache

    @property
    def multiplications(self) -> int:
        """The number of multiplications, in attention and with parameters."""
        return self.attention + self.weights

    def plus(self, other: Work) -> Work:
        """Return the sum of this cost and the cost `other`, count by count."""
        return Work(self.attention + other.attention, self.weights + other.weights,
                    self.exponentials + other.exponentials, self.stored + other.stored)


def rows(prompt: int, number: int, cached: bool) -> tuple[int, int]:
    """Return (new, keys): the number of positions that a pass computes, and the number of keys of each of them.

    prompt  number of words of the prompt
    number  number of the pass, from 1
    cached  whether keys and values are stored in a cache, so that later passes compute a single position
    """
    keys = prompt + number - 1
    return (1 if cached and number > 1 else keys), keys


def work(size: Size, operation: int, new: int, keys: int, cached: bool) -> Work:
    """Return the cost of one operation of a pass, summed over all layers.

    operation  index in OPERATIONS, from 0
    new, keys  number of positions that are computed, and number of keys of each of them, from `rows`
    cached     whether keys and values are stored in a cache
    """
    L, D, H, F, V = size
    if operation in (SCORES, SUM):
        return Work(attention=L * new * keys * D)                    # H heads of width D / H
    if operation == SOFTMAX:
        return Work(exponentials=L * H * new * keys)
    if operation == APPEND:
        return Work(stored=2 * L * new * D if cached else 0)
    return Work(weights={EMBED: 0, PROJECT: 3 * L * new * D * D, OUT: L * new * D * D, FEED: 2 * L * new * D * F,
                         LOGITS: V * D}[operation])


def sums(size: Size, prompt: int, cached: bool) -> Iterator[Work]:
    """Yield the total cost from the first operation of pass 1 to each operation, nine per pass, without end.

    prompt  number of words of the prompt
    cached  whether keys and values are stored in a cache
    """
    total = Work()
    for i in count():
        number, operation = divmod(i, len(OPERATIONS))
        total = total.plus(work(size, operation, *rows(prompt, number + 1, cached), cached))
        yield total


def running(size: Size, prompt: int, at: int, cached: bool) -> Work:
    """Return the total cost of operations 0 to `at` inclusive, numbered from 0 through all passes, nine per pass.

    prompt  number of words of the prompt
    cached  whether keys and values are stored in a cache
    """
    return next(islice(sums(size, prompt, cached), at, None))


def totals(size: Size, prompt: int, tokens: int, cached: bool) -> Work:
    """Return the total cost of generating `tokens` tokens after `prompt` words, with a cache if `cached`."""
    return running(size, prompt, tokens * len(OPERATIONS) - 1, cached)


def halvings(tokens: int) -> list[int]:
    """Return `tokens`, its half, quarter, and so on, rounded down, if positive; at most six numbers, ascending."""
    found = [tokens >> k for k in range(6)]
    return sorted(t for t in found if t)


def cells(prompt: int, at: int, cached: bool) -> list[list[str]]:
    """Return the state of each position (row) and operation (column) in the pass of operation `at`.

    "now"   computed by operation `at`
    "done"  computed earlier in this pass
    "kept"  in the cache: keys and values
    "read"  in the cache: keys or values that operation `at` uses
    ""      not computed

    The arguments are described in `running`.
    """
    number, operation = divmod(at, len(OPERATIONS))
    new, keys = rows(prompt, number + 1, cached)
    table = []
    for i in range(keys):
        row = [""] * len(OPERATIONS)
        for column in range(operation + 1):
            computed = i >= keys - new and (column != APPEND or cached) and (column != LOGITS or i == keys - 1)
            row[column] = ("now" if column == operation else "done") if computed else ""
        if i < keys - new or cached and operation > APPEND:
            row[APPEND] = "read" if operation in (SCORES, SUM) else "kept"
        table.append(row)
    return table


class CacheSteps(Explorable):
    """Interactive figure of the cost of generating a sentence with and without a cache of keys and values.

    at          index of the current operation, from 0 through all passes, nine per pass
    prompt      number of words of the prompt, 1 to 4
    layers, width, heads, feed_forward, vocabulary  size of the GPT, as in `Size`; `heads` must divide `width`
    tokens      largest number of new tokens in the table of total costs, 2 to 1024

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    values out of range.

    >>> print(CacheSteps(prompt=2).text().splitlines()[1])
    Pass 1 predicts word 3. Operation: embed.
    """

    _esm = script("cache_steps")
    _css = style("cache_steps")
    alt = traitlets.Unicode("Generation with a cache of keys and values and without, step by step").tag(sync=True)
    at = traitlets.Int(0).tag(sync=True)
    prompt = traitlets.Int(1).tag(sync=True)
    layers = traitlets.Int(2).tag(sync=True)
    width = traitlets.Int(8).tag(sync=True)
    heads = traitlets.Int(2).tag(sync=True)
    feed_forward = traitlets.Int(32).tag(sync=True)
    vocabulary = traitlets.Int(50).tag(sync=True)
    tokens = traitlets.Int(256).tag(sync=True)
    words = traitlets.List(traitlets.Unicode(), WORDS).tag(sync=True)
    operations = traitlets.List(traitlets.Unicode(), OPERATIONS).tag(sync=True)
    presets = traitlets.List(traitlets.Dict(), PRESETS).tag(sync=True)
    bounds = traitlets.Dict({name: list(pair) for name, pair in BOUNDS.items()}).tag(sync=True)

    @property
    def size(self) -> Size:
        """The size of the GPT, from `layers`, `width`, `heads`, `feed_forward` and `vocabulary`."""
        return Size(self.layers, self.width, self.heads, self.feed_forward, self.vocabulary)

    @property
    def last(self) -> int:
        """The index of the operation that completes the sentence, the largest value of `at`."""
        return (len(self.words) - self.prompt) * len(OPERATIONS) - 1

    @property
    def now(self) -> dict[bool, Work]:
        """The cost of operation `at`, {True: with a cache, False: without}."""
        number, operation = divmod(self.at, len(OPERATIONS))
        return {cached: work(self.size, operation, *rows(self.prompt, number + 1, cached), cached)
                for cached in (True, False)}

    @property
    def so_far(self) -> dict[bool, Work]:
        """The total cost of operations 0 to `at` inclusive, {True: with a cache, False: without}."""
        return {cached: running(self.size, self.prompt, self.at, cached) for cached in (True, False)}

    @property
    def bill(self) -> list[tuple[int, Work, Work]]:
        """(number of new tokens, total cost with a cache, total cost without it), for each of `halvings(tokens)`."""
        per_pass = len(OPERATIONS)
        one, two = (list(islice(sums(self.size, self.prompt, cached), per_pass - 1, per_pass * self.tokens, per_pass))
                    for cached in (True, False))                     # after each pass
        return [(t, one[t - 1], two[t - 1]) for t in halvings(self.tokens)]

    def text(self) -> str:
        number, operation = divmod(self.at, len(OPERATIONS))
        L, D, H, F, V = self.size
        lines = ["Interactive figure: a GPT writes with a cache of keys and values and without. Its size: layers "
                 f"{L}, width {D}, heads {H}, feed-forward width {F}, vocabulary {V}.",
                 f"Pass {number + 1} predicts word {self.prompt + number + 1}. Operation: {OPERATIONS[operation]}."]
        for cached, name in ((True, "with the cache"), (False, "without")):
            new, keys = rows(self.prompt, number + 1, cached)
            done = self.so_far[cached]
            lines.append(f"{name}: {new} of {keys} rows computed; multiplications so far {done.multiplications:,}, "
                         f"numbers in the cache {done.stored:,}")
        lines.append("new tokens, multiplications with the cache, without, their ratio, numbers in the cache")
        for t, one, two in self.bill:
            lines.append(f"{t:5d} {one.multiplications:22,d} {two.multiplications:22,d} "
                         f"{two.multiplications / one.multiplications:8.1f} {one.stored:14,d}")
        return "\n".join(lines)

    @traitlets.validate(*BOUNDS)
    def _valid_number(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        low, high = BOUNDS[name]
        if not low <= value <= high:
            raise ValueError(f"{name} is {value}; expected {low} to {high}")
        size = {"width": self.width, "heads": self.heads, name: value}
        if size["width"] % size["heads"]:
            raise ValueError(f"heads is {size['heads']} and width is {size['width']}; expected a width that is a "
                             "multiple of heads")
        return value

    @traitlets.validate("at")
    def _valid_at(self, proposal):
        if not 0 <= proposal["value"] <= self.last:
            raise ValueError(f"at is {proposal['value']}; expected 0 to {self.last} for a prompt of {self.prompt} of "
                             f"the {len(self.words)} words")
        return proposal["value"]

    @traitlets.observe("prompt")
    def _within(self, change):
        self.at = min(self.at, self.last)
