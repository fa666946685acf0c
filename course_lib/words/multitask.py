r"""Multitask learning (Collobert and Weston 2008): tasks share word vectors and a hidden layer.

Each task labels the middle word of a window. Language modeling is one of the tasks, with a ranking loss instead of a
softmax: the score of a window of text should exceed, by a margin of 1, the score of the same window with another middle
word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

RANK = "rank"                                                        # language modeling, the task without labels


class MultiTask(nn.Module):
    r"""$f_k(x) = U_k\, \mathrm{ReLU}(H x + d) + b_k$ for task k, where H, d and the
    lookup tables are shared.

    x concatenates the vectors of the 2r + 1 words of a window, and the vector of a word
    those of its features, such as word, suffix and capitalization.

    tables   (values, width) of each feature; its table has values + 1 rows, the last for
             positions beyond the ends of a sentence
    radius   r, number of words on each side
    hidden   H, hidden units
    tasks    number of labels of each task; the task "rank" has one score
    dropout  probability, on the hidden layer

    Slides: the timeline, "A unified architecture for natural language processing". Paper:
    Collobert and Weston 2008.

    >>> tasks = {"tag": 17, "rank": 1}
    >>> model = MultiTask([(100, 8), (20, 3)], radius=2, hidden=16, tasks=tasks)
    >>> windows = torch.zeros(4, 5, 2, dtype=torch.long)  # 4 windows, 5 words, 2 features
    >>> model(windows, "tag").shape, model(windows, "rank").shape
    (torch.Size([4, 17]), torch.Size([4, 1]))
    """

    def __init__(self, tables: Sequence[tuple[int, int]], radius: int, hidden: int,
                 tasks: Mapping[str, int], dropout: float | int = 0.0):
        super().__init__()
        if not tables or not tasks:
            raise ValueError(f"tables has {len(tables)} features and tasks {len(tasks)} "
                             "tasks; expected at least 1 of each")
        if radius < 0:
            raise ValueError(f"radius is {radius}; expected 0 or more")
        if tasks.get(RANK, 1) != 1:
            raise ValueError(f"tasks[{RANK!r}] is {tasks[RANK]}; expected 1")
        self.radius, self.dropout, self._config = radius, dropout, {
            "tables": [tuple(table) for table in tables], "radius": radius,
            "hidden": hidden, "tasks": dict(tasks), "dropout": dropout}
        self.tables = nn.ModuleList(nn.Embedding(values + 1, width)
                                    for values, width in tables)
        inputs = (2 * radius + 1) * sum(width for _, width in tables)
        self.hidden = nn.Linear(inputs, hidden)                      # H and d
        self.outputs = nn.ModuleDict({task: nn.Linear(hidden, labels)
                                      for task, labels in tasks.items()})

    @property
    def config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return dict(self._config)

    def forward(self, windows: Integer[Tensor, "B W F"], task: str) -> Float[Tensor, "B K"]:
        """The scores of a task's labels for the middle word of each window, W = 2r + 1.

        Raises ValueError if the task is unknown, if windows has a wrong shape, or if a
        value is outside the range of its feature.
        """
        if task not in self.outputs:
            raise ValueError(f"task is {task!r}; expected one of {', '.join(self.outputs)}")
        expected = (2 * self.radius + 1, len(self.tables))
        if windows.dim() != 3 or windows.shape[1:] != expected:
            raise ValueError(f"windows has shape {tuple(windows.shape)}; expected (B, "
                             f"{2 * self.radius + 1}, {len(self.tables)}): words of a "
                             "window, features of a word")
        parts = []
        for number, (table, values) in enumerate(zip(self.tables, windows.unbind(dim=2))):
            rows = table.num_embeddings
            if values.numel() and not 0 <= values.min() <= values.max() < rows:
                raise ValueError(f"feature {number} of windows goes from "
                                 f"{int(values.min())} to {int(values.max())}; expected 0 "
                                 f"to {rows - 1}")
            parts.append(table(values))                              # (B, W, width)
        x = torch.cat(parts, dim=2).flatten(1)                       # (B, W * widths)
        h = F.dropout(F.relu(self.hidden(x)), self.dropout, self.training)
        return self.outputs[task](h)

    def loss(self, batches: Mapping[str, tuple[Tensor, Tensor]]) -> Float[Tensor, ""]:
        """The sum of the mean losses of the tasks.

        batches  task -> (windows, labels (B,)) for the cross-entropy; for "rank", (windows,
                 windows with another middle word) for the ranking loss
        """
        total = 0
        for task, (windows, other) in batches.items():
            if task == RANK:
                total = total + ranking_loss(self(windows, task)[:, 0],
                                             self(other, task)[:, 0])
            else:
                total = total + F.cross_entropy(self(windows, task), other)
        return total


def ranking_loss(real: Float[Tensor, "B"], other: Float[Tensor, "B"]) -> Float[Tensor, ""]:
    r"""$\max(0,\, 1 - f(x) + f(x^w))$, the mean over the batch: x is a window of text, x^w
    the same window with a different middle word w."""
    if real.shape != other.shape:
        raise ValueError(f"real has shape {tuple(real.shape)} and other "
                         f"{tuple(other.shape)}; expected equal shapes")
    return F.relu(1 - real + other).mean()


def with_another_middle(windows: Integer[Tensor, "B W F"], middles: Integer[Tensor, "B F"]) -> Integer[Tensor, "B W F"]:
    """Copy of B windows in which middles[b], F features, replaces the features of the middle word of window b."""
    changed = windows.clone()
    changed[:, windows.shape[1] // 2] = middles
    return changed


def windows_of(features: Integer[Tensor, "T F"], radius: int, beyond: Sequence[int]) -> Integer[Tensor, "T W F"]:
    """Window of W = 2 radius + 1 words around each word of a sentence, given the features (T, F) of its words.

    radius  number of words on each side
    beyond  (F,), the features of positions beyond the ends of the sentence
    """
    if features.dim() != 2 or len(beyond) != features.shape[1]:
        raise ValueError(f"features has shape {tuple(features.shape)} and beyond has {len(beyond)} values; expected "
                         "(T, F) and F values in beyond")
    edge = torch.as_tensor(beyond).expand(radius, -1)                # (r, F)
    padded = torch.cat([edge, features, edge])
    return padded.unfold(0, 2 * radius + 1, 1).transpose(1, 2)       # (T, W, F)

