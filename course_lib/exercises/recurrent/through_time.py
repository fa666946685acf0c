"""The gradient through time, by hand."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "through_time", chapter="recurrent", place=3, title="The gradient through time, by hand",
    contract="h (T, H): the states h_1 to h_T of h_t = tanh(Wh h_{t-1} + what is read); Wh (H, H); g (T, H): g[t] is the "
             "derivative of the loss by that state as far as the loss reads it directly, as by its own prediction. Return (T, H): "
             "the whole derivative of the loss by each state, which counts what the later states pass back.",
    points=["bptt"], difficulty=4, minutes=25)


@exercise.step
def slope_of_tanh(h, t):
    """At the state after h[t]."""
    return 1 - h[t + 1] ** 2


@exercise.step
def passed_back(slope, Wh, delta):
    return Wh.T @ (slope * delta)


@exercise.reference()
@exercise.step
def through_time_reference(h, Wh, g):
    deltas = [g[-1]]                                                           # from the last state to the first
    for t in reversed(range(len(h) - 1)):
        deltas.append(g[t] + passed_back(slope_of_tanh(h, t), Wh, deltas[-1]))
    return torch.stack(deltas[::-1])


@exercise.misconception(
    slope_of_tanh,
    "You take the slope of tanh at the state to which you go back. It belongs to the state from which you come: 1 - h_{t+1}^2.")
def own_slope(h, t):
    return 1 - h[t] ** 2


@exercise.misconception(slope_of_tanh, "You leave out the slope of tanh, 1 - h_{t+1}^2.")
def no_slope(h, t):
    return torch.ones_like(h[t])


@exercise.misconception(passed_back, "You go back through Wh. The gradient of Wh h with respect to h takes the transpose of Wh.")
def not_transposed(slope, Wh, delta):
    return Wh @ (slope * delta)


@exercise.misconception(passed_back, "Your slope stands on the wrong side of Wh. Go back through tanh first, then through Wh.")
def slope_after(slope, Wh, delta):
    return slope * (Wh.T @ delta)


@exercise.misconception(through_time_reference, "You return g. A state also affects the loss through the states after it.")
def direct_only(h, Wh, g):
    return g.clone()


@exercise.misconception(
    through_time_reference,
    "You go back one step only: what comes back from the next state must contain what came to it from later ones.")
def one_step(h, Wh, g):
    return torch.stack([*(g[t] + passed_back(slope_of_tanh(h, t), Wh, g[t + 1]) for t in range(len(h) - 1)), g[-1]])


def inputs(generator, T: int, H: int) -> tuple:
    return (torch.tanh(normal(generator, T, H)), normal(generator, H, H, scale=1.2 * H ** -0.5), normal(generator, T, H))


def gradient_cases(generator):
    return [inputs(generator, *uneven(generator, (5, 7), (3, 4))), inputs(generator, *uneven(generator, (4, 5), (6, 8)))]


def edge_cases(generator):
    """One step: there is nothing to pass back. And a loss that reads the last state alone."""
    h, Wh, g = inputs(generator, 5, 3)
    return [inputs(generator, 1, 4), (h, Wh, torch.cat([torch.zeros(4, 3), g[4:]]))]


exercise.compare("values", gradient_cases, points=4)
exercise.compare("one step, one loss", edge_cases, points=1)
exercise.unchanged(gradient_cases)
exercise.hint(
    "You do not know where to begin.",
    "At the end. The last state has no later ones: its whole derivative is g[T - 1]. Then go back: t = T - 2, T - 3, ...")
exercise.hint(
    "You have the loop, and not the step.",
    "h_{t+1} = tanh(a) with a = Wh h_t + .... From the derivative by h_{t+1} to that by a: times 1 - h_{t+1}^2. From a to "
    "h_t: times Wh transposed. Then add g[t].")
exercise.hint(
    "You want to test it yourself.",
    "Write the network as a loop in torch, call retain_grad() on each state, and take (states * g).sum().backward().")
