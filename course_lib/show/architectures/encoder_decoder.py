"""The encoder-decoder transformer."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas, Node

# translate("I love hiking") of the chapter, and Transformer at d_model=64 with 55 words of Italian.
SOURCE, TARGET = ("I", "love", "hiking"), ("adoro", "le", "escursioni", "</s>")
ENCODER, DECODER, WIDTH = 88, 272, 124                               # the two columns, and the width of their boxes


def draw() -> Canvas:
    """Draw the encoder, the decoder, and the cross-attention between them."""
    c = Canvas(360, 664, "The encoder-decoder transformer",
               "Left, the encoder: the source x, 'I love hiking', is embedded and gets positions; N blocks of "
               "self-attention, which hides padding and nothing else, and FFN turn it into m of shape (B, S, D). "
               "Right, the decoder: the target is shifted right by one place, so that it reads '<s> adoro le "
               "escursioni'; it is embedded; N blocks follow, each of self-attention with a causal mask, "
               "cross-attention whose queries come from the target and whose keys and values come from m, and FFN. A "
               "linear layer tied to the target's embedding and a softmax give p(y_t | y_<t, x) for 'adoro le "
               "escursioni </s>'. Every layer is added to what it read, and a layer norm follows (post-LN).")
    x = c.tensor(ENCODER, 48, WIDTH, 40, "I love\nhiking")
    y = c.tensor(DECODER, 48, WIDTH, 40, "<s> adoro\nle escursioni")
    c.note(ENCODER, 16, "source $x$  (1, 3)")
    c.note(DECODER, 16, "target $y$, shifted  (1, 4)")
    tables = (c.layer(ENCODER, 112, WIDTH, 44, "embedding\n+ positions"),
              c.layer(DECODER, 112, WIDTH, 44, "embedding $E$\n+ positions", tied=True))
    for tokens, table, shape in ((x, tables[0], "(1, 3, 64)"), (y, tables[1], "(1, 4, 64)")):
        c.line(tokens.bottom(), table.top())
        c.note(table.x + 10, 147, shape, "start")
    c.frame(ENCODER, 259, 162, 196)
    c.frame(DECODER, 306, 162, 290)
    c.note(26, 147, "$N$ ×")
    c.note(210, 147, "$N$ ×")

    _, top = _layer(c, ENCODER, 212, "self-attention\npadding hidden", -1, tables[0])
    _, encoded = _layer(c, ENCODER, 312, "$\\rm{FFN}$", -1, top, 32)
    m = c.tensor(ENCODER, 398, 84, 32, "$m$")
    c.line(encoded.bottom(), m.top())
    c.note(ENCODER, 426, "(1, 3, 64)")

    _, top = _layer(c, DECODER, 212, "self-attention\ncausal mask", 1, tables[1])
    cross, top = _layer(c, DECODER, 312, "cross-attention\npadding hidden", 1, top)
    _, decoded = _layer(c, DECODER, 406, "$\\rm{FFN}$", 1, top, 32)
    c.text(DECODER - 10, 280, "$Q$", 13, anchor="end")
    c.line(m.right(), (180, m.y), (180, cross.y), cross.left(), kind="attend")
    c.text(153, m.y - 13, "$K, V$", 13)

    linear = c.layer(DECODER, 494, WIDTH, 32, "linear $E^⊤$", tied=True)
    softmax = c.operation(DECODER, 544, WIDTH, 28, "softmax")
    p = c.tensor(DECODER, 596, WIDTH, 40, "adoro le\nescursioni </s>")
    c.line(decoded.bottom(), linear.top())
    c.line(linear.bottom(), softmax.top())
    c.line(softmax.bottom(), p.top())
    c.note(DECODER + 10, 519, "(1, 4, $V$)", "start")
    c.text(DECODER - 72, 596, "$p(y_t | y_{<t}, x)$", 12.5, anchor="end")

    c.plus(20, 466, 9)
    c.text(36, 466, "sum, then layer norm", 12, anchor="start")
    c.text(11, 494, "double line: tied, one\ntable $E$ goes in and out", 12, anchor="start")
    c.line((11, 534), (40, 534), kind="attend")
    c.text(48, 534, "read by attention", 12, anchor="start")
    c.text(180, 642, "$m = \\rm{encoder}(x)$,   $p(y | x) = ∏_t p(y_t | y_{<t}, x)$", 13)
    return c


def _layer(c: Canvas, x: int, y: int, label: str, side: int, above: Node, height: int = 44) -> tuple[Node, Node]:
    """Draw a layer with center (x, y), its residual connection, and the sum below; return the nodes of layer and sum.

    side   1 for a residual connection on the right, -1 on the left
    above  node of the layer's input
    """
    layer, total = c.layer(x, y, WIDTH, height, label), c.plus(x, y + height // 2 + 18, 9)
    fork, lane = y - height // 2 - 16, x + side * (WIDTH // 2 + 10)
    c.line(above.bottom(), layer.top())
    c.line((x, fork), (lane, fork), (lane, total.y), total.right() if side > 0 else total.left())
    c.line(layer.bottom(), total.top(), head=False)
    return layer, total
