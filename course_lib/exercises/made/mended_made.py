"""A MADE with three faults in view: one that the contract sees at once, one that it sees when weights change, one in the loop."""
from __future__ import annotations

import itertools
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, judged, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, normal, uneven
from course_lib.exercises.fvsbn._shared import every_state
from course_lib.grading.checks import Fault, shape_fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.proxy import Proxy

exercise = Exercise(
    "MendedMADE", chapter="made", place=6, title="Three faults in a MADE",
    contract="The class as it stands above the cell, MendedMADE(n, hidden) with the layers one and two, has three faults. Mend "
             "them, keep its parameters and the degrees of its units: its entropy, log_prob, check_all, and a training to within "
             "0.12 nats of the source judge it.",
    points=["made"], difficulty=3, minutes=35, kind="repair", deadline=20.0)

GAP = 0.12                      # nats to the source
OFF = 0.1                       # nats by which the two entropies of a drawn model with a leak differ, at least
LEAKS = ("reads_itself", "masked_once", "output_unmasked", "hidden_unmasked")
LEFT = ("reads_itself", "masked_once", "slopes_add_up")              # the three that stand in the code


@exercise.class_reference()
class MendedMADE(AutoregressiveModel):
    """A MADE with one hidden layer in the natural order."""

    def __init__(self, n, hidden):
        super().__init__(n)
        self.one, self.two = nn.Linear(n, hidden), nn.Linear(hidden, n)
        self.position = torch.arange(1, n + 1)
        self.degree = torch.arange(hidden) % max(1, n - 1) + 1                 # from 1 to n - 1

    @exercise.step
    def hidden_mask(self):
        return self.degree[:, None] >= self.position

    @exercise.step
    def output_mask(self):
        return self.position[:, None] > self.degree

    @exercise.step
    def masked_weights(self):
        return self.one.weight * self.hidden_mask(), self.two.weight * self.output_mask()

    def conditionals(self, x, context=None):
        one, two = self.masked_weights()
        h = F.relu(F.linear(x, one, self.one.bias))                            # (B, hidden)
        return self.conditional(F.linear(h, two, self.two.bias))

    @exercise.step
    def fit(self, x):
        train(self, x)


def train(model, x, zero_gradients=True):
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(300):
        loss = -model.log_prob(x[torch.randint(len(x), (200,))]).mean()
        if zero_gradients:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@exercise.misconception(
    MendedMADE.output_mask,
    "Output i still reads x_i: into the output a connection stays only where the output's degree is larger than the unit's, > and "
    "not >=.")
def reads_itself(self):
    return self.position[:, None] >= self.degree


@exercise.misconception(
    MendedMADE.masked_weights,
    "The masks are applied to the stored weights and not in conditionals. Weights that a training step changes, or that are loaded, restore "
    "the masked connections: multiply by the mask in conditionals, each time.")
def masked_once(self):
    return self.one.weight, self.two.weight


@exercise.misconception(
    MendedMADE.fit,
    "In fit the gradients are never set to zero, so each step goes along the sum of all gradients so far. Call optimizer.zero_grad() "
    "before backward().")
def slopes_add_up(self, x):
    train(self, x, zero_gradients=False)


@exercise.misconception(
    MendedMADE.hidden_mask,
    "Your hidden units read only what comes before their degree: a connection into a hidden layer stays for >=, the unit's own degree "
    "included.")
def nothing_read(self):
    return self.degree[:, None] > self.position


@exercise.misconception(
    MendedMADE.output_mask,
    "The second mask is missing: all connections into the output layer are open, and every output reads every variable.")
def output_unmasked(self):
    return torch.ones(len(self.position), len(self.degree))


@exercise.misconception(
    MendedMADE.hidden_mask, "The first mask is missing: the hidden units read everything, and so do the outputs.")
def hidden_unmasked(self):
    return torch.ones(len(self.degree), len(self.position))


def weights(generator, n: int, hidden: int) -> dict[str, Tensor]:
    return {"one.weight": normal(generator, hidden, n), "one.bias": normal(generator, hidden, scale=0.5),
            "two.weight": normal(generator, n, hidden), "two.bias": normal(generator, n)}


def likelihoods(generator):
    cases = []
    for n, hidden in [uneven(generator, (3, 4), (5, 7)), uneven(generator, (5, 6), (7, 9)), [2, integer(generator, 3, 5)]]:
        cases.append(("log_prob", {"n": n, "hidden": hidden}, weights(generator, n, hidden),
                      bits(generator, integer(generator, 3, 6), n)))
    return cases


def source(generator):
    """A drawn FVSBN of six variables, and 4000 rows of it. Sixteen units of each degree: of eight, too many may die."""
    return {"n": 6, "hidden": 80}, *drawn_from(generator, *every_state(generator, 6, 1.5), 4000)


def entropies(run, config: dict, parameters: dict[str, Tensor]) -> tuple[float, float]:
    """The entropy of a model from log_prob of every state, -sum p ln p, and the sum of those of its factors, each a mean
    over what comes before. By the chain rule the two are the same, unless a factor sees what it may not."""
    model = Proxy(run, run("make", config, parameters))
    log_p = model.log_prob(states(config["n"])).double()                                             # (2^n,)
    factors = model.conditionals(states(config["n"])).entropy().double().sum(1)
    return float(-(log_p.exp() * log_p).sum()), float((log_p.exp() * factors).sum())


def states(n: int) -> Tensor:
    """All of n bits, (2^n, n)."""
    return torch.tensor(list(itertools.product((0.0, 1.0), repeat=n)))


def with_leaks_in_sight(generator) -> tuple[dict, dict[str, Tensor]]:
    """A config, and weights with which every leak sets the two entropies apart."""
    while True:
        n, hidden = uneven(generator, (4, 5), (7, 9))
        config, parameters = {"n": n, "hidden": hidden}, weights(generator, n, hidden)
        both = [entropies(partial(exercise.solve, bugs=[leak]), config, parameters) for leak in LEAKS]
        if all(abs(whole - parts) > OFF for whole, parts in both):
            return config, parameters


@judged(exercise, "entropy with given weights", 1, LEAKS)
@torch.no_grad()
def entropy(run, generator):
    config, parameters = with_leaks_in_sight(generator)
    asked = ("log_prob", config, parameters, states(config["n"]))
    if fault := shape_fault(run(*asked), exercise.expected(*asked)):
        return fault
    whole, parts = entropies(run, config, parameters)
    if abs(whole - parts) < 1e-3:
        return None
    return Fault(f"Over all {2 ** config['n']} states of {config['n']} variables, -sum p ln p of your log_prob is {whole:.3f} nats; the "
                 f"entropies of your factors add up to {parts:.3f}. The chain rule makes them one number: a factor sees what it "
                 "may not.")


exercise.compare("log_prob with given weights", likelihoods, points=2)
keeps_the_contract(exercise, lambda generator: {"n": 5, "hidden": integer(generator, 9, 12)}, points=2)
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("slopes_add_up",))
exercise.hint(
    "You do not know which fault to look for first.",
    "check_all(MendedMADE(5, 12)) names one input and one output. Follow the path between them: which mask should have "
    "closed it?")
exercise.hint(
    "check_all finds a leak, and the masks are right.",
    "It draws new weights before it looks. Ask when the masks are applied: once in __init__, or each time that the weights are "
    "used?")
exercise.hint(
    "The contract is kept, and the training goes astray.",
    "Print the loss every 20 steps. A loss that swings, though the rate is small, comes from steps that are longer than you "
    "think: what does .grad hold when backward() is called a second time?")
