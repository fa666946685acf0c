"""Chapter 14: the sinusoidal table, an offset as a matrix, the combined encoding, and a table with broken pairs."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

# The sinusoidal table

positional_encoding = Exercise(
    "positional_encoding", chapter="14", title="The table of sines and cosines",
    contract="T positions, counted from 0, and a width d. Return the table (T, d): sin(k / 10000^(2i/d)) in column 2i "
             "of row k, and the cosine of the same angle in column 2i + 1. An odd d ends with a sine.",
    points=["sinusoidal"], difficulty=2, minutes=20)


@positional_encoding.reference(
    from_one="Your positions start at 1. The first row belongs to position 0: its sines are 0 and its cosines 1.",
    transposed="Your table has a column for each position. A row for each is asked for.",
    halves="Your sines stand in the left half and your cosines in the right half. They alternate here: 2i and 2i + 1.",
    cosine_first="Your even columns hold the cosines. Column 2i is the sine, column 2i + 1 the cosine.",
    own_speed="Each of your columns has a speed of its own. A sine and the cosine beside it share one: i counts pairs, "
              "not columns.",
    base_of_the_example="Your speeds are those of base 100. That is the slide's small example, and also what an "
                        "exponent of i/d gives, since 100 is the root of 10000. It is 10000, to the power 2i/d.",
    upside_down="Your angles grow with the column: the power of 10000 divides the position.",
    all_sines="Your odd columns hold sines too. They hold the cosine of the same angle.",
    degrees="Your angles are taken as degrees. torch.sin and the formula mean radians.",
    odd_dropped="With an odd width your table is one column short. The last sine stays, without a cosine.",
)
def positional_encoding_reference(T, d, bugs=frozenset()):
    k = torch.arange(T, dtype=torch.float64) + ("from_one" in bugs)
    column = torch.arange(d, dtype=torch.float64)
    pair = column if "own_speed" in bugs else 2 * (column // 2)                # 2i in both columns of pair i
    base = 100.0 if "base_of_the_example" in bugs else 10000.0
    omega = base ** ((1 if "upside_down" in bugs else -1) * pair / d)
    angle = k[:, None] * omega                                                 # (T, d)
    if "degrees" in bugs:
        angle = angle * math.pi / 180
    even = (torch.arange(d) % 2 == 0) != ("cosine_first" in bugs)
    table = torch.where(even | ("all_sines" in bugs), angle.sin(), angle.cos())
    if "halves" in bugs:
        table = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    if "odd_dropped" in bugs:
        table = table[:, :d - d % 2]
    return table.T if "transposed" in bugs else table


def table_cases(generator):
    sizes = [uneven(generator, (5, 30), (3, 6)), uneven(generator, (20, 40), (2, 4)), [1, 3], [2, 1]]
    return [(T, 2 * half + odd) for (T, half), odd in zip(sizes, (0, 1, 0, 1), strict=True)]


positional_encoding.compare("values", table_cases, points=5)
positional_encoding.hint(
    "You do not see how to fill the columns in pairs.",
    "Make the angles first: positions (T, 1) times speeds (1, d/2) give (T, d/2). Then their sines go into the columns "
    "0::2 of an empty table and their cosines into 1::2.")
positional_encoding.hint(
    "The first two columns are right and the others are not.",
    "There the exponent counts. Pair i has the exponent 2i/d, with i = 0, 1, ..., so for d = 4 the second pair divides "
    "by the square root of 10000.")
positional_encoding.hint(
    "An odd width raises an error.",
    "There is one sine more than there are cosines. Make enough speeds for the sines, and cut the cosines to fit.")

# An offset as a matrix

shift_rotation = Exercise(
    "shift_rotation", chapter="14", title="An offset as a matrix",
    contract="o is an offset, of either sign; d an even width; n the base. Return the matrix R (d, d) with "
             "p(k + o) = R p(k) for every position k, where p(k) is row k of the sinusoidal table of width d and base "
             "n, sines in the even and cosines in the odd places.",
    points=["sinusoid-offsets"], difficulty=3, minutes=25)


@shift_rotation.reference(
    turned_back="Your matrix takes p(k + o) back to p(k): it turns the other way. With the sine first, the block is "
                "[[cos, sin], [-sin, cos]].",
    mirrored="Your blocks are reflections: their determinant is -1. One of the two sines takes a minus sign.",
    one_speed="All your blocks turn by the same angle. Pair i turns by o times its own frequency.",
    diagonal_only="Your matrix is diagonal. The new sine needs the old cosine as well.",
    halves="Your matrix is for a table with all sines first and all cosines after them. Here they alternate.",
    slow_first="Your pairs are in the wrong order: the first one turns fastest.",
    half_exponent="Your angles fall too slowly from pair to pair: the frequency of pair i is n^(-2i/d).",
    base_fixed="Your matrix does not use the base n that was passed.",
    sign_ignored="An offset backwards turns your pairs forwards.",
)
def shift_rotation_reference(o, d, n, bugs=frozenset()):
    i = torch.arange(d // 2, dtype=torch.float64)
    n = 10000.0 if "base_fixed" in bugs else float(n)
    omega = n ** (-(1 if "half_exponent" in bugs else 2) * i / d)
    if "one_speed" in bugs:
        omega = torch.ones_like(omega)
    if "slow_first" in bugs:
        omega = omega.flip(0)
    angle = omega * (abs(o) if "sign_ignored" in bugs else o)
    cos, sin = angle.cos(), angle.sin()
    if "diagonal_only" in bugs:
        sin = torch.zeros_like(sin)
    if "turned_back" in bugs:
        sin = -sin
    R = torch.zeros(d, d, dtype=torch.float64)
    even, odd = 2 * torch.arange(d // 2), 2 * torch.arange(d // 2) + 1
    if "halves" in bugs:
        even, odd = torch.arange(d // 2), torch.arange(d // 2) + d // 2
    mirrored = "mirrored" in bugs
    R[even, even], R[even, odd] = cos, sin
    R[odd, even], R[odd, odd] = (sin, -cos) if mirrored else (-sin, cos)
    return R


def rotation_cases(generator):
    return [(integer(generator, 1, 5), 2 * integer(generator, 2, 3), 10000.0),
            (-integer(generator, 1, 9), 2 * integer(generator, 3, 5), float(integer(generator, 20, 200))),
            (integer(generator, 10, 40), 8, float(integer(generator, 300, 900)))]


shift_rotation.compare("values", rotation_cases, points=5)
shift_rotation.hint(
    "You do not know where a matrix should come from.",
    "Take one pair. sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b - sin a sin b, with "
    "a = omega k and b = omega o. The factors of sin a and cos a are the entries.")
shift_rotation.hint(
    "One pair works, and you have d/2 of them.",
    "The pairs do not mix. Put each 2 x 2 block on the diagonal: torch.block_diag(*blocks), or fill R[0::2, 0::2] and "
    "its three companions with diagonal matrices.")
shift_rotation.hint(
    "You want to test it yourself.",
    "Make the table, multiply R with row 3 and compare with row 3 + o. Then another row: R must not know k. Then a "
    "negative o.")

# Word and position in one hidden layer

combined_position = Exercise(
    "combined_position", chapter="14", title="Word and position in one hidden layer",
    contract="x (B, T, d) holds embeddings; W_x (d, h), W_e (n_max, h) with n_max >= T, W (h, d). With e_k the one-hot "
             "vector of position k, counted from 0, return W' ReLU(W_x' x_k + W_e' e_k) for every word, shape "
             "(B, T, d). The prime is the transpose.",
    points=["one-hot-position", "combined-position"], difficulty=2, minutes=20)


@combined_position.reference(
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


combined_position.compare("values", combined_cases, points=4)
combined_position.gradient("gradient", combined_cases, wrt=(0, 1, 2, 3), points=1)
combined_position.unchanged(combined_cases)
combined_position.hint(
    "You built the one-hot vectors, and the shapes do not fit.",
    "They are (T, n_max), and W_e is (n_max, h): e @ W_e is (T, h), and adds to x @ W_x, which is (B, T, h). The "
    "product is also W_e[:T], without any one-hot vector.")
combined_position.hint(
    "The transposes of the formula confuse you.",
    "On the slide x_k is a column. Here the words are rows, so W_x' x_k is the row x_k @ W_x: no transpose is left.")
combined_position.hint(
    "The values are near, but wrong.",
    "Add first, then one ReLU on the sum, then W. Try a table longer than the sentence too: position k is row k from "
    "the top.")

# Broken pairs

find_position_fault = Exercise(
    "find_position_fault", chapter="14", title="Find the broken pairs",
    contract="encode is a function: for positions (N,), integers from 0 to n - 1, it returns a table (N, d), d even. "
             "Columns 2i and 2i + 1 are pair i. A pair is sound if the inner product of its two numbers at k with its "
             "two numbers at k + o depends on the offset o only, for all positions below n. Return the sorted list of "
             "the other pairs, counted from 0.",
    points=["sinusoid-offsets"], difficulty=4, minutes=30, kind="find")


@find_position_fault.reference(
    compared_with_the_formula="You list pairs that are not the paper's. A pair with another speed, length or starting "
                              "angle is sound if its inner products depend on the offset only.",
    lengths_only="You only look at the length of each pair, which is offset 0. A hand can keep its length and still "
                 "turn unevenly.",
    neighbours_only="You only compare neighbours. Some pairs are fine at offset 1 and break at offset 2.",
    start_only="You only look at the first positions. Some pairs break further on: use all n of them.",
    columns="Your list holds columns. Pair i is the columns 2i and 2i + 1.",
    from_one="You count the pairs from 1. They count from 0.",
    sound_ones="Your list holds the sound pairs. The broken ones are asked for.",
    every_pair="Your list holds every pair. Rounding alone moves an inner product by 1e-15, so two of them count as equal "
               "when they are near; and a pair is two neighbours, the columns 2i and 2i + 1.",
    unsorted="Your list is not sorted.",
)
def find_position_fault_reference(encode, d, n, bugs=frozenset()):
    positions = torch.arange(8 if "start_only" in bugs else n)
    table = encode(positions).double()
    pairs = table.unflatten(1, (-1, 2))                                        # (n, d/2, 2)
    products = torch.einsum("kic,jic->ikj", pairs, pairs)                      # (d/2, n, n)
    moved = (products[:, 1:, 1:] - products[:, :-1, :-1]).abs()                # along each diagonal: zero if sound
    if "lengths_only" in bugs:
        moved = moved.diagonal(dim1=1, dim2=2)
    if "neighbours_only" in bugs:
        moved = moved.diagonal(offset=1, dim1=1, dim2=2)
    broken = moved.flatten(1).amax(dim=1) > (-1 if "every_pair" in bugs else 1e-4)
    if "compared_with_the_formula" in bugs:
        right = positional_encoding_reference(n, d).unflatten(1, (-1, 2))
        broken = (pairs - right).abs().amax(dim=(0, 2)) > 1e-4
    if "sound_ones" in bugs:
        broken = ~broken
    found = broken.nonzero().flatten().tolist()
    if "columns" in bugs:
        found = [column for i in found for column in (2 * i, 2 * i + 1)]
    return sorted((i + ("from_one" in bugs) for i in found), reverse="unsorted" in bugs)


SOUND = ["paper", "swapped", "long", "late start"]
BROKEN = ["two speeds", "growing", "stops", "two sines", "back and forth"]


def encoder(kinds: list[str], speeds: Tensor, n: int):
    """A table function with one pair of each kind, in this order."""
    def encode(positions: Tensor) -> Tensor:
        k, columns = positions.double(), []
        for kind, w in zip(kinds, speeds.tolist(), strict=True):
            angle = w * k
            if kind == "late start":
                angle = angle + 0.9
            if kind == "stops":
                angle = w * k.clamp(max=0.7 * n)
            if kind == "back and forth":                                           # two steps forwards, two back
                angle = w * torch.tensor([0.0, 1.0, 2.0, 1.0], dtype=torch.float64)[positions % 4]
            a, b = angle.sin(), angle.cos()
            if kind == "two speeds":
                b = (1.4 * angle).cos()
            if kind == "two sines":
                b = (angle + 0.3).sin()
            if kind == "swapped":
                a, b = b, a
            size = 1.7 if kind == "long" else 1 + 0.03 * k if kind == "growing" else 1
            columns += [size * a, size * b]
        return torch.stack(columns, dim=1)

    return encode


def fault_cases(generator):
    found = []
    for sound, broken in ((4, 0), (2, 2), (3, 3), (2, 5)):
        kinds = [SOUND[j] for j in torch.randperm(4, generator=generator)[:sound].tolist()]
        kinds += [BROKEN[j] for j in torch.randperm(5, generator=generator)[:broken].tolist()]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        n, d = integer(generator, 40, 60), 2 * len(kinds)
        speeds = uniform(generator, len(kinds), low=0.2, high=1.3).double()
        speeds = torch.where(torch.tensor([kind == "paper" for kind in kinds]),
                             10000.0 ** (-2 * torch.arange(len(kinds)) / d).double(), speeds)
        found.append((encoder(kinds, speeds, n), d, n))
    return found


find_position_fault.compare("values", fault_cases, points=5)
find_position_fault.hint(
    "You do not know what to look at.",
    "Call encode on all positions and cut the table into pairs, (n, d/2, 2). For one pair, the n x n matrix of inner "
    "products holds offset o on its o-th diagonal.")
find_position_fault.hint(
    "You find some of the broken pairs.",
    "A sound pair has one number on every diagonal of that matrix. Compare each entry with the one to its lower right: "
    "all diagonals, from the first position to the last.")
find_position_fault.hint(
    "You list pairs that are not broken.",
    "Do not compare with the formula: another speed, a longer hand, another start or the cosine first is another table, "
    "and a sound one. And leave room for rounding: 1e-4 is plenty.")

EXERCISES = [positional_encoding, shift_rotation, combined_position, find_position_fault]
