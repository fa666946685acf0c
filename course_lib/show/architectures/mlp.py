"""The multilayer perceptron: a hidden layer between the inputs and a logistic regression."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

WIDTHS = [2, 3, 1]                                                   # MLP([2, 3, 1])


def draw() -> Canvas:
    """Draw an MLP with one hidden layer, whose units compute a weighted sum and an activation."""
    c = Canvas(360, 500, "A multilayer perceptron with one hidden layer",
               "From top to bottom: two inputs x_1 and x_2; three hidden units h_1, h_2 and h_3, each of which reads both "
               "inputs, adds its bias and applies the activation f; the logit z, which reads the three hidden units; and "
               "p = sigma(z), the probability of class 1. The six lines into the hidden layer are the entries of the "
               "matrix A, the three lines out of it the entries of alpha. Without f both layers together would be a single "
               "linear layer.")
    inputs = [c.unit(x, 50, f"$x_{i + 1}$", 18) for i, x in enumerate((72, 142))]
    hidden = [c.unit(x, 180, f"$h_{i + 1}$", 18, learned=True) for i, x in enumerate((37, 107, 177))]
    logit = c.unit(107, 310, "$z$", 18, learned=True)
    p = c.unit(107, 400, "$p$", 18)
    for unit in hidden:
        for each in inputs:
            c.line(each.bottom(), unit.top())
        c.line(unit.bottom(), logit.top())
    c.line(logit.bottom(), p.top())
    c.text(119, 354, "$σ$", 14, anchor="start")
    for y, label in ((50, "inputs  $x$  (B, 2)"), (100, "$A$  (3, 2),  $b$  (3,)"), (120, "6 weights, 3 biases"),
                     (180, "$h$  (B, 3)"), (240, "$α$  (3,),  $α_0$"), (260, "3 weights, 1 bias"), (310, "logit  (B,)"),
                     (400, "$p(Y = 1 | x)$")):
        c.note(210, y, label, "start")
    c.text(180, 452, "$h = f(A x + b)$,   $z = α_0 + α^⊤ h$,   $p = σ(z)$", 13.5)
    c.note(180, 478, "13 numbers are learned")
    return c
