"""A Gradescope autograder: a folder to zip and upload. It holds the package as it is now, so that marks do not change
when the course does."""
from __future__ import annotations

from importlib.resources import files as resources
from pathlib import Path

from course_lib.grading.notebooks import release
from course_lib.grading.notebooks.form import chapter

PROGRAMS = ("setup.sh", "run_autograder")
NEXT = "next: zip what is in {to} (not the folder itself) and upload it as the autograder"
KEPT = (".py", ".json", ".toml", ".tsv", ".js", ".css", ".txt")
SETUP = """\
#!/usr/bin/env bash
# Runs once, when the autograder is built.
set -euo pipefail
apt-get update
apt-get install -y bubblewrap python3-pip python3-venv
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install --quiet -r /autograder/source/requirements.txt
"""
RUN = """\
#!/usr/bin/env bash
# Runs for each submission, which lies in /autograder/submission; Gradescope reads /autograder/results/results.json.
# Without isolation a submission could read the references or write its own result: if bubblewrap is not allowed where
# this runs, nothing is graded and Gradescope says that the autograder failed. Set AUTOGRADER_FLAGS to nothing to grade
# all the same.
set -uo pipefail
root=${AUTOGRADER_ROOT:-/autograder}
python=${AUTOGRADER_PYTHON:-$root/venv/bin/python}
flags=${AUTOGRADER_FLAGS---require-isolation}
mkdir -p "$root/results"
if [ -z "$(find "$root/submission" -iname '*.ipynb' -print -quit)" ]; then
    echo '{"score": 0, "output": "There is not a notebook in this submission. Submit one, NN-name.ipynb."}' \\
        > "$root/results/results.json"
    exit 0
fi
work=$(mktemp -d)
mkdir "$work/class"
cp -r "$root/submission" "$work/class/submission"
echo submission > "$work/roster"                           # one student, however many notebooks and folders
cd "$root/source" || exit 1
"$python" -m course_lib.grading grade "$work/class" --roster "$work/roster" --chapter CHAPTERS --gradescope "$work/reports" $flags
cp "$work/reports/submission/results.json" "$root/results/results.json"
"""


def files(pages: dict[Path, dict], seed: int) -> dict[str, str | bytes]:
    """The files of the autograder, by their names; it asks for the chapters of these pages. The seed is drawn anew for each submission."""
    chapters = ",".join(sorted(map(chapter, pages)))
    found: dict[str, str | bytes] = {"setup.sh": SETUP, "run_autograder": RUN.replace("CHAPTERS", chapters)}
    found["requirements.txt"] = "".join(
        line + "\n" for line in release.requirements(None).splitlines()
        if not line.startswith("#") and line != "jupyterlab")
    package = Path(str(resources("course_lib")))
    for path in sorted(package.rglob("*")):
        if path.is_file() and path.suffix in KEPT and "__pycache__" not in path.parts:
            found[f"course_lib/{path.relative_to(package).as_posix()}"] = path.read_bytes()
    return found
