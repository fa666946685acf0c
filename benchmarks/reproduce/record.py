"""A run carried out: candidates trained, the best on validation evaluated on test, recorded, shipped if asked for."""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import store
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained
from course_lib import data, hub
from course_lib.counting import NGram
from course_lib.counting.packing import unpack
from course_lib.data import Splits
from course_lib.density import MADE, Mixture
from course_lib.density.made import MaskedLinear
from course_lib.pixels import ImageModel, MaskedConv2d

SCRATCH = Path(__file__).parents[2] / "build" / "reproduce"


def reproduce(run: Run, results: Path = store.RESULTS, weights: Path = hub.WEIGHTS, scratch: Path = SCRATCH,
              device: str | torch.device | None = None, say=print) -> dict[str, Any]:
    """Carry out `run`, write results/NAME.json and the weights, return the record.

    A run that was killed goes on where it was. The test set is looked at once a row, after the choice.
    """
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    splits = run.draw() if run.draw else data.load_data(run.data, **run.options)
    checkpoints = scratch / run.name
    checkpoints.mkdir(parents=True, exist_ok=True)
    job = Job(run.prepare(splits), run.seed, device, checkpoints, resumed=any(checkpoints.iterdir()))
    rows = []
    for row in run.rows:
        rows.append(carry_out(row, run, job, weights))
        say(f"{run.name}: {row.label}: {summary(rows[-1], run.unit)}")
    record = {"name": run.name, "kind": "result", "command": f"python -m benchmarks.reproduce {run.name}",
              "unit": run.unit, "seed": run.seed, "note": run.note, "data": describe_data(splits, run.options),
              "environment": store.environment(device), "rows": rows}
    store.write(record, results)
    shutil.rmtree(checkpoints)                                       # the next run starts afresh
    return record


def carry_out(row: Row, run: Run, job: Job, weights: Path) -> dict[str, Any]:
    """Train every candidate, keep the best on validation, measure it on test: one row of the record."""
    best: Trained | None = None
    figure, tried, seconds, cpu = math.nan, [], 0.0, 0.0
    for k, candidate in enumerate(row.candidates):
        name = f"{slug(row.label)}-{k}"
        trained, used = timed(job, row, {**row.settings, **candidate}, name)
        valid = (row.choose or row.measure)(trained.model, job.splits.valid)["mean"]
        seconds, cpu = seconds + trained.seconds, cpu + used
        tried.append({**candidate, "valid": valid})
        if k == 0 or run.best(valid, figure) != figure:
            best, figure, chosen, kept = trained, valid, {**row.settings, **candidate}, name
    if row.final:
        chosen = {**chosen, **row.final}
        best, used = timed(job, row, chosen, kept)
        seconds, cpu = seconds + best.seconds, cpu + used
    model = best.model
    if row.weights:                                                  # measured as it will be shipped
        round_to_half(model)
    entry = {"model": row.label, "class": type(model).__name__, "arguments": row.arguments,
             "recipe": row.recipe.__name__, "settings": chosen, "candidates": tried if len(tried) > 1 else [],
             "parameters": free_parameters(model), "epochs": best.epochs, "best_epoch": best.best_epoch,
             "seconds": round(seconds, 1), "cpu_seconds": None if math.isnan(cpu) else round(cpu, 1),
             "valid": row.measure(model, job.splits.valid), "test": row.measure(model, job.splits.test),
             "weights": row.weights}
    if best.curve:
        entry["curve"] = best.curve
    if row.weights:
        hub.save(model, weights, row.weights, card(entry, run, job), dtype=torch.float16)
    job.models[row.label] = model
    return entry


def timed(job: Job, row: Row, settings: dict[str, Any], name: str) -> tuple[Trained, float]:
    """What was trained, and the CPU seconds of it; nan where some of the work was done by another process."""
    began, cpu = time.perf_counter(), time.process_time()
    trained = row.recipe(job, row, settings, name)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    trained.seconds = seconds if trained.seconds is None else trained.seconds
    return trained, math.nan if job.resumed or trained.seconds > seconds else cpu


@torch.no_grad()
def round_to_half(model: torch.nn.Module) -> None:
    """Every floating-point number as half precision holds it: what the stored weights will give."""
    for t in (*model.parameters(), *model.buffers()):
        if t.is_floating_point():
            t.copy_(t.half())


def card(entry: dict[str, Any], run: Run, job: Job) -> hub.Card:
    """What a reader must know of the weights of this row."""
    info = job.splits.info
    training = {"recipe": entry["recipe"], **entry["settings"], "seed": run.seed, "epochs run": entry["epochs"],
                "epoch kept": entry["best_epoch"], "tokenizer": info.get("tokenizer")}
    return hub.Card(
        model=f"{entry['model']}: {entry['class']}, {entry['parameters']:,} parameters", data=run.data,
        licence=info["licence"], citation=info["citation"],
        training={key: value for key, value in training.items() if value is not None},
        results={f"{part} {run.unit}": f"{entry[part]['mean']:.3f} ± {entry[part]['standard_error']:.3f}"
                 for part in ("valid", "test")},
        notes="Numbers with a point are stored in half precision, and the figures were measured so. " + ("" if info["comparable_with_papers"] else
              "The split is the course's own: not comparable with papers. ") +
              f"Made by `python -m benchmarks.reproduce {run.name}`.")


def describe_data(splits: Splits, options: dict[str, Any]) -> dict[str, Any]:
    """Name, parts, digest of what was read, protocol, licence, source."""
    parts = {part: getattr(splits, part) for part in ("train", "valid", "test")}
    return {"name": splits.name, "options": options, "rows": {part: len(x) for part, x in parts.items()},
            "sha256": digest(parts.values()), "comparable_with_papers": splits.info["comparable_with_papers"],
            **{key: splits.info[key] for key in ("protocol", "licence", "citation", "key")}}


def digest(parts) -> str:
    """One sha256 over the three parts as they were read, whatever file they came from."""
    total = hashlib.sha256()
    for part in parts:
        total.update(part.contiguous().numpy().tobytes() if isinstance(part, Tensor) else "\n".join(map(line, part)).encode()
                     if isinstance(part, list) else part.encode())
    return total.hexdigest()


def line(item: str | tuple[str, str]) -> str:
    return item if isinstance(item, str) else "\t".join(item)


def slug(label: str) -> str:
    """A label as part of a file name."""
    return "".join(c if c.isalnum() else "-" for c in label.lower())


def summary(entry: dict[str, Any], unit: str) -> str:
    """One line on a row."""
    return f"test {entry['test']['mean']:.3f} ± {entry['test']['standard_error']:.3f} {unit}"


def free_parameters(model: torch.nn.Module) -> int:
    """Numbers that the data may set: of an FVSBN the weights below the diagonal, of a MADE those that no mask hides, of
    an n-gram its counts. What the parts of a mixture share counts once, and so does a model that is repeated."""
    if isinstance(model, Repeats):
        return free_parameters(model[0])
    if isinstance(model, NGram):
        return len(unpack(model.packed)[1])
    if isinstance(model, Mixture):
        shared = len({id(p) for p in model.parameters()}) < sum(len(list(part.parameters())) for part in model.models)
        return free_parameters(model.models[0]) if shared else sum(free_parameters(part) for part in model.models)
    if isinstance(model, (MADE, ImageModel)):
        hidden = sum(int((m.mask == 0).sum()) for m in model.modules() if isinstance(m, (MaskedLinear, MaskedConv2d)))
        return sum(p.numel() for p in model.parameters()) - hidden
    if hasattr(model, "earlier"):
        return int(model.earlier.sum()) + model.bias.numel()
    return sum(p.numel() for p in model.parameters())
