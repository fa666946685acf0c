"""`make address`: one command writes a fork's address everywhere, and the book leaves Colab out where a cell says another."""
from __future__ import annotations

import json
import re
import shutil
import tomllib

import pytest
import yaml

from book._ext import course_book
from book._tools import address, setup_cell
from tests.conftest import ROOT

HOME = "https://git.example/someone/course"


@pytest.fixture
def fork(tmp_path):
    """The files that know the address, of two chapters."""
    for name in ("_config.yml", "README.md", "CITATION.cff", "pyproject.toml", "course_lib/exercises/chapters.toml",
                 "book/04-fvsbn.ipynb", "exercises/04-fvsbn.ipynb", "solutions/05-nade.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_repository_agrees(capsys):
    assert address.main([]) == 0, capsys.readouterr().err


def test_address_written(fork, capsys):
    before = {path.name: path.read_text("utf-8") for path in (fork / "_config.yml", fork / "book/04-fvsbn.ipynb")}
    assert address.main(["https://github.com/someone/course.git", "--ref", "autumn"], fork) == 0
    assert "6 other files" in capsys.readouterr().out
    assert setup_cell.repository(fork) == {"url": "https://github.com/someone/course", "path_to_book": "", "branch": "autumn"}
    for path in fork.glob("*/*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        asked = ["".join(cell["source"]) for cell in cells if "setup" in cell["metadata"].get("tags", [])]
        assert len(asked) == 1 and "course-lib @ git+https://github.com/someone/course@autumn" in asked[0], path
    assert "github/someone/course/blob/autumn/book/04-fvsbn.ipynb" in (fork / "README.md").read_text("utf-8")
    config, chapter = ((fork / name).read_text("utf-8").splitlines() for name in ("_config.yml", "book/04-fvsbn.ipynb"))
    said = yaml.safe_load((fork / "CITATION.cff").read_text("utf-8"))
    assert said["repository-code"] == "https://github.com/someone/course" and said["authors"] == [{"name": "From the chain rule to BERT"}]
    project = tomllib.loads((fork / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"] == {"Repository": "https://github.com/someone/course"} and "authors" not in project
    assert sum(a != b for a, b in zip(config, before["_config.yml"].splitlines(), strict=True)) == 2
    outputs = [cell.get("outputs") for cell in json.loads("\n".join(chapter))["cells"]]
    assert outputs == [cell.get("outputs") for cell in json.loads(before["04-fvsbn.ipynb"])["cells"]]
    assert address.main([], fork) == 0


def test_authors_written(fork):
    config = fork / "_config.yml"
    config.write_text(re.sub(r'(?m)^author: ""', 'author: "Ada Lovelace, José Núñez"', config.read_text("utf-8")), "utf-8")
    before = (fork / "pyproject.toml").read_text("utf-8")
    assert address.stale(fork) == ["CITATION.cff", "pyproject.toml"] == address.stale(fork, write=True) and not address.stale(fork)
    people = [{"name": "Ada Lovelace"}, {"name": "José Núñez"}]
    assert yaml.safe_load((fork / "CITATION.cff").read_text("utf-8"))["authors"] == people
    after = (fork / "pyproject.toml").read_text("utf-8")
    assert tomllib.loads(after)["project"]["authors"] == people and "urls" not in tomllib.loads(after)["project"]
    config.write_text(config.read_text("utf-8").replace("Ada Lovelace, José Núñez", ""), "utf-8")
    address.stale(fork, write=True)
    assert (fork / "pyproject.toml").read_text("utf-8") == before


def test_other_address_named(fork, capsys):
    address.main([HOME], fork)
    chapter = fork / "exercises/04-fvsbn.ipynb"
    chapter.write_text(chapter.read_text("utf-8").replace(HOME, "https://git.example/former/course"), "utf-8")
    assert address.main([], fork) == 1
    said = capsys.readouterr()
    assert f"The address is {HOME}, branch or tag main." in said.out
    assert said.err == f"Something else stands in exercises/04-fvsbn.ipynb: run make address URL={HOME}\n"


@pytest.mark.parametrize("url", ["someone/course", "git@github.com:someone/course.git",
                                 "https://me:secret@github.com/someone/course", "https://github.com/a/b\" && x"])
def test_bad_address(fork, url, capsys):
    config = (fork / "_config.yml").read_text("utf-8")
    with pytest.raises(SystemExit) as end:
        address.main([url], fork)
    assert end.value.code == 2 and "expected the public address of a repository" in capsys.readouterr().err
    assert (fork / "_config.yml").read_text("utf-8") == config


def test_cells_with_other_address(fork):
    address.main([HOME], fork)
    assert course_book.elsewhere(fork, HOME, "main") == []
    notebooks = sorted(path.relative_to(fork).as_posix() for path in fork.glob("*/*.ipynb"))
    assert sorted(course_book.elsewhere(fork, HOME, "autumn")) == notebooks
    assert sorted(course_book.elsewhere(fork, "https://git.example/former/course", "main")) == notebooks
