"""An FVSBN of one's own, with its gradient by hand and its loop."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.density.fvsbn import FVSBN
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.fvsbn._shared import every_state, weights
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnFVSBN", chapter="03", place=5, title="An FVSBN of your own",
    contract="A class OwnFVSBN(AutoregressiveModel) of n binary variables, with the parameters weight (n, n), of which only "
             "the entries j < i are used, and bias (n,). conditionals(x) gives every factor. gradient(x), without autograd, "
             "gives the gradients of the mean log-likelihood of the rows of x (B, n), a dict with weight and bias; it is 0 at "
             "the entries of weight that are not used. fit(x) trains the model on x, to within 0.1 nats of its source, in 20 "
             "seconds on one core. The library's check_all and its FVSBN judge the class.",
    points=["fvsbn"], difficulty=3, minutes=45, kind="build", deadline=20.0)

GAP = 0.1                       # nats to the source


@exercise.class_reference(
    sees_itself="Factor i reads x_i, the variable that it predicts: the diagonal of weight takes part. Only j < i may.",
    sees_all="Every factor reads every variable. Only the entries of weight with j < i may take part.",
    transposed="Row i of weight holds the weights that predict x_i. You read column i.",
    no_bias="Your conditionals do not use bias.",
    of_zero="Your factors give 1 the probability of 0: the sign of the logits is turned around.",
    downhill="Your gradient has the wrong sign: (p - x) is that of the loss. That of the log-likelihood has (x - p).",
    slope_too_many="Your gradient holds the sigmoid's slope p (1 - p). In the logarithm's derivative it cancels: what is left "
                   "is x - p.",
    summed="Your gradient is that of the sum over the rows; of their mean is asked.",
    unmasked="Your gradient is not 0 at the entries of weight that the model does not use, j >= i.",
    gradient_transposed="Your gradient of weight is transposed: at [i, j] belongs the mean of (x_i - p_i) x_j.",
    untrained="After fit, the model is as it was: the parameters themselves must change, as with "
              "self.weight.add_(...) under torch.no_grad().",
    bias_alone="Only the biases are trained: your pixels stay independent.",
    uphill="Your fit climbs the loss: with the gradient of the log-likelihood you add, with that of the loss you subtract.",
)
def own_fvsbn(bugs):
    class OwnFVSBN(FVSBN):
        def conditionals(self, x, context=None):
            weight = self.weight.T if "transposed" in bugs else self.weight
            earlier = torch.ones_like(weight) if "sees_all" in bugs else weight.new_ones(weight.shape).tril(
                0 if "sees_itself" in bugs else -1)
            logits = x @ (weight * earlier).T + (0 if "no_bias" in bugs else self.bias)
            return self.conditional(-logits if "of_zero" in bugs else logits)

        def gradient(self, x):
            p = self.conditionals(x).probs.detach()
            error = (p - x if "downhill" in bugs else x - p) / (1 if "summed" in bugs else len(x))       # (B, n)
            if "slope_too_many" in bugs:
                error = error * p * (1 - p)
            weight = x.T @ error if "gradient_transposed" in bugs else error.T @ x                       # (n, n)
            return {"weight": weight if "unmasked" in bugs else weight.tril(-1), "bias": error.sum(0)}

        def fit(self, x):
            for _ in range(0 if "untrained" in bugs else 1000):
                for name, slope in self.gradient(x).items():
                    if name == "bias" or "bias_alone" not in bugs:
                        getattr(self, name).data.add_(slope, alpha=-1.0 if "uphill" in bugs else 2.0)

    return OwnFVSBN


def model(generator, low: int = 3, high: int = 6) -> tuple[dict, dict[str, Tensor]]:
    n = integer(generator, low, high)
    W, c = weights(generator, n)
    return {"n": n}, {"weight": W, "bias": c}


def likelihoods(generator):
    found = []
    for n in uneven(generator, (3, 4), (5, 6), (1, 8)):
        W, c = weights(generator, n)
        W = 0.7 * W                                        # 1 - p keeps its digits, for those who write p
        found.append(("log_prob", {"n": n}, {"weight": W, "bias": c}, bits(generator, integer(generator, 2, 5), n)))
    return found


def gradients(generator):
    return [("gradient", config, weights, x) for _, config, weights, x in likelihoods(generator)]


def source(generator):
    """A drawn FVSBN of eight variables and 3000 rows of it."""
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
    "check_all says that a factor reads what it must not.",
    "Cut weight down inside conditionals, each time: torch.tril(self.weight, diagonal=-1). A leak would also make the loss "
    "look too good.")
exercise.hint(
    "Your gradient is not the one expected.",
    "Of one row, log p = sum_i x_i log p_i + (1 - x_i) log(1 - p_i). Its derivative by the logit a_i is x_i - p_i, and "
    "a_i = c_i + sum_j W[i, j] x_j. Compare with autograd on a small case: loss.backward(), then weight.grad.")
exercise.hint(
    "After fit the loss is still large.",
    "Some hundred steps with the whole batch are needed: parameter += rate * gradient, under torch.no_grad(). The problem has "
    "one valley; a rate of 1 does no harm.")
