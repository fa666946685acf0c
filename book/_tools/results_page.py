"""The results, from benchmarks/results/*.json and benchmarks/papers.toml: book/results.md, its charts, the table in README.md.

Every measured number comes from a record that a command wrote, every other one from papers.toml, with its source.
"""
from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from book._tools.chapters import README, ROOT, between, chapters
from book._tools.picture import Mark, chart, description

RESULTS, PAPERS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "papers.toml"
PAGE, DRAWINGS = ROOT / "book" / "results.md", ROOT / "book" / "drawings"
SHORT = {"fvsbn-binarized-mnist": "FVSBN", "nade-binarized-mnist": "NADE", "rnade-red-wine": "RNADE",
         "made-binarized-mnist-8000": "MADE, one hidden layer of 8000", "gpt-tiny-shakespeare": "GPT, 4 layers, width 128",
         "translation-multi30k": "encoder-decoder, 3 + 3 layers, width 128, 9 epochs"}       # records and rows of README.md
READ = {"paper", "authors", "quoted"}                                 # in what a paper's figure was read: see papers.toml
HIGHER = {"BLEU"}                                          # units of charts in which more is better
FACTOR = {("nats a character", "bits a character"): 1 / math.log(2), ("bits per character", "bits a character"): 1.0}
SOURCES = """\
A paper's figure is a link to the text in which it was read: the paper itself, unless another is named that quotes it. A
paper that could not be read stands without a figure."""
HEAD = f"""\
# Results

What the models of the course reach, each measured by one command, beside what papers report. Figures are test means:
negative log-likelihood in nats unless a table says otherwise, lower is better, ± the standard error over the test rows,
or over seeds where a note says so.
Every model was chosen on the validation set, unless a note says otherwise. {SOURCES}

A chart shows the models of a data set on one axis, the best at the top: a disc with its standard error was measured here, an open
diamond is what a paper, or an author's page, reports. This page is generated from the records in `benchmarks/results/`, which hold the whole configuration, the candidates and
what each gave on validation, seed, device, versions and time. Where a row names weights, they ship with the package,
`course_lib.hub.load(name)`, in half precision, and the figure was measured with them."""
WORDS = """\
What the stored vectors of 10,000 English words are worth, and the topics of addresses (chapters Documents and Word vectors).
Lists of words are measured over the words that are among them; intervals are at 95 %."""
USING = """\
What a trained model's layers hold, which passages are found, and what a passage in front of a reader is worth (chapters Embeddings and probes, Prompting and retrieval); what
a stored BERT is worth on reviews (chapter Fine-tuning)."""
SPEED = """\
CPU time in one process on one thread; the contenders take turns, and each figure is the median over the rounds. The ratio
below a table is the median of the ratios of single rounds, and need not be the quotient of two medians. Ratios
hold across machines better than times do. `make bench` measures all of it; pytorch-made,
pytorch-generative and nanoGPT, which no package index has, where the folder PEERS holds their repositories."""


def read() -> tuple[list[dict], dict[str, Any]]:
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))]
    return records, tomllib.loads(PAPERS.read_text(encoding="utf-8"))


def wanted() -> dict[Path, str]:
    records, papers = read()
    drawings = {drawing(entry): drawn for entry in papers["set"] if "chart" in entry
                for drawn in [chart(marks(records, papers, entry), f"Models on {entry['title']}", entry["chart"], entry["chart"] in HIGHER)]}
    return {PAGE: page(records, papers), **drawings,
            README: between(README.read_text("utf-8"), "results", table(records, papers))}


def drawing(entry: dict) -> Path:
    return DRAWINGS / f"results-{entry['data'].replace('_', '-')}.svg"


def page(records: list[dict], papers: dict[str, Any]) -> str:
    """The page as Markdown."""
    out = [HEAD]
    for entry in papers["set"]:
        if own := of_set(records, entry["data"]):
            out += ["", f"## {entry['title']}", "", entry["text"].strip(), *picture(records, papers, entry), "",
                    *results(own, entry["data"], papers)]
    for kind, title, text in (("words", "Words as vectors", WORDS), ("using", "A model in use", USING)):
        out += ["", f"## {title}", "", text]
        out += [line for r in records if r["kind"] == kind for line in ("", *words(r))]
    out += ["", "## Speed", "", SPEED]
    out += [line for r in records if r["kind"] == "speed" for line in ("", *speed(r))]
    return "\n".join(out) + "\n"


def of_set(records: list[dict], data: str) -> list[dict]:
    """The results on one data set."""
    return [r for r in records if r["kind"] == "result" and r["data"]["name"] == data]


# --- the models of a data set ----------------------------------------------------------------------------------------

def marks(records: list[dict], papers: dict[str, Any], entry: dict[str, Any]) -> list[Mark]:
    """The models of a chart, the best first; several orders of one model are one mark."""
    own = [record for record in of_set(records, entry["data"]) if record["name"] not in entry.get("besides", ())]
    names, found = [row["model"] for record in own for row in record["rows"]], []
    for record in own:
        factor, orders = converted(record["unit"], entry["chart"], record["name"]), {}
        for row in record["rows"]:
            value, error = row["test"]["mean"] * factor, row["test"]["standard_error"] * factor
            model, order, _ = row["model"].partition(", order ")
            if order:
                orders.setdefault(model, []).append(value)
                continue
            unique = names.count(row["model"]) == 1
            found.append(Mark(row["model"] if unique else f"{record['rows'][0]['class']}, {row['model']}", (value,), error))
        found += [Mark(f"{model}, {len(values)} orders", tuple(values)) for model, values in orders.items()]
    for figure in papers["figure"] + papers["beside"]:
        if figure["data"] == entry["data"] and "value" in figure:
            factor = converted(figure.get("unit", entry["chart"]), entry["chart"], figure["model"])
            found.append(Mark(figure["model"], (figure["value"] * factor,), authors=figure["authors"]))
    return sorted(found, key=lambda mark: -max(mark.values) if entry["chart"] in HIGHER else min(mark.values))


def converted(unit: str, wanted: str, name: str) -> float:
    if unit != wanted and (unit, wanted) not in FACTOR:
        raise ValueError(f"{name} is in {unit}, and its chart in {wanted}; expected {wanted}, or a factor in book/_tools/results_page.py")
    return FACTOR.get((unit, wanted), 1.0)


def picture(records: list[dict], papers: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    if "chart" not in entry:
        return []
    return ["", f":::{{image}} drawings/{drawing(entry).name}", ":class: course-drawing dark-light",
            f":alt: {description(marks(records, papers, entry), entry['chart'])}", ":::"]


def results(records: list[dict], data: str, papers: dict[str, Any]) -> list[str]:
    """The tables of one data set, one a unit, their notes and commands."""
    figures, beside = ([f for f in papers[kind] if f["data"] == data] for kind in ("figure", "beside"))
    rows = [(record["unit"], row) for record in records for row in record["rows"]]
    alone = [f for f in figures if not any(is_of(f, row) for _, row in rows)] + beside
    out: list[str] = []
    for k, unit in enumerate(dict.fromkeys(unit for unit, _ in rows)):
        lines = [(row["model"], f"{row['parameters']:,}", measured(row),
                  "; ".join(cited(f) for f in figures if is_of(f, row)), f"`{row['weights']}`" if row["weights"] else "")
                 for of, row in rows if of == unit]
        lines += [(f"{f['model']} (a paper's alone)", "", "", cited(f), "") for f in alone if k == 0]
        out += [""] * bool(k) + filled(("model", "parameters", f"test, {unit}", "papers", "weights"), lines)
    notes = [r["note"] for r in records if r["note"]]
    notes += [f"{f['model']}, {f['authors']}: {f['note']}." for f in figures if f.get("note")]
    notes += [f"{f['model']}, {f['authors']}, is measured in another way: {f['differs']}." for f in beside]
    return out + [line for text in [*dict.fromkeys(notes), *map(how, records)] for line in ("", text)]


def is_of(figure: dict, row: dict) -> bool:
    """Whether a paper's figure is of the model of a row."""
    return figure.get("same", figure["model"]) == row["model"]


def filled(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    """A table without the columns in which nothing stands."""
    kept = [k for k in range(len(head)) if any(line[k] for line in lines)]
    return [f"| {' | '.join(line[k] for k in kept)} |" for line in (head, ("---",) * len(head), *lines)]


def how(record: dict) -> str:
    """Command, seed, device and time of a record."""
    seconds, epochs = sum(row["seconds"] for row in record["rows"]), [row["epochs"] for row in record["rows"] if row["epochs"]]
    trained = f", {' to '.join(dict.fromkeys([str(min(epochs)), str(max(epochs))]))} epochs" if epochs else ""
    cpu = [row.get("cpu_seconds") for row in record["rows"]]
    spent = f" ({sum(cpu):.0f} CPU-seconds)" if None not in cpu else ""
    return (f"`{record['command']}` · seed {record['seed']}{trained}, {duration(seconds)} in all{spent} · "
            f"{machine(record['environment'])}")


def machine(where: dict) -> str:
    """Device, threads and version, from a record's environment; older ones do not say which instructions it has."""
    threads = f"{where['threads']} thread{'s' * (where['threads'] > 1)}"
    with_ = f" with {where['instructions']}" if "instructions" in where else ""
    return f"{where['device']}{with_}, {threads}, torch {where['torch'].split('+')[0]}"


def measured(row: dict) -> str:
    """Mean and standard error; the mean alone where nothing was drawn."""
    test = row["test"]
    return f"{test['mean']:.2f}" + (f"\u00a0±\u00a0{test['standard_error']:.2f}" if "standard_error" in test else "")


def cited(figure: dict, roles: bool = True) -> str:
    """A paper's figure, linked to where it was read, and the paper; or the paper, if it could not be read."""
    paper = f"{{cite:t}}`{figure['key']}`" if roles else figure["authors"]
    if "value" not in figure:
        return f"{paper}, not read" if roles else f"[{paper}]({figure['source']}), not read"
    quoted = f", quoted by {figure['by']}" if figure["read"] == "quoted" else ""
    unit = f" {figure['unit']}" if "unit" in figure else ""
    return f"[{figure['value']:.2f}{unit}]({figure['source']} \"{figure['where']}\") ({paper}{quoted})"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


# --- the other records -----------------------------------------------------------------------------------------------

def speed(record: dict) -> list[str]:
    """The table of one comparison."""
    first, target = record["contenders"][0]["seconds"], record["target"]
    lines = [(c["name"], f"{c['seconds'] * 1e3:.3g} ms", f"{c['seconds'] / first:.3g}",
              "not known" if c["extra_mebibytes"] is None else f"{c['extra_mebibytes']:.0f} MiB") for c in record["contenders"]]
    ratio = f"{target['measured']:.0f}" if target["measured"] >= 100 else f"{target['measured']:.3g}"
    return [f"**{record['title']}.** {record['text']}", "",
            *filled(("contender", "CPU time, median", "times as long", "memory beside"), lines), "",
            f"{target['between'][1]} is {ratio} times as fast as {target['between'][0]}.", "",
            f"`{record['command']}` · {record['rounds']} rounds · {machine(record['environment'])}"]


def words(record: dict) -> list[str]:
    """The table of a record of word vectors or of uses of a model: a figure a row, or one for each list of words with how much of it is known."""
    lists = [] if "mean" in record["rows"][0]["test"] else list(record["rows"][0]["test"])
    lines = [(row["model"], *(listed(row["test"][name]) for name in lists)) if lists else (row["model"], measured(row))
             for row in record["rows"]]
    note = f"{record['unit']}. {record['note']}" if lists else record["note"]
    return [*filled(("model", *(lists or [record["unit"]])), lines), "", note, "",
            f"`{record['command']}` · seed {record['seed']} · {machine(record['environment'])}"]


def listed(found: dict) -> str:
    """A figure over one list of words, its interval at 95 % if it has one, and the part of the list that is known."""
    interval = " ({:.2f} to {:.2f})".format(*found["interval"]) if "interval" in found else ""
    return f"{found['mean']:.3f}{interval}; {found['over']:,} of {found['of']:,}"


def table(records: list[dict], papers: dict[str, Any]) -> str:
    """The short table of the README: one row of each record in SHORT."""
    by_name, titles = {r["name"]: r for r in records}, {entry["data"]: entry["title"] for entry in papers["set"]}
    lines = []
    for name, model in SHORT.items():
        record = by_name[name]
        row = next(row for row in record["rows"] if row["model"] == model)
        beside = [cited(f, roles=False) for f in papers["figure"] if f["data"] == record["data"]["name"] and is_of(f, row)]
        lines.append((titles[record["data"]["name"]], model, f"{measured(row)} {record['unit']}", "; ".join(beside)))
    return "\n".join([*filled(("data", "model", "measured here", "paper"), lines), "", SOURCES])


# --- what contradicts itself -----------------------------------------------------------------------------------------

def problems(records: list[dict] | None = None, papers: dict[str, Any] | None = None) -> list[str]:
    """Records that no set would show, papers' numbers without the text in which they were read, and printed ones that are gone."""
    if records is None or papers is None:
        records, papers = read()
    sets = {entry["data"] for entry in papers["set"]}
    found = [f"papers.toml has no [[set]] for {r['data']['name']}, of the record {r['name']}"
             for r in records if r["kind"] == "result" and r["data"]["name"] not in sets]
    for entry in [*papers["figure"], *papers["beside"], *papers["printed"]]:
        name = f"papers.toml, {entry.get('data') or entry['chapter']}, {entry.get('model') or entry['of']}"
        stated = "value" in entry or "figures" in entry
        if not re.match(r"https?://", entry.get("source", "")):
            found.append(f"{name}: expected the address of the text that was read as `source`")
        if stated and (entry.get("read") not in READ or not entry.get("where")):
            found.append(f"{name}: expected `read`, one of {', '.join(sorted(READ))}, and `where`")
        if stated and (entry.get("read") == "quoted") != bool(entry.get("by")):
            found.append(f"{name}: expected `by` if it is quoted, and only then")
    for entry in papers["printed"]:
        name = chapters()[entry["chapter"]]["notebook"]
        cells = [cell for path in (ROOT / "book" / name, ROOT / "book" / "deeper" / name) if path.is_file()
                 for cell in json.loads(path.read_text("utf-8"))["cells"]]
        text = " ".join(" ".join("".join(part) for cell in cells for part in (
            cell["source"], " ", *(line for output in cell.get("outputs", ()) for line in output.get("text", ())))).split())
        found += [f"{entry['chapter']} does not print {number!r} ({entry['of']}): correct papers.toml or the chapter"
                  for number in entry["figures"] if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d]|\.\d)", text)]
    return found
