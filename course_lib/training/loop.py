"""The training loop: `fit` and `evaluate`.

Batches come from `batches`, the loss from `losses`, and learning rates from `schedules`. The losses are stored in a
`History`, and an interrupted run resumes from its `checkpoint`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn
from torch.utils.data import DataLoader
from tqdm import tqdm

from course_lib.autoregressive import evaluating
from course_lib.training.batches import (
    Data,
    batches_of,
    check_data,
    check_once,
    count,
    count_batches,
    take,
    training_batches,
)
from course_lib.training.checkpoint import Checkpoint, Position, describe, put_back, tensors_of
from course_lib.training.history import History, Report
from course_lib.training.losses import log_prob, objective
from course_lib.training.schedules import make_schedule

Number = int | float                                                 # where types are checked, an int is no float


def fit(model: nn.Module, train: Data | DataLoader, valid: Data | DataLoader | None = None, *, epochs: int,
        batch_size: int = 100, lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999),
        weight_decay: Number = 0.0, optimizer: torch.optim.Optimizer | None = None,
        schedule: str | Callable[[int], float] | None = None, warmup: int = 0, clip: Number | None = None,
        patience: int | None = None, seed: int = 0, device: str | torch.device | None = None, bf16: bool = False,
        accumulate: int = 1, lengths: Shaped[Tensor, "..."] | None = None, checkpoint: str | Path | None = None,
        checkpoint_every: int | None = None, callback: Callable[[Report], object] | None = None,
        progress: bool = True) -> History:
    """Train `model` on `train` with AdamW or with your own optimizer; return the `History`.

    model         its `loss(batch)` is minimized if it has that method, otherwise its negative mean `log_prob`; see
                  `objective`. The validation loss is the negative mean `log_prob` if the model has that method, because
                  a loss may be smoothed or random
    train, valid  a tensor (N, ...), or a pair of tensors with the same N, which are the arguments of
                  log_prob(x, context); an element of the pair may itself be a pair, such as tokens and their mask.
                  Each batch is moved to the model's device, with unchanged dtype. Or a DataLoader of such batches, with
                  a length; it determines order and batch size. The values of tensors are checked once, before the first
                  step, if the model's class defines how: see `validation.unchecked`
    epochs        number of passes over train, including passes before an interruption
    batch_size    rows per step; the last batch of an epoch may be smaller
    lr, betas     learning rate and coefficients of the moving averages of AdamW
    weight_decay  weight decay of parameters of two or more dimensions; biases and gains do not decay
    optimizer     replaces AdamW, and has its own lr, betas and weight_decay. A schedule multiplies the learning rate of
                  each parameter group, which is restored at the end; without a schedule the rates are not changed
    schedule      "constant", "cosine", "inverse_sqrt", "linear", or a function from the step, counted from 1, to a factor on lr
    warmup        steps in which a named schedule rises to 1
    clip          maximum global norm of the gradient
    patience      early stopping: stop after this many epochs without a lower validation loss, and restore the weights
                  of the best epoch; None keeps the last weights
    seed          seed of the order of the rows; a loss that samples uses torch's global generator
    device        device to which the model is moved; None: the model is not moved
    bf16          compute the training loss under bfloat16 autocast; weights, moments and validation stay in float32
    accumulate    number of pieces in which each batch is computed, to save memory; the gradient is the same
    lengths       (N,), the length of each row of train, such as its number of tokens: rows of similar length then share
                  a batch; None: batches are random
    checkpoint    a file that is written after each epoch and every `checkpoint_every` steps. If it exists, the run
                  resumes, and ends with the same weights and history as an uninterrupted run, bit for bit on the same
                  device. `epochs` may be larger and the schedule may differ in later steps; all else must be the same.
                  A DataLoader resumes at the start of an epoch; its order must come from torch's global generator, or
                  from the `generator` of the loader or its sampler
    callback      function that is called with a `Report` after every step; the model is in training mode
    progress      show a progress bar (TQDM_DISABLE=1 hides it too)

    Raises ValueError or TypeError if an argument is invalid, CheckpointError if the checkpoint is damaged or belongs to
    another run, and FloatingPointError if a loss or gradient is not finite.
    """
    # arguments and data
    _check_arguments(epochs=epochs, batch_size=batch_size, accumulate=accumulate, patience=patience, clip=clip,
                     checkpoint_every=checkpoint_every, lr=lr, weight_decay=weight_decay)
    train, valid = _check_data(train, valid, seed=seed, lengths=lengths, checkpoint=checkpoint,
                               checkpoint_every=checkpoint_every)
    if patience is not None and valid is None:
        raise ValueError(f"patience is {patience} and valid is None; expected validation data")
    device = torch.device(device) if device is not None else _device_of(model)
    model.to(device)

    # optimizer and schedule
    settings = {"lr": lr, "betas": betas, "weight_decay": weight_decay}
    if optimizer is not None:
        settings = {"optimizer": _describe_optimizer(optimizer, model, **settings)}
    scheduled = optimizer is None or schedule is not None or warmup > 0
    optimizer = optimizer or _make_optimizer(model, lr, betas, weight_decay)
    if bf16 and any(p.dtype != torch.float32 for p in model.parameters() if p.requires_grad):
        raise ValueError("bf16 is True and some parameters are not float32; expected float32 weights, to which "
                         "model.float() converts")
    batches = count_batches(train, batch_size)                       # in an epoch
    steps = epochs * batches
    factor = make_schedule(schedule, steps, warmup)

    # the state of the run: new, or that of the checkpoint
    configuration = {"batch_size": batch_size, **settings, "clip": clip, "patience": patience, "seed": seed, "bf16": bf16,
                     "accumulate": accumulate, "device": device.type, **({} if lengths is None else {"by_length": True})}
    path = Path(checkpoint) if checkpoint is not None else None
    saved = Checkpoint(path, model, optimizer, device, configuration, train, valid)
    position, history, best = saved.restore(epochs, factor)          # best: weights of history.best_epoch
    trusted = check_once(model, train, device)                       # values are not checked again
    trusted_valid = check_once(model, valid, device, scored=True)

    parameters = list(model.parameters())                            # listed once, not in each step
    shown = {} if progress else {"disable": True}                    # if unset, tqdm reads TQDM_DISABLE
    bar = tqdm(total=steps, initial=position.step, unit="step", **shown)
    with bar, _training(model), _restore_rates(optimizer) as rates:
        while position.epoch <= epochs and not history.out_of_patience(patience):
            for data, rows in training_batches(train, batch_size, seed, position.epoch, lengths, position.batch):
                # a step: gradient, clipping, learning rate, update
                with trusted():
                    loss, weight = _add_gradients(model, parameters, data, rows, accumulate, bf16, device)
                if not math.isfinite(loss):
                    raise FloatingPointError(f"the training loss is {loss} {position}; expected a finite value. Try a "
                                             f"smaller lr, or pass clip. {saved}")
                _clip_gradient(model, parameters, clip, position, saved)
                scale = factor(position.step + 1)
                if scheduled:
                    for group, rate in zip(optimizer.param_groups, rates):
                        group["lr"] = float(rate * scale)
                elif path is not None and [group["lr"] for group in optimizer.param_groups] != rates:
                    raise ValueError("checkpoint was given, but the optimizer's learning rate was changed during the "
                                     "run, which a resumed run cannot repeat; pass the change as schedule")
                optimizer.step()
                position.add_step(loss, weight, float(optimizer.param_groups[0]["lr"]), float(scale))
                bar.update()
                if position.batch < batches:
                    if callback is not None:
                        callback(Report(position.epoch, position.step, steps, optimizer.param_groups[0]["lr"], loss,
                                        None, None))
                    if checkpoint_every and position.step % checkpoint_every == 0:
                        saved.save(position, history, best)

            # the end of an epoch: evaluation, history, checkpoint
            with trusted_valid():
                valid_loss = None if valid is None else _validate(model, valid, batch_size, device)
            if valid_loss is not None and not math.isfinite(valid_loss):
                raise FloatingPointError(f"the validation loss is {valid_loss} after epoch {position.epoch}: a row of "
                                         f"valid has probability 0, or training diverged. {saved}")
            if history.add_epoch(position.loss / position.weight, valid_loss, position.lr, position.update_seconds(),
                                 position.step):
                best = {name: t.detach().clone() for name, t in tensors_of(model).items()}
            report = Report(position.epoch, position.step, steps, optimizer.param_groups[0]["lr"], loss,
                            history.train[-1], valid_loss)
            position.next_epoch()
            bar.set_postfix_str(str(history), refresh=False)
            saved.save(position, history, best)
            if callback is not None:
                callback(report)

    history.stopped = history.out_of_patience(patience)
    if patience is not None:
        put_back(tensors_of(model), best)
        history.restored = True
    return history


def _add_gradients(model: nn.Module, parameters: list[nn.Parameter], data: Data, rows: Int[Tensor, "B"],
                   accumulate: int, bf16: bool, device: torch.device) -> tuple[float, float]:
    """Compute the gradient of the mean loss over `rows`, indices (B,), in `accumulate` pieces; return (mean, weight).

    The mean loss is sum w_k m_k / sum w_k for pieces k with mean m_k and weight w_k. A weight is the number of rows,
    unless the loss returns another weight; then the gradient is rescaled when the sum of the weights is known.
    """
    for p in parameters:
        p.grad = None
    parts = []
    for piece in rows.tensor_split(accumulate):
        if len(piece):
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                mean, weight = objective(model, take(data, piece, device))
            (mean * (weight / len(rows))).backward()
            parts.append((mean.detach(), weight))
    total, weights = sum(float(mean) * weight for mean, weight in parts), sum(weight for _, weight in parts)
    if weights <= 0:
        raise ValueError(f"the weights that loss(batch) of {type(model).__name__} returned sum to {weights} over a "
                         "batch; expected more than 0, because a weight is the number of terms in the mean, such as tokens")
    if weights != len(rows):
        torch._foreach_mul_([p.grad for p in parameters if p.grad is not None], len(rows) / weights)
    return total / weights, weights


@torch.no_grad()
def _validate(model: nn.Module, data: Data | DataLoader, batch_size: int, device: torch.device) -> float:
    """The mean of -log p over all rows, or of the loss if the model has no `log_prob`, in eval mode."""
    total = weights = 0.0
    with evaluating(model):
        for part, rows in batches_of(data, batch_size, "valid"):
            batch = take(part, rows, device)
            if hasattr(model, "log_prob"):
                total, weights = total - log_prob(model, batch).cpu().double().sum().item(), weights + len(rows)
            else:
                mean, weight = objective(model, batch)
                total, weights = total + float(mean) * weight, weights + weight
    if not weights:
        raise ValueError("valid is a DataLoader that gave no batch; expected at least one row")
    return total / weights


@torch.no_grad()
def evaluate(model: nn.Module, data: Data | DataLoader, batch_size: int = 100,
             device: str | torch.device | None = None) -> tuple[float, float]:
    """The mean negative log-likelihood per row, in nats, and its standard error over the rows.

    data        a tensor (N, ...), a pair of tensors for log_prob(x, context), or a DataLoader of such batches
    batch_size  rows per batch; a DataLoader has its own batch size
    device      device to which the model is moved; None: the model is not moved

    The model is in eval mode during the evaluation; its mode is restored. The standard error is nan for a single row.
    Raises TypeError if the model has no log_prob, and ValueError if there are no rows.

    >>> import torch
    >>> from course_lib.density import FVSBN
    >>> # four independent bits of probability 1/2: 4 ln 2
    >>> evaluate(FVSBN(4), torch.tensor([[0, 1, 1, 0], [1, 1, 0, 0]]))
    (2.772588..., 0.0)
    """
    _check_arguments(batch_size=batch_size)
    data = data if isinstance(data, DataLoader) else check_data(data, "data")
    if not hasattr(model, "log_prob"):
        raise TypeError(f"{type(model).__name__} has no log_prob; expected a model with a likelihood")
    target = torch.device(device) if device is not None else _device_of(model)
    model.to(target)
    with evaluating(model):
        nll = [-log_prob(model, take(part, rows, target)).cpu().double() for part, rows in batches_of(data, batch_size)]
    if not nll:
        raise ValueError("data is a DataLoader that gave no batch; expected at least one row")
    nll = torch.cat(nll)
    return nll.mean().item(), nll.std().item() / math.sqrt(len(nll)) if len(nll) > 1 else math.nan


# --- helpers ----------------------------------------------------------------------------------------------------------


def _check_data(train: Data | DataLoader, valid: Data | DataLoader | None, seed: int, lengths: Tensor | None,
                checkpoint: str | Path | None, checkpoint_every: int | None) -> tuple[Data | DataLoader, Data | DataLoader | None]:
    """Check the data, and that no option was given that a DataLoader excludes; return (train, valid)."""
    if isinstance(train, DataLoader):
        for name, value, plain in (("seed", seed, 0), ("lengths", lengths, None),
                                   ("checkpoint_every", checkpoint_every, None)):
            if value is not plain and value != plain:
                raise ValueError(f"{name} was given, but train is a DataLoader, which orders its own batches; pass train as "
                                 f"tensors, or omit {name}")
    else:
        train = check_data(train, "train")
        if lengths is not None and lengths.shape != (count(train),):
            raise ValueError(f"lengths has shape {tuple(lengths.shape)}; expected ({count(train)},), one for each row of "
                             "train")
    for name, data in (("train", train), ("valid", valid)):
        if checkpoint is not None and getattr(data, "persistent_workers", False):
            raise ValueError(f"checkpoint was given and {name} is a DataLoader with persistent_workers, whose seed is sampled "
                             "once per process, so a resumed run would differ; expected persistent_workers=False")
    if valid is not None and not isinstance(valid, DataLoader):
        valid = check_data(valid, "valid", like=None if isinstance(train, DataLoader) else train)
    return train, valid


def _describe_optimizer(optimizer: torch.optim.Optimizer, model: nn.Module, **unused: Any) -> dict[str, Any]:
    """Class and settings of the user's optimizer, a dict for the checkpoint. Raises ValueError if `fit` cannot use it.

    unused  arguments of `fit` that must have their defaults, because the optimizer replaces them
    """
    plain = inspect.signature(fit).parameters
    given = [name for name, value in unused.items() if value != plain[name].default]
    if given:
        raise ValueError(f"{' and '.join(given)} and optimizer were given; expected only optimizer, which has its own settings")
    closure = inspect.signature(optimizer.step).parameters.get("closure")
    if closure is not None and closure.default is inspect.Parameter.empty:
        raise ValueError(f"optimizer is of type {type(optimizer).__name__}, whose step needs a closure; expected one that "
                         "makes one step per gradient, such as torch.optim.SGD")
    parameters = {id(p) for p in model.parameters()}
    groups = optimizer.param_groups
    if not all(id(p) in parameters for group in groups for p in group["params"]):
        raise ValueError(f"optimizer contains parameters that {type(model).__name__} does not have; expected parameters of the model")
    return {"class": type(optimizer).__name__,
            "groups": [{name: describe(value) for name, value in group.items() if name != "params"}
                       | {"parameters": len(group["params"])} for group in groups]}


@contextmanager
def _restore_rates(optimizer: torch.optim.Optimizer):
    """Yield the initial learning rates of the groups of the optimizer, and restore them at the end."""
    rates = [group["lr"] for group in optimizer.param_groups]
    try:
        yield rates
    finally:
        for group, rate in zip(optimizer.param_groups, rates):
            group["lr"] = rate


def _make_optimizer(model: nn.Module, lr: Number, betas: tuple[Number, Number], weight_decay: Number) -> torch.optim.AdamW:
    """AdamW with weight decay on matrices only; parameters with fewer than two dimensions are biases and gains.

    The fused kernel is up to ten times as fast on a CPU as the loop over tensors.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError(f"model is a {type(model).__name__}, which has no parameters that require a gradient; "
                         "expected at least one")
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=lr, betas=tuple(float(beta) for beta in betas),
                             fused=True)


def _clip_gradient(model: nn.Module, parameters: list[nn.Parameter], clip: Number | None, position: Position,
                   saved: Checkpoint) -> None:
    """Scale the gradient to the global norm `clip` if its norm is larger; None: no scaling.

    Raises FloatingPointError, whose message contains `position` and `saved`, if the gradient is not finite.
    """
    try:
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None], error_if_nonfinite=True)
        if clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, clip, norm)
    except RuntimeError as error:
        names = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
        raise FloatingPointError(f"the gradient of {', '.join(names) or 'all parameters'} is not finite {position}, "
                                 "but the loss is finite. Often an infinite or NaN value is computed and masked afterwards; "
                                 f"mask the input of the operation instead. {saved}") from error


@contextmanager
def _training(model: nn.Module):
    """Set training mode; restore the mode of every submodule at the end."""
    with evaluating(model):
        model.train()
        yield


def _device_of(model: nn.Module) -> torch.device:
    return next((t.device for t in (*model.parameters(), *model.buffers())), torch.device("cpu"))


def _check_arguments(**arguments) -> None:
    """Check that counts are at least 1, lr and clip positive, and weight_decay not negative; None is allowed."""
    for name, value in arguments.items():
        if value is None:
            continue
        if name in ("lr", "clip", "weight_decay"):
            low = "0 or more" if name == "weight_decay" else "more than 0"
            if not (math.isfinite(value) and (value > 0 or value == 0 and name == "weight_decay")):
                raise ValueError(f"{name} is {value}; expected a finite number, {low}")
        elif value < 1:
            raise ValueError(f"{name} is {value}; expected 1 or more")
