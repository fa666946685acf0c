"""Several linear layers as a single one."""
from __future__ import annotations

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "collapse_layers", chapter="backpropagation", place=6, title="Several linear layers as a single one",
    contract="weights and biases, lists of K tensors, where layer l computes W_l h + b_l from the output h of the layer before it, without an "
             "activation function. Return the weight W and the bias b of the single linear layer with the same output, W x + b for every input x.",
    points=["nonlinearity"], difficulty=1, minutes=10)


@exercise.step
def product(W, W_next):
    return W_next @ W


@exercise.step
def next_bias(b, W_next, b_next):
    return W_next @ b + b_next


@exercise.step
def collapsed(weights, biases):
    W, b = weights[0], biases[0]
    for W_next, b_next in zip(weights[1:], biases[1:]):
        W, b = product(W, W_next), next_bias(b, W_next, b_next)
    return [W, b]


@exercise.reference()
def collapse_layers_reference(weights, biases):
    return collapsed(weights, biases)


@exercise.misconception(
    product,
    "Your factors are in the reverse order where the matrices are square. The first layer is applied first, so W_1 is the last factor of the product.")
def reversed_product(W, W_next):
    return W @ W_next if W.shape == W_next.shape and W.shape[0] == W.shape[1] else W_next @ W


@exercise.misconception(
    next_bias, "You add the biases where their shapes are equal. The bias of a layer passes through all later layers, so it is multiplied by their weights.")
def added(b, W_next, b_next):
    return b + b_next if b.shape == b_next.shape else W_next @ b + b_next


@exercise.misconception(next_bias, "Your bias is that of the last layer alone. The earlier biases contribute too, multiplied by the later weights.")
def last_bias(b, W_next, b_next):
    return b_next


@exercise.misconception(next_bias, "You leave out the bias of every layer except the first. Each layer adds its own bias to W_l h.")
def first_bias(b, W_next, b_next):
    return W_next @ b


@exercise.misconception(
    next_bias, "You multiply the bias of a layer by its own weight. It is added after this product, so only the later weights multiply it.")
def own_weight(b, W_next, b_next):
    return W_next @ (b + b_next) if b.shape == b_next.shape else W_next @ b + b_next


@exercise.misconception(collapsed, "You combine the first two layers only. Go on with the result and the next layer, up to the last one.")
def two_layers(weights, biases):
    return collapsed.original(weights[:2], biases[:2])


@exercise.misconception(
    collapsed, "You leave out the bias of the first layer. It is part of b, multiplied by all later weights; for a single layer it is b itself.")
def first_bias_lost(weights, biases):
    return collapsed.original(weights, [0 * biases[0], *biases[1:]])


@exercise.misconception(
    collapsed, "The columns of your W are the outputs for the unit vectors. Each of them contains b, the output for the zero vector: subtract it.")
def bias_in_columns(weights, biases):
    W, b = collapsed.original(weights, biases)
    return [W + b[:, None], b]


def stacks(generator):
    """Three layers of different widths, three of equal widths, and a single layer."""
    n, first, second, out = uneven(generator, (2, 6), (2, 6), (2, 6), (2, 6))
    return [([normal(generator, o, i) for i, o in zip(widths, widths[1:])], [normal(generator, o) for o in widths[1:]])
            for widths in ((n, first, second, out), (3, 3, 3, 3), (n, out))]


exercise.compare("weight and bias", stacks, points=3)
exercise.unchanged(stacks)
exercise.hint(
    "You do not know where to begin.",
    "Insert the output of the first layer into the second: W_2 (W_1 x + b_1) + b_2. Multiply out, and collect the terms with x and those without.")
exercise.hint(
    "You can combine two layers, but not more.",
    "Two layers together are a single layer. Combine it with the third layer in the same way, and so on.")
