"""A class-based bigram model estimated by counting, as one table."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

ALL_OCCURRENCES = ("You divide by the number of times that a class occurs. The last token has no successor, so divide "
                   "by the number of pairs that begin with the class.")

exercise = Exercise(
    "class_bigram_table", chapter="counting-text", place=6, title="A class-based bigram model",
    contract="tokens (T,) holds words 0..V-1, and classes (V,) the class of each word, 0..C-1. Return the table (V, V) of "
             "p(w | v) = p(w | g(w)) p(g(w) | g(v)), row v, column w, both factors estimated by relative frequencies. A class without "
             "successor has p(g | g') = 1 / C, and a class whose words do not occur has p(w | g) = 1 / its number of words.",
    points=["brown-classes"], difficulty=3, minutes=25)


@exercise.step
def class_pairs(tokens, classes):
    """How often class b follows class a, (C, C)."""
    g, C = classes[tokens], int(classes.max()) + 1
    counts = torch.zeros(C, C, dtype=torch.float64)
    return counts.index_put_((g[:-1], g[1:]), torch.ones(len(g) - 1, dtype=torch.float64), accumulate=True)


@exercise.step
def successors(counts, tokens, classes):
    """The number of pairs that begin with each class, (C,)."""
    return counts.sum(dim=1)


@exercise.step
def filled_rows(p):
    """Rows of classes without successor become uniform."""
    return torch.where(p.isnan(), 1 / p.shape[1], p)


@exercise.step
def class_transitions(tokens, classes):
    """p(class b | class a), (C, C)."""
    counts = class_pairs(tokens, classes)
    return filled_rows(counts / successors(counts, tokens, classes)[:, None])


@exercise.step
def filled_words(p, size):
    """Words of classes that do not occur are equally probable within their class."""
    return torch.where(p.isnan(), 1 / size, p)


@exercise.step
def word_given_class(tokens, classes):
    """p(w | g(w)), (V,)."""
    count = torch.bincount(tokens, minlength=len(classes)).double()
    of_class = torch.zeros(int(classes.max()) + 1, dtype=torch.float64).index_add(0, classes, count)
    size = torch.bincount(classes).double()
    return filled_words(count / of_class[classes], size[classes])


@exercise.step
def combined(words, transitions, classes):
    return words * transitions[classes][:, classes]                  # (V, V)


@exercise.reference()
def class_bigram_table_reference(tokens, classes):
    return combined(word_given_class(tokens, classes), class_transitions(tokens, classes), classes)


@exercise.misconception(
    class_pairs,
    "Your transitions go backward: they give the class before from the class after. Row: preceding class, column: next class.")
def backward(tokens, classes):
    return class_pairs.original(tokens.flip(0), classes)


@exercise.misconception(
    class_pairs,
    "Each pair of classes counts at most once, however often it occurs. With tensors a and b, counts[a, b] += 1 adds 1 to an entry only "
    "once: use index_put_ with accumulate=True, or a loop.")
def once(tokens, classes):
    return class_pairs.original(tokens, classes).clamp(max=1)


@exercise.misconception(successors, ALL_OCCURRENCES)
def occurrences(counts, tokens, classes):
    return torch.bincount(classes[tokens], minlength=len(counts)).double()


@exercise.misconception(successors, ALL_OCCURRENCES)
def occurrences_with_successor(counts, tokens, classes):
    return occurrences(counts, tokens, classes) * (counts.sum(dim=1) > 0)


@exercise.misconception(
    filled_rows,
    "The rows of a class without successor are 0, so they are not distributions. There p(g | g') is 1 / C.")
def zero_rows(p):
    return p.nan_to_num(0.0)


@exercise.misconception(
    filled_words,
    "Words of a class that does not occur get probability 0. Within such a class all words are equally probable.")
def zero_words(p, size):
    return p.nan_to_num(0.0)


@exercise.misconception(
    filled_words,
    "Each word of a class that does not occur gets 1 / V. The probabilities of the words of such a class sum to one: "
    "divide by the number of words of the class.")
def uniform_over_vocabulary(p, size):
    return p.nan_to_num(1 / len(p))


@exercise.misconception(
    combined,
    "Your table holds the probability of the class of w, not of w. Multiply by p(w | g(w)).")
def class_only(words, transitions, classes):
    return transitions[classes][:, classes]


@exercise.misconception(
    word_given_class,
    "You give all words of a class the same probability. p(w | g(w)) is the relative frequency of w among the tokens of its class.")
def same_for_all(tokens, classes):
    return 1 / torch.bincount(classes)[classes].double()


@exercise.misconception(
    word_given_class,
    "You multiply by p(w), the relative frequency of w in the whole text. p(w | g(w)) divides the count of w by the count of its class.")
def share_of_text(tokens, classes):
    return torch.bincount(tokens, minlength=len(classes)).double() / len(tokens)


def labels(generator, C: int):
    """The class of each word, in mixed order: three or four words in each of the first classes, two in the last."""
    classes = torch.tensor([c for c in range(C - 1) for _ in range(integer(generator, 3, 4))] + [C - 1] * 2)
    return classes[torch.randperm(len(classes), generator=generator)]


def tokens_of(generator, classes, C: int, length: int):
    """Words of classes 0..C-1, whose pairs of classes are not symmetric; the first word of class 0 does not occur."""
    used = [(classes == c).nonzero()[:, 0].tolist() for c in range(C)]
    used[0] = used[0][1:]
    c, tokens = 0, []
    for _ in range(length):
        words = used[c]
        tokens.append(words[min(integer(generator, 0, len(words)), len(words) - 1)])        # the last word is more frequent
        c = (c + 1) % C if integer(generator, 0, 3) else integer(generator, 0, C - 1)
    return tokens


def corpora(generator):
    """A class that occurs only at the end; a class that does not occur; a text in which all classes have successors."""
    C, cases = 4, []
    for last in ("at the end", "never", "everywhere"):
        classes = labels(generator, C)
        tokens = tokens_of(generator, classes, C if last == "everywhere" else C - 1, integer(generator, 30, 50))
        if last == "at the end":
            tokens.append(int((classes == C - 1).nonzero()[0]))
        if last == "everywhere":
            tokens.append(int((classes == 0).nonzero()[-1]))
        cases.append((torch.tensor(tokens), classes))
    return cases


exercise.compare("values", corpora, points=4)
exercise.unchanged(corpora)
exercise.hint(
    "You do not know where to begin.",
    "classes[tokens] is the text as a sequence of classes. Count its pairs of neighbors in a (C, C) table, as in the exercise on the "
    "bigram, and the words with torch.bincount.")
exercise.hint(
    "You have both factors and do not know how to combine them.",
    "If a is the (C, C) table of p(g | g'), then a[classes][:, classes] has the entry p(g(w) | g(v)) in row v and column w. Each column w is "
    "multiplied by p(w | g(w)).")
exercise.hint(
    "The table contains NaN.",
    "A class without successor has 0 / 0 in its row, and a class that does not occur has 0 / 0 for its words. The statement says what "
    "stands there.")
