"""The students of a class, from a list or from the tables that Moodle and Canvas write, and the names and numbers of each."""
import csv
import io
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from course_lib.grading.classroom.grading import printable

# The titles of columns in the tables of Moodle and Canvas, in English, German, French and Spanish
TITLES = json.loads(Path(__file__).with_name("roster_titles.json").read_text("utf-8"))
TITLE = {title: name for name, titles in TITLES.items() for title in titles}
STUDENT = ("student", "full name", "sid", "id", "username", "email", "name", "identifier")      # the student: the first column of these
NUMBERS = ("sid", "id", "username", "email", "id number", "sis user id", "sis login id", "login id", "identifier")
PARTICIPANT = re.compile(r"(?:participante?|teilnehmer/in)\s*(\d+)", re.I)          # what Moodle writes in place of a name
POINTS = ("points possible", "mögliche punkte", "points possibles", "puntos posibles")        # a row of Canvas' gradebook


@dataclass(frozen=True)
class Person:
    """One student: the name in every report, and all names that folders and files may use."""

    student: str
    keys: frozenset[str]
    number: str = ""                 # what Canvas (its ID) or Moodle ("Participant 123") puts into the names of the files it hands out


@dataclass
class Roster:
    """The students of a class. `owners` has the student of each row of the table, or None, `columns` the place of each known one."""

    people: list[Person] = field(default_factory=list)
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)

    @property
    def students(self) -> list[str]:
        return [person.student for person in self.people]

    def __bool__(self) -> bool:
        return bool(self.people)

    def find(self, name: str) -> str | None:
        """The student with this name, number or address; None if there is none. Raises ValueError if there are more."""
        key = fold(name)
        return self.single([person for person in self.people if key in person.keys], name)

    def address(self, student: str) -> str:
        """The e-mail address of a student; empty if the roster has none."""
        return next((key for person in self.people if person.student == student for key in sorted(person.keys) if "@" in key), "")

    def find_download(self, name: str, number: str) -> str | None:
        """The student of a download with this name and number. Raises ValueError if these speak of two, or may speak of more."""
        by_number = self.single([person for person in self.people if person.number and person.number == number], number)
        named = [person for person in self.people if fold(name) in person.keys]
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


def read_roster(path: str) -> Roster:
    """The students: one a line, or CSV with a column that says who they are. Raises ValueError for no student, or one twice."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; in a spreadsheet, save it as CSV in UTF-8") from None
    header, rows, column = parse_table(text)
    if header and not column.keys() & {*STUDENT} and not {"first name", "surname"} <= column.keys():
        raise ValueError(f"{path} has several columns, and none is known to name the students: {', '.join(header)}. Call it \"student\"; the "
                         "tables that Moodle and Canvas write are read as they are")
    parsed = [parse_person([cell.strip() for cell in row], column) for row in rows]
    places = [place for place, person in enumerate(parsed) if person.student and fold(person.student) not in POINTS]
    people = dict(zip(places, disambiguate([parsed[place] for place in places], path), strict=True))
    if not people:
        raise ValueError(f"{path} names no student; write one a line, or a column called student")
    return Roster(list(people.values()), header, rows, [people[place].student if place in people else None for place in range(len(rows))], column)


def parse_table(text: str) -> tuple[list[str], list[list[str]], dict[str, int]]:
    """The header, the rows, and the place of each known column, with the separator that gives most of these; a list has no header."""
    header, rows, best = [], [], {}
    for separator in ",;\t":
        table = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if any(map(str.strip, row))]
        titles = [TITLE.get(fold(cell).replace("\u2019", "'")) for cell in table[0]] if table else []
        places = {name: titles.index(name) for name in titles if name}
        several = len(titles) > 1 and len({len(row) for row in table}) == 1          # of which none may be known
        if len(places) > len(best) or several and not best:
            header, rows, best = table[0], table[1:], places
        elif not header:
            rows = rows or table
    place = best.get("id", len(header))
    if "identifier" not in best and any(len(row) > place and PARTICIPANT.fullmatch(row[place].strip()) for row in rows):
        best["identifier"] = best.pop("id")              # as a German Moodle calls it
    return header, rows, best


def parse_person(row: list[str], column: dict[str, int]) -> Person:
    """The student of one row."""
    cells = {name: row[place] for name, place in column.items() if place < len(row) and row[place]} if column else {"student": row[0]}
    names = [cells[name] for name in ("first name", "surname") if name in cells]
    cells.setdefault("full name", " ".join(names))
    student = next((cells[name] for name in STUDENT if cells.get(name)), "")
    last, _, first = student.partition(",") if "student" in column else ("", "", "")
    keys = {cells.get(name, "") for name in (*STUDENT, *NUMBERS)} | {" ".join(reversed(names)), f"{first.strip()} {last.strip()}"}
    keys |= {key.partition("@")[0] for key in keys}
    participant = PARTICIPANT.fullmatch(cells.get("identifier", ""))
    number = participant[1] if participant else cells.get("id", "") if "student" in column and "section" in column else ""      # Canvas' ID
    return Person(printable(student), frozenset(map(fold, keys)) - {""}, number)


def disambiguate(people: Sequence[Person], path: str) -> list[Person]:
    """The people, those of the same name with another name or number behind it. Raises ValueError if they have none."""
    result, twice = [], set()
    for person in people:
        same = [other for other in people if fold(other.student) == fold(person.student)]
        if len(same) > 1:
            own = sorted(person.keys.difference(*(other.keys for other in same if other is not person)), key=lambda key: "@" not in key)
            twice |= set() if own else {person.student}
            student = f"{person.student} ({own[0] if own else ''})"
            person = replace(person, student=student, keys=person.keys | {fold(student)})
        result.append(person)
    if twice:
        raise ValueError(f"{path} names {', '.join(sorted(twice))} more than once")
    return result
