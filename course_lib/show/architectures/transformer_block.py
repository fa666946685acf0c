"""A pre-LN transformer block with its residual stream, and the positions of the norms in post-LN."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

B, T, D, HEADS, D_FF = 1, 5, 12, 3, 20                               # TransformerBlock(12, heads=3, d_ff=20) on (1, 5, 12)


def draw() -> Canvas:
    """Draw a transformer block: attention and a feed-forward network, with residual connections and layer norms."""
    c = Canvas(360, 640, "A transformer block and its residual stream",
               "The residual stream x runs straight down; nothing but sums stands on it. A branch to the right: "
               "layer norm, then multi-head attention between positions, whose output u' is added to the stream: u = "
               "x + u'. A second branch: layer norm, then the network FFN at every position, whose output z' is "
               "added: z = u + z'. This is pre-LN, as in GPT. Two dashed boxes on the left mark where post-LN has "
               "its norms instead: on the stream, after each sum. Every tensor on the stream has shape (B, T, D), "
               "here (1, 5, 12).")
    stream, branch = 112, 256
    x, z = c.tensor(stream, 28, 44, 30, "$x$"), c.tensor(stream, 536, 44, 30, "$z$")
    sums = c.plus(stream, 226), c.plus(stream, 458)
    c.line(x.bottom(), sums[0].top(), kind="stream", head=False)
    c.line(sums[0].bottom(), sums[1].top(), kind="stream", head=False)
    c.line(sums[1].bottom(), z.top(), kind="stream")
    c.note(142, 28, "(B, T, D) = (1, 5, 12)", "start")
    c.note(142, 536, "(1, 5, 12)", "start")
    c.note(96, 120, "residual\nstream", "end")
    for k, (y, label, added) in enumerate(((78, "multi-head\nattention", "u′"),
                                           (318, "$\\rm{FFN}$\nat every position", "z′"))):
        norm = c.layer(branch, y, 140, 30, f"layer norm  $γ_{k + 1}, β_{k + 1}$")
        f = c.layer(branch, y + 74, 140, 46, label)
        total = sums[k]
        c.line((stream, y), norm.left())
        if k == 0:
            for dx, name in ((-46, "Q"), (0, "K"), (46, "V")):
                c.line(norm.bottom(dx), f.top(dx))
                c.text(branch + dx + 11, y + 33, f"${name}$", 13)
            c.note(branch, y + 112, "3 heads, each (1, 5, 4)")
        else:
            c.line(norm.bottom(), f.top())
            c.note(branch, y + 112, "inside: (1, 5, 20)")
        c.line(f.right(), (344, f.y), (344, total.y), total.right())
        c.text(136, total.y - 13, f"${added}$", 14, anchor="start")
        after = total.y + 34
        c.elsewhere(45, after, 74, 40, "post-LN:\nnorm here")
        c.line((82, after), (stream - 3, after), kind="cut", head=False)
    c.text(136, 258, "$u = x + u′$", 14, anchor="start")
    c.text(136, 490, "$z = u + z′$", 14, anchor="start")
    c.text(180, 578, "pre-LN:   $u = x + f(\\rm{LN}(x))$,   $z = u + \\rm{FFN}(\\rm{LN}(u))$", 12.5)
    c.text(180, 602, "post-LN:   $u = \\rm{LN}(x + f(x))$,   $z = \\rm{LN}(u + \\rm{FFN}(u))$", 12.5)
    c.note(180, 624, "$f$: the attention")
    return c
