"""How long sequences may be for a table of all of them, and for the outputs of all steps, to fit into memory."""
from __future__ import annotations

import math

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "longest_table", chapter="chain-rule", place=5, title="A table over all sequences",
    contract="vocabulary >= 2 and memory >= 0 are whole numbers; each probability takes 4 bytes. Return a list of two whole numbers: the largest L "
             "such that a table of all vocabulary ** L sequences of length L takes at most `memory` bytes (0 if not even L = 1 fits), and the "
             "largest L such that the softmax outputs of all L steps of one sequence do, vocabulary for each step.",
    points=["infeasible-softmax"], difficulty=1, minutes=10)


@exercise.step
def entries(memory):
    """How many probabilities fit."""
    return memory // 4


@exercise.step
def largest_power(vocabulary, count):
    L = 0
    while vocabulary ** (L + 1) <= count:
        L += 1
    return L


@exercise.step
def steps(vocabulary, count):
    """The number of steps, each with one softmax over the vocabulary."""
    return count // vocabulary


@exercise.step
def steps_that_fit(vocabulary, memory):
    return steps(vocabulary, entries(memory))


@exercise.reference()
def longest_table_reference(vocabulary, memory):
    return [largest_power(vocabulary, entries(memory)), steps_that_fit(vocabulary, memory)]


@exercise.misconception(entries, "You count one byte per entry. Each probability takes 4 bytes.")
def one_byte(memory):
    return memory


@exercise.misconception(entries, "You multiply the memory by 4. Each entry takes 4 bytes, so divide.")
def multiplied(memory):
    return 4 * memory


@exercise.misconception(
    largest_power,
    "Your table has vocabulary * L entries, the number of probabilities that the chain rule computes for one sequence. A table over all "
    "sequences has vocabulary ** L.")
def linear(vocabulary, count):
    return count // vocabulary


@exercise.misconception(
    steps,
    "Your second number is that of a table over all sequences. With the chain rule each step has one softmax over the vocabulary, so L steps have "
    "vocabulary * L outputs.")
def exponential(vocabulary, count):
    return largest_power(vocabulary, count)


@exercise.misconception(
    steps,
    "Your second number counts one output per step. Each step has a softmax over the whole vocabulary.")
def one_output(vocabulary, count):
    return count


@exercise.misconception(
    steps_that_fit,
    "Your second number counts one byte per output. Each output takes 4 bytes, so L steps need 4 * vocabulary * L "
    "bytes.")
def one_byte_outputs(vocabulary, memory):
    return memory // vocabulary


@exercise.misconception(largest_power, "Your first L is one too large: the table for it does not fit into the memory.")
def one_more(vocabulary, count):
    return largest_power.original(vocabulary, count) + (count > 0)


@exercise.misconception(
    largest_power,
    "Your first number is one too small where the table fits exactly. The size may be equal to the memory.")
def strictly_below(vocabulary, count):
    return largest_power.original(vocabulary, count - 1) if count else 0


@exercise.misconception(
    largest_power,
    "Your first number is wrong where the table fits exactly or almost: the quotient of two logarithms in floating point is slightly off. "
    "Compare whole numbers.")
def by_logarithms(vocabulary, count):
    return int(math.log(count) / math.log(vocabulary)) if count else 0


def sizes(generator):
    """Memories that are an exact fit, one byte less, and in between; a vocabulary that is a slide's; none at all."""
    V, L = integer(generator, 3, 12), integer(generator, 2, 6)
    return [(V, 4 * V ** L), (V, 4 * V ** L - 1), (30_000, 80 * 10 ** 9), (2, 16 * 2 ** 30), (50_257, 4 * 50_257 - 1),
            (V, 0), (10, 4 * 10 ** 3), (5, 4 * 5 ** 3), (V, 4 * V + 1), (30_000, 10 ** 18)]


exercise.compare("values", sizes, points=3)
exercise.hint(
    "You do not know where to begin.",
    "memory // 4 probabilities fit. For the table, multiply 1 by the vocabulary as long as the product does not exceed this number, and count "
    "the multiplications. For the steps, divide it by the vocabulary.")
exercise.hint(
    "Most results are right, but one is off by one.",
    "math.log(1000) / math.log(10) is 2.9999999999999996 in floating point. Whole numbers of any size are exact in Python.")
