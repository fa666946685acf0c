"""FVSBN: a logistic regression for each variable, with a lower triangular weight matrix."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

N = 4                                                                # FVSBN(4) of the chapter


def draw() -> Canvas:
    """Draw a fully visible sigmoid belief network: each output is a logistic regression on the inputs before it."""
    c = Canvas(360, 590, "FVSBN with four variables",
               "Four rows, one for each variable. Row i starts with the bias alpha_0^i, adds alpha_j^i x_j for every "
               "earlier variable j, and ends in x-hat_i = sigma of that sum; x_i is sampled from it, and goes down "
               "its own column to all later rows. Row 1 has only a bias; row 4 uses x_1, x_2 and x_3. No row uses "
               "x_4. The ten weights and biases are all different: none is used twice.")
    bias, column, row = 40, [110, 182, 254, 326], [46, 164, 282, 400]
    above = [None] * N                                               # the last node of each column
    for i in range(N):
        y, before = row[i], c.weight(bias, row[i], f"$α_0^{i + 1}$", w=46)
        for j in range(i):
            weight = c.weight(column[j], y, f"$α_{j + 1}^{i + 1}$", w=46)
            c.line(before.right(), weight.left(), kind="stream", head=False)
            c.line(above[j].bottom(), weight.top())
            above[j] = before = weight
        predicted = c.unit(column[i], y, rf"$\hat x_{i + 1}$")
        c.line(before.right(), predicted.left(), kind="stream")
        c.text((before.right()[0] + predicted.left()[0]) / 2 - 2, y - 13, "$σ$", 14)
        drawn, x = c.draw(column[i], y + 36, 10), c.unit(column[i], y + 71, f"$x_{i + 1}$")
        c.line(predicted.bottom(), drawn.top(), kind="sample", head=False)
        c.line(drawn.bottom(), x.top(), kind="sample")
        c.place(column[i] + 16, y + 71 + 14, i + 1)
        above[i] = x
    c.note(160, 34, "$n = 4$:  4 biases and 6 weights,", "start")
    c.note(160, 54, "$n (n + 1) / 2 = 10$ parameters;", "start")
    c.note(160, 74, "none is used twice", "start")
    c.note(232, 130, "$x$, $\\hat x$:  (B, 4)", "start")
    c.text(180, 512, "$\\hat x_i = σ(α_0^i + ∑_{j<i} α_j^i x_j)$", 15)
    c.note(180, 544, "a weight multiplies the value from above,")
    c.note(180, 562, "and the product is added to its row (thick)")
    return c
