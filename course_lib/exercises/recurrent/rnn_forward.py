"""All states of an RNN."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

DETACHED = "The values are right, but no gradient passes from a state to the one before. Backpropagation goes through all steps."

exercise = Exercise(
    "rnn_forward", chapter="recurrent", place=1, title="All states of an RNN",
    contract="x (B, T, I); h0 (B, H); Wx (H, I); Wh (H, H); b (H,). h_t = tanh(Wx x_t + Wh h_{t-1} + b), with h0 before the "
             "first step. Return all states h_1 to h_T, (B, T, H).",
    points=["rnn-cell"], difficulty=2, minutes=15, forbid=("torch.rnn_tanh", "torch.rnn_tanh_cell"))


@exercise.step
def next_state(x_t, h, Wx, Wh, b):
    return torch.tanh(x_t @ Wx.T + h @ Wh.T + b)                               # (B, H)


@exercise.reference()
@exercise.step
def rnn_forward_reference(x, h0, Wx, Wh, b):
    h, states = h0, []
    for x_t in x.unbind(1):
        h = next_state(x_t, h, Wx, Wh, b)
        states.append(h)
    return torch.stack(states, 1)


@exercise.misconception(rnn_forward_reference, "Your states do not depend on h0: your recurrence starts from zeros.")
def no_start(x, h0, Wx, Wh, b):
    return rnn_forward_reference.original(x, torch.zeros_like(h0), Wx, Wh, b)


@exercise.misconception(
    rnn_forward_reference,
    "You return the states before each step, h_0 to h_{T-1}. The states after each step are required: h_1 to h_T.")
def before(x, h0, Wx, Wh, b):
    after = rnn_forward_reference.original(x, h0, Wx, Wh, b)
    return torch.cat([h0[:, None], after[:, :-1]], 1)


@exercise.misconception(
    next_state,
    "Your Wh is transposed. It is square, so both fit; row k of Wh belongs to unit k of the new state.")
def transposed(x_t, h, Wx, Wh, b):
    return next_state.original(x_t, h, Wx, Wh.T, b)


@exercise.misconception(next_state, "Your states do not depend on b.")
def no_bias(x_t, h, Wx, Wh, b):
    return next_state.original(x_t, h, Wx, Wh, 0)


@exercise.misconception(
    next_state,
    "You take the tanh of the input's part alone and add the recurrent part outside of it. The tanh is that of the whole sum.")
def input_only(x_t, h, Wx, Wh, b):
    return torch.tanh(x_t @ Wx.T + b) + h @ Wh.T


@exercise.misconception(next_state, DETACHED)
def detached(x_t, h, Wx, Wh, b):
    return next_state.original(x_t, h.detach(), Wx, Wh, b)


@exercise.misconception(rnn_forward_reference, DETACHED)
def detached_after(x, h0, Wx, Wh, b):
    h, states = h0, []
    for x_t in x.unbind(1):
        states.append(next_state(x_t, h, Wx, Wh, b))
        h = states[-1].detach()
    return torch.stack(states, 1)


def inputs(generator, B: int, T: int, n: int, H: int) -> tuple:
    return (normal(generator, B, T, n), normal(generator, B, H), normal(generator, H, n, scale=0.6),
            normal(generator, H, H, scale=0.8 * H ** -0.5), normal(generator, H, scale=0.5))


def state_cases(generator):
    return [inputs(generator, *uneven(generator, (2, 3), (4, 5), (2, 6), (5, 8))),
            inputs(generator, *uneven(generator, (3, 4), (2, 3), (5, 6), (3, 5)))]


def edge_cases(generator):
    """One step, and one row."""
    return [inputs(generator, 3, 1, 4, 5), inputs(generator, 1, 6, 2, 4)]


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
