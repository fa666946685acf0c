"""A bidirectional RNN that predicts a masked word from a forward network before it and a backward network after it."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

BEFORE, AFTER = ("ate", "the", "cake"), ("the", "fork")              # of: he ate the cake ___ the fork


def draw() -> Canvas:
    """Draw forward states from the left and backward states from the right, joined at the masked word."""
    c = Canvas(360, 470, "A masked word from a forward and a backward recurrent network",
               "From left to right the words ate, the, cake, a gap, the, fork. Below the words before the gap stand the "
               "states of the forward network, each passed on to the right; below the words after the gap those of the "
               "backward network, each passed on to the left. At the gap the last forward state, h of i minus 1, and the "
               "last backward state, h of i plus 1, are put one after the other; a linear layer U and a softmax give the "
               "distribution of the missing word. No line comes from the gap itself. Each network has its own weights, the "
               "same at every place.")
    columns = [38, 96, 154, 206, 258, 316]
    c.band(96, 118, 164, 40)
    c.band(287, 118, 106, 40)
    states = []
    for x, word in zip((*columns[:3], *columns[4:]), (*BEFORE, *AFTER)):
        token = c.tensor(x, 40, 48, 28, word)
        cell = c.layer(x, 118, 46, 30, "RNN", tied=True)
        state = c.tensor(x, 186, 40, 28, "$h$")
        c.line(token.bottom(), cell.top())
        c.line(cell.bottom(), state.top())
        states.append((cell, state))
    for (cell, state), (nearer, _) in zip(states[:2], states[1:3]):
        c.line(state.right(), (nearer.x - 29, 186), (nearer.x - 29, 118), nearer.left())
    cell, state = states[4]
    c.line(state.left(), (287, 186), (287, 118), states[3][0].right())
    c.text(columns[3], 40, "____", 14)
    joined = c.operation(columns[3], 262, 130, 30, "join")
    scores = c.layer(columns[3], 322, 90, 30, "linear $U$")
    word = c.tensor(columns[3], 392, 70, 28, "with")
    c.line(states[2][1].bottom(), (154, 222), (186, 222), (186, 247))
    c.line(states[3][1].bottom(), (258, 222), (226, 222), (226, 247))
    c.line(joined.bottom(), scores.top())
    c.line(scores.bottom(), word.top())
    c.note(246, 360, "softmax")
    c.note(60, 222, "forward")
    c.note(320, 222, "backward")
    c.note(310, 262, "(B, 2H)")
    c.note(290, 322, "(B, V)")
    c.text(180, 440, "$p(w_i) = \\rm{softmax}(U [h_{i-1}; h_{i+1}] + b)$", 13)
    c.note(180, 460, "double lines: one network a direction")
    return c
