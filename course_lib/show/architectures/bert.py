"""BERT: the sum of three embeddings, bidirectional blocks, and the two pre-training heads."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

# BERT at width 32 with 2 blocks and a vocabulary of 88, on two sentences of the chapter's grammar, joined.
TOKENS = ["[CLS]", "baker", "[MASK]", "[SEP]", "he", "warms", "[SEP]"]
SEGMENTS = [0, 0, 0, 0, 1, 1, 1]
HIDDEN = 2                                                           # the position of [MASK], which replaces "kneads"
V, D, BLOCKS = 88, 32, 2


def draw() -> Canvas:
    """Draw BERT: embeddings of tokens, segments and positions, blocks without a causal mask, and two heads."""
    c = Canvas(360, 688, "BERT: the sum of three embeddings, and two heads",
               "Seven tokens, [CLS] baker [MASK] [SEP] he warms [SEP]. Each is the sum of three rows: of its token "
               "in the table E, of its segment in S, 0 for the first sentence and 1 for the second, and of its "
               "position 0 to 6 in P; a layer norm gives h^0 of shape (1, 7, 32). Two post-LN blocks of "
               "self-attention and FFN follow; without a causal mask every token reads all seven. Left below, the "
               "pooler reads the vector of [CLS] alone, and a layer tells whether the second sentence follows the "
               "first. Right below, the masked-word head reads the vector of [MASK], and a layer tied to the table E "
               "gives p(x_2 | x-tilde) over 88 words: 'kneads' is to be told.")
    columns = [36 + 48 * t for t in range(len(TOKENS))]
    norm = c.layer(180, 168, 332, 26, "layer norm")
    for t, (x, token, segment) in enumerate(zip(columns, TOKENS, SEGMENTS)):
        c.text(x, 18, token, 12)
        c.layer(x, 46, 46, 27, f"$E[x_{t}]$", tied=True, size=12)
        c.text(x, 66, "+", 14)
        c.layer(x, 85, 46, 25, f"$S[{segment}]$")
        c.text(x, 104, "+", 14)
        position = c.layer(x, 123, 46, 25, f"$P[{t}]$")
        c.line(position.bottom(), (x, 155))

    c.frame(180, 325, 344, 240)
    c.note(12, 194, f"{BLOCKS} ×", "start")
    c.note(190, 194, "$h^0$  (1, 7, 32)", "start")
    above = norm
    for y, label, height in ((248, "self-attention,\nno causal mask", 42), (362, "$\\rm{FFN}$", 28)):
        layer, total = c.layer(180, y, 150, height, label), c.plus(180, y + height // 2 + 18, 9)
        fork = y - height // 2 - 12
        c.line(above.bottom(), layer.top())
        c.line((180, fork), (84, fork), (84, total.y), total.left())
        c.line(layer.bottom(), total.top(), head=False)
        above = c.layer(180, total.y + 30, 332, 24, "layer norm")
        c.line(total.bottom(), above.top())
    c.mask(310, 248, [[True] * len(TOKENS) for _ in TOKENS], 6)
    c.note(306, 287, "each token\nreads all")
    encoded = [c.tensor(x, 474, 42, 25, f"$h^2_{t}$") for t, x in enumerate(columns)]
    for x in columns:
        c.line((x, above.y + 12), (x, 461))

    pooler = c.layer(92, 536, 160, 42, "pooler\n$\\rm{tanh}(W h^2_0 + b)$")
    hidden = c.layer(268, 536, 156, 42, "linear, GELU,\nlayer norm")
    next_ = c.layer(92, 592, 160, 28, "linear  (32, 2)")
    words = c.layer(268, 592, 156, 30, "linear $E^⊤ + c$", tied=True)
    q, p = c.tensor(92, 642, 160, 30, "follows, or not"), c.tensor(268, 642, 156, 30, r"$p(x_2 | \tilde x)$:  kneads?")
    c.line(encoded[0].bottom(), (columns[0], 515))
    c.line(encoded[HIDDEN].bottom(), (columns[HIDDEN], 500), (268, 500), hidden.top())
    for first, second, third in ((pooler, next_, q), (hidden, words, p)):
        c.line(first.bottom(), second.top())
        c.line(second.bottom(), third.top())
        c.note(third.x + 10, 617, "softmax", "start")
    c.note(180, 672, "$E$ (88, 32), tied;  $S$ (2, 32);  $P$ (32, 32)")
    return c
