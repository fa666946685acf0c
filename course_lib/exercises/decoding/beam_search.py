"""Beam search."""
from __future__ import annotations

from dataclasses import dataclass

import torch

from course_lib.exercises.decoding._shared import random_rows, random_table, steps
from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Told, plainly
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise, replace_steps
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "beam_search", chapter="decoding", place=1, title="Beam search",
    contract="step_fn takes a list of token ids, bos first, and returns the log-probabilities (V,) of the next token. At "
             "each step keep the `beam` best extensions of all live hypotheses by log p. One that ends in eos takes its "
             "slot and leaves with its score; the others live on. At max_len generated tokens the unfinished compete "
             "too. Best by log p / len ** alpha, len the generated tokens, eos included. Return (tokens without bos, "
             "summed log p): a list of int and a float.",
    points=["beam", "greedy"], difficulty=4, minutes=50)


@exercise.step
def best_extensions(log_p, live, beam):
    """Of all (tokens, total) that are one token longer those of largest total."""
    extensions = [(tokens + [v], total + step) for tokens, total in live for v, step in enumerate(log_p(tokens))]
    return sorted(extensions, key=lambda pair: -pair[1])[:beam]


@exercise.step
def search(log_p, bos, eos, beam, max_len):
    """The hypotheses that ended, and those that live after max_len tokens. `log_p` gives a list of V log-probabilities."""
    live, finished = [([bos], 0.0)], []
    for _ in range(max_len):
        best = best_extensions(log_p, live, beam)
        finished += ending_in(eos, best)
        live = others(eos, best)
    return finished, live


def ending_in(eos, hypotheses):
    return [(tokens, total) for tokens, total in hypotheses if tokens[-1] == eos]


def others(eos, hypotheses):
    return [(tokens, total) for tokens, total in hypotheses if tokens[-1] != eos]


@exercise.step
def candidates(finished, live):
    return finished + live


@exercise.step
def length(tokens, eos):
    """Without bos."""
    return len(tokens) - 1


@exercise.step
def score(tokens, total, eos, alpha):
    return total / length(tokens, eos) ** alpha


def choice(hypotheses, eos, alpha):
    return max(hypotheses, key=lambda pair: score(*pair, eos, alpha))


@exercise.reference()
def beam_search_reference(step_fn, bos, eos, beam, max_len, alpha=0.0):
    finished, live = search(lambda tokens: step_fn(tokens).tolist(), bos, eos, beam, max_len)
    tokens, total = choice(candidates(finished, live), eos, alpha)
    return tokens[1:], total


@exercise.misconception(
    best_extensions,
    "Every hypothesis of yours keeps its own best extension. The extensions of all hypotheses compete for the same slots.")
def each_apart(log_p, live, beam):
    if all(len(tokens) == 1 for tokens, _ in live):                            # the first step
        return best_extensions.original(log_p, live, beam)
    return [best for hypothesis in live for best in best_extensions.original(log_p, [hypothesis], 1)]


@exercise.misconception(
    best_extensions,
    "Every hypothesis of yours keeps `beam` extensions, and all of them are extended again: the number of hypotheses grows with each "
    "step. The extensions of all hypotheses compete, and `beam` of them are kept together.")
def not_pruned(log_p, live, beam):
    return [best for hypothesis in live for best in best_extensions.original(log_p, [hypothesis], beam)]


@exercise.misconception(
    best_extensions,
    "Your search keeps everything: it finds the best of all sequences, whatever the beam. Keep the `beam` best extensions at each step.")
def exhaustive(log_p, live, beam):
    return best_extensions.original(log_p, live, None)


@exercise.misconception(
    search,
    "A finished hypothesis of yours continues to take a slot of the beam, or is pushed out of it later. It uses its slot in the step in "
    "which it ends, and leaves with its score.")
def finished_stay(log_p, bos, eos, beam, max_len):
    live = [([bos], 0.0)]
    for _ in range(max_len):
        compete = ending_in(eos, live) + best_extensions.original(log_p, others(eos, live), None)
        live = sorted(compete, key=lambda pair: -pair[1])[:beam]
    return live, []


@exercise.misconception(
    search,
    "Your beam is filled up again when a hypothesis ends. Here a hypothesis that ends has used its slot: of the `beam` best extensions "
    "the others live on.")
def refilled(log_p, bos, eos, beam, max_len):
    live, finished = [([bos], 0.0)], []
    for _ in range(max_len):
        ranked = best_extensions.original(log_p, live, None)
        finished += ending_in(eos, ranked[:beam])
        live = others(eos, ranked)[:beam]
    return finished, others(eos, ranked[:beam])


@exercise.misconception(
    search,
    "Your search stops when the first hypothesis ends. Others that are still in the beam may end with a better score.")
def first_finished(log_p, bos, eos, beam, max_len):
    for length in range(1, max_len + 1):
        finished, live = search.original(log_p, bos, eos, beam, length)
        if finished and length < max_len:
            return finished, []
    return finished, live


@exercise.misconception(
    candidates,
    "At max_len you drop the hypotheses that have not ended. They compete there with the finished ones.")
def only_finished(finished, live):
    return finished or live


@exercise.misconception(
    score,
    "Your result does not depend on alpha: the best hypothesis is to be chosen by log p / len ** alpha.")
def alpha_ignored(tokens, total, eos, alpha):
    return total


@exercise.misconception(length, "Your lengths count bos. Only generated tokens count, the end token included.")
def counts_bos(tokens, eos):
    return len(tokens)


@exercise.misconception(length, "Your lengths leave the end token out. It was generated, and counts.")
def end_not_counted(tokens, eos):
    return max(len(tokens) - 1 - (tokens[-1] == eos), 1)


CHOICES = ["alpha_ignored", "counts_bos", "end_not_counted"]
SEARCHES = [name for name in exercise.misconceptions if name not in CHOICES]
PAIRS = [("alpha_ignored", "counts_bos")]                              # the cases must distinguish these too
WIDE = [("not_pruned", "exhaustive"), ("refilled", "exhaustive"), ("refilled", "not_pruned"), ("finished_stay", "refilled")]


def candidates_with(misconception, *args):
    with replace_steps(dict([exercise.replacements[misconception]] if misconception else [])):
        return candidates(*search(*args))


def choice_with(misconception, *args):
    with replace_steps(dict([exercise.replacements[misconception]])):
        return choice(*args)[0]


def beam_cases(generator):
    """Tables and exponents, until each misconception gives other tokens in one of the cases; then a beam of 1, and one that is
    wider than the vocabulary."""
    cases, wanted = [], {*SEARCHES, *CHOICES, *PAIRS, *WIDE}
    while wanted:
        V, max_len, beam = 4, integer(generator, 3, 4), integer(generator, 2, 3)
        bos, eos = (0, 3) if integer(generator, 0, 1) else (2, 1)
        prefixes, log_p = random_rows(generator, V, max_len, bos, eos, float(uniform(generator)))
        rows = dict(zip(prefixes, log_p.tolist(), strict=True))

        names = {name for each in wanted for name in ([each] if isinstance(each, str) else each)}      # only these are tried
        lists = {name: candidates_with(name, lambda x, rows=rows: rows[tuple(x)], bos, eos, beam, max_len)
                 for name in ["", *SEARCHES] if not name or name in names}
        right_list, shown = lists.pop(""), {}
        lists = {name: hypotheses for name, hypotheses in lists.items() if sorted(hypotheses) != sorted(right_list)}
        if not lists and names.isdisjoint(CHOICES):
            continue
        for alpha in (0.0, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2):
            right = choice(right_list, eos, alpha)[0]
            tokens = {name: choice(hypotheses, eos, alpha)[0] for name, hypotheses in lists.items()}
            tokens |= {name: choice_with(name, right_list, eos, alpha) for name in CHOICES if name in names}
            shown[alpha] = {each for each in wanted if (
                tokens.get(each, right) != right if isinstance(each, str) else
                tokens.get(each[0], right) != tokens.get(each[1], right))}
        alpha = max(shown, key=lambda a: len(shown[a]))
        if shown[alpha]:
            wanted -= shown[alpha]
            cases.append((steps(dict(zip(prefixes, log_p, strict=True))), bos, eos, beam, max_len, alpha))
    return [*cases, narrow_case(generator), (steps_to_the_fourth, 0, 2, 6, 3, 0.0)]


def narrow_case(generator) -> tuple:
    """A case with a beam of 1, in which a beam of 2 gives other tokens."""
    while True:
        case = (steps(random_table(generator, 4, 3, 0, 3)), 0, 3, 1, 3, 1.2)
        if exercise.solve(*case)[0] != exercise.solve(*case[:3], 2, *case[4:])[0]:
            return case


def steps_to_the_fourth(tokens):
    """Three tokens, of which the best sequence begins like the fourth of two: a beam of 3 loses it."""
    rows = {(): (0.5, 0.48, 0.02), (0,): (0.41, 0.39, 0.2), (1,): (0.4, 0.35, 0.25), (1, 1): (0.98, 0.01, 0.01)}
    return torch.tensor(rows.get(tuple(map(int, tokens[1:])), (0.35, 0.33, 0.32)), dtype=torch.float64).log()


@dataclass
class Hypothesis(Told):
    """As Compare; the message says whether tokens or number are wrong, and whose score is better."""

    def value_fault(self, record: Record) -> Fault | None:
        if self.agrees(record):
            return None
        step_fn, bos, eos, beam, max_len, alpha = record.args
        (mine, total), (right, best) = record.outcome.value, record.expected
        try:
            mine = [plainly(token) for token in mine]
        except TypeError:
            return Fault("Your tokens should be a list of whole numbers.")
        where = f"With beam={beam}, max_len={max_len}, alpha={alpha}"
        if mine == right and same(float(total) * len(right) ** alpha, best, self.rtol, self.atol):
            return Fault(f"{where}, your tokens are right, and you return log p / len ** alpha. It decides between the hypotheses; the number "
                         "to return is the summed log p itself.")
        if mine == right:
            return Fault(f"{where}, your tokens are right and their log p is not: {float(total):.4f} in place of {best:.4f}.")
        if not mine or not {*mine} <= {*range(len(step_fn([bos])))} or len(mine) > max_len or eos in mine[:-1]:
            return Fault(f"{where}, your tokens are no hypothesis: at least one token and at most max_len, each below V, and eos "
                         "only as the last.")
        own = sum(float(step_fn([bos, *mine[:t]])[v]) for t, v in enumerate(mine))
        score, rule = own / len(mine) ** alpha, best / len(right) ** alpha
        return Fault(f"{where}, your tokens are not those that the rule finds. Their score is "
                     + (f"better ({score:.4f}; the rule's is {rule:.4f}): your search keeps something that the rule drops."
                        if score > rule else
                        f"worse ({score:.4f}; the rule's is {rule:.4f}): your search loses something that the rule keeps, or "
                        "chooses otherwise at the end."))


exercise.checks.append(Hypothesis("values", 6, beam_cases))
exercise.hint(
    "What to keep between two steps.",
    "A list of pairs (tokens, log p), at first [([bos], 0.0)]. Extend every pair by every token, sort all extensions "
    "together by log p, and keep the first `beam`.")
exercise.hint(
    "Your search goes on after the end token.",
    "Look at the last token of each of the `beam` that you kept. If it is eos, put the hypothesis on a list of finished "
    "ones and do not extend it again. It has used its slot in this step.")
exercise.hint(
    "It is right with alpha = 0 and not otherwise.",
    "Within the beam, compare log p. Only the final choice divides by len ** alpha, where len counts the generated "
    "tokens: bos is not one, eos is.")
exercise.hint(
    "It is right on most inputs.",
    "What happens at max_len? The hypotheses that are left have not ended; they stand for election as well. And the "
    "search must go on while any hypothesis lives, although others have ended.")
