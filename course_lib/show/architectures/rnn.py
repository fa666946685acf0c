"""The recurrent network, unrolled over a word: a state that the same weights update at every letter."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

WORD, LETTERS, H = "hello", 4, 3                                     # the slide's word; V letters; the width of the state
T = len(WORD) - 1


def draw() -> Canvas:
    """Draw an RNN language model: x_t and h_{t-1} determine h_t, and h_t predicts the next letter."""
    c = Canvas(360, 482, "A recurrent network, unrolled over the word hello",
               "From left to right four steps. At step t the letter x_t, one of h, e, l, l, comes in from above and is "
               "multiplied by W_xh; the state h_{t-1} comes in from the left and is multiplied by W_hh; their sum goes "
               "through tanh and is the new state h_t. Below it W_hy turns h_t into logits o_t, one for each of the four "
               "letters, and a softmax gives the distribution of the next letter: e, l, l, o. The weights are tied: W_xh, "
               "W_hh and W_hy are the same at every step. The first state is h_0 = b_0. All that step 4 knows of step 1 "
               "came along the one line of states.")
    column = [104, 180, 256, 326]
    middle = (column[0] + column[-1]) / 2
    for y in (92, 262):
        c.band(middle, y, column[-1] - column[0] + 62, 40)
    before = c.tensor(24, 200, 34, 30, "$h_0$")
    c.note(24, 228, "$= b_0$")
    for t, x in enumerate(column, 1):
        letter = c.tensor(x, 30, 34, 30, WORD[t - 1])
        into = c.weight(x, 92, "$W_{xh}$", 52, 30, tied=True, size=12.5)
        total = c.plus(x, 146)
        state = c.tensor(x, 200, 34, 30, f"$h_{t}$")
        across = c.weight((before.x + x) / 2, 146, "$W_{hh}$", 44, 30, tied=True, size=12)
        out = c.weight(x, 262, "$W_{hy}$", 52, 30, tied=True, size=12.5)
        logits = c.tensor(x, 314, 34, 30, f"$o_{t}$")
        following = c.tensor(x, 382, 34, 30, WORD[t])
        c.line(letter.bottom(), into.top())
        c.line(into.bottom(), total.top())
        c.line(before.right(), (across.x, 200), across.bottom())
        c.line(across.right(), total.left(), head=False)
        c.line(total.bottom(), state.top())
        c.line(state.bottom(), out.top())
        c.line(out.bottom(), logits.top())
        c.line(logits.bottom(), following.top())
        before = state
    c.text(62, 30, "$x_t$", 13)
    c.text(62, 314, "$o_t$", 13)
    c.note(46, 348, "softmax")
    c.note(46, 382, "next")
    c.text(180, 424, "$h_t = \\rm{tanh}(W_{hh} h_{t-1} + W_{xh} x_t)$,  $o_t = W_{hy} h_t$", 13)
    c.note(180, 448, f"$x_t$ (B, {LETTERS}), one-hot;  $h_t$ (B, {H});  $o_t$ (B, {LETTERS})")
    c.note(180, 468, "double lines: the same weights at every step")
    return c
