"""The folders of the bank: an exercise lies in the file of its name, and only the chapter that is asked for is imported."""
from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from course_lib.grading import bank
from course_lib.grading.bank import EXERCISES, FOLDERS, get, of_chapter


def imported_by(code: str) -> list[str]:
    """The chapters of the bank that are there after `code`, in a process of its own."""
    code += "\nimport sys; print(*sorted(n.rpartition('.')[2] for n in sys.modules if n.startswith('course_lib.grading.bank.ch') "\
            "and n.count('.') == 3))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("code, chapters", [
    ("from course_lib.grading.bank import EXERCISES", []),
    ("from course_lib.grading.bank import get; get('nade_loglik')", ["ch04_nade"]),
    ("from course_lib.grading.bank import of_chapter; of_chapter('01')", ["ch01_chain_rule"]),
    ("from course_lib.grading.bank import EXERCISES; 'some_function' in EXERCISES", []),
    ("from course_lib.grading.classroom import asked; asked.of_ids(['mog_loglik'])", ["ch05_beyond_binary"]),
])
def test_only_the_chapter_that_is_asked_for_is_imported(code, chapters):
    assert imported_by(code) == chapters


def test_every_exercise_lies_in_the_file_of_its_name():
    in_files = {id(import_module(f"{bank.__name__}.{folder}.{file.name}").exercise): file.name for folder in FOLDERS
                for file in bank.iter_modules(bank.chapter(folder).__path__) if file.name[0] != "_"}
    assert {id(exercise) for exercise in EXERCISES.values()} == set(in_files)
    for name, exercise in EXERCISES.items():
        assert name == exercise.id and in_files[id(exercise)].replace("_", "") == name.replace("_", "").lower()


def test_the_order_is_that_of_the_chapters():
    assert list(EXERCISES) == [one.id for number in range(1, 21) for one in of_chapter(f"{number:02}")]
    assert len(EXERCISES) == len(set(EXERCISES)) and all(get(name) is EXERCISES[name] for name in EXERCISES)
    assert [module.__name__.rpartition(".")[2] for module in bank.CHAPTERS] == list(FOLDERS)


@pytest.mark.parametrize("name", ["owngpt", "own_gpt", "NADE_loglik", "", "ch04_nade", None, 4])
def test_another_spelling_is_another_name(name):
    assert name not in EXERCISES
    with pytest.raises(KeyError):
        EXERCISES[name]
