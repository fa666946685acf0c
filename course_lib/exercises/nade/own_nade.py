"""A NADE of one's own, in both views."""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.density.nade import NADE
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, uneven
from course_lib.exercises.nade._shared import weights
from course_lib.exercises.nade.train_nade import D, N
from course_lib.exercises.nade.train_nade import source as hidden_xors
from course_lib.grading.exercise.exercise import Exercise

exercise = Exercise(
    "OwnNADE", chapter="04", place=5, title="A NADE of your own, in both views",
    contract="A class OwnNADE(AutoregressiveModel) of n binary variables with hidden units, with the parameters W (hidden, n), "
             "V (n, hidden), b (n,) and c (hidden,), W and V at random. conditionals(x) gives every factor. start, predict and "
             "update do the same one variable at a time; a state is a pair (k, a), k the number of known variables and a "
             "(B, hidden) the running sum. fit(x) trains the model on x, to within 0.15 nats of its source, in 20 seconds on one "
             "core. The library's check_all and its NADE judge the class.",
    points=["nade"], difficulty=3, minutes=50, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
UNITS = 24                      # hidden units of the model that is trained


@exercise.class_reference(
    adds_first="Factor i sees x_i, the variable that it predicts: its column of W is in the sum already. Predict first, then add.",
    no_sigmoid="Your hidden layer has no sigmoid: h_i = sigmoid(a_i) goes into the product with V_i, not a_i itself.",
    sigmoid_too_many="Your logits are probabilities: self.conditional(...) takes the logit b_i + V_i . h_i, before the sigmoid.",
    no_c="Your running sum does not begin with c. With nothing known, a is c.",
    no_b="Your conditionals do not use b.",
    nothing_added="Your conditionals do not depend on x: no column of W ever joins the sum.",
    of_zero="Your factors give 1 the probability of 0: the sign of the logits is turned around.",
    starts_at_zero="Your start returns a sum of zeros. With nothing known, the running sum is c, for each row.",
    forgets="Your update keeps the last variable alone: add the column of W to the sum that there is, do not begin anew from c.",
    next_column="Your update adds the column of the variable that comes next. x_i is the one just drawn: with k variables known "
                "before it, its column is W[:, k].",
    adds_always="Your update adds a column of W for each row, whatever was drawn. It counts times x_i.",
    predicts_raw="Your predict leaves out the sigmoid of the running sum; conditionals has it.",
    predicts_next="Your predict takes row k + 1 of V and b where k variables are known. The next one is variable k: they "
                  "count from 0.",
    writes="Your update writes into the sum that it was given: a state that somebody kept is changed. Make a new tensor, a + ... "
           "instead of a += ...",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    alike="After fit, all hidden units are nearly the same: the rows of W differ by less than a fifth of the largest weight. Units "
          "that start equal receive equal gradients, and only rounding separates them. Start W at random.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_nade(bugs):
    class OwnNADE(AutoregressiveModel):
        def __init__(self, n, hidden):
            super().__init__(n)
            draw = torch.Generator().manual_seed(0)
            W, V = torch.randn(hidden, n, generator=draw), 0.1 * torch.randn(n, hidden, generator=draw)
            self.W = nn.Parameter(torch.zeros_like(W) if "alike" in bugs else W)
            self.V = nn.Parameter(torch.full_like(V, 0.1) if "alike" in bugs else V)
            self.b, self.c = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.zeros(hidden))

        def conditionals(self, x, context=None):
            if not bugs & {"adds_first", "no_sigmoid", "sigmoid_too_many", "no_c", "no_b", "nothing_added", "of_zero"}:
                shared = {"W": self.W.T[:, None], "V": self.V[:, None], "b": self.b, "c": self.c}
                return functional_call(NADE(self.n, len(self.c)), shared, x)
            a = torch.zeros_like(self.c) if "no_c" in bugs else self.c
            columns, a = [], a.expand(len(x), -1)                              # (B, H)
            for i in range(self.n):
                after = a if "nothing_added" in bugs else a + x[:, i, None] * self.W[:, i]
                a = after if "adds_first" in bugs else a
                columns.append((a if "no_sigmoid" in bugs else a.sigmoid()) @ self.V[i])
                a = after
            logits = torch.stack(columns, 1) + (0 if "no_b" in bugs else self.b)
            logits = logits.sigmoid() if "sigmoid_too_many" in bugs else logits
            return self.conditional(-logits if "of_zero" in bugs else logits)

        def start(self, batch, context=None):
            a = torch.zeros_like(self.c) if "starts_at_zero" in bugs else self.c
            return 0, a.detach().repeat(batch, 1) if "writes" in bugs else a.expand(batch, -1)

        def predict(self, state):
            k, a = state
            k = (k + 1) % self.n if "predicts_next" in bugs else k
            return self.conditional((a if "predicts_raw" in bugs else a.sigmoid()) @ self.V[k] + self.b[k])

        def update(self, state, x_i):
            k, a = state
            a = self.c if "forgets" in bugs else a
            column = self.W[:, (k + 1) % self.n if "next_column" in bugs else k]
            adds = column if "adds_always" in bugs else x_i[:, None] * column
            return k + 1, a.add_(adds.detach()) if "writes" in bugs else a + adds

        def fit(self, x):
            if "untrained" in bugs:
                return
            states, times = x.unique(dim=0, return_counts=True)                # at most 2^n rows, each with a weight
            optimizer = torch.optim.Adam(self.parameters(), lr=0.1, maximize="uphill" in bugs)
            for _ in range(20 if "uphill" in bugs else 200):
                loss = -(times * self.log_prob(states)).sum() / len(x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return OwnNADE


def likelihoods(generator):
    found = []
    for n, H in (uneven(generator, (3, 4), (5, 7)), uneven(generator, (5, 6), (2, 4)), uneven(generator, (1, 7), (1, 7))):
        W, V, b, c = weights(generator, H, n)
        x = bits(generator, integer(generator, 2, 5), n)
        found.append(("log_prob", {"n": n, "hidden": H}, {"W": W, "V": V, "b": b, "c": c}, x))
    return found


def paths(generator):
    return [("path", config, weights, x) for _, config, weights, x in likelihoods(generator)]


def source(generator):
    """Two noisy exclusive ors of biased coins, columns in random order, as in `train_nade`."""
    return {"n": D, "hidden": UNITS}, *drawn_from(generator, *hidden_xors(generator), N)


def alike(parameters: dict[str, Tensor]) -> str | None:
    W = parameters["W"]
    return "alike" if W.shape == (UNITS, D) and W.any() and (W - W[0]).abs().max() < 0.2 * W.abs().max() else None


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("the running sum, from start on and update by update", paths, points=2)
keeps_the_contract(exercise, lambda generator: {"n": integer(generator, 4, 5), "hidden": integer(generator, 3, 6)}, points=3,
                   among=("predicts_raw", "predicts_next"))
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"), why=alike)
exercise.hint(
    "You do not know where to begin.",
    "Call super().__init__(n) first; then four nn.Parameter, W and V drawn with torch.randn. conditionals is the loop of "
    "nade_loglik for a batch: a starts as self.c.expand(len(x), -1), (B, hidden), and the logits of all factors are stacked "
    "to (B, n).")
exercise.hint(
    "check_all says that a factor reads what it must not, or that the two views differ.",
    "In both views: the logit of variable i first, then its column of W joins. In predict, k variables are known, so the next "
    "one is variable k: self.V[k] and self.b[k]. update(state, x_i) gets (B,) and adds x_i[:, None] * self.W[:, k].")
exercise.hint(
    "fit ends well above what is asked.",
    "A logistic regression gets no further. Start W at random with a deviation near 1, so that the units differ; give "
    "self.parameters() to Adam, and take some hundred steps with a learning rate near 0.1.")
