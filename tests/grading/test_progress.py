"""progress: what check stores and shows, and that nothing of it is lost."""
from __future__ import annotations

import multiprocessing
import os
import sys

import pytest

from course_lib.exercises import chapters, of_chapter
from course_lib.grading import EXERCISES, check, next_exercise, progress, progress_file
from course_lib.grading.verdict import Report
from tests.conftest import ROOT

NAME = "fvsbn_conditionals"
right = EXERCISES[NAME].solve


def reported(name, state, earned, misconception=None):
    return Report(name, state, earned, EXERCISES[name].possible, misconception)


def said(capsys, call, *args):
    capsys.readouterr()
    call(*args)
    return capsys.readouterr().out


def solve(*names):
    for name in names:
        progress_file.record(reported(name, "right", EXERCISES[name].possible))


def test_record_follows_no_link(folder):
    """In a folder that somebody else made, what `check` stores overwrites no other file."""
    (folder / "mine").write_text("mine")
    (folder / "my-course.json.part").symlink_to(folder / "mine")
    solve(NAME)
    assert (folder / "mine").read_text() == "mine" and NAME in (folder / "my-course.json").read_text()


def test_check_stores_record(folder, capsys):
    def fvsbn_conditionals(x, W, c):
        raise NotImplementedError

    check(fvsbn_conditionals)
    assert progress_file.read() == {}                                         # nothing was tried

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        return right(x, W, c).detach()

    check(fvsbn_conditionals)
    line = progress_file.read()["exercises"][NAME]
    assert set(line) == {"state", "misconception", "earned", "best", "possible", "tries", "version", "solved_before", "date"}
    assert (line["state"], line["tries"]) == ("wrong_gradient", 1) and 0 < line["best"] == line["earned"] < 6

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        return right(x, W, c)

    check(fvsbn_conditionals)
    assert "■ fvsbn_conditionals          6 of  6, 2 tries\n" in said(capsys, progress, 4)

    def fvsbn_conditionals(x, W, c):                                 # noqa: F811
        return 0

    check(fvsbn_conditionals)
    line = progress_file.read()["exercises"][NAME]
    assert (line["earned"], line["best"], line["tries"]) == (0, 6, 3)
    assert "■ fvsbn_conditionals          6 of  6, 3 tries\n" in said(capsys, progress, "fvsbn")


def test_progress_overview(folder, capsys):
    solve(NAME)
    progress_file.record(reported("fvsbn_sample", "wrong_value", 2))
    progress_file.record(reported("fit_p_logit", "error", 0))
    out = said(capsys, progress)
    rows = out.splitlines()
    chapter = of_chapter("fvsbn")
    assert rows[-2:] == ["", f"Stored in {folder / progress_file.FILE}."]
    del rows[-2:]
    assert len(rows) == len(chapters()) + 2 + 1 + 3 and max(map(len, rows)) <= progress_file.WIDTH
    assert rows[3].startswith("04 fvsbn ") and "■◩" in rows[3]
    assert f" 1 of {len(chapter):2}    8 of {sum(one.possible for one in chapter):3} points" in rows[3]
    assert f"1 of {len(EXERCISES)}    8 of {sum(one.possible for one in EXERCISES.values())} points" in rows[-6]
    assert rows[0].count("·") == len(of_chapter("chain-rule")) and rows[-5] == progress_file.LEGEND
    assert rows[-4:] == ["", "■ fvsbn_conditionals          6 of  6, 1 try", "◩ fvsbn_sample                2 of  5, 1 try; wrong value",
                         "□ fit_p_logit                 0 of  6, 1 try; stopped with an error"]


def test_progress_in_another_folder(folder, capsys, monkeypatch):
    drive = folder / "drive" / "MyDrive"
    drive.mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "google.colab", sys)
    assert "Colab deletes this file" in said(capsys, progress)
    monkeypatch.setenv("COURSE_PROGRESS", str(drive))
    solve(NAME)
    assert said(capsys, progress).endswith(f"Stored in {drive / progress_file.FILE}.\n") and (drive / progress_file.FILE).exists()


@pytest.mark.parametrize("chapter", [0, 29, -1, "x", "attention!", "\N{SUPERSCRIPT TWO}"])
def test_progress_refuses_unknown_chapter(folder, chapter):
    with pytest.raises(ValueError, match="there is no chapter .*; expected a number from 1 to 28, or one of chain-rule, "):
        progress(chapter)


def test_record_of_changed_exercise(folder, capsys, monkeypatch):
    solve(NAME)
    monkeypatch.setattr(type(EXERCISES[NAME]), "version", property(lambda self: "another"))
    assert "◇ fvsbn_conditionals          0 of  6, 1 try; right\n" in said(capsys, progress, 4)
    assert "You had solved it; its checks have changed since." in said(capsys, next_exercise)
    progress_file.record(reported(NAME, "wrong_value", 2))
    assert "◇ fvsbn_conditionals          2 of  6, 2 tries; wrong value\n" in said(capsys, progress, 4)
    solve(NAME)
    assert "■ fvsbn_conditionals          6 of  6, 3 tries\n" in said(capsys, progress, 4)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"exercises": []}'])
def test_unreadable_file_is_left_alone(folder, text, capsys):
    (folder / progress_file.FILE).write_text(text)

    def fvsbn_conditionals(x, W, c):
        return right(x, W, c)

    out = said(capsys, check, fvsbn_conditionals)
    assert "fvsbn_conditionals: right (6 of 6 points)" in out
    assert "This is not in your progress: " in out and progress_file.FILE in out
    assert (folder / progress_file.FILE).read_text() == text


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="everything can be written to")
def test_unwritable_folder(folder, capsys):
    folder.chmod(0o500)
    assert "This is not in your progress: " in said(capsys, check, right)


def add(folder, times):
    progress_file.enabled = lambda: True
    for _ in range(times):
        progress_file.update_file("exercises", NAME, lambda old: (old or 0) + 1, folder)


def test_concurrent_updates(tmp_path):
    several = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    processes = [several.Process(target=add, args=(tmp_path, 40)) for _ in range(3)]
    [one.start() for one in processes]
    [one.join() for one in processes]
    assert progress_file.read(tmp_path) == {"exercises": {NAME: 120}}


def test_documented_calls_work(folder, capsys):
    text = (ROOT / "book" / "what-is-judged.md").read_text("utf-8")
    code = text.partition("## What is stored")[2].partition("```python")[2].partition("```")[0]
    exec(code, {})
    out = capsys.readouterr().out
    assert out.count(progress_file.LEGEND) == 2 and "Chapter chain-rule, difficulty" in out
