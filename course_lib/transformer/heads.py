"""Ablation of attention heads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from einops import rearrange
from torch import Tensor

from course_lib.transformer.attention import MultiHeadAttention
from course_lib.transformer.bert import BERT
from course_lib.transformer.gpt import GPT


@contextmanager
def switched_off(model: GPT | BERT, heads: Iterable[Sequence[int]]) -> Iterator[None]:
    """Ablate attention heads inside the `with` block: their outputs are 0, so their parts of $W^O$ contribute nothing.

    heads  pairs (layer, head), both counted from 0

    Parameters and the attention weights of an ablated head do not change; attention weights of later layers change with
    their inputs. Raises ValueError for a head that does not exist.

    Paper: Michel, Levy and Neubig 2019, "Are sixteen heads really better than one?"
    """
    silent: dict[int, set[int]] = {}
    for layer, head in heads:
        last, most = len(model.blocks) - 1, model.blocks[0].attention.heads - 1
        if not (0 <= layer <= last and 0 <= head <= most):
            raise ValueError(f"heads contains ({layer}, {head}); expected layers 0 to {last} and heads 0 to {most} of "
                             "this model")
        silent.setdefault(layer, set()).add(head)
    with ExitStack() as stack:
        for layer, own in silent.items():
            stack.enter_context(silenced(model.blocks[layer].attention, own))
        yield


@contextmanager
def silenced(attention: MultiHeadAttention, heads: Iterable[int]) -> Iterator[None]:
    """Ablate heads of one attention layer inside the `with` block: their outputs are 0.

    attention  layer of any model
    heads      indices of the ablated heads, from 0

    Raises ValueError for a head that does not exist.
    """
    silent, most = set(heads), attention.heads - 1
    if not all(0 <= head <= most for head in silent):
        raise ValueError(f"heads contains {sorted(silent)}; expected indices of the layer's heads, 0 to {most}")
    hook = attention.out.register_forward_pre_hook(_without(silent, most + 1))
    try:
        yield
    finally:
        hook.remove()


def _without(silent: set[int], count: int):
    """Return a hook on W^O, whose input is `count` concatenated heads (B, T, D), that sets the `silent` heads to 0."""
    off = torch.tensor([[h in silent] for h in range(count)])        # (H, 1)

    def hook(_, arguments: tuple[Tensor]) -> tuple[Tensor]:
        heads = rearrange(arguments[0], "B T (H K) -> B T H K", H=count)
        return (rearrange(heads.masked_fill(off.to(heads.device), 0), "B T H K -> B T (H K)"),)
    return hook
