"""The recipe for a container, as far as it can be checked without building one."""
import json
import re
import shlex

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


def test_its_command_exists():
    assert json.loads(of("ENTRYPOINT")[0]) == ["python", "-m", "course_lib.grading"]
    args = __main__.parser().parse_args(run_command())
    assert args.run is __main__.run_grade and args.chapter == ["self-attention"]
