"""The students of a class, from a list or from the tables that Moodle and Canvas write, and the names and numbers of each."""
from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.classroom.grading import printable

COLUMNS = ("student", "sid", "id", "username", "email", "e-mail", "name")       # the student: the first column of these
FIRST, LAST = ("first name", "firstname"), ("surname", "last name", "lastname")
FULL = ("full name", "fullname")
MORE = ("id number", "email address", "sis user id", "sis login id", "login id", "identifier")
KNOWN = {*COLUMNS, *FIRST, *LAST, *FULL, *MORE}
CANVAS = {"sis user id", "sis login id", "section"}       # beside "student" and "id"


@dataclass(frozen=True)
class Person:
    """One student: the name in every report, and all names that folders and files may use.

    number: what Canvas (its ID) or Moodle ("Participant 123") puts into the names of the files it hands out.
    """

    student: str
    keys: frozenset[str]
    number: str = ""
    short: frozenset[str] = frozenset()                   # the name in letters and digits alone, as Canvas writes it


@dataclass
class Roster:
    """The students of a class. `header` and `rows` are the table as it was read, and `owners` the
    student of each row, None for a row of none."""

    people: list[Person] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)

    @property
    def students(self) -> list[str]:
        """Their names, as every report has them."""
        return [person.student for person in self.people]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, by its name in small letters."""
        small = [cell.strip().casefold() for cell in self.header]
        return next((small.index(name) for name in names if name in small), None)

    def __bool__(self) -> bool:
        return bool(self.people)

    def find(self, name: str) -> str | None:
        """The student with this name, number or address; None if there is none. Raises ValueError if there are more."""
        key = fold(name)
        return self.single([person for person in self.people if key in person.keys], name)

    def find_download(self, name: str, number: str) -> str | None:
        """The student of a file that Moodle or Canvas handed out under this name and number. Raises ValueError if these
        speak of two, or may speak of more than one."""
        by_number = self.single([person for person in self.people if person.number and person.number == number], number)
        named = [person for person in self.people if fold(name) in person.keys or letters(name) in person.short]
        if by_number and named and by_number not in [person.student for person in named]:
            raise ValueError(f"{name} with the number {number} is {named[0].student} by name and {by_number} by number on "
                             "the roster; is it the roster of this class?")
        return by_number or self.single(named, name)

    def single(self, people: Sequence[Person], name: str) -> str | None:
        """The one student there is, or None."""
        if len(people) > 1:
            raise ValueError(f"{printable(name)} may be {' or '.join(person.student for person in people)}: the roster does not tell "
                             "which. Put a number or an address that tells them apart into the names of the files")
        return people[0].student if people else None


def normalize_spaces(text: str) -> str:
    """The text in one form of Unicode, one blank between words."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def fold(text: str) -> str:
    """Text as it is compared: `normalize_spaces`, and in one case."""
    return normalize_spaces(text).casefold()


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
    header, rows, column = parse_table(text)
    if not column and any(len(row) > 1 for row in rows):
        raise ValueError(f"{path} has several columns, and its first line names none that is known. Call one student; "
                         "the tables that Moodle and Canvas write are read as they are")
    people = [parse_person([cell.strip() for cell in row], column) for row in rows]
    real = [bool(person.student) and fold(person.student) != "points possible" for person in people]
    people = disambiguate([person for person, is_real in zip(people, real, strict=True) if is_real], path)
    if not people:
        raise ValueError(f"{path} names no student; write one a line, or a column called student")
    names = iter(people)
    return Roster(people, header, rows, [next(names).student if is_real else None for is_real in real])


def parse_table(text: str) -> tuple[list[str], list[list[str]], dict[str, int]]:
    """The header of a CSV table, the rows below it, and the place of each known column; without a known column there is
    no header."""
    best: tuple[list[str], list[list[str]], dict[str, int]] = ([], [], {})
    for separator in ",;\t":
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(map(str.strip, row))]
        header = [cell.strip().casefold() for cell in rows[0]] if rows else []
        columns = {name: header.index(name) for name in KNOWN if name in header}
        if separator == "," or len(columns) > max(1, len(best[2])):
            best = (rows[0], rows[1:], columns) if columns else ([], rows, columns)
    return best


def parse_person(row: list[str], column: dict[str, int]) -> Person:
    """The student of one row."""
    def cell(*names: str) -> str:
        place = next((column[name] for name in names if name in column), None)
        return row[place] if place is not None and place < len(row) else ""

    if not column:
        return Person(printable(row[0]), frozenset({fold(row[0])}))
    full = cell(*FULL) or " ".join(filter(None, (cell(*FIRST), cell(*LAST))))
    student = cell(*COLUMNS[:1]) or full or next((cell(name) for name in (*COLUMNS, "identifier") if cell(name)), "")
    last, comma, first = student.partition(",") if "student" in column else ("", "", "")
    names = {student, full, cell("name"), f"{first.strip()} {last.strip()}" if comma else ""}
    names |= {f"{cell(*LAST)} {cell(*FIRST)}" if full else ""}
    numbers = {cell(name) for name in ("sid", "id", "username", "email", "e-mail", *MORE)}
    numbers |= {number.partition("@")[0] for number in numbers if "@" in number}
    is_canvas = "student" in column and "id" in column and CANVAS & set(column)
    number = cell("id") if is_canvas else cell("identifier").casefold().removeprefix("participant").strip()
    return Person(printable(student), frozenset(map(fold, (names | numbers) - {"", " "})), number,
                  frozenset(map(letters, names)) - {""})


def disambiguate(people: Sequence[Person], path: str) -> list[Person]:
    """The people, those of the same name with another name or number behind it. Raises ValueError if they have none."""
    result, twice = [], set()
    for person in people:
        same = [other for other in people if fold(other.student) == fold(person.student)]
        if len(same) > 1:
            own = sorted(person.keys - frozenset().union(*(other.keys for other in same if other is not person)))
            if not own:
                twice.add(person.student)
            name = person.number if person.number in own else next((key for key in own if "@" in key), own[0] if own else "")
            student = f"{person.student} ({name})"
            person = Person(student, person.keys | {fold(student)}, person.number, person.short)
        result.append(person)
    if twice:
        raise ValueError(f"{path} names {', '.join(sorted(twice))} more than once")
    return result
