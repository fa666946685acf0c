"""Latent semantic analysis from a singular value decomposition; the sign of each axis is free."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, normal, uniform
from course_lib.grading.checks import Compare, Fault, Record, shape_fault
from course_lib.grading.exercise import Exercise
from course_lib.grading.facts import describe_difference
from course_lib.grading.protocol.calls import Outcome, same

exercise = Exercise(
    "lsa", chapter="documents", place=2, title="Latent semantic analysis",
    contract="weights (N, V) holds documents by words, its singular values all different; k is at most min(N, V); queries (B, V) are "
             "further documents. Return three tensors: documents (N, k), words (V, k) and placed (B, k). With U diag(s) V^T the k "
             "largest singular values of weights and their vectors, document d is the row u_d diag(s), word w the row v_w diag(s), "
             "and a query x the row x V. The sign of an axis is free; it is the same in all three tensors.",
    points=["lsa"], difficulty=2, minutes=20)


@exercise.step
def truncated_svd(X, k):
    """The k largest singular values s (k,), with U (N, k) and V (V, k)."""
    u, s, vt = torch.linalg.svd(X, full_matrices=False)
    return u[:, :k], s[:k], vt[:k].T


@exercise.step
def scaled(u, s, v):
    """The rows of the documents and of the words."""
    return u * s, v * s


@exercise.step
def placed(queries, s, v):
    return queries @ v


@exercise.reference()
def lsa_reference(weights, k, queries):
    u, s, v = truncated_svd(weights.double(), k)
    return tuple(rows.to(weights.dtype) for rows in (*scaled(u, s, v), placed(queries.double(), s, v)))


def signs(columns: Tensor) -> Tensor:
    """The signs that make the entry of largest magnitude in each column positive."""
    return columns.gather(0, columns.abs().argmax(dim=0, keepdim=True)).sign()


@exercise.misconception(
    truncated_svd,
    "Your axes belong to the smallest singular values. The largest ones retain the most of the table.")
def smallest(X, k):
    u, s, vt = torch.linalg.svd(X, full_matrices=False)
    return u[:, -k:], s[-k:], vt[-k:].T


@exercise.misconception(
    truncated_svd,
    "You subtract the means of the columns first. That is principal component analysis; here the table stays as it is.")
def centred(X, k):
    return truncated_svd.original(X - X.mean(0), k)


@exercise.misconception(
    truncated_svd,
    "Your V is the third part of the decomposition as it is returned, and that is V^T: its rows are the axes. Transpose it, V = vt.T, "
    "and then take the first k columns.")
def not_turned(X, k):
    u, s, vt = (part.double() for part in torch.linalg.svd(X.float()))         # as the caller's types give it, signs included
    return u[:, :k], s[:k], vt[:, :k]


@exercise.misconception(
    truncated_svd,
    "The signs of your axes differ between your tensors. If you flip an axis in one tensor, flip it in all three.")
def signs_apart(X, k):
    u, s, v = truncated_svd.original(X, k)
    return u * signs(u), s, v * signs(v)


@exercise.misconception(scaled, "Your rows are those of U and V themselves. Each axis is scaled by its singular value.")
def no_scaling(u, s, v):
    return u, v


@exercise.misconception(scaled, "Your words are the rows of V. They are scaled by the singular values, as the documents are.")
def words_unscaled(u, s, v):
    return u * s, v


@exercise.misconception(
    placed,
    "Your queries are scaled by the singular values. x V is scaled by them already: for a row of the table it is u diag(s).")
def query_scaled(queries, s, v):
    return queries @ v * s


@exercise.misconception(
    placed,
    "You divide the queries by the singular values. The result is comparable with the rows of U, not with u diag(s).")
def query_divided(queries, s, v):
    return queries @ v / s


@dataclass
class UpToSigns(Compare):
    """As Compare, for tensors (_, k) whose axes may be flipped, each in all tensors at once."""

    def turned(self, value: Any, expected: Any) -> Any:
        """The value with the axes of its first tensor flipped as those of the expected one are; other shapes as they are."""
        if shape_fault(value, expected):
            return value
        along = (value[0].double() * expected[0].double()).sum(dim=0)          # (k,)
        way = torch.where(along < 0, -1.0, 1.0)
        return tuple(each * way.to(each.dtype) for each in value)

    def value_fault(self, record: Record) -> Fault | None:
        got = self.turned(record.outcome.value, record.expected)
        return None if same(got, record.expected, self.rtol, self.atol) else Fault(describe_difference(got, record.expected, self.rtol, self.atol))

    def alike(self, record: Record, outcome: Outcome) -> bool:
        if outcome.kind != "value":
            return False
        got, other = (self.turned(value, record.expected) for value in (record.outcome.value, outcome.value))
        if not shape_fault(got, other):                  # an axis of length 0, as a mean taken away leaves, may point anywhere
            some = [one[0].abs().amax(dim=0) > self.atol for one in (got, other)]
            got, other = (tuple(each[:, some[0] | some[1]] for each in value) for value in (got, other))
        return same(got, other, self.rtol, self.atol)


def tables(generator):
    """Singular values well apart; for one axis at least the largest entries of u and v differ in sign."""
    found = []
    for N, V, few in ((5, 8, False), (9, 6, False), (4, 4, True), (3, 7, True)):
        rank = min(N, V)
        k = rank if few else integer(generator, 2, rank - 1)
        while True:
            u, v = (torch.linalg.qr(normal(generator, n, rank).double())[0] for n in (N, V))
            if bool((signs(u) != signs(v))[:, :k].any()):
                break
        s = uniform(generator, 1, low=0.8, high=1.2).double() * 1.5 ** torch.arange(rank - 1, -1, -1).double()
        rows = (u * s) @ v.T
        queries = torch.cat([normal(generator, integer(generator, 1, 2), V).double(), rows[:1]])
        found.append((rows.float(), k, queries.float()))
    return found


def one_axis(generator):
    """k = 1, and one query."""
    return [(weights, 1, queries[:1]) for weights, _, queries in tables(generator)[:2]]


exercise.checks.append(UpToSigns("values, any sign of each axis", 3, tables, rtol=1e-3, atol=1e-4))
exercise.checks.append(UpToSigns("one axis", 1, one_axis, rtol=1e-3, atol=1e-4))
exercise.unchanged(tables)
exercise.hint(
    "You do not know which way round the parts come back.",
    "u, s, vt = torch.linalg.svd(weights, full_matrices=False): s falls from the largest, u has a column an axis, vt a row an axis.")
exercise.hint(
    "Documents are right, and queries are not.",
    "Try a row of the table as a query. It must land where that document stands: x V = u diag(s) V^T V = u diag(s).")
exercise.hint(
    "Signs differ from those expected, in some tensors.",
    "u_j and v_j may be turned round together, and only together: u_j s_j v_j^T must stay. Use one V for words and queries.")
