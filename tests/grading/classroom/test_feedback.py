"""Feedback on its way back to Moodle and Canvas, read by parsers written from their sources."""
import os
import re
import zipfile

import nbformat
import pytest

from course_lib.grading import __main__
from course_lib.grading.classroom import lms
from course_lib.grading.classroom.roster import read_roster
from course_lib.grading.sandbox import sandbox
from tests.grading.classroom.test_lms import WORKSHEET
from tests.grading.sample_submissions import LOGLIK, notebook, save

ONE = "bernoulli_chain_loglik"


def moodle_reads(path: str, participants: set[int]) -> tuple[int, str] | None:
    """The participant and the name of the file, as is_valid_filename_for_import in assign/feedback/file/importziplib.php finds them."""
    parts = path.split("/")
    if parts[-1].startswith((".", "~")):
        return None
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdigit() or int(info[1]) not in participants or info[2:4] != ["assignsubmission", "file"]:
            continue
        return int(info[1]), "/".join([info[4] if len(info) > 4 else "", *parts]).lstrip("/")
    return None


def canvas_reads(path: str, attachments: dict[int, int]) -> tuple[int, int] | None:
    """The student and the attachment, as infer_comment_context_from_filename in Canvas' Assignment finds them."""
    name = os.path.basename(path)
    numbers = [int(part) for part in name.split("_") if re.fullmatch(r"\d+", part)][:2]
    if len(numbers) < 2 or name.split("_")[-1].startswith("link") or name.startswith("._") or attachments.get(numbers[1]) != numbers[0]:
        return None
    return numbers[0], numbers[1]


@pytest.fixture
def upload(tmp_path, worker, monkeypatch):
    """The files of the zip that --feedback writes for these submissions, by their names."""
    monkeypatch.setattr(worker, "close", lambda: None)
    monkeypatch.setattr(sandbox, "Worker", lambda: worker)

    def run(paths, *options) -> dict[str, str]:
        for path in paths:
            save(tmp_path / "class" / path, notebook(LOGLIK))
        assert __main__.main(["grade", str(tmp_path / "class"), "--exercises", ONE, "--feedback", str(tmp_path / "back.zip"), *map(str, options)]) == 0
        with zipfile.ZipFile(tmp_path / "back.zip") as archive:
            return {name: archive.read(name).decode() for name in archive.namelist()}

    return run


def test_moodle_accepts_feedback(upload, tmp_path):
    """Two students with a submission, of which one has two files, and one without."""
    roster = save(tmp_path / "sheet.csv", WORKSHEET + '"Participant 502","Zoë Ünder",zu@uni.org,"No submission",,100.00,Yes,-,\n')
    found = upload(["Mo Lee_501_assignsubmission_file_/hw.ipynb", "Mo Lee_501_assignsubmission_file_/more.ipynb",
                    "Zoë Ünder_502_assignsubmission_file/hw.ipynb"], "--roster", roster)
    assert {moodle_reads(name, {501, 502, 503}) for name in found} == {(number, "feedback.html") for number in (501, 502, 503)}
    pages = {moodle_reads(name, {501, 502, 503})[0]: text for name, text in found.items()}
    assert "Mo Lee: 6 of 6 points" in pages[501] and "Zoë Ünder: 6 of 6" in pages[502]
    assert "not submitted: No submission of this student was found." in pages[503]


def test_canvas_accepts_feedback(upload, tmp_path):
    files = {"leemo_7001_90001_hw.ipynb": (7001, 90001), "underzoë_LATE_7002_90002_13_hw-1.ipynb": (7002, 90002)}
    found = upload(files, "--roster", save(tmp_path / "gradebook.csv", 'Student,ID,Section\n"Lee, Mo",7001,A\n"Ünder, Zoë",7002,A\n'))
    attachments = {attachment: user for user, attachment in files.values()}
    assert {name: canvas_reads(name, attachments) for name in found} == files
    for text in found.values():
        page = nbformat.reads(text, 4)
        nbformat.validate(page)
        assert "6 of 6 points" in page.cells[0].source and f"{ONE}: right" in page.cells[0].source


def test_participant_names_with_separators(tmp_path):
    sheet = 'Identifier,Full name,Email address,Grade,Maximum Grade\nParticipant 504,a_b/c,x@y,,100\n'
    roster = read_roster(str(save(tmp_path / "sheet.csv", sheet)))
    [path] = lms.name_files(["a_b/c"], {}, roster).values()
    assert moodle_reads(path, {504}) == (504, "feedback.html")
