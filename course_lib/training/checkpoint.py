"""Checkpoints: a file from which an interrupted run resumes bit for bit.

The file is in safetensors format. Its tensors are the model's parameters and buffers, the optimizer's moments and the
best weights so far; its metadata contain, as JSON, the position in the run, the history, the states of the random
generators, the configuration, and a digest. It is written atomically; the file before it is kept with `.previous`
appended, and read if the newest one is damaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import struct
import time
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.utils.data import DataLoader

from course_lib.conditional import Conditional
from course_lib.files import write_atomically
from course_lib.training.batches import Data, tensors
from course_lib.training.history import History
from course_lib.training.schedules import Schedule

FORMAT = "course_lib checkpoint 1"


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, or that belongs to another run.

    >>> raise CheckpointError("run.ckpt: lr was 0.001, now 0.01")
    Traceback (most recent call last):
    course_lib.training.checkpoint.CheckpointError: run.ckpt: lr was 0.001, now 0.01
    """


@dataclass
class Position:
    """The progress of a training run.

    epoch         number of the current epoch, counted from 1
    batch, step   number of batches completed in the current epoch, and of optimizer steps completed in the run
    loss, weight  weighted sum of the losses of the current epoch, and the sum of their weights
    lr            learning rate of the latest step
    factors       checksum of the schedule's factors for the steps completed
    seconds       time spent on the current epoch, including the time before an interruption
    since         time of the latest call of `update_seconds`, by time.perf_counter

    >>> print(Position(epoch=2, step=9))
    at epoch 2, step 10
    """

    epoch: int = 1
    batch: int = 0
    step: int = 0
    loss: float = 0.0
    weight: float = 0.0
    lr: float = 0.0
    factors: int = 0
    seconds: float = 0.0
    since: float = field(default_factory=lambda: time.perf_counter(), repr=False, compare=False)

    def add_step(self, loss: float, weight: float, lr: float, factor: float) -> None:
        """Record a training step: mean loss of the batch, its weight, learning rate and schedule factor."""
        self.loss, self.weight, self.lr = self.loss + loss * weight, self.weight + weight, lr
        self.factors = add_factor(self.factors, factor)
        self.batch, self.step = self.batch + 1, self.step + 1

    def next_epoch(self) -> None:
        """Start the next epoch."""
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss = self.weight = self.seconds = 0.0

    def update_seconds(self) -> float:
        """Add the time since the latest call to `seconds`; return the seconds of the current epoch."""
        now = time.perf_counter()
        self.seconds, self.since = self.seconds + now - self.since, now
        return self.seconds

    def to_dict(self) -> dict[str, int | float]:
        """All fields except `since`, which is valid in this process only."""
        return {name: value for name, value in asdict(self).items() if name != "since"}

    def __str__(self) -> str:
        return f"at epoch {self.epoch}, step {self.step + 1}"


class Checkpoint:
    """The checkpoint of a run of `fit`, a file.

    path           path of the file; None: nothing is saved
    model, optimizer, device  of the run; the states of the model and of the optimizer are saved and restored
    configuration  settings that must be equal when a run is resumed; descriptions of the model and data are added
    train, valid   data of the run; the generators of DataLoaders are saved
    """

    def __init__(self, path: Path | None, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device,
                 configuration: dict[str, Any], train: Data | DataLoader, valid: Data | DataLoader | None):
        self.path, self.model, self.optimizer, self.device = path, model, optimizer, device
        self.generators = [*generators_of(train), *generators_of(valid)]
        if path is not None:
            self.configuration = configuration | describe_model(model) | {"train": describe_data(train),
                                                                          "valid": describe_data(valid)}

    def save(self, position: Position, history: History, best: dict[str, Tensor]) -> None:
        """Write the state of the run, if there is a path: `position`, `history`, model, optimizer and generators.

        best  {name: tensor} of the best epoch, parameters and buffers
        """
        if self.path is None:
            return
        position.update_seconds()
        parts = {"model": tensors_of(self.model), "best": best, "optimizer": optimizer_tensors(self.optimizer)}
        tensors = {f"{part}.{name}": t for part, named in parts.items() for name, t in named.items()}
        write(self.path, tensors, {"position": position.to_dict(), "history": history.to_dict(),
                                   "random": random_states(self.device, self.generators),
                                   "configuration": self.configuration})

    def restore(self, epochs: int, factor: Schedule) -> tuple[Position, History, dict[str, Tensor]]:
        """Set model, optimizer and generators to the saved state; return position, history and best weights.

        epochs  number of epochs of the run
        factor  function from a step, counted from 1, to the factor on the learning rate

        Without a file, returns the values of a new run. Raises CheckpointError if the file belongs to another run, if
        more than `epochs` epochs have begun, or if its schedule differs from `factor` in the completed steps.
        """
        saved = None if self.path is None else read(self.path)
        if saved is None:
            return Position(), History(), {}
        tensors, state = saved
        position = Position(**state["position"])
        same = reduce(add_factor, map(factor, range(1, position.step + 1)), 0) == position.factors
        check_same(self.path, state["configuration"], self.configuration, [] if same else
                   [f"schedule has different factors for the {position.step} completed steps (does it depend on epochs?)"])
        begun = position.epoch - 1 + (position.batch > 0)
        if begun > epochs:
            raise CheckpointError(f"epochs is {epochs}; expected at least {begun}, because {self.path} is in epoch {begun} "
                                  "already")
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
        for name, t in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = t
        put_back(tensors_of(self.model), parts["model"])
        restore_optimizer(self.optimizer, parts["optimizer"])
        set_random_states(state["random"], self.device, self.generators)
        return position, History(**state["history"]), {name: t.to(self.device) for name, t in parts["best"].items()}

    def __str__(self) -> str:
        """The state of the file, as part of an error message."""
        if self.path is None:
            return "There is no checkpoint"
        return f"The checkpoint {self.path} holds the last good state" if self.path.exists() else "No checkpoint yet"


# --- the file ---------------------------------------------------------------------------------------------------------


def write(path: Path, tensors: dict[str, Tensor], state: dict[str, Any]) -> None:
    """Write a checkpoint atomically: `tensors` by name, and `state`, a dict that JSON can store."""
    tensors = {name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}
    text = json.dumps(state)                                         # JSON writes a float exactly
    metadata = {"format": FORMAT, "state": text, "digest": _digest(tensors, text)}
    write_atomically(path, save(tensors, metadata), previous=_previous(path))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
    """Read the newest valid checkpoint at `path`: (tensors, state) as for `write`; None if there is no file.

    A damaged file is renamed with a warning, and the file before it is read.
    """
    previous = _previous(path)
    if not path.exists():                                            # not yet written, or killed between renames
        return _read_previous(path, previous) if previous.exists() else None
    try:
        return _read_one(path)
    except CheckpointError as error:
        if not previous.exists():
            raise CheckpointError(f"{error}. No earlier checkpoint exists; delete {path} to start again") from error
        checkpoint = _read_previous(path, previous)
        damaged = path.with_name(path.name + ".damaged")
        os.replace(path, damaged)                                    # or the next write would keep it as .previous
        warnings.warn(f"{error}. It is kept as {damaged.name}; the run continues from {previous.name}", stacklevel=4)
        return checkpoint


def _read_previous(path: Path, previous: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read `previous` because the checkpoint at `path` is damaged or missing."""
    try:
        return _read_one(previous)
    except CheckpointError as error:
        raise CheckpointError(f"{error}, and {path} is damaged or missing; delete both files to start again") from error


def _read_one(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 not a dict
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(f"{path} is damaged or not a checkpoint ({path.stat().st_size} bytes: {error})") from error
    if metadata.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {metadata.get('format')!r}; expected {FORMAT!r}, as fit writes it")
    if _digest(tensors, metadata["state"]) != metadata["digest"]:
        raise CheckpointError(f"{path} is damaged: its digest does not match its content")
    return tensors, json.loads(metadata["state"])


def _previous(path: Path) -> Path:
    return path.with_name(path.name + ".previous")


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tuple(tensors[name].shape)}".encode())
        digest.update(_bytes(tensors[name]))
    return digest.hexdigest()


def _bytes(t: Tensor) -> memoryview:
    return memoryview(t.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())


# --- what a run consists of -------------------------------------------------------------------------------------------


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """All parameters and buffers by name, including buffers that are not in the state dict."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


@torch.no_grad()
def put_back(target: dict[str, Tensor], values: dict[str, Tensor]) -> None:
    """Copy `values` to the tensors of the same names in `target`."""
    for name, t in target.items():
        t.copy_(values[name])


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments and step counts by name, such as "0.exp_avg"; TypeError for a state that is no tensor."""
    state = {f"{index}.{key}": value for index, entry in optimizer.state_dict()["state"].items()
             for key, value in entry.items() if value is not None}
    for name, value in state.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"{type(optimizer).__name__} keeps {name.partition('.')[2]} as a {type(value).__name__}; a "
                            "checkpoint can hold tensors only: train without a checkpoint, or with another optimizer")
    return state


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Inverse of `optimizer_tensors`: set the optimizer's moments and step counts to `tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, key = name.split(".")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def generators_of(data: Data | DataLoader | None) -> list[torch.Generator]:
    """The generators of a DataLoader and of its samplers; an empty list if these use torch's global generator."""
    if not isinstance(data, DataLoader):
        return []
    owners = (data, data.sampler, data.batch_sampler, getattr(data.batch_sampler, "sampler", None))
    return [owner.generator for owner in owners if isinstance(getattr(owner, "generator", None), torch.Generator)]


def random_states(device: torch.device, generators: Sequence[torch.Generator] = ()) -> dict[str, Any]:
    """States of the global generators of torch, CUDA, NumPy and Python, and of `generators`, in a dict for JSON."""
    kind, keys, *rest = np.random.get_state()
    return {"torch": _bytes(torch.get_rng_state()).hex(),
            "cuda": _bytes(torch.cuda.get_rng_state(device)).hex() if device.type == "cuda" else None,
            "numpy": [kind, keys.tolist(), *rest],
            "python": random.getstate(),
            "own": [_bytes(generator.get_state()).hex() for generator in generators]}


def set_random_states(states: dict[str, Any], device: torch.device, generators: Sequence[torch.Generator] = ()) -> None:
    """Set the states of all generators to `states`, the result of `random_states`."""
    torch.set_rng_state(_from_hex(states["torch"]))
    if device.type == "cuda":
        torch.cuda.set_rng_state(_from_hex(states["cuda"]), device)
    np.random.set_state(tuple(states["numpy"]))
    version, internal, gauss = states["python"]
    random.setstate((version, tuple(internal), gauss))
    for generator, saved in zip(generators, states["own"], strict=True):
        generator.set_state(_from_hex(saved))


def _from_hex(text: str) -> Tensor:
    return torch.frombuffer(bytearray.fromhex(text), dtype=torch.uint8)


# --- the configuration --------------------------------------------------------------------------------------------------


def describe_data(data: Data | DataLoader | None) -> list | dict | None:
    """List of [dtype, shape, sha256] of each tensor; for a DataLoader, a dict of its dataset's class and its sizes."""
    if data is None:
        return None
    if isinstance(data, DataLoader):
        return {"dataset": type(data.dataset).__name__, "batches": len(data), "batch_size": data.batch_size,
                "generators": len(generators_of(data)),
                "rows": len(data.dataset) if hasattr(data.dataset, "__len__") else None}
    return [[str(t.dtype), list(t.shape), hashlib.sha256(_bytes(t)).hexdigest()] for t in tensors(data)]


def describe_model(model: nn.Module) -> dict[str, Any]:
    """Describe a model by a dict for JSON: class, arguments of the constructor, dtypes and shapes of its tensors."""
    built = {key: value for key, value in describe(model).items() if key != "class"}
    return {"model": type(model).__name__, "config": built,
            "tensors": {name: [str(t.dtype), list(t.shape)] for name, t in tensors_of(model).items()}}


def check_same(path: Path, saved: dict[str, Any], now: dict[str, Any], others: Sequence[str] = ()) -> None:
    """Raise a CheckpointError if settings differ between `saved` and `now`, the settings of the checkpoint and the run.

    path    path of the checkpoint, for the message
    others  other differences, as texts for the message
    """
    now = json.loads(json.dumps(now))                                # as read from a file
    different = [_difference(key, saved.get(key), now.get(key)) for key in {**now, **saved}
                 if saved.get(key) != now.get(key)] + list(others)
    if different:
        raise CheckpointError(f"{path} belongs to another run: {'; '.join(different)}. "
                              "Pass another checkpoint, or delete this file to start again")


def add_factor(checksum: int, factor: float) -> int:
    """Return the checksum (CRC-32) of a schedule's factors, extended by one factor."""
    return zlib.crc32(struct.pack("d", factor), checksum)


def _difference(key: str, saved: Any, now: Any) -> str:
    sentence = f"{key} was {saved}, now {now}"
    return sentence if len(sentence) < 100 else f"{key} differs"


def describe(value: Any) -> Any:
    """Describe a model, or an argument of its constructor, by dicts, lists, numbers and strings, for JSON.

    A model without `config` is described by its submodules.
    """
    if isinstance(value, dict):
        return {str(key): describe(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, nn.ModuleList)):
        return [describe(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        return describe(asdict(value))
    if isinstance(value, Tensor):
        return describe_data(value.detach())[0]
    if isinstance(value, (nn.Module, Conditional)):
        name, arguments = type(value).__name__, getattr(value, "config", None)
        if arguments is not None:
            return {"class": name, "config": describe(arguments)}
        parts = {child: describe(part) for child, part in value.named_children()}
        return {"class": name, "says": _without_addresses(value.extra_repr()), "parts": parts}
    return value if value is None or isinstance(value, (bool, int, float, str)) else _without_addresses(repr(value))


def _without_addresses(text: str) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", text)
