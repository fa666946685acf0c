"""What `fit` minimises, and the batches it is taken over."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.utils.data import DataLoader

from course_lib.checked import unchecked

Data = Tensor | Sequence[Tensor | Sequence[Tensor]]                  # (N, ...), or several such that share N
POOL = 50                                                            # batches whose rows are sorted by length together
ROWS = 1024                                                          # that are checked at once


def objective(model: nn.Module, batch: Data) -> tuple[Float[Tensor, ""], float]:
    """The mean loss of a batch, and its weight: the number of things it is a mean over.

    A model with a method `loss(batch)` is asked for it: a mean over the batch, which then weighs as many as it has
    rows, or a pair (mean, weight), such as a mean over tokens and their number. Any other model is trained by maximum
    likelihood: minus the mean of `log_prob(x)`, or `log_prob(x, context)` where the batch is a pair.
    """
    if not hasattr(model, "loss"):
        return -log_prob(model, batch).mean(), float(count(batch))
    with _explaining(model, batch):
        result = model.loss(batch)
    mean, weight = result if isinstance(result, tuple) else (result, count(batch))
    if not isinstance(mean, Tensor) or mean.dim() != 0:
        got = f"shape {tuple(mean.shape)}" if isinstance(mean, Tensor) else f"a {type(mean).__name__}"
        raise ValueError(f"loss(batch) of {type(model).__name__} gave {got}; expected a tensor of one number, "
                         "the mean over the batch")
    return mean, float(weight)


def log_prob(model: nn.Module, batch: Data) -> Float[Tensor, "B"]:
    """log p of every row, (B,): summed over the variables, in at least single precision."""
    x, *context = batch if isinstance(batch, tuple) else (batch,)
    with _explaining(model, batch):
        value = model.log_prob(x, *context)
    if tuple(value.shape) != (len(x),):
        raise ValueError(f"log_prob of {type(model).__name__} gave shape {tuple(value.shape)}; expected ({len(x)},), "
                         "one number a row, the sum over its variables")
    return value if value.dtype in (torch.float32, torch.float64) else value.float()


@torch.no_grad()
def checked_once(model: nn.Module, data: Data | DataLoader | None, device: torch.device,
                 scored: bool = False) -> Callable[[], AbstractContextManager]:
    """Check all rows now, and return `unchecked` for the batches to come; a context that changes nothing where they have to
    be checked as they come: those of a DataLoader, or of a model with a `loss` that does not come with a `check_batch`.

    scored  the data are given to `log_prob`, whatever loss the model has, as those for validation are
    """
    check = _check_of(model, scored)
    if check is None or data is None or isinstance(data, DataLoader):
        return nullcontext
    for rows in torch.arange(count(data)).split(ROWS):
        check(take(data, rows, device))
    return unchecked


def _check_of(model: nn.Module, scored: bool) -> Callable[[Data], object] | None:
    """What raises for a batch as the training would, None where nothing is known to."""
    if (scored or not hasattr(model, "loss")) and hasattr(model, "log_prob"):
        check_input = getattr(model, "check_input", None)
        return check_input and (lambda batch: check_input(*(batch if isinstance(batch, tuple) else (batch,))))
    line = [next((i for i, cls in enumerate(type(model).__mro__) if name in vars(cls)), None)
            for name in ("check_batch", "loss")]
    return model.check_batch if None not in line and line[0] <= line[1] else None    # of that loss, not of a former one


def epoch_order(num: int, seed: int, epoch: int) -> Int[Tensor, "..."]:
    """The order in which an epoch, counted from 1, visits the rows: a function of (seed, epoch) alone.

    No generator is carried from epoch to epoch, so none has to be saved, and nothing else that draws can shift it.
    """
    mixed = random.Random(f"{seed} {epoch}").getrandbits(63)         # neighbours (0, 1) and (1, 0) share nothing
    return torch.randperm(num, generator=torch.Generator().manual_seed(mixed))


def epoch_batches(num: int, batch_size: int, seed: int, epoch: int,
                  lengths: Shaped[Tensor, "..."] | None = None) -> list[Int[Tensor, "B"]]:
    """The rows of each step of an epoch: `epoch_order` in pieces.

    With `lengths`, rows of like length share a batch, so that little of it is padding: POOL batches at a time are sorted
    by it and cut anew, and the batches are then put in random order.
    """
    order = epoch_order(num, seed, epoch)
    if lengths is None:
        return list(order.split(batch_size))
    sorted_pools = [pool[lengths[pool].argsort(stable=True)] for pool in order.split(POOL * batch_size)]
    batches = torch.cat(sorted_pools).split(batch_size)
    return [batches[i] for i in epoch_order(len(batches), seed, -epoch)]


def count(data: Data) -> int:
    """The number of rows."""
    return len(tensors(data)[0])


def tensors(data: Data) -> list[Tensor]:
    """All tensors of the data. A part of a tuple may be a tuple itself, as tokens with their mask."""
    return [t for part in data for t in tensors(part)] if isinstance(data, tuple) else [data]


def take(data: Data, rows: Int[Tensor, "B"], device: torch.device) -> Data:
    """These rows on `device`, in the dtype they are stored in."""
    if isinstance(data, tuple):
        return tuple(take(part, rows, device) for part in data)
    return data[rows.to(data.device)].to(device, non_blocking=True)


def check_data(data: Data, name: str, like: Data | None = None) -> Data:
    """The data as a tensor or a tuple of tensors, or an error that says what is wrong; `like` is the training set."""
    if isinstance(data, (tuple, list)):
        data = tuple(tuple(part) if isinstance(part, list) and all(isinstance(t, Tensor) for t in part) else part
                     for part in data)                               # a DataLoader makes lists of tuples
    parts = tensors(data)
    if not parts:
        raise ValueError(f"{name} is an empty tuple; expected a tensor (N, ...), or several that share N")
    for part in parts:
        if not isinstance(part, Tensor):
            raise TypeError(f"{name} holds a {type(part).__name__}; expected tensors (torch.as_tensor makes them)")
        if part.dim() == 0 or len(part) == 0:
            raise ValueError(f"{name} has shape {tuple(part.shape)}; expected at least one row")
        if len(part) != len(parts[0]):
            raise ValueError(f"{name} holds tensors of {len(parts[0])} and {len(part)} rows; expected the same number")
    if like is not None:
        ours, theirs = _widths(data), _widths(like)
        if ours != theirs:
            raise ValueError(f"{name} has rows of shape {ours}; train has rows of shape {theirs}")
    return data


@contextmanager
def _explaining(model: nn.Module, batch: Data):
    """Say it in words where torch fails because data and parameters differ in precision; some models cast, most not."""
    try:
        yield
    except RuntimeError as error:
        dtypes = {p.dtype for p in model.parameters() if p.is_floating_point()}
        for part in tensors(batch):
            if dtypes and part.dtype not in dtypes:
                raise ValueError(f"the data are {part.dtype} and the parameters of {type(model).__name__} "
                                 f"{dtypes.pop()}: convert one of them") from error
        raise


def _widths(data: Data):
    return tuple(tuple(part.shape[1:]) for part in tensors(data)) if isinstance(data, tuple) else tuple(data.shape[1:])
