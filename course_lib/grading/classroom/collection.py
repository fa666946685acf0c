"""Collect submissions, from folders, zip files and downloads of Moodle or Canvas, each with its student; one who is not clear is an error."""
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_lib.grading.classroom.grading import NAMES, printable
from course_lib.grading.classroom.roster import Roster, normalize_spaces
from course_lib.grading.submissions import files
from course_lib.grading.submissions.files import Unreadable, is_archive, members, split_path

MOODLE = re.compile(r"^(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_|$)")
CANVAS = re.compile(r"^(?P<name>[^_]+)(?:_LATE)?_(?P<number>\d+)_\d+_.")
IGNORED = ("__MACOSX", "__pycache__", "node_modules", "site-packages")      # folders that tools make
KINDS = "a notebook (.ipynb), a script (.py), or a zip file of these"


@dataclass(frozen=True)
class Submission:
    """One file, perhaps in an archive, and its student; `download` is the name that Moodle or Canvas gave it or its folder."""

    student: str
    path: str
    download: str = ""


@dataclass(frozen=True)
class Collected:
    """The submissions; the files without a notebook among them; the submissions whose student follows from the beginning of their name alone."""

    submissions: list[Submission] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    by_prefix: list[Submission] = field(default_factory=list)


@dataclass(frozen=True)
class File:
    """A file: the names of its folders and its own, outside of a student's archive; its path; whether it may hold a notebook."""

    names: tuple[str, ...]
    path: str
    readable: bool


def collect(paths: Sequence[str], roster: Roster | None = None) -> Collected:
    """The notebooks at these paths and below them, each once, with its student: the name that Moodle or Canvas wrote, the one whom the roster
    knows by a folder, the file's name or its beginning, or the first folder below the one that all paths share. Raises ValueError if a path
    does not exist, if there is no notebook, or if a student cannot be told from another."""
    def display(file: File) -> str:                      # as the command line has it: absolute, or from the folder of now
        return file.path if any(map(os.path.isabs, paths)) else os.path.relpath(file.path)

    roster, root = roster or Roster(), common_folder(paths)
    files = list_files(paths, root)
    notebooks, others = [file for file in files if file.readable], [file for file in files if not file.readable]
    if not notebooks:
        raise ValueError(f"no notebook in {', '.join(paths)}: looked for {KINDS}")
    if not roster:
        check_one_class(root, notebooks)
    given = (Path(root).stem if is_archive(root) else os.path.basename(root)) if root in map(os.path.abspath, paths) else ""
    empty = folders_without_notebook(notebooks, others)
    students = disambiguate([(file, *student_of(file, given, roster)) for file in [*notebooks, *empty]])
    known = {student for _, student in students[:len(notebooks)]}
    if roster and not known & set(roster.students):
        raise ValueError(f"no notebook belongs to a student of the roster: it names {roster.students[0]}, and the first notebook is of "
                         f"{students[0][1]}")
    submissions = {file: Submission(student, display(file), file.names[0] if match_download(file, roster) else "")
                   for i, (file, student) in enumerate(students)
                   if i < len(notebooks) or student not in known and (not roster or student in roster.students)}
    return Collected(sorted(submissions.values(), key=lambda item: os.path.abspath(item.path)),
                     [display(file) for file in others if len(file.names) == 1 and file not in empty],
                     [item for file, item in submissions.items() if item.student in roster.students
                      and not any(map(roster.find, possible_names(file, given))) and not match_download(file, roster)])


def common_folder(paths: Sequence[str]) -> str:
    """The folder or archive that all paths have in common. Raises ValueError if one of them does not exist."""
    missing = [path for path in paths if not os.path.lexists(path) and not split_path(path)]
    if missing:
        raise ValueError(f"there is no {' and no '.join(missing)}")
    whole = {os.path.abspath(path) for path in paths}
    root = os.path.commonpath(whole)
    return os.path.dirname(root) if root in whole and not os.path.isdir(root) and not split_path(root) else root


def list_files(paths: Sequence[str], root: str) -> list[File]:
    """The files at these paths and below them, in order. A folder that was packed as it stood is left out of the names."""
    by_path = {file.path: file for path in map(os.path.abspath, paths) for file in walk(path, root)}
    files = [by_path[path] for path in sorted(by_path)]
    tops = {file.names[0] if len(file.names) > 1 else "" for file in files}
    packed = is_archive(root) and tops == {Path(root).stem}
    return [replace(file, names=file.names[1:]) for file in files] if packed else files


def folders_without_notebook(notebooks: Sequence[File], others: Sequence[File]) -> list[File]:
    """The folders without a notebook in a class that handed in by folders: each is a student too."""
    if any(len(file.names) == 1 and not is_archive(file.names[0]) for file in notebooks):
        return []
    tops, folders = {file.names[0] for file in notebooks}, {}
    for file in others:
        deep = len(file.names) - 1
        if file.names[0] not in tops and (deep or os.path.isdir(file.path)):
            folders[file.names[0]] = File(file.names[:1], str(Path(file.path).parents[deep - 1]) if deep else file.path, False)
    return list(folders.values())


def walk(path: str, root: str) -> Iterator[File]:
    """The files at and below a path; empty folders too, and those that are too deep or closed."""
    names = Path(os.path.relpath(path, root)).parts if path != root else ()
    inside = split_path(path)
    if inside and (inside[1] or is_archive(path)):
        yield from walk_archive(path, names)
    elif os.path.isdir(path) and (not os.path.islink(path) or not names):
        try:
            entries = sorted(entry for entry in os.listdir(path) if not entry.startswith(".") and entry not in IGNORED)
        except PermissionError:
            entries = []
        if names and (not entries or len(names) > files.PARTS):
            yield File(names, path, False)
            return
        for entry in entries:
            yield from walk(os.path.join(path, entry), root)
    else:
        yield File(names, path, is_notebook(path) or is_archive(path))


def walk_archive(path: str, names: tuple[str, ...]) -> Iterator[File]:
    """The files in an archive. One that was handed in is its student's as a whole; in that of the class the names inside tell the students."""
    try:
        inside = [(tuple(name.split("/")), os.path.join(path, *name.split("/"))) for name in members(path)]
    except Unreadable as problem:
        if not names:
            raise ValueError(f"{path}: {problem}") from None
        inside = []
    inside = [(parts, place) for parts, place in inside if not any(name.startswith(".") or name in IGNORED for name in parts)]
    if not names:
        for parts, place in inside:
            yield from walk_archive(place, parts) if is_archive(place) else [File(parts, place, is_notebook(place))]
        return
    notebooks = [place for _, place in inside if is_notebook(place)]
    if len(notebooks) > files.MOST:                   # perhaps with a whole library of scripts
        notebooks = [place for place in notebooks if not place.lower().endswith(".py")]
    whole = [path] if not notebooks or len(notebooks) > files.MOST else notebooks         # to be reported as unreadable
    yield from (File(names, place, True) for place in whole)


def is_notebook(path: str) -> bool:
    """Whether the file is a notebook or a script by its name."""
    return path.lower().endswith((".ipynb", ".py"))


def check_one_class(root: str, files: Sequence[File]) -> None:
    """Raises ValueError if all is in one folder that looks like a whole class: as one student's, it would be one mark."""
    top = files[0].names[0]
    if len({file.names[0] for file in files}) != 1 or len(files[0].names) == 1 or MOODLE.match(top):
        return
    folders = {file.names[1] for file in files if len(file.names) > 2}
    if len(folders) > 1 or any(MOODLE.match(name) for file in files for name in file.names[1:2]):
        raise ValueError(f"all notebooks in {root} lie in one folder of it, {top}, and in folders of that. If it holds the class, name "
                         f"it: {os.path.join(root, top)}. If it is one student's, name the student in a --roster")


def match_download(file: File, roster: Roster) -> re.Match | None:
    """The name and the number that Moodle or Canvas wrote; many names look like those of Canvas, so the roster must have the number."""
    match = CANVAS.match(file.names[0]) if len(file.names) == 1 else None
    return MOODLE.match(file.names[0]) or (match if match and match["number"] in {person.number for person in roster.people} else None)


def student_of(file: File, given: str, roster: Roster) -> tuple[str, str]:
    """The student of a file, and Moodle's number beside the name; `given` is the folder or archive of the command line, if it was one."""
    if download := match_download(file, roster):
        student = roster.find_download(download["name"], download["number"])
        return (student, "") if student else (download["name"], download["number"])
    folders, stem = file.names[:-1], Path(file.names[-1]).stem
    prefixes = [stem[:i] for i in reversed(range(len(stem))) if stem[i] in "_- "]      # "mo_lee" and "mo" of "mo_lee_03"
    for candidate in [*possible_names(file, given), *prefixes]:
        if student := roster.find(candidate):
            return student, ""
    if not folders and given and stem in NAMES:
        return given, ""                                # the folder of one student, with a file called as the chapter
    return folders[0] if folders else stem, ""


def possible_names(file: File, given: str) -> list[str]:
    """What may be the name of a file's student: its folders, its own name, the folder or archive that was named."""
    return [*file.names[:-1], Path(file.names[-1]).stem, *([given] if given else [])]


def disambiguate(files: Sequence[tuple[File, str, str]]) -> list[tuple[File, str]]:
    """Each file with its student's name as reports show it. Raises ValueError if two names are the same but for blanks."""
    people = Counter(name for name, _ in {(name, number) for _, name, number in files})
    named = [(file, f"{name} ({number})" if number and people[name] > 1 else name) for file, name, number in files]
    alike: dict[str, set[str]] = {}
    for _, student in named:
        alike.setdefault(normalize_spaces(printable(student)), set()).add(student)
    for names in alike.values():
        if len(names) > 1:
            raise ValueError(f"{' and '.join(map(ascii, sorted(names)))} are called the same but for blanks, or for how an accent is "
                             "stored: rename one")
    return [(file, printable(student)) for file, student in named]
