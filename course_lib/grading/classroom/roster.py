"""The students of a class, from a list or from the tables that Moodle and Canvas write, and the names and numbers of each."""
from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.classroom.grading import printable

# The titles of columns in the tables of Moodle and Canvas, in English, German, French and Spanish
TITLES = json.loads(Path(__file__).with_name("roster_titles.json").read_text("utf-8"))
TITLE = {title: name for name, titles in TITLES.items() for title in titles}
STUDENT = ("student", "sid", "id", "username", "email", "name")      # the student: the first column of these
NUMBERS = ("sid", "id", "username", "email", "id number", "sis user id", "sis login id", "login id", "identifier")
CANVAS = {"sis user id", "sis login id", "section"}       # beside "student" and "id"
PARTICIPANT = re.compile(r"(?:participante?|teilnehmer/in)\s*(\d+)", re.I)          # what Moodle writes in place of a name
POINTS = ("points possible", "mögliche punkte", "points possibles", "puntos posibles")        # a row of Canvas' gradebook


@dataclass(frozen=True)
class Person:
    """One student: the name in every report, and all names that folders and files may use."""

    student: str
    keys: frozenset[str]
    number: str = ""                 # what Canvas (its ID) or Moodle ("Participant 123") puts into the names of the files it hands out
    short: frozenset[str] = frozenset()                   # the name in letters and digits alone, as Canvas writes it


@dataclass
class Roster:
    """The students of a class. `header` and `rows` are the table as it was read, `owners` the student of each row, None for a row of
    none, and `columns` the place of each column that is known."""

    people: list[Person] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)

    @property
    def students(self) -> list[str]:
        return [person.student for person in self.people]

    def column(self, *names: str) -> int | None:
        """The place of the first of these columns, by its English title in small letters."""
        return next((self.columns[name] for name in names if name in self.columns), None)

    def __bool__(self) -> bool:
        return bool(self.people)

    def address(self, student: str) -> str:
        """The student's address of e-mail, if the roster has one."""
        keys = (key for person in self.people if person.student == student for key in sorted(person.keys))
        return next((key for key in keys if "@" in key), "")

    def find(self, name: str) -> str | None:
        """The student with this name, number or address; None if there is none. Raises ValueError if there are more."""
        key = fold(name)
        return self.single([person for person in self.people if key in person.keys], name)

    def has_number(self, number: str) -> bool:
        """Whether this is a student's number on the platform."""
        return any(person.number == number for person in self.people)

    def find_download(self, name: str, number: str) -> str | None:
        """The student of a file that Moodle or Canvas handed out under this name and number, if it wrote one. Raises ValueError if these
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
    """The letters, with their marks, and the digits alone, in one case."""
    return "".join(char for char in unicodedata.normalize("NFC", text).casefold() if char.isalnum() or unicodedata.category(char)[0] == "M")


def read_roster(path: str, columns: Mapping[str, str] = {}) -> Roster:
    """The students: one a line, or CSV with a column that says who they are; `columns` maps known titles to those of this table.
    Raises ValueError if there is none, or one twice, or if it has several columns and none that is known."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; in a spreadsheet, save it as CSV in UTF-8") from None
    header, rows, column = parse_table(text, {fold(title): name for name, title in columns.items()})
    if missing := [title for title in columns.values() if fold(title) not in map(fold, header)]:
        raise ValueError(f"{path} has no column {missing[0]}; it has {', '.join(header) or 'none'}")
    if header and not column.keys() & {*STUDENT, "full name", "identifier"} and not {"first name", "surname"} <= column.keys():
        raise ValueError(f"{path} has several columns, and none is known to name the students: {', '.join(header)}. Say which does with "
                         f"--columns \"student={header[0]}\"; the tables that Moodle and Canvas write are read as they are")
    parsed = [parse_person([cell.strip() for cell in row], column) for row in rows]
    places = [place for place, person in enumerate(parsed) if person.student and fold(person.student) not in POINTS]
    people = dict(zip(places, disambiguate([parsed[place] for place in places], path), strict=True))
    if not people:
        raise ValueError(f"{path} names no student; write one a line, or a column called student")
    return Roster(list(people.values()), header, rows, [people[place].student if place in people else None for place in range(len(rows))], column)


def parse_table(text: str, own: Mapping[str, str]) -> tuple[list[str], list[list[str]], dict[str, int]]:
    """The header of a table, the rows below it, and the place of each known column; `own` are titles that are known beside TITLE. A
    list of students, one a line, has no header."""
    first, _, rest = text.partition("\n")
    given = re.fullmatch(r"sep=(.)", first.strip("\r\"")) or re.fullmatch(r"sep=(\t)", first)        # as Excel writes it
    tables = [[row for row in csv.reader(io.StringIO(rest if given else text, newline=""), delimiter=separator) if any(map(str.strip, row))]
              for separator in (given[1] if given else ",;\t|")]
    header, rows, best = [], tables[0], {}
    for table in tables:
        titles = [fold(cell).replace("\u2019", "'") for cell in table[0]] if table else []
        places: dict[str, int] = {}
        for place, title in enumerate(titles):
            if name := own.get(title) or TITLE.get(title):
                places.setdefault(name, place)
        regular = len({len(row) for row in table}) == 1
        if len(places) > max(len(best), 1) or len(places) > len(best) and (regular or table is tables[0]):
            header, rows, best = table[0], table[1:], places
        elif not best and not header and table and max(map(len, table)) > 1 and (regular or table is tables[0]):
            header, rows = table[0], table[1:]           # of several columns, none of which is known
    place = best.get("id", len(header))
    if "identifier" not in best and any(len(row) > place and PARTICIPANT.fullmatch(row[place].strip()) for row in rows):
        best["identifier"] = best.pop("id")              # as a German Moodle calls it
    return header, rows, best


def parse_person(row: list[str], column: dict[str, int]) -> Person:
    """The student of one row."""
    def cell(name: str) -> str:
        return row[column[name]] if column.get(name, len(row)) < len(row) else ""

    if not column:
        return Person(printable(row[0]), frozenset({fold(row[0])}))
    full = cell("full name") or " ".join(filter(None, (cell("first name"), cell("surname"))))
    student = cell("student") or full or next((cell(name) for name in (*STUDENT, "identifier") if cell(name)), "")
    last, comma, first = student.partition(",") if "student" in column else ("", "", "")
    names = {student, full, cell("name"), f"{first.strip()} {last.strip()}" if comma else "", f"{cell('surname')} {cell('first name')}" if full else ""}
    numbers = {cell(name) for name in NUMBERS}
    numbers |= {number.partition("@")[0] for number in numbers if "@" in number}
    is_canvas = "student" in column and "id" in column and CANVAS & set(column)
    participant = PARTICIPANT.fullmatch(cell("identifier"))
    number = cell("id") if is_canvas else participant[1] if participant else ""
    return Person(printable(student), frozenset(map(fold, (names | numbers) - {"", " "})), number, frozenset(map(letters, names)) - {""})


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
