"""The networks of chapter fill-the-gap that fill the gaps of real texts: from a window, and from two recurrent networks that meet."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.reproduce.elmo import PIECES
from benchmarks.reproduce.run import Job, Repeats, Row, Trained
from course_lib.training import fit
from course_lib.words import BiRNNCloze, WindowCloze

NOISE = 200                                                          # pieces that stand in for all in the softmax of training


class Sampled:
    r"""A masked word by a network of chapter fill-the-gap, whose softmax is trained on a sample: the piece itself and `NOISE` others.

    These are drawn by how often each is read, q, the same ones for a whole batch, the piece itself among them where it falls.
    Each score has $\log q$ taken off, the first too: so what is learnt are the scores of the whole softmax, by which gaps are filled.
    """

    def __init__(self, **size: Any):
        super().__init__(PIECES, **size)
        self.scores, self.U = self.U, nn.Identity()                  # fill gives the hidden state, (B, T, H)
        self.register_buffer("q", torch.full((PIECES,), 1 / PIECES))

    def loss(self, batch: Tensor) -> tuple[Float[Tensor, ""], int]:
        tokens, real = self.check_tokens(batch)
        h, own = self.fill(tokens, real)[real], tokens[real]         # (N, H), (N,)
        others = torch.multinomial(self.q, NOISE, replacement=True)
        W, b = self.scores.weight, (self.scores.bias - self.q.log())[:, None]
        of_own = (h * F.embedding(own, W)).sum(dim=1, keepdim=True) + F.embedding(own, b)            # as W[own], in less time
        logits = torch.cat([of_own, h @ F.embedding(others, W).T + F.embedding(others, b).T], dim=1)  # (N, 1 + NOISE)
        return F.cross_entropy(logits, torch.zeros_like(own)), len(own)

    def at(self, tokens: Tensor, real: Tensor, row: Tensor, place: Tensor) -> Tensor:
        return self.scores(self.fill(*self.check_tokens((tokens, real)))[row, place])


class ByWindow(Sampled, WindowCloze):
    """From the pieces on both sides, as many as the radius says."""


class ByTwoRNNs(Sampled, BiRNNCloze):
    """From a network that has read what is before the gap, and one that has read what is after it."""


def by_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A network a seed, by AdamW on every so many-th row; a radius belongs to the network. The last weights stay."""
    settings, models, seconds = dict(settings), Repeats(), 0.0
    size = {"radius": settings.pop("radius")} if "radius" in settings else {}
    rows = job.splits.train[::settings.pop("every")]
    often = torch.bincount(job.splits.train.flatten(), minlength=PIECES) + 0.1
    for seed in range(settings.pop("seeds")):
        torch.manual_seed(seed)
        model = row.model(**row.arguments, **size)
        model.q.copy_(often / often.sum())
        history = fit(model, rows, seed=seed, checkpoint=job.checkpoints / f"{name}-{len(rows)}-{seed}.safetensors", **settings)
        models.append(model)
        seconds += sum(history.seconds)
    return Trained(models, seconds)
