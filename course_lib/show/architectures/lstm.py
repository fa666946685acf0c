"""One step of an LSTM: the memory cell and its three gates."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

WIDTH, H = 64, 256                                                       # lstm-tiny-shakespeare of the chapter


def draw() -> Canvas:
    """Draw an LSTM cell: the memory c is a running sum; gates control forgetting, input and output."""
    c = Canvas(360, 478, "A step of an LSTM",
               "Above, x_t and h_{t-1} go into one linear layer, which gives the forget gate f_t, the input gate i_t and "
               "the output gate o_t by a sigmoid, and the candidate g_t by tanh. Below, a thick line runs from c_{t-1} on "
               "the left to c_t on the right: the memory. On it c_{t-1} is first multiplied by f_t; then the product of i_t "
               "and g_t is added. No matrix and no tanh stands on this line. At the right end c_t goes on to the next "
               "step, and through tanh, multiplied by o_t, it becomes h_t, which is shown to the layer above and to the "
               "next step.")
    x, h = c.tensor(120, 28, 44, 30, "$x_t$"), c.tensor(230, 28, 52, 30, "$h_{t-1}$")
    c.note(92, 28, f"(B, {WIDTH})", "end")
    c.note(262, 28, f"(B, {H})", "start")
    c.layer(180, 92, 320, 34, "linear: $W [x_t; h_{t-1}] + b$")
    c.line(x.bottom(), (120, 75))
    c.line(h.bottom(), (230, 75))
    gates = {}
    for name, at, function in (("f", 70, "σ"), ("i", 150, "σ"), ("g", 230, "tanh"), ("o", 310, "σ")):
        gates[name] = c.tensor(at, 158, 40, 30, f"${name}_t$")
        c.line((at, 109), gates[name].top())
        c.text(at + 6, 126, f"$\\rm{{{function}}}$" if function == "tanh" else "$σ$", 12.5, anchor="start")
    old = c.tensor(26, 290, 44, 30, "$c_{t-1}$", size=12.5)
    keep, write = c.operation(80, 290, 30, 24, "×"), c.operation(190, 220, 30, 24, "×")
    add, new = c.plus(190, 290), c.tensor(268, 290, 40, 30, "$c_t$")
    c.line(old.right(), keep.left(), kind="stream", head=False)
    c.line(keep.right(), add.left(), kind="stream", head=False)
    c.line(add.right(), new.left(), kind="stream")
    c.line((new.right()[0], 290), (350, 290), kind="stream")
    c.line(gates["f"].bottom(), (70, 278))
    c.line(gates["i"].bottom(), (150, 220), write.left())
    c.line(gates["g"].bottom(), (230, 220), write.right())
    c.line(write.bottom(), add.top())
    show = c.operation(268, 362, 30, 24, "×")
    out = c.tensor(268, 414, 40, 30, "$h_t$")
    c.line(new.bottom(), show.top())
    c.text(262, 328, "$\\rm{tanh}$", 12.5, anchor="end")
    c.line(gates["o"].bottom(), (310, 362), show.right())
    c.line(show.bottom(), out.top())
    c.note(24, 330, "the memory: a running sum,", "start")
    c.note(24, 348, "no matrix on its way", "start")
    c.text(180, 448, "$c_t = f_t ⊙ c_{t-1} + i_t ⊙ g_t$,  $h_t = o_t ⊙ \\rm{tanh}(c_t)$", 13)
    c.note(180, 468, f"gates, $c_t$ and $h_t$: (B, {H})")
    return c
