"""A conditional probability table counted from data with a pseudocount, and its loss on held-out data."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import integer, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "counted_table", chapter="chain-rule", place=9, title="A table counted from data and its held-out loss",
    contract="train (N, m + 1) and held_out (M, m + 1) hold 0 and 1 as whole numbers: the first m columns are the parents, the last column is "
             "the variable to predict. Return a list of two: the table of P(1 given the parents), shape (2,) * m, counted from train with the "
             "pseudocount added to the counts of 0 and of 1, and the mean of -ln P(last column given the parents) over held_out, one number.",
    points=["cpt-table", "chain-rule"], difficulty=2, minutes=20)


@exercise.step
def value_counts(train):
    """How often each value of the last column occurs with each state of the parents, (2,) * (m + 1)."""
    counts = torch.zeros((2,) * train.shape[1], dtype=torch.float64)
    return counts.index_put(train.unbind(dim=1), torch.ones(len(train), dtype=torch.float64), accumulate=True)


@exercise.step
def ratio(one, total):
    """one / total, and 0.5 where both are 0."""
    return torch.where(total > 0, one / total, 0.5)


@exercise.step
def table_of(counts, pseudocount):
    return ratio(counts[..., 1] + pseudocount, counts.sum(dim=-1) + 2 * pseudocount)


@exercise.step
def losses(table, rows):
    """-ln p of the last column of each row, (M,)."""
    *parents, last = rows.unbind(dim=1)
    p = table[tuple(parents)]
    return -torch.where(last == 1, p, 1 - p).log()


@exercise.step
def averaged(values):
    return values.mean()


@exercise.reference()
@exercise.step
def counted_table_reference(train, held_out, pseudocount):
    table = table_of(value_counts(train), pseudocount)
    return [table, averaged(losses(table, held_out))]


@exercise.misconception(
    value_counts,
    "Rows of train that occur several times are counted once. With index tensors, counts[index] += 1 adds 1 to an entry only once: use "
    "index_put with accumulate=True, or a loop.")
def counted_once(train):
    return value_counts.original(train).clamp(max=1)


@exercise.misconception(
    table_of,
    "You add the pseudocount to the count of 1, but only once to the sum of both counts. The sum grows by 2 times the pseudocount, because the "
    "count of 0 grows too.")
def added_once(counts, pseudocount):
    return ratio(counts[..., 1] + pseudocount, counts.sum(dim=-1) + pseudocount)


@exercise.misconception(
    table_of,
    "You add the pseudocount to the relative frequencies. Add it to the counts and then divide, so that it has less influence on states "
    "of the parents with many observations.")
def added_late(counts, pseudocount):
    return (ratio(counts[..., 1], counts.sum(dim=-1)) + pseudocount) / (1 + 2 * pseudocount)


@exercise.misconception(
    table_of,
    "You do not use the pseudocount: your table holds the relative frequencies in train. A value that does not occur then has probability 0.")
def not_smoothed(counts, pseudocount):
    return table_of.original(counts, 0)


@exercise.misconception(
    table_of,
    "You divide by the number of rows of train, so your entries are joint probabilities. Divide by the number of rows with the same parents.")
def not_conditioned(counts, pseudocount):
    return (counts[..., 1] + pseudocount) / (counts + pseudocount).sum()


@exercise.misconception(
    ratio,
    "With pseudocount 0 the entry of a state of the parents that does not occur in train is 0 / 0 = NaN in your table. Set this entry to 0.5.")
def zero_by_zero(one, total):
    return one / total


@exercise.misconception(
    losses,
    "Your loss is the mean of -ln P(1 given the parents), also for the rows whose last value is 0. The probability of a 0 is one minus the entry.")
def only_ones(table, rows):
    return losses.original(table, torch.cat([rows[:, :-1], torch.ones_like(rows[:, -1:])], dim=1))


@exercise.misconception(
    counted_table_reference,
    "Your loss is that of the training data, on which the table was counted. Compute the loss of held_out.")
def on_train(train, held_out, pseudocount):
    table = table_of(value_counts(train), pseudocount)
    return [table, averaged(losses(table, train))]


@exercise.misconception(
    averaged,
    "You leave out the rows of held_out that have probability 0. If one of them has probability 0, the mean is infinite.")
def finite_only(values):
    return values[values.isfinite()].mean()


@exercise.misconception(averaged, "Your loss is in bits. The natural logarithm gives nats.")
def in_bits(values):
    return values.mean() / math.log(2)


@exercise.misconception(
    counted_table_reference,
    "The axes of your table are reversed. Axis j belongs to parent j, so in the number of a state the first parent is the highest bit, not the lowest.")
def lowest_first(train, held_out, pseudocount):
    table, loss = counted_table_reference.original(train, held_out, pseudocount)
    return [table.permute(tuple(range(table.ndim))[::-1]), loss]


def shuffled(generator, counts):
    """Rows in random order, each state as often as `counts`, (2,) * n, says."""
    rows = torch.cartesian_prod(*[torch.arange(2)] * counts.ndim).reshape(-1, counts.ndim)
    rows = rows.repeat_interleave(counts.flatten(), dim=0)
    return rows[torch.randperm(len(rows), generator=generator)]


def uneven_counts(generator, m):
    """At least two rows for each state of the parents with each value, and never equally many."""
    counts = torch.zeros((2,) * (m + 1), dtype=torch.long)
    for row in counts.view(-1, 2):
        few = integer(generator, 2, 4)
        row[:] = torch.tensor([few, few + integer(generator, 1, 5)])[torch.randperm(2, generator=generator)]
    return counts


def held_out_rows(generator, m, *extra):
    """Random rows that hold both values, and the rows `extra`."""
    rows = torch.randint(0, 2, (integer(generator, 7, 12), m + 1), generator=generator)
    rows[0, -1], rows[1, -1] = 0, 1
    return torch.cat([rows, *[torch.tensor([row]) for row in extra]]).long()


def table_cases(generator):
    """No parents, and two or three of them; an unseen state with and without a pseudocount; a value that was not counted."""
    cases = []
    for m in (2, 3, 0):
        counts, pseudocount = uneven_counts(generator, m), float(uniform(generator, low=0.1, high=2.0))
        cases.append((shuffled(generator, counts), held_out_rows(generator, m), pseudocount))
    for pseudocount in (integer(generator, 1, 3), 0):                    # the state 1, 0 is unseen
        counts = uneven_counts(generator, 2)
        counts[1, 0] = 0
        cases.append((shuffled(generator, counts), held_out_rows(generator, 2, [1, 0, 1]), pseudocount))
    counts = uneven_counts(generator, 3)
    counts[0, 1, 1, 0] = 0                                               # the value 0 never follows 0, 1, 1
    return [*cases, (shuffled(generator, counts), held_out_rows(generator, 3, [0, 1, 1, 0], [0, 1, 1, 1]), 0),
            (shuffled(generator, counts)[:1], held_out_rows(generator, 3)[:1], 0.5)]


exercise.compare("values", table_cases, points=5)
exercise.unchanged(table_cases)
exercise.hint(
    "You do not know how to count the rows of each state of the parents.",
    "A tensor of shape (2,) * (m + 1) has one entry for each state of the parents with each value. A loop over the rows of train adds 1 to one entry for "
    "each row: counts[tuple(row.tolist())] += 1.")
exercise.hint(
    "The table is right, and you do not know how to compute the loss.",
    "table[tuple(held_out[:, :-1].T)] looks up P(1 given the parents) for all rows, shape (M,). Where the last value is 0, use one minus this "
    "probability.")
exercise.hint(
    "The result is NaN.",
    "With pseudocount 0 an unseen state gives 0 / 0, and its entry should be 0.5. In the loss select the probability of the observed value "
    "with torch.where before you take the logarithm, because 0 times ln 0 is NaN.")
