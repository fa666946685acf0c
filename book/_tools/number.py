"""Write everything that carries a chapter's number: names of notebooks, links, tags of equations, the table of contents.

    python book/_tools/number.py            after a change of the order in chapters.toml, a new chapter or a new equation
    python book/_tools/number.py --check    list what is stale, and fail

A chapter is known by its slug; its number is its place in course_lib/exercises/chapters.toml. Equation 2 of the fifth chapter
has `\\tag{5.2}`, and `\\tag{D5.2}` on the deeper page of that chapter. A new equation gets any tag that no other one has, `\\tag{5.x}`,
and is referred to by it, "(5.x)". The title of a chapter in the text of a link to it, `chapter [FVSBN](04-fvsbn.ipynb)`, is that
of the table.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from course_lib.exercises import chapters  # noqa: E402

NUMBERED = ("book", "book/deeper", "exercises", "solutions")         # folders whose notebooks are called NN-slug.ipynb
TEXT = {".ipynb", ".md", ".py", ".toml", ".tsv", ".yml", ".json", ".js", ".css", ".cff", ""}
TAG = re.compile(r"(\\tag\{)([^}]+)(\})")
REFERENCE = re.compile(r"(?<![\w)\]])\(([D\d][\w.]*)\)")            # "(5.2)", but not the argument of a call
BARE = re.compile(r"\bchapters? \d{1,2}\b(?![./])", re.I)
OTHERS = ("d2l.ai", "Dive into", "Jurafsky", "Goodfellow", "Bishop", "Murphy", "huggingface.co/learn")     # chapters of other books


def numbers() -> dict[str, str]:
    """slug -> "01", "02", ... in the order of the table."""
    return {slug: row["number"] for slug, row in chapters().items()}


def tracked() -> list[Path]:
    """The text files of the repository, but for the CHANGELOG, which keeps old names."""
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = [ROOT / name for name in names]
    return [path for path in paths if path.suffix in TEXT and path.is_file() and "vendor" not in path.parts and path.name != "CHANGELOG.md"]


def notebooks() -> dict[Path, Path]:
    """Each numbered notebook, and the path that it should have."""
    wanted = {}
    for folder in NUMBERED:
        for path in sorted((ROOT / folder).glob("[0-9][0-9]-*.ipynb")):
            slug = path.stem[3:]
            if slug not in numbers():
                raise ValueError(f"{path.relative_to(ROOT)}: the slug {slug!r} is not in course_lib/exercises/chapters.toml")
            wanted[path] = path.with_name(f"{numbers()[slug]}-{slug}.ipynb")
    return wanted


def tags() -> dict[str, str]:
    """Each equation's tag as it stands, and the tag that it should have. Raises ValueError for a tag that occurs twice."""
    wanted: dict[str, str] = {}
    for path in notebooks():
        if path.parent.name not in ("book", "deeper"):
            continue
        sources = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "markdown"]
        prefix = f"{'D' * (path.parent.name == 'deeper')}{int(numbers()[path.stem[3:]])}"
        for place, match in enumerate(TAG.finditer("\n".join(sources)), 1):
            if match[2] in wanted:
                raise ValueError(f"{path.relative_to(ROOT)}: the tag {match[2]} occurs twice")
            wanted[match[2]] = f"{prefix}.{place}"
    return wanted


def renumbered(text: str, tag_of: dict[str, str]) -> str:
    """The text with the tags of equations, and the references to them, that they should have."""
    text = TAG.sub(lambda match: match[1] + tag_of.get(match[2], match[2]) + match[3], text)
    return REFERENCE.sub(lambda match: f"({tag_of.get(match[1], match[1])})", text)


def renamed(text: str) -> str:
    """The text with the file names of the table, and its titles in links to chapters."""
    slugs = "|".join(sorted(numbers(), key=len, reverse=True))
    text = re.sub(rf"(?<![\w-])\d\d-({slugs})(?![\w-])", lambda match: f"{numbers()[match[1]]}-{match[1]}", text)
    return re.sub(rf"(\bchapter \[)[^\]]*(\]\([^)\s]*?\d\d-({slugs})\.ipynb)", lambda match: match[1] + chapters()[match[3]]["title"] + match[2],
                  text, flags=re.I)


def updated(path: Path, tag_of: dict[str, str]) -> str:
    """What a file should hold. In a notebook equations are referred to in sources only: an output may hold a number in brackets."""
    text = path.read_text("utf-8")
    if path.name == "moved.tsv":                                     # its first column keeps the old names
        rows = [line.split("\t") for line in text.splitlines()]
        return "".join("\t".join([*row[:2], renamed(row[2]), *row[3:]]) + "\n" for row in rows)
    text = renamed(text)
    if path.suffix == ".ipynb":
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            cell["source"] = renumbered("".join(cell["source"]), tag_of).splitlines(keepends=True)
        return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return renumbered(text, tag_of) if refers(path) else text


def refers(path: Path) -> bool:
    """Whether a file may refer to equations by their tags."""
    top = path.relative_to(ROOT).parts
    return top[0] in ("book", "exercises", "solutions") or top[:2] in (("course_lib", "explorables"), ("course_lib", "exercises"))


def table_of_contents(text: str) -> str:
    """_toc.yml with the chapters of the table by their short titles, each with its deeper page, exercises and solutions below it."""
    lines = []
    for slug, row in chapters().items():
        name = f"{row['number']}-{slug}"
        below = [("book/deeper", "Going deeper", "    ")] if (ROOT / "book" / "deeper" / f"{name}.ipynb").is_file() else []
        lines += [f"  - file: book/{name}", f"    title: {int(row['number'])} {row['title']}", "    sections:"]
        for folder, title, indent in [*below, ("exercises", "Exercises", "    "), ("solutions", "Solutions", "      ")]:
            lines += ["      sections:"] * (folder == "solutions") + [f"{indent}- file: {folder}/{name}", f"{indent}  title: {title}"]
    start = text.index("- caption: Chapters\n  chapters:\n") + len("- caption: Chapters\n  chapters:\n")
    return text[:start] + "\n".join(lines) + "\n" + text[text.index("- caption: Reference"):]


def stale() -> tuple[dict[Path, Path], dict[Path, str]]:
    """Notebooks with another name, and files with another text."""
    tag_of, moves = tags(), {old: new for old, new in notebooks().items() if old != new}
    texts = {}
    for path in tracked():
        text = path.read_text("utf-8")
        wanted = updated(path, tag_of)
        if path.name == "_toc.yml" and path.parent == ROOT:
            wanted = table_of_contents(wanted)
        if wanted != text:
            texts[path] = wanted
    return moves, texts


def bare() -> list[str]:
    """Where a chapter of this book is called by its number alone."""
    found = []
    for path in tracked():
        top = path.relative_to(ROOT).parts
        if top[0] not in ("book", "course_lib", "solutions", "benchmarks") or path.suffix not in (".ipynb", ".md", ".py", ".js"):
            continue
        if path.suffix == ".ipynb":
            texts = ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
        else:
            texts = [path.read_text("utf-8")]
        for text in texts:
            found += [f"{path.relative_to(ROOT)}: {match[0]!r} should be a link to the chapter, or its slug" for match in BARE.finditer(text)
                      if not any(book in text[max(0, match.start() - 300):match.end() + 300] for book in OTHERS)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="list what is stale, and fail if there is anything")
    args = parser.parse_args()
    moves, texts = stale()
    if args.check:
        faults = [f"{path.relative_to(ROOT)} should be {new.name}" for path, new in moves.items()]
        faults += [f"{path.relative_to(ROOT)} has stale numbers" for path in texts] + bare()
        print("\n".join(faults), file=sys.stderr)
        return 1 if faults else 0
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    for i, (path, new) in enumerate(moves.items()):                   # two steps, since names can be exchanged
        path.rename(path.with_suffix(f".moving{i}"))
    for i, (path, new) in enumerate(moves.items()):
        path.with_suffix(f".moving{i}").rename(new)
    print(f"{len(moves)} notebooks renamed, {len(texts)} files written")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
