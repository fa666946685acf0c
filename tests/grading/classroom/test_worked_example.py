"""The worked example of the page on the grader: its commands, run on a made-up class, print what the page says.

    TQDM_DISABLE=1 python -m tests.grading.classroom.test_worked_example        runs them and writes their output into the page
"""
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from unittest import mock

from course_lib.grading import __main__
from course_lib.grading.assignments import form
from course_lib.grading.classroom.reports import BOM
from course_lib.grading.sandbox import sandbox
from tests.conftest import ROOT
from tests.grading.sample_submissions import notebook, save

PAGE = ROOT / "book" / "api" / "grading.md"
BLOCK = re.compile(r"```console\n\$ (.*?)\n```\n", re.S)
SHEET = """Identifier,Full name,Email address,Status,Grade,Maximum Grade,Feedback comments
Participant 501,Mo Lee,mo@uni.org,Submitted for grading,,100.00,
Participant 502,Zoë Ünder,zoe@uni.org,Submitted for grading,,100.00,
Participant 503,Bo Ek,bo@uni.org,Submitted for grading,,100.00,
Participant 504,Ida Noor,ida@uni.org,No submission,,100.00,
"""
GRADEBOOK = """Student,ID,SIS Login ID,Section,Week 1 (77)
    Points Possible,,,,10
"Lee, Mo",7001,mo,A,
"Ünder, Zoë",7002,zoe,A,
"""
MARKS = """[[mark]]
student = "*"
exercise = "dropped_parent_cost"
weight = 0
reason = "the statement was unclear"

[[mark]]
student = "Zoë Ünder"
exercise = "conditional_table"
points = 4
reason = "right, under another name"
"""


def write_class(folder: Path) -> None:
    """A Moodle download and its worksheet, a Canvas download and its gradebook, and a resubmission."""
    for name in ("solutions", "exercises"):
        (folder / name).symlink_to(ROOT / name)
    page = form.read(next((ROOT / "solutions").glob("01-*.ipynb")))
    right = ["import torch", *(cell["source"] for cell in page["cells"] if form.role(cell) == "answer")]
    wrong = [*right, "right = longest_table\ndef longest_table(vocabulary, memory):\n    return right(vocabulary, 4 * memory)"]
    renamed = [source.replace("def conditional_table", "def my_table") for source in right]
    with zipfile.ZipFile(folder / "submissions.zip", "w") as archive:
        for name, content in (("Mo Lee_501_assignsubmission_file_/week1.ipynb", json.dumps(notebook(*wrong, exercises=()))),
                              ("Zoë Ünder_502_assignsubmission_file_/hw.ipynb", json.dumps(notebook(*renamed, exercises=()))),
                              ("Bo Ek_503_assignsubmission_file_/photo.pdf", "%PDF")):
            archive.writestr(name, content)
    save(folder / "canvas/leemo_7001_90001_week1.ipynb", notebook(*wrong, exercises=()))
    save(folder / "canvas/underzoe_LATE_7002_90002_hw.ipynb", notebook(*renamed, exercises=()))
    save(folder / "again/Mo Lee/week1.ipynb", notebook(*right, exercises=()))
    for name, text in (("worksheet.csv", SHEET), ("gradebook.csv", GRADEBOOK), ("marks.toml", MARKS)):
        save(folder / name, text)


def run_commands(page: str) -> str:
    """The page with what its commands print now; they run in the current folder."""
    def run(match: re.Match) -> str:
        command = re.match(r"(?:.*\\\n)*.*", match[1])[0]                # one line, or several that end in a backslash
        name, *arguments = shlex.split(command.replace("\\\n", " "))
        if name == "course-grader":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                __main__.main(arguments)
            text = printed.getvalue().replace("bubblewrap+cgroup", "bubblewrap")
        else:
            text = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True,
                                  env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}).stdout
        return f"```console\n$ {command}\n{text.strip().lstrip(BOM)}\n```\n"

    return BLOCK.sub(run, page)


def test_worked_example(tmp_path, sandboxed, monkeypatch):
    monkeypatch.setattr(sandboxed, "close", lambda: None)
    monkeypatch.setattr(sandbox, "Worker", lambda: sandboxed)
    monkeypatch.chdir(tmp_path)
    write_class(tmp_path)
    page = PAGE.read_text("utf-8")
    assert 8 <= len(BLOCK.findall(page)) <= 12 and run_commands(page) == page


def main() -> None:
    with sandbox.Worker() as worker, tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        worker.wait_ready()
        write_class(Path(folder))
        with mock.patch.object(worker, "close"), mock.patch.object(sandbox, "Worker", lambda: worker):
            PAGE.write_text(run_commands(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
