"""The state of a training run: where it stands, what it measured, its best weights; saved and resumed as one."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from course_lib.training import checkpoint
from course_lib.training.history import History, Report
from course_lib.training.objective import Data


class Run:
    """Epochs are counted from 1; `batch` is the number of batches that the current epoch has behind it."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device, path: Path | None,
                 generator: torch.Generator | None = None):
        self.model, self.optimizer, self.device, self.path = model, optimizer, device, path
        self.generator = generator                                   # a DataLoader's own, if it has one
        self.history = History()
        self.epoch, self.batch, self.step = 1, 0, 0
        self.loss = self.weight = self.lr = 0.0                      # sums over the current epoch; its latest rate
        self.seconds, self._since = 0.0, time.perf_counter()         # on the current epoch, before a kill included
        self.best: dict[str, torch.Tensor] = {}                      # the weights of history.best_epoch
        self.configuration: dict[str, Any] = {}

    # --- what happens ------------------------------------------------------------------------------------------------

    def add(self, loss: float, weight: float, lr: float) -> None:
        """A step was taken on a batch with this mean loss."""
        self.loss, self.weight, self.lr = self.loss + loss * weight, self.weight + weight, lr
        self.batch, self.step = self.batch + 1, self.step + 1

    def close_epoch(self, valid: float | None) -> None:
        """All batches are done; note the epoch's measurements, and the weights if they are the best so far."""
        history = self.history
        if valid is not None:
            if not math.isfinite(valid):
                raise FloatingPointError(f"the validation loss is {valid} after epoch {self.epoch}. {self.last_good()}")
            if history.best_epoch is None or valid < history.best_valid:
                history.best_epoch = self.epoch
                self.best = {name: t.detach().clone() for name, t in checkpoint.tensors_of(self.model).items()}
            history.valid.append(valid)
        self._tick()
        history.train.append(self.loss / self.weight)
        history.lr.append(self.lr)
        history.seconds.append(self.seconds)
        history.steps.append(self.step)
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss = self.weight = self.seconds = 0.0

    def report(self, loss: float, steps: int) -> Report:
        """What a callback is told after a step with this loss, the last one of an epoch or another."""
        closed, history = self.batch == 0, self.history
        return Report(self.epoch - closed, self.step, steps, self.optimizer.param_groups[0]["lr"], loss,
                      history.train[-1] if closed else None, history.valid[-1] if closed and history.valid else None)

    def out_of(self, patience: int | None) -> bool:
        """Have `patience` epochs passed since the best one?"""
        return patience is not None and bool(self.best) and self.history.epochs - self.history.best_epoch >= patience

    def finish(self, patience: int | None) -> History:
        """Give the model its best weights if the run was watched by `patience`."""
        self.history.stopped = self.out_of(patience)
        if patience is not None:
            checkpoint.put_back(checkpoint.tensors_of(self.model), self.best)
            self.history.restored = True
        return self.history

    def _tick(self) -> None:
        now = time.perf_counter()
        self.seconds, self._since = self.seconds + now - self._since, now

    def __str__(self) -> str:
        return f"at epoch {self.epoch}, step {self.step + 1}"

    def last_good(self) -> str:
        """A sentence for an error message."""
        if self.path is None:
            return "There is no checkpoint"
        return f"The checkpoint {self.path} holds the last good state" if self.path.exists() else "No checkpoint yet"

    # --- the checkpoint ----------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write everything."""
        if self.path is None:
            return
        self._tick()
        random = checkpoint.random_states(self.device, self.generator)
        position = {name: getattr(self, name) for name in ("epoch", "batch", "step", "loss", "weight", "lr", "seconds")}
        tensors = {f"model.{name}": t for name, t in checkpoint.tensors_of(self.model).items()}
        tensors |= {f"best.{name}": t for name, t in self.best.items()}
        tensors |= {f"optimizer.{name}": t for name, t in checkpoint.optimizer_tensors(self.optimizer).items()}
        checkpoint.write(self.path, tensors, {"position": position, "history": self.history.to_dict(),
                                              "random": random, "configuration": self.configuration})

    def resume(self, configuration: dict[str, Any], train: Data | DataLoader, valid: Data | DataLoader | None,
               epochs: int) -> None:
        """Go on from the checkpoint if there is one."""
        if self.path is None:
            return
        self.configuration = configuration | checkpoint.describe_model(self.model) | {
            "train": checkpoint.describe_data(train), "valid": checkpoint.describe_data(valid)}
        found = self._find(epochs)
        if found is None:
            return
        tensors, state = found
        parts: dict[str, dict[str, torch.Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
        for name, t in tensors.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = t
        checkpoint.put_back(checkpoint.tensors_of(self.model), parts["model"])
        checkpoint.restore_optimizer(self.optimizer, parts["optimizer"])
        self.best = {name: t.to(self.device) for name, t in parts["best"].items()}
        self.history = History(**state["history"])
        vars(self).update(state["position"])
        checkpoint.set_random_states(state["random"], self.device, self.generator)

    def _find(self, epochs: int):
        found = checkpoint.read(self.path)
        if found is not None:
            checkpoint.check_same(self.path, found[1]["configuration"], self.configuration)
            position = found[1]["position"]
            begun = position["epoch"] - 1 + (position["batch"] > 0)
            if begun > epochs:
                raise checkpoint.CheckpointError(f"{self.path} is in epoch {begun} already; epochs is {epochs}")
        return found
