"""Chapter 17: beam search, the narrowest beam that escapes the greedy trap; the filters are in `truncation`."""
from __future__ import annotations

import itertools
import math

import torch

from course_lib.grading.bank.draws import integer, uniform
from course_lib.grading.bank.truncation import top_k_filter, top_p_filter
from course_lib.grading.exercise import Exercise


def steps(table: dict[tuple[int, ...], torch.Tensor]):
    """A function from a list of tokens to log-probabilities (V,), by a table."""
    return lambda tokens: table[tuple(map(int, tokens))].clone()


def search(row, bos, eos, beam, max_len, bugs=frozenset()):
    """The (tokens, log p) of all hypotheses that left the beam; tokens begin with bos. `row` gives a list of V
    log-probabilities."""
    live, done = [([bos], 0.0)], []
    for t in range(max_len):
        grown = []
        for tokens, total in live:
            new = [(tokens + [v], log_p + (0.0 if "last_step" in bugs else total))
                   for v, log_p in enumerate(row(tokens))]
            grown += [max(new, key=lambda h: h[1])] if "each_apart" in bugs and t > 0 else new
        grown.sort(key=lambda h: -h[1])
        live = []
        slots = beam - len(done) if "slots_lost" in bugs else beam
        for h in grown[:slots]:
            over = h[0][-1] == eos and "keeps_growing" not in bugs
            (done if over or t == max_len - 1 else live).append(h)
        if "refilled" in bugs and t < max_len - 1:
            live = [h for h in grown if h[0][-1] != eos][:beam]
        if not live or "first_finished" in bugs and done:
            break
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


beam_search = Exercise(
    "beam_search", chapter="17", title="Beam search",
    contract="step_fn takes a list of token ids, bos first, and returns the log-probabilities (V,) of the next token. At "
             "each step keep the `beam` best extensions of all live hypotheses by log p. One that ends in eos takes its "
             "slot and leaves with its score; the others live on. At max_len generated tokens the unfinished compete "
             "too. Best by log p / len ** alpha, len the generated tokens, eos included. Return (tokens without bos, "
             "summed log p): a list of int and a float.",
    points=["beam", "greedy"], difficulty=4, minutes=45)


@beam_search.reference(
    greedy="Your search does not depend on the width: it keeps one hypothesis. Keep the `beam` best at each step.",
    each_apart="Every hypothesis of yours keeps its own best extension. The extensions of all hypotheses compete for "
               "the same slots.",
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


def random_rows(generator, V: int, depth: int, bos: int, eos: int, ends: float = 0.0):
    """Every beginning of up to `depth` tokens, those past an end too, and log-probabilities (their number, V). `ends` is
    added to eos."""
    beginnings = [(bos, *rest) for t in range(depth) for rest in itertools.product(range(V), repeat=t)]
    logits = 1.5 * torch.randn(len(beginnings), V, generator=generator, dtype=torch.float64)
    logits[:, bos] -= 2
    logits[:, eos] += ends
    return beginnings, logits.log_softmax(-1)


def random_table(*args):
    """A table for `steps`, of random rows."""
    return dict(zip(*random_rows(*args), strict=True))


SEARCHES = ["greedy", "each_apart", "last_step", "first_finished", "keeps_growing", "refilled", "slots_lost",
            "only_finished"]
CHOICES = ["alpha_ignored", "counts_bos", "end_not_counted", "multiplied"]
PAIRS = [("alpha_ignored", "counts_bos")]                              # the cases must tell these apart too


def beam_cases(generator):
    """Tables and exponents drawn until each way of going wrong gives other tokens in one of the cases."""
    found, wanted = [], {*SEARCHES, *CHOICES, *PAIRS}
    while wanted:
        V, max_len, beam = 4, integer(generator, 3, 4), integer(generator, 2, 3)
        bos, eos = (0, 3) if integer(generator, 0, 1) else (2, 1)
        beginnings, log_p = random_rows(generator, V, max_len, bos, eos, float(uniform(generator)))
        rows = dict(zip(beginnings, log_p.tolist(), strict=True))

        ways = {bug: search(lambda x, rows=rows: rows[tuple(x)], bos, eos, 1 if bug == "greedy" else beam, max_len, {bug})
                for bug in ["", *SEARCHES] if bug in wanted or not bug}
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
            told[alpha] |= {bug for bug in others if choice(others[bug], eos, alpha)[0] != right}
        alpha = max(told, key=lambda a: len(told[a] & wanted))
        if told[alpha] & wanted:
            wanted -= told[alpha]
            found.append((steps(dict(zip(beginnings, log_p, strict=True))), bos, eos, beam, max_len, alpha))
    return found


beam_search.compare("values", beam_cases, points=6)
beam_search.hint(
    "You do not know what to keep between two steps.",
    "A list of pairs (tokens, log p), at first [([bos], 0.0)]. Extend every pair by every token, sort all extensions "
    "together by log p, and keep the first `beam`.")
beam_search.hint(
    "Your search goes on after the end token.",
    "Look at the last token of each of the `beam` that you kept. If it is eos, put the hypothesis on a list of finished "
    "ones and do not extend it again. It has used its slot in this step.")
beam_search.hint(
    "It is right with alpha = 0 and not otherwise.",
    "Within the beam, compare log p. Only the final choice divides by len ** alpha, where len counts the generated "
    "tokens: bos is not one, eos is.")
beam_search.hint(
    "It is right on most inputs.",
    "What happens at max_len? The hypotheses that are left have not ended; they stand for election as well. And the "
    "search must go on while any hypothesis lives, although others have ended.")

# The narrowest beam that escapes

greedy_trap = Exercise(
    "greedy_trap", chapter="17", title="Find the trap, and the way out",
    contract="step_fn as in beam_search; all sequences have `length` tokens and there is no end token. Return (best, "
             "width): the list of tokens, without bos, of highest probability over all sequences, and the smallest beam "
             "width from which on, that width and every larger one, beam search returns it. Width 1 is greedy search.",
    points=["greedy", "beam", "decision-rule"], difficulty=4, minutes=35, kind="find")


@greedy_trap.reference(
    greedy_best="Your best sequence is the greedy one. Compare the probabilities of all sequences.",
    first_width="Your width finds the best sequence, but a larger one loses it again. Look for the width from which on all "
                "find it.",
    one_less="Your width is one less than the smallest that finds the best sequence: count the beams from 1.",
    one_more="Your width is one more than needed: the width before it finds the best sequence too.",
    exhaustive_width="Your width is that of exhaustive search, which needs no search at all. A smaller one will do.",
    by_last="Your sequences are compared by the probability of their last token. The product over all tokens counts.",
    backwards="The tokens of your best sequence are in reversed order.",
    with_bos="Your best sequence begins with bos. Return what follows it.",
)
def greedy_trap_reference(step_fn, bos, length, V, bugs=frozenset()):
    p = {(): 0.0}
    for t in range(length):
        p = {(*x, v): total * ("by_last" not in bugs or t < length - 1) + log_p
             for x, total in p.items() for v, log_p in enumerate(step_fn([bos, *x]).tolist())}
    best = max(p, key=p.get)
    if "by_last" in bugs:
        return list(best), 1
    cache: dict[tuple, list[float]] = {}

    def beams(width):
        live = [((), 0.0)]
        for _ in range(length):
            grown = []
            for x, total in live:
                if x not in cache:
                    cache[x] = step_fn([bos, *x]).tolist()
                grown += [((*x, v), total + log_p) for v, log_p in enumerate(cache[x])]
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


greedy_trap.compare("values", trap_cases, points=5)
greedy_trap.hint(
    "You do not know how to list all sequences.",
    "itertools.product(range(V), repeat=length) gives them. The log-probability of one is the sum over its steps. Or "
    "grow a dictionary: from every beginning to its extensions.")
greedy_trap.hint(
    "It takes too long.",
    "Ask step_fn once for each beginning and keep the answer in a dictionary: there are only a few beginnings, and each "
    "width asks for the same ones again.")
greedy_trap.hint(
    "Your width is too small on one input.",
    "A wider beam is not always better: more beginnings compete, and one that looks good can push the right one out. "
    "Try every width up to V ** (length - 1), where nothing is pruned, and go down from there.")

EXERCISES = [beam_search, top_k_filter, top_p_filter, greedy_trap]
