"""Every conditional of an FVSBN at once."""
from __future__ import annotations

from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.fvsbn._shared import weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "fvsbn_conditionals", chapter="fvsbn", place=1, title="Every conditional in one product",
    contract="x (B, D) contains 0 and 1, as floats; W (D, D), of which only the entries j < i are used; c (D,). Return "
             "sigmoid(c_i + sum_{j<i} W[i, j] x_j), shape (B, D).",
    points=["fvsbn"], difficulty=2, minutes=10)


@exercise.step
def parents(W):
    """Row i contains the weights of the parents of x_i, zeros elsewhere."""
    return W.tril(-1)


@exercise.step
def weighted_sum(x, lower):
    return x @ lower.T                                                         # (B, D)


@exercise.step
def logits(x, W, c):
    return weighted_sum(x, parents(W)) + c


@exercise.step
def sigmoid(total):
    return total.sigmoid()


@exercise.reference()
def fvsbn_conditionals_reference(x, W, c):
    return sigmoid(logits(x, W, c))


@exercise.misconception(
    parents,
    "Factor i depends on x_i, the variable that it predicts, because you use the diagonal of W. Use only j < i.")
def sees_itself(W):
    return W.tril(0)


@exercise.misconception(parents, "Every factor depends on every variable. Use only the entries of W with j < i.")
def sees_all(W):
    return W


@exercise.misconception(
    parents,
    "Your factors depend on later variables. Row i of W may use the columns j < i, the lower triangle.")
def sees_later(W):
    return W.triu(1)


@exercise.misconception(
    weighted_sum,
    "You multiply by the triangle L without transposing it: x @ L adds x_j times row j. Row i contains the weights of "
    "variable i, so the product is x @ L.T.")
def columns(x, lower):
    return x @ lower


@exercise.misconception(
    parents,
    "You use W[j, i] instead of W[i, j]: row i belongs to the variable that is predicted.")
def transposed(W):
    return W.T.tril(-1)


@exercise.misconception(sigmoid, "You return the logits. Apply the sigmoid.")
def no_sigmoid(total):
    return total


@exercise.misconception(
    logits,
    "Your probabilities do not use c. The first one, which has no parents, is 0.5 for every c.")
def no_bias(x, W, c):
    return weighted_sum(x, parents(W))


@exercise.misconception(sigmoid, "Your entries are the probabilities of a 0.")
def of_zero(total):
    return (-total).sigmoid()


@exercise.misconception(
    sigmoid,
    "Your rows sum to 1. Each variable has its own Bernoulli distribution, so apply a sigmoid to each logit, not a softmax over all.")
def softmaxed(total):
    return total.softmax(-1)


@exercise.misconception(
    parents,
    "You set the upper triangle of W to zero in place, which changes the argument. Use torch.tril, which returns a new "
    "tensor.")
def written_over(W):
    W.detach().tril_(-1)
    return W


def conditionals_cases(generator):
    sizes = [uneven(generator, (3, 6), (4, 8)), [1, integer(generator, 4, 7)], [integer(generator, 2, 4), 1]]
    return [(bits(generator, B, D), *weights(generator, D)) for B, D in sizes]


exercise.compare("values", conditionals_cases, points=4)
exercise.unchanged(conditionals_cases)
exercise.gradient("gradient", conditionals_cases, wrt=(1, 2), points=1)
exercise.hint(
    "You have a loop over i and want a single product.",
    "torch.tril(W, diagonal=-1) keeps the entries with j < i and sets the others to 0. After that the sum can be taken over "
    "all j.")
exercise.hint(
    "The shapes do not match, or the values belong to other variables.",
    "Row i of W contains the weights of variable i, and x is (B, D), so x @ W.T sums over j and has shape (B, D).")
exercise.hint(
    "The first column is not the same in every row.",
    "The first variable has no parents, so its probability is sigmoid(c_1) for every x. If it varies, you still use the diagonal or "
    "the upper triangle.")
