"""Deadlines, late days and exceptions, read from two files of yours: `class.toml` and `marks.toml`.

A time without an offset, such as 2026-11-20T23:59:00, is in the file's `zone`; there is no other zone to guess.
"""
from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from course_lib.grading.bank import EXERCISES, of_chapter

LATE = {"days": 0, "penalty": 0, "most": None, "grace": 0}
MARK = {"student": str, "chapter": str, "exercise": str, "points": (int, float), "add": (int, float), "deadline": date,
        "submitted": date, "reason": str}
WAYS = ("points", "add", "deadline", "submitted")


@dataclass(frozen=True)
class Rules:
    """What `class.toml` says. deadlines: of each chapter. days: late days of each student that cost nothing, over all
    chapters. penalty: percent of a chapter's points for each further day. most: days after which a chapter gives
    nothing, None for no end. grace: minutes after a deadline that do not count."""

    deadlines: dict[str, datetime] = field(default_factory=dict)
    zone: tzinfo | None = None
    days: int = 0
    penalty: float | int = 0
    most: int | None = None
    grace: float | int = 0

    def days_late(self, handed_in: datetime, deadline: datetime) -> int:
        """Days that have begun since the deadline; 0 within it and its grace."""
        over = handed_in.astimezone(timezone.utc) - deadline.astimezone(timezone.utc)      # in one zone clocks may jump
        over -= timedelta(minutes=self.grace)
        return max(0, -(-over // timedelta(days=1)))


@dataclass(frozen=True)
class Exemption:
    """One entry of `marks.toml`: for one student something else than the rules say, with the reason."""

    student: str
    reason: str
    chapter: str = ""
    exercise: str = ""
    points: float | int | None = None
    add: float | int | None = None
    deadline: datetime | None = None
    submitted: datetime | None = None


def read_rules(path: str) -> Rules:
    """The rules in a file. Raises ValueError, with the file's name, for what is not understood."""
    data = toml(path)
    unknown(data, ("zone", "deadlines", "late"), path)
    late = {**LATE, **table(data, "late", path)}
    unknown(late, LATE, f"[late] in {path}")
    for name, value in late.items():
        if not (value is None and name == "most") and (type(value) not in (int, float) or value < 0 or
                                                       name in ("days", "most") and type(value) is not int):
            raise ValueError(f"{name} under [late] in {path} is {value!r}; it is a number from 0"
                             f"{', a whole one' if name in ('days', 'most') else ''}")
    if late["penalty"] > 100:
        raise ValueError(f"penalty under [late] in {path} is {late['penalty']}; it is a percentage, 100 at most")
    zone = zone_of(data.get("zone"), path)
    deadlines = {chapter(name, path): moment(value, zone, f"the deadline of chapter {name} in {path}")
                 for name, value in table(data, "deadlines", path).items()}
    if not deadlines:
        raise ValueError(f'{path} has no deadline; expected a table [deadlines] with lines like "13" = '
                         '2026-11-20T23:59:00')
    return Rules(deadlines, zone, **late)


def read_marks(path: str, students: Sequence[str], zone: tzinfo | None = None) -> list[Exemption]:
    """The entries `[[mark]]` of a file. Raises ValueError, with the file's name, for one that is not understood, that
    gives no reason, or that names nobody of these students."""
    data = toml(path)
    unknown(data, ("mark",), path)
    entries = data.get("mark", [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise ValueError(f"mark in {path} is no list of entries; expected [[mark]] above each")
    return [entry(one, f"entry {number} of {path}", students, zone) for number, one in enumerate(entries, 1)]


def entry(data: dict[str, Any], where: str, students: Sequence[str], zone: tzinfo | None) -> Exemption:
    """One entry, checked."""
    unknown(data, MARK, where)
    for name, value in data.items():
        if not isinstance(value, MARK[name]) or isinstance(value, bool):
            raise ValueError(f"{name} in {where} is {value!r}; expected {said(MARK[name])}")
    for name in ("student", "reason"):
        if not data.get(name, "").strip():
            raise ValueError(f"{where} has no {name}; each names its student and says why")
    if data["student"] not in students:
        near = difflib.get_close_matches(data["student"], students, 1)
        raise ValueError(f"{where} names {data['student']}, who is not in this "
                         f"class{f'; did you mean {near[0]}' * bool(near)}")
    ways = [name for name in WAYS if name in data]
    if len(ways) != 1:
        raise ValueError(f"{where} has {' and '.join(ways) or 'nothing to change'}; expected one of {', '.join(WAYS)}")
    needed = {"points": "exercise", "deadline": "chapter", "submitted": "chapter"}.get(ways[0])
    if needed and needed not in data:
        raise ValueError(f"{where} has {ways[0]}; expected {needed} beside it")
    found = dict(data)
    if "chapter" in found:
        found["chapter"] = chapter(found["chapter"], where)
    if "exercise" in found:
        if found["exercise"] not in EXERCISES:
            near = difflib.get_close_matches(found["exercise"], EXERCISES, 1)
            raise ValueError(f"{where}: there is no exercise "
                             f"{found['exercise']}{f'; did you mean {near[0]}' * bool(near)}")
        if not 0 <= found.get("points", 0) <= EXERCISES[found["exercise"]].possible:
            raise ValueError(f"points in {where} is {found['points']}; {found['exercise']} gives 0 to "
                             f"{EXERCISES[found['exercise']].possible}")
    for name in ("deadline", "submitted"):
        if name in found:
            found[name] = moment(found[name], zone, f"{name} in {where}")
    return Exemption(**found)


def toml(path: str) -> dict[str, Any]:
    """The content of a TOML file. Raises ValueError if it is none, or if this Python is too old to read one."""
    try:
        import tomllib
    except ImportError:
        raise ValueError(f"{path} is read by Python 3.11 and newer") from None
    try:
        return tomllib.loads(Path(path).read_text("utf-8-sig"))
    except ValueError as problem:                        # not UTF-8, or not TOML
        raise ValueError(f"{path} is not TOML: {problem}") from None


def unknown(data: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raises ValueError for a name that means nothing: a typing error would be a rule that does not hold."""
    for name in data:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), 1)
            raise ValueError(f"{where} has {name!r}; {'did you mean' if near else 'expected'} "
                             f"{', '.join(near or known)}")


def table(data: dict[str, Any], name: str, path: str) -> dict[str, Any]:
    """A table of the file, empty if it is not there."""
    found = data.get(name, {})
    if not isinstance(found, dict):
        raise ValueError(f"{name} in {path} is {found!r}; expected a table [{name}]")
    return found


def zone_of(name: Any, path: str) -> tzinfo | None:
    """The zone of this name; None if none is said."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise ValueError(f"zone in {path} is {name!r}; expected a name like Europe/Berlin or UTC") from None


def chapter(name: str, where: str) -> str:
    """"13", also of "3" for "03". Raises ValueError if there is none."""
    number = name.strip().zfill(2)
    if not of_chapter(number):
        raise ValueError(f"{where} names chapter {name}, which has no exercises")
    return number


def moment(value: Any, zone: tzinfo | None, what: str) -> datetime:
    """A point in time; a date alone is the end of that day. Raises ValueError without an offset and a zone."""
    if type(value) is date:
        value = datetime.combine(value, time(23, 59, 59))
    if not isinstance(value, datetime):
        raise ValueError(f"{what} is {value!r}; expected a time like 2026-11-20T23:59:00")
    if value.tzinfo is None and zone is None:
        raise ValueError(f"{what} has no offset, and there is no zone: write zone = \"Europe/Berlin\" above it, or "
                         "2026-11-20T23:59:00+01:00")
    return value if value.tzinfo else value.replace(tzinfo=zone)


def said(kind: Any) -> str:
    """A type in words."""
    return {str: "a text", date: "a time like 2026-11-20T23:59:00"}.get(kind, "a number")
