"""The losses and learning rates of a training run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import NamedTuple


class Report(NamedTuple):
    """The values that `fit` passes to its callback after a step; `report._asdict()` is a dict for loggers.

    epoch        epoch of this step, counted from 1
    step, steps  number of this optimizer step, counted from 1, and of all steps of the run
    lr           learning rate of this step, of the first group of parameters
    loss         mean training loss of this step's batch, in nats for a log-likelihood
    train        mean training loss over the epoch; None except at the last step of an epoch
    valid        mean validation loss after the epoch; None except at the last step of an epoch, or without validation
                 data

    >>> Report(epoch=1, step=2, steps=8, lr=0.01, loss=2.5, train=None, valid=None).loss
    2.5
    """

    epoch: int
    step: int
    steps: int
    lr: float
    loss: float
    train: float | None
    valid: float | None


@dataclass
class History:
    """The history of a training run: lists of one entry per epoch; epochs are counted from 1.

    train       mean training loss over the batches of the epoch, each before its update
    valid       mean validation loss after the epoch, in eval mode; empty without validation data
    lr          learning rate of the epoch's last step
    seconds     duration of the epoch, validation included
    steps       number of optimizer steps since the start of the run
    best_epoch  epoch of the lowest validation loss; None without validation data
    stopped     True if the run ended `patience` epochs after `best_epoch` (early stopping)
    restored    True if the model has the weights of `best_epoch`, False if it has the weights of the last step

    >>> history = History(train=[2.5, 2.0], valid=[2.4, 2.1], best_epoch=2)
    >>> print(history)
    2 epochs, training 2, validation 2.1, best 2.1 in epoch 2
    """

    train: list[float] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)
    lr: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    best_epoch: int | None = None
    stopped: bool = False
    restored: bool = False

    @property
    def epochs(self) -> int:
        """Number of completed epochs."""
        return len(self.train)

    @property
    def best_valid(self) -> float | None:
        """The lowest validation loss; None without validation data."""
        return None if self.best_epoch is None else self.valid[self.best_epoch - 1]

    def add_epoch(self, train: float, valid: float | None, lr: float, seconds: float, steps: int) -> bool:
        """Append the values of an epoch, see the class; return whether its validation loss is the lowest of the run.

        valid  None without validation data
        """
        self.train.append(train)
        self.lr.append(lr)
        self.seconds.append(seconds)
        self.steps.append(steps)
        if valid is None:
            return False
        improved = self.best_epoch is None or valid < self.best_valid
        self.valid.append(valid)
        if improved:
            self.best_epoch = self.epochs
        return improved

    def out_of_patience(self, patience: int | None) -> bool:
        """Whether at least `patience` epochs have passed since the best epoch; False for None."""
        return patience is not None and self.best_epoch is not None and self.epochs - self.best_epoch >= patience

    def to_dict(self) -> dict:
        """The fields as a dict that JSON can store; `History(**d)` restores a history from such a dict d."""
        return asdict(self)

    def plot(self, ax=None):
        """Plot the training and validation loss by epoch on the Matplotlib axes `ax`; return the axes.

        ax  None: the axes of a new figure
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.figure(figsize=(6, 4), layout="constrained").add_subplot()
        epochs = range(1, self.epochs + 1)
        ax.plot(epochs, self.train, marker=".", label="training")
        if self.valid:
            ax.plot(epochs, self.valid, marker=".", label="validation")
            ax.axvline(self.best_epoch, color="grey", linestyle=":", label=f"best: epoch {self.best_epoch}")
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss (nats)")
        ax.legend()
        return ax

    def __str__(self) -> str:
        if not self.train:
            return "no epoch yet"
        line = f"{self.epochs} epoch{'s' * (self.epochs > 1)}, training {self.train[-1]:.4g}"
        if self.valid:
            line += f", validation {self.valid[-1]:.4g}, best {self.best_valid:.4g} in epoch {self.best_epoch}"
        return line + (", stopped early" if self.stopped else "") + (", best weights restored" if self.restored else "")
