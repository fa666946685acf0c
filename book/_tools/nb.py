"""Run the notebooks and keep them in one normal form, so that a second run gives the same bytes.

    python book/_tools/nb.py run book/04-fvsbn.ipynb ...    run in place, store the outputs, put in normal form
    python book/_tools/nb.py norm book/*.ipynb              normal form only: after an edit, before a commit
    python book/_tools/nb.py check book/*.ipynb             say what is wrong with a notebook's form, and fail

The normal form: ids of cells from their content, counts of execution from their place, no time stamps, no addresses of
objects, streams in one piece, ids of widgets by their order, and only the metadata that the book needs.
"""
from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from book._tools import nb_form, setup_cell  # noqa: E402

NOTEBOOK_METADATA = {"kernelspec", "language_info", "widgets", "mystnb", "accelerator", "course"}
CELL_METADATA = {"tags", "mystnb", "slideshow", "nbgrader", "course", "cellView", "jupyter"}      # course: what an exercise's cell is for
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
UNSTABLE = [                                                  # words of which one must occur, pattern, what stands there instead
    (("\x1b",), re.compile(r"\x1b\[[0-9;]*m"), ""),
    (("ipykernel_", "ipython-input"), re.compile(r"\S*/ipykernel_\d+/\d+\.py|<ipython-input-\d+-[0-9a-f]+>"), "<cell>"),
    ((" at 0x",), re.compile(r"(?<= at )0x[0-9a-f]{6,}"), "0x..."),
    (("course_lib/", "site-packages/", "python3."),
     re.compile(r"(?<![\w.])/(?:[^\s/:'\"<>]+/)*(?=(?:course_lib|site-packages|python3\.\d+)/)"), ""),
]
ENVIRONMENT = {"TQDM_DISABLE": "1", "PYTHONHASHSEED": "0", "COURSE_PROGRESS": "off", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
               "CUDA_VISIBLE_DEVICES": "",
               "MPLBACKEND": "module://matplotlib_inline.backend_inline"}


def stable(text: str) -> str:
    """The text without what differs from run to run or from machine to machine."""
    for words, pattern, replacement in UNSTABLE:
        if any(word in text for word in words):              # the patterns take long over the data of a figure
            text = pattern.sub(replacement, text)
    return text


def normalize(nb, stem: str, repository: dict | None = None):
    """Put the notebook in normal form, in place. With a repository, refresh its set-up cell too."""
    if repository is not None:
        put_setup_cell(nb, repository)
    nb.metadata = nbformat.from_dict({k: v for k, v in nb.metadata.items() if k in NOTEBOOK_METADATA})
    nb.metadata["kernelspec"] = nbformat.from_dict(KERNELSPEC)
    nb.metadata["language_info"] = nbformat.from_dict({"name": "python"})
    stem = re.sub(r"^\d\d-", "", stem)                        # ids do not depend on the number of a chapter
    seen: dict[str, int] = {}
    count = 0
    for cell in nb.cells:
        cell.source = cell.source.rstrip()
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in CELL_METADATA and v})
        digest = hashlib.sha1(f"{stem}\0{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"

        if cell.cell_type == "code":
            count += 1
            ran = cell.execution_count is not None or cell.outputs
            cell.execution_count = count if ran else None
            cell.outputs = [normal_output(out, count) for out in one_piece(cell.outputs)]
    _widgets(nb, stem)
    return nb


def put_setup_cell(nb, repository: dict) -> None:
    """The first code cell is the set-up cell: rewrite it where it is old, insert it after the opening where missing."""
    code = [i for i, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    source = setup_cell.text(repository)
    for i in code:
        if "setup" in nb.cells[i].metadata.get("tags", []):
            nb.cells[i].source = source
            nb.cells[i].metadata.update(nbformat.from_dict(setup_cell.METADATA))
            return
    if code:
        cell = nbformat.v4.new_code_cell(source, metadata=nbformat.from_dict(setup_cell.METADATA))
        nb.cells.insert(code[0], cell)


def one_piece(outputs) -> list:
    """Join neighbouring pieces of one stream: where the kernel cut it is chance."""
    joined: list = []
    for out in outputs:
        if out.output_type == "stream" and joined and joined[-1].get("name") == out.name:
            joined[-1].text += out.text
        else:
            joined.append(out)
    return joined


def normal_output(out, count: int):
    if out.output_type == "execute_result":
        out.execution_count = count
    if out.output_type == "stream":
        out.text = stable(out.text)
    if out.output_type == "error":
        out.traceback = [stable(line) for line in out.traceback]
    for mime, value in out.get("data", {}).items():
        if isinstance(value, str) and mime.startswith("text/"):
            out.data[mime] = stable(value)
    return out


def _widgets(nb, stem: str) -> None:
    """Drop the models that no view needs; number the others by their first use in the document."""
    if "widgets" not in nb.metadata:
        return
    views = [out.data[VIEW] for cell in nb.cells for out in cell.get("outputs", []) if VIEW in out.get("data", {})]
    block = nb.metadata["widgets"][STATE]
    state, kept, todo = block["state"], {}, [view["model_id"] for view in views]
    while todo:
        model = todo.pop(0)
        if model in state and model not in kept:
            kept[model] = state[model]
            todo += re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[model]["state"], sort_keys=True))
    if not kept:
        del nb.metadata["widgets"]
        return
    new = {model: hashlib.md5(f"{stem}:{i}".encode()).hexdigest() for i, model in enumerate(kept)}
    pattern = re.compile("|".join(map(re.escape, new)))

    def renamed(value):
        return json.loads(pattern.sub(lambda match: new[match.group()], json.dumps(value)))

    block["state"] = nbformat.from_dict({new[model]: whole_numbers(renamed(kept[model])) for model in kept})
    for cell in nb.cells:
        for out in cell.get("outputs", []):
            if "data" in out:
                for mime, value in out.data.items():
                    if mime == VIEW or mime.startswith("text/"):
                        out.data[mime] = nbformat.from_dict(renamed(value))


def whole_numbers(value):
    """The value with 0 in the place of 0.0, as JupyterLab writes it."""
    if isinstance(value, dict):
        return {key: whole_numbers(part) for key, part in value.items()}
    if isinstance(value, list):
        return [whole_numbers(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def dumps(nb) -> str:
    nb.nbformat, nb.nbformat_minor = 4, 5
    return nbformat.writes(nb, version=4).rstrip("\n") + "\n"


@contextlib.contextmanager
def environment():
    """What a kernel inherits: one thread, no GPU, no progress bars, and no data but those that ship."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as empty:
        os.environ.update(ENVIRONMENT, COURSE_CACHE=empty)
        os.environ.pop("COURSE_DATA", None)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def run(path: Path, nb) -> None:
    """Run the notebook in its folder, as a reader would."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    began = time.perf_counter()
    client = NotebookClient(nb, timeout=300, kernel_name="python3", record_timing=False, store_widget_state=True,
                            resources={"metadata": {"path": str(path.parent)}})
    try:
        with environment():
            client.execute()
    except (CellExecutionError, CellTimeoutError) as error:
        sys.exit(f"{path} was left as it was: a cell failed.\n\n{stable(str(error))}")
    print(f"ran {path} in {time.perf_counter() - began:.1f} s")


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["run", "norm", "check"])
    parser.add_argument("notebooks", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    bad = 0
    for path in options.notebooks:
        old = path.read_text("utf-8")
        nb = nbformat.reads(old, 4)
        repository = setup_cell.repository(ROOT)
        if options.verb == "run":
            put_setup_cell(nb, repository)
            run(path, nb)
        if options.verb == "check":
            complaints = nb_form.problems(nb, path)
            if dumps(normalize(nb, path.stem, repository)) != old:
                complaints.insert(0, f"not in normal form: run `python book/_tools/nb.py norm {path}`")
            for complaint in complaints:
                print(f"{path}: {complaint}")
            bad += len(complaints)
            continue
        new = dumps(normalize(nb, path.stem, repository))
        if new != old:
            path.write_text(new, "utf-8")
            print("wrote", path)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
