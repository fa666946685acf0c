"""A step of an LSTM, with torch's weights."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "lstm_step", chapter="07", place=2, title="A step of an LSTM",
    contract="x (B, I); h and c (B, H); W (4H, I); U (4H, H); b (4H,), the rows of the input gate i, the forget gate f, the "
             "candidate g and the output gate o one below the other, as in torch.nn.LSTM. With c' = f * c + i * g "
             "and h' = o * tanh(c'), return torch.stack([h', c']), (2, B, H).",
    points=["lstm-gru"], difficulty=3, minutes=20, forbid=("torch.lstm", "torch.lstm_cell"))


@exercise.reference(
    other_order="Your gates are cut as i, f, o, g. Torch's order is i, f, g, o.",
    exchanged="Your input gate and your forget gate are exchanged: f multiplies the old memory, i the candidate.",
    forgets_all="Your new memory is i * g alone. What was in c is kept as far as f lets it: + f * c.",
    keeps_all="Your memory is c + i * g: nothing is ever forgotten. The forget gate multiplies c.",
    coupled="Your forget gate is 1 - i. That is what a GRU does; the LSTM has a gate of its own.",
    no_tanh="Your h is o * c. The memory goes through tanh before it is shown.",
    old_memory="Your h shows the memory from before the step. It is tanh of the new one.",
    gate_for_candidate="Your candidate g comes from a sigmoid, so that nothing can be taken away. It is a tanh.",
    no_bias="Your gates do not use b.",
    no_state="Your gates read x alone. They read h too, through U.",
    reads_memory="Your gates read c, through U. They read h.",
    unit_by_unit="You take the rows four by four: i, f, g and o of the first unit, then those of the second. They stand in four blocks "
                 "of H rows, all of i first.",
    forgets_less="You add 1 to what goes into your forget gate. A bias of 1 is where training may begin; in a step it is in b, or "
                 "it is not there.",
    detached="The values are right, but no gradient passes through the old memory: c is cut off.",
)
def lstm_step_reference(x, h, c, W, U, b, bugs=frozenset()):
    reads = torch.zeros_like(h) if "no_state" in bugs else c if "reads_memory" in bugs else h
    a = x @ W.T + reads @ U.T + (0 if "no_bias" in bugs else b)
    i, f, g, o = a.unflatten(1, (-1, 4)).unbind(2) if "unit_by_unit" in bugs else a.chunk(4, dim=1)
    if "forgets_less" in bugs:
        f = f + 1
    if "other_order" in bugs:
        g, o = o, g
    if "exchanged" in bugs:
        i, f = f, i
    i, f, o, g = i.sigmoid(), f.sigmoid(), o.sigmoid(), g.sigmoid() if "gate_for_candidate" in bugs else g.tanh()
    f = 1 - i if "coupled" in bugs else f
    old = c.detach() if "detached" in bugs else c
    kept = 0 if "forgets_all" in bugs else old if "keeps_all" in bugs else f * old
    new = kept + i * g
    shown = c if "old_memory" in bugs else new
    return torch.stack([o * (shown if "no_tanh" in bugs else shown.tanh()), new])


def drawn(generator, B: int, n: int, H: int) -> tuple:
    return (normal(generator, B, n), normal(generator, B, H, scale=0.7), normal(generator, B, H, scale=1.5),
            normal(generator, 4 * H, n, scale=0.8), normal(generator, 4 * H, H, scale=0.8), normal(generator, 4 * H, scale=0.8))


def step_cases(generator):
    return [drawn(generator, *uneven(generator, (2, 4), (3, 6), (4, 7))),
            drawn(generator, *uneven(generator, (5, 6), (2, 3), (3, 5)))]


def edge_cases(generator):
    """One row; one unit."""
    return [drawn(generator, 1, 3, 5), drawn(generator, 4, 3, 1)]


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
