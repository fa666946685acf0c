"""A block of the decoder: self-attention, cross-attention and a feed-forward network, post-LN, with the masks."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

T, S, D, HEADS, D_FF = 4, 3, 64, 4, 128                              # "<s> adoro le escursioni" and "I love hiking"


def draw() -> Canvas:
    """Draw a decoder block: causal self-attention, cross-attention to the encoder's output m, feed-forward network."""
    c = Canvas(360, 690, "A block of the decoder",
               "The stream h runs down and meets three sums, each followed by a layer norm. First branch: self-attention "
               "with a causal mask, drawn beside it as a triangle of 4 by 4: a word reads itself and what comes before. "
               "The sum and norm give u. Second branch: cross-attention, whose queries come from u and whose keys and "
               "values come from m, the encoder's output of shape (1, 3, 64); its mask of 4 by 3 is full, each word of "
               "the target reads the whole source. The sum and norm give w. Third branch: the network FFN at every "
               "position, then sum and norm, giving z. h, u, w and z have shape (1, 4, 64).")
    stream, branch = 116, 252
    h, z = c.tensor(stream, 26, 44, 30, "$h$"), c.tensor(stream, 584, 44, 30, "$z$")
    c.note(146, 26, "(1, 4, 64)", "start")
    c.note(146, 584, "(1, 4, 64)", "start")
    above = h
    parts = (("self-attention", "u"), ("cross-attention", "w"), ("$\\rm{FFN}$", "z"))
    for k, (label, out) in enumerate(parts):
        fork = 62 + 172 * k
        enters = 0 if k != 1 else -40
        f = c.layer(branch, fork + 50, 136, 40, label)
        total = c.plus(stream, fork + 96)
        norm = c.layer(stream, fork + 132, 96, 28, "layer norm")
        c.line(above.bottom(), total.top(), kind="stream", head=False)
        c.line(total.bottom(), norm.top(), kind="stream", head=False)
        c.line((stream, fork), (branch + enters, fork), f.top(enters))
        c.line(f.bottom(), (branch, total.y), total.right())
        if k < 2:
            c.text(stream + 12, fork + 158, f"${out}$", 14, anchor="start")
        above = norm
    c.line(above.bottom(), z.top(), kind="stream")

    c.text(branch + 9, 78, "$Q, K, V$", 13, anchor="start")
    c.mask(42, 112, [[s <= t for s in range(T)] for t in range(T)])
    c.note(42, 154, "causal\n(4, 4)")
    m = c.tensor(branch + 40, 234, 44, 30, "$m$")
    c.note(branch + 40, 208, "(1, 3, 64)")
    c.line(m.bottom(), (branch + 40, 264), kind="attend")
    c.text(branch + 48, 255, "$K, V$", 12, anchor="start")
    c.text(branch - 48, 255, "$Q$", 12, anchor="end")
    c.mask(42, 284, [[True] * S] * T)
    c.note(42, 326, "open\n(4, 3)")
    c.note(branch + 8, 492, "inside:\n(1, 4, 128)", "start")
    for y, equation in ((620, "$u = \\rm{LN}(h + \\rm{Att}(h; h))$, causal"), (642, "$w = \\rm{LN}(u + \\rm{Att}(u; m))$"),
                        (664, "$z = \\rm{LN}(w + \\rm{FFN}(w))$")):
        c.text(110, y, equation, 13, anchor="start")
    return c
