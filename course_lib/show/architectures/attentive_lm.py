"""A recurrent language model with attention: its output layer takes the state and the context vector."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

V, H = 13, 32                                                        # the symbols and the state of chapter attention's recall task


def draw() -> Canvas:
    """Draw step t = 4: h_4 attends to earlier states, and the output layer takes h_4 and the context vector c_4."""
    c = Canvas(360, 640, "A recurrent language model that looks back: its output layer",
               "From top to bottom, at step 4. The tokens x_1 to x_4 go through the recurrent layers, from left to right, and "
               "give the states h_1 to h_4. The score compares h_4, the query, with each state before it, h_1 to h_3, and not "
               "with itself; a softmax makes three shares alpha that sum to one; the states, weighted by their shares, add up "
               "to the context vector c_4. The state h_4 goes down past the score as well: both stand side by side in "
               "[h_4; c_4], twice as wide as a state. One linear layer, W_cy with the bias b_y, turns them into the logits "
               "z_4, and a softmax gives the distribution of the next token, x_5. Without attention the layer would read h_4 "
               "alone.")
    columns = (50, 120, 190, 300)
    middle = columns[1]
    layers = c.layer(175, 84, 300, 30, "recurrent layers")
    score = c.layer(middle, 206, 190, 30, "score $s(h_4, h_τ)$")
    softmax = c.operation(middle, 262, 190, 28, "softmax over $τ < 4$")
    total = c.plus(middle, 318)
    context = c.tensor(middle, 370, 54, 30, "$c_4$")
    both = c.tensor(205, 436, 240, 30, "$[h_4; c_4]$")
    out = c.layer(205, 492, 240, 30, "linear: $W_{cy}$, $b_y$")
    logits = c.tensor(205, 546, 60, 30, "$z_4$")
    for k, x in enumerate(columns, 1):
        token = c.tensor(x, 30, 40, 28, f"$x_{k}$")
        state = c.tensor(x, 140, 40, 30, f"$h_{k}$")
        c.line(token.bottom(), (x, layers.y - 15))
        c.line((x, layers.y + 15), state.top())
        if k == len(columns):
            c.line(state.bottom(-8), (x - 8, score.y), score.right())
            c.line(state.bottom(8), (x + 8, both.y - 15))
            continue
        c.line(state.bottom(), (x, score.y - 15))
        below = {50: ((x, total.y), total.left()), 190: ((x, total.y), total.right())}.get(x, (total.top(),))
        c.line((x, softmax.y + 14), *below, kind="attend")
    c.line(score.bottom(), softmax.top())
    c.line(total.bottom(), context.top())
    c.line(context.bottom(), (middle, both.y - 15))
    c.line(both.bottom(), out.top())
    c.line(out.bottom(), logits.top())
    c.line(logits.right(), (320, logits.y))
    c.text(340, logits.y, "$x_5$", 13)
    c.note(278, logits.y - 14, "softmax")
    c.note(240, 140, f"(B, {H})")
    c.note(190, 370, f"(B, {H})")
    c.note(48, 436, f"(B, {2 * H})")
    c.note(146, logits.y, f"(B, {V})")
    c.text(180, 594, "$z_t = W_{cy} [h_t; c_t] + b_y$", 13)
    c.note(180, 618, "the memory is $h_1$ to $h_{t-1}$;  $c_1 = 0$")
    return c
