"""The recipe for a container, as far as it can be checked without building one."""
import json
import re
import shlex
import tomllib

from course_lib.grading import __main__
from tests.conftest import ROOT

TEXT = (ROOT / "book/_tools/Containerfile").read_text("utf-8")
LINES = [line for line in TEXT.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]


def of(word: str) -> list[str]:
    """The arguments of each line that begins with this word."""
    return [line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")]


def run_command() -> list[str]:
    """The words of the command in the comments that grades, after the name of the image."""
    words = shlex.split(re.search(r"podman run (?:.*\\\n)*.*", TEXT)[0].replace("\\\n#", " "))
    return words[words.index("course-grader") + 1:]


def test_its_packages_are_those_that_the_tests_install():
    [installed] = [re.search(r"install ((?:-\S+ )*)(.*?) &&", line)[2].split() for line in of("RUN") if "apt-get install" in line]
    known = re.findall(r"packages\+=\(([\w-]+)\)", (ROOT / ".ci/run").read_text("utf-8"))
    assert "bubblewrap" in installed and set(installed) <= set(known)


def test_what_it_copies_is_there_and_is_what_an_installation_needs():
    sources = [word for line in of("COPY") for word in line.split()[:-1]]
    assert all((ROOT / one).exists() for one in sources) and {"course_lib", "pyproject.toml"} <= set(sources)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["readme"] in sources                              # setuptools reads it


def test_its_python_is_one_that_the_library_runs_on():
    [image] = of("FROM")
    version = tuple(map(int, re.search(r"python:(\d+)\.(\d+)", image).groups()))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert version >= tuple(map(int, re.search(r">=(\d+)\.(\d+)", project["requires-python"]).groups())) and version >= (3, 11)


def test_its_command_exists():
    assert json.loads(of("ENTRYPOINT")[0]) == ["python", "-m", "course_lib.grading"]
    args = __main__.parser().parse_args(run_command())
    assert args.run is __main__.run_grade and args.chapter == ["self-attention"]
