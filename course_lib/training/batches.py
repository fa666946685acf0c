"""The data of a training run: tensors or a DataLoader, checked and split into batches."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn
from torch.utils.data import DataLoader

from course_lib.validation import unchecked

Data = Tensor | Sequence[Tensor | Sequence[Tensor]]                  # (N, ...), or several of the same N
POOL = 50                                                            # batches whose rows are sorted by length together
ROWS = 1024                                                          # rows that are checked at once


# --- batches ---------------------------------------------------------------------------------------------------------


def epoch_order(num: int, seed: int, epoch: int) -> Int[Tensor, "..."]:
    """The order of `num` rows in an epoch: a permutation of 0..num-1, (num,), that depends on (seed, epoch) only.

    Epochs are counted from 1. No generator is kept from epoch to epoch, so a checkpoint need not store a generator.
    """
    mixed = random.Random(f"{seed} {epoch}").getrandbits(63)         # (0, 1) and (1, 0) give unrelated orders
    return torch.randperm(num, generator=torch.Generator().manual_seed(mixed))


def epoch_batches(num: int, batch_size: int, seed: int, epoch: int,
                  lengths: Shaped[Tensor, "..."] | None = None) -> list[Int[Tensor, "B"]]:
    """Split `num` rows, in the order of `epoch_order`, into batches of `batch_size`; return the indices of each batch.

    lengths  (num,), the length of each row: rows of similar length share a batch, so that there is little padding. The
             rows of POOL batches at a time are sorted by length and split again, and the batches are shuffled
    """
    order = epoch_order(num, seed, epoch)
    if lengths is None:
        return list(order.split(batch_size))
    sorted_pools = [pool[lengths[pool].argsort(stable=True)] for pool in order.split(POOL * batch_size)]
    batches = torch.cat(sorted_pools).split(batch_size)
    return [batches[i] for i in epoch_order(len(batches), seed, -epoch)]


def count_batches(train: Data | DataLoader, batch_size: int) -> int:
    """The number of batches in an epoch over the data set `train`; a DataLoader has its own batch size.

    Raises ValueError for a DataLoader without a length or without batches.
    """
    if not isinstance(train, DataLoader):
        return math.ceil(count(train) / batch_size)
    try:
        batches = len(train)
    except TypeError as error:
        raise ValueError("train is a DataLoader that does not know its length; expected a dataset with __len__, since a "
                         "schedule needs the number of batches") from error
    if batches == 0:
        raise ValueError("train is a DataLoader without batches; expected at least 1")
    return batches


def training_batches(train: Data | DataLoader, batch_size: int, seed: int, epoch: int,
                     lengths: Shaped[Tensor, "..."] | None, begin: int) -> Iterator[tuple[Data, Int[Tensor, "B"]]]:
    """Yield the batches of an epoch as (data, indices of the rows of the batch in data), without the first `begin`.

    Rows of tensors are in the order of `epoch_batches`, with the same `batch_size`, `seed` and `lengths`; a DataLoader
    `train` has its own order. Raises ValueError if the number of batches of a DataLoader differs from its length.
    """
    if not isinstance(train, DataLoader):
        yield from ((train, rows) for rows in epoch_batches(count(train), batch_size, seed, epoch, lengths)[begin:])
        return
    number = begin
    for batch, rows in islice(batches_of(train, 1, "train"), begin, None):
        number += 1
        if number <= len(train):
            yield batch, rows
    if number != len(train):
        raise ValueError(f"train gave {number} batches in epoch {epoch}; expected {len(train)}, the length of the "
                         "DataLoader")


def batches_of(data: Data | DataLoader, batch_size: int,
               name: str = "data") -> Iterator[tuple[Data, Int[Tensor, "B"]]]:
    """Yield the batches of `data`, without shuffling, as (data, indices of the rows); `name` is for messages."""
    if not isinstance(data, DataLoader):
        yield from ((data, part) for part in torch.arange(count(data)).split(batch_size))
        return
    for batch in data:
        if isinstance(batch, (list, tuple)) and len(batch) == 1:     # from a TensorDataset of one tensor
            batch = batch[0]
        if not isinstance(batch, (Tensor, list, tuple)):
            raise TypeError(f"{name} gives batches of type {type(batch).__name__}; expected tensors or tuples of "
                            "tensors: pass the DataLoader a collate_fn that returns them")
        batch = check_data(batch, f"a batch of {name}")
        yield batch, torch.arange(count(batch))


# --- tensors ---------------------------------------------------------------------------------------------------------


def count(data: Data) -> int:
    """The number of rows of the data."""
    return len(tensors(data)[0])


def tensors(data: Data) -> list[Tensor]:
    """List of all tensors of the data. An element of a tuple may be a tuple itself, such as tokens and their mask."""
    return [t for part in data for t in tensors(part)] if isinstance(data, tuple) else [data]


def take(data: Data, rows: Int[Tensor, "B"], device: torch.device) -> Data:
    """Return the rows with indices `rows` of all tensors of the data, on `device`; dtypes are unchanged."""
    if isinstance(data, tuple):
        return tuple(take(part, rows, device) for part in data)
    return data[rows.to(data.device)].to(device, non_blocking=True)


def check_data(data: Data, name: str, like: Data | None = None) -> Data:
    """Return the data as a tensor or a tuple of tensors; `name` is for messages, and `like` for the shape of a row.

    Raises TypeError if a part is not a tensor, and ValueError if there are no rows, if tensors differ in their number of
    rows, or if rows have other shapes than those of `like`.
    """
    if isinstance(data, (tuple, list)):
        data = tuple(tuple(part) if isinstance(part, list) and all(isinstance(t, Tensor) for t in part) else part
                     for part in data)                               # a DataLoader makes lists of tuples
    parts = tensors(data)
    if not parts:
        raise ValueError(f"{name} is an empty tuple; expected a tensor (N, ...), or several that share N")
    for part in parts:
        if not isinstance(part, Tensor):
            raise TypeError(f"{name} contains a {type(part).__name__}; expected tensors (torch.as_tensor creates them)")
        if part.dim() == 0 or len(part) == 0:
            raise ValueError(f"{name} has shape {tuple(part.shape)}; expected at least one row")
        if len(part) != len(parts[0]):
            raise ValueError(f"{name} contains tensors of {len(parts[0])} and {len(part)} rows; expected the same number")
    if like is not None:
        shape, expected = _row_shape(data), _row_shape(like)
        if shape != expected:
            raise ValueError(f"{name} has rows of shape {shape}; expected rows of shape {expected}, as in train")
    return data


def _row_shape(data: Data):
    return tuple(tuple(part.shape[1:]) for part in tensors(data)) if isinstance(data, tuple) else tuple(data.shape[1:])


# --- values, checked before the first step ---------------------------------------------------------------------------


@torch.no_grad()
def check_once(model: nn.Module, data: Data | DataLoader | None, device: torch.device,
               scored: bool = False) -> Callable[[], AbstractContextManager]:
    """Check the values of all rows once, and return the context manager in which the batches are to be processed.

    The context manager is `unchecked` if the rows were checked. Otherwise it has no effect, so that each batch is
    checked: for a DataLoader, and for a model whose `loss` has no `check_batch`.

    scored  whether the data are passed to `log_prob` even if the model has a loss, as validation data are
    """
    check = _find_check(model, scored)
    if check is None or data is None or isinstance(data, DataLoader):
        return nullcontext
    for rows in torch.arange(count(data)).split(ROWS):
        check(take(data, rows, device))
    return unchecked


def _find_check(model: nn.Module, scored: bool) -> Callable[[Data], object] | None:
    """The method of the model that checks a batch; None if there is none. `scored` as in `check_once`."""
    if (scored or not hasattr(model, "loss")) and hasattr(model, "log_prob"):
        check_input = getattr(model, "check_input", None)
        return check_input and (lambda batch: check_input(*(batch if isinstance(batch, tuple) else (batch,))))
    line = [next((i for i, cls in enumerate(type(model).__mro__) if name in vars(cls)), None)
            for name in ("check_batch", "loss")]
    return model.check_batch if None not in line and line[0] <= line[1] else None    # not that of a base class' loss
