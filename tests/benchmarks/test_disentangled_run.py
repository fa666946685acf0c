"""The three tasks for DeBERTa's terms: what each asks, word by word."""
from __future__ import annotations

import torch

from benchmarks.reproduce import disentangled
from course_lib.transformer.denoising.deberta import TERMS


def test_each_task_for_the_terms_asks_what_it_says():
    g = torch.Generator().manual_seed(0)
    for task, make in disentangled.TASKS.items():
        asked = make(60, g)
        for symbols, marks, answers in zip(*(part.tolist() for part in asked)):
            for i, answer in enumerate(answers):
                if task == "the asker says where":
                    told = [symbols[i - marks[i] - 1]] if i - marks[i] - 1 >= 0 else []
                elif task == "the teller says where":
                    told = [symbols[j] for j in range(len(symbols)) if j + marks[j] + 1 == i]
                else:
                    told = [symbols[j] for j in range(len(symbols)) if j != i and marks[j] == marks[i]]
                assert answer == (told[0] if len(told) == 1 else disentangled.NOBODY)
    assert (disentangled.same_mark(5, g).answers >= 0).all()


def test_the_arms_are_all_terms_and_each_switched_off():
    assert list(disentangled.ARMS.values()) == [TERMS, TERMS[1:], (TERMS[0], TERMS[2]), TERMS[:2]]
    rows = disentangled.RUNS["deberta-terms"].rows
    assert len(rows) == 12 and {tuple(row.arguments["terms"]) for row in rows} == set(disentangled.ARMS.values())


def test_a_task_is_read_back_as_it_was_drawn():
    lines = disentangled.draw().valid
    for task, make in disentangled.TASKS.items():
        for ours, theirs in zip(disentangled.read(lines, task), make(400, torch.Generator().manual_seed(1)), strict=True):
            assert torch.equal(ours, theirs)
