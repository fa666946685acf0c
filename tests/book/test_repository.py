"""The repository itself: style, the wheel, the verbs, the set-up cell, and messages that say what to do."""
from __future__ import annotations

import builtins
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import course_lib
from book._tools import environment, make_book, setup_cell
from tests.conftest import ROOT

REPOSITORY = {"url": "https://git.example/org/course", "branch": "main"}


def run(*command, **options):
    return subprocess.run([str(part) for part in command], cwd=options.pop("cwd", ROOT), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, **options)


def tracked() -> list[str]:
    listed = run("git", "ls-files", "-z")
    if listed.returncode:
        pytest.skip("this tree is no git checkout")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]


@pytest.mark.parametrize("tool", [["ruff", "check", "--no-cache", "."], ["book._tools.spelling"]], ids=["ruff", "codespell"])
def test_style_and_spelling(tool):
    done = run(sys.executable, "-m", *tool)
    assert done.returncode == 0, done.stdout + done.stderr


def test_tracked_files():
    for name in tracked():
        assert (ROOT / name).stat().st_size <= 6_000_000, name
        assert not re.match(r"(\.venv|_build|build|node_modules|.*\.egg-info)", name), name


def test_lock_file():
    lock = json.loads((ROOT / "book/_assets/vendor/package-lock.json").read_text("utf-8"))
    entry = lock["packages"]["node_modules/mathjax"]
    assert entry["version"].startswith("3.") and entry["integrity"].startswith("sha512-")
    assert "resolved" not in (ROOT / "book/_assets/vendor/package-lock.json").read_text("utf-8")


def test_version():
    citation, changes = ((ROOT / name).read_text("utf-8") for name in ("CITATION.cff", "CHANGELOG.md"))
    assert re.search(r"(?m)^version: (.*)$", citation)[1] == course_lib.__version__
    assert re.search(r"(?m)^## (\d.*)$", changes)[1] == course_lib.__version__        # the latest release


@pytest.mark.parametrize("name", [".github/dependabot.yml", ".github/ISSUE_TEMPLATE/error.yml", ".github/workflows/publish.yml",
                                  ".github/workflows/test.yml", ".pre-commit-config.yaml"])
def test_host_files(name):
    text = (ROOT / name).read_text("utf-8")
    assert isinstance(yaml.safe_load(text), dict)
    for verb in re.findall(r"\bmake ([a-z-]+)", text):
        assert re.search(rf"(?m)^{verb}:", (ROOT / "Makefile").read_text("utf-8")), verb
    for folder in re.findall(r"\btests/\w+", text):
        assert (ROOT / folder).is_dir(), folder


def test_requirements_exact():
    text = (ROOT / "requirements.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    assert len({line.split("==")[0].lower() for line in lines}) == len(lines)
    pins = environment.sections(text)
    assert pins.keys() == {"book", "course"} and sorted("\n".join(pins.values()).split("\n")) == sorted(lines)
    assert "torch==" in pins["course"] and "torch==" not in pins["book"]


def test_wheel_contents(tmp_path):
    """The wheel, not the editable install: js, css, weights and tables are in it, tests and tools are not."""
    source = tmp_path / "source"
    for name in tracked():
        if name.startswith("course_lib/") or name in ("pyproject.toml", "README.md"):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    done = run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--quiet",
               "--wheel-dir", tmp_path, source)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    wanted = {name for name in tracked() if name.startswith("course_lib/")}
    assert wanted <= held, f"not in the wheel: {sorted(wanted - held)}"
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == {"course_lib"}
    assert any(name.endswith(".js") for name in held) and any(name.endswith(".css") for name in held)


def test_make_without_python():
    done = run("make", "book", "PYTHON=no-such-python")
    assert done.returncode != 0 and "install Python 3.11 or newer" in done.stderr


def test_index_of_cpu_builds():
    """It stands where a machine without a GPU is set up, and nowhere else."""
    index = "download." + "pytorch.org"
    holders = {name for name in tracked() if not name.endswith(".ipynb") and index.encode() in (ROOT / name).read_bytes()}
    assert holders == {".binder/requirements.txt", "book/_tools/Containerfile"}


@pytest.mark.parametrize("given, last", [([], "book/_tools/colab.py book/01-chain-rule.ipynb"),
                                         (["NB=exercises/04-fvsbn.ipynb"], "book/_tools/colab.py exercises/04-fvsbn.ipynb")])
def test_make_colab_runs_one_notebook(given, last):
    assert run("make", "-n", "colab", *given).stdout.splitlines()[-1].endswith(last)


def test_install_old_python(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 1))
    with pytest.raises(SystemExit):
        environment.install(str(tmp_path / "venv"), {"book": "a==1"})
    assert "need Python 3.11 or newer" in capsys.readouterr().err


def test_install_without_venv(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(environment.subprocess, "call", lambda *command, **options: 1)
    with pytest.raises(SystemExit):
        environment.install(str(tmp_path / "venv"), {"book": "a==1"})
    assert "python3-venv" in capsys.readouterr().err
    assert not (tmp_path / "venv").exists()


def test_install_changed_pins(monkeypatch, tmp_path, capsys):
    installed = []

    class Pip:
        def __init__(self, command):
            installed.append(Path(command[-1]).read_text())

        def wait(self):
            return 0

    monkeypatch.setattr(environment, "create", lambda folder: os.makedirs(folder, exist_ok=True) or "python")
    monkeypatch.setattr(environment.subprocess, "Popen", Pip)
    monkeypatch.setattr(environment.subprocess, "call", lambda *command, **options: 0)
    folder = str(tmp_path / "venv")
    for book, course in (("a==1", "b==1"), ("a==1", "b==1"), ("a==2", "b==1")):
        environment.install(folder, {"book": book, "course": course})
    assert installed == ["a==1\n", "b==1\n", "a==2\n"]
    monkeypatch.setattr(environment.subprocess, "call", lambda *command, **options: 1)
    for _ in range(2):                                          # what failed is not remembered as done
        with pytest.raises(SystemExit):
            environment.install(folder, {"book": "a==3"})
    assert installed[3:] == ["a==3\n"] * 2


def test_build_failure_rebuilds(monkeypatch, tmp_path, capsys):
    """Sphinx keeps what it read without its warnings: a second try must not call the fault mended."""
    monkeypatch.setattr(make_book, "ROOT", tmp_path)
    monkeypatch.setattr(make_book, "BUILD", tmp_path / "_build")
    monkeypatch.setattr(make_book.subprocess, "run", lambda *command, **options: subprocess.CompletedProcess(command, 1))
    (tmp_path / "_build" / ".doctrees").mkdir(parents=True)
    assert make_book.build() == 1
    assert not (tmp_path / "_build" / ".doctrees").exists()
    assert "run make book again" in capsys.readouterr().err


def test_serve_errors(monkeypatch, tmp_path, capsys):
    import socket

    monkeypatch.setattr(make_book, "SITE", tmp_path)
    assert make_book.serve(0) == 1 and "run make book" in capsys.readouterr().err
    (tmp_path / "index.html").write_text("x")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert make_book.serve(port) == 1 and f"PORT={port + 1}" in capsys.readouterr().err


def execute(source, monkeypatch, installed: bool, on_colab: bool) -> list[str]:
    """Run the set-up cell as IPython would; returns what it asked pip for."""
    from IPython.core.interactiveshell import InteractiveShell

    shell, asked = InteractiveShell(), []
    shell.register_magic_function(asked.append, magic_name="pip")
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name, *more: find(name, *more) if installed or name != "course_lib" else None)
    if on_colab:
        monkeypatch.setitem(sys.modules, "google.colab", builtins)
    result = shell.run_cell(source)
    result.raise_error()
    return asked


def test_setup_cell_installed(monkeypatch, capsys):
    for on_colab in (False, True):
        assert execute(setup_cell.text(REPOSITORY), monkeypatch, installed=True, on_colab=on_colab) == []
    assert re.search(r"course_lib \d+\.\d+\.\d+ on (cpu|cuda)", capsys.readouterr().out)


def test_setup_cell_colab(monkeypatch):
    asked = execute(setup_cell.text(REPOSITORY), monkeypatch, installed=False, on_colab=True)
    assert asked == ['install --quiet "course-lib @ git+https://git.example/org/course@main"']


def test_setup_cell_names_built_book(monkeypatch, capsys):
    source = setup_cell.text({"url": "https://github.com/Someone/course", "branch": "v1.0"})
    asked = execute(source, monkeypatch, installed=False, on_colab=True)
    assert asked == ['install --quiet "course-lib @ git+https://github.com/Someone/course@v1.0"']
    assert "https://someone.github.io/course/" in capsys.readouterr().out


def test_setup_cell_elsewhere(monkeypatch):
    with pytest.raises(ModuleNotFoundError, match="pip install -e"):
        execute(setup_cell.text(REPOSITORY), monkeypatch, installed=False, on_colab=False)


def test_setup_cell_without_address(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no address yet: run `pip wheel --no-deps .` .* upload course_lib-"):
        execute(setup_cell.text({"url": ""}), monkeypatch, installed=False, on_colab=True)
    for version in ("0.1.0", "0.2.0"):
        (tmp_path / f"course_lib-{version}-py3-none-any.whl").write_bytes(b"")
    asked = execute(setup_cell.text({"url": ""}), monkeypatch, installed=False, on_colab=True)
    assert asked == ["install --quiet course_lib-0.2.0-py3-none-any.whl"]
