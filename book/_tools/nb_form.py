"""What a stored notebook of the book must look like, beyond its normal form; one sentence for each fault."""
from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

MYST = re.compile(
    r"^\s*(`{3,}|~{3,}|:{3,})\{\w"
    r"|\{(ref|eq|doc|numref|cite(:\w+)?|term|func|class|meth|mod|prf:ref)\}`", re.M)
PROGRESS = re.compile(r"\d+%\|[^|\n]*\||\bit/s\]|s/it\]")
STAMP = re.compile(
    r"\b(?:19|20)\d\d-\d\d-\d\d[ T]\d\d:\d\d"              # a date and a time
    r"|\b\d\d:\d\d:\d\d\b"
    r"|\bcuda:\d|\bNVIDIA\b|\bon (?:cpu|cuda)\b"
    r"|\b(?:torch|numpy|python|course_lib)\s*[=v: ]?=?\s*v?\d+\.\d+",
    re.I)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
IMAGE = re.compile(r"!\[([^\]]*)\]\(")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.M | re.S)
ACCIDENTAL_LIST = re.compile(r"^(?!\s*(?:[-+*#>|]|\d+[.)])\s).*\S.*\n {0,3}(1[.)] .*)", re.M)      # "... is near\n1. So"
WIDTH = 92                                                  # columns that the book shows of a line of code at 1280 pixels
FILE_NAME = re.compile(r"\S*\.(png|svg|jpe?g|gif)", re.I)


def problems(nb, path: Path) -> list[str]:
    """Every fault of the notebook, in the order of its cells."""
    found: list[str] = []
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    if code and "setup" not in tags(code[0]):
        found.append("the first code cell is not the set-up cell: run `python book/_tools/nb.py norm`")
    if not nb.cells or not re.match(r"# \S", nb.cells[0].source):
        found.append("the first cell does not open with a title, `# ...`")
    for number, cell in enumerate(nb.cells):
        faults = of_code(cell) if cell.cell_type == "code" else of_text(cell.source, path)
        found += [f"cell {number} {fault}" for fault in faults]
    return found


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def of_code(cell) -> list[str]:
    """Faults of a code cell and of what it stores."""
    found = [f"has a line of code of {len(line)} columns, and the book shows {WIDTH}: {line.strip()[:40]!r}"
             for line in cell.source.split("\n") if len(line) > WIDTH]
    if cell.source.strip() and cell.execution_count is None and "skip-execution" not in tags(cell):
        found.append("was never run; run it, or tag it skip-execution")
    if any(out.output_type == "error" for out in cell.outputs) and "raises-exception" not in tags(cell):
        found.append("stores an error; mend it, or tag it raises-exception")
    text = printed(cell)
    if PROGRESS.search(text):
        found.append("stores a progress bar")
    if "setup" not in tags(cell) and (stamp := STAMP.search(text)):
        found.append(f"stores a version, a device or a time: {stamp.group()!r}")
    if any(mime.startswith("image/") for out in cell.outputs for mime in out.get("data", {})):
        if not (alt := alternative(cell)):
            found.append('stores a figure without alt text: set its metadata "mystnb": {"image": {"alt": "..."}}')
        elif FILE_NAME.fullmatch(alt) or len(alt.split()) < 4:
            found.append(f"has alt text that says too little: {alt!r}")
    return found


def printed(cell) -> str:
    """All the text that a cell stores."""
    parts = []
    for out in cell.outputs:
        parts += [out.get("text", ""), out.get("evalue", "")]
        parts += [value for mime, value in out.get("data", {}).items() if mime.startswith("text/")]
    return "\n".join(parts)


def alternative(cell) -> str:
    """The alt text of a cell's figures."""
    return ((cell.metadata.get("mystnb") or {}).get("image") or {}).get("alt", "").strip()


def of_text(source: str, path: Path) -> list[str]:
    """Faults of a Markdown cell."""
    found = []
    if MYST.search(source):
        found.append("holds a MyST directive or role; Colab and JupyterLab show it raw")
    for target in LINK.findall(source):
        file = unquote(target.split("#")[0])
        if file and not re.match(r"[a-z]+:", file) and not (path.parent / file).exists():
            found.append(f"links to {file}, which does not exist")
    if any(not alt.strip() for alt in IMAGE.findall(source)):
        found.append("shows an image without alt text")
    if accident := ACCIDENTAL_LIST.search(FENCE.sub("", source)):
        found.append(f"has a sentence that becomes a numbered list, at the line {accident.group(1)[:40]!r}; reflow it")
    return found


def definitions(nb) -> set[str]:
    """The names of the functions and classes that the notebook defines, at any depth."""
    from IPython.core.inputtransformer2 import TransformerManager

    transform = TransformerManager().transform_cell
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for cell in nb.cells if cell.cell_type == "code"
            for node in ast.walk(ast.parse(transform(cell.source))) if isinstance(node, kinds)}


@cache
def public_symbols(package: Path) -> set[str]:
    """The public functions and classes that the modules of a package define, read from its source; not those of the
    exercises, which no chapter imports."""
    names = set()
    for file in package.rglob("*.py"):
        if file.is_relative_to(package / "exercises"):
            continue
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                names.add(node.name)
    return names


def sizes_of_widgets(nb) -> list[int]:
    """Bytes of the state of each widget, without the widget's own code."""
    state = nb.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {}).get("state", {})
    return [len(json.dumps({k: v for k, v in model["state"].items() if k not in ("_esm", "_css")})) for model in state.values()]
