"""All states of an RNN."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "rnn_forward", chapter="07", place=1, title="All states of an RNN",
    contract="x (B, T, I); h0 (B, H); Wx (H, I); Wh (H, H); b (H,). h_t = tanh(Wx x_t + Wh h_{t-1} + b), with h0 before the "
             "first step. Return all states h_1 to h_T, (B, T, H).",
    points=["rnn-cell"], difficulty=2, minutes=15, forbid=("torch.rnn_tanh", "torch.rnn_tanh_cell"))


@exercise.reference(
    no_start="Your states do not depend on h0: your memory starts from zeros.",
    no_memory="Every step of yours starts from h0. Step t reads the state of step t - 1.",
    transposed="Your Wh is transposed. It is square, so both fit; row k of Wh belongs to unit k of the new state.",
    no_bias="Your states do not depend on b.",
    linear="Your memory does not go through tanh.",
    sigmoid="Your states come from a sigmoid. This network takes tanh.",
    input_only="Your tanh is taken of the input's part alone, and the memory's part is added outside of it. The tanh is that of "
               "the whole sum.",
    before="You return the states before each step, h_0 to h_{T-1}. Asked are those after: h_1 to h_T.",
    backwards="You read the sequence from its end. x[:, 0] comes first.",
    detached="The values are right, but no gradient passes from a state to the one before. Back-propagation goes through "
             "all steps.",
    first_row="All rows of your batch start from the first row of h0. Each row has a start of its own.",
)
def rnn_forward_reference(x, h0, Wx, Wh, b, bugs=frozenset()):
    h = torch.zeros_like(h0) if "no_start" in bugs else h0[:1].expand_as(h0) if "first_row" in bugs else h0
    across = Wh if "transposed" in bugs else Wh.T
    states = []
    for x_t in (x.flip(1) if "backwards" in bugs else x).unbind(1):
        before = h0 if "no_memory" in bugs else h.detach() if "detached" in bugs else h
        into, kept = x_t @ Wx.T + (0 if "no_bias" in bugs else b), before @ across
        if "before" in bugs:
            states.append(h)
        h = into.tanh() + kept if "input_only" in bugs else into + kept if "linear" in bugs else \
            (into + kept).sigmoid() if "sigmoid" in bugs else (into + kept).tanh()
        if "before" not in bugs:
            states.append(h)
    return torch.stack(states, 1)


def drawn(generator, B: int, T: int, n: int, H: int) -> tuple:
    return (normal(generator, B, T, n), normal(generator, B, H), normal(generator, H, n, scale=0.6),
            normal(generator, H, H, scale=0.8 * H ** -0.5), normal(generator, H, scale=0.5))


def state_cases(generator):
    return [drawn(generator, *uneven(generator, (2, 3), (4, 5), (2, 6), (5, 8))),
            drawn(generator, *uneven(generator, (3, 4), (2, 3), (5, 6), (3, 5)))]


def edge_cases(generator):
    """One step, and one row."""
    return [drawn(generator, 3, 1, 4, 5), drawn(generator, 1, 6, 2, 4)]


exercise.compare("values", state_cases, points=3)
exercise.compare("one step, one row", edge_cases, points=1)
exercise.unchanged(state_cases)
exercise.gradient("gradient", state_cases, wrt=(0, 1, 2, 3, 4), points=1)
exercise.hint(
    "You do not know how to begin.",
    "Keep one variable h, which starts as h0. For each t: h = tanh(...), and append h to a list. torch.stack(list, dim=1) "
    "makes (B, T, H) of it.")
exercise.hint(
    "The shapes do not fit.",
    "For a batch, Wx x_t is x[:, t] @ Wx.T: (B, I) times (I, H). Wh takes the same transpose.")
exercise.hint(
    "The first state is right and the others are not.",
    "Look at what the second step reads: it is the state that the first one made, through Wh, and Wh is not symmetric.")
