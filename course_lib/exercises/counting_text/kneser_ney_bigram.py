"""An interpolated Kneser-Ney bigram with a given discount, as one table."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "kneser_ney_bigram", chapter="counting-text", place=5, title="A bigram model with Kneser-Ney smoothing",
    contract="train (T,) holds tokens 0..V-1, and 0 < D < 1. Return the table (V, V) of p(w | v), row v, column w: "
             "max(c(v, w) - D, 0) / c(v) + D N(v) / c(v) p_0(w), where c(v) is the number of pairs that begin with v, N(v) the number of "
             "different tokens after v, and p_0(w) is proportional to the number of different tokens before w. Where c(v) = 0, "
             "p(w | v) = p_0(w). There is no uniform term, so a token that follows no token has probability 0.",
    points=["shannon-ngram"], difficulty=3, minutes=25)


@exercise.step
def pair_counts(train, V):
    """c(v, w), (V, V)."""
    return torch.bincount(train[:-1] * V + train[1:], minlength=V * V).reshape(V, V).double()


@exercise.step
def continuation_counts(counts):
    """The number of different tokens before each token, (V,)."""
    return (counts > 0).sum(dim=0).double()


@exercise.step
def lower_order(continuation):
    return continuation / continuation.sum()


@exercise.step
def successors(counts, train):
    """c(v), (V,)."""
    return counts.sum(dim=1)


@exercise.step
def discounted(counts, D):
    return (counts - D).clamp(min=0)


@exercise.step
def reserved(counts, D):
    """The subtracted counts of each row, (V,)."""
    return D * (counts > 0).sum(dim=1)


@exercise.step
def filled(p, p0):
    """Rows without a successor become p_0."""
    return torch.where(p.isnan(), p0, p)


@exercise.step
def table(train, V, D):
    counts = pair_counts(train, V)
    total, p0 = successors(counts, train), lower_order(continuation_counts(counts))
    return filled((discounted(counts, D) + reserved(counts, D)[:, None] * p0) / total[:, None], p0)


@exercise.reference()
def kneser_ney_bigram_reference(train, V, D):
    return table(train, V, D)


@exercise.misconception(
    continuation_counts,
    "Your p_0 is proportional to the number of occurrences after another token. In Kneser-Ney smoothing each different preceding token "
    "counts once.")
def ordinary_counts(counts):
    return counts.sum(dim=0)


@exercise.misconception(
    continuation_counts,
    "Your p_0 is proportional to the number of different tokens after a token. The continuation count is the number of different tokens "
    "before it.")
def other_direction(counts):
    return (counts > 0).sum(dim=1).double()


@exercise.misconception(
    discounted,
    "Counts of 0 become negative after the discount. Subtract D only from positive counts: the difference is at least 0.")
def negative(counts, D):
    return counts - D


@exercise.misconception(
    discounted,
    "You do not subtract the discount, so the rows sum to more than 1.")
def not_discounted(counts, D):
    return counts


@exercise.misconception(
    reserved,
    "You add the shorter history with weight D / c(v). Each of the N(v) different tokens after v lost D, so the weight is D N(v) / c(v).")
def discount_once(counts, D):
    return D * (counts.sum(dim=1) > 0)


@exercise.misconception(
    reserved,
    "Your rows sum to less than 1. The subtracted probability D N(v) / c(v) must be distributed according to p_0.")
def not_distributed(counts, D):
    return torch.zeros(len(counts), dtype=counts.dtype)


@exercise.misconception(
    lower_order,
    "Your shorter history predicts the uniform distribution. p_0 is proportional to the continuation counts.")
def uniform_base(continuation):
    return torch.full_like(continuation, 1 / len(continuation))


@exercise.misconception(
    filled,
    "The row of a token without a successor is 0, so it is not a distribution. There p(w | v) = p_0(w).")
def zero_rows(p, p0):
    return p.nan_to_num(0.0)


@exercise.misconception(
    filled,
    "The row of a token without a successor is uniform. There p(w | v) = p_0(w), which is proportional to the number "
    "of different tokens before w.")
def uniform_rows(p, p0):
    return p.nan_to_num(1 / len(p0))


@exercise.misconception(
    successors,
    "You divide by the number of times that v occurs. The last token of train has no successor, so divide by the number of pairs that begin "
    "with v.")
def occurrences(counts, train):
    return torch.bincount(train, minlength=len(counts)).double()


@exercise.misconception(
    pair_counts,
    "Your table predicts the previous token from the next token. Row: previous token, column: next token.")
def backward(train, V):
    return pair_counts.original(train, V).T


def texts(generator):
    """Texts with a frequent token that follows one token only; a token that does not occur; a token only at the end."""
    cases = []
    for turn in range(3):
        V = integer(generator, 6, 8)
        rows = torch.rand(V - 2, V - 2, generator=generator) ** 3 + 0.02
        rows[:, 1] = 0                                               # 1 follows 0 only
        rows[0, 1] = 2
        text = [0, 1, 0, 1, 0, 2, 3]
        for _ in range(integer(generator, 25, 40)):
            text.append(int(torch.multinomial(rows[text[-1]], 1, generator=generator)))
        if turn:
            text.append((V - 1, 0)[turn - 1])                        # V - 2 never occurs
        cases.append((torch.tensor(text), V, 0.3 + 0.5 * float(torch.rand((), generator=generator))))
    return cases


exercise.compare("values", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know where to begin.",
    "Count the pairs in a table c of shape (V, V). Then c > 0 contains the different pairs. Its sums over rows and over columns are the two "
    "kinds of counts that the formula needs.")
exercise.hint(
    "The rows do not sum to 1.",
    "A row loses D for each of its positive counts. Add the subtracted amount D N(v) / c(v), distributed according to p_0, which itself "
    "sums to 1.")
exercise.hint(
    "The table contains NaN.",
    "A token that occurs only at the end of train, or nowhere, has c(v) = 0. Its row is p_0.")
