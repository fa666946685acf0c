"""The narrowest beam that escapes."""
from __future__ import annotations

from dataclasses import dataclass

import torch

from course_lib.exercises.decoding._shared import random_table, steps
from course_lib.exercises.draws import uniform
from course_lib.exercises.findings import Told, plainly
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "greedy_trap", chapter="17", place=4, title="Find the trap, and the way out",
    contract="step_fn as in beam_search; all sequences have `length` tokens and there is no end token. Return (best, "
             "width): the list of tokens, without bos, of highest probability over all sequences, and the smallest beam "
             "width from which on, that width and every larger one, beam search returns it. Width 1 is greedy search. step_fn "
             "takes time: do not ask it twice for the same beginning.",
    points=["greedy", "beam", "decision-rule"], difficulty=4, minutes=45, kind="find")


@exercise.reference(
    greedy_best="Your best sequence is the greedy one. Compare the probabilities of all sequences.",
    first_width="Your width finds the best sequence, but a larger one loses it again. Look for the width from which on all "
                "find it.",
    one_less="Your width is one less than the smallest that finds the best sequence: count the beams from 1.",
    one_more="Your width is one more than needed: the width before it finds the best sequence too.",
    exhaustive_width="Your width is that of exhaustive search, which needs no search at all. A smaller one will do.",
    by_last="Your sequences are compared by the probability of their last token. The product over all tokens counts.",
    backwards="The tokens of your best sequence are in reversed order.",
    asks_again="You ask step_fn again for a beginning that you have asked for. Keep its answers in a dictionary, by the beginning.",
    with_bos="Your best sequence begins with bos. Return what follows it.",
)
def greedy_trap_reference(step_fn, bos, length, V, bugs=frozenset()):
    cache: dict[tuple, list[float]] = {}

    def row(x):
        if x not in cache or "asks_again" in bugs:
            cache[x] = step_fn([bos, *x]).tolist()
        return cache[x]

    p = {(): 0.0}
    for t in range(length):
        p = {(*x, v): total * ("by_last" not in bugs or t < length - 1) + log_p
             for x, total in p.items() for v, log_p in enumerate(row(x))}
    best = max(p, key=p.get)
    if "by_last" in bugs:
        return list(best), 1

    def beams(width):
        live = [((), 0.0)]
        for _ in range(length):
            grown = []
            for x, total in live:
                grown += [((*x, v), total + log_p) for v, log_p in enumerate(row(x))]
            live = sorted(grown, key=lambda h: -h[1])[:width]
        return live[0][0]

    hits = [beams(k) == best for k in range(1, V ** (length - 1) + 1)]
    width = max((k for k, hit in enumerate(hits, 1) if not hit), default=0) + 1
    if "first_width" in bugs:
        width = hits.index(True) + 1
    if "one_less" in bugs or "one_more" in bugs:
        width += 1 if "one_more" in bugs else -1
    if "exhaustive_width" in bugs:
        width = V ** (length - 1)
    if "greedy_best" in bugs:
        best, width = beams(1), 1
    best = [bos] * ("with_bos" in bugs) + list(best)
    return best[::-1] if "backwards" in bugs else best, width


def lost_again(generator):
    """Log-probabilities of which width 1 finds the best sequence, width 2 loses it, and width 3 finds it again."""
    a, b, c = torch.randperm(3, generator=generator).tolist()
    x, y, z = torch.randperm(3, generator=generator).tolist()
    table = {beginning: (0.3 + uniform(generator, 3).double()).log().log_softmax(-1)
             for beginning in random_table(generator, 3, 3, 0, 2)}
    def put(beginning, places, p):
        noisy = torch.zeros(3, dtype=torch.float64)
        noisy[list(places)] = torch.tensor(p, dtype=torch.float64) * (1 + 0.02 * uniform(generator, 3).double())
        table[(0, *beginning)] = (noisy / noisy.sum()).log()

    put((), (a, b, c), (0.51, 0.46, 0.03))
    put((a,), (x, y, z), (0.38, 0.32, 0.30))                           # a's children: the best one has 0.19
    put((b,), (x, y, z), (0.48, 0.47, 0.05))                           # two of b's are above it after two steps
    put((a, x), (z, y, x), (0.96, 0.02, 0.02))                         # and far below it after three
    return table


def trap_cases(generator):
    """One where a wider beam loses the best sequence again; two where greedy search misses it."""
    found: list[tuple] = []
    while len(found) < 3:
        table = random_table(generator, 3, 3, 0, 2) if found else lost_again(generator)
        args = (steps(table), 0, 3, 3)
        best, width = greedy_trap_reference(*args)
        lost = greedy_trap_reference(*args, bugs={"first_width"})[1] != width
        if best != best[::-1] and 1 < width < 9 and (lost or found):
            found.append(args)
    return found


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
    return again and Fault(f"step_fn was called {len(asked)} times for {len({*asked})} beginnings.", "asks_again") or None


exercise.hint(
    "How to list all sequences.",
    "itertools.product(range(V), repeat=length) gives them. The log-probability of one is the sum over its steps. Or "
    "grow a dictionary: from every beginning to its extensions.")
exercise.hint(
    "It takes too long.",
    "Ask step_fn once for each beginning and keep the answer in a dictionary: there are only a few beginnings, and each "
    "width asks for the same ones again.")
exercise.hint(
    "Your width is too small on one input.",
    "A wider beam is not always better: more beginnings compete, and one that looks good can push the right one out. "
    "Try every width up to V ** (length - 1), where nothing is pruned, and go down from there.")
