"""The stored notebooks: in normal form, wholly run, described, and built on the library instead of on copies of it."""
from __future__ import annotations

import copy

import nbformat
import pytest

from book._tools import chapters, nb_form, number, setup_cell
from book._tools import nb as tool
from tests.book.test_site import written_pages
from tests.conftest import ROOT

NOTEBOOKS = sorted(path for folder in ("book", "book/deeper", "exercises", "solutions") for path in (ROOT / folder).glob("*.ipynb"))
CHAPTERS = [path for path in NOTEBOOKS if path.parent.name == "book"]
DEEPER = [path for path in NOTEBOOKS if path.parent.name == "deeper"]
REPOSITORY = {"url": "https://git.example/org/course", "branch": "main"}


def read(path):
    return nbformat.read(path, 4)


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_normal_form(path):
    nb = read(path)
    text = tool.dumps(tool.normalize(nb, path.stem, setup_cell.repository(ROOT)))
    assert text == path.read_text("utf-8"), f"run: make notebooks NB={path.relative_to(ROOT)}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_faults(path):
    found = nb_form.problems(read(path), path)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", CHAPTERS + DEEPER, ids=name)
def test_chapter_definitions(path):
    doubles = nb_form.definitions(read(path)) & nb_form.public_symbols(ROOT / "course_lib")
    assert not doubles, f"import {', '.join(sorted(doubles))} from course_lib instead"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_notebook_size(path):
    assert path.stat().st_size < 4_000_000
    assert max(nb_form.sizes_of_widgets(read(path)), default=0) < 100_000


def test_chapters_listed():
    listed = {row["notebook"] for row in chapters.chapters().values()}
    assert listed == {path.name for path in CHAPTERS} >= {path.name for path in DEEPER}
    assert {f"book/{path.stem}" for path in CHAPTERS} | {f"book/deeper/{path.stem}" for path in DEEPER} <= set(written_pages())


def test_chapter_numbers_current(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["number.py", "--check"])
    assert number.main() == 0, capsys.readouterr().err


# The normal form.

def out(**parts):
    return nbformat.v4.new_output(**parts)


def printed(text):
    return out(output_type="stream", name="stdout", text=text)


@pytest.fixture
def good(tmp_path):
    """A notebook without a fault, and where it lies."""
    figure = out(output_type="display_data", data={"image/png": "iVBOR", "text/plain": "<Figure with 1 Axes>"})
    nb = nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_markdown_cell("# A chapter\n\nSee [the start](intro.md#here) and [a site](https://a.example)."),
        nbformat.v4.new_code_cell("print('41.25 nats after 12 steps, 3.1 bits')", outputs=[printed("41.25 nats")]),
        nbformat.v4.new_code_cell("plot()", outputs=[figure],
                                  metadata={"mystnb": {"image": {"alt": "Sixteen digits, most of them legible"}}}),
    ])
    (tmp_path / "intro.md").write_text("# Start")
    for cell in nb.cells[1:]:
        cell.execution_count = 1
    tool.normalize(nb, "chapter", REPOSITORY)
    nb.cells[1].execution_count = 1
    return nb, tmp_path / "chapter.ipynb"




def test_normalize_fixed_point(good):
    nb, path = good
    once = tool.dumps(tool.normalize(nb, path.stem, REPOSITORY))
    assert tool.dumps(tool.normalize(nbformat.reads(once, 4), path.stem, REPOSITORY)) == once


def test_normalize_forgets_run(good):
    """Time stamps, counts, ids, pieces of streams, addresses and paths: two runs give the same bytes."""
    nb, path = good
    other = copy.deepcopy(nb)
    nb.cells[2].outputs = [printed("a\n<W at 0x7f0011223344>\n/home/me/course_lib/x.py:3")]
    other.cells[2].outputs = [printed("a\n<W at 0x7f"), printed("9911223344>\n/srv/course_lib/x.py:3")]
    other.cells[2].update(execution_count=7, id="ffff")
    other.cells[2].metadata["execution"] = {"iopub.execute_input": "2026-01-01T00:00:00Z"}
    other.metadata["language_info"] = {"name": "python", "version": "3.12.1"}
    first, second = (tool.dumps(tool.normalize(run, path.stem, REPOSITORY)) for run in (nb, other))
    assert first == second


def widget_notebook(first, second, stray):
    """One view of a model with a layout, and a model that nothing shows."""
    models = {first: {"model_name": "AnyModel", "state": {"layout": f"IPY_MODEL_{second}"}},
              second: {"model_name": "LayoutModel", "state": {}}, stray: {"model_name": "LayoutModel", "state": {}}}
    view = out(output_type="display_data", data={tool.VIEW: {"model_id": first}, "text/plain": f"W({first})"})
    cell = nbformat.v4.new_code_cell("W()", execution_count=1, outputs=[view])
    return nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {tool.STATE: {"state": models}}})


def test_normalize_widgets():
    texts = [tool.dumps(tool.normalize(widget_notebook(*(letter * 32 for letter in letters)), "chapter"))
             for letters in ("abc", "fed")]
    assert texts[0] == texts[1]
    nb = nbformat.reads(texts[0], 4)
    state = nb.metadata["widgets"][tool.STATE]["state"]
    shown = nb.cells[0].outputs[0].data[tool.VIEW]["model_id"]
    assert len(state) == 2 and state[shown]["state"]["layout"].removeprefix("IPY_MODEL_") in state


def test_setup_cell_refreshed(good):
    nb, path = good
    tool.put_setup_cell(nb, REPOSITORY)
    nb.cells[1].source = "old"
    tool.put_setup_cell(nb, {"url": "https://git.example/org/fork"})
    cells = [cell for cell in nb.cells if "setup" in cell.metadata.get("tags", [])]
    assert len(cells) == 1 and 'git+https://git.example/org/fork@main"' in cells[0].source
