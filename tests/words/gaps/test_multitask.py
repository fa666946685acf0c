"""One network for several tasks: torch's functions, the ranking loss, windows."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from course_lib.words import MultiTask, ranking_loss, windows_of, with_another_middle
from tests.support.random import normal, redrawn
from tests.support.types import untyped
from tests.words.gaps import checks as check


def test_it_is_the_shared_network():
    check.is_the_shared_network(MultiTask)


def test_the_ranking_loss_is_torchs():
    check.is_torchs_margin_loss(ranking_loss)


def test_the_middle_alone_changes():
    check.changes_the_middle_alone(with_another_middle)


def test_every_window_is_cut():
    check.cuts_every_window(windows_of)


def test_the_loss_is_the_sum_over_tasks():
    model = redrawn(MultiTask(check.TABLES, 1, 5, check.TASKS))
    windows, labels = check.drawn_windows(), torch.tensor([0, 1, 2, 3, 0, 1, 2])
    other = with_another_middle(windows, check.drawn_windows(7, 1, seed=4)[:, 0])
    want = F.cross_entropy(model(windows, "tag"), labels) + ranking_loss(model(windows, "rank")[:, 0], model(other, "rank")[:, 0])
    torch.testing.assert_close(model.loss({"tag": (windows, labels), "rank": (windows, other)}), want)


def test_each_task_moves_what_is_shared_and_its_own_output_only():
    model = redrawn(MultiTask(check.TABLES, 1, 5, check.TASKS))
    model.loss({"tag": (check.drawn_windows(), torch.zeros(7, dtype=torch.long))}).backward()
    moved = {name for name, p in model.named_parameters() if p.grad is not None and p.grad.abs().sum() > 0}
    assert moved == {"tables.0.weight", "tables.1.weight", "hidden.weight", "hidden.bias", "outputs.tag.weight", "outputs.tag.bias"}


@pytest.mark.parametrize("windows, task, message", [
    (torch.zeros(2, 3, 2, dtype=torch.long), "chunk", "task is 'chunk'; the tasks are tag, rank"),
    (torch.zeros(2, 5, 2, dtype=torch.long), "tag",
     "windows has shape (2, 5, 2); expected (B, 3, 2): words of a window, features of a word"),
    (torch.full((2, 3, 2), 5), "tag", "feature 1 of windows goes from 5 to 5; expected 0 to 4"),
])
def test_what_cannot_be_read(windows, task, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MultiTask(check.TABLES, 1, 5, check.TASKS)(windows, task)


def test_what_cannot_be_built():
    with pytest.raises(ValueError, match="tables has 0 features and tasks 2 tasks; expected at least 1 of each"):
        MultiTask([], 1, 5, check.TASKS)
    with pytest.raises(ValueError, match="radius is -1"):
        MultiTask(check.TABLES, -1, 5, check.TASKS)
    with pytest.raises(ValueError, match=re.escape("tasks['rank'] is 3; a window has one score")):
        MultiTask(check.TABLES, 1, 5, {"rank": 3})
    with untyped(), pytest.raises(ValueError, match=re.escape("real has shape (3,) and other (2,); expected the same")):
        ranking_loss(normal(3), normal(2))
    with pytest.raises(ValueError, match=re.escape("features has shape (4, 2) and beyond 1 values; expected (T, F) and F")):
        windows_of(torch.zeros(4, 2, dtype=torch.long), 1, (0,))
