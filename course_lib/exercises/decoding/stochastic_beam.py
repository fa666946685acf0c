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
from course_lib.grading.protocol.calls import Outcome, same

NEAR = 2e-3                     # scores that compete for a place differ by more than this

Row = Callable[[list[int]], list[float]]
Beam = list[tuple[list[int], float, float]]

exercise = Exercise(
    "stochastic_beam", chapter="17", place=6, title="A beam that draws",
    contract="step_fn takes a list of token ids, bos first, and returns the log-probabilities (V,) of the next token; noise_fn "
             "takes the same list and returns the Gumbel numbers (V,) of these tokens, the same ones however often it is asked. "
             "The root has the score 0. The scores of all children of a beginning with the score G are (17.11), with g from "
             "noise_fn. At each step the k largest scores stay, of the children and of what has ended in eos. A token of log-probability -inf never "
             "comes. Return what stays after max_len tokens, at most k, from the largest score down: a list of (tokens without bos, "
             "ln p, score). ln p may be as low as -2000.",
    points=["beam-plus-walk"], difficulty=4, minutes=45)


@exercise.reference(
    no_noise="Your scores are the log-probabilities: this is beam search, and it finds the same sequences whatever the noise. "
             "Add the noise of each child.",
    unconditioned="Your children's scores know nothing of their parent's: noise is drawn anew at each step, and the noise of "
                  "the beginning is forgotten. The largest score of the children of a beginning is the score of the beginning.",
    summed="You add noise at every token to what you have: a sequence ends up with as many Gumbel numbers as it has tokens. Each has "
           "one. The children's scores are ln p of the whole plus g, bent so that the largest is their parent's.",
    shifted="You move all children by the same amount, so that the largest fits. Their distances change too: (17.11) bends the "
            "others, and a sum does not.",
    clipped="You cut scores off at the parent's, so that none is above it. The largest has to be equal to it, and the others follow "
            "by (17.11).",
    one_largest="Your Z is the largest over the children of all beginnings together. Each beginning has its own: the largest of its own "
                "children takes over its score.",
    from_score="You add ln p of the token and the noise to the score of the beginning. The noise goes to ln p of the whole sequence, and "
               "the score comes in by (17.11).",
    on_root="You condition all children on the root's score. Each beginning has its own score, and its children may not "
            "exceed that one.",
    step_alone="Your children start from the log-probability of the last token alone. (17.10) takes ln p of the whole beginning with "
               "it.",
    replaced="Your k sequences are k walks, each of which follows its own best child: the same one comes again and again. All children "
             "compete for the same k places, and nothing comes twice.",
    kept_by_p="Your beam keeps the likeliest. What stays is decided by the score, noise included.",
    listed_by_p="Your list is in the order of ln p. It goes from the largest score down, the order of drawing.",
    ended_lost="Sequences that ended in eos are missing. They have been drawn: they stay, with the score that they have.",
    ended_hold="What has ended holds its place for good. It keeps its score, and that competes with the children at each step: it may "
               "be pushed out.",
    keeps_growing="Your sequences go on after eos. One that has written it is complete.",
    unfinished_lost="After max_len tokens you drop what has not ended. It stays as it is.",
    with_bos="Your tokens begin with bos. Return what was generated, without it.",
    impossible="Your list holds sequences of probability 0. Where there are fewer than k sequences, return fewer.",
    as_it_stands="Some of your scores become NaN or infinite, or lose their digits: (17.11) as it stands subtracts numbers like e^40, "
                 "between which the 1 of e^0 is lost. Take the factor e^-(ln p + g) of the child out of the last two terms, and use "
                 "log1p and logaddexp.",
    overflow="Some of your scores become infinite or NaN: where ln p is below -709, as after hundreds of tokens, e to the power of "
             "minus that overflows. Stay with logarithms: logaddexp, not exp and log.",
)
def stochastic_beam_reference(step_fn, noise_fn, bos, eos, k, max_len, bugs=frozenset()):
    return drawn(lambda x: step_fn(x).tolist(), lambda x: noise_fn(x).tolist(), bos, eos, k, max_len, frozenset(bugs))


def drawn(row: Row, noise: Row, bos: int, eos: int, k: int, max_len: int, bugs: frozenset[str] = frozenset(),
          gaps: list[float] | None = None) -> Beam:
    """The beam of largest scores. `gaps` collects how far apart those are that compete for a place."""
    live: Beam = [([bos], 0.0, 0.0)] * (k if "replaced" in bugs else 1)
    done: Beam = []
    for _ in range(max_len):
        grown: Beam = [] if "ended_hold" in bugs else done
        largest = max((log_p + s + one for tokens, log_p, _ in live for s, one in zip(row(tokens), noise(tokens), strict=True)),
                      default=0.0) if "one_largest" in bugs else None
        for tokens, log_p, G in live:
            step, g = row(tokens), noise(tokens)
            before = G if "from_score" in bugs else 0.0 if "step_alone" in bugs else log_p
            scores = children([before + s for s in step], g, G, bugs, largest)
            if "summed" in bugs:
                scores = [G + s + one for s, one in zip(step, g, strict=True)]
            new = [(tokens + [v], log_p + step[v], score) for v, score in enumerate(scores)
                   if "impossible" in bugs or step[v] > -math.inf]
            grown = grown + ([max(new, key=lambda h: h[2])] if "replaced" in bugs else new)
        rank = 1 if "kept_by_p" in bugs else 2
        grown = sorted(grown, key=lambda h: -h[rank])
        if gaps is not None:
            gaps += [a[2] - b[2] for a, b in zip(grown[:k], grown[1:], strict=False)]
        kept = grown[:k - len(done) if "ended_hold" in bugs else k]
        ended = [h for h in kept if h[0][-1] == eos and "keeps_growing" not in bugs]
        live = [h for h in kept if h[0][-1] != eos or "keeps_growing" in bugs]
        done = [] if "ended_lost" in bugs else done + ended if "ended_hold" in bugs else ended
        if not live:
            break
    found = done if "unfinished_lost" in bugs else done + live
    found = sorted(found, key=lambda h: -h[1 if "listed_by_p" in bugs else 2])
    return [(tokens if "with_bos" in bugs else tokens[1:], log_p, G) for tokens, log_p, G in found]


def children(log_p: list[float], g: list[float], G: float, bugs: frozenset[str] = frozenset(),
             largest: float | None = None) -> list[float]:
    """The scores of the children of a beginning with the score G, of which the largest is G: (17.10) and (17.11).

    With Z the largest of the free scores, e^-free - e^-Z = e^-free (1 - e^(free - Z)), and only its logarithm is taken."""
    free = [a + b for a, b in zip(log_p, g, strict=True)]
    Z, G = max(free) if largest is None else largest, 0.0 if "on_root" in bugs else G
    if "no_noise" in bugs or "unconditioned" in bugs:
        return log_p if "no_noise" in bugs else free
    if "shifted" in bugs:
        return [f - Z + G for f in free]
    if "clipped" in bugs:
        return [min(f, G) for f in free]
    if "as_it_stands" in bugs or "overflow" in bugs:
        parent, Z, t = (torch.tensor(one, dtype=torch.float64) for one in (G, Z, free))
        rest = (-parent).exp() - (-Z).exp() + (-t).exp() if "as_it_stands" in bugs else \
            (-parent).exp() + (-t).exp() * -torch.expm1(t - Z)
        return (-torch.log(rest)).tolist()
    return [G if f == Z else f if f == -math.inf else -logaddexp(-G, math.log1p(-math.exp(f - Z)) - f) for f in free]


def logaddexp(a: float, b: float) -> float:
    """ln(e^a + e^b), which does not overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


LONG = ("as_it_stands", "overflow")
SHORT = [bug for bug in exercise.misconceptions if bug not in (*LONG, "impossible")]


class Apart(list):
    """An answer that differs from another where more than the tolerances does."""

    def __ne__(self, other):
        return len(self) != len(other) or any(mine[0] != its[0] or abs(mine[1] - its[1]) > 0.01 or abs(mine[2] - its[2]) > 0.01
                                              for mine, its in zip(self, other, strict=True))


def gumbels(generator, *shape: int) -> torch.Tensor:
    return -torch.log(-torch.log(uniform(generator, *shape).double().clamp(1e-12, 1 - 1e-12)))


def clear(args: tuple) -> Beam | None:
    """What is drawn; None if rounding decides a place of the beam."""
    step_fn, noise_fn, *rest = args
    gaps: list[float] = []
    found = drawn(lambda x: step_fn(x).tolist(), lambda x: noise_fn(x).tolist(), *rest, gaps=gaps)
    return found if min(gaps, default=1.0) > NEAR else None


def tree(generator) -> tuple:
    """A tree of up to four tokens, with noise for all its beginnings."""
    while True:
        V, max_len, k = 4, integer(generator, 3, 4), integer(generator, 2, 4)
        bos, eos = (0, 3) if integer(generator, 0, 1) else (2, 1)
        args = planted(generator, V, bos, eos, k, max_len)
        if clear(args):
            return args


def planted(generator, V: int, bos: int, eos: int, k: int, max_len: int) -> tuple:
    """The arguments of a tree that is drawn; of a small one with all rows, for showing."""
    beginnings, log_p = random_rows(generator, V, max_len, bos, eos, float(uniform(generator, low=0.5, high=1.5)))
    noise = gumbels(generator, len(beginnings), V)
    tables = [dict(zip(beginnings, rows, strict=True)) for rows in (log_p, noise)]
    found = list(map(steps, tables))
    for function, table in zip(found, tables, strict=True):
        function.rows = {beginning: row for beginning, row in table.items() if eos not in beginning}
    return *found, bos, eos, k, max_len


def trees(generator):
    """Trees drawn until each way of going wrong, and no two of them alike, gives another answer on one of them."""
    found = telling(lambda: tree(generator), lambda *args, bugs=frozenset(): Apart(stochastic_beam_reference(*args, bugs=bugs)),
                    SHORT)
    return found + [tree(generator) for _ in range(2)]


def small(generator):
    """Trees of three tokens and two steps, and as many others: for showing, so that their tables can be read."""
    drawn = [planted(generator, 3, 0, integer(generator, 1, 2), integer(generator, 2, 3), 2) for _ in range(30)]
    return list(filter(clear, drawn)) + trees(generator)


def few(generator):
    """Some tokens never come, and there are four sequences in all; k is larger. Then more sequences, and k = 1."""
    while True:
        a, b, eos, never = torch.randperm(4, generator=generator).tolist()
        table = {beginning: torch.full((4,), -math.inf, dtype=torch.float64)
                 for beginning in random_rows(generator, 4, 3, b, eos)[0]}
        for beginning, tokens in ((), (a, eos)), ((a,), (a, b, eos)), ((a, a), (eos,)), ((a, b), (b,)):
            p = uniform(generator, len(tokens), low=0.3).double()
            table[(b, *beginning)][list(tokens)] = (p / p.sum()).log()
        noise = dict(zip(table, gumbels(generator, len(table), 4), strict=True))
        found = [(steps(table), steps(noise), b, eos, integer(generator, 5, 6), 3), (*tree(generator)[:4], 1, 3)]
        if all(map(clear, found)):
            return found


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
        found = clear(args)
        if found and all(low < log_p < high for _, log_p, _ in found):
            return args, found


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


VALUES = Drawn("values", 5, trees, shown=small)
exercise.checks.append(VALUES)
exercise.checks.append(Drawn("fewer than k, and k = 1", 1, few))


def keeps_its_digits(name: str, max_len: int, low: float, high: float, misconception: str) -> None:
    """A check of improbable sequences. Where others came out right and scores of these are not finite, the misconception is
    named; a list as long is not shown."""
    @exercise.property(name, points=1)
    def digits(run, generator, solve):
        args, expected = improbable(generator, max_len, low, high)
        record = Record(args, expected, Outcome("value", run(*args)), exercise.names)
        fault = VALUES.fault(record)
        lost = fault and fault.state == "wrong_value" and not_finite(record.outcome.value) is not None
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
    "and (17.11) for one beginning, and see on paper that the largest comes out as G.")
exercise.hint(
    "The scores of improbable sequences are NaN or infinite.",
    "Write free for ln p + g of a child, the G with a wave of step 2, and Z for the largest free of a beginning. Then e^-free - e^-Z "
    "= e^-free (1 - e^(free - Z)). The logarithm of that is log1p(-exp(free - Z)) - free, and (17.11) is minus logaddexp of it and "
    "-G. For the largest child it is logaddexp(-inf, -G) = -G, as it should be.")
exercise.hint(
    "Your list is too long where few sequences exist.",
    "A token of log-probability -inf gets the score -inf. Leave such children out before you sort.")
