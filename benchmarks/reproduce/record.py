"""A run carried out: candidates trained, the best on validation evaluated on test, recorded, shipped if asked for."""

from __future__ import annotations

import hashlib
import math
import shutil
import time
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import store
from benchmarks.reproduce.recipes import Job, Trained, free_parameters
from benchmarks.reproduce.run import Row, Run, Target
from course_lib import data, hub
from course_lib.data import Splits

SCRATCH = Path(__file__).parents[2] / "build" / "reproduce"


class CannotRenew(ValueError):
    """Rows of a record cannot be renewed alone: the sentence says what is expected."""


def reproduce(run: Run, results: Path = store.RESULTS, weights: Path = hub.WEIGHTS, scratch: Path = SCRATCH,
              device: str | torch.device | None = None, say=print, only: Collection[str] = ()) -> dict[str, Any]:
    """Carry out `run`, write results/NAME.json and the weights, return the record.

    A run that was killed goes on where it was. The test set is looked at once a row, after the choice.

    only  labels: these rows alone, where nothing but their choices has changed since the record. The other rows stay as
          recorded, and a candidate of these whose figure is recorded is not trained again, where `final` trains what is chosen
    """
    before = to_renew(run, store.read(results)) if only else None
    stored = {row.label: recorded(row, before, kept=row.label not in only) for row in run.rows} if before else {}
    device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    splits = run.draw() if run.draw else data.load_data(run.data, **run.options)
    about = describe_data(splits, run.options)
    if before and before["data"]["sha256"] != about["sha256"]:
        raise CannotRenew(f"{run.name} is recorded on other data (sha256 {before['data']['sha256'][:12]}, now {about['sha256'][:12]}); "
                         "expected the whole run")
    checkpoints = scratch / run.name
    checkpoints.mkdir(parents=True, exist_ok=True)
    job = Job(run.prepare(splits), run.seed, device, checkpoints, resumed=any(checkpoints.iterdir()))
    rows = []
    for row in run.rows:
        if only and row.label not in only:
            rows.append(stored[row.label])
            continue
        rows.append(carry_out(row, run, job, weights, stored.get(row.label)))
        say(f"{run.name}: {row.label}: {summary(rows[-1], run.unit)}")
    record = {"name": run.name, "kind": "result", "command": f"python -m benchmarks.reproduce {run.name}",
              "unit": run.unit, "seed": run.seed, "note": run.note, "data": about,
              "environment": store.environment(device), "rows": rows}
    store.write(record, results)
    shutil.rmtree(checkpoints)                                       # the next run starts afresh
    return record


def judge_again(run: Run, results: Path = store.RESULTS) -> dict[str, Any]:
    """Judge the rows of the stored record by what `run` asks for now, and store it: nothing is trained or measured."""
    record, targets = store.read(results)[run.name], {row.label: row.target for row in run.rows}
    for entry in record["rows"]:
        entry["target"] = judge(targets[entry["model"]], entry["test"]["mean"])
    store.write(record, results)
    return record


def to_renew(run: Run, records: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The record of a run that some rows of are renewed. Raises CannotRenew where there is none, or where rows are made of others."""
    if run.name not in records:
        raise CannotRenew(f"{run.name} is not recorded; expected the whole run first")
    made = [row.label for row in run.rows if getattr(row.recipe, "of_other_rows", False)]
    if made:
        raise CannotRenew(f"{made[0]!r} of {run.name} is made of other rows; expected the whole run")
    return records[run.name]


def recorded(row: Row, record: dict[str, Any], kept: bool) -> dict[str, Any] | None:
    """The row's entry in a record, with the environment that it was measured in; None where there is none. One that was kept before
    says itself when that was. One that is to be `kept` has to be there: raises CannotRenew."""
    for entry in record["rows"]:
        if entry["model"] == row.label:
            return entry if {"commit", "environment"} & entry.keys() else {"environment": record["environment"], **entry}
    if not kept:
        return None
    raise CannotRenew(f"{record['name']} is recorded without {row.label!r}; expected a record of all rows but those in `only`")


def candidates_of(before: dict[str, Any], row: Row) -> list[dict[str, Any]]:
    """What a recorded row says of its candidates; nothing if they are tried in another way now, or if a candidate itself is kept."""
    same = before["arguments"] == row.arguments and before.get("tried") == tried_by(row)
    return before["candidates"] if same and row.final else []


def tried_by(row: Row) -> dict[str, Any]:
    """How the candidates of a row are trained and compared, but for what they differ in."""
    by = row.choose or row.measure
    name = f"{by.func.__name__} {by.args} {by.keywords}" if isinstance(by, partial) else by.__name__
    return {"recipe": row.recipe.__name__, "settings": row.settings, "by": name}


def carry_out(row: Row, run: Run, job: Job, weights: Path, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Train every candidate, keep the best on validation, measure it on test: one row of the record.

    before  the row as it is recorded: a candidate whose figure it has is not trained again, if `final` trains what is chosen
    """
    best: Trained | None = None
    figure, tried, seconds, cpu = math.nan, [], 0.0, 0.0
    known = candidates_of(before, row) if before else []
    for k, candidate in enumerate(row.candidates):
        name = f"{slug(row.label)}-{k}"
        trained, valid = None, next((one["valid"] for one in known if one == {**candidate, "valid": one["valid"]}), None)
        if valid is None:
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
             "valid": row.measure(model, job.splits.valid), "test": row.measure(model, job.splits.test)}
    entry["target"] = judge(row.target, entry["test"]["mean"])
    entry["weights"] = row.weights
    if row.final:
        entry["tried"] = tried_by(row)
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
    cpu = time.process_time() - cpu
    return trained, math.nan if job.resumed or trained.seconds > time.perf_counter() - began else cpu


def judge(target: Target | None, mean: float) -> dict[str, Any] | None:
    """The target beside what was reached."""
    if target is None:
        return None
    less = target.at_least is None                                   # is better
    asked = {"at_most": target.at_most} if less else {"at_least": target.at_least}
    return {**asked, "reached": target.met(mean),
            "aim": target.aim, "aim_reached": None if target.aim is None else mean <= target.aim if less else mean >= target.aim}


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
    text = f"test {entry['test']['mean']:.3f} ± {entry['test']['standard_error']:.3f} {unit}"
    if target := entry["target"]:
        bound = f"at most {target['at_most']:g}" if "at_most" in target else f"at least {target['at_least']:g}"
        text += f"; {bound} asked, {'reached' if target['reached'] else 'not reached'}"
        if target["aim"] is not None:
            text += f"; aim {target['aim']:g} {'reached' if target['aim_reached'] else 'not reached'}"
    return text
