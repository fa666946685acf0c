r"""Greedy search, beam search and sampling in a search tree, step by step.

`follow` computes the steps: the kept, finished and dropped prefixes of each. It finds the same sequences as
`course_lib.decoding`, in float64. Ties are resolved in the order of the symbols.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.decoding import log_probs, reshape
from course_lib.decoding.prefix_tree import PrefixTree, State
from course_lib.explorables.base import Explorable, script, style
from course_lib.explorables.decoding_trees import Offer, offers
from course_lib.explorables.draws import uniforms

STRATEGIES = ("greedy", "beam search", "sampling")
WIDEST, MOST_SEQUENCES = 5, 24                                       # width of a beam, sequences of a tree


class Hypothesis(NamedTuple):
    """A prefix or a complete sequence of the tree."""

    tokens: tuple[int, ...]                                          # ids of its symbols
    log_prob: float                                                  # ln of its probability in the tree
    score: float                                                     # log_prob / length^exponent in beam search; ln p
                                                                     # under temperature, top-k, top-p in sampling


class Step(NamedTuple):
    """The hypotheses of one step of a strategy, best first.

    kept      prefixes that the next step continues
    finished  sequences that ended in this step and are candidates for the result
    dropped   hypotheses that the strategy did not select
    stopped   prefixes that are not continued because the search is over
    done      the best finished sequences so far, at most as many as the beam is wide
    cut       continuations whose probability temperature, top-k or top-p set to 0
    u         the uniform number by which this step was sampled; None if nothing is sampled
    """

    kept: list[Hypothesis]
    finished: list[Hypothesis]
    dropped: list[Hypothesis]
    stopped: list[Hypothesis]
    done: list[Hypothesis]
    cut: list[Hypothesis]
    u: float | None = None


class Setting(NamedTuple):
    """A decoding strategy and its parameters."""

    strategy: str = "greedy"                                         # "greedy", "beam search" or "sampling"
    width: int = 2                                                   # width of the beam
    exponent: float = 0.0                                            # beam search divides ln p by length^exponent
    temperature: float = 1.0                                         # temperature of sampling
    top_k: int = 0                                                   # number of symbols that sampling keeps; 0: all
    top_p: float = 1.0                                               # probability mass that sampling keeps; 1: all
    seed: int = 1                                                    # seed of the uniform numbers of sampling


def depth(tree: PrefixTree) -> int:
    """Return the length of the longest sequence of the tree, including the end symbol."""
    return 1 + max(map(len, tree.prefixes))


def table(tree: PrefixTree, setting: Setting | None = None) -> Float[Tensor, "N V"]:
    """Return ln p of each of V symbols (column) after each prefix (row), in the order of `tree.prefixes`.

    The last row is after the end of a sequence. If the strategy of `setting` is "sampling", its temperature, top-k and
    top-p are applied.
    """
    log_p = log_probs(tree, tree.predict(State(torch.arange(len(tree.p)))))
    if setting is None or setting.strategy != "sampling":
        return log_p
    return reshape(log_p, setting.temperature, setting.top_k or None, None if setting.top_p == 1 else setting.top_p)


def stated_uniforms(seed: int, num: int) -> list[float]:
    """Return `num` uniform numbers from `seed`, rounded down to the four decimal places that the figure shows."""
    return [math.floor(u * 10000) / 10000 for u in uniforms(seed, num)]


def sequences(tree: PrefixTree, setting: Setting) -> list[Hypothesis]:
    """Return all complete sequences of positive probability, with their scores under `setting`, in order of symbols."""
    log_p, changed, n = table(tree).tolist(), table(tree, setting).tolist(), depth(tree)
    found = []

    def visit(tokens: tuple[int, ...], node: int, total: float, score: float) -> None:
        if len(tokens) == n or tree.eos_id in tokens:
            exponent = setting.exponent if setting.strategy == "beam search" else 0.0
            score = score if setting.strategy == "sampling" else total / len(tokens) ** exponent
            found.append(Hypothesis(tokens, total, score))
            return
        for v, step in enumerate(log_p[node]):
            if step > -math.inf:
                visit((*tokens, v), int(tree.child[node, v]), total + step, score + changed[node][v])

    visit((), tree.root, 0.0, 0.0)
    return found


def follow(tree: PrefixTree, setting: Setting) -> list[Step]:
    """Return the steps of the strategy of `setting` in the tree, from the root to the result."""
    return _beam(tree, setting) if setting.strategy == "beam search" else _walk(tree, setting)


def _node(tree: PrefixTree, tokens: tuple[int, ...]) -> int:
    node = tree.root
    for v in tokens:
        node = int(tree.child[node, v])
    return node


def _beam(tree: PrefixTree, setting: Setting) -> list[Step]:
    log_p, n, k = table(tree).tolist(), depth(tree), setting.width
    going, done, steps = [Hypothesis((), 0.0, 0.0)], [], []
    for t in range(1, n + 1):
        new = [Hypothesis((*b.tokens, v), b.log_prob + step, (b.log_prob + step) / t ** setting.exponent)
               for b in going for v, step in enumerate(log_p[_node(tree, b.tokens)]) if step > -math.inf]
        new.sort(key=lambda b: -b.log_prob)                          # stable: ties in the order of the symbols
        ends = [t == n or b.tokens[-1] == tree.eos_id for b in new]
        finished = [b for b, over in zip(new[:k], ends) if over]     # only the first k may finish
        going = [b for b, over in zip(new, ends) if not over][:k]
        done = sorted([*done, *finished], key=lambda b: -b.score)[:k]
        over = not going or len(done) == k and going[0].score <= done[-1].score
        dropped = [b for b in new if b not in finished and b not in going]
        steps.append(Step([] if over else going, finished, dropped, going if over else [], done, []))
        if over:
            break
    return steps


def _walk(tree: PrefixTree, setting: Setting) -> list[Step]:
    """Return the steps of greedy search or sampling, which continue a single prefix."""
    log_p, changed, n = table(tree).tolist(), table(tree, setting).tolist(), depth(tree)
    u = stated_uniforms(setting.seed, n) if setting.strategy == "sampling" else [None] * n
    here, steps = Hypothesis((), 0.0, 0.0), []
    for t in range(n):
        node, new, cut = _node(tree, here.tokens), [], []
        for v, (step, score) in enumerate(zip(log_p[node], changed[node])):
            if step > -math.inf:
                b = Hypothesis((*here.tokens, v), here.log_prob + step, here.score + score)
                (new if score > -math.inf else cut).append(b)
        if u[t] is None:
            here = max(new, key=lambda b: b.score)                   # the first of those that tie
        else:                                                        # inverse CDF
            p = torch.tensor([changed[node][b.tokens[-1]] for b in new], dtype=torch.float64).softmax(0)
            cdf = p.cumsum(0)
            here = new[int((u[t] * cdf[-1] >= cdf[:-1]).sum())]
        over = t == n - 1 or here.tokens[-1] == tree.eos_id
        dropped = sorted((b for b in new if b is not here), key=lambda b: -b.score)
        ended = [here] if over else []
        steps.append(Step([] if over else [here], ended, dropped, [], ended, cut, u[t]))
        if over:
            break
    return steps


def write(tree: PrefixTree, tokens: tuple[int, ...]) -> str:
    """Write token ids as text: single characters are concatenated, words separated by spaces."""
    names = [tree.symbols[v] for v in tokens]
    return ("" if max(map(len, tree.symbols)) == 1 else " ").join(names)


def state_of(offer: Offer) -> dict:
    """Return a search tree and its texts as a dict for decoding_tree.js; its list "rows" has an entry for each prefix.

    The entry of a prefix lists its branches, [symbol id, ln p, index in "rows" of the prefix with this symbol], without
    branches of probability 0. The last entry is for complete sequences. "end" is the id of the end symbol, "root" the
    index of the empty prefix.
    """
    tree, log_p = offer.tree, table(offer.tree).tolist()
    rows = [[[v, p, int(tree.child[i, v])] for v, p in enumerate(row) if p > -math.inf] for i, row in enumerate(log_p)]
    return {"label": offer.label, "note": offer.note, "symbols": tree.symbols, "end": tree.eos_id, "root": tree.root,
            "length": depth(tree), "joiner": "" if max(map(len, tree.symbols)) == 1 else " ", "rows": rows}


class DecodingTree(Explorable):
    """Interactive figure of a search tree with the steps of a decoding strategy.

    trees        {label: PrefixTree} of at most 24 sequences each; None for the three trees of `offers`
    tree         index of the selected tree
    step         number of steps shown
    strategy     "greedy", "beam search" or "sampling"
    width        width of the beam, 1 to 5
    exponent     beam search divides log-probabilities by length^exponent, 0 to 2
    temperature  temperature of sampling, 0 to 2
    top_k        number of symbols that sampling keeps; 0 keeps all
    top_p        probability mass that sampling keeps, 0 < top_p <= 1; 1 keeps all
    seed         seed of the sample, 0 or more

    Setting an attribute updates the figure, and changes in the figure set the attribute. Raises ValueError for
    values out of range.

    >>> print(DecodingTree(strategy="greedy").text().splitlines()[-2])
    Found: “yes yes </s>”, p = 0.2000
    """

    _esm = script("decoding_search", "decoding_tree")
    _css = style("decoding_tree")
    trees = traitlets.List(traitlets.Dict()).tag(sync=True)
    tree = traitlets.Int(0).tag(sync=True)
    strategy = traitlets.Unicode("greedy").tag(sync=True)
    width = traitlets.Int(2).tag(sync=True)
    exponent = traitlets.Float(0.0).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(0).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)
    seed = traitlets.Int(1).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, trees: Mapping[str, PrefixTree] | None = None, **traits):
        self._offers = offers() if trees is None else [Offer(label, "", tree) for label, tree in trees.items()]
        if not self._offers:
            raise ValueError("trees is empty; expected at least one tree")
        for offer in self._offers:
            size = len(sequences(offer.tree, Setting()))
            if size > MOST_SEQUENCES:
                raise ValueError(f"trees[{offer.label!r}] has {size} sequences; expected at most {MOST_SEQUENCES}")
        super().__init__(**{"trees": [state_of(offer) for offer in self._offers],
                            "alt": "A tree of sequences and the way that a strategy of decoding takes through it",
                            **traits})

    @property
    def model(self) -> PrefixTree:
        """The selected tree."""
        return self._offers[self.tree].tree

    @property
    def setting(self) -> Setting:
        """The strategy and its parameters, from the attributes of the same names."""
        return Setting(*(getattr(self, name) for name in Setting._fields))

    @property
    def steps(self) -> list[Step]:
        """All steps of the strategy in the selected tree."""
        return follow(self.model, self.setting)

    @property
    def found(self) -> Hypothesis:
        """The sequence that the strategy finds: the best finished sequence of the last step."""
        return self.steps[-1].done[0]

    @property
    def best(self) -> Hypothesis:
        """The sequence of the tree with the largest score, or, for sampling, with the largest probability."""
        by = (lambda b: b.log_prob) if self.strategy == "sampling" else (lambda b: b.score)
        return max(sequences(self.model, self.setting), key=by)

    def text(self) -> str:
        tree, setting, steps = self.model, self.setting, self.steps
        asked = {"greedy": "greedy search",
                 "beam search": f"beam search, width {setting.width}, exponent {setting.exponent:g}",
                 "sampling": f"a draw at temperature {setting.temperature:g}, top-k {setting.top_k or 'all'}, "
                             f"top-p {setting.top_p:g}"}[setting.strategy]
        lines = [f"Interactive figure: a tree of {len(sequences(tree, setting))} sequences, “"
                 f"{self._offers[self.tree].label}”, and {asked}."]
        for t, step in enumerate(steps, 1):
            parts = [f"{what} " + ", ".join(f"“{write(tree, b.tokens)}” {math.exp(b.log_prob):.4f}" for b in group)
                     for what, group in zip(("keeps", "finishes", "drops", "leaves", "has cut"),
                                            (step.kept, step.finished, step.dropped, step.stopped, step.cut)) if group]
            drawn = "" if step.u is None else f" (u = {step.u:.4f})"
            lines.append(f"Step {t}{drawn}: " + "; ".join(parts))
        for what, b in (("Found", self.found), ("Best of all", self.best)):
            lines.append(f"{what}: “{write(tree, b.tokens)}”, p = {math.exp(b.log_prob):.4f}")
        return "\n".join(lines)

    @traitlets.validate("tree", "strategy", "width", "exponent", "temperature", "top_k", "top_p", "seed", "step")
    def _valid(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        fits, needed = {
            "tree": (lambda v: 0 <= v < len(self._offers), f"a number from 0 to {len(self._offers) - 1}"),
            "strategy": (lambda v: v in STRATEGIES, " or ".join(map(repr, STRATEGIES))),
            "width": (lambda v: 1 <= v <= WIDEST, f"a number from 1 to {WIDEST}"),
            "exponent": (lambda v: 0 <= v <= 2, "a number from 0 to 2"),
            "temperature": (lambda v: 0 <= v <= 2, "a number from 0 to 2"),
            "top_k": (lambda v: v >= 0, "0 for all, or the number of symbols to keep"),
            "top_p": (lambda v: 0 < v <= 1, "0 < top_p <= 1"),
            "seed": (lambda v: v >= 0, "a number from 0 on"),
            "step": (lambda v: v >= 0, "a number from 0 on"),
        }[name]
        if not fits(value):
            raise ValueError(f"{name} is {value!r}; expected {needed}")
        return value
