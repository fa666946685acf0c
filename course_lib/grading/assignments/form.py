"""Notebooks: read, written in the book's normal form, and checked for what exercises need. A cell without a role is for everybody."""
import copy
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from course_lib.exercises import chapter_slug, of_chapter
from course_lib.grading.assignments import regions

KINDS = ("task", "answer", "check", "why")               # each once an exercise; in the metadata, {"course": {"role": ..., "exercise": id}}
ROLES = (*KINDS, "solution-only", "solution-link")
NOTEBOOK_METADATA = ("accelerator", "course", "kernelspec", "language_info", "mystnb", "widgets")
CELL_METADATA = ("cellView", "course", "jupyter", "mystnb", "nbgrader", "slideshow", "tags")
KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
NAME = re.compile(r"(\d\d)-[a-z0-9-]+\.ipynb")


class FormError(ValueError):
    """A notebook that cannot be used; one line for each fault, with the notebook, the cell, what is needed."""


def add_folders(parser, exercises: str = "", elsewhere: bool = True) -> None:
    """The options that name folders, that of the exercises with this help, and those of what is written elsewhere."""
    parser.add_argument("--solutions", type=Path, default=Path("solutions"), metavar="DIR", help="the notebooks with the answers (default: solutions)")
    if exercises:
        parser.add_argument("--exercises", type=Path, default=Path("exercises"), metavar="DIR", help=f"{exercises} (default: exercises)")
    if elsewhere:
        parser.add_argument("--chapter", metavar="NAME,NAME", type=lambda text: text.split(","),
                            help="only the notebooks of these chapters, by slug or number (default: all)")
        parser.add_argument("--force", action="store_true", help="write over files that are there")


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, names to contents, below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def read(path: Path) -> dict:
    """The notebook with its texts in one piece. Raises FormError if the file is not one."""
    try:
        return parse(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise FormError(f"{path} cannot be read as a notebook: {problem}") from None


def parse(text: str) -> dict:
    """The notebook in the text of its file. Raises ValueError."""
    nb = json.loads(text)
    if not isinstance(nb, dict) or nb.get("nbformat") != 4 or not isinstance(nb.get("cells"), list):
        raise ValueError("it is not of format 4")
    if not all(isinstance(cell, dict) and {"cell_type", "metadata", "source"} <= cell.keys() for cell in nb["cells"]):
        raise ValueError("a cell has no type, no metadata or no source")
    for cell in nb["cells"]:
        cell["source"] = joined(cell["source"])
        for output in cell.get("outputs", []):
            if "text" in output:
                output["text"] = joined(output["text"])
            for mime, value in output.get("data", {}).items():
                if not (mime.startswith("application/") and mime.endswith("json")):
                    output["data"][mime] = joined(value)
    return nb


def joined(text: str | list) -> str:
    """A source or an output as one string, whichever way the file has it."""
    return "".join(text) if isinstance(text, list) else text


def dumps(nb: dict) -> str:
    """The notebook as the text of its file: sorted keys, a line of source on a line."""
    nb = copy.deepcopy(nb)
    for cell in nb["cells"]:
        cell["source"] = cell["source"].splitlines(True)
        for output in cell.get("outputs", []):
            if isinstance(output.get("text"), str):
                output["text"] = output["text"].splitlines(True)
            for mime, value in output.get("data", {}).items():
                if isinstance(value, str) and (mime.startswith("text/") or mime in ("application/javascript", "image/svg+xml")):
                    output["data"][mime] = value.splitlines(True)
    return json.dumps(nb, indent=1, sort_keys=True, ensure_ascii=False, separators=(",", ": ")) + "\n"


def normal(nb: dict, stem: str) -> dict:
    """A copy in normal form: ids of cells from their content, counts from their place, only the metadata in use; the outputs as they are."""
    nb = copy.deepcopy(nb)
    nb["metadata"] = {**{k: v for k, v in nb["metadata"].items() if k in NOTEBOOK_METADATA}, **copy.deepcopy(KERNEL)}
    nb["nbformat"], nb["nbformat_minor"] = 4, 5
    stem = re.sub(r"^\d\d-", "", stem)                        # ids do not depend on the number of a chapter
    seen, count = Counter(), 0
    for cell in nb["cells"]:
        cell["source"] = cell["source"].rstrip()
        cell["metadata"] = {k: v for k, v in cell["metadata"].items() if k in CELL_METADATA and v}
        digest = hashlib.sha1(f"{stem}\0{cell['cell_type']}\0{cell['source']}".encode()).hexdigest()[:8]
        seen[digest] += 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        if cell["cell_type"] == "code":
            count += 1
            cell.setdefault("outputs", [])
            ran = cell.get("execution_count") is not None or cell["outputs"]
            cell["execution_count"] = count if ran else None
            for output in cell["outputs"]:
                if output["output_type"] == "execute_result":
                    output["execution_count"] = count
    return nb


def role(cell: dict) -> str | None:
    """A cell's role, one of ROLES; None where it has none."""
    return (cell["metadata"].get("course") or {}).get("role")


def exercise(cell: dict) -> str | None:
    """The id of the exercise that a cell belongs to, or None."""
    return (cell["metadata"].get("course") or {}).get("exercise")


def chapter(path: Path) -> str:
    """"fvsbn" for 04-fvsbn.ipynb. Raises FormError for another name."""
    match = NAME.fullmatch(path.name)
    try:
        return chapter_slug(match[1] if match else "")
    except ValueError:
        raise FormError(f"{path}: a notebook of exercises is called NN-name.ipynb, NN the number of its chapter") from None


def select_chapters(pages: dict[Path, dict], chapters: Sequence[str] | None) -> dict[Path, dict]:
    """The notebooks of these chapters, by their slugs or numbers; all if none is named. Raises FormError for one that there is not."""
    there = {chapter(path): path for path in pages}
    try:
        wanted = [chapter_slug(name) for name in chapters or there]
    except ValueError as problem:
        raise FormError(str(problem)) from None
    if missing := [slug for slug in wanted if slug not in there]:
        raise FormError(f"there is no notebook of chapter {', '.join(missing)}; there are {', '.join(there)}")
    if chapters:
        print(f"chapter {', '.join(slug for slug in there if slug in wanted)}", file=sys.stderr)
    return {there[slug]: pages[there[slug]] for slug in there if slug in wanted}


def cell_place(path: Path, number: int) -> str:
    """Where a fault is, for a message: the notebook and the cell's number."""
    return f"{path.parent.name}/{path.name}, cell {number}"


def heading(source: str) -> str | None:
    """The text of the heading `## ...` that opens a task."""
    match = re.match(r"## +(\S.*)", source)
    return match[1].strip() if match else None


def find_faults(nb: dict, path: Path) -> list[str]:
    """What a solution notebook lacks: for each exercise of its chapter a task, an answer, a check and a reason, in this order."""
    faults, wanted = [], [each.id for each in of_chapter(chapter(path))]
    cells: dict[str | None, list[tuple[str, int, str]]] = {}
    if not nb["cells"] or not re.match(r"# Solutions\b", nb["cells"][0]["source"]):
        faults.append(f"{cell_place(path, 1)}: the title must begin with `# Solutions`; the exercises get `# Exercises`")
    for number, cell in enumerate(nb["cells"], 1):
        if role(cell) in KINDS:
            cells.setdefault(exercise(cell), []).append((role(cell), number, cell["source"]))
        elif cell["cell_type"] == "code" and regions.BEGIN in cell["source"]:
            faults.append(f"{cell_place(path, number)} holds an answer and has no role: set its metadata course.role to answer")
    for name in dict.fromkeys([*wanted, *cells]):
        own = cells.get(name, [])
        if name not in wanted or [kind for kind, *_ in own] != [*KINDS]:
            found = ", ".join(f"{kind} (cell {number})" for kind, number, _ in own) or "none"
            faults.append(f"{cell_place(path, own[0][1] if own else 1)}: of the exercise {name!r} there is {found}; each exercise of chapter "
                          f"{chapter(path)} needs one cell each of {', '.join(KINDS)}, in this order")
            continue
        for kind, number, source in own:
            fault = {"task": "" if heading(source) else "is a task and must open with a heading, `## Title`",
                     "check": "" if source.strip() == f'check("{name}")' else f'must be the one line check("{name}")',
                     "why": "" if why(source) else "says nothing: the reason why the solution is so belongs here",
                     "answer": regions.find_fault(source, name) if kind == "answer" else ""}[kind]
            faults += [f"{cell_place(path, number)} {fault}"] if fault else []
    return faults


def slug(title: str) -> str:
    """The anchor of a heading in the book."""
    plain = re.sub(r"\$[^$]*\$", "", title).strip().lower().replace(" ", "-")
    return re.sub(r"[^\w-]", "", plain)


DETAILS = re.compile(r"<details>\s*<summary>.*?</summary>\s*(.*?)\s*</details>", re.S)


def why(source: str) -> str:
    """The text of a why cell, folded or not."""
    match = DETAILS.fullmatch(source.strip())
    return (match[1] if match else source).strip()


def cells_without_output(nb: dict, path: Path) -> list[str]:
    """The cells that check an answer and store no output. A comparison of outputs would pass over them in silence."""
    return [f"{cell_place(path, number)} calls check and stores no output: run the notebook"
            for number, cell in enumerate(nb["cells"], 1)
            if cell["cell_type"] == "code" and (role(cell) == "check" or re.match(r"check\(", cell["source"]))
            and not any(output.get("text", "").strip() for output in cell.get("outputs", [])
                        if output["output_type"] == "stream" and output.get("name") == "stdout")]
