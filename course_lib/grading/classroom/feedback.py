"""Feedback pages as a zip that Moodle and Canvas distribute to the students, and as a list for a mail merge.

Moodle (`mod/assign/feedback/file/importziplib.php`) reads the participant from the folder `Full name_ID_assignsubmission_file_`. Canvas
(`infer_comment_context_from_filename` in its Assignment) takes the first two numbers between underscores for the student and the
attachment, and shows the file under the name of the attachment.
"""
from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence

from course_lib.grading.classroom.collection import MOODLE
from course_lib.grading.classroom.grading import Graded
from course_lib.grading.classroom.marks import Mark
from course_lib.grading.classroom.pages import student_page
from course_lib.grading.classroom.roster import Roster


def name_files(records: Sequence[Graded], downloads: Mapping[str, str], roster: Roster) -> dict[str, str]:
    """The path of each student's page in the zip, given the names under which the submissions were downloaded. A student without a
    submission has one in Moodle, if the roster has the number of the participant."""
    moodle = {person.student: f"{person.student.replace('_', ' ').replace('/', ' ')}_{person.number}_assignsubmission_file_"
              for person in roster.people if person.number and roster.column("identifier") is not None}
    paths = {}
    for record in records:
        name = downloads.get(record.student) or moodle.get(record.student)
        if name:
            folder = MOODLE.match(name)
            paths[record.student] = f"{folder[0]}/feedback.html" if folder else name
    return paths


def write_zip(path: str, records: Sequence[Graded], marks: Mapping[str, Mark], paths: Mapping[str, str]) -> None:
    """Write the pages of these students. What Canvas shows under the name of a notebook is a notebook."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for record in records:
            if record.student in paths:
                page = feedback_notebook if paths[record.student].endswith(".ipynb") else student_page
                archive.writestr(paths[record.student], page(record, marks.get(record.student)))


def feedback_notebook(record: Graded, mark: Mark | None = None) -> str:
    """The feedback as a notebook with a cell of text."""
    notes = [note for note in record.notes if not record.reason.endswith(note)]
    lines = [f"{record.earned} of {record.possible} points", *notes, *(mark.why if mark else ()),
             *([record.reason] if record.reason else map(str, record.reports))]
    cell = {"cell_type": "raw", "metadata": {}, "source": "\n\n".join(lines)}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
