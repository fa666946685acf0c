"""The students of a class, from a list or from the tables that Moodle and Canvas write, and what each is known by."""
from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.classroom.submission import printable

COLUMNS = ("student", "sid", "id", "username", "email", "e-mail", "name")       # who the student is: the first that is there
FIRST, LAST = ("first name", "firstname"), ("surname", "last name", "lastname")
FULL = ("full name", "fullname")
MORE = ("id number", "email address", "sis user id", "sis login id", "login id", "identifier")
KNOWN = {*COLUMNS, *FIRST, *LAST, *FULL, *MORE}
CANVAS = {"sis user id", "sis login id", "section"}       # beside "student" and "id"


@dataclass(frozen=True)
class Person:
    """One student: the name in every report, and all that folders and files may call them.

    number: what Canvas (its ID) or Moodle ("Participant 123") puts into the names of the files it hands out.
    """

    student: str
    keys: frozenset[str]
    number: str = ""
    short: frozenset[str] = frozenset()                   # the name in letters and digits alone, as Canvas writes it


@dataclass
class Roster:
    """The students of a class; empty, it knows nobody. `header` and `rows` are the table as it was read, and `owners` the
    student of each row, None for a row of none."""

    people: list[Person] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)

    @property
    def students(self) -> list[str]:
        """Their names, as every report has them."""
        return [one.student for one in self.people]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, by its name in small letters."""
        small = [cell.strip().casefold() for cell in self.header]
        return next((small.index(name) for name in names if name in small), None)

    def __bool__(self) -> bool:
        return bool(self.people)

    def find(self, name: str) -> str | None:
        """The student with this name, number or address; None if there is none. Raises ValueError if there are more."""
        key = folded(name)
        return self.only([one for one in self.people if key in one.keys], name)

    def handed_out(self, name: str, number: str) -> str | None:
        """The student of a file that Moodle or Canvas handed out under this name and number. Raises ValueError if these
        speak of two, or may speak of more than one."""
        by_number = self.only([one for one in self.people if one.number and one.number == number], number)
        named = [one for one in self.people if folded(name) in one.keys or letters(name) in one.short]
        if by_number and named and by_number not in [one.student for one in named]:
            raise ValueError(f"{name} with the number {number} is {named[0].student} by name and {by_number} by number on "
                             "the roster; is it the roster of this class?")
        return by_number or self.only(named, name)

    def only(self, people: Sequence[Person], name: str) -> str | None:
        """The one student there is, or None."""
        if len(people) > 1:
            raise ValueError(f"{printable(name)} may be {' or '.join(one.student for one in people)}: the roster does not tell "
                             "which. Put a number or an address that tells them apart into the names of the files")
        return people[0].student if people else None


def spaced(text: str) -> str:
    """The text in one form of Unicode, one blank between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def folded(text: str) -> str:
    """Text as it is compared: `spaced`, and in one case."""
    return spaced(text).casefold()


def letters(text: str) -> str:
    """The letters and digits alone, in one case."""
    return "".join(char for char in unicodedata.normalize("NFC", text).casefold() if char.isalnum())


def read_roster(path: str) -> Roster:
    """The students: one a line, or CSV with a column that says who they are. Raises ValueError if there is none, or one
    twice, or if it has several columns and none that is known."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; in a spreadsheet, save it as CSV in UTF-8") from None
    header, rows, column = table(text)
    if not column and any(len(row) > 1 for row in rows):
        raise ValueError(f"{path} has several columns, and its first line names none that is known. Call one student; "
                         "the tables that Moodle and Canvas write are read as they are")
    found = [person([cell.strip() for cell in row], column) for row in rows]
    real = [bool(one.student) and folded(one.student) != "points possible" for one in found]
    people = told_apart([one for one, is_one in zip(found, real, strict=True) if is_one], path)
    if not people:
        raise ValueError(f"{path} names no student; write one a line, or a column called student")
    names = iter(people)
    return Roster(people, header, rows, [next(names).student if is_one else None for is_one in real])


def table(text: str) -> tuple[list[str], list[list[str]], dict[str, int]]:
    """The header of a CSV table, the rows below it, and the place of each known column; without a known column there is
    no header."""
    best: tuple[list[str], list[list[str]], dict[str, int]] = ([], [], {})
    for separator in ",;\t":
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(map(str.strip, row))]
        header = [cell.strip().casefold() for cell in rows[0]] if rows else []
        found = {name: header.index(name) for name in KNOWN if name in header}
        if separator == "," or len(found) > max(1, len(best[2])):
            best = (rows[0], rows[1:], found) if found else ([], rows, found)
    return best


def person(row: list[str], column: dict[str, int]) -> Person:
    """The student of one row."""
    def cell(*names: str) -> str:
        place = next((column[name] for name in names if name in column), None)
        return row[place] if place is not None and place < len(row) else ""

    if not column:
        return Person(printable(row[0]), frozenset({folded(row[0])}))
    full = cell(*FULL) or " ".join(filter(None, (cell(*FIRST), cell(*LAST))))
    student = cell(*COLUMNS[:1]) or full or next((cell(name) for name in (*COLUMNS, "identifier") if cell(name)), "")
    last, comma, first = student.partition(",") if "student" in column else ("", "", "")
    names = {student, full, cell("name"), f"{first.strip()} {last.strip()}" if comma else ""}
    names |= {f"{cell(*LAST)} {cell(*FIRST)}" if full else ""}
    numbers = {cell(name) for name in ("sid", "id", "username", "email", "e-mail", *MORE)}
    numbers |= {one.partition("@")[0] for one in numbers if "@" in one}
    is_canvas = "student" in column and "id" in column and CANVAS & set(column)
    number = cell("id") if is_canvas else cell("identifier").casefold().removeprefix("participant").strip()
    return Person(printable(student), frozenset(map(folded, (names | numbers) - {"", " "})), number,
                  frozenset(map(letters, names)) - {""})


def told_apart(people: Sequence[Person], path: str) -> list[Person]:
    """The people, those of the same name with what else they are known by. Raises ValueError if nothing tells them apart."""
    found, twice = [], set()
    for one in people:
        same = [other for other in people if folded(other.student) == folded(one.student)]
        if len(same) > 1:
            own = sorted(one.keys - frozenset().union(*(other.keys for other in same if other is not one)))
            if not own:
                twice.add(one.student)
            name = one.number if one.number in own else next((key for key in own if "@" in key), own[0] if own else "")
            one = Person(f"{one.student} ({name})", one.keys | {folded(f"{one.student} ({name})")}, one.number, one.short)
        found.append(one)
    if twice:
        raise ValueError(f"{path} names {', '.join(sorted(twice))} more than once")
    return found
