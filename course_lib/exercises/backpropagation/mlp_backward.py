"""The backward pass of a multilayer perceptron."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "mlp_backward", chapter="backpropagation", place=4, title="The backward pass of a deep network",
    contract="x (B, n); weights and biases, lists of K tensors, where layer l computes h W^T + b from the layer before it. tanh follows every "
             "layer except the last. G has the shape of the output and is the gradient of a loss with respect to it. Return a list of 2 K "
             "gradients: those with respect to the weights, from the first layer to the last, then those with respect to the biases. "
             "Automatic differentiation of torch is not allowed.",
    points=["computational-graph", "mlp"], difficulty=3, minutes=35, forbid=("torch.autograd.grad", "torch.Tensor.backward"))


@exercise.step
def slope(h):
    """The derivative of tanh, from its value."""
    return 1 - h ** 2


@exercise.step
def weight_gradient(G, h):
    return G.T @ h


@exercise.step
def bias_gradient(G):
    return G.sum(dim=0)


@exercise.step
def at_the_output(G, output):
    """The gradient with respect to the pre-activation of the last layer, which has no activation function."""
    return G


@exercise.step
def at_a_hidden_layer(G, h):
    """The gradient with respect to the pre-activation of a hidden layer, from that with respect to its value h."""
    return G * slope(h)


@exercise.reference()
@exercise.step
def mlp_backward_reference(x, weights, biases, G):
    values = [x]                                                               # the input of each layer
    for W, b in zip(weights[:-1], biases[:-1]):
        values.append(torch.tanh(values[-1] @ W.T + b))
    G = at_the_output(G, values[-1] @ weights[-1].T + biases[-1])
    of_weights, of_biases = [], []
    for k in reversed(range(len(weights))):
        of_weights.insert(0, weight_gradient(G, values[k]))
        of_biases.insert(0, bias_gradient(G))
        if k:
            G = at_a_hidden_layer(G @ weights[k], values[k])
    return [*of_weights, *of_biases]


@exercise.misconception(
    at_a_hidden_layer, "Your backward pass skips the activation function. At each hidden layer, multiply the gradient by the derivative of tanh.")
def no_slope(G, h):
    return G


@exercise.misconception(
    slope, "Your derivative of tanh is 1 - a^2, where a is the pre-activation. It is 1 - h^2, where h = tanh(a) is the value.")
def of_pre_activation(h):
    return 1 - torch.atanh(h) ** 2


@exercise.misconception(slope, "Your derivative of tanh is 1 - h. It is 1 - h^2.")
def not_squared(h):
    return 1 - h


@exercise.misconception(
    at_the_output,
    "You multiply G by the derivative of tanh at the output. No activation function follows the last layer, so G is already the gradient with "
    "respect to its pre-activation.")
def tanh_at_the_output(G, output):
    return G * (1 - torch.tanh(output) ** 2)


@exercise.misconception(
    at_a_hidden_layer,
    "You apply tanh itself in the backward pass. The gradient is multiplied by the derivative of tanh, 1 - h^2.")
def tanh_itself(G, h):
    return G * h


@exercise.misconception(
    weight_gradient,
    "You average the gradients of the weights over the batch. Every row contributes, and the contributions are summed; the mean of the loss is "
    "already contained in G.")
def weight_mean(G, h):
    return G.T @ h / len(h)


@exercise.misconception(
    bias_gradient, "You average the gradients of the biases over the batch. Every row contributes, and the contributions are summed.")
def bias_mean(G):
    return G.mean(dim=0)


@exercise.misconception(slope, "You apply tanh again to the value h = tanh(a), which is a tanh already. The derivative is 1 - h^2.")
def tanh_twice(h):
    return 1 - torch.tanh(h) ** 2


@exercise.misconception(
    mlp_backward_reference,
    "You return the gradients layer by layer, each weight followed by its bias. Return those of all weights first, then those of all biases.")
def layer_by_layer(x, weights, biases, G):
    result = mlp_backward_reference.original(x, weights, biases, G)
    return [gradient for pair in zip(result[:len(weights)], result[len(weights):]) for gradient in pair]


def networks(generator):
    """Three layers of different widths, three of equal widths, and a single layer; the second case has one row."""
    B, n, first, second, out = uneven(generator, (2, 7), (2, 7), (2, 7), (2, 7), (2, 7))
    cases = []
    for rows, widths in ((B, (n, first, second, out)), (5, (3, 3, 3, 3)), (1, (n, first, out)), (B, (n, out))):
        weights = [normal(generator, o, i, scale=i ** -0.5) for i, o in zip(widths, widths[1:])]
        biases = [normal(generator, o, scale=0.3) for o in widths[1:]]
        cases.append((normal(generator, rows, widths[0]), weights, biases, normal(generator, rows, widths[-1])))
    return cases


exercise.compare("gradients", networks, points=5)
exercise.unchanged(networks)
exercise.hint(
    "You do not know where to begin.",
    "Compute the forward pass and keep the input of each layer in a list. Then go through the layers from the last to the first with a "
    "variable G, the gradient with respect to the pre-activation of the layer.")
exercise.hint(
    "You do not know what happens between two layers.",
    "G @ W is the gradient with respect to the input h of the layer. Unless h is x, multiply it by 1 - h^2: this is the gradient with respect to "
    "the pre-activation of the layer before it.")
exercise.hint(
    "You want to test your function.",
    "Outside the function, compute the output with requires_grad, then torch.autograd.grad(output, [*weights, *biases], G).")
