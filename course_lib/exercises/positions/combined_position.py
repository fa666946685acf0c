"""Word and position in one hidden layer."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "combined_position", chapter="14", place=3, title="Word and position in one hidden layer",
    contract="x (B, T, d) holds embeddings; W_x (d, h), W_e (n_max, h) with n_max >= T, W (h, d). With e_k the one-hot "
             "vector of position k, counted from 0, return W' ReLU(W_x' x_k + W_e' e_k) for every word, shape "
             "(B, T, d). The prime is the transpose.",
    points=["one-hot-position", "combined-position"], difficulty=2, minutes=10)


@exercise.reference(
    no_relu="There is no ReLU in your function. Without it word and position only add up.",
    separate="Your word and your position pass through a ReLU each. Here one ReLU sees their sum; the other is the "
             "slide's variant with two streams.",
    relu_after="Your ReLU comes last. It belongs between the sum and W.",
    relu_on_words="Your ReLU sees the words only; the position is added after it.",
    no_positions="Your result does not depend on the positions: every place of a sentence is treated alike.",
    first_row="Every word of yours stands at position 0. Position k takes row k of W_e.",
    all_rows="Every word of yours gets the sum of all rows of W_e. A one-hot vector picks one row.",
    from_one="Your positions count from 1: the first word takes row 1 of W_e. It takes row 0.",
    from_the_end="You take the last T rows of W_e. Position k takes row k, however long the table is.",
    backwards="Your positions count from the end of the sentence.",
    residual="You add x to the result. This encoding replaces it.",
)
def combined_position_reference(x, W_x, W_e, W, bugs=frozenset()):
    T, n_max = x.shape[1], len(W_e)
    rows = W_e[:T]                                                             # e_k picks row k
    if "first_row" in bugs:
        rows = W_e[:1].expand(T, -1)
    if "all_rows" in bugs:
        rows = W_e.sum(dim=0).expand(T, -1)
    if "from_one" in bugs:
        rows = W_e[torch.arange(1, T + 1) % n_max]
    if "from_the_end" in bugs:
        rows = W_e[n_max - T:]
    if "backwards" in bugs:
        rows = rows.flip(0)
    if "no_positions" in bugs:
        rows = torch.zeros_like(rows)
    words = x @ W_x                                                            # (B, T, h)
    if "separate" in bugs:
        hidden = words.relu() + rows.relu()
    elif "relu_on_words" in bugs:
        hidden = words.relu() + rows
    else:
        hidden = words + rows if bugs & {"no_relu", "relu_after"} else (words + rows).relu()
    out = hidden @ W                                                           # (B, T, d)
    if "relu_after" in bugs:
        out = out.relu()
    return out + x if "residual" in bugs else out


def combined_cases(generator):
    found = []
    for spare in (2, 0, 5):
        B, T, d, h = uneven(generator, (2, 4), (3, 6), (3, 7), (5, 9))
        found.append((normal(generator, B, T, d), normal(generator, d, h), normal(generator, T + spare, h),
                      normal(generator, h, d)))
    return found


exercise.compare("values", combined_cases, points=4)
exercise.gradient("gradient", combined_cases, wrt=(0, 1, 2, 3), points=1)
exercise.unchanged(combined_cases)
exercise.hint(
    "You built the one-hot vectors, and the shapes do not fit.",
    "They are (T, n_max), and W_e is (n_max, h): e @ W_e is (T, h), and adds to x @ W_x, which is (B, T, h). The "
    "product is also W_e[:T], without any one-hot vector.")
exercise.hint(
    "The transposes of the formula confuse you.",
    "On the slide x_k is a column. Here the words are rows, so W_x' x_k is the row x_k @ W_x: no transpose is left.")
exercise.hint(
    "The values are near, but wrong.",
    "Add first, then one ReLU on the sum, then W. Try a table longer than the sentence too: position k is row k from "
    "the top.")
