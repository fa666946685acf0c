"""ELMo's mixture of layers."""
from __future__ import annotations

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "layer_mixture", chapter="fill-the-gap", place=4, title="The mixture of layers",
    contract="states (L, B, T, E) are the layers of a language model, w (L,) and gamma (a number) are learned. Return (B, T, E): gamma "
             "times the sum of the layers, each with its weight of softmax(w).",
    points=["elmo"], difficulty=1, minutes=10)


@exercise.step
def weights(w):
    return w.softmax(dim=0)


@exercise.step
def mixed(states, s):
    return (s[:, None, None, None] * states).sum(dim=0)


@exercise.reference()
@exercise.step
def layer_mixture_reference(states, w, gamma):
    return gamma * mixed(states, weights(w))


@exercise.misconception(weights, "You take w as the weights. They are softmax(w): positive, and 1 in all.")
def not_normalized(w):
    return w


@exercise.misconception(weights, "You divide w by its sum. A softmax takes the exponentials first.")
def shares(w):
    return w / w.sum()


@exercise.misconception(weights, "You apply a sigmoid to each weight by itself. softmax(w) is normalized over the layers.")
def sigmoids(w):
    return w.sigmoid()


@exercise.misconception(layer_mixture_reference, "gamma is missing: the sum of the layers is multiplied by it.")
def no_gamma(states, w, gamma):
    return mixed(states, weights(w))


@exercise.misconception(layer_mixture_reference, "gamma is inside the softmax. It multiplies the sum.")
def gamma_inside(states, w, gamma):
    return mixed(states, weights(gamma * w))


@exercise.misconception(
    mixed,
    "You average the weighted layers, so your result is divided by the number of layers. The weights already sum to "
    "1, so add the weighted layers.")
def averaged(states, s):
    return (s[:, None, None, None] * states).mean(dim=0)


@exercise.misconception(mixed, "You return the last layer. The task may need what lies below it.")
def last_layer(states, s):
    return states[-1]


@exercise.misconception(mixed, "Layer 0, the word's vector, is left out.")
def layer_zero_left_out(states, s):
    return mixed.original(states[1:], s[1:])


def layers(generator):
    """One layer and more, as many as texts; weights far apart; gamma above and below 1, and negative."""
    cases = []
    for (L, B, T, E), gamma in (((3, 2, 4, 5), 2.0), ((4, 3, 2, 3), 0.3), ((2, integer(generator, 1, 3), 5, 4), -1.5),
                                ((3, 3, 3, 3), 2.0), ((1, 1, 2, 3), 0.5)):
        w = normal(generator, L, scale=1.5)
        w[0], w[-1] = w[0].abs() + 0.5, -w[-1].abs() - 1.0
        cases.append((normal(generator, L, B, T, E), w, gamma))
    return cases


exercise.compare("values", layers, points=2)
exercise.unchanged(layers)
exercise.hint(
    "The shapes do not fit.",
    "softmax(w) has shape (L,); s[:, None, None, None] * states multiplies layer by layer.")
exercise.hint(
    "Your values are too large, or have the wrong sign.",
    "Are the weights positive, and is their sum 1? gamma comes last, outside.")
