"""An FVSBN of one's own, with its gradient by hand and its loop."""
from __future__ import annotations

import torch
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.fvsbn._shared import every_state, weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnFVSBN", chapter="fvsbn", place=7, title="An FVSBN of your own",
    contract="A class OwnFVSBN(AutoregressiveModel) of n binary variables, with the parameters weight (n, n), of which only "
             "the entries j < i are used, and bias (n,). conditionals(x) returns every factor. gradient(x), without autograd, "
             "returns the gradients of the mean log-likelihood of the rows of x (B, n), a dict with weight and bias; it is 0 at "
             "the entries of weight that are not used. fit(x) trains the model on x, to within 0.1 nats of its source, in 20 "
             "seconds on one core. The class is tested with the library's check_all and compared with its FVSBN.",
    points=["fvsbn"], difficulty=3, minutes=30, kind="build", deadline=20.0)

GAP = 0.1                       # nats to the source


@exercise.class_reference()
class OwnFVSBN(AutoregressiveModel):
    """One logistic regression per variable, with its gradient by hand."""

    def __init__(self, n):
        super().__init__(n)
        self.weight, self.bias = nn.Parameter(torch.zeros(n, n)), nn.Parameter(torch.zeros(n))

    @exercise.step
    def used_weight(self):
        """Row i contains the weights of the parents of x_i, zeros elsewhere."""
        return self.weight.tril(-1)

    @exercise.step
    def logits(self, x):
        return x @ self.used_weight().T + self.bias

    def conditionals(self, x, context=None):
        return self.conditional(self.logits(x))

    @exercise.step
    def logit_gradient(self, x):
        """Of the log-likelihood of each row, (B, n)."""
        return x - self.conditionals(x).probs.detach()

    @exercise.step
    def gradient(self, x):
        of_logits = self.logit_gradient(x) / len(x)
        return {"weight": (of_logits.T @ x).tril(-1), "bias": of_logits.sum(0)}

    @exercise.step
    def fit(self, x):
        ascend(self, x)


def ascend(model, x, rate=None, names=("weight", "bias")):
    """1000 steps. The second derivatives are at most n / 4, so the rate 4 / n cannot overshoot."""
    rate = 4 / x.shape[1] if rate is None else rate
    for _ in range(1000):
        gradient = model.gradient(x)
        for name in names:
            getattr(model, name).data.add_(gradient[name], alpha=rate)


@exercise.misconception(
    OwnFVSBN.used_weight,
    "Factor i depends on x_i, the variable that it predicts, because you use the diagonal of weight. Use only j < i.")
def sees_itself(self):
    return self.weight.tril(0)


@exercise.misconception(
    OwnFVSBN.used_weight, "Row i of weight contains the weights that predict x_i, but you use column i.")
def transposed(self):
    return self.weight.T.tril(-1)


@exercise.misconception(OwnFVSBN.logits, "Your conditionals do not use bias.")
def no_bias(self, x):
    return x @ self.used_weight().T


@exercise.misconception(
    OwnFVSBN.logit_gradient,
    "Your gradient has the wrong sign: p - x belongs to the loss, and x - p to the log-likelihood.")
def downhill(self, x):
    return self.conditionals(x).probs.detach() - x


@exercise.misconception(
    OwnFVSBN.logit_gradient,
    "Your gradient contains the sigmoid's derivative p (1 - p). It cancels with the derivative of the logarithm, and x - p "
    "remains.")
def slope_too_many(self, x):
    p = self.conditionals(x).probs.detach()
    return (x - p) * p * (1 - p)


@exercise.misconception(
    OwnFVSBN.gradient, "Your gradient is that of the sum over the rows. Divide by the number of rows for the mean.")
def summed(self, x):
    return {name: len(x) * gradient for name, gradient in OwnFVSBN.gradient.original(self, x).items()}


@exercise.misconception(
    OwnFVSBN.gradient, "Your gradient is not 0 at the entries of weight that the model does not use, j >= i.")
def unmasked(self, x):
    of_logits = self.logit_gradient(x) / len(x)
    return {"weight": of_logits.T @ x, "bias": of_logits.sum(0)}


@exercise.misconception(
    OwnFVSBN.fit,
    "After fit the parameters are unchanged. Change the parameters themselves, for example with self.weight.add_(...) under "
    "torch.no_grad().")
def untrained(self, x):
    pass


@exercise.misconception(OwnFVSBN.fit, "Only the biases are trained, so your pixels stay independent.")
def bias_alone(self, x):
    ascend(self, x, names=["bias"])


@exercise.misconception(
    OwnFVSBN.fit,
    "Your fit increases the loss. Add the gradient of the log-likelihood, or subtract that of the loss.")
def uphill(self, x):
    ascend(self, x, rate=-1.0)


def likelihoods(generator):
    cases = []
    for n in uneven(generator, (3, 4), (5, 6), (1, 8)):
        W, c = weights(generator, n)
        W = 0.7 * W                                        # 1 - p keeps its digits, for those who write p
        cases.append(("log_prob", {"n": n}, {"weight": W, "bias": c}, bits(generator, integer(generator, 2, 5), n)))
    return cases


def gradients(generator):
    return [("gradient", config, weights, x) for _, config, weights, x in likelihoods(generator)]


def source(generator):
    """A random FVSBN of eight variables and 3000 samples from it."""
    return {"n": 8}, *drawn_from(generator, *every_state(generator, 8, 1.2), 3000)


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
keeps_the_contract(exercise, lambda generator: {"n": integer(generator, 4, 6)}, points=3)
exercise.compare("the gradient by hand", gradients, points=2)
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "bias_alone", "uphill"))
exercise.hint(
    "You do not know where to begin.",
    "Call super().__init__(n) first; then self.weight = nn.Parameter(torch.zeros(n, n)) and self.bias = "
    "nn.Parameter(torch.zeros(n)). conditionals returns self.conditional(logits), logits of shape (B, n).")
exercise.hint(
    "check_all reports that a factor depends on a variable on which it must not depend.",
    "Mask weight inside conditionals, in every call: torch.tril(self.weight, diagonal=-1). With a leak the loss would be "
    "too low.")
exercise.hint(
    "Your gradient differs from the expected one.",
    "For one row, log p = sum_i x_i log p_i + (1 - x_i) log(1 - p_i). Its derivative with respect to the logit a_i is x_i - p_i, and "
    "a_i = c_i + sum_j W[i, j] x_j. Compare with autograd on a small case: loss.backward(), then weight.grad.")
exercise.hint(
    "After fit the loss is still large.",
    "Several hundred steps on all rows are needed: parameter += rate * gradient, under torch.no_grad(). The log-likelihood is "
    "concave, and no curvature is larger than n / 4, so a rate of 4 / n is small enough for every data set.")
