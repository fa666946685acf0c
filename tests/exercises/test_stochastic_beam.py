"""The beam that draws is a draw without replacement: proved on trees with every sequence in view, and not by luck."""
from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import pytest
import torch

from course_lib.decoding import stochastic
from course_lib.exercises.decoding import stochastic_beam as bank
from course_lib.exercises.decoding._shared import random_table
from course_lib.grading.exercise import replace_steps

BOS, EOS, LENGTH, K = 0, 2, 3, 3


@pytest.fixture(scope="module")
def table():
    return {key: row.tolist() for key, row in random_table(torch.Generator().manual_seed(3), 3, LENGTH, BOS, EOS).items()}


def sequences(table):
    """Every sequence of the tree and its log-probability: up to eos, or LENGTH tokens."""
    found, todo = {}, [((), 0.0)]
    while todo:
        x, total = todo.pop()
        for v, log_p in enumerate(table[(BOS, *x)]):
            if v == EOS or len(x) + 1 == LENGTH:
                found[(*x, v)] = total + log_p
            else:
                todo.append(((*x, v), total + log_p))
    return found


def beam(table, noise, misconception=None):
    with replace_steps(dict([bank.exercise.replacements[misconception]] if misconception else [])):
        return [(tokens[1:], *rest) for tokens, *rest in bank.beam_of(lambda x: table[tuple(x)], noise, BOS, EOS, K, LENGTH)]


def test_noise_given_to_whole_sequences_gives_the_k_largest_of_them(table):
    """Gumbel-top-k: whole sequences get their scores; a beginning has the largest of those that start with it. The beam, which
    sees one beginning at a time, must find the k largest of all, with these scores."""
    generator = torch.Generator().manual_seed(0)
    every = sequences(table)
    assert math.isclose(sum(map(math.exp, every.values())), 1)
    for _ in range(200):
        scores = {x: log_p + g for (x, log_p), g in zip(every.items(), bank.gumbels(generator, len(every)).tolist(), strict=True)}
        top = max(scores.values())                                   # the root's score is 0: all move together

        def noise(tokens):
            x, ln_p = tuple(tokens[1:]), sum(table[tuple(tokens[:t])][tokens[t]] for t in range(1, len(tokens)))
            largest = [max((s for y, s in scores.items() if y[:len(x) + 1] == (*x, v)), default=-99.0) - top for v in range(3)]
            return [a - ln_p - log_p for a, log_p in zip(largest, table[tuple(tokens)], strict=True)]

        best = sorted(scores, key=scores.get, reverse=True)[:K]
        found = beam(table, noise)
        assert [tuple(tokens) for tokens, _, _ in found] == best
        for (_, log_p, G), x in zip(found, best, strict=True):
            assert math.isclose(log_p, every[x]) and math.isclose(G, scores[x] - top, abs_tol=1e-9)


def inclusion(every):
    """The probability of each sequence to be among K draws without replacement: a sum over all ordered draws."""
    p, found = {x: math.exp(log_p) for x, log_p in every.items()}, Counter()
    for draw in permutations(p, K):
        chance, left = 1.0, 1.0
        for x in draw:
            chance, left = chance * p[x] / left, left - p[x]
        for x in draw:
            found[x] += chance
    return found


def farthest(table, misconception=None, number=3000):
    """By how many deviations the share of a sequence in that many beams is off at most; noise is drawn, with one seed."""
    generator, came = torch.Generator().manual_seed(1), Counter()
    for _ in range(number):
        known = dict(zip(table, bank.gumbels(generator, len(table), 3).tolist(), strict=True))
        came.update({tuple(tokens) for tokens, _, _ in beam(table, lambda x, known=known: known[tuple(x)], misconception)})
    return max(abs(came[x] - number * q) / math.sqrt(number * q * (1 - q)) for x, q in inclusion(sequences(table)).items())


def test_a_sequence_is_among_them_as_often_as_without_replacement(table):
    assert farthest(table) < 4


@pytest.mark.parametrize("misconception", ["no_noise", "unconditioned", "summed", "clipped", "replaced", "kept_by_p", "ended_lost",
                                           "ended_hold"])
def test_and_with_a_misconception_it_is_not(table, misconception):
    assert farthest(table, misconception, 1000) > 5


def test_the_largest_child_has_its_parents_score_and_the_library_agrees():
    generator = torch.Generator().manual_seed(2)
    for scale in (1.0, 30.0, 900.0):
        log_p = scale * torch.randn(7, generator=generator, dtype=torch.float64).log_softmax(0) - scale
        log_p[3] = -math.inf
        u = torch.rand(7, generator=generator, dtype=torch.float64)
        G = -2.5
        found = torch.tensor(bank.scores(0.0, log_p.tolist(), (-torch.log(-torch.log(u))).tolist(), G), dtype=torch.float64)
        librarys = stochastic._gumbel_below(log_p[None, None], torch.tensor([[G]], dtype=torch.float64), u[None, None])[0, 0]
        assert found.max() == G and found[3] == -math.inf and torch.allclose(found, librarys, rtol=1e-9)
