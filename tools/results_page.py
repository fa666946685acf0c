"""The results, from benchmarks/results/*.json and benchmarks/papers.toml: book/results.md and the table in README.md.

    python tools/results_page.py             write the page
    python tools/results_page.py --readme    write the page, and the table between the two marks in README.md
    python tools/results_page.py --check     fail if either is stale

Every measured number comes from a record that a command wrote; this file only sets them in tables.
"""
from __future__ import annotations

import argparse
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tools import error_bars  # noqa: E402

RESULTS, PAPERS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "papers.toml"
PAGE, README, DRAWINGS = ROOT / "book" / "results.md", ROOT / "README.md", ROOT / "book" / "drawings"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
MARK = "†"
UNCHECKED = f"{MARK} The paper could not be opened when this page was made: the figure is quoted from memory."
HEAD = """\
# Results

What the models of the course reach, each measured by one command, beside what papers report. Figures are test means:
negative log-likelihood in nats unless a table says otherwise, lower is better, ± the standard error over the test rows,
or over seeds where a note says so.
Every model was chosen on the validation set, unless a note says otherwise. *Asked* is the figure that the course set itself, and whether it was
reached. *Parameters* are the numbers that the data may set.

This page is generated from the records in `benchmarks/results/`, which hold the whole configuration, the candidates and
what each gave on validation, seed, device, versions and time. Where a row names weights, they ship with the package,
`course_lib.hub.load(name)`, in half precision, and the figure was measured with them."""
WAITING = """\
Runs that are written and tested on small data, and take more hours than anybody had for them so far. Each is one command, which
goes on where it was if it is stopped; `--device cuda` takes it to a GPU."""
SPEED = """\
CPU time in one process on one thread; the contenders take turns, and each figure is the median over the rounds. Ratios
hold across machines better than times do. `make bench` measures all of it."""


def read(results: Path = RESULTS, papers: Path = PAPERS) -> tuple[list[dict], dict[str, Any]]:
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
    return records, tomllib.loads(papers.read_text(encoding="utf-8"))


def page(records: list[dict], papers: dict[str, Any]) -> str:
    """The page as Markdown."""
    out = [HEAD]
    missing = {r["data"]["name"] for r in records if r["kind"] == "result"} - {entry["data"] for entry in papers["set"]}
    if missing:
        raise ValueError(f"{PAPERS.name} has no [[set]] for {', '.join(sorted(missing))}: their records would not be shown")
    for entry in papers["set"]:
        own = of_set(records, entry["data"])
        if own:
            out += ["", f"## {entry['title']}", "", entry["text"].strip(), "", *results(own, entry["data"], papers)]
    if papers["waiting"]:
        out += ["", "## Not run yet", "", WAITING, "", "| data | model | asked | command |", "|---|---|---|---|"]
        out += [f"| {w['data']} | {w['model']} | {w['asked']} | `python -m benchmarks.reproduce {w['name']}` |"
                for w in papers["waiting"]]
    speeds = [r for r in records if r["kind"] == "speed"]
    if speeds:
        out += ["", "## Speed", "", SPEED]
        for record in speeds:
            out += ["", *speed(record)]
    return "\n".join(out) + "\n"


def results(records: list[dict], data: str, papers: dict[str, Any]) -> list[str]:
    """The tables of one data set, one a unit, their notes and commands."""
    figures = [f for f in papers["figure"] if f["data"] == data]
    out, shown, unit = [], [], None
    for record in sorted(records, key=lambda record: record["unit"] != records[0]["unit"]):
        if record["unit"] != unit:
            out += [""] if out else []
            unit = record["unit"]
            out += [f"| model | parameters | test, {unit} | asked | papers | weights |",
                    "|---|---|---|---|---|---|"]
        for row in record["rows"]:
            beside = [f for f in figures if f["model"] == row["model"]]
            shown += beside
            weights = f"`{row['weights']}`" if row["weights"] else ""
            out.append(f"| {row['model']} | {row['parameters']:,} | {measured(row)} | {asked(row)} | "
                       f"{'; '.join(cited(f) for f in beside)} | {weights} |")
    out += [f"| {f['model']} (not in the course yet) | | | | {cited(f)} | |" for f in figures if f not in shown]
    for record in records:
        if record["name"] in error_bars.DRAWN:
            out += ["", f"![{error_bars.alternative(record)}]({drawing(record).relative_to(PAGE.parent).as_posix()})"]
    notes = [r["note"] for r in records if r["note"]]
    notes += [f"{f['model']}, {f['authors']}: {f['note']}." for f in figures if f.get("note")]
    if not all(f["checked"] for f in figures):
        notes.append(UNCHECKED)
    out += [line for note in notes for line in ("", note)]
    for record in records:
        out += ["", how(record)]
    return out


def drawing(record: dict) -> Path:
    """Where the drawing of a record is."""
    return DRAWINGS / f"{record['name']}.svg"


def how(record: dict) -> str:
    """Command, seed, device and time of a record."""
    seconds, where = sum(row["seconds"] for row in record["rows"]), record["environment"]
    epochs = [row["epochs"] for row in record["rows"] if row["epochs"]]
    trained = f", {' to '.join(dict.fromkeys([str(min(epochs)), str(max(epochs))]))} epochs" if epochs else ""
    cpu = [row.get("cpu_seconds") for row in record["rows"]]
    spent = f" ({sum(cpu):.0f} CPU-seconds)" if None not in cpu else ""
    return f"`{record['command']}` · seed {record['seed']}{trained}, {duration(seconds)} in all{spent} · {machine(where)}"


def machine(where: dict) -> str:
    """Device, threads and version, from a record's environment."""
    threads = f"{where['threads']} thread{'s' * (where['threads'] > 1)}"
    return f"{where['device']}, {threads}, torch {where['torch'].split('+')[0]}"


def measured(row: dict) -> str:
    """Mean and standard error, as many places as the error has meaning in."""
    return f"{row['test']['mean']:.2f} ± {row['test']['standard_error']:.2f}"


def asked(row: dict) -> str:
    target = row["target"]
    if target is None:
        return ""
    bound = f"{target['at_most']:g} or less" if "at_most" in target else f"{target['at_least']:g} or more"
    text = f"{bound}: {'reached' if target['reached'] else '**not reached**'}"
    if target["aim"] is not None:
        text += f"; aim {target['aim']:g}: {'reached' if target['aim_reached'] else 'not reached'}"
    return text


def cited(figure: dict, roles: bool = True) -> str:
    """A paper's figure, its mark, and the paper."""
    paper = f"{{cite:t}}`{figure['key']}`" if roles else figure["authors"]
    return f"{figure['value']:.2f}{'' if figure['checked'] else MARK} ({paper})"


def speed(record: dict) -> list[str]:
    """The table of one comparison."""
    out = [f"**{record['title']}.** {record['text']}", "",
           "| contender | CPU time, median | times as long | memory beside |", "|---|---|---|---|"]
    first = record["contenders"][0]["seconds"]
    for c in record["contenders"]:
        out.append(f"| {c['name']} | {milliseconds(c['seconds'])} | {c['seconds'] / first:.3g} | "
                   f"{mebibytes(c['extra_mebibytes'])} |")
    target = record["target"]
    met = "reached" if target["reached"] else "**not reached**"
    asked = f"Asked: {target['between'][1]}, {target['at_least']:.3g} times as fast as {target['between'][0]}, or more; "
    return [*out, "", f"{asked}measured {times(target['measured'])}: {met}.", "",
            f"`{record['command']}` · {record['rounds']} rounds · {machine(record['environment'])}"]


def times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"


def mebibytes(most: float | None) -> str:
    return "not known" if most is None else f"{most:.0f} MiB"


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def table(records: list[dict], papers: dict[str, Any]) -> str:
    """The short table of the README: the rows that have a target, weights or a paper beside them, then the speed."""
    out = ["| data | model | measured | asked | paper |", "|---|---|---|---|---|"]
    for entry in papers["set"]:
        for record in of_set(records, entry["data"]):
            for row in record["rows"]:
                beside = [f for f in papers["figure"] if (f["data"], f["model"]) == (entry["data"], row["model"])]
                if row["target"] or beside or row["weights"] and record["unit"] == "nats":
                    unit = "" if record["unit"] == "nats" else f" {record['unit']}"
                    out.append(f"| {entry['title']} | {row['model']} | {measured(row)}{unit} | {asked(row)} | "
                               f"{'; '.join(cited(f, roles=False) for f in beside)} |")
    for record in records:
        if record["kind"] == "speed":
            target = record["target"]
            met = "reached" if target["reached"] else "**not reached**"
            out.append(f"| speed | {record['title']} | {times(target['measured'])} times as fast as "
                       f"{target['between'][0]} | {target['at_least']:.3g} times or more: {met} | |")
    return "\n".join([*out, "", UNCHECKED])


def of_set(records: list[dict], data: str) -> list[dict]:
    """The results on one data set."""
    return [r for r in records if r["kind"] == "result" and r["data"]["name"] == data]


def in_readme(text: str, block: str) -> str:
    """The text with `block` between the two marks. Raises ValueError if it has not each mark once, in order."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end or BEGIN in after or END in after:
        raise ValueError(f"README.md needs the marks {BEGIN} and {END} once each, in this order")
    return f"{before}{begin}\n{block}\n{end}{after}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readme", action="store_true", help="write the table in README.md too")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the page or the table is stale")
    chosen = parser.parse_args(arguments)
    records, papers = read()
    wanted = {PAGE: page(records, papers)}
    wanted |= {drawing(record): error_bars.drawing(record) for record in records if record["name"] in error_bars.DRAWN}
    if chosen.readme or chosen.check:
        wanted[README] = in_readme(README.read_text(encoding="utf-8"), table(records, papers))
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if chosen.check:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is stale: run python tools/results_page.py --readme", file=sys.stderr)
        return int(bool(stale))
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
