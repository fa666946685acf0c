"""The gradient through time, by hand."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "through_time", chapter="07", place=3, title="The gradient through time, by hand",
    contract="h (T, H): the states h_1 to h_T of h_t = tanh(Wh h_{t-1} + what is read); Wh (H, H); g (T, H): g[t] is the "
             "derivative of the loss by that state as far as the loss reads it directly, as by its own prediction. Return (T, H): "
             "the whole derivative of the loss by each state, which counts what the later states pass back.",
    points=["bptt"], difficulty=4, minutes=25)


@exercise.reference(
    direct_only="You return g. A state also acts on the loss through the states after it.",
    not_transposed="You go back through Wh. The gradient of Wh h by h takes the transpose of Wh.",
    own_slope="You take the slope of tanh at the state that you are going back to. It belongs to the state that you come from: "
              "1 - h_{t+1}^2.",
    no_slope="You leave out the slope of tanh, 1 - h_{t+1}^2.",
    slope_after="Your slope stands on the wrong side of Wh. Go back through tanh first, then through Wh.",
    slope_of_input="Your slope is 1 - tanh(h)^2. The states are already outputs of tanh: it is 1 - h^2.",
    last_only="You pass back the last state's gradient alone. Every g[t] adds to what passes through its state.",
    one_step="You look one step ahead only: what comes back from the next state must hold what came to it from later ones.",
    forward="You go forward in time. A state acts on later states only: begin with the last one.",
    doubled="You add g[t] twice, at every step.",
)
def through_time_reference(h, Wh, g, bugs=frozenset()):
    T = len(h)
    if "direct_only" in bugs:
        return g.clone()
    back = Wh if "not_transposed" in bugs else Wh.T
    found, delta = [None] * T, torch.zeros_like(g[0])
    order = range(T) if "forward" in bugs else reversed(range(T))
    for t in order:
        other = t - 1 if "forward" in bugs else t + 1
        came = torch.zeros_like(delta)
        if 0 <= other < T:
            at = h[t] if "own_slope" in bugs else h[other]
            slope = 1 - at.tanh() ** 2 if "slope_of_input" in bugs else torch.ones_like(at) if "no_slope" in bugs else 1 - at ** 2
            what = g[other] if "one_step" in bugs else delta
            came = slope * (back @ what) if "slope_after" in bugs else back @ (slope * what)
        direct = torch.zeros_like(delta) if "last_only" in bugs and t < T - 1 else g[t]
        delta = came + direct * (1 + ("doubled" in bugs))
        found[t] = delta
    return torch.stack(found)


def drawn(generator, T: int, H: int) -> tuple:
    return (torch.tanh(normal(generator, T, H)), normal(generator, H, H, scale=1.2 * H ** -0.5), normal(generator, T, H))


def gradient_cases(generator):
    return [drawn(generator, *uneven(generator, (5, 7), (3, 4))), drawn(generator, *uneven(generator, (4, 5), (6, 8)))]


def edge_cases(generator):
    """One step: there is nothing to pass back. And a loss that reads the last state alone."""
    h, Wh, g = drawn(generator, 5, 3)
    return [drawn(generator, 1, 4), (h, Wh, torch.cat([torch.zeros(4, 3), g[4:]]))]


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
