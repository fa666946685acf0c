"""ELMo's mixture of layers."""
from __future__ import annotations

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "layer_mixture", chapter="11", place=4, title="The mixture of layers",
    contract="states (L, B, T, E) are the layers of a language model, w (L,) and gamma (a number) are learned. Return (B, T, E): gamma "
             "times the sum of the layers, each with its weight of softmax(w).",
    points=["elmo"], difficulty=1, minutes=10)


@exercise.reference(
    not_normalized="You take w as the weights. They are softmax(w): positive, and 1 in all.",
    shares="You divide w by its sum. A softmax takes the exponentials first.",
    no_gamma="gamma is missing: the sum of the layers is multiplied by it.",
    gamma_inside="gamma is inside the softmax. It multiplies the sum.",
    last_layer="You return the last layer. The task may need what lies below it.",
    plain_mean="Your layers all have the same weight, whatever w says.",
    layer_zero_left_out="Layer 0, the word's vector, is left out.",
    reversed_layers="Your weights go to the layers in reverse order.",
    sigmoids="You squash each weight by itself. softmax(w) is normalised over the layers.",
)
def layer_mixture_reference(states, w, gamma, bugs=frozenset()):
    s = (gamma * w if "gamma_inside" in bugs else w).softmax(dim=0)
    if "not_normalized" in bugs:
        s = w
    if "shares" in bugs:
        s = w / w.sum()
    if "sigmoids" in bugs:
        s = w.sigmoid()
    if "plain_mean" in bugs:
        s = (0 * w).softmax(dim=0)
    if "reversed_layers" in bugs:
        s = s.flip(0)
    if "layer_zero_left_out" in bugs:
        states, s = states[1:], s[1:]
    if "last_layer" in bugs:
        return gamma * states[-1]
    mixed = (s[:, None, None, None] * states).sum(dim=0)
    return mixed if bugs & {"no_gamma", "gamma_inside"} else gamma * mixed


def layers(generator):
    """Two layers and more; weights far apart; gamma above and below 1, and negative."""
    found = []
    for (L, B, T, E), gamma in (((3, 2, 4, 5), 2.0), ((4, 3, 2, 3), 0.3), ((2, integer(generator, 1, 3), 5, 4), -1.5)):
        w = normal(generator, L, scale=1.5)
        w[0], w[-1] = w[0].abs() + 0.5, -w[-1].abs() - 1.0
        found.append((normal(generator, L, B, T, E), w, gamma))
    return found


exercise.compare("values", layers, points=2)
exercise.unchanged(layers)
exercise.hint(
    "The shapes do not fit.",
    "softmax(w) has shape (L,); s[:, None, None, None] * states multiplies layer by layer.")
exercise.hint(
    "Your values are too large, or have the wrong sign.",
    "Are the weights positive, and is their sum 1? gamma comes last, outside.")
