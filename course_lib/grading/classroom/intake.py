"""Who handed in what: the notebooks below some paths, each with its student, before anything is graded.

A submission lies in a folder, in an archive, or in what Moodle or Canvas gives an instructor to download. Its student is
known, or there is an error: nobody's work is guessed to be somebody else's.
"""
from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.classroom.asked import chapter_named
from course_lib.grading.classroom.roster import Roster, spaced
from course_lib.grading.classroom.submission import printable
from course_lib.grading.reading import archives
from course_lib.grading.reading.archives import is_archive, without_suffix
from course_lib.grading.reading.files import Unreadable

MOODLE = re.compile(r"^(?P<name>.+)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)(?:_|$)")
CANVAS = re.compile(r"^(?P<name>[^\W_]+)(?:_LATE)?_(?P<number>\d{3,})_(?P<file>\d{3,})_.")
OURS = ("__MACOSX", "__pycache__", "node_modules", "site-packages")      # folders that no student made
KINDS = "a notebook (.ipynb), a script (.py), or a zip or tar file of these"


@dataclass(frozen=True)
class Submission:
    """One file and the student it belongs to. The path may lead into an archive."""

    student: str
    path: str


@dataclass(frozen=True)
class Handed:
    """What was handed in; the files among it that hold no notebook; those whose student is told by the beginning of their
    name alone."""

    submissions: list[Submission] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    by_beginning: list[Submission] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """A file: the names on the way to it that may say whose it is (what a student's own archive holds says nothing), and
    its path."""

    names: tuple[str, ...]
    path: str


def collect(paths: Sequence[str], roster: Roster | None = None) -> Handed:
    """The notebooks at these paths and below them, each with its student; a file that is named twice once.

    Several paths are taken as if the folder that they have in common had been named. The student is the first folder
    below it, or the file's name where there is none; the name that Moodle or Canvas wrote there; with a roster, the one
    who is known by the name of a folder on the way, of the file, or by the beginning of it.

    Raises ValueError if a path does not exist, if there is no notebook, or if a student cannot be told from another.
    """
    roster, root = roster or Roster(), common(paths)
    notebooks, others = below(paths, root)
    if not notebooks:
        raise ValueError(f"no notebook in {', '.join(paths)}: looked for {KINDS}")
    if not roster:
        check_one_class(root, notebooks)
    named = os.path.basename(root) if root in map(os.path.abspath, paths) else ""
    canvas = Counter(file["file"] for name in {one.names[0] for one in notebooks} if (file := CANVAS.match(name)))
    bare = [] if roster else without_notebook(notebooks, others)
    students = told_apart([(one, *whose(one, named, roster, canvas)) for one in [*notebooks, *bare]])
    known = {student for _, student in students[:len(notebooks)]}
    if roster and not known & set(roster.students):
        raise ValueError(f"no notebook belongs to a student of the roster: it names {roster.students[0]}, and the first "
                         f"notebook is of {students[0][1]}")
    submissions = {one: Submission(student, shown(one.path, paths)) for i, (one, student) in enumerate(students)
                   if i < len(notebooks) or student not in known}
    return Handed(sorted(submissions.values(), key=lambda one: os.path.abspath(one.path)),
                  [shown(one.path, paths) for one in others if len(one.names) == 1 and one not in bare],
                  [found for one, found in submissions.items() if found.student in roster.students
                   and not any(map(roster.find, exact(one, named))) and not downloaded(one, canvas)])


def common(paths: Sequence[str]) -> str:
    """The folder or archive that all paths have in common. Raises ValueError if one of them does not exist."""
    gone = [path for path in paths if not os.path.lexists(path) and not archives.parted(path)]
    if gone:
        raise ValueError(f"there is no {' and no '.join(gone)}")
    whole = {os.path.abspath(path) for path in paths}
    root = os.path.commonpath(whole)
    return os.path.dirname(root) if root in whole and not os.path.isdir(root) and not archives.parted(root) else root


def below(paths: Sequence[str], root: str) -> tuple[list[Found], list[Found]]:
    """The files at these paths and below them: those that are or may hold notebooks, and the others, in order."""
    found = {one.path: (one, kind) for path in sorted(set(map(os.path.abspath, paths)))
             for one, kind in walk(path, root)}
    files = [found[path] for path in sorted(found)]
    if is_archive(root):
        files = without_top(root, files)
    return [one for one, kind in files if kind], [one for one, kind in files if not kind]


def without_notebook(notebooks: Sequence[Found], others: Sequence[Found]) -> list[Found]:
    """The folders without a notebook in a class that handed in by folders: each is a student too."""
    if any(len(one.names) == 1 and not is_archive(one.names[0]) for one in notebooks):
        return []
    mine, found = {one.names[0] for one in notebooks}, {}
    for one in others:
        deep = len(one.names) - 1
        if one.names[0] not in mine and (deep or os.path.isdir(one.path)):
            found[one.names[0]] = Found(one.names[:1], str(Path(one.path).parents[deep - 1]) if deep else one.path)
    return list(found.values())


def shown(path: str, paths: Sequence[str]) -> str:
    """The path as the command line has it: absolute, or from the folder of now."""
    return path if any(map(os.path.isabs, paths)) else os.path.relpath(path)


def walk(path: str, root: str) -> Iterator[tuple[Found, bool]]:
    """The files at and below a path, and whether each is a notebook or may hold one; empty folders with the others."""
    names = Path(os.path.relpath(path, root)).parts if path != root else ()
    inside = archives.parted(path)
    if inside and (inside[1] or is_archive(path)):
        yield from walk_archive(path, names)
    elif os.path.isdir(path) and (not os.path.islink(path) or not names):
        entries = sorted(entry for entry in os.listdir(path) if not entry.startswith(".") and entry not in OURS)
        if not entries and names:
            yield Found(names, path), False
        for entry in entries:
            yield from walk(os.path.join(path, entry), root)
    else:
        yield Found(names, path), is_notebook(path) or is_archive(path)


def walk_archive(path: str, names: tuple[str, ...]) -> Iterator[tuple[Found, bool]]:
    """The files in an archive, or in a folder in one. What was handed in is its student's with all that is in it, and
    holds a notebook: if it does not, that is what there is to say about it. In one that is the class itself the names
    inside tell the students."""
    try:
        inside = [(tuple(one.split("/")), os.path.join(path, *one.split("/"))) for one in archives.members(path)]
    except Unreadable as problem:
        if not names:
            raise ValueError(f"{path}: {problem}") from None
        inside = []
    inside = [(parts, place) for parts, place in inside if not any(one.startswith(".") or one in OURS for one in parts)]
    if not names:
        for parts, place in inside:
            if is_archive(place):
                yield from walk_archive(place, parts)
            else:
                yield Found(parts, place), is_notebook(place)
        return
    notebooks = [place for _, place in inside if is_notebook(place)]
    if len(notebooks) > archives.MOST:                   # with a whole library of scripts beside them, perhaps
        notebooks = [place for place in notebooks if not place.lower().endswith(".py")]
    if not notebooks or len(notebooks) > archives.MOST:
        yield Found(names, path), True                   # to be told that it cannot be read
    else:
        yield from ((Found(names, place), True) for place in notebooks)


def is_notebook(path: str) -> bool:
    """Whether the file is a notebook or a script by its name."""
    return path.lower().endswith((".ipynb", ".py"))


def without_top(root: str, found: Sequence[tuple[Found, bool]]) -> list[tuple[Found, bool]]:
    """Without the one folder that all of an archive lies in, if that is called as the archive is: a folder that was
    packed as it stood."""
    top = {one.names[0] if len(one.names) > 1 else "" for one, _ in found}
    if top != {without_suffix(os.path.basename(root))}:
        return list(found)
    return [(Found(one.names[1:], one.path), kind) for one, kind in found]


def check_one_class(root: str, found: Sequence[Found]) -> None:
    """Raises ValueError if all is in one folder that looks like a whole class: as one student's, it would be one mark."""
    tops = {one.names[0] for one in found}
    if len(tops) != 1 or len(found[0].names) == 1 or MOODLE.match(found[0].names[0]):
        return
    inner = [one.names[1] for one in found if len(one.names) > 1]
    folders = {one.names[1] for one in found if len(one.names) > 2}
    if len(folders) > 1 or any(MOODLE.match(name) or CANVAS.match(name) for name in inner):
        raise ValueError(f"all notebooks in {root} lie in one folder of it, {found[0].names[0]}, and in folders of that. If "
                         f"it holds the class, name it: {os.path.join(root, found[0].names[0])}. If it is one student's, name "
                         "the student in a --roster")


def downloaded(one: Found, canvas: Counter) -> re.Match | None:
    """The name and the number that Moodle or Canvas wrote, on the outside, where no student writes. `canvas` counts the
    numbers of files that Canvas would have written: it gives each one of its own."""
    found = CANVAS.match(one.names[0]) if len(one.names) == 1 else None
    return MOODLE.match(one.names[0]) or (found if found and canvas[found["file"]] < 2 else None)


def whose(one: Found, named: str, roster: Roster, canvas: Counter) -> tuple[str, str]:
    """The student of a file, and the number beside the name if Moodle or Canvas wrote one. `named` is the folder or the
    archive that was named on the command line, if it was one."""
    if download := downloaded(one, canvas):
        student = roster.handed_out(download["name"], download["number"])
        return (student, "") if student else (download["name"], download["number"])
    folders, stem = one.names[:-1], without_suffix(one.names[-1])
    for candidate in [*exact(one, named), *beginnings(stem)]:
        if student := roster.find(candidate):
            return student, ""
    if not folders and named and chapter_named(stem, whole=True):
        return without_suffix(named), ""                 # one student's folder, with a file called as the chapter
    return folders[0] if folders else stem, ""


def exact(one: Found, named: str) -> list[str]:
    """What may be the name of a file's student: the folders on the way to it, it, the folder or archive that was named."""
    return [*one.names[:-1], without_suffix(one.names[-1]), *([without_suffix(named)] if named else [])]


def told_apart(found: Sequence[tuple[Found, str, str]]) -> list[tuple[Found, str]]:
    """Each file with the name of its student as reports show it: with the number, where two have the same name. Raises
    ValueError if the names of two are the same but for blanks."""
    people = Counter(name for name, _ in {(name, number) for _, name, number in found})
    named = [(one, f"{name} ({number})" if number and people[name] > 1 else name) for one, name, number in found]
    alike: dict[str, set[str]] = {}
    for _, student in named:
        alike.setdefault(spaced(printable(student)), set()).add(student)
    for names in alike.values():
        if len(names) > 1:
            raise ValueError(f"{' and '.join(map(ascii, sorted(names)))} are called the same but for blanks, or for how an "
                             "accent is stored: rename one")
    return [(one, printable(student)) for one, student in named]


def beginnings(stem: str) -> Iterable[str]:
    """"mo_lee" and "mo" of "mo_lee_03": what stands before a separator, the longest first."""
    for i in reversed(range(len(stem))):
        if stem[i] in "_- ":
            yield stem[:i]
