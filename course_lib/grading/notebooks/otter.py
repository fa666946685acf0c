"""An otter-grader assignment for each chapter: the notebook of the exercises, and tests in the exception-based form.

Each check of an exercise is a test case with its points.
"""
from __future__ import annotations

import json
import re
from pathlib import Path

from course_lib.exercises import get
from course_lib.grading.exercise.exercise import Exercise
from course_lib.grading.notebooks import build, form, release
from course_lib.grading.notebooks.form import exercise, role

PROGRAMS = ()
NEXT = ("next, in the folder of a chapter: otter generate -t tests -c otter_config.json -r requirements.txt "
        "-o autograder.zip")
INIT = 'import otter\n\ngrader = otter.Notebook("{name}")'
HEAD = '''\
"""The checks of {id}, for otter-grader 7."""
from otter.test_files import test_case

from course_lib.grading.notebooks.marks import demand

OK_FORMAT = False

name = "{id}"
points = None
'''
CASE = '''

@test_case(name="{check}", points={points})
def test_{function}(env):
    demand("{id}", "{check}", env, seed={seed})
'''


def files(pages: dict[Path, dict], seed: int) -> dict[str, str]:
    """The files of all assignments, by their names."""
    found: dict[str, str] = {}
    for path, page in pages.items():
        nb = assignment(page, path)
        ids = nb["metadata"]["course"]["exercises"]
        found[f"{path.stem}/{path.name}"] = form.dumps(nb)
        found[f"{path.stem}/otter_config.json"] = json.dumps({"show_all_public": True}, indent=1) + "\n"
        found[f"{path.stem}/requirements.txt"] = release.requirements(release.address(page)) + "otter-grader==7.*\n"
        for each in ids:
            found[f"{path.stem}/tests/{each}.py"] = tests(get(each), seed)
    return found


def assignment(page: dict, path: Path) -> dict:
    """The notebook that students get, with otter's own calls in the place of check."""
    nb = release.alone(build.exercise_page(page, path, None), path.stem)
    for cell in nb["cells"]:
        if role(cell) == "check":
            cell["source"] = f'grader.check("{exercise(cell)}")'
    first = next(i for i, cell in enumerate(nb["cells"]) if role(cell) == "task")
    nb["cells"].insert(first, {"cell_type": "code", "source": INIT.format(name=path.name), "metadata": {},
                               "outputs": [], "execution_count": None})
    return form.normal(nb, path.stem)


def tests(each: Exercise, seed: int) -> str:
    """The test file of one exercise."""
    return HEAD.format(id=each.id) + "".join(
        CASE.format(id=each.id, check=check.name, points=check.points, seed=seed,
                    function=re.sub(r"\W+", "_", check.name)) for check in each.checks)
