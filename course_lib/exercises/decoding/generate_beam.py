"""The slide's generateBeam, repaired."""
from __future__ import annotations

import math
from itertools import combinations

from course_lib.exercises.decoding._shared import random_rows
from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

END = "</s>"
LONGER = 40                     # steps that a search without a bound goes on here
MOST = 1_000                    # paths after which a search that prunes nothing is given up
WORDS = ["the", "cat", "sat", "on", "a", "red", "mat"]

exercise = Exercise(
    "generate_beam", chapter="17", place=5, title="Repair generateBeam",
    contract="next_probs takes a path, a list of words, and returns a dict: the probabilities, above 0, of words that may come "
             "next. history is the list of words that the path begins with. At each step keep the k most probable of all "
             "extensions of all live paths. One that ends in '</s>' leaves, and is remembered if it is "
             "the most probable that has ended; the others live on, for at most max_len words after history. Return (path, "
             "log_p): the most probable path that ended, history included, and the sum of the logarithms of its words' "
             "probabilities, those of history not counted; ([], -inf) if none ended. history stays as it is. Sentences may "
             "have hundreds of words.",
    points=["beam"], difficulty=3, minutes=30, kind="find")


@exercise.reference(
    not_pruned="Your frontier grows: every path keeps k words, and all of them go on. Of the extensions of all paths, k are kept "
               "together.",
    never_ends="No path of yours ever ends. The last *word* of a path is compared with '</s>', not the last character of a text.",
    name_misspelt="Your best path is always the last one that ended: its probability is not remembered (map_path for max_path on "
                  "the slide).",
    path_lost="Your paths lose what came before: each is history and one word. A path grows from the path that was extended.",
    each_apart="Every path of yours keeps its own best word. The extensions of all paths compete for the k places.",
    greedy="Your search does not depend on k: it keeps one path.",
    one_more="Your frontier holds k + 1 paths. Of all extensions together k are kept.",
    first_ended="Your search stops when the first path ends. Others in the frontier may end more probably.",
    unfinished_too="After max_len words you let paths that have not ended compete. Only those that ended may be returned.",
    normalised="You choose by the log-probability divided by the length. The most probable path is asked for.",
    no_cap="Your search goes on until every path has ended, whatever max_len is.",
    history_counted="max_len counts the words of history too in your search. It counts the new ones.",
    without_history="Your path begins after history. It is returned with it.",
    probability="You return a probability. Its logarithm is asked for: the sum of the words' logarithms.",
    underflow="You multiply probabilities: after hundreds of words the product is 0, and all long paths are alike. Add logarithms.",
)
def generate_beam_reference(next_probs, history, k, max_len, bugs=frozenset()):
    frontier, best, best_score, k = [(list(history), 0.0)], ([], -math.inf), -math.inf, 1 if "greedy" in bugs else k + ("one_more" in bugs)
    steps = max_len - ("history_counted" in bugs) * len(history) + ("no_cap" in bugs) * LONGER
    for step in range(steps):
        grown = []
        for path, log_p in frontier:
            words = sorted(next_probs(path).items(), key=lambda pair: -pair[1])
            new = [((list(history) if "path_lost" in bugs else path) + [word], log_p + math.log(p)) for word, p in words]
            grown += new[:1] if "each_apart" in bugs and step else new[:k] if "not_pruned" in bugs else new
        if "underflow" in bugs:                                                # what is 0 keeps its place
            grown = [(path, log_p if log_p > -745 else -math.inf) for path, log_p in grown]
        grown.sort(key=lambda pair: -pair[1])
        kept = grown if "not_pruned" in bugs else grown[:k]
        if len(kept) > MOST:
            raise MemoryError(f"{len(kept)} paths")
        frontier = [pair for pair in kept if pair[0][-1] != END or "never_ends" in bugs]
        ended = [pair for pair in kept if pair[0][-1] == END and "never_ends" not in bugs]
        if "unfinished_too" in bugs and step == steps - 1:
            ended = kept
        for path, log_p in ended:
            score = log_p / (len(path) - len(history)) if "normalised" in bugs else log_p
            if score > best_score or "name_misspelt" in bugs or "underflow" in bugs and not best[0]:
                best = path, log_p
                best_score = score
        if not frontier or "first_ended" in bugs and best[0]:
            break
    path, log_p = best
    if "name_misspelt" in bugs:
        log_p = -math.inf
    if "probability" in bugs:
        log_p = math.exp(log_p)
    return path[len(history):] if "without_history" in bugs else path, log_p


SEARCHES = ["not_pruned", "never_ends", "name_misspelt", "path_lost", "each_apart", "greedy", "one_more", "first_ended",
            "unfinished_too", "normalised", "history_counted"]


def table_case(generator) -> tuple:
    """A drawn table of all short paths over four words."""
    words = [WORDS[i] for i in sorted(range(len(WORDS)), key=lambda _: float(uniform(generator)))[:3]] + [END]
    history, max_len, k = ["<s>", *words[:integer(generator, 0, 1)]], integer(generator, 3, 4), integer(generator, 2, 3)
    beginnings, log_p = random_rows(generator, 4, max_len, 0, 3, float(uniform(generator, low=-0.5, high=1.0)))
    table = {tuple(words[i] for i in one[1:]): dict(zip(words, row.exp().tolist(), strict=True))
             for one, row in zip(beginnings, log_p, strict=True)}
    return model(table, len(history)), history, k, max_len


def model(table: dict[tuple[str, ...], dict[str, float]], known: int):
    """next_probs, by a table of what comes after the first `known` words; after more words than it has, as after none."""
    return lambda path: dict(table.get(tuple(path[known:])) or table[()])


def sentences(generator):
    """Cases drawn until each way of going wrong gives another path, and no two ways the same."""
    wanted = {(), *((bug,) for bug in SEARCHES), *combinations(SEARCHES, 2)} - {()}
    found = []
    while wanted:
        case = table_case(generator)
        right = generate_beam_reference(*case)
        got = {bug: generate_beam_reference(*case, bugs={bug}) for bug in SEARCHES if any(bug in one for one in wanted)}
        told = {pair for pair in wanted if got[pair[0]] != (right if len(pair) == 1 else got[pair[1]])}
        if told:
            wanted -= told
            found.append(case)
    return found


def nothing_ends(generator):
    """A model that writes the end only after more words than are asked for."""
    row = {word: float(p) for word, p in zip(WORDS[:3], uniform(generator, 3, low=0.1, high=0.2), strict=True)}
    max_len = integer(generator, 3, 5)
    return [(lambda path: row | ({END: 0.4} if len(path) > max_len + 1 else {}), ["<s>"], 2, max_len)]


def long_ones(generator):
    """Sentences of hundreds of words out of a large vocabulary, of which one is told, in a few places two."""
    length, chance = integer(generator, 150, 180), uniform(generator, 200, 2, low=0.001, high=0.01).tolist()
    open_at = {integer(generator, 10 * i, 10 * i + 9) for i in range(5)}

    def next_probs(path):
        step = len(path) - 1
        words = {END: chance[step][0]} if step == length else {"very": chance[step][0]}
        return words | ({"so": chance[step][1]} if step in open_at else {})

    return [(next_probs, ["<s>"], 3, length + 5)]


exercise.compare("sentences", sentences, points=5)
exercise.compare("none that ends in time", nothing_ends, points=1)
exercise.compare("hundreds of words", long_ones, points=2)
exercise.unchanged(nothing_ends)
exercise.hint(
    "Where to begin.",
    "A path is a list of words, and the frontier a list of (path, log_p), at first [(list(history), 0.0)]. The outer loop counts "
    "steps; the inner one goes through the frontier and collects all extensions in a new list.")
exercise.hint(
    "Your search does not stop, or gets slower with every word.",
    "Never append to the list that you loop over. Sort the collected extensions by log_p, keep the first k, and make the next "
    "frontier of those that have not ended.")
exercise.hint(
    "The path is right and the number is not, or the other way round.",
    "Two things change together when a path is better than the best so far: the path and its log-probability. Both start at "
    "'nothing ended yet': [] and -math.inf.")
