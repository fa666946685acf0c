"""The slide's generateBeam, repaired."""
from __future__ import annotations

import math

from course_lib.exercises.decoding._shared import random_rows
from course_lib.exercises.draws import integer, uniform
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

END = "</s>"
MOST = 1_000                    # paths after which a search that prunes nothing is given up
WORDS = ["the", "cat", "sat", "on", "a", "red", "mat"]

exercise = Exercise(
    "generate_beam", chapter="decoding", place=5, title="Repair generateBeam",
    contract="next_probs takes a path, a list of words, and returns a dict: the probabilities, above 0, of words that may come "
             "next. history is the list of words that the path begins with. At each step keep the k most probable of all "
             "extensions of all live paths. One that ends in '</s>' leaves, and is remembered if it is "
             "the most probable that has ended; the others live on, for at most max_len words after history. Return (path, "
             "log_p): the most probable path that ended, history included, and the sum of the logarithms of its words' "
             "probabilities, those of history not counted; ([], -inf) if none ended. history stays as it is. Sentences may "
             "have hundreds of words.",
    points=["beam"], difficulty=3, minutes=30, kind="find")


@exercise.step
def extensions(next_probs, path, log_p):
    """All (path, log p) that are one word longer, the most probable first."""
    words = sorted(next_probs(path).items(), key=lambda pair: -pair[1])
    return [(path + [word], log_p + math.log(p)) for word, p in words]


@exercise.step
def best_extensions(next_probs, frontier, k):
    """Of the extensions of all paths the k most probable."""
    grown = [pair for path, log_p in frontier for pair in extensions(next_probs, path, log_p)]
    return sorted(grown, key=lambda pair: -pair[1])[:k]


@exercise.step
def has_ended(path):
    return path[-1] == END


@exercise.step
def search(next_probs, history, k, max_len):
    """The k best extensions at each step."""
    frontier, beams = [(list(history), 0.0)], []
    for _ in range(max_len):
        beams.append(best_extensions(next_probs, frontier, k))
        frontier = [(path, log_p) for path, log_p in beams[-1] if not has_ended(path)]
    return beams


@exercise.step
def candidates(beams):
    return [(path, log_p) for beam in beams for path, log_p in beam if has_ended(path)]


@exercise.step
def most_probable(paths, history):
    return max(paths, key=lambda pair: pair[1], default=([], -math.inf))


@exercise.reference()
def generate_beam_reference(next_probs, history, k, max_len):
    return most_probable(candidates(search(next_probs, history, k, max_len)), history)


@exercise.misconception(
    best_extensions,
    "Your frontier grows: every path keeps k words, and all of them are extended again. Of the extensions of all paths, k are kept "
    "together.")
def not_pruned(next_probs, frontier, k):
    grown = [pair for path, log_p in frontier for pair in extensions(next_probs, path, log_p)[:k]]
    if len(grown) > MOST:
        raise MemoryError(f"{len(grown)} paths")
    return sorted(grown, key=lambda pair: -pair[1])


@exercise.misconception(
    has_ended,
    "No path of yours ever ends. The last *word* of a path is compared with '</s>', not the last character of a text.")
def never_ends(path):
    return False


@exercise.misconception(
    most_probable,
    "Your best path is always the last one that ended: its probability is not remembered (map_path for max_path on the slide).")
def name_misspelt(paths, history):
    return paths[-1][0] if paths else [], -math.inf


@exercise.misconception(
    best_extensions,
    "Every path of yours keeps its own best word. The extensions of all paths compete for the k places.")
def each_apart(next_probs, frontier, k):
    if len(frontier) == 1:
        return best_extensions.original(next_probs, frontier, k)
    return [best for pair in frontier for best in best_extensions.original(next_probs, [pair], 1)]


@exercise.misconception(best_extensions, "Your frontier holds k + 1 paths. Of all extensions together k are kept.")
def one_more(next_probs, frontier, k):
    return best_extensions.original(next_probs, frontier, k + 1)


@exercise.misconception(
    candidates,
    "Your search stops when the first path ends. Others in the frontier may be more probable when they end.")
def first_ended(beams):
    return next((ended for beam in beams if (ended := candidates.original([beam]))), [])


@exercise.misconception(
    candidates,
    "After max_len words you let paths that have not ended compete. Only those that ended may be returned.")
def unfinished_too(beams):
    return candidates.original(beams[:-1]) + beams[-1]


@exercise.misconception(
    most_probable,
    "You choose by the log-probability divided by the length. The most probable path is asked for.")
def normalized(paths, history):
    return max(paths, key=lambda pair: pair[1] / (len(pair[0]) - len(history)), default=([], -math.inf))


@exercise.misconception(search, "max_len counts the words of history too in your search. It counts the new ones.")
def history_counted(next_probs, history, k, max_len):
    return search.original(next_probs, history, k, max_len - len(history))


@exercise.misconception(
    extensions,
    "You multiply probabilities: after hundreds of words the product is 0, and all long paths are alike. Add logarithms.")
def underflow(next_probs, path, log_p):
    return [(grown, total if total > -745 else -math.inf) for grown, total in extensions.original(next_probs, path, log_p)]


@exercise.misconception(
    best_extensions,
    "You remove the extensions that end before you keep k. They take none of the k places, so a path that ends with a small probability is "
    "remembered too. Keep the k most probable first.")
def ended_apart(next_probs, frontier, k):
    grown = best_extensions.original(next_probs, frontier, MOST)
    return [pair for pair in grown if has_ended(pair[0])] + [pair for pair in grown if not has_ended(pair[0])][:k]


SEARCHES = [name for name in exercise.misconceptions if name != "underflow"]


def table_case(generator) -> tuple:
    """A drawn table of all short paths over four words."""
    words = [WORDS[i] for i in sorted(range(len(WORDS)), key=lambda _: float(uniform(generator)))[:3]] + [END]
    history, max_len, k = ["<s>", *words[:integer(generator, 0, 1)]], integer(generator, 3, 4), integer(generator, 2, 3)
    prefixes, log_p = random_rows(generator, 4, max_len, 0, 3, float(uniform(generator, low=-0.5, high=1.0)))
    table = {tuple(words[i] for i in prefix[1:]): dict(zip(words, row.exp().tolist(), strict=True))
             for prefix, row in zip(prefixes, log_p, strict=True)}
    return model(table, len(history)), history, k, max_len


def model(table: dict[tuple[str, ...], dict[str, float]], known: int):
    """next_probs, by a table of what comes after the first `known` words; after more words than it has, as after none."""
    return lambda path: dict(table.get(tuple(path[known:])) or table[()])


def sentences(generator):
    cases = telling(lambda: table_case(generator), exercise.solve, SEARCHES)
    while True:                                          # k = 1, where two paths find another one
        model, history, _, max_len = table_case(generator)
        if exercise.solve(model, history, 1, max_len) != exercise.solve(model, history, 2, max_len):
            return [*cases, (model, history, 1, max_len)]


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
