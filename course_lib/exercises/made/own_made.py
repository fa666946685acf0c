"""A MADE of one's own: masks, and draws in an order that is not its own inverse."""
from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.density.made import MADE, made_masks
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, normal, uneven, uniform
from course_lib.exercises.made._shared import permutation
from course_lib.exercises.nade.train_nade import D, N
from course_lib.exercises.nade.train_nade import source as hidden_xors
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.models import load_parameters

exercise = Exercise(
    "OwnMADE", chapter="06", place=5, title="A MADE of your own, in any order",
    contract="A class OwnMADE(AutoregressiveModel) of n binary variables: order[k] is the variable drawn k-th, from 0; degrees is a "
             "list of lists, those of each hidden layer. Parameters weights.0, weights.1, ... (out, in) and biases.0, biases.1, ... "
             "(out,), ReLU in between. conditionals(x) gives every factor; the masks take part in every product. draw(u) gives "
             "x (B, n): x_i is 1 where u_i < p(x_i = 1 | what comes before in the order). fit(x) trains the model on x, to within "
             "0.15 nats of its source, in 20 seconds on one core. The library's check_all and its MADE judge the class.",
    points=["made", "made-orderings"], difficulty=4, minutes=60, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
WIDTH = 100                     # of both hidden layers of the model that is trained
IN_CONDITIONALS = {"output_not_strict", "hidden_strict", "inverse", "natural", "masks_once", "from_zero", "no_relu", "sigmoid",
                   "relu_last", "no_bias", "of_zero"}


@exercise.class_reference(
    output_not_strict="Each variable reaches its own output: into the output the inequality is strict.",
    hidden_strict="Connections between equal degrees are missing below the output: there m_above >= m_below.",
    inverse="You take the order for its inverse. order[k] is the variable drawn k-th; the degree of x_i is its position, the k with "
            "order[k] = i, plus 1. That is order.argsort() + 1.",
    natural="Your masks do not depend on the order: inputs and outputs have the degrees 1..n. Their degrees are positions in the "
            "order.",
    masks_once="Your masks do not take part in the product. Weights that are masked once, in the constructor, are whole again as "
               "soon as somebody sets or trains them: multiply by the mask in each pass.",
    from_zero="Your inputs and outputs have the degrees 0..n-1. Positions count from 1 here.",
    no_relu="Your hidden layers have no ReLU.",
    sigmoid="Your hidden layers have another activation than ReLU: their outputs are those of a sigmoid.",
    relu_last="Your logits are never negative: there is no ReLU after the last layer.",
    no_bias="Your layers do not use their biases.",
    of_zero="Your factors give 1 the probability of 0: the sign of the logits is turned around.",
    natural_draw="Your draw goes through the variables from 0 on. Variable order[k] is drawn in step k: only then is all known that "
                 "it reads.",
    inverse_draw="Your draw goes through the variables in the inverse order. Step k draws variable order[k], not the k for which "
                 "order[k] is that.",
    zeros_before="Your draw takes each probability as if all that comes before were 0. A variable needs a pass of its own, once those "
                 "before it in the order are drawn.",
    by_step="Your draw compares the variable of step k with column k of u. Column i of u belongs to x_i.",
    above="Your draw sets x_i to 1 where u_i is above the probability: then it is 1 with probability 1 - p.",
    order_unknown="Your masks go by the order, and the base class does not know it: super().__init__(n, order=order).",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    alike="After fit, the units of your first hidden layer all have the same weights. Equal units of equal degree receive equal "
          "gradients: start the weights at random.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_made(bugs):
    class OwnMADE(AutoregressiveModel):
        def __init__(self, n, order, degrees):
            super().__init__(n, order=None if "order_unknown" in bugs else order)
            self.drawn, self.degrees = torch.tensor(order), [torch.tensor(layer) for layer in degrees]
            widths, draw = [n, *map(len, degrees), n], torch.Generator().manual_seed(0)
            start = [torch.randn(b, a, generator=draw) * (2 / a) ** 0.5 for a, b in zip(widths, widths[1:])]
            self.weights = nn.ParameterList([0 * W if "alike" in bugs else W for W in start])
            self.biases = nn.ParameterList([torch.zeros(b) for b in widths[1:]])
            library = MADE(n, widths[1:-1], order=order)
            library._connect(self.degrees)
            self.theirs = [library]                                           # in a list: its weights are none of this model's

        def conditionals(self, x, context=None):
            if bugs & IN_CONDITIONALS:
                return self.conditional(self.logits(x))
            shared = {f"layers.{j}.weight": W for j, W in enumerate(self.weights)}
            return functional_call(self.theirs[0], shared | {f"layers.{j}.bias": b for j, b in enumerate(self.biases)}, x)

        def masks(self):
            position = self.drawn.argsort() + 1
            position = self.drawn + 1 if "inverse" in bugs else torch.arange(self.n) + 1 if "natural" in bugs else position
            below = [position - 1 if "from_zero" in bugs else position, *self.degrees]
            if not bugs & {"output_not_strict", "hidden_strict"}:
                return made_masks(*below)
            hidden = [above[:, None] > lower if "hidden_strict" in bugs else above[:, None] >= lower
                      for lower, above in zip(below, self.degrees)]
            last = below[0][:, None]
            return [*hidden, last >= below[-1] if "output_not_strict" in bugs else last > below[-1]]

        def logits(self, x):
            h = x
            for j, (W, b, mask) in enumerate(zip(self.weights, self.biases, self.masks())):
                h = h @ (W if "masks_once" in bugs else W * mask).T + (0 if "no_bias" in bugs else b)
                if j < len(self.degrees) and "no_relu" not in bugs or "relu_last" in bugs:
                    h = h.sigmoid() if "sigmoid" in bugs else h.relu()
            return -h if "of_zero" in bugs else h

        def draw(self, u):
            x, steps = torch.zeros_like(u), self.drawn.tolist()
            steps = range(self.n) if "natural_draw" in bugs else self.drawn.argsort().tolist() if "inverse_draw" in bugs else steps
            for k, i in enumerate(steps):
                p = self.conditionals(torch.zeros_like(x) if "zeros_before" in bugs else x).probs[:, i]
                mine = u[:, k if "by_step" in bugs else i]
                x[:, i] = (mine > p if "above" in bugs else mine < p).to(x.dtype)
            return x

        def fit(self, x):
            states, times = x.unique(dim=0, return_counts=True)                # at most 2^n rows, each with a weight
            optimizer = torch.optim.Adam(self.parameters(), lr=0.02, maximize="uphill" in bugs)
            for _ in range(0 if "untrained" in bugs else 20 if "uphill" in bugs else 120):
                loss = -(times * self.conditional(self.logits(states)).log_prob(states).sum(1)).sum() / len(x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return OwnMADE


def layer(generator, n: int, width: int) -> list[int]:
    """Degrees of a hidden layer in random places: each of 1..n-1 once at least, so that no path is missing."""
    drawn = [*range(1, n), *torch.randint(1, n, (width - n + 1,), generator=generator).tolist()]
    return [drawn[k] for k in torch.randperm(width, generator=generator).tolist()]


def config(generator, n: int, *widths: int) -> dict:
    """Of a model in an order that is not its own inverse."""
    return {"n": n, "order": permutation(generator, n).tolist(), "degrees": [layer(generator, n, width) for width in widths]}


def model(generator, n: int, *widths: int) -> tuple[dict, dict[str, Tensor]]:
    made, sizes = config(generator, n, *widths), [n, *widths, n]
    parameters = {f"weights.{j}": normal(generator, b, a, scale=3 * a ** -0.5) for j, (a, b) in enumerate(zip(sizes, sizes[1:]))}
    return made, parameters | {f"biases.{j}": normal(generator, b) for j, b in enumerate(sizes[1:])}


def likelihoods(generator):
    found = []
    for depth in (1, 2, 2):
        n, *widths = uneven(generator, (4, 6), *[(6, 9)] * depth)
        found.append(("log_prob", *model(generator, n, *widths), bits(generator, integer(generator, 2, 5), n)))
    return found


def draws(generator):
    """Uniform numbers of which none is so near its probability that rounding decides."""
    found = []
    for _, made, parameters, _ in likelihoods(generator):
        right = load_parameters(own_made(frozenset())(**made), parameters)
        while True:
            u = uniform(generator, 6, made["n"])
            if (u - right.conditionals(right.draw(u)).probs).abs().min() > 1e-4:
                break
        found.append(("draw", made, parameters, u))
    return found


def source(generator):
    """Two noisy exclusive ors of biased coins, columns in random order, as in `train_nade`."""
    train, loss = drawn_from(generator, *hidden_xors(generator), N)
    return config(generator, D, WIDTH, WIDTH), train, loss


def alike(parameters: dict[str, Tensor]) -> str | None:
    first = parameters["weights.0"]
    return "alike" if first.shape == (WIDTH, D) and (first - first[0]).abs().max() < 1e-6 else None


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("draws in the order", draws, points=2)
# Wide: of seven units one alone may hold a path, and a start at random leaves it dead in one model of sixty.
keeps_the_contract(exercise, lambda generator: config(generator, integer(generator, 4, 5), 40, 30), points=3,
                   among=("order_unknown",))
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"), why=alike)
exercise.hint(
    "You do not know how to keep the masks.",
    "They are no parameters. Make them in the constructor with your made_masks from the positions, torch.tensor(order).argsort() + 1, "
    "and keep each with self.register_buffer(f\"mask_{j}\", mask): then they are cast and copied with the model.")
exercise.hint(
    "log_prob is not the one expected.",
    "Each layer is x @ (weight * mask).T + bias, or F.linear(x, weight * mask, bias), with ReLU after all layers but the last. "
    "Check a mask by hand: for order [1, 2, 0] the positions of x_0, x_1, x_2 are 3, 1, 2.")
exercise.hint(
    "Your draws are wrong in some columns.",
    "for i in order: run conditionals on the x so far, take column i of its probs, and write (u[:, i] < p) into column i.")
exercise.hint(
    "fit ends well above what is asked.",
    "Start the weights at random, with a deviation of about sqrt(2 / inputs) so that ReLU lets enough through; some hundred "
    "steps of Adam with a rate near 0.02.")
