"""GPT: a decoder-only transformer that predicts the next token at every position."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

TEXT = "ROMEO"                                                       # four input letters, four targets
V, D, LAYERS, WINDOW = 65, 128, 4, 64                                # gpt-tiny-shakespeare of the chapter
T = len(TEXT) - 1


def draw() -> Canvas:
    """Draw GPT: embeddings, causal blocks, and a distribution over the next token at every position."""
    c = Canvas(360, 664, "GPT",
               "From above: the tokens x_1 to x_4, the letters R, O, M, E; each is replaced by its row of the "
               "embedding table E, and a row of the position table P is added: h^0 of shape (1, 4, 128). Then L = 4 "
               "blocks on one residual stream: layer norm and self-attention with a causal mask, added to the "
               "stream; layer norm and FFN, added to the stream. After the last block one more layer norm, a linear "
               "layer that is the same table E transposed (tied), and a softmax over 65 characters. Position t gives "
               "p(x_{t+1} | x_1, ..., x_t): the letters O, M, E, O are to be predicted, the text shifted by one. A "
               "small grid shows the causal mask: row t may read columns 1 to t.")
    axis, side = 104, 256
    xs = [49, 86, 123, 160]
    for t, (x, letter) in enumerate(zip(xs, TEXT), 1):
        c.tensor(x, 28, 33, 28, letter)
    c.note(188, 28, "$x_1, …, x_4$   (1, 4)", "start")
    embedding = c.layer(axis, 78, 150, 32, "embedding $E$", tied=True)
    c.note(188, 78, "(65, 128)", "start")
    total, table = c.plus(axis, 122), c.layer(232, 122, 104, 30, "positions $P$")
    c.note(292, 122, "(64, 128)", "start")
    c.line((axis, 42), embedding.top())
    c.line(embedding.bottom(), total.top())
    c.line(table.left(), total.right())
    sums = c.plus(axis, 288), c.plus(axis, 402)
    c.line(total.bottom(), sums[0].top(), kind="stream", head=False)
    c.line(sums[0].bottom(), sums[1].top(), kind="stream", head=False)
    c.text(axis + 14, 151, "$h^0$", 13, anchor="start")
    c.note(axis + 36, 151, "(1, 4, 128)", "start")

    c.frame(182, 296, 338, 252)
    c.note(28, 158, f"$L = {LAYERS}$ ×", "start")
    for y, label, height, added in ((196, "self-attention\ncausal mask", 44, sums[0]),
                                    (322, "$\\rm{FFN}$", 32, sums[1])):
        norm = c.layer(side - 26, y, 130, 26, "layer norm")
        f = c.layer(side - 26, y + 32 + height // 2, 130, height, label)
        c.line((axis, y), norm.left())
        c.line(norm.bottom(), f.top())
        c.line(f.bottom(), (f.x, added.y), added.right())
    c.mask(323, 250, [[j <= i for j in range(T)] for i in range(T)], 9)
    c.note(309, 287, "row $t$ reads\n$1$ to $t$")
    c.note(84, 236, "residual\nstream", "end")

    norm = c.layer(axis, 450, 150, 28, "layer norm")
    linear = c.layer(axis, 498, 150, 32, "linear $E^⊤$", tied=True)
    softmax = c.operation(axis, 546, 150, 28, "softmax")
    c.line(sums[1].bottom(), norm.top(), kind="stream")
    c.line(norm.bottom(), linear.top())
    c.line(linear.bottom(), softmax.top())
    c.line(softmax.bottom(), (axis, 578))
    c.note(188, 450, "(1, 4, 128)", "start")
    c.note(188, 498, "tied: the table $E$ again", "start")
    c.note(188, 546, "(1, 4, 65)", "start")
    for x, letter in zip(xs, TEXT[1:]):
        c.tensor(x, 592, 33, 28, letter)
    c.text(188, 592, "$p(x_{t+1} | x_1, …, x_t)$", 13, anchor="start")
    c.note(180, 624, "position $t$ has read $x_t$, and predicts $x_{t+1}$:")
    c.note(180, 644, "the targets are the same text, shifted by one")
    return c
