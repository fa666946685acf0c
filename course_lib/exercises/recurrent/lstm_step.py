"""A step of an LSTM, with torch's weights."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "lstm_step", chapter="recurrent", place=2, title="A step of an LSTM",
    contract="x (B, I); h and c (B, H); W (4H, I); U (4H, H); b (4H,), the rows of the input gate i, the forget gate f, the "
             "candidate g and the output gate o one below the other, as in torch.nn.LSTM. With c' = f * c + i * g "
             "and h' = o * tanh(c'), return torch.stack([h', c']), (2, B, H).",
    points=["lstm-gru"], difficulty=3, minutes=20, forbid=("torch.lstm", "torch.lstm_cell"))


@exercise.step
def pre_activations(x, h, W, U, b):
    return x @ W.T + h @ U.T + b                                               # (B, 4H)


@exercise.step
def blocks(a):
    """The pre-activations of i, f, g and o, each (B, H)."""
    return a.chunk(4, dim=1)


@exercise.step
def gates(i, f, g, o):
    return i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()


@exercise.step
def new_memory(i, f, g, c):
    return f * c + i * g


@exercise.step
def new_state(i, f, g, o, c):
    new = new_memory(i, f, g, c)
    return torch.stack([o * new.tanh(), new])


@exercise.reference()
def lstm_step_reference(x, h, c, W, U, b):
    return new_state(*gates(*blocks(pre_activations(x, h, W, U, b))), c)


@exercise.misconception(blocks, "Your gates are cut as i, f, o, g. Torch's order is i, f, g, o.")
def other_order(a):
    i, f, o, g = blocks.original(a)
    return i, f, g, o


@exercise.misconception(
    blocks,
    "You take the rows four by four: i, f, g and o of the first unit, then those of the second. They stand in four blocks "
    "of H rows, all of i first.")
def unit_by_unit(a):
    return a.unflatten(1, (-1, 4)).unbind(2)


@exercise.misconception(
    gates,
    "Your input gate and your forget gate are exchanged: f multiplies the old memory, i the candidate.")
def exchanged(i, f, g, o):
    return gates.original(f, i, g, o)


@exercise.misconception(
    gates,
    "You add 1 to the pre-activation of your forget gate. A bias of 1 is an initial value for training; in a step it is already "
    "in b, or it is absent.")
def forgets_less(i, f, g, o):
    return gates.original(i, f + 1, g, o)


@exercise.misconception(new_memory, "Your memory is c + i * g: nothing is ever forgotten. The forget gate multiplies c.")
def keeps_all(i, f, g, c):
    return c + i * g


@exercise.misconception(new_state, "Your h is o * c. The memory goes through tanh before the output gate multiplies it.")
def no_tanh(i, f, g, o, c):
    new = new_memory(i, f, g, c)
    return torch.stack([o * new, new])


@exercise.misconception(new_state, "Your h uses the memory from before the step. It is o times tanh of the new one.")
def old_memory(i, f, g, o, c):
    return torch.stack([o * c.tanh(), new_memory(i, f, g, c)])


def inputs(generator, B: int, n: int, H: int) -> tuple:
    return (normal(generator, B, n), normal(generator, B, H, scale=0.7), normal(generator, B, H, scale=1.5),
            normal(generator, 4 * H, n, scale=0.8), normal(generator, 4 * H, H, scale=0.8), normal(generator, 4 * H, scale=0.8))


def step_cases(generator):
    return [inputs(generator, *uneven(generator, (2, 4), (3, 6), (4, 7))),
            inputs(generator, *uneven(generator, (5, 6), (2, 3), (3, 5)))]


def edge_cases(generator):
    """One row; one unit."""
    return [inputs(generator, 1, 3, 5), inputs(generator, 4, 3, 1)]


exercise.compare("values", step_cases, points=3)
exercise.compare("one row, one unit", edge_cases, points=1)
exercise.unchanged(step_cases)
exercise.gradient("gradient", step_cases, wrt=(0, 1, 2, 3, 4, 5), points=1)
exercise.hint(
    "You do not know how to get four gates from one matrix.",
    "a = x @ W.T + h @ U.T + b is (B, 4H). a.chunk(4, dim=1) cuts it into four of (B, H), in the order of the rows.")
exercise.hint(
    "Your c' is right and your h' is not.",
    "h' = o * tanh(c'), with the new memory. And the output gate is the last of the four, after the candidate.")
exercise.hint(
    "Your c' is not right.",
    "Three of the four pieces go through a sigmoid; the third one, g, goes through tanh. The second one, f, multiplies c.")
