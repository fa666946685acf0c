"""Spelling of every tracked text and of what authors wrote in notebooks; samples and stored outputs are not prose.

    python book/_tools/spelling.py
"""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODESPELL = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml")]


def sources(notebook: Path) -> str:
    """The cells as written, without their outputs."""
    return "\n".join("".join(cell["source"]) for cell in json.loads(notebook.read_text("utf-8"))["cells"]) + "\n"


def main() -> int:
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in files.split("\0") if name and (ROOT / name).exists()]
    status = subprocess.run([*CODESPELL, *(name for name in names if not name.endswith(".ipynb"))], cwd=ROOT).returncode
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            if name.endswith(".ipynb"):
                copy = Path(folder, name).with_suffix(".md")
                copy.parent.mkdir(exist_ok=True, parents=True)
                copy.write_text(sources(ROOT / name), "utf-8")
        status |= subprocess.run([*CODESPELL, "."], cwd=folder).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
