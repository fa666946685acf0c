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
from tools import class_table, error_bars  # noqa: E402

RESULTS, PAPERS = ROOT / "benchmarks" / "results", ROOT / "benchmarks" / "papers.toml"
PAGE, README, DRAWINGS = ROOT / "book" / "results.md", ROOT / "README.md", ROOT / "book" / "drawings"
BEGIN, END = "<!-- results:begin -->", "<!-- results:end -->"
SHORT = ("fvsbn-binarized-mnist", "nade-binarized-mnist", "made-binarized-mnist-8000", "rnade-red-wine",
         "gpt-tiny-shakespeare", "translation-multi30k")             # the records of README.md
READ = {"paper", "authors", "quoted"}                                 # in what a paper's figure was read: see papers.toml
SOURCES = """\
A paper's figure is a link to the text in which it was read: the paper itself, unless another is named that quotes it. A
paper that could not be read stands without a figure."""
HEAD = """\
# Results

What the models of the course reach, each measured by one command, beside what papers report. Figures are test means:
negative log-likelihood in nats unless a table says otherwise, lower is better, ± the standard error over the test rows,
or over seeds where a note says so.
Every model was chosen on the validation set, unless a note says otherwise. *Asked* is the figure that the course set itself, and whether it was
reached. *Parameters* are the numbers that the data may set. {sources}

[The ladder](ladder.md) shows most of them at a glance. This page is generated from the records in `benchmarks/results/`, which hold the whole configuration, the candidates and
what each gave on validation, seed, device, versions and time. Where a row names weights, they ship with the package,
`course_lib.hub.load(name)`, in half precision, and the figure was measured with them.""".format(sources=SOURCES)
WAITING = """\
Runs that are written and tested on small data, and take more hours than anybody had for them so far. Each is one command, which
goes on where it was if it is stopped; `--device cuda` takes it to a GPU."""
WORDS = """\
What the stored vectors of 10,000 English words are worth, and the topics of addresses (chapter 10).
Lists of words are measured over the words that are among them; intervals are at 95 %."""
USING = """\
What a trained model's layers hold, which passages are found, and what a passage in front of a reader is worth (chapter 20); what
a stored BERT is worth on reviews (chapter 18)."""
SPEED = """\
CPU time in one process on one thread; the contenders take turns, and each figure is the median over the rounds. *Measured*
is the median of the ratios of single rounds, and need not be the quotient of two medians. Ratios
hold across machines better than times do. `make bench` measures all of it; pytorch-made,
pytorch-generative and nanoGPT, which no package index has, where the folder PEERS holds their repositories."""


def read(results: Path = RESULTS, papers: Path = PAPERS) -> tuple[list[dict], dict[str, Any]]:
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))]
    return records, tomllib.loads(papers.read_text(encoding="utf-8"))


def page(records: list[dict], papers: dict[str, Any]) -> str:
    """The page as Markdown. Raises ValueError for a record that no set would show and for a figure without its source."""
    check_sources(papers)
    out = [HEAD]
    missing = {r["data"]["name"] for r in records if r["kind"] == "result"} - {entry["data"] for entry in papers["set"]}
    if missing:
        raise ValueError(f"{PAPERS.name} has no [[set]] for {', '.join(sorted(missing))}: their records would not be shown")
    for entry in papers["set"]:
        own = of_set(records, entry["data"])
        if own:
            out += ["", f"## {entry['title']}", "", entry["text"].strip(), "", *results(own, entry["data"], papers)]
    for kind, title, text in (("words", "Words as vectors", WORDS), ("using", "A model in use", USING)):
        own = [r for r in records if r["kind"] == kind]
        if own:
            out += ["", f"## {title}", "", text]
            for record in own:
                out += ["", *words(record)]
    if papers["waiting"]:
        out += ["", "## Not run yet", "", WAITING, "", "| data | model | asked | command |", "|---|---|---|---|"]
        out += [f"| {w['data']} | {w['model']} | {w['asked']} | `python -m benchmarks.reproduce {w['name']}` |"
                for w in papers["waiting"]]
    speeds = [r for r in records if r["kind"] == "speed"]
    if speeds:
        out += ["", "## Speed", "", SPEED]
        for record in speeds:
            out += ["", *speed(record)]
    for record in (r for r in records if r["kind"] == "class"):
        out += ["", "## A class, graded", "", *class_table.class_table(record), "",
                f"`{record['command']}` · {machine(record['environment'])}"]
    return "\n".join(out) + "\n"


def results(records: list[dict], data: str, papers: dict[str, Any]) -> list[str]:
    """The tables of one data set, one a unit, their notes and commands."""
    figures = [f for f in papers["figure"] if f["data"] == data]
    out: list[str] = []
    units = list(dict.fromkeys(record["unit"] for record in records))
    alone = [f for f in figures if not any(is_of(f, row) for record in records for row in record["rows"])]
    for unit in units:
        rows = [row for record in records if record["unit"] == unit for row in record["rows"]]
        lines = [(row["model"], f"{row['parameters']:,}", measured(row), asked(row),
                  "; ".join(cited(f) for f in figures if is_of(f, row)), f"`{row['weights']}`" if row["weights"] else "")
                 for row in rows]
        lines += [(f"{f['model']} (a paper's alone)", "", "", "", cited(f), "") for f in alone] if unit == units[0] else []
        out += [""] * bool(out)
        out += filled(("model", "parameters", f"test, {unit}", "asked", "papers", "weights"), lines)
    for record in records:
        if record["name"] in error_bars.DRAWN:
            out += ["", f"![{error_bars.alternative(record)}]({drawing(record).relative_to(PAGE.parent).as_posix()})"]
    notes = list(dict.fromkeys(r["note"] for r in records if r["note"]))
    notes += [f"{f['model']}, {f['authors']}: {f['note']}." for f in figures if f.get("note")]
    out += [line for note in notes for line in ("", note)]
    for record in records:
        out += ["", how(record)]
    return out


def is_of(figure: dict, row: dict) -> bool:
    """Whether a paper's figure is of the model of a row."""
    return figure.get("same", figure["model"]) == row["model"]


def filled(head: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    """A table without the columns in which nothing stands."""
    kept = [k for k in range(len(head)) if any(line[k] for line in lines)]
    return [f"| {' | '.join(line[k] for k in kept)} |" for line in (head, ("---",) * len(head), *lines)]


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
    """Device, threads and version, from a record's environment; older ones do not say which instructions it has."""
    threads = f"{where['threads']} thread{'s' * (where['threads'] > 1)}"
    with_ = f" with {where['instructions']}" if "instructions" in where else ""
    return f"{where['device']}{with_}, {threads}, torch {where['torch'].split('+')[0]}"


def measured(row: dict) -> str:
    """Mean and standard error, as many places as the error has meaning in; the mean alone where nothing was drawn."""
    test = row["test"]
    return f"{test['mean']:.2f}" + (f"\u00a0±\u00a0{test['standard_error']:.2f}" if "standard_error" in test else "")


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
    """A paper's figure, linked to where it was read, and the paper; or the paper, if it could not be read."""
    paper = f"{{cite:t}}`{figure['key']}`" if roles else figure["authors"]
    if "value" not in figure:
        return f"{paper}, not read" if roles else f"[{paper}]({figure['source']}), not read"
    quoted = f", quoted by {figure['by']}" if figure["read"] == "quoted" else ""
    return f"[{figure['value']:.2f}]({figure['source']} \"{figure['where']}\") ({paper}{quoted})"


def check_sources(papers: dict[str, Any]) -> None:
    """Raises ValueError for a paper's number without the address of the text in which it was read."""
    for entry in [*papers["figure"], *papers["beside"], *papers["printed"]]:
        name = f"{entry['data']}, {entry['model']}" if "model" in entry else f"{entry['chapter']}, {entry['of']}"
        if not entry.get("source", "").startswith(("https://", "http://")):
            raise ValueError(f"{PAPERS.name}: {name} has no source; expected the address of the text that was read")
        if "value" not in entry and "figures" not in entry:
            continue
        if entry.get("read") not in READ or not entry.get("where"):
            raise ValueError(f"{PAPERS.name}: {name} needs `read`, one of {', '.join(sorted(READ))}, and `where`")
        if (entry["read"] == "quoted") != bool(entry.get("by")):
            raise ValueError(f"{PAPERS.name}: {name} needs `by` if it is quoted, and only then")


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


def words(record: dict) -> list[str]:
    """The table of one record of chapters 10 and 20: a figure a row, or one for each list of words with how much of it is known."""
    lists = [] if "mean" in record["rows"][0]["test"] else list(record["rows"][0]["test"])
    lines = [(row["model"], *(listed(row["test"][name]) for name in lists)) if lists else
             (row["model"], measured(row), asked(row) if "target" in row else "") for row in record["rows"]]
    environment = machine(record["environment"])
    return [*filled(("model", *(lists or [record["unit"], "asked"])), lines), "", f"{record['unit']}. {record['note']}" if lists else record["note"], "", f"`{record['command']}` · seed {record['seed']} · {environment}"]


def listed(found: dict) -> str:
    """A figure over one list of words, its interval at 95 % if it has one, and the part of the list that is known."""
    interval = " ({:.2f} to {:.2f})".format(*found["interval"]) if "interval" in found else ""
    return f"{found['mean']:.3f}{interval}; {found['over']:,} of {found['of']:,}"


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
    """The short table of the README: of each record in SHORT the row that has a target. Raises ValueError if it has none."""
    by_name, titles = {r["name"]: r for r in records}, {entry["data"]: entry["title"] for entry in papers["set"]}
    out = ["| data | model | measured here | paper |", "|---|---|---|---|"]
    for name in SHORT:
        record = by_name.get(name, {"rows": []})
        row = next((row for row in record["rows"] if row["target"]), None)
        if row is None:
            raise ValueError(f"README.md shows the record {name}, and there is none with a target; see SHORT in tools/results_page.py")
        met = "" if row["target"]["reached"] else f"; asked: {asked(row)}"
        beside = [cited(f, roles=False) for f in papers["figure"] if f["data"] == record["data"]["name"] and is_of(f, row)]
        out.append(f"| {titles[record['data']['name']]} | {row['model']} | {measured(row)} {record['unit']}{met} | "
                   f"{'; '.join(beside)} |")
    return "\n".join([*out, "", SOURCES])


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
