"""`fit` and `evaluate`: the training loop, and what it is made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import torch
from jaxtyping import Int, Shaped
from torch import Tensor, nn
from tqdm import tqdm

from course_lib.autoregressive import evaluating
from course_lib.training.history import History
from course_lib.training.objective import Data, check_data, count, epoch_batches, log_prob, objective, take
from course_lib.training.processes import Processes
from course_lib.training.run import Run
from course_lib.training.schedules import make_schedule

Number = int | float                                                 # where types are checked, an int is no float


def fit(model: nn.Module, train: Data, valid: Data | None = None, *, epochs: int, batch_size: int = 100,
        lr: Number = 1e-3, betas: tuple[Number, Number] = (0.9, 0.999), weight_decay: Number = 0.0,
        schedule: str | Callable[[int], float] | None = None, warmup: int = 0, clip: Number | None = None,
        patience: int | None = None, seed: int = 0, device: str | torch.device | None = None, bf16: bool = False,
        accumulate: int = 1, lengths: Shaped[Tensor, "..."] | None = None, checkpoint: str | Path | None = None,
        checkpoint_every: int | None = None, progress: bool = True) -> History:
    """Train `model` by AdamW on `train` and return what was measured.

    model         minimises its `loss(batch)` if it has one, else minus its mean `log_prob`; see `objective`. It is
                  validated by its `log_prob` if it has one, since a loss may be smoothed or draw at random
    train, valid  (N, ...), or a pair of tensors with the same N, passed on as log_prob(x, context). They stay where
                  they are, in their own dtype; each batch is moved to the model's device
    batch_size    rows that one step averages over, over all processes; the last batch of an epoch may be shorter
    weight_decay  on parameters of two or more dimensions: never on biases and gains
    schedule      "constant", "cosine", "inverse_sqrt", "linear", or a function from the step, counted from 1, to a factor on lr
    warmup        steps in which a named schedule rises to 1
    clip          the largest global norm of the gradient; smaller ones are left untouched
    patience      stop after this many epochs in a row without a lower validation loss, and give the model the weights
                  of its best epoch. Without it the last weights stay
    seed          of the order of the rows. Nothing else is drawn here; a model that draws in its loss uses torch's
                  global generator
    device        None: where the model is; otherwise the model is moved there and stays
    bf16          compute the training loss under bfloat16 autocast; weights, moments and validation stay as they are
    accumulate    pieces in which each batch is computed to save memory: the same gradient, that of the mean over the
                  whole batch
    lengths       a number for each row of train, such as its count of real tokens: rows with like numbers share a batch
    checkpoint    a file to write after each epoch, and every `checkpoint_every` steps. If it is there, the run goes on
                  from it, and ends with the weights and the history that it would have had uninterrupted, bit for bit
                  (on one device, with the same number of processes). `epochs` may have grown; nothing else may differ
    progress      show a bar (TQDM_DISABLE=1 hides it too)

    Under torchrun the processes share each batch. Raises ValueError and TypeError for unusable arguments,
    CheckpointError for a checkpoint that is damaged or of another run, FloatingPointError for a loss or gradient that
    is not finite; the last checkpoint is kept then.
    """
    _check_arguments(epochs=epochs, batch_size=batch_size, accumulate=accumulate, patience=patience, clip=clip,
                     checkpoint_every=checkpoint_every, lr=lr, weight_decay=weight_decay)
    train = check_data(train, "train")
    valid = valid if valid is None else check_data(valid, "valid", like=train)
    if patience is not None and valid is None:
        raise ValueError(f"patience is {patience} and valid is None; early stopping needs validation data")
    processes = Processes.join(torch.device(device) if device is not None else _device_of(model))
    model.to(processes.device)
    optimizer = _optimizer(model, lr, betas, weight_decay, bf16)

    num = count(train)
    if lengths is not None and lengths.shape != (num,):
        raise ValueError(f"lengths has shape {tuple(lengths.shape)}; needed is ({num},), one for each row of train")
    steps = epochs * math.ceil(num / batch_size)
    factor = make_schedule(schedule, steps, warmup)
    configuration = {"batch_size": batch_size, "lr": lr, "betas": betas, "weight_decay": weight_decay, "clip": clip,
                     "schedule": [factor(s) for s in (1, (steps + 1) // 2, steps)], "patience": patience, "seed": seed,
                     "bf16": bf16, "accumulate": accumulate, "processes": processes.size,
                     "device": processes.device.type, **({} if lengths is None else {"by_length": True})}
    run = Run(model, optimizer, processes, Path(checkpoint) if checkpoint is not None else None)
    run.resume(configuration, train, valid, epochs)

    hidden = {} if progress and processes.first else {"disable": True}             # unset, TQDM_DISABLE is heard
    bar = tqdm(total=steps, initial=run.step, unit="step", **hidden)
    with bar, _training(model):
        while run.epoch <= epochs and not run.out_of(patience):
            batches = epoch_batches(num, batch_size, seed, run.epoch, lengths)
            for rows in batches[run.batch:]:
                loss, weight = _backward(model, train, rows, accumulate, bf16, processes)
                if not math.isfinite(loss):
                    raise FloatingPointError(f"the training loss is {loss} {run}. {run.last_good()}")
                _clip(model, clip, run)
                for group in optimizer.param_groups:
                    group["lr"] = float(lr * factor(run.step + 1))
                optimizer.step()
                run.add(loss, weight, optimizer.param_groups[0]["lr"])
                bar.update()
                if checkpoint_every and run.step % checkpoint_every == 0 and run.batch < len(batches):
                    run.save()
            run.close_epoch(None if valid is None else _validate(model, valid, batch_size, processes))
            bar.set_postfix_str(str(run.history), refresh=False)
            run.save()
    return run.finish(patience)


def _backward(model: nn.Module, data: Data, rows: Int[Tensor, "B"], accumulate: int, bf16: bool,
              processes: Processes) -> tuple[float, float]:
    """Leave in .grad the gradient of the mean loss over these rows, and return that mean and its weight.

    Pieces and processes each have a mean m_k and a weight w_k, and the mean over all is sum w_k m_k / sum w_k. The
    weights are the numbers of rows, known beforehand, unless a loss says otherwise: then the gradient is corrected by
    the sum once it is known.
    """
    model.zero_grad()
    device, parts = processes.device, []
    for piece in processes.share(rows).tensor_split(accumulate):
        if len(piece):
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                mean, weight = objective(model, take(data, piece, device))
            (mean * (weight / len(rows))).backward()
            parts.append((mean.detach(), weight))
    total, weights = processes.sum(sum((float(m) * w for m, w in parts), 0.0), sum((w for _, w in parts), 0.0))
    if weights <= 0:
        raise ValueError(f"the weights that loss(batch) returned sum to {weights} over a batch; they must be positive")
    processes.sum_gradients(model.parameters())
    if weights != len(rows):
        for p in model.parameters():
            if p.grad is not None:
                p.grad.mul_(len(rows) / weights)
    return total / weights, weights


@torch.no_grad()
def _validate(model: nn.Module, data: Data, batch_size: int, processes: Processes) -> float:
    """The mean of -log p over `data`, of the loss for a model without log_prob; eval mode, summed in float64."""
    processes.broadcast(model.buffers())                             # running statistics, where a model keeps them
    total = weights = 0.0
    with evaluating(model):
        for rows in processes.share(torch.arange(count(data))).split(batch_size):
            if len(rows):                                            # fewer rows than processes: some have none
                batch = take(data, rows, processes.device)
                if hasattr(model, "log_prob"):
                    total, weights = total - log_prob(model, batch).cpu().double().sum().item(), weights + len(rows)
                else:
                    mean, weight = objective(model, batch)
                    total, weights = total + float(mean) * weight, weights + weight
    total, weights = processes.sum(total, weights)
    return total / weights


@torch.no_grad()
def evaluate(model: nn.Module, data: Data, batch_size: int = 100,
             device: str | torch.device | None = None) -> tuple[float, float]:
    """The mean of -log p(x) over the rows, in nats, and the standard error of that mean.

    In eval mode, the mode restored; accumulated in float64. The standard error is nan for a single row. `device` None:
    where the model is; otherwise the model is moved there.
    """
    _check_arguments(batch_size=batch_size)
    data = check_data(data, "data")
    if not hasattr(model, "log_prob"):
        raise TypeError(f"{type(model).__name__} has no log_prob; only a likelihood can be evaluated in nats")
    target = torch.device(device) if device is not None else _device_of(model)
    model.to(target)
    num = count(data)
    with evaluating(model):
        nll = torch.cat([-log_prob(model, take(data, rows, target)).cpu().double()
                         for rows in torch.arange(num).split(batch_size)])
    return nll.mean().item(), nll.std().item() / math.sqrt(num) if num > 1 else math.nan


# --- helpers ----------------------------------------------------------------------------------------------------------


def _optimizer(model: nn.Module, lr: Number, betas: tuple[Number, Number], weight_decay: Number,
               bf16: bool) -> torch.optim.AdamW:
    """AdamW with decay on matrices only: parameters with fewer than two dimensions are biases and gains.

    All its steps are one kernel (`fused`), on a processor too, where the loop over tensors takes up to ten times as long.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise ValueError(f"{type(model).__name__} has no parameters to train")
    if bf16 and any(p.dtype != torch.float32 for p in parameters):
        raise ValueError("bf16 is True and some parameters are not float32; autocast starts from float32 weights")
    groups = [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": weight_decay},
              {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW([g for g in groups if g["params"]], lr=lr, betas=tuple(float(beta) for beta in betas),
                             fused=True)


def _clip(model: nn.Module, clip: Number | None, run: Run) -> None:
    """Scale the gradient down to the global norm `clip` if it is longer."""
    try:
        nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip, error_if_nonfinite=True)
    except RuntimeError as error:
        names = [n for n, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
        raise FloatingPointError(f"the gradient of {', '.join(names) or 'all parameters'} is not finite {run}, "
                                 "though the loss is: look for an infinity that is masked after the fact. "
                                 f"{run.last_good()}") from error


@contextmanager
def _training(model: nn.Module):
    """Training mode inside, every submodule's own mode restored after."""
    with evaluating(model):
        model.train()
        yield


def _device_of(model: nn.Module) -> torch.device:
    return next((t.device for t in (*model.parameters(), *model.buffers())), torch.device("cpu"))


def _check_arguments(**arguments) -> None:
    """Counts are whole and at least 1; lr and clip positive; weight decay not negative. None is left alone."""
    for name, value in arguments.items():
        if value is None:
            continue
        if name in ("lr", "clip", "weight_decay"):
            low = "0 or more" if name == "weight_decay" else "more than 0"
            if not (math.isfinite(value) and (value > 0 or value == 0 and name == "weight_decay")):
                raise ValueError(f"{name} is {value}; needed is a finite number, {low}")
        elif value < 1:
            raise ValueError(f"{name} is {value}; needed is 1 or more")
