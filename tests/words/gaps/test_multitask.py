"""One network for several tasks: its loss, and bad input. The network itself: checks.py."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from course_lib.words import MultiTask, ranking_loss, windows_of, with_another_middle
from tests.support.random import normal, redrawn
from tests.support.types import untyped
from tests.words.gaps import checks as check


def test_loss_sum_over_tasks():
    model = redrawn(MultiTask(check.TABLES, 1, 5, check.TASKS))
    windows, labels = check.drawn_windows(), torch.tensor([0, 1, 2, 3, 0, 1, 2])
    other = with_another_middle(windows, check.drawn_windows(7, 1, seed=4)[:, 0])
    want = F.cross_entropy(model(windows, "tag"), labels) + ranking_loss(model(windows, "rank")[:, 0], model(other, "rank")[:, 0])
    torch.testing.assert_close(model.loss({"tag": (windows, labels), "rank": (windows, other)}), want)


@pytest.mark.parametrize("windows, task, message", [
    (torch.zeros(2, 3, 2, dtype=torch.long), "chunk", "task is 'chunk'; expected one of tag, rank"),
    (torch.zeros(2, 5, 2, dtype=torch.long), "tag",
     "windows has shape (2, 5, 2); expected (B, 3, 2): words of a window, features of a word"),
    (torch.full((2, 3, 2), 5), "tag", "feature 1 of windows goes from 5 to 5; expected 0 to 4"),
])
def test_bad_windows(windows, task, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MultiTask(check.TABLES, 1, 5, check.TASKS)(windows, task)


def test_bad_input():
    with pytest.raises(ValueError, match="tables has 0 features and tasks 2 tasks; expected at least 1 of each"):
        MultiTask([], 1, 5, check.TASKS)
    with pytest.raises(ValueError, match="radius is -1"):
        MultiTask(check.TABLES, -1, 5, check.TASKS)
    with pytest.raises(ValueError, match=re.escape("tasks['rank'] is 3; expected 1")):
        MultiTask(check.TABLES, 1, 5, {"rank": 3})
    with untyped(), pytest.raises(ValueError, match=re.escape("real has shape (3,) and other (2,); expected equal shapes")):
        ranking_loss(normal(3), normal(2))
    with pytest.raises(ValueError, match=re.escape("features has shape (4, 2) and beyond has 1 values; expected (T, F) and F values")):
        windows_of(torch.zeros(4, 2, dtype=torch.long), 1, (0,))
