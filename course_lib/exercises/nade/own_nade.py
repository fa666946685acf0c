"""A NADE of one's own, in both views."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.fitting import fit_distinct
from course_lib.exercises.nade._shared import weights
from course_lib.exercises.nade.train_nade import D, N
from course_lib.exercises.nade.train_nade import source as hidden_xors
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnNADE", chapter="nade", place=5, title="A NADE of your own, in both views",
    contract="A class OwnNADE(AutoregressiveModel) of n binary variables with hidden units, with the parameters W (hidden, n), "
             "V (n, hidden), b (n,) and c (hidden,), W and V at random. conditionals(x) gives every factor. start, predict and "
             "update do the same one variable at a time; a state is a pair (k, a), k the number of known variables and a "
             "(B, hidden) the running sum. fit(x) trains the model on x, to within 0.15 nats of its source, in 20 seconds on one "
             "core. The library's check_all and its NADE judge the class.",
    points=["nade"], difficulty=3, minutes=50, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
UNITS = 24                      # hidden units of the model that is trained


@exercise.class_reference()
class OwnNADE(AutoregressiveModel):
    """NADE by a running sum, all factors at once and one variable at a time."""

    def __init__(self, n, hidden):
        super().__init__(n)
        W, V = self.initial(n, hidden, torch.Generator().manual_seed(0))
        self.W, self.V = nn.Parameter(W), nn.Parameter(V)
        self.b, self.c = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.zeros(hidden))

    @exercise.step
    def initial(self, n, hidden, generator):
        return torch.randn(hidden, n, generator=generator), 0.1 * torch.randn(n, hidden, generator=generator)

    def conditionals(self, x, context=None):
        a, columns = self.first_sum().expand(len(x), -1), []                   # (B, H)
        for i in range(self.n):
            before, a = a, self.added(a, x[:, i], i)
            columns.append(self.logit(before, a, i))
        return self.family_of(torch.stack(columns, 1))

    @exercise.step
    def first_sum(self):
        return self.c

    @exercise.step
    def added(self, a, x_i, i):
        return a + x_i[:, None] * self.W[:, i]

    @exercise.step
    def logit(self, before, after, i):
        """Of variable i, (B,), from the running sums without and with it."""
        return before.sigmoid() @ self.V[i] + self.b[i]

    @exercise.step
    def family_of(self, logits):
        return self.conditional(logits)

    @exercise.step
    def start(self, batch, context=None):
        return 0, self.c.repeat(batch, 1)

    @exercise.step
    def predict(self, state):
        k, a = state
        return self.conditional(a.sigmoid() @ self.V[k] + self.b[k])

    @exercise.step
    def update(self, state, x_i):
        k, a = state
        return k + 1, a + x_i[:, None] * self.W[:, k]

    @exercise.step
    def fit(self, x):
        fit_distinct(self, x, lr=0.1, steps=200)


@exercise.misconception(
    OwnNADE.logit,
    "Factor i sees x_i, the variable that it predicts: its column of W is in the sum already. Predict first, then add.")
def adds_first(self, before, after, i):
    return after.sigmoid() @ self.V[i] + self.b[i]


@exercise.misconception(
    OwnNADE.logit,
    "Your hidden layer has no sigmoid: h_i = sigmoid(a_i) goes into the product with V_i, not a_i itself.")
def no_sigmoid(self, before, after, i):
    return before @ self.V[i] + self.b[i]


@exercise.misconception(
    OwnNADE.family_of,
    "Your logits are probabilities: self.conditional(...) takes the logit b_i + V_i . h_i, before the sigmoid.")
def sigmoid_too_many(self, logits):
    return self.conditional(logits.sigmoid())


@exercise.misconception(
    OwnNADE.start,
    "Your start returns a sum of zeros. With nothing known, the running sum is c, for each row.")
def starts_at_zero(self, batch, context=None):
    return 0, torch.zeros_like(self.c).expand(batch, -1)


@exercise.misconception(
    OwnNADE.update,
    "Your update keeps the last variable alone: add the column of W to the sum that there is, do not begin anew from c.")
def forgets(self, state, x_i):
    k, a = state
    return k + 1, self.c + x_i[:, None] * self.W[:, k]


@exercise.misconception(
    OwnNADE.update,
    "Your update adds the column of the variable that comes next. x_i is the one just drawn: with k variables known before it, "
    "its column is W[:, k].")
def next_column(self, state, x_i):
    k, a = state
    return k + 1, a + x_i[:, None] * self.W[:, (k + 1) % self.n]


@exercise.misconception(
    OwnNADE.predict,
    "Your predict leaves out the sigmoid of the running sum; conditionals has it.")
def predicts_raw(self, state):
    k, a = state
    return self.conditional(a @ self.V[k] + self.b[k])


@exercise.misconception(
    OwnNADE.update,
    "Your update writes into the sum that it was given: a state that somebody kept is changed. Make a new tensor, a + ... "
    "instead of a += ...")
def writes(self, state, x_i):
    k, a = state
    return k + 1, a.add_(x_i[:, None] * self.W[:, k])


@exercise.misconception(
    OwnNADE.predict, "Your predict leaves out the bias b[k] of the variable that comes next; conditionals adds it.")
def predicts_without_bias(self, state):
    k, a = state
    return self.conditional(a.sigmoid() @ self.V[k])


@exercise.misconception(OwnNADE.fit, "Your fit increases the loss: minimize minus the log-likelihood.")
def uphill(self, x):
    fit_distinct(self, x, lr=0.1, steps=20, maximize=True)


@exercise.misconception(
    OwnNADE.initial,
    "After fit, hidden units are nearly the same: most rows of W differ by less than a fifth of the largest weight. Units that "
    "start equal receive equal gradients, and only rounding separates them. Start W at random.")
def alike(self, n, hidden, generator):
    return torch.zeros(hidden, n), torch.full((n, hidden), 0.1)


def likelihoods(generator):
    cases = []
    for n, H in (uneven(generator, (3, 4), (5, 7)), uneven(generator, (5, 6), (2, 4)), uneven(generator, (1, 7), (1, 7))):
        W, V, b, c = weights(generator, H, n)
        x = bits(generator, integer(generator, 2, 5), n)
        cases.append(("log_prob", {"n": n, "hidden": H}, {"W": W, "V": V, "b": b, "c": c}, x))
    return cases


def paths(generator):
    return [("path", config, weights, x) for _, config, weights, x in likelihoods(generator)]


def source(generator):
    """Two noisy exclusive ors of biased coins, columns in random order, as in `train_nade`."""
    return {"n": D, "hidden": UNITS}, *drawn_from(generator, *hidden_xors(generator), N)


def equal_units(parameters: dict[str, Tensor]) -> str | None:
    W = parameters["W"]
    return "alike" if W.shape == (UNITS, D) and W.any() and (W - W.median(0)[0]).abs().amax(1).median() < 0.2 * W.abs().max() else None


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("the running sum, from start on and update by update", paths, points=2)
keeps_the_contract(exercise, lambda generator: {"n": integer(generator, 4, 5), "hidden": integer(generator, 3, 6)}, points=3,
                   among=("predicts_raw", "predicts_without_bias"))
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("uphill",), why=equal_units)
exercise.hint(
    "You do not know where to begin.",
    "Call super().__init__(n) first; then four nn.Parameter, W and V drawn with torch.randn. conditionals is the loop of "
    "nade_loglik for a batch: a starts as self.c.expand(len(x), -1), (B, hidden), and the logits of all factors are stacked "
    "to (B, n).")
exercise.hint(
    "check_all says that a factor depends on a variable that is not one of its parents, or that the two views differ.",
    "In both views: the logit of variable i first, then its column of W joins. In predict, k variables are known, so the next "
    "one is variable k: self.V[k] and self.b[k]. update(state, x_i) gets (B,) and adds x_i[:, None] * self.W[:, k].")
exercise.hint(
    "fit ends well above what is asked.",
    "A logistic regression gets no further. Start W at random with a deviation near 1, so that the units differ; give "
    "self.parameters() to Adam, and take some hundred steps with a learning rate near 0.1.")
