"""A beam that draws: k sequences without replacement, by noise that is given."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from course_lib.exercises.decoding._shared import random_rows, steps
from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Told, plainly
from course_lib.exercises.telling import telling
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise
from course_lib.grading.exercise import replace_steps as steps_replaced
from course_lib.grading.protocol.calls import Outcome, same

NEAR = 2e-3                     # scores that compete for a place differ by more than this

Row = Callable[[list[int]], list[float]]
Beam = list[tuple[list[int], float, float]]

exercise = Exercise(
    "stochastic_beam", chapter="decoding", place=6, title="A beam that draws",
    contract="step_fn takes a list of token ids, bos first, and returns the log-probabilities (V,) of the next token; noise_fn "
             "takes the same list and returns the Gumbel numbers (V,) of these tokens, the same ones however often it is asked. "
             "The root has the score 0. The scores of all children of a beginning with the score G are (17.11), with g from "
             "noise_fn. At each step the k largest scores stay, of the children and of what has ended in eos. A token of log-probability -inf never "
             "comes. Return what stays after max_len tokens, at most k, from the largest score down: a list of (tokens without bos, "
             "ln p, score). ln p may be as low as -2000.",
    points=["beam-plus-walk"], difficulty=4, minutes=45)


def logaddexp(a: float, b: float) -> float:
    """ln(e^a + e^b), which does not overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


@exercise.step
def conditioned(free: list[float], Z: float, G: float) -> list[float]:
    """(17.11): the free scores, of which the largest is Z, under the condition that it is G.

    e^-free - e^-Z = e^-free (1 - e^(free - Z)), and only its logarithm is taken."""
    return [G if f == Z else f if f == -math.inf else -logaddexp(-G, math.log1p(-math.exp(f - Z)) - f) for f in free]


@exercise.step
def scores(log_p: float, step: list[float], g: list[float], G: float) -> list[float]:
    """Of the children of a prefix with the score G: (17.10) and (17.11)."""
    free = [log_p + s + noise for s, noise in zip(step, g, strict=True)]
    return conditioned(free, max(free), G)


@exercise.step
def children(row: Row, noise: Row, beam: Beam) -> Beam:
    hypotheses: Beam = []
    for tokens, log_p, G in beam:
        step = row(tokens)
        hypotheses += extensions(tokens, log_p, step, scores(log_p, step, noise(tokens), G))
    return hypotheses


def extensions(tokens: list[int], log_p: float, step: list[float], scores: list[float]) -> Beam:
    return [(tokens + [v], log_p + step[v], score) for v, score in enumerate(scores) if step[v] > -math.inf]


@exercise.step
def best(hypotheses: Beam, k: int) -> Beam:
    return sorted(hypotheses, key=lambda h: -h[2])[:k]


@exercise.step
def next_beam(row: Row, noise: Row, beam: Beam, eos: int, k: int) -> Beam:
    ended = [h for h in beam if h[0][-1] == eos]
    return best(ended + children(row, noise, [h for h in beam if h[0][-1] != eos]), k)


@exercise.step
def beam_of(row: Row, noise: Row, bos: int, eos: int, k: int, max_len: int) -> Beam:
    """The k largest scores, from the largest down, of sequences that begin with bos."""
    beam: Beam = [([bos], 0.0, 0.0)]
    for _ in range(max_len):
        beam = next_beam(row, noise, beam, eos, k)
    return sorted(beam, key=lambda h: -h[2])


@exercise.reference()
def stochastic_beam_reference(step_fn, noise_fn, bos, eos, k, max_len):
    beam = beam_of(lambda x: step_fn(x).tolist(), lambda x: noise_fn(x).tolist(), bos, eos, k, max_len)
    return [(tokens[1:], log_p, G) for tokens, log_p, G in beam]


@exercise.misconception(
    scores,
    "Your scores are the log-probabilities: this is beam search, and it finds the same sequences whatever the noise. Add the noise of "
    "each child.")
def no_noise(log_p, step, g, G):
    return [log_p + s for s in step]


@exercise.misconception(
    scores,
    "Your children's scores do not depend on their parent's: noise is added anew at each step, and the noise of the prefix is forgotten. "
    "The largest score of the children of a prefix is the score of the prefix.")
def unconditioned(log_p, step, g, G):
    return [log_p + s + noise for s, noise in zip(step, g, strict=True)]


@exercise.misconception(
    scores,
    "You add noise at every token to what you have: a sequence ends up with as many Gumbel numbers as it has tokens. Each has one. The "
    "children's scores are ln p of the whole plus g, transformed by (17.11) so that the largest is their parent's.")
def summed(log_p, step, g, G):
    return [G + s + noise for s, noise in zip(step, g, strict=True)]


@exercise.misconception(
    scores,
    "You add ln p of the token and the noise to the score of the prefix. The noise is added to ln p of the whole sequence, and the score "
    "enters by (17.11).")
def from_score(log_p, step, g, G):
    return scores.original(G, step, g, G)


@exercise.misconception(
    scores,
    "You add the noise to the log-probability of the last token alone. Add it to ln p of the whole sequence, which is "
    "ln p of the prefix plus the log-probability of the token, and then apply (17.11).")
def last_token(log_p, step, g, G):
    return scores.original(0.0, step, g, G)


@exercise.misconception(
    conditioned,
    "You cut scores off at the parent's, so that none is above it. The largest has to be equal to it, and the others follow by (17.11).")
def clipped(free, Z, G):
    return [min(f, G) for f in free]


@exercise.misconception(
    children,
    "Your Z is the largest over the children of all prefixes together. Each prefix has its own: the largest of its own children takes "
    "over its score.")
def one_largest(row, noise, beam):
    free = [[log_p + s + g for s, g in zip(row(tokens), noise(tokens), strict=True)] for tokens, log_p, _ in beam]
    largest = max(map(max, free), default=0.0)
    return [child for (tokens, log_p, G), f in zip(beam, free, strict=True)
            for child in extensions(tokens, log_p, row(tokens), conditioned(f, largest, G))]


@exercise.misconception(
    beam_of,
    "Your k sequences are k walks, each of which follows its own best child: the same sequence comes again and again. All children "
    "compete for the same k places, and nothing comes twice.")
def replaced(row, noise, bos, eos, k, max_len):
    return beam_of.original(row, noise, bos, eos, 1, max_len) * k


@exercise.misconception(
    best,
    "Your beam keeps the sequences of largest ln p. What stays is decided by the score, noise included.")
def kept_by_p(hypotheses, k):
    return sorted(hypotheses, key=lambda h: -h[1])[:k]


@exercise.misconception(
    beam_of,
    "Your list is in the order of ln p. It goes from the largest score down, the order of sampling without replacement.")
def listed_by_p(row, noise, bos, eos, k, max_len):
    return sorted(beam_of.original(row, noise, bos, eos, k, max_len), key=lambda h: -h[1])


@exercise.misconception(
    next_beam,
    "Sequences that ended in eos are missing. They have been sampled: they stay, with the score that they have.")
def ended_lost(row, noise, beam, eos, k):
    return [h for h in next_beam.original(row, noise, beam, eos, k) if h[0][-1] != eos]


@exercise.misconception(
    next_beam,
    "What has ended holds its place for good. It keeps its score, and that competes with the children at each step: it may be pushed out.")
def ended_hold(row, noise, beam, eos, k):
    ended = [h for h in beam if h[0][-1] == eos]
    return ended + best(children(row, noise, [h for h in beam if h[0][-1] != eos]), k - len(ended))


@exercise.misconception(
    conditioned,
    "Some of your scores become NaN or infinite, or lose their digits: (17.11) as it stands subtracts numbers like e^40, between which "
    "the 1 of e^0 is lost. Take the factor e^-(ln p + g) of the child out of the last two terms, and use log1p and logaddexp.")
def as_it_stands(free, Z, G):
    Z, G, free = (torch.tensor(number, dtype=torch.float64) for number in (Z, G, free))
    return (-torch.log((-G).exp() - (-Z).exp() + (-free).exp())).tolist()


@exercise.misconception(
    conditioned,
    "Some of your scores become infinite or NaN: where ln p is below -709, as after hundreds of tokens, e to the power of minus that "
    "overflows. Stay with logarithms: logaddexp, not exp and log.")
def overflow(free, Z, G):
    Z, G, free = (torch.tensor(number, dtype=torch.float64) for number in (Z, G, free))
    return (-torch.log((-G).exp() + (-free).exp() * -torch.expm1(free - Z))).tolist()


SHORT = [name for name in exercise.misconceptions if name not in ("as_it_stands", "overflow")]


class Apart(list):
    """An answer that differs from another where more than the tolerances does."""

    def __ne__(self, other):
        return len(self) != len(other) or any(mine[0] != its[0] or abs(mine[1] - its[1]) > 0.01 or abs(mine[2] - its[2]) > 0.01
                                              for mine, its in zip(self, other, strict=True))


def gumbels(generator, *shape: int) -> torch.Tensor:
    return -torch.log(-torch.log(uniform(generator, *shape).double().clamp(1e-12, 1 - 1e-12)))


def beam_if_clear(args: tuple) -> Beam | None:
    """The right beam; None if rounding decides a place in it."""
    gaps: list[float] = []

    def best_with_gaps(hypotheses, k):
        ranked = best.original(hypotheses, len(hypotheses))
        gaps.extend(a[2] - b[2] for a, b in zip(ranked[:k], ranked[1:], strict=False))
        return ranked[:k]

    with steps_replaced({best: best_with_gaps}):
        beam = stochastic_beam_reference(*args)
    return beam if min(gaps, default=1.0) > NEAR else None


def tree(generator) -> tuple:
    """A tree of up to four tokens, with noise for all its prefixes."""
    while True:
        V, max_len, k = 4, integer(generator, 3, 4), integer(generator, 2, 4)
        bos, eos = (0, 3) if integer(generator, 0, 1) else (2, 1)
        args = random_tree(generator, V, bos, eos, k, max_len)
        if beam_if_clear(args):
            return args


def random_tree(generator, V: int, bos: int, eos: int, k: int, max_len: int) -> tuple:
    """The arguments of a tree that is drawn; of a small one with all rows, for showing."""
    prefixes, log_p = random_rows(generator, V, max_len, bos, eos, float(uniform(generator, low=0.5, high=1.5)))
    noise = gumbels(generator, len(prefixes), V)
    tables = [dict(zip(prefixes, rows, strict=True)) for rows in (log_p, noise)]
    functions = list(map(steps, tables))
    for function, table in zip(functions, tables, strict=True):
        function.rows = {prefix: row for prefix, row in table.items() if eos not in prefix}
    return *functions, bos, eos, k, max_len


def trees(generator):
    """Trees drawn until each way of going wrong, and no two of them alike, gives another answer on one of them."""
    cases = telling(lambda: tree(generator), lambda *args, bugs=(): Apart(exercise.solve(*args, bugs=bugs)),
                    SHORT)
    return cases + [tree(generator) for _ in range(2)]


def small_trees(generator):
    """Trees of three tokens and two steps, and as many others: for showing, so that their tables can be read."""
    cases = [random_tree(generator, 3, 0, integer(generator, 1, 2), integer(generator, 2, 3), 2) for _ in range(30)]
    return list(filter(beam_if_clear, cases)) + trees(generator)


def few_sequences(generator):
    """Some tokens never come, and there are four sequences in all; k is larger. Then more sequences, and k = 1."""
    while True:
        a, b, eos, never = torch.randperm(4, generator=generator).tolist()
        table = {prefix: torch.full((4,), -math.inf, dtype=torch.float64)
                 for prefix in random_rows(generator, 4, 3, b, eos)[0]}
        for prefix, tokens in ((), (a, eos)), ((a,), (a, b, eos)), ((a, a), (eos,)), ((a, b), (b,)):
            p = uniform(generator, len(tokens), low=0.3).double()
            table[(b, *prefix)][list(tokens)] = (p / p.sum()).log()
        noise = dict(zip(table, gumbels(generator, len(table), 4), strict=True))
        cases = [(steps(table), steps(noise), b, eos, integer(generator, 5, 6), 3), (*tree(generator)[:4], 1, 3)]
        if all(map(beam_if_clear, cases)):
            return cases


def improbable(generator, max_len: int, low: float, high: float) -> tuple[tuple, Beam]:
    """Sequences of which ln p lies between these numbers, and those that are drawn. The noise is so large where a probability is
    small that each token may come all the same: a few dozen do for what else takes hundreds."""
    while True:
        V, rows = 4, 997
        log_p = (16 * torch.randn(rows, V, generator=generator, dtype=torch.float64)).log_softmax(-1)
        noise = gumbels(generator, rows, V) - log_p
        eos = integer(generator, 1, V - 1)
        noise[:, eos] -= 30
        args = (hashed(log_p), hashed(noise), 0, eos, 2, max_len)
        beam = beam_if_clear(args)
        if beam and all(low < log_p < high for _, log_p, _ in beam):
            return args, beam


def hashed(rows: torch.Tensor):
    """A function of a list of tokens that gives one of the rows, by their number and the last few."""
    def ask(tokens):
        place = len(tokens)
        for token in tokens[-6:]:
            place = (31 * place + int(token) + 1) % 99991
        return rows[place % len(rows)].clone()

    return ask


@dataclass
class Drawn(Told):
    """As Compare; the message says whether sequences, their order or numbers are wrong."""

    def value_fault(self, record: Record) -> Fault | None:
        if self.agrees(record):
            return None
        k, max_len = record.args[4:]
        try:
            mine = [tuple(plainly(token) for token in tokens) for tokens, _, _ in record.outcome.value]
        except (TypeError, ValueError):
            return Fault("Your list should hold (tokens, ln p, score), tokens a list of whole numbers.")
        right, where = [tuple(tokens) for tokens, _, _ in record.expected], f"With k={k} and max_len={max_len}"
        if (odd := not_finite(record.outcome.value)) is not None:
            _, log_p, G = record.outcome.value[odd]
            return Fault(f"{where}, sequence {odd} of your list (from 0) has ln p = {float(log_p):.4g} and the score {float(G):.4g}. Both are "
                         "finite numbers, if a sequence can be drawn at all.")
        if len(set(mine)) < len(mine):
            return Fault(f"{where}, your list holds a sequence twice. Without replacement none comes again.")
        if len(mine) != len(right):
            return Fault(f"{where}, your list has {len(mine)} sequences; {len(right)} are to be drawn.")
        if set(mine) != set(right):
            lost = len(set(right) - set(mine))
            return Fault(f"{where}, {lost} of the {len(right)} sequences of largest score {'is' if lost == 1 else 'are'} missing from "
                         "your list, and others stand there.")
        if mine != right:
            return Fault(f"{where}, your sequences are the right ones, in another order than from the largest score down.")
        i, what = next((i, what) for i, pair in enumerate(zip(record.outcome.value, record.expected, strict=True))
                       for what, a, b in zip(("ln p", "score"), *(one[1:] for one in pair), strict=True)
                       if not same(a, b, self.rtol, self.atol))
        return Fault(f"{where}, your sequences are right, and the {what} of number {i} of your list (from 0) is not.")


def not_finite(beam) -> int | None:
    """The first place of a beam of which a number is NaN or infinite."""
    return next((i for i, (_, *two) in enumerate(beam) if not all(map(math.isfinite, two))), None)


VALUES = Drawn("values", 5, trees, shown=small_trees)
exercise.checks.append(VALUES)
exercise.checks.append(Drawn("fewer than k, and k = 1", 1, few_sequences))


def keeps_its_digits(name: str, max_len: int, low: float, high: float, misconception: str) -> None:
    """A check of improbable sequences. Where others came out right and scores of these are not finite, the misconception is
    named; otherwise the message says that others did. A list as long is not shown."""
    @exercise.property(name, points=1)
    def digits(run, generator, solve):
        args, expected = improbable(generator, max_len, low, high)
        record = Record(args, expected, Outcome("value", run(*args)), exercise.names)
        fault = VALUES.fault(record)
        lost = fault and fault.state == "wrong_value" and not_finite(record.outcome.value) is not None
        if fault and fault.state == "wrong_value" and not lost:
            return Fault(f"{fault.message} Sequences of larger ln p came out right. At this size (17.11) as it stands loses its digits or "
                         "overflows, because e to the power of -ln p is far larger than 1. Stay with logarithms: log1p and logaddexp.")
        return Fault(fault.message, misconception) if lost else fault


keeps_its_digits("ln p below -45", 12, -650.0, -45.0, "as_it_stands")
keeps_its_digits("ln p below -760", 70, -2000.0, -760.0, "overflow")
exercise.hint(
    "You do not know where to begin.",
    "Take your beam search and give each hypothesis a third number, its score: 0 at the root. Sort by it instead of ln p, and let "
    "what has ended compete again at each step. What is left to write is a function that gives the scores of all children.")
exercise.hint(
    "The first sequence is right and the others are not.",
    "The best child always has its parent's score, whatever you do with the rest. For the others write the three lines of (17.10) "
    "and (17.11) for one prefix, and see on paper that the largest comes out as G.")
exercise.hint(
    "The scores of improbable sequences are NaN or infinite.",
    "Write free for ln p + g of a child, the G with a wave of step 2, and Z for the largest free of a prefix. Then e^-free - e^-Z "
    "= e^-free (1 - e^(free - Z)). The logarithm of that is log1p(-exp(free - Z)) - free, and (17.11) is minus logaddexp of it and "
    "-G. For the largest child it is logaddexp(-inf, -G) = -G, as it should be.")
exercise.hint(
    "Your list is too long where few sequences exist.",
    "A token of log-probability -inf gets the score -inf. Leave such children out before you sort.")
