"""Grade one notebook: a report on each exercise, and notes on what was left out of it. Stored outputs are ignored."""
import hashlib
import os
import time
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from course_lib.exercises import chapters
from course_lib.grading.exercise import Exercise
from course_lib.grading.sandbox.remote import Overworked, Remote, bounded
from course_lib.grading.sandbox.sandbox import Limits, NoSandbox, Worker
from course_lib.grading.submissions import files
from course_lib.grading.submissions.files import Unreadable
from course_lib.grading.submissions.notebook import Entangled, Notebook, read
from course_lib.grading.verdict import STATES, Report, grade

NAMES = {f"{row['number']}-{slug}": slug for slug, row in chapters().items()}        # of each chapter's notebook
NO_NOTEBOOK = ("The archive holds no notebook", "This is not a file but a folder", "There is no notebook of this name")
SHOWN = 20_000                  # characters of an answer that a report shows
LONGEST = 5_000                 # characters of a message or a note
NO_MORE = "Return what is asked for, and no more."
WHOLE = ("not_submitted", "no_notebook", "unreadable", "not_graded")         # states of a whole submission


@dataclass
class Graded:
    """The result of one submission. `isolation` is the worker's level; `notes` are about the file as a whole."""

    student: str
    file: str
    sha256: str = ""
    checks: str = ""                         # version of the checks
    isolation: str = ""
    seed: int = 0
    seconds: float = 0.0
    reports: list[Report] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    mark: dict | None = None                 # after `marks.toml`: mark, possible, why

    @property
    def earned(self) -> int:
        return sum(report.earned for report in self.reports)

    @property
    def possible(self) -> int:
        return sum(report.possible for report in self.reports)

    @property
    def total(self) -> float:                # the mark; without one the points earned
        return self.mark["mark"] if self.mark else self.earned

    @property
    def most(self) -> float:                 # the highest mark, without what is added
        return self.mark["possible"] if self.mark else self.possible

    @property
    def why(self) -> list[str]:              # the reasons of an instructor's own marks
        return self.mark["why"] if self.mark else []

    @property
    def score(self) -> float:
        """The mark by the highest one, 0 to 1; 0 where nothing could be earned."""
        return self.total / self.most if self.most else 0.0

    @property
    def reason(self) -> str:
        """Why nothing of the submission was graded, if that is the same for all exercises; else empty."""
        reasons = {f"{STATES[report.state]}: {report.message}" if report.state in WHOLE else "" for report in self.reports}
        return reasons.pop() if len(reasons) == 1 else ""

    def to_dict(self) -> dict:
        """As JSON can hold it, with the sums."""
        return {**asdict(self), "earned": self.earned, "possible": self.possible, "score": self.score,
                "reports": [report.to_dict() for report in self.reports]}

    @classmethod
    def from_dict(cls, data: dict) -> "Graded":
        values = {name: data[name] for name in cls.__dataclass_fields__ if name != "mark"}
        return cls(**{**values, "mark": data.get("mark"), "reports": [Report.from_dict(report) for report in data["reports"]]})


def grade_file(path: str | os.PathLike, worker: Worker, seed: int, student: str = "", limits: Limits = Limits(), *,
               exercises: Sequence[Exercise]) -> Graded:
    """Grade these exercises of the notebook at `path`. Never raises for what it holds."""
    began = time.monotonic()
    result = Graded(student or Path(path).stem, printable(str(path)), checks=checks_version(exercises), seed=seed)
    try:
        data = files.read(path)
        result.sha256 = hashlib.sha256(data).hexdigest()
        notebook = read(data, str(path))
    except Unreadable as problem:
        reason = printable(str(problem))                 # it may contain names of files
        state = "no_notebook" if reason.startswith(NO_NOTEBOOK) else "unreadable"
        result.notes = [reason]
        result.reports = [empty_report(exercise, state, reason) for exercise in exercises]
    else:
        notes = [describe_mismatch(exercises, path),
                 *(f"Cell {cell} could not be read: {problem}." for cell, (_, problem) in list(notebook.broken.items())[:20]),
                 *describe_not_run(notebook, exercises)]
        left_out, problems = {}, {}
        for exercise in exercises:
            report, code = grade_exercise(exercise, notebook, worker, seed, limits, left_out, began + limits.submission, problems)
            result.reports.append(report)
            result.code[exercise.id] = printable(code[:SHOWN], lines=True)
        notes += [f"Something in cell {cell} was left out: {printable(why)}" for cell, why in sorted(problems.items())[:20]]
        result.notes = [note[:LONGEST] for note in notes if note]
    result.isolation = worker.level                      # after the first start, which may have had to go lower
    result.seconds = time.monotonic() - began
    return result


def grade_exercise(exercise: Exercise, notebook: Notebook, worker: Worker, seed: int, limits: Limits, left_out: dict, until: float,
                   problems: dict[int, str]) -> tuple[Report, str]:
    """The report on one exercise, and the code that it is about."""
    try:
        needed = notebook.needed(exercise.id)
    except Entangled as problem:
        return empty_report(exercise, "error", f"Your notebook is too entangled: {problem}.", seed), ""
    code = "\n\n".join(statement.text for statement in needed)
    if not any(exercise.id in statement.binds for statement in needed):
        state, message = notebook.why_missing(exercise.id)
        return empty_report(exercise, state, message, seed), ""
    if time.monotonic() >= until:
        return empty_report(exercise, "timeout", f"The {limits.submission:g} seconds for the whole notebook are over.", seed), code
    try:
        with Remote(worker, needed, exercise.id, exercise.deadline, limits, left_out, until, exercise.forbid, exercise.of_class) as remote:
            if remote.failed is not None and any(statement.effect for statement in needed):      # loops and calls that hang, perhaps
                problems.update(remote.problems)
                remote.statements = [statement for statement in needed if not statement.effect]
                remote.open()
            with bounded(limits.own, limits.own_memory):
                report = grade(exercise, remote.call, seed)
            problems.update(remote.problems)
    except NoSandbox:
        raise
    except Overworked as problem:
        return empty_report(exercise, "timeout", f"To grade what your answer gives takes {problem}. {NO_MORE}", seed), code
    except Exception as problem:             # a fault of the grader's; the other exercises are still graded
        if isinstance(problem, MemoryError) or "allocate memory" in str(problem):
            return empty_report(exercise, "memory", f"To grade what your answer gives takes more memory than the grader has. {NO_MORE}", seed), code
        message = f"Your answer could not be graded ({type(problem).__name__} in the grader). Tell your instructor."
        return empty_report(exercise, "error", message, seed), code
    if remote.problems and "left out" not in report.message and report.state in ("error", "not_attempted"):
        cell, problem = next(iter(remote.problems.items()))       # an answer may be there that did not take effect
        why = f"In cell {cell} something was left out: {problem}"
        report = replace(report, state="error", message=f"{report.message.rstrip('.')}. {why}" if report.message else why)
    return sanitize(report), code


def describe_mismatch(requested: Sequence[Exercise], path: str | os.PathLike) -> str:
    """A note on a notebook whose file is called as that of another chapter than was asked for; empty if it is not."""
    wanted = {exercise.chapter for exercise in requested}
    named = {slug for name, slug in NAMES.items() if name in Path(path).stem}
    return f"Graded by what was asked for, of {list_chapters(wanted)}; its name says {list_chapters(named)}." if named and not named & wanted else ""


def list_chapters(slugs: set[str]) -> str:
    """"chapter fvsbn", or "chapters fvsbn and nade", in the order of the course."""
    return f"chapter{'s' if len(slugs) > 1 else ''} {' and '.join(slug for slug in chapters() if slug in slugs)}"


def describe_not_run(notebook: Notebook, exercises: Sequence[Exercise]) -> list[str]:
    """Notes on what is not run: loops and calls on which no answer depends, magics and shell commands."""
    cells = dict.fromkeys(f"cell {statement.cell}" for statement in notebook.not_run([exercise.id for exercise in exercises]))
    magics = dict.fromkeys(f"{magic} in cell {cell}" for cell, magic in notebook.left_out)
    return [printable(f"{what} are not run: {', '.join(list(places)[:10])}{', and others' * (len(places) > 10)}.")
            for what, places in (("Loops and calls on which no answer depends", cells), ("Magics and shell commands", magics)) if places]


def empty_report(exercise: Exercise, state: str, message: str, seed: int | None = None) -> Report:
    """A report without a check: in this state, with this message, 0 points."""
    return sanitize(Report(exercise.id, state, 0, exercise.possible, message=message, seed=seed))


def sanitize(report: Report) -> Report:
    """The report with nothing in it that a terminal, a page or a table could take for a command."""
    return replace(report, message=printable(report.message[:LONGEST]), shown=printable(report.shown, lines=True),
                   checks=[replace(check, message=printable(check.message)) for check in report.checks])


def printable(text: str, lines: bool = False) -> str:
    """`text` with control characters, lone surrogates and direction marks written as escapes."""
    def escape(char: str) -> str:
        if lines and char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp"):
            return char
        return " " if char in "\n\t\r" else f"\\u{ord(char):04x}"

    return text if text.isascii() and text.isprintable() else "".join(map(escape, text))


def checks_version(exercises: Sequence[Exercise]) -> str:
    """Twelve hexadecimal digits that change when a check of these exercises does."""
    return hashlib.sha256(" ".join(f"{exercise.id}:{exercise.version}" for exercise in exercises).encode()).hexdigest()[:12]
