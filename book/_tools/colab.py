"""Try the built wheel among Colab's versions: nothing that Colab has may change, and the notebooks must run.

    python book/_tools/colab.py notebook ...

Colab's torch is not to be had everywhere: the version of requirements.txt stands in for it.
"""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "colab"
PINS = ROOT / "book" / "_tools" / "colab-pins.txt"
# Brought by any install of the pinned packages, never a sign of a change of ours.
TORCH = re.search(r"^torch==.*$", (ROOT / "requirements.txt").read_text("utf-8"), re.M).group()


def call(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True, **options)


def packages(python: Path) -> dict[str, str]:
    listed = call(python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check", capture_output=True)
    return {row["name"].lower(): row["version"] for row in json.loads(listed.stdout)}


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What an install changed of that which was there."""
    return [f"{name} {before[name]} -> {after.get(name, 'gone')}" for name in before if after.get(name) != before[name]]


def build_wheel(folder: Path) -> Path:
    """The wheel as a user gets it, built from the work tree."""
    shutil.rmtree(folder, ignore_errors=True)
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    return next(folder.glob("*.whl"))


def main(notebooks: list[Path]) -> int:
    python = WORK / "environment" / "bin" / "python"
    if not (WORK / "complete").exists():
        shutil.rmtree(WORK, ignore_errors=True)
        call(sys.executable, "-m", "venv", WORK / "environment")
        call(python, "-m", "pip", "install", "--quiet", TORCH, "-r", PINS)
        call(python, "-m", "pip", "freeze", stdout=(WORK / "before.txt").open("w"))
        (WORK / "complete").touch()
    call(python, "-m", "pip", "uninstall", "--quiet", "--yes", "course-lib")
    before = packages(python)
    call(python, "-m", "pip", "install", "--quiet", build_wheel(WORK / "wheel"))
    after = packages(python)
    print("The wheel added:", ", ".join(f"{name} {after[name]}" for name in sorted(after.keys() - before.keys())))
    if changed := changes(before, after):
        print("The wheel changed what Colab has:", "; ".join(changed), file=sys.stderr)
        return 1
    for notebook in notebooks:
        with tempfile.TemporaryDirectory() as folder:          # the notebook alone, far from the work tree
            shutil.copy(notebook, folder)
            clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "COURSE_DATA")}
            call(python, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=300",
                 "--log-level", "WARN", "--output", "done.ipynb", notebook.name, cwd=folder,
                 env={**clean, "TQDM_DISABLE": "1", "COURSE_CACHE": folder, "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
        print(f"{notebook.name} runs among Colab's versions.")
    return 0


if __name__ == "__main__":
    sys.exit(main([Path(argument).resolve() for argument in sys.argv[1:]]))
