"""The first code cell of every chapter, written in one place; `nb.py` puts it there and keeps it fresh.

On Colab it installs the library if that is missing, from the repository's address or, in a copy without one, from a wheel
that was uploaded; by the ranges of pyproject.toml, which Colab's own torch satisfies: pip leaves it alone. Elsewhere it does nothing. Its one line of output names a version and a device, and so is the one
output that is not compared when the notebooks are tested.
"""
from __future__ import annotations

import re
from pathlib import Path

import yaml

TAGS = ["setup", "hide-input", "nbval-ignore-output"]
METADATA = {"tags": TAGS, "cellView": "form", "jupyter": {"source_hidden": True}}      # folded in the book, in Colab, in JupyterLab

TEXT = """\
# Set-up: on Colab this installs the course's library; elsewhere it does nothing.
import importlib.util
import sys

if importlib.util.find_spec("course_lib") is None:
    if "google.colab" not in sys.modules:
        raise ModuleNotFoundError("course_lib is not installed: "
                                  "run `pip install -e .` in the folder of the course")
    {install}

import torch

import course_lib

device = "cuda" if torch.cuda.is_available() else "cpu"
print(f"course_lib {{course_lib.__version__}} on {{device}}")"""

INSTALL = '%pip install --quiet "course-lib @ git+{url}@{branch}"'
BOOK = """
    print("Links to pages and sections work in the built book: {site}")"""
NO_ADDRESS = """from pathlib import Path
    wheels = sorted(map(str, Path().glob("course_lib-*.whl")))
    if not wheels:
        raise ModuleNotFoundError("This copy of the course has no address yet: run "
                                  "`pip wheel --no-deps .` in its folder, upload "
                                  "course_lib-*.whl, and run this cell again")
    %pip install --quiet {wheels[-1]}"""


def text(repository: dict) -> str:
    """The source of the cell for a repository {"url": ..., "branch": ...}; an empty url is a copy without a home."""
    url, branch = repository.get("url") or "", repository.get("branch") or "main"
    github = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+)", url)
    book = BOOK.format(site=f"https://{github[1].lower()}.github.io/{github[2]}/") if github else ""
    return TEXT.format(install=INSTALL.format(url=url, branch=branch) + book if url else NO_ADDRESS)


def repository(root: Path) -> dict:
    """What _config.yml says of the repository: its one place."""
    return yaml.safe_load((root / "_config.yml").read_text("utf-8")).get("repository") or {}
