"""One EM iteration for the weights of a mixture of fixed distributions."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "em_weights", chapter="counting-text", place=7, title="One EM iteration for mixture weights",
    contract="p (N, K) holds the probabilities p_k(x_i) that K fixed distributions assign to N tokens, and weights (K,) sum to 1. Return "
             "(r, new): the responsibilities r[i, k] = weights[k] p[i, k] / sum_j weights[j] p[i, j], shape (N, K), and the new weights, "
             "shape (K,), which are the mean of the responsibilities. A token to which the mixture assigns probability 0 has "
             "responsibilities 0 and does not count in the mean.",
    points=["shannon-ngram"], difficulty=2, minutes=20)


@exercise.step
def weighted(p, weights):
    """The probability that component k is selected and produces token i, (N, K)."""
    return p * weights


@exercise.step
def normalized(joint):
    """The posterior probability of each component, (N, K); NaN for a token with probability 0."""
    return joint / joint.sum(dim=1, keepdim=True)


@exercise.step
def filled(r, weights):
    """The responsibilities, with 0 for a token with probability 0."""
    return r.nan_to_num(0.0)


@exercise.step
def tokens_used(r, joint):
    """The number of tokens with positive probability."""
    return (joint.sum(dim=1) > 0).sum()


@exercise.step
def new_weights(r, number):
    return r.sum(dim=0) / number


@exercise.step
def iteration(p, weights):
    joint = weighted(p, weights)
    r = filled(normalized(joint), weights)
    return r, new_weights(r, tokens_used(r, joint))


@exercise.reference()
def em_weights_reference(p, weights):
    return iteration(p, weights)


@exercise.misconception(
    weighted,
    "Your responsibilities do not depend on the current weights. Multiply the probability of each component by its weight before you "
    "normalize.")
def without_weights(p, weights):
    return p


@exercise.misconception(
    weighted,
    "Your responsibilities are equal to the current weights. Multiply each weight by the probability that its component assigns to the token.")
def without_probabilities(p, weights):
    return weights.expand(p.shape) * (p.sum(dim=1, keepdim=True) > 0)


@exercise.misconception(
    normalized,
    "You normalize over the tokens. The responsibilities of one token sum to 1 over the components.")
def over_tokens(joint):
    return joint / joint.sum(dim=0)


@exercise.misconception(
    normalized,
    "You add a small constant to the denominator, so the responsibilities of an improbable token do not sum to 1. Treat only a denominator of 0 "
    "separately.")
def constant_added(joint):
    return joint / (joint.sum(dim=1, keepdim=True) + 1e-8)


@exercise.misconception(
    normalized,
    "You do not normalize. Divide by the probability of the token under the mixture, so that the responsibilities of a token sum to 1.")
def not_normalized(joint):
    return joint


@exercise.misconception(
    normalized,
    "You assign each token to its most probable component. The E-step keeps the posterior probabilities of all components.")
def hard(joint):
    one = torch.nn.functional.one_hot(joint.argmax(dim=1), joint.shape[1]).to(joint.dtype)
    return torch.where(joint.sum(dim=1, keepdim=True) > 0, one, 0.0)


@exercise.misconception(
    filled,
    "A token with probability 0 gives NaN. Its responsibilities are 0.")
def left_nan(r, weights):
    return r


@exercise.misconception(
    filled,
    "A token with probability 0 keeps the current weights as responsibilities. Its responsibilities are 0, and it does not count in the mean.")
def current_weights(r, weights):
    return torch.where(r.isnan(), weights, r)


@exercise.misconception(
    tokens_used,
    "You divide by the number of all tokens, so the new weights sum to less than 1. Divide by the number of tokens with positive "
    "probability.")
def all_tokens(r, joint):
    return len(joint)


@exercise.misconception(
    new_weights,
    "Your second result is the expected number of tokens of each component. Divide by the number of tokens to obtain weights.")
def expected_numbers(r, number):
    return r.sum(dim=0)


@exercise.misconception(
    new_weights,
    "You add a constant to the expected numbers of tokens. The M-step has no constant, and a weight of 0 stays 0.")
def added_constant(r, number):
    return (r.sum(dim=0) + 1) / (number + r.shape[1])


@exercise.misconception(
    iteration,
    "Your responsibilities belong to the new weights. Return the responsibilities of the given weights, from which the new weights are "
    "computed.")
def second_step(p, weights):
    _, new = iteration.original(p, weights)
    return iteration.original(p, new)[0], new


def mixtures(generator):
    """All weights positive and an improbable token; a weight 0; tokens with probability 0, one of them only under the mixture; one token; one component."""
    cases = []
    for K in (2, 4, 3):
        N = integer(generator, 5, 9)
        weights = uniform(generator, K, low=0.2, high=1.0).double() ** 2
        cases.append([uniform(generator, N, K, low=0.02, high=0.9).double(), weights])
    cases[0][0][2] *= 1e-6                                                   # an improbable token
    cases[1][1][integer(generator, 0, 3)] = 0
    p, weights = cases[2]
    weights[1] = 0
    p[1], p[3] = 0, torch.tensor([0, 0.4, 0])
    cases.append([uniform(generator, 1, 3, low=0.02, high=0.9).double(), uniform(generator, 3, low=0.2, high=1.0).double()])
    cases.append([uniform(generator, 4, 1, low=0.02, high=0.9).double(), torch.ones(1, dtype=torch.float64)])
    return [(p, weights / weights.sum()) for p, weights in cases]


exercise.compare("values", mixtures, points=4)
exercise.unchanged(mixtures)
exercise.hint(
    "You do not know where to begin.",
    "The product weights * p has shape (N, K). Entry (i, k) is the probability that component k is selected and produces token i. Divide each "
    "row by its sum.")
exercise.hint(
    "The new weights do not sum to 1.",
    "The responsibilities of a token sum to 1, or to 0 if the mixture assigns probability 0 to the token. Divide the column sums by the "
    "number of tokens with positive probability.")
exercise.hint(
    "The result contains NaN.",
    "A row whose sum is 0 gives 0 / 0. Its responsibilities are 0.")
