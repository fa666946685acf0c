"""Samples from conditional probability tables, one variable after the other."""
from __future__ import annotations

import torch

from course_lib.exercises.bits import bit_step
from course_lib.exercises.draws import integer, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.calls import same

exercise = Exercise(
    "ancestral_sample", chapter="chain-rule", place=6, title="Ancestral sampling from tables",
    contract="tables is a list of n tables, as ordered_tables returns it in the natural order: table k has shape (2,) * k and holds the "
             "probability that variable k is 1, given the variables 0, ..., k - 1, one axis each. u (B, n) holds uniform numbers in [0, 1). "
             "Return whole numbers x (B, n): x[b, k] is 1 where u[b, k] < p(x_k = 1 | x[b, :k]), with the sampled x[b, :k], else 0.",
    points=["four-questions", "cpt-table"], difficulty=2, minutes=20)


@exercise.step
def probability(table, before):
    """The entry of the table for each row of `before`, the sampled values (B, k)."""
    return table[before.unbind(dim=1)].expand(len(before))                     # of the first table the only entry, for each row


@exercise.step
def uniforms(u, k):
    return u[:, k]


sampled = bit_step(exercise)


@exercise.reference()
@exercise.step
def ancestral_sample_reference(tables, u):
    x = torch.zeros(u.shape, dtype=torch.long)
    for k, table in enumerate(tables):
        x[:, k] = sampled(uniforms(u, k), probability(table, x[:, :k])).long()
    return x


@exercise.misconception(
    sampled,
    "Where u[b, k] is equal to the probability your sample is 1; it should be 0. Otherwise a value of probability 0 could be sampled, "
    "because u can be exactly 0.")
def at_most(u, p):
    return (u <= p).to(u.dtype)


@exercise.misconception(
    ancestral_sample_reference,
    "Your samples of a variable do not depend on the values sampled before it: you sample each variable from its marginal distribution. "
    "Use the entry of its table that belongs to the sampled values.")
def marginals(tables, u):
    x, joint = torch.zeros(u.shape, dtype=torch.long), torch.ones(())
    for k, table in enumerate(tables):
        x[:, k] = sampled(uniforms(u, k), (joint * table).sum().expand(len(u))).long()
        joint = torch.stack([joint * (1 - table), joint * table], dim=-1)
    return x


@exercise.misconception(
    ancestral_sample_reference,
    "You look up each probability at the rounded probabilities of the earlier variables, so every row uses the same entry. The condition is "
    "the values that this row has sampled.")
def at_rounded_probabilities(tables, u):
    x, rounded = torch.zeros(u.shape, dtype=torch.long), torch.zeros(u.shape, dtype=torch.long)
    for k, table in enumerate(tables):
        p = probability(table, rounded[:, :k])
        x[:, k], rounded[:, k] = sampled(uniforms(u, k), p).long(), (p > 0.5).long()
    return x


@exercise.misconception(
    uniforms,
    "You use the same uniform number for all variables of a row. They are then dependent in a way that the tables do not describe: variable k "
    "needs the number u[:, k].")
def first_uniform(u, k):
    return u[:, 0]


@exercise.misconception(
    probability,
    "You look up all probabilities before anything is sampled, at the entries for zeros. The entry for variable k is known only after the "
    "variables before it have been sampled.")
def all_at_once(table, before):
    return probability.original(table, torch.zeros_like(before))


@exercise.misconception(
    probability,
    "You index the tables in reversed order, with the last sampled variable first. Axis j of a table belongs to variable j.")
def reversed_axes(table, before):
    return probability.original(table, before.flip(1))


def random_tables(generator, n):
    """Tables with entries from 0.1 to 0.9."""
    return [uniform(generator, *(2,) * k, low=0.1, high=0.9) for k in range(n)]


def table_cases(generator):
    """One row, one variable, few and many rows; and tables that hold 0 and 1, with a u of exactly 0."""
    cases = [(random_tables(generator, n), uniform(generator, B, n)) for B, n in [(1, 3), (4, 1), (6, 3), (80, integer(generator, 4, 5))]]
    tables, u = random_tables(generator, 3), uniform(generator, 8, 3)
    tables[0], tables[1][1], tables[2][:, 0] = torch.tensor(1.0), 0.0, torch.tensor([0.0, 1.0])
    u[integer(generator, 0, 7), 1:] = 0.0
    return [*cases, (tables, u)]


@exercise.property("the same u, the same sample", points=0)
def repeatable(run, generator, solve):
    tables, u = random_tables(generator, 4), uniform(generator, 40, 4)
    return None if same(run(tables, u), run(tables, u)) else Fault("The same u gives two different samples.", "own_randomness")


exercise.compare("values", table_cases, points=4)
exercise.unchanged(table_cases)
exercise.hint(
    "You do not know where to begin.",
    "Take a single row first. x_0 is 1 if u[0] is less than tables[0]. Then tables[1][x_0] is the probability of x_1 = 1, tables[2][x_0, x_1] "
    "that of x_2 = 1, and so on. A loop over k does this, and x grows by one value in each iteration.")
exercise.hint(
    "It works for one row, and you do not know how to look up the entries of all rows.",
    "A table can be indexed by one tensor of whole numbers per axis, each of shape (B,): table[x[:, 0], x[:, 1]] contains one entry per row. "
    "A tuple gives as many indices as the table has axes: table[tuple(x[:, :k].T)]. A second loop over the rows is right, too.")
exercise.hint(
    "The first variable is right and the later ones are not.",
    "Compute the probability of variable k inside the loop, after the variables before it have been sampled and written into x. Index with "
    "the samples of the same row, the earliest variable first.")
exercise.hint(
    "You use bernoulli() or multinomial() and the check fails.",
    "The random numbers are given in u, so that the result can be tested. x[b, k] is 1 exactly where u[b, k] is less than the probability.")
