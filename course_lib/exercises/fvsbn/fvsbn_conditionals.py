"""Every conditional of an FVSBN at once."""
from __future__ import annotations

from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.fvsbn._shared import weights
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "fvsbn_conditionals", chapter="03", place=1, title="Every conditional in one product",
    contract="x (B, D) holds 0 and 1; W (D, D), of which only the entries j < i are used; c (D,). Return "
             "sigmoid(c_i + sum_{j<i} W[i, j] x_j), shape (B, D).",
    points=["fvsbn"], difficulty=2, minutes=15)


@exercise.reference(
    sees_itself="Factor i reads x_i, the variable that it predicts: the diagonal of W takes part. Only j < i may.",
    sees_all="Every factor reads every variable. Only the entries of W with j < i may take part.",
    sees_later="Your factors read what comes after them. Row i of W may read the columns j < i: the lower triangle.",
    columns="Your sum runs down the columns of the triangle: x @ L adds x_j times row j. Row i holds the weights of variable "
            "i, so the product is x @ L.T.",
    transposed="You read W[j, i] where W[i, j] is asked for: row i belongs to the variable that is predicted.",
    no_sigmoid="You return the logits. Put them through the sigmoid.",
    no_bias="Your probabilities do not use c. The first one, which has no parents, is 0.5 for every c.",
    signed="You read a 0 as -1. In this model a variable that is 0 adds nothing.",
    averaged="Your sum over the parents is divided by the number of variables. The model adds; it does not average.",
    of_zero="Your entries are the probabilities of a 0.",
    softmaxed="Your rows sum to 1. Each variable is a coin of its own: a sigmoid each, not a softmax over all.",
    written_over="You cut W down to its triangle in place. The caller's W is changed: use torch.tril, which returns a "
                 "new tensor.",
)
def fvsbn_conditionals_reference(x, W, c, bugs=frozenset()):
    if "written_over" in bugs:
        W.detach().tril_(-1)
    if "transposed" in bugs:
        W = W.T
    lower = W.tril(-1)                                                         # row i: the parents of x_i
    if "sees_itself" in bugs:
        lower = W.tril(0)
    if "sees_all" in bugs:
        lower = W
    if "sees_later" in bugs:
        lower = W.triu(1)
    if "signed" in bugs:
        x = 2 * x - 1
    total = x @ (lower if "columns" in bugs else lower.T)                      # (B, D)
    if "averaged" in bugs:
        total = total / x.shape[1]
    if "no_bias" not in bugs:
        total = total + c
    if "of_zero" in bugs:
        total = -total
    return total if "no_sigmoid" in bugs else total.softmax(-1) if "softmaxed" in bugs else total.sigmoid()


def conditionals_cases(generator):
    sizes = [uneven(generator, (3, 6), (4, 8)), [1, integer(generator, 4, 7)], [integer(generator, 2, 4), 1]]
    return [(bits(generator, B, D), *weights(generator, D)) for B, D in sizes]


exercise.compare("values", conditionals_cases, points=4)
exercise.unchanged(conditionals_cases)
exercise.gradient("gradient", conditionals_cases, wrt=(1, 2), points=1)
exercise.hint(
    "You have a loop over i and wonder about the triangle.",
    "torch.tril(W, diagonal=-1) keeps the entries with j < i and sets the others to 0. After that the sum may run over "
    "all j.")
exercise.hint(
    "The shapes do not fit, or the values belong to other rows.",
    "Row i of W holds the weights of variable i, and x is (B, D): x @ W.T sums over j and gives (B, D).")
exercise.hint(
    "The first column is not the same in every row.",
    "The first variable has no parents: its probability is sigmoid(c_1) whatever x is. If it varies, the diagonal or "
    "the upper triangle still takes part.")
