"""The stationary distribution and the entropy rate of a Markov chain that is estimated from a text."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "entropy_rate", chapter="counting-text", place=2, title="The entropy rate of a Markov chain",
    contract="text is a tensor of symbols 0..V-1 in which every pair of symbols occurs. Estimate the transition probabilities p(b | a) by "
             "relative frequencies. Return (pi, H): the stationary distribution of the chain, (V,), and its entropy rate in bits per symbol.",
    points=["markov-1913"], difficulty=3, minutes=25)


@exercise.step
def pair_counts(text, V):
    """How often symbol b follows symbol a, (V, V): row a, column b."""
    return torch.bincount(text[:-1] * V + text[1:], minlength=V * V).reshape(V, V).double()


@exercise.step
def transitions(text, V):
    """p(b | a), row a, column b."""
    counts = pair_counts(text, V)
    return counts / counts.sum(dim=1, keepdim=True)


@exercise.step
def stationary(p, text):
    """The solution of pi p = pi whose entries sum to 1."""
    equations = p.T - torch.eye(len(p), dtype=p.dtype)
    equations[-1] = 1                                                # in the place of an equation that follows from the others
    right_side = torch.zeros(len(p), dtype=p.dtype)
    right_side[-1] = 1
    return torch.linalg.solve(equations, right_side)


@exercise.step
def row_entropies(p):
    """The entropy of the next symbol after each symbol, in bits, (V,)."""
    return -(p * p.log2()).sum(dim=1)


@exercise.step
def mean_entropy(pi, entropies):
    return (pi * entropies).sum()


@exercise.reference()
def entropy_rate_reference(text, V):
    p = transitions(text, V)
    pi = stationary(p, text)
    return pi, mean_entropy(pi, row_entropies(p))


@exercise.misconception(row_entropies, "Your entropy rate is in nats. Use the logarithm to base 2.")
def in_nats(p):
    return -(p * p.log()).sum(dim=1)


@exercise.misconception(
    mean_entropy,
    "You give all rows the same weight. The entropy of row a is weighted by the stationary probability of a.")
def rows_alike(pi, entropies):
    return entropies.mean()


@exercise.misconception(
    mean_entropy,
    "You add the entropies of the rows. The entropy rate is their mean, weighted by the stationary distribution.")
def rows_added(pi, entropies):
    return entropies.sum()


@exercise.misconception(
    stationary,
    "You return relative frequencies of the text. They agree with the stationary distribution only up to an effect of the first and the "
    "last symbol. Solve pi p = pi.")
def frequencies(p, text):
    return torch.bincount(text, minlength=len(p)).double() / len(text)


@exercise.misconception(
    stationary,
    "You solve p pi = pi, whose solution is the uniform distribution because the rows of p sum to 1. The stationary distribution "
    "multiplies p from the left: pi p = pi.")
def right_eigenvector(p, text):
    return torch.full_like(p[0], 1 / len(p))


@exercise.misconception(
    pair_counts,
    "Your table gives the probability of the previous symbol from the next symbol. Row: current symbol, column: next symbol.")
def backward(text, V):
    return pair_counts.original(text, V).T


@exercise.misconception(
    pair_counts,
    "Each pair counts at most once, however often it occurs. With tensors a and b, counts[a, b] += 1 adds 1 to an entry only once.")
def once(text, V):
    return pair_counts.original(text, V).clamp(max=1)


@exercise.misconception(
    row_entropies,
    "You compute the entropy of the stationary distribution. This is the entropy of symbols that are independent. The entropy rate is the "
    "mean entropy of the next symbol given the current symbol.")
def independent(p):
    pi = stationary(p, torch.arange(len(p)))
    return (-(pi * pi.log2()).sum()).expand(len(p))


def texts(generator):
    """Texts of a chain with unequal rows, in which every pair occurs; the first and the last symbol differ."""
    cases = []
    for V in (2, 3, 5):
        rows = torch.rand(V, V, generator=generator) ** 2 + 0.05
        rows[:, 0] += 1
        text = [0]
        for _ in range(integer(generator, 15, 30)):
            text.append(int(torch.multinomial(rows[text[-1]], 1, generator=generator)))
        for a in range(V):
            for b in range(V):
                text += [a, b]
        cases.append((torch.tensor(text), V))                        # ends with symbol V - 1
    return cases


exercise.compare("values", texts, points=4)
exercise.unchanged(texts)
exercise.hint(
    "You do not know how to find the stationary distribution.",
    "Solve the linear equations pi (p - I) = 0 and sum(pi) = 1 with torch.linalg.lstsq, in float64. Repeating pi = pi @ p also converges, "
    "but slowly if the symbols of the text form long runs.")
exercise.hint(
    "The stationary distribution is nearly correct.",
    "Relative frequencies of symbols in the text differ slightly from the stationary distribution, because the last symbol has no "
    "successor. Use float64 and only the transition probabilities.")
exercise.hint(
    "The entropy rate is wrong.",
    "Compute the entropy of each row of p in bits. The entropy rate is the sum of these entropies times the entries of pi.")
