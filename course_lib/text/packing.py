"""The packed form of n-gram counts: what a file of weights holds."""

from __future__ import annotations

import torch
from jaxtyping import Integer
from torch import Tensor


def pack(grams: Integer[Tensor, "G m"], counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Front coding of sorted rows: how many symbols each shares with the row above, and the symbols that differ.

    Returns shared (G,), symbols (S,), counts (G,), each in the smallest integer type that holds it.
    """
    differs = torch.ones_like(grams, dtype=torch.bool)
    differs[1:] = (grams[1:] != grams[:-1]).long().cummax(dim=1).values.bool()       # from the first difference on
    return _small((~differs).sum(1)), _small(grams[differs]), _small(counts)


def unpack(shared: Tensor, symbols: Tensor, m: int) -> Integer[Tensor, "G m"]:
    """The rows that `pack` coded. Raises ValueError if the numbers cannot have come from it."""
    differs = torch.arange(m, device=shared.device) >= shared.long()[:, None]        # (G, m)
    if int(differs.sum()) != len(symbols) or (len(shared) and not differs[0].all()):
        raise ValueError(f"the packed counts hold {len(symbols)} symbols where {int(differs.sum())} are needed; "
                         "the file is damaged")
    grams = torch.zeros_like(differs, dtype=torch.long)
    grams[differs] = symbols.long()
    row = torch.arange(len(shared), device=shared.device)[:, None].expand(-1, m)
    above = torch.where(differs, row, 0).cummax(dim=0).values        # the last row that names this column
    return grams.gather(0, above)


def _small(x: Tensor) -> Tensor:
    most = int(x.max()) if len(x) else 0
    return x.to(next(t for t in (torch.uint8, torch.int16, torch.int32, torch.int64) if most <= torch.iinfo(t).max))
