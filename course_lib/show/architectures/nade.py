"""NADE: tied weights, and the pre-activation as a running sum."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

N, H = 4, 2                                                          # NADE(4, 2) of the chapter


def draw() -> Canvas:
    """Draw NADE: a hidden layer for every variable, with shared weights."""
    c = Canvas(360, 596, "NADE with four variables: tied weights and the running sum",
               "Above, four rows, one for each variable. Row i adds up c and the columns w_j of W times x_j for all "
               "earlier j; the sum is a_i, then h_i = sigma(a_i), then x-hat_i = sigma(V_i h_i + b_i), from which "
               "x_i is drawn. The weights are tied: c is the same in all four rows, w_1 in rows 2 to 4, w_2 in rows "
               "3 and 4; every V_i is used once. Below, what tying saves: a row is the row above it and one column "
               "more, so that one running sum c, a_1 to a_4 meets each w_i once.")
    bias, column, row = 22, [65, 107, 149, 190], [44, 120, 196, 272]
    c.band(bias, (row[0] + row[3]) / 2, 39, row[3] - row[0] + 40)
    for j in (0, 1, 2):
        c.band(column[j], (row[j + 1] + row[3]) / 2, 39, row[3] - row[j + 1] + 40)
    above = [None] * N                                               # the last node of each column
    for i in range(N):
        y, before = row[i], c.weight(bias, row[i], "$c$", 34, 30, tied=True, fill="paper", size=12.5)
        for j in range(i):
            weight = c.weight(column[j], y, f"$w_{j + 1}$", 37, 30, tied=True, fill="paper", size=12.5)
            c.line(before.right(), weight.left(), kind="stream", head=False)
            c.line(above[j].bottom(), weight.top())
            above[j] = before = weight
        a, h = c.tensor(193, y, 30, 28, f"$a_{i + 1}$"), c.tensor(240, y, 30, 28, f"$h_{i + 1}$")
        v = c.weight(286, y, f"$V_{i + 1},b_{i + 1}$", 52, 28, size=12)
        predicted = c.unit(342, y, rf"$\hat x_{i + 1}$", 14)
        c.line(before.right(), a.left(), kind="stream")
        c.line(a.right(), h.left())
        c.line(h.right(), v.left(), head=False)
        c.line(v.right(), predicted.left())
        c.text(215, y - 11, "$σ$", 13)
        c.text(320, y - 11, "$σ$", 13)
        x, drawn = c.unit(column[i], y + 38, f"$x_{i + 1}$", 13, size=12), c.draw(310, y + 38, 9)
        c.line(predicted.bottom(), (342, y + 38), drawn.right(), kind="sample", head=False)
        c.line(drawn.left(), x.right(), kind="sample")
        above[i] = x
    c.note(190, 340, "a band holds one weight, used by several rows: tied")

    y, before = 456, c.weight(22, 456, "$c$", 34, 30, tied=True, size=12.5)
    for i in range(N):
        a = c.tensor(66 + 84 * i, y, 32, 28, f"$a_{i + 1}$")
        c.line(before.right(), a.left(), kind="stream")
        if i < N - 1:
            x = c.unit(108 + 84 * i, 374, f"$x_{i + 1}$", 13, size=12)
            weight = c.weight(108 + 84 * i, 415, f"$w_{i + 1}$", 37, 30, tied=True, size=12.5)
            before = c.plus(108 + 84 * i, y)
            c.line(x.bottom(), weight.top())
            c.line(weight.bottom(), before.top())
            c.line(a.right(), before.left(), kind="stream", head=False)
    c.text(180, 500, "$a_1 = c$,  $a_{i+1} = a_i + w_i x_i$,  $h_i = σ(a_i)$", 13.5)
    c.text(180, 526, "$\\hat x_i = σ(V_i h_i + b_i)$", 13.5)
    c.note(180, 554, "$n = 4$, $H = 2$:  $x$ (B, 4),  $a_i$ and $h_i$ (B, 2)")
    c.note(180, 574, "$W$ (2, 4), its columns are $w_1, …, w_4$;  $V$ (4, 2)")
    return c
