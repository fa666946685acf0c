"""Where `fit` takes its batches from: tensors, in an order of its own, or a DataLoader, in the loader's."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor
from torch.utils.data import DataLoader

from course_lib.training.objective import Data, check_data, count, epoch_batches


class Tensors:
    """Rows of tensors that are all there.

    batches    in each epoch
    generator  that the order is drawn by: none, for it is a function of (seed, epoch) alone
    """

    generator: torch.Generator | None = None

    def __init__(self, data: Data, batch_size: int, seed: int, lengths: Shaped[Tensor, "..."] | None):
        num = count(data)
        if lengths is not None and lengths.shape != (num,):
            raise ValueError(f"lengths has shape {tuple(lengths.shape)}; expected ({num},), one for each row of train")
        self.data, self.batch_size, self.seed, self.lengths = data, batch_size, seed, lengths
        self.batches = math.ceil(num / batch_size)

    def epoch(self, epoch: int, begin: int) -> Iterator[tuple[Data, Int[Tensor, "B"]]]:
        """The data and the rows of each batch of an epoch, from the batch `begin` on."""
        batches = epoch_batches(count(self.data), self.batch_size, self.seed, epoch, self.lengths)
        return ((self.data, rows) for rows in batches[begin:])


class Loader:
    """What a DataLoader gives: tensors, or tuples of tensors with as many rows each.

    batches    in each epoch, by the loader's own account
    generator  that the order is drawn by; None: torch's global one
    """

    def __init__(self, loader: DataLoader):
        try:
            self.batches = len(loader)
        except TypeError as error:
            raise ValueError("train is a DataLoader that does not know its length; a schedule needs the number of "
                             "batches: give its dataset a __len__") from error
        if self.batches == 0:
            raise ValueError("train is a DataLoader without batches; expected at least 1")
        self.loader, self.generator = loader, loader.generator

    def epoch(self, epoch: int, begin: int) -> Iterator[tuple[Data, Int[Tensor, "B"]]]:
        """Each batch of an epoch, and all of its rows, from the batch `begin` on."""
        found = begin
        for batch, rows in islice(batches_of(self.loader, 1, "train"), begin, None):
            found += 1
            if found <= self.batches:
                yield batch, rows
        if found != self.batches:
            raise ValueError(f"train gave {found} batches in epoch {epoch}; its length is {self.batches}")


def batches_of(data: Data | DataLoader, batch_size: int,
               name: str = "data") -> Iterator[tuple[Data, Int[Tensor, "B"]]]:
    """All of `data` in its order: pairs of tensors and the rows of them that make a batch."""
    if not isinstance(data, DataLoader):
        yield from ((data, part) for part in torch.arange(count(data)).split(batch_size))
        return
    for batch in data:
        if isinstance(batch, (list, tuple)) and len(batch) == 1:     # what a TensorDataset of one tensor gives
            batch = batch[0]
        if not isinstance(batch, (Tensor, list, tuple)):
            raise TypeError(f"{name} gives batches of type {type(batch).__name__}; expected tensors or tuples of tensors: "
                            "a collate_fn can make them")
        batch = check_data(batch, f"a batch of {name}")
        yield batch, torch.arange(count(batch))


def describe_loader(loader: DataLoader) -> dict[str, Any]:
    """What can be told of a loader without reading its data: class and size of the data set, batches and their size."""
    return {"dataset": type(loader.dataset).__name__, "batches": len(loader), "batch_size": loader.batch_size,
            "rows": len(loader.dataset) if hasattr(loader.dataset, "__len__") else None}
