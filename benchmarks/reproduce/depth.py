"""A run on texts of a grammar: the same stack of blocks with its sums and without, deeper and deeper, after as many updates."""

from __future__ import annotations

from typing import Any, Callable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.agreement import as_tokens, draw, nats_a_text
from benchmarks.reproduce.recipes import minimize
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from course_lib.data import toy_agreement
from course_lib.transformer import LayerNorm, Residual, SinusoidalPositions, TransformerBlock

WATCHED = 25                                                         # updates from one point of the curve to the next
ARMS = {"LN(f(x)), no sum": ("post", False), "LN(x + f(x))": ("post", True)}
DEPTHS = (1, 2, 4, 8)


class Stack(nn.Module):
    """Causal blocks that predict every next word; without `sums`, a post-LN stack has LN(f(x)) for LN(x + f(x)).

    A sum has no parameters, so a stack without it has as many.
    """

    def __init__(self, blocks: int, norm: str, sums: bool, width: int = 32, heads: int = 4):
        super().__init__()
        self.sums = sums
        self.embed = nn.Embedding(len(toy_agreement.vocabulary()), width)
        self.place = SinusoidalPositions(width)
        self.blocks = nn.ModuleList(TransformerBlock(width, heads, 2 * width, norm=norm) for _ in range(blocks))
        self.norm, self.tell = LayerNorm(width), nn.Linear(width, self.embed.num_embeddings)

    def forward(self, tokens: Int[Tensor, "B T"], real: Bool[Tensor, "B T"] | None = None) -> Float[Tensor, "B T V"]:
        """`real` is not needed: texts are filled up behind their end, which no earlier word reads."""
        x = self.place(self.embed(tokens))                           # (B, T, D)
        for block in self.blocks:
            x = self._layer(block.residual1, x, lambda y: block.attention(y, causal=True))
            x = self._layer(block.residual2, x, block.feed_forward)
        return self.tell(self.norm(x))

    def _layer(self, residual: Residual, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
        return residual(x, f) if self.sums else residual.norm(f(x))


def by_updates(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """AdamW on texts drawn anew from the training part; the rate rises for `warmup` updates, then falls to 0.

    `curve` has for each seed the mean loss of every WATCHED updates, in nats a word.
    """
    (tokens, real), models, curve = job.splits.train, Repeats(), []
    for seed in range(settings["seeds"]):
        torch.manual_seed(seed)
        model, g, losses = row.model(**row.arguments), torch.Generator().manual_seed(100 + seed), []

        def loss(update: int, model=model, g=g) -> Tensor:
            which = torch.randint(len(tokens), (settings["batch_size"],), generator=g)
            x, there = tokens[which], real[which][:, 1:]
            return F.cross_entropy(model(x[:, :-1])[there], x[:, 1:][there])

        minimize(model, loss, settings["updates"], settings["lr"],
                 lambda update: min((update + 1) / settings["warmup"], 1 - update / settings["updates"]), clip=settings["clip"],
                 after=losses.append)
        models.append(model)
        curve.append([round(value, 3) for value in torch.tensor(losses).view(-1, WATCHED).mean(dim=1).tolist()])
    return Trained(models, curve=curve)


def nats_of_seeds(models: Repeats, part: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """Minus log p of a text: the mean over seeds, its standard error over seeds, and each."""
    return of_seeds([nats_a_text(model, part)["mean"] for model in models], len(part[0]))


SETTINGS = {"updates": 200, "batch_size": 32, "warmup": 20, "clip": 1.0, "seeds": 3}
RATES = over("lr", (0.001, 0.003, 0.01))
RUNS: dict[str, Run] = {"residual-depth": Run(
    "residual-depth", "toy_agreement", (
        Row("no block", Stack, by_updates, {"blocks": 0, "norm": "post", "sums": False}, SETTINGS, RATES, nats_of_seeds),
        *(Row(f"{arm}: {blocks}", Stack, by_updates, {"blocks": blocks, "norm": norm, "sums": sums}, SETTINGS, RATES,
              nats_of_seeds) for arm, (norm, sums) in ARMS.items() for blocks in DEPTHS)),
    prepare=as_tokens, draw=draw, unit="nats a text",
    note="Causal blocks of width 32 with four heads, 200 updates of 32 texts, 20 of them warm-up; the best of three rates for each "
         "row, by the validation texts and all seeds. Mean ± standard error over three seeds. The number is that of the blocks; with "
         "none, a word is told from the one before it and its place. The grammar's entropy is 13.29 nats a text.")}
