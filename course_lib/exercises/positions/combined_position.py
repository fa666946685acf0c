"""Word and position in one hidden layer."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "combined_position", chapter="positions", place=3, title="Word and position in one hidden layer",
    contract="x (B, T, d) holds embeddings; W_x (d, h), W_e (n_max, h) with n_max >= T, W (h, d). With e_k the one-hot "
             "vector of position k, counted from 0, return W' ReLU(W_x' x_k + W_e' e_k) for every word, shape "
             "(B, T, d). The prime is the transpose.",
    points=["one-hot-position", "combined-position"], difficulty=2, minutes=10)


@exercise.step
def positions(W_e, T):
    """W_e' e_k for the first T positions, (T, h): e_k picks row k."""
    return W_e[:T]


@exercise.step
def hidden(words, places):
    return (words + places).relu()                                             # (B, T, h)


@exercise.step
def output(words, places, W):
    return hidden(words, places) @ W                                           # (B, T, d)


@exercise.reference()
@exercise.step
def combined_position_reference(x, W_x, W_e, W):
    return output(x @ W_x, positions(W_e, x.shape[1]), W)


@exercise.misconception(positions, "Your result does not depend on the positions: all positions of a sentence are treated alike.")
def no_positions(W_e, T):
    return torch.zeros_like(W_e[:T])


@exercise.misconception(positions, "Your positions count from 1: the first word takes row 1 of W_e. It takes row 0.")
def from_one(W_e, T):
    return W_e.roll(-1, dims=0)[:T]


@exercise.misconception(
    hidden,
    "There is no ReLU in your function. Without it the contributions of word and position only add up.")
def no_relu(words, places):
    return words + places


@exercise.misconception(
    hidden,
    "Your word and your position pass through a ReLU each. Here one ReLU takes their sum; the other is the slide's variant "
    "with two streams.")
def separate(words, places):
    return words.relu() + places.relu()


@exercise.misconception(
    hidden,
    "You add the position after the ReLU. There it shifts the result by the same vector whatever the word is; inside the ReLU, what it "
    "contributes depends on the word.")
def position_after(words, places):
    return words.relu() + places


@exercise.misconception(
    combined_position_reference,
    "You choose the rows of W_e by the number of the sentence in the batch. Row k belongs to position k, so the words of a sentence take "
    "different rows, and all sentences take the same ones.")
def by_sentence(x, W_x, W_e, W):
    return output(x @ W_x, W_e[torch.arange(len(x))][:, None], W)


@exercise.misconception(output, "Your ReLU comes last. It belongs between the sum and W.")
def relu_after(words, places, W):
    return ((words + places) @ W).relu()


def combined_cases(generator):
    cases = []
    for spare, sizes in ((2, None), (0, None), (5, None), (0, (3, 3, 3, 3)), (1, (1, 1, 4, 5))):
        B, T, d, h = sizes or uneven(generator, (2, 3), (4, 6), (3, 7), (5, 9))
        cases.append((normal(generator, B, T, d), normal(generator, d, h), normal(generator, T + spare, h),
                      normal(generator, h, d)))
    return cases


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
