"""A recurrent encoder-decoder with attention: one step of the decoder attends to all encoder states."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

WORDS = ("x_1", "x_2", "x_3", "x_4")


def draw() -> Canvas:
    """Draw one decoder step: attention to encoder states gives the context vector c_t, which predicts the next word."""
    c = Canvas(360, 520, "An encoder-decoder that looks back: one step of the decoder",
               "At the bottom four source words x_1 to x_4; a recurrent encoder that reads both ways turns each into a state "
               "h_1 to h_4, forward and backward side by side. In the middle the score compares the decoder's last state "
               "h_{t-1}, from the left, with each of the four states; a softmax makes four shares alpha that sum to one; "
               "the states, weighted by their shares, add up to the context vector c_t. At the top the decoder's cell reads "
               "the last state h_{t-1}, the last word y_{t-1} and c_t and gives h_t; a linear layer and a softmax give the "
               "distribution of the word y_t. Without attention c_t would be the encoder's last state at every step.")
    columns = (120, 184, 248, 312)
    middle = sum(columns) / 4
    encoder = c.layer(middle, 440, 250, 30, "encoder, both ways")
    score = c.layer(middle, 324, 250, 30, "score $s(h_{t-1}, h_τ)$")
    softmax = c.operation(middle, 268, 250, 28, "softmax over $τ$")
    total = c.plus(middle, 206)
    context = c.tensor(middle, 160, 54, 30, "$c_t$")
    for k, x in enumerate(columns, 1):
        word = c.tensor(x, 492, 40, 28, f"$x_{k}$")
        state = c.tensor(x, 384, 40, 30, f"$h_{k}$")
        c.line(word.top(), (x, encoder.y + 15))
        c.line((x, encoder.y - 15), state.bottom())
        c.line(state.top(), (x, score.y + 15))
        c.line((x, softmax.y - 14), total.bottom() if abs(x - middle) < 1 else (x, 206), kind="attend", head=False)
    c.line((columns[0], 206), total.left(), kind="attend")
    c.line((columns[-1], 206), total.right(), kind="attend")
    c.line(score.top(), softmax.bottom())
    c.line(total.top(), context.bottom())
    before = c.tensor(40, 96, 54, 30, "$h_{t-1}$")
    last = c.tensor(40, 160, 54, 30, "$y_{t-1}$")
    cell = c.layer(middle, 96, 128, 32, "decoder, a step")
    out = c.layer(middle, 36, 120, 30, "linear, softmax")
    word = c.tensor(328, 36, 44, 30, "$y_t$")
    c.line(before.right(), cell.left())
    c.line(before.left(-4), (8, 92), (8, 324), score.left())
    c.line(last.right(), (150, 160), (150, 128), (cell.x - 40, 128), cell.bottom(-40))
    c.line(context.top(), cell.bottom())
    c.line(cell.top(), out.bottom())
    c.line(out.right(), word.left())
    c.note(322, 84, "$h_t$")
    c.note(322, 104, "(B, H)")
    c.note(300, 160, "(B, 2H)")
    c.note(52, 384, "(B, 4, 2H)")
    c.note(52, 270, "(B, 4)")
    return c
