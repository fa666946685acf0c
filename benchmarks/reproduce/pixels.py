"""Runs of PixelCNN, the gated PixelCNN, Row LSTM and Diagonal BiLSTM: the models of chapter pixelcnn."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from benchmarks.figures import of_trainings
from benchmarks.reproduce.density import DIGITS
from benchmarks.reproduce.recipes import fitted, together
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over
from course_lib.density import FVSBN, MADE, NADE
from course_lib.pixels import DiagonalBiLSTM, GatedPixelCNN, PixelCNN, RowLSTM
from course_lib.training import evaluate
from course_lib.training.history import Report


def by_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A model a seed, each with the weights of its best epoch on the validation set. What can start from the data does.

    channels_last  among the settings: the channels of a pixel side by side in memory while it trains
    """
    settings, splits = dict(settings), job.splits
    layout = torch.channels_last if settings.pop("channels_last", False) else torch.contiguous_format
    return together(fitted(job, row, {"progress": False, **settings}, f"{name}-{seed}", valid=splits.valid, seed=seed,
                           start=splits.train, layout=layout) for seed in range(settings.pop("seeds")))


def by_seconds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """As `by_seeds`, watched: of each seed the epochs as [CPU seconds so far, nats of the validation images].

    The seconds are those of training and of validation. Nothing is kept of a killed run: its seconds would be lost.
    """
    runs, curves = [], []
    for seed in range(settings.pop("seeds")):
        began, curve = time.process_time(), []

        def watch(report: Report, began: float = began, curve: list = curve) -> None:
            if report.valid is not None:
                curve.append([round(time.process_time() - began, 3), round(report.valid, 4)])

        runs.append(fitted(job, row, {"progress": False, "callback": watch, **settings}, None, valid=job.splits.valid, seed=seed,
                           start=job.splits.train))
        curves.append(curve)
    return replace(together(runs), curve=curves)


def by_channels_last(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Maximum likelihood by AdamW, the channels of a pixel side by side in memory; the weights of the best epoch."""
    return fitted(job, row, settings, name, valid=job.splits.valid, start=job.splits.train[:5000], layout=torch.channels_last)


def nats_over_seeds(models: Repeats, part: Tensor) -> dict[str, Any]:
    """Negative log-likelihood a row: its mean over seeds, each seed's own, and their standard deviation.

    The standard error is that over rows, of the first seed, as in the other runs on these data.
    """
    each = [evaluate(model, part, batch_size=500) for model in models]
    return of_trainings([{"mean": mean, "standard_error": round(error, 4), "over": len(part)} for mean, error in each])


SMALL = {"batch_size": 50, "schedule": "cosine", "seeds": 1}
THREE = {"seeds": 3}
DECAYS = over("weight_decay", (0.1, 0.3, 1.0))
SHAPE = {"shape": [8, 8], "width": 32, "first": 5}
LARGE = {"batch_size": 50, "lr": 3e-3, "schedule": "cosine", "clip": 1.0, "bf16": True, "weight_decay": 0.01,
         "checkpoint_every": 200}

RUNS: dict[str, Run] = {run.name: run for run in (
    Run("pixels-digits", "digits", (
        Row("FVSBN, three seeds", FVSBN, by_seeds, {"n": 64}, {**SMALL, "epochs": 200, "patience": 50, "weight_decay": 0.1},
            over("lr", (0.01, 0.02)), nats_over_seeds, final=THREE),
        Row("MADE, one hidden layer of 200", MADE, by_seeds, {"n": 64, "hidden": [200]},
            {**SMALL, "epochs": 60, "lr": 0.01, "weight_decay": 0.3}, measure=nats_over_seeds, final=THREE),
        Row("NADE, three seeds", NADE, by_seeds, {"n": 64, "hidden": 100},
            {**SMALL, "epochs": 60, "lr": 0.01, "weight_decay": 0.0}, measure=nats_over_seeds, final=THREE),
        Row("PixelCNN", PixelCNN, by_seeds, {**SHAPE, "depth": 3, "inner": 16},
            {**SMALL, "epochs": 60, "lr": 0.01}, (*DECAYS, {"lr": 0.02, "weight_decay": 0.3}), nats_over_seeds, final=THREE),
        Row("gated PixelCNN", GatedPixelCNN, by_seeds, {**SHAPE, "depth": 3, "dropout": 0.2},
            {**SMALL, "epochs": 30, "lr": 0.005}, ({"weight_decay": 0.01}, *DECAYS), nats_over_seeds, final=THREE),
        Row("Row LSTM", RowLSTM, by_seeds, {**SHAPE, "depth": 1, "dropout": 0.2},
            {**SMALL, "epochs": 30, "lr": 0.01}, (*DECAYS, {"lr": 0.02, "weight_decay": 1.0}), nats_over_seeds, final=THREE),
        Row("Diagonal BiLSTM", DiagonalBiLSTM, by_seeds, {**SHAPE, "depth": 1, "dropout": 0.2},
            {**SMALL, "epochs": 30, "lr": 0.01}, DECAYS, nats_over_seeds, final=THREE),
    ), options=DIGITS, note="The mean of three seeds; after ± the standard error over the images, of the first seed. The weight "
                            "decay is chosen on the validation images by the first seed, but FVSBN, MADE and NADE have that of "
                            "their own runs; FVSBN, PixelCNN and Row LSTM had a second rate to choose from. These three and the "
                            "gated network were trained again after one more setting had been added to each, found on validation; "
                            "test is scored once a training."),
    Run("pixels-digits-seconds", "digits", tuple(
        Row(f"{label}, by the second", kind, by_seconds, {**SHAPE, **size}, {**SMALL, **THREE, **settings},
            measure=nats_over_seeds)
        for label, kind, size, settings in (
            ("PixelCNN", PixelCNN, {"depth": 3, "inner": 16}, {"epochs": 30, "lr": 0.01, "weight_decay": 0.1}),
            ("gated PixelCNN", GatedPixelCNN, {"depth": 3, "dropout": 0.2},
             {"epochs": 20, "lr": 0.005, "weight_decay": 0.1}),
            ("Row LSTM", RowLSTM, {"depth": 1, "dropout": 0.2}, {"epochs": 20, "lr": 0.01, "weight_decay": 1.0}),
            ("Diagonal BiLSTM", DiagonalBiLSTM, {"depth": 1, "dropout": 0.2},
             {"epochs": 10, "lr": 0.01, "weight_decay": 0.3}),
        )
    ), options=DIGITS, note="By the second: the record holds, for each seed and epoch, the CPU seconds so far and the nats "
                            "of the validation images. The weight decays are those that were best on validation with more "
                            "epochs, of 0.1, 0.3 and 1."),
    Run("pixelcnn-binarized-mnist", "binarized_mnist", (
        Row("PixelCNN", PixelCNN, by_channels_last, {"shape": [28, 28], "width": 32, "depth": 7, "first": 7, "inner": 32},
            {**LARGE, "epochs": 16}, weights="pixelcnn-binarized-mnist"),
    )),
    Run("gated-pixelcnn-binarized-mnist", "binarized_mnist", (
        Row("gated PixelCNN", GatedPixelCNN, by_channels_last, {"shape": [28, 28], "width": 32, "depth": 5, "first": 7},
            {**LARGE, "epochs": 9}, weights="gated-pixelcnn-binarized-mnist"),
    ), note="For about the seconds of pixelcnn-binarized-mnist: an epoch takes 1.7 times as long."),
)}
