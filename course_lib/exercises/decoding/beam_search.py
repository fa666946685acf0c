"""Beam search."""
from __future__ import annotations

import math
from dataclasses import dataclass

from course_lib.exercises.decoding._shared import random_rows, steps
from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.findings import Told, plainly
from course_lib.grading.checks import Fault, Record
from course_lib.grading.exercise import Exercise


def search(row, bos, eos, beam, max_len, bugs=frozenset()):
    """The (tokens, log p) of all hypotheses that left the beam; tokens begin with bos. `row` gives a list of V
    log-probabilities."""
    live, done = [([bos], 0.0)], []
    for t in range(max_len):
        grown = []
        for tokens, total in live:
            new = [(tokens + [v], log_p + (0.0 if "last_step" in bugs else total))
                   for v, log_p in enumerate(row(tokens))]
            if "finished_stay" in bugs and tokens[-1] == eos:
                new = [(tokens, total)]                                        # takes a slot, is extended no more
            if "not_pruned" in bugs:
                new = sorted(new, key=lambda h: -h[1])[:beam]
            grown += [max(new, key=lambda h: h[1])] if "each_apart" in bugs and t > 0 else new
        grown.sort(key=lambda h: -h[1])
        if "finished_stay" in bugs:
            live = grown[:beam]
            continue
        live = []
        slots = beam - len(done) if "slots_lost" in bugs else None if bugs & {"not_pruned", "exhaustive"} else beam
        for h in grown[:slots]:
            over = h[0][-1] == eos and "keeps_growing" not in bugs
            (done if over or t == max_len - 1 else live).append(h)
        if "refilled" in bugs and t < max_len - 1:
            live = [h for h in grown if h[0][-1] != eos][:beam]
        if not live or "first_finished" in bugs and done:
            break
    if "finished_stay" in bugs:
        return live
    return [h for h in done if h[0][-1] == eos] or done if "only_finished" in bugs else done


def scores(done, eos, alpha, bugs=frozenset()) -> list[float]:
    """What each hypothesis is chosen by."""
    if "alpha_ignored" in bugs:
        return [log_p for _, log_p in done]
    bos_too, end_too = "counts_bos" in bugs, "end_not_counted" not in bugs
    sizes = [len(tokens) - (not bos_too) - (not end_too and tokens[-1] == eos) for tokens, _ in done]
    if "multiplied" in bugs:
        return [log_p * size ** alpha for (_, log_p), size in zip(done, sizes, strict=True)]
    return [log_p / max(size, 1) ** alpha for (_, log_p), size in zip(done, sizes, strict=True)]


def choice(done, eos, alpha, bugs=frozenset()):
    values = scores(done, eos, alpha, bugs)
    return done[values.index(max(values))]


exercise = Exercise(
    "beam_search", chapter="17", place=1, title="Beam search",
    contract="step_fn takes a list of token ids, bos first, and returns the log-probabilities (V,) of the next token. At "
             "each step keep the `beam` best extensions of all live hypotheses by log p. One that ends in eos takes its "
             "slot and leaves with its score; the others live on. At max_len generated tokens the unfinished compete "
             "too. Best by log p / len ** alpha, len the generated tokens, eos included. Return (tokens without bos, "
             "summed log p): a list of int and a float.",
    points=["beam", "greedy"], difficulty=4, minutes=50)


@exercise.reference(
    greedy="Your search does not depend on the width: it keeps one hypothesis. Keep the `beam` best at each step.",
    each_apart="Every hypothesis of yours keeps its own best extension. The extensions of all hypotheses compete for "
               "the same slots.",
    not_pruned="Every hypothesis of yours keeps `beam` extensions, and all of them go on: the number of hypotheses grows with each "
               "step. The extensions of all compete, and `beam` of them are kept together.",
    exhaustive="Your search keeps everything: it finds the best of all sequences, whatever the beam. Keep the `beam` best extensions "
               "at each step.",
    finished_stay="A finished hypothesis of yours goes on taking a slot of the beam, or is pushed out of it later. It uses its slot "
                  "in the step in which it ends, and leaves with its score.",
    last_step="Your hypotheses are ranked by their last token alone. Add the log-probabilities of the whole beginning.",
    with_bos="Your tokens begin with bos. Return what was generated, without it.",
    first_finished="Your search stops when the first hypothesis ends. Others that are still in the beam may end better.",
    keeps_growing="Your hypotheses go on after eos. One that has written it is finished: it leaves with its score.",
    refilled="Your beam is filled up again when a hypothesis ends. Here one that ends has used its slot: of the `beam` best "
             "extensions the others live on.",
    slots_lost="Your beam gets narrower for good when a hypothesis ends. It uses its slot in that step only: in the next "
               "one the `beam` best extensions of the others are kept again.",
    only_finished="At max_len you drop what has not ended. Unfinished hypotheses compete there with the finished.",
    alpha_ignored="Your result does not depend on alpha: the best is to be chosen by log p / len ** alpha.",
    counts_bos="Your lengths count bos. Only generated tokens count, the end token included.",
    end_not_counted="Your lengths leave the end token out. It was generated, and counts.",
    scored="You return the score. The summed log-probability is asked for, not divided by the length.",
    multiplied="You multiply by len ** alpha. The score divides: a long hypothesis is not to be punished for its length.",
    exponentiated="You return a probability. The summed log-probability is asked for.",
)
def beam_search_reference(step_fn, bos, eos, beam, max_len, alpha=0.0, bugs=frozenset()):
    done = search(lambda x: step_fn(x).tolist(), bos, eos, 1 if "greedy" in bugs else beam, max_len, bugs)
    tokens, total = choice(done, eos, alpha, bugs)
    if "last_step" in bugs:
        total = sum(step_fn(tokens[:t])[tokens[t]].item() for t in range(1, len(tokens)))
    [result] = scores([(tokens, total)], eos, alpha) if "scored" in bugs else [total]
    result = math.exp(total) if "exponentiated" in bugs else result
    return tokens if "with_bos" in bugs else tokens[1:], result


SEARCHES = ["greedy", "each_apart", "last_step", "first_finished", "keeps_growing", "refilled", "slots_lost",
            "only_finished", "not_pruned", "exhaustive", "finished_stay"]
CHOICES = ["alpha_ignored", "counts_bos", "end_not_counted", "multiplied"]
PAIRS = [("alpha_ignored", "counts_bos")]                              # the cases must tell these apart too
WIDE = [("not_pruned", "exhaustive"), ("refilled", "exhaustive"), ("refilled", "not_pruned"), ("finished_stay", "slots_lost"),
        ("finished_stay", "refilled")]                                 # and these searches


def beam_cases(generator):
    """Tables and exponents drawn until each way of going wrong gives other tokens in one of the cases."""
    found, wanted = [], {*SEARCHES, *CHOICES, *PAIRS, *WIDE}
    while wanted:
        V, max_len, beam = 4, integer(generator, 3, 4), integer(generator, 2, 3)
        bos, eos = (0, 3) if integer(generator, 0, 1) else (2, 1)
        beginnings, log_p = random_rows(generator, V, max_len, bos, eos, float(uniform(generator)))
        rows = dict(zip(beginnings, log_p.tolist(), strict=True))

        ways = {bug: search(lambda x, rows=rows: rows[tuple(x)], bos, eos, 1 if bug == "greedy" else beam, max_len, {bug})
                for bug in ["", *SEARCHES] if not bug or bug in wanted or any(bug in pair for pair in WIDE if pair in wanted)}
        done, told = ways.pop(""), {}                                  # only what is still wanted is tried
        others = {bug: way for bug, way in ways.items() if way != done}
        asked = {bug for bug in CHOICES if bug in wanted} | {bug for pair in PAIRS if pair in wanted for bug in pair}
        if not others and not asked:
            continue
        for alpha in (0.0, 0.35, 0.5, 0.7, 0.85, 1.0, 1.2):
            right = choice(done, eos, alpha)[0]
            chosen = {bug: choice(done, eos, alpha, {bug})[0] for bug in asked}
            told[alpha] = {bug for bug in asked if chosen[bug] != right}
            told[alpha] |= {pair for pair in PAIRS if pair in wanted and chosen[pair[0]] != chosen[pair[1]]}
            got = {bug: choice(way, eos, alpha)[0] for bug, way in others.items()}
            told[alpha] |= {bug for bug in got if got[bug] != right}
            told[alpha] |= {pair for pair in WIDE if pair in wanted and got.get(pair[0], right) != got.get(pair[1], right)}
        alpha = max(told, key=lambda a: len(told[a] & wanted))
        if told[alpha] & wanted:
            wanted -= told[alpha]
            found.append((steps(dict(zip(beginnings, log_p, strict=True))), bos, eos, beam, max_len, alpha))
    return found


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
