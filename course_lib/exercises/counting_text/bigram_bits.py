"""Bits per symbol of a bigram model with additive smoothing."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bigram_bits", chapter="counting-text", place=1, title="Bits per symbol of a bigram model",
    contract="train and test are tensors of at least two symbols 0..V-1. Estimate p(next | previous) from the pairs of train, with alpha "
             "added to every count. Return the mean of -log2 p(next | previous) over the pairs of test, one number.",
    points=["shannon-ngram"], difficulty=2, minutes=20)


@exercise.step
def pair_counts(symbols, V):
    """How often symbol w follows symbol v, (V, V): row v, column w."""
    counts = torch.zeros(V, V, dtype=torch.float64)
    return counts.index_put_((symbols[:-1], symbols[1:]), torch.ones(len(symbols) - 1, dtype=torch.float64), accumulate=True)


@exercise.step
def smoothed_rows(counts, alpha):
    """Each row a distribution over the next symbol."""
    smoothed = counts + alpha
    return smoothed / smoothed.sum(dim=1, keepdim=True)


@exercise.step
def transition_table(train, V, alpha):
    return smoothed_rows(pair_counts(train, V), alpha)


@exercise.step
def mean_bits(p, test):
    return -p[test[:-1], test[1:]].log2().mean()


@exercise.reference()
@exercise.step
def bigram_bits_reference(train, test, V, alpha):
    return mean_bits(transition_table(train, V, alpha), test)


@exercise.misconception(mean_bits, "Your value is in nats. Divide it by ln 2 to obtain bits.")
def in_nats(p, test):
    return -p[test[:-1], test[1:]].log().mean()


@exercise.misconception(
    bigram_bits_reference,
    "Training and test text are exchanged: you count the pairs of test and evaluate them on train.")
def exchanged(train, test, V, alpha):
    return mean_bits(transition_table(test, V, alpha), train)


@exercise.misconception(
    pair_counts,
    "Your table predicts the previous symbol from the next one. The row is the previous symbol and the column the next one.")
def backwards(symbols, V):
    return pair_counts.original(symbols, V).T


@exercise.misconception(
    smoothed_rows,
    "You do not add alpha. A pair that does not occur in train then has probability 0, and its loss is infinite.")
def not_smoothed(counts, alpha):
    return smoothed_rows.original(counts, 0)


@exercise.misconception(
    smoothed_rows,
    "You add alpha to the probabilities, so your rows do not sum to 1, and a row that does not occur in train is 0 / 0. Add alpha to "
    "the counts, then divide.")
def smoothed_late(counts, alpha):
    return smoothed_rows.original(counts, 0) + alpha


@exercise.misconception(
    smoothed_rows,
    "You add alpha to the probabilities and normalize again. Alpha then changes rows with few and with many counts equally, although it "
    "should change rows with few counts more, and a row that does not occur in train is 0 / 0. Add alpha to the counts, then divide once.")
def smoothed_late_and_divided(counts, alpha):
    return smoothed_rows.original(smoothed_late(counts, alpha), 0)


@exercise.misconception(
    smoothed_rows,
    "Your columns sum to 1. The row is the previous symbol, so each row must be a distribution over the next symbol.")
def columns(counts, alpha):
    return (counts + alpha) / (counts + alpha).sum(dim=0)


@exercise.misconception(
    pair_counts,
    "Each distinct pair counts at most once, however often it occurs in train. With tensors a and b, counts[a, b] += 1 adds 1 to an "
    "entry only once: use index_put_ with accumulate=True, or a loop.")
def once(symbols, V):
    return pair_counts.original(symbols, V).clamp(max=1)


@exercise.misconception(
    mean_bits,
    "Your table is correct, but you look up the test pairs with the next symbol as the row. The row is the previous symbol.")
def transposed_use(p, test):
    return -p[test[1:], test[:-1]].log2().mean()


@exercise.misconception(
    smoothed_rows,
    "Your rows do not sum to 1. You add alpha to each of the V counts, but only once to their sum, which grows by V times alpha.")
def alpha_once(counts, alpha):
    return (counts + alpha) / (counts.sum(dim=1, keepdim=True) + alpha)


@exercise.misconception(
    transition_table,
    "You divide by the number of times that a symbol occurs in train. The last symbol of train has no successor, so divide by the number "
    "of pairs that begin with the symbol.")
def last_history(train, V, alpha):
    return (pair_counts(train, V) + alpha) / (torch.bincount(train, minlength=V)[:, None] + V * alpha)


def text_cases(generator):
    """Three texts. The first shows every symbol in train, not every pair; the others have a symbol that is new in test."""
    cases = []
    for turn in range(3):
        V, T, S = integer(generator, 4, 6), integer(generator, 60, 90), integer(generator, 20, 40)
        rows = torch.rand(V, V, generator=generator) ** 4 + 0.01            # some pairs are rare
        text = [integer(generator, 0, V - 1)]
        for _ in range(T + S):
            text.append(int(torch.multinomial(rows[text[-1]], 1, generator=generator)))
        train, test = torch.tensor(text[:T]), torch.tensor(text[T:])
        if turn == 0:
            train[:V] = torch.arange(V)
            train[train == 1] = 2                                            # 1 stands there once, before 0: pairs are missing
            train[V], train[V + 1], test[5], test[6] = 1, 0, 1, 2
        else:
            train[train == V - 1] = 0                                        # a symbol that train never shows
            test[5] = V - 1
        test[9:13:2] = train[-1]                                             # what train ends with goes on in test
        cases.append((train, test, V, 0.1 + 0.8 * float(torch.rand((), generator=generator))))
    return cases


exercise.compare("values", text_cases, points=4)
exercise.unchanged(text_cases)
exercise.hint(
    "You do not know how to count pairs.",
    "The pairs are train[:-1] (previous) and train[1:] (next). Use a loop over them, or a single call of index_put_ with "
    "accumulate=True.")
exercise.hint(
    "The result is infinite or NaN.",
    "A pair, or a whole row, that does not occur in train has count 0. Add alpha to every entry before you divide each row by "
    "its own sum.")
exercise.hint(
    "The loss is too low.",
    "Count the pairs of train and evaluate those of test. Divide by the number of pairs of test, and use logarithms to base 2.")
