"""Bits per symbol of a bigram."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bigram_bits", chapter="01", place=4, title="Bits per symbol of a bigram",
    contract="train and test are tensors of symbols 0..V-1. Estimate p(next | previous) from the pairs of train, with "
             "alpha added to every count. Return the mean over the pairs of test of -log2 p(next | previous), one "
             "number.",
    points=["shannon-ngram", "markov-1913"], difficulty=2, minutes=20)


@exercise.reference(
    in_nats="Your value is in nats. Bits are asked for: divide by ln 2.",
    backwards="Your table predicts the previous symbol from the next. Rows are what came before, columns what follows.",
    joint_pairs="Your table holds the probabilities of pairs: all its entries sum to 1. Each row is to sum to 1.",
    not_smoothed="You do not add alpha. A pair that train never shows has probability 0 then, and costs infinitely "
                 "many bits.",
    smoothed_late="Alpha comes too late: added to the probabilities, it weighs as much as alpha times the count of the row, "
                  "and a row that train never shows is 0 / 0 before. Add it to the counts, then divide.",
    smoothed_late_and_divided="Alpha comes too late: you add it to the probabilities and divide again. Rare rows are to "
                              "feel it more than common ones, and a row that train never shows is 0 / 0 before. Add it to "
                              "the counts, then divide once.",
    columns="Your columns sum to 1. The row is the previous symbol, and each row is a distribution over the next.",
    once="Each kind of pair counts once at most, however often it stands in train. With tensors a and b, counts[a, b] += 1 "
         "adds 1 to a place once: use index_put_ with accumulate=True, or a loop.",
    transposed_use="You count what follows what, and look up the test pairs the other way round: the row is the previous "
                   "symbol in both.",
    alpha_once="Your rows do not sum to 1: alpha is added to each of the V counts, and once only to their sum. It grows by V "
               "times alpha.",
    last_history="You divide by how often a symbol stands in train. The last symbol of train is followed by nothing: divide "
                 "by the number of pairs that it begins.",
    denominator="Your rows do not sum to 1: alpha is added to each of the V counts, so V times alpha to their sum.",
    on_train="You measured on train. A model has seen those pairs; what it is worth shows on test.",
    one_too_many="You divide by the number of symbols. There is one pair fewer than there are symbols.",
    summed="You return the bits of the whole of test. Divide by its number of pairs.",
    perplexity="You return the perplexity, 2 to the power of the bits. The bits are asked for.",
    unigram="Your probabilities do not depend on the previous symbol.",
)
def bigram_bits_reference(train, test, V, alpha, bugs=frozenset()):
    counts = torch.zeros(V, V, dtype=torch.float64)
    counts.index_put_((train[:-1], train[1:]), torch.ones(len(train) - 1, dtype=torch.float64), accumulate=True)
    if "backwards" in bugs:
        counts = counts.T
    if "unigram" in bugs:
        counts = torch.bincount(train, minlength=V).double().expand(V, V)
    if "once" in bugs:
        counts = counts.clamp(max=1)
    late = {"smoothed_late", "smoothed_late_and_divided"} & bugs
    smooth = counts if late or "not_smoothed" in bugs else counts + alpha
    total = smooth.sum() if "joint_pairs" in bugs else smooth.sum(dim=0 if "columns" in bugs else 1, keepdim=True)
    if "alpha_once" in bugs:
        total = counts.sum(dim=1, keepdim=True) + alpha
    if "last_history" in bugs:
        total = torch.bincount(train, minlength=V).double()[:, None] + V * alpha
    if "denominator" in bugs:
        total = counts.sum(dim=1, keepdim=True)
    if "on_train" in bugs:
        test = train
    p = smooth / total
    if late:
        p = p + alpha
    if "smoothed_late_and_divided" in bugs:
        p = p / p.sum(dim=1, keepdim=True)
    before, after = (test[1:], test[:-1]) if "transposed_use" in bugs else (test[:-1], test[1:])
    bits = -p[before, after].log2()
    if "summed" in bugs:
        return bits.sum()
    mean = bits.sum() / len(test) if "one_too_many" in bugs else bits.mean()
    return mean * math.log(2) if "in_nats" in bugs else 2**mean if "perplexity" in bugs else mean


def text_cases(generator):
    """Three texts. The first shows every symbol in train, not every pair; the others have a symbol that is new in test."""
    found = []
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
        found.append((train, test, V, 0.1 + 0.8 * float(torch.rand((), generator=generator))))
    return found


exercise.compare("values", text_cases, points=4)
exercise.unchanged(text_cases)
exercise.hint(
    "You do not know how to count pairs.",
    "The pairs are train[:-1] (previous) and train[1:] (next). A loop over them is fine; index_put_ with "
    "accumulate=True does it in one call.")
exercise.hint(
    "The result is infinite or NaN.",
    "A pair, or a whole row, that train never shows has count 0. Add alpha to every entry before you divide each row by "
    "its own sum.")
exercise.hint(
    "The result is too good.",
    "Count on train, measure on test. Then divide by the number of pairs of test, and take base 2.")
