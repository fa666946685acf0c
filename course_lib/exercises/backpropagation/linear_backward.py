"""The backward pass of a linear layer."""
from __future__ import annotations

from course_lib.exercises.draws import integer, normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "linear_backward", chapter="backpropagation", place=2, title="The backward pass of a linear layer",
    contract="x (B, T, n), W (m, n), b (m,), and G (B, T, m), the gradient of a loss with respect to y = x @ W.T + b. Return the "
             "gradients with respect to x, W and b, in this order, with the shapes of x, W and b. Automatic differentiation of torch is not allowed.",
    points=["computational-graph"], difficulty=2, minutes=20, forbid=("torch.autograd.grad", "torch.Tensor.backward"))


@exercise.step
def gradient_x(G, W):
    return G @ W


@exercise.step
def gradient_W(G, x):
    return G.flatten(0, 1).T @ x.flatten(0, 1)


@exercise.step
def gradient_b(G):
    return G.sum(dim=(0, 1))


@exercise.reference()
def linear_backward_reference(x, W, b, G):
    return [gradient_x(G, W), gradient_W(G, x), gradient_b(G)]


@exercise.misconception(
    gradient_W,
    "You average the gradient of W over the rows. W is used in every row, and the contributions of all uses are summed. The mean belongs "
    "to the loss, so it is already contained in G.")
def weight_mean(G, x):
    return gradient_W.original(G, x) / (len(G) * G.shape[1])


@exercise.misconception(
    gradient_b,
    "You average the gradient of b over the rows. b is used in every row, and the contributions of all uses are summed.")
def bias_mean(G):
    return G.mean(dim=(0, 1))


@exercise.misconception(
    gradient_b,
    "You average the gradient of b over the positions. b is used at every position of every sequence, and the "
    "contributions of all uses are summed.")
def bias_position_mean(G):
    return G.sum(dim=0).mean(dim=0)


@exercise.misconception(
    gradient_b, "Your gradient of b is the number of rows, the sum of the local derivatives. Multiply each local derivative by G before the sum.")
def bias_local(G):
    return G.new_full((G.shape[2],), len(G) * G.shape[1])


@exercise.misconception(
    gradient_W,
    "Your gradient of W does not contain G: each row of it is the sum of the inputs. By the chain rule the local derivative is multiplied by G.")
def weight_local(G, x):
    return x.sum(dim=(0, 1)).expand(G.shape[2], -1).clone()


@exercise.misconception(
    gradient_x,
    "Your gradient of x does not contain G: it is the sum of the rows of W at every position. By the chain rule the local derivative is "
    "multiplied by G.")
def input_local(G, W):
    return W.sum(dim=0).expand(*G.shape[:2], -1).clone()


@exercise.misconception(
    gradient_W,
    "You use the first sequence of the batch only for the gradient of W. Sum over all sequences and all positions.")
def first_sequence(G, x):
    return G[0].T @ x[0]


@exercise.misconception(
    gradient_W, "Your gradient of W is that of the last position only. W is used at every position, so sum over positions too.")
def last_position(G, x):
    return G[:, -1].T @ x[:, -1]


@exercise.misconception(
    gradient_W,
    "For the gradient of W you sum G and x over the positions before you multiply them. The contribution of a "
    "position is the product of its own G and x, so multiply first and then sum over the positions.")
def product_of_sums(G, x):
    return G.sum(dim=1).T @ x.sum(dim=1)


def layers(generator):
    """Different sizes, so that a transposed factor does not fit; a single position; equal widths."""
    B, T, n, m = uneven(generator, (2, 4), (2, 5), (3, 6), (2, 6))
    width = integer(generator, 2, 4)
    return [tuple(normal(generator, *shape) for shape in ((B, T, n), (m, n), (m,), (B, T, m)))
            for B, T, n, m in ((B, T, n, m), (3, 2, width, width), (1, 1, n, m))]


exercise.compare("values", layers, points=5)
exercise.unchanged(layers)
exercise.hint(
    "You do not know where to begin.",
    "Write the entry y[i, t, j] as a sum over k. Which entries of y depend on W[j, k], and with which local derivative? Multiply "
    "each local derivative by the entry of G and add.")
exercise.hint(
    "You do not know how to handle two batch dimensions.",
    "The layer treats every position of every sequence alike. x.flatten(0, 1) has shape (B * T, n), and the formulas of the chapter hold "
    "for it.")
exercise.hint(
    "The shapes do not fit.",
    "Each gradient has the shape of its tensor. G (B * T, m) and x (B * T, n) give a product of shape (m, n). If m = n the shapes do not "
    "decide the order of the factors, so derive it from a single entry.")
