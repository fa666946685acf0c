"""The narrowest beam that escapes."""
from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import torch

from course_lib.exercises.decoding._shared import random_table, steps
from course_lib.exercises.draws import uniform
from course_lib.exercises.findings import Told, plainly
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "greedy_trap", chapter="decoding", place=4, title="Find the trap, and the way out",
    contract="step_fn as in beam_search; all sequences have `length` tokens and there is no end token. Return (best, "
             "width): the list of tokens, without bos, of highest probability over all sequences, and the smallest beam "
             "width from which on, that width and every larger one, beam search returns it. Width 1 is greedy search. step_fn "
             "takes time: do not ask it twice for the same beginning.",
    points=["greedy", "beam", "decision-rule"], difficulty=4, minutes=45, kind="find")


@exercise.step
def remembered(log_p):
    """The function, which is called once for each prefix."""
    return functools.cache(log_p)


@exercise.step
def most_probable(log_p, length, V):
    return max(itertools.product(range(V), repeat=length), key=lambda x: sum(log_p(x[:t])[x[t]] for t in range(length)))


def beam_search(log_p, length, width):
    """The best sequence of a beam of this width."""
    live = [((), 0.0)]
    for _ in range(length):
        extensions = [((*x, v), total + step) for x, total in live for v, step in enumerate(log_p(x))]
        live = sorted(extensions, key=lambda pair: -pair[1])[:width]
    return live[0][0]


@exercise.step
def smallest_width(hits):
    """The width from which on all hit; `hits` says which of the widths 1, 2, ... do."""
    return max((width for width, hit in enumerate(hits, 1) if not hit), default=0) + 1


@exercise.reference()
@exercise.step
def greedy_trap_reference(step_fn, bos, length, V):
    log_p = remembered(lambda x: step_fn([bos, *x]).tolist())
    best = most_probable(log_p, length, V)
    hits = [beam_search(log_p, length, width) == best for width in range(1, V ** (length - 1) + 1)]
    return list(best), smallest_width(hits)


@exercise.misconception(
    greedy_trap_reference,
    "Your best sequence is the greedy one. Compare the probabilities of all sequences.")
def greedy_best(step_fn, bos, length, V):
    return list(beam_search(lambda x: step_fn([bos, *x]).tolist(), length, 1)), 1


@exercise.misconception(
    smallest_width,
    "Your width finds the best sequence, but a larger one loses it again. Look for the width from which on all find it.")
def first_width(hits):
    return hits.index(True) + 1


@exercise.misconception(
    smallest_width,
    "Your width is one less than the smallest that finds the best sequence. A beam of width 1 is greedy search: count from 1.")
def one_less(hits):
    return smallest_width.original(hits) - 1


@exercise.misconception(
    smallest_width,
    "Your width is one more than needed: the width before it finds the best sequence too.")
def one_more(hits):
    return smallest_width.original(hits) + 1


@exercise.misconception(
    smallest_width,
    "Your width is that of exhaustive search, which prunes nothing. A smaller one is enough.")
def exhaustive_width(hits):
    return len(hits)


@exercise.misconception(
    remembered,
    "You ask step_fn again for a prefix that you have asked for. Keep its answers in a dictionary, by the prefix.")
def asks_again(log_p):
    return log_p


def lost_again(generator):
    """Log-probabilities of which width 1 finds the best sequence, width 2 loses it, and width 3 finds it again."""
    a, b, c = torch.randperm(3, generator=generator).tolist()
    x, y, z = torch.randperm(3, generator=generator).tolist()
    table = {prefix: (0.3 + uniform(generator, 3).double()).log().log_softmax(-1)
             for prefix in random_table(generator, 3, 3, 0, 2)}

    def put(prefix, places, p):
        noisy = torch.zeros(3, dtype=torch.float64)
        noisy[list(places)] = torch.tensor(p, dtype=torch.float64) * (1 + 0.02 * uniform(generator, 3).double())
        table[(0, *prefix)] = (noisy / noisy.sum()).log()

    put((), (a, b, c), (0.51, 0.46, 0.03))
    put((a,), (x, y, z), (0.38, 0.32, 0.30))                           # a's children: the best one has 0.19
    put((b,), (x, y, z), (0.48, 0.47, 0.05))                           # two of b's are above it after two steps
    put((a, x), (z, y, x), (0.96, 0.02, 0.02))                         # and far below it after three
    return table


def trap_cases(generator):
    """One where a wider beam loses the best sequence again; two where greedy search misses it; one token."""
    cases: list[tuple] = []
    while len(cases) < 3:
        table = random_table(generator, 3, 3, 0, 2) if cases else lost_again(generator)
        args = (steps(table), 0, 3, 3)
        best, width = exercise.solve(*args)
        lost = exercise.solve(*args, bugs=["first_width"])[1] != width
        if best != best[::-1] and 1 < width < 9 and (lost or cases):
            cases.append(args)
    return [*cases, (*cases[0][:2], 1, 3)]


@dataclass
class Escape(Told):
    """As Compare; the message says whether the sequence is wrong or the width, and to which side."""

    def value_fault(self, record: Record) -> Fault | None:
        if self.agrees(record):
            return None
        best, width = record.expected
        mine, mine_width = record.outcome.value
        try:
            mine = [plainly(token) for token in mine]
        except TypeError:
            return Fault("Your best sequence should be a list of whole numbers.")
        if mine != best:
            return Fault(f"Your best sequence has {len(mine)} tokens; it should have {len(best)}." if len(mine) != len(best) else
                         "Your best sequence is not the one of highest probability.")
        return Fault("Your sequence is the best, and your width is too " + ("large." if mine_width > width else "small."))


exercise.checks.append(Escape("values", 4, trap_cases))


@exercise.property("no beginning asked for twice", points=1)
def asked_once(run, generator, solve):
    table, asked = random_table(generator, 3, 3, 0, 2), []

    def step_fn(tokens):
        asked.append(tuple(map(int, tokens)))
        return table[asked[-1]].clone()

    run(step_fn, 0, 3, 3)
    again = len(asked) - len({*asked})
    return again and Fault(f"step_fn was called {len(asked)} times for {len({*asked})} prefixes.", "asks_again") or None


exercise.hint(
    "How to list all sequences.",
    "itertools.product(range(V), repeat=length) gives them. The log-probability of one is the sum over its steps. Or "
    "grow a dictionary: from every prefix to its extensions.")
exercise.hint(
    "It takes too long.",
    "Ask step_fn once for each prefix and keep the answer in a dictionary: there are only a few prefixes, and each "
    "width asks for the same ones again.")
exercise.hint(
    "Your width is too small on one input.",
    "A wider beam is not always better: more prefixes compete, and one that looks good can push the right one out. "
    "Try every width up to V ** (length - 1), where nothing is pruned, and go down from there.")
