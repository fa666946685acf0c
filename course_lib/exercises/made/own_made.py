"""A MADE of one's own: masks, and draws in an order that is not its own inverse."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, normal, uneven, uniform
from course_lib.exercises.fitting import fit_distinct
from course_lib.exercises.made._shared import permutation
from course_lib.exercises.nade.train_nade import D, N
from course_lib.exercises.nade.train_nade import source as hidden_xors
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.models import load_parameters

exercise = Exercise(
    "OwnMADE", chapter="made", place=5, title="A MADE of your own, in any order",
    contract="A class OwnMADE(AutoregressiveModel) of n binary variables: order[k] is the variable drawn k-th, from 0; degrees is a "
             "list of lists, those of each hidden layer. Parameters weights.0, weights.1, ... (out, in) and biases.0, biases.1, ... "
             "(out,), ReLU in between. conditionals(x) gives every factor; the masks take part in every product. draw(u) gives "
             "x (B, n): x_i is 1 where u_i < p(x_i = 1 | what comes before in the order). fit(x) trains the model on x, to within "
             "0.15 nats of its source, in 20 seconds on one core. The library's check_all and its MADE judge the class.",
    points=["made", "made-orderings"], difficulty=4, minutes=60, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
WIDTH = 100                     # of both hidden layers of the model that is trained


@exercise.class_reference()
class OwnMADE(AutoregressiveModel):
    """A MADE in any order, with ReLU and given degrees."""

    @exercise.step
    def __init__(self, n, order, degrees):
        super().__init__(n, order=order)
        self.sequence, widths = order, [n, *map(len, degrees), n]
        self.weights = nn.ParameterList(self.initial_weights(widths))
        self.biases = nn.ParameterList([torch.zeros(width) for width in widths[1:]])
        self.masks = self.made_masks([torch.tensor(layer) for layer in degrees])

    @exercise.step
    def initial_weights(self, widths):
        generator = torch.Generator().manual_seed(0)
        return [torch.randn(above, below, generator=generator) * (2 / below) ** 0.5 for below, above in zip(widths, widths[1:])]

    @exercise.step
    def positions(self):
        """When each variable is sampled, from 1."""
        return torch.tensor(self.sequence).argsort() + 1

    def made_masks(self, degrees):
        below = [self.positions(), *degrees]
        return [*map(self.hidden_mask, degrees, below), self.output_mask(below[0], below[-1])]

    @exercise.step
    def hidden_mask(self, above, below):
        return above[:, None] >= below

    @exercise.step
    def output_mask(self, position, below):
        return position[:, None] > below

    @exercise.step
    def masked_weights(self):
        return [weight * mask for weight, mask in zip(self.weights, self.masks)]

    def conditionals(self, x, context=None):
        *hidden, (weight, bias) = zip(self.masked_weights(), self.biases)
        for W, b in hidden:
            x = F.relu(F.linear(x, W, b))
        return self.conditional(F.linear(x, weight, bias))

    @exercise.step
    def draw(self, u):
        return sampled(self, u, self.sequence)

    @exercise.step
    def fit(self, x):
        fit_distinct(self, x, lr=0.02, steps=120)


def sampled(model, u, order):
    x = torch.zeros_like(u)
    for i in order:
        x[:, i] = (u[:, i] < model.conditionals(x).probs[:, i]).to(x.dtype)
    return x


@exercise.misconception(
    OwnMADE.output_mask, "Each variable reaches its own output: into the output the inequality is strict.")
def output_not_strict(self, position, below):
    return position[:, None] >= below


@exercise.misconception(
    OwnMADE.hidden_mask, "Connections between equal degrees are missing below the output: there m_above >= m_below.")
def hidden_strict(self, above, below):
    return above[:, None] > below


@exercise.misconception(
    OwnMADE.positions,
    "You take the order for its inverse. order[k] is the variable sampled k-th; the degree of x_i is its position, the k with "
    "order[k] = i, plus 1. That is order.argsort() + 1.")
def inverse(self):
    return torch.tensor(self.sequence) + 1


@exercise.misconception(
    OwnMADE.masked_weights,
    "Your masks do not take part in the product. Weights that are masked once, in the constructor, are no longer masked after they are "
    "set or trained: multiply by the mask in each pass.")
def masks_once(self):
    return list(self.weights)


@exercise.misconception(
    OwnMADE.draw,
    "Your draw goes through the variables from 0 on. Variable order[k] is sampled in step k: only then is all known that it reads.")
def natural_draw(self, u):
    return sampled(self, u, range(self.n))


@exercise.misconception(
    OwnMADE.draw,
    "Your draw takes each probability as if all that comes before were 0. A variable needs a pass of its own, once those before it in "
    "the order are sampled.")
def zeros_before(self, u):
    return (u < self.conditionals(torch.zeros_like(u)).probs).to(u.dtype)


@exercise.misconception(
    OwnMADE.draw,
    "Step k of your draw compares with column k of u. Column i of u belongs to x_i, so step k needs column order[k].")
def columns_by_step(self, u):
    return sampled(self, u[:, torch.tensor(self.sequence).argsort()], self.sequence)


@exercise.misconception(
    OwnMADE.__init__, "Your masks go by the order, and the base class does not know it: super().__init__(n, order=order).")
def order_unknown(self, n, order, degrees):
    OwnMADE.__init__.original(self, n, order, degrees)
    self.order = torch.arange(n)


@exercise.misconception(OwnMADE.fit, "After fit, the model is as it was: the parameters of the model itself must change.")
def untrained(self, x):
    pass


@exercise.misconception(
    OwnMADE.initial_weights,
    "After fit, the units of your first hidden layer all have the same weights. Equal units of equal degree receive equal gradients: "
    "start the weights at random.")
def alike(self, widths):
    return [torch.zeros(above, below) for below, above in zip(widths, widths[1:])]


@exercise.misconception(OwnMADE.fit, "Your fit increases the loss: minimize minus the log-likelihood.")
def uphill(self, x):
    fit_distinct(self, x, lr=0.02, steps=20, maximize=True)


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
    cases = []
    for depth in (1, 2, 2):
        n, *widths = uneven(generator, (4, 6), *[(6, 9)] * depth)
        cases.append(("log_prob", *model(generator, n, *widths), bits(generator, integer(generator, 2, 5), n)))
    return cases


def draws(generator):
    """Uniform numbers of which none is so near its probability that rounding decides."""
    cases = []
    for _, made, parameters, _ in likelihoods(generator):
        right = load_parameters(OwnMADE(**made), parameters)
        while True:
            u = uniform(generator, 6, made["n"])
            if (u - right.conditionals(right.draw(u)).probs).abs().min() > 1e-4:
                break
        cases.append(("draw", made, parameters, u))
    return cases


def source(generator):
    """Two noisy exclusive ors of biased coins, columns in random order, as in `train_nade`."""
    train, loss = drawn_from(generator, *hidden_xors(generator), N)
    return config(generator, D, WIDTH, WIDTH), train, loss


def equal_units(parameters: dict[str, Tensor]) -> str | None:
    first = parameters["weights.0"]
    return "alike" if first.shape == (WIDTH, D) and (first - first[0]).abs().max() < 1e-6 else None


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("draws in the order", draws, points=2)
# Wide: of seven units one alone may hold a path, and a start at random leaves it dead in one model of sixty.
keeps_the_contract(exercise, lambda generator: config(generator, integer(generator, 4, 5), 40, 30), points=3,
                   among=("order_unknown",))
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"), why=equal_units)
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
