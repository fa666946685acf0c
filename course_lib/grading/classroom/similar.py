"""Answers of one class that look alike: the command that compares them, and what it writes.

What the exercises hand out is left out, and so is what many have. A pair is a question to two people, never a verdict.
"""
from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from course_lib.grading.classroom.fingerprints import fingerprints, grams, tokens
from course_lib.grading.classroom.outputs import put
from course_lib.grading.classroom.pairs import COMMON, NO_PROOF, STORED, THRESHOLD, Answers, Pair, pairs


def add_arguments(parser) -> None:
    """The options of `similar`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="as for grade")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--chapter", metavar="NN,NN", type=lambda text: text.split(","), help="compare the exercises of "
                                                                                            "these chapters")
    what.add_argument("--exercises", metavar="ID,ID", type=lambda text: text.split(","), help="compare these exercises")
    parser.add_argument("--roster", metavar="FILE", help="as for grade")
    parser.add_argument("--to", metavar="DIR", type=Path, required=True, help="gets index.html, a page for each pair "
                                                                              "and similar.csv. Nothing is stored "
                                                                              "elsewhere: delete it, and it is gone")
    parser.add_argument("--given", metavar="DIR", type=Path, default=Path("exercises"),
                        help="the notebooks that were handed out; what stands in them counts for nobody (default: "
                             "exercises)")
    parser.add_argument("--threshold", metavar="SHARE", type=float, default=THRESHOLD,
                        help=f"of the fingerprints of the smaller answers that a pair shares (default: {THRESHOLD})")
    parser.add_argument("--common", metavar="N", type=int, help="a fingerprint that more than N students have counts "
                                                                f"for nobody (default: {COMMON}, or a tenth of a class "
                                                                f"of more than {10 * COMMON})")


def run(args) -> int:
    """The command `similar`; returns its exit status."""
    from course_lib.grading.classroom import asked
    from course_lib.grading.classroom.intake import collect
    from course_lib.grading.classroom.roster import read_roster

    try:
        if not 0 < args.threshold <= 1:
            raise ValueError(f"--threshold is {args.threshold:g}; it is a share above 0, 1 at most")
        if args.common is not None and args.common < 2:
            raise ValueError(f"--common is {args.common}; it is 2 at least: two students make a pair")
        wanted = asked.of_args(args)
        handed = collect(args.paths, read_roster(args.roster) if args.roster else None)
        given = handed_out(args.given)
        people = answers_of(handed.submissions, wanted, given)
    except (OSError, KeyError, ValueError) as problem:
        print(f"similar: {problem.args[0] if isinstance(problem, KeyError) else problem}", file=sys.stderr)
        return 2
    found = pairs(people, args.threshold, args.common)
    write(args.to, found, len(people))
    for pair in found:
        print(f"{pair.share:4.0%}  {pair.one.student}  {pair.other.student}  "
              f"{', '.join(pair.shared) or 'the same file'}")
    print(f"{len(people)} students, {len(found)} pairs: {args.to / 'index.html'}")
    if not given:
        print(f"No notebook in {args.given}: what the exercises hand out counts as shared. --given names their "
              "folder.", file=sys.stderr)
    print(f"{NO_PROOF} {STORED}", file=sys.stderr)
    return 0


def handed_out(folder: Path) -> frozenset[int]:
    """The hashes of all that stands in the code cells of the notebooks in a folder."""
    from course_lib.grading.reading.extract import parse

    found: set[int] = set()
    for path in sorted(folder.glob("*.ipynb")):
        notebook = parse(path.read_bytes(), path.name)
        for one in notebook.statements:
            found.update(grams([token.text for token in tokens(one.text)]))
        found.update(grams([token.text for one in notebook.statements for token in tokens(one.text)]))
    return frozenset(found)


def answers_of(submissions: Sequence, wanted: Sequence | None, given: frozenset[int]) -> list[Answers]:
    """Each student's answers; of several to one exercise the longest. What cannot be read has none."""
    from course_lib.grading.classroom.submission import identified
    from course_lib.grading.reading.extract import Entangled

    code: dict[str, dict[str, str]] = {}
    digests: dict[str, set[str]] = {}
    for item in submissions:
        notebook, _, digest, chosen = identified(item.path, wanted)
        own = code.setdefault(item.student, {})
        digests.setdefault(item.student, set()).add(digest)
        for exercise in chosen if notebook else ():
            try:
                text = "\n\n".join(one.text for one in notebook.needed(exercise.id) if not one.imports)
            except Entangled:
                continue
            own[exercise.id] = max(own.get(exercise.id, ""), text, key=len)
    return [Answers(student, {name: fingerprints(text, given) for name, text in own.items() if text},
                    frozenset(digests[student] - {""})) for student, own in code.items()]


def write(folder: Path, found: Sequence[Pair], students: int) -> None:
    """The index, a page for each pair, and the table; pages of an earlier run go."""
    from course_lib.grading.classroom.side_by_side import index_page, pair_page

    for old in folder.glob("pair-*.html") if folder.is_dir() else ():
        if re.fullmatch(r"pair-\d+\.html", old.name):
            old.unlink()
    names = [f"pair-{number:03d}.html" for number in range(1, len(found) + 1)]
    put(folder / "index.html", index_page(found, names, students))
    for name, pair in zip(names, found, strict=True):
        put(folder / name, pair_page(pair))
    put(folder / "similar.csv", table(found))


def table(found: Sequence[Pair]) -> str:
    """CSV: a row for each pair."""
    from course_lib.grading.classroom.tables import harmless

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(["one", "other", "share", "fingerprints", "same file", "exercises"])
    for pair in found:
        row = (pair.one.student, pair.other.student, f"{pair.share:.2f}", pair.count, "yes" if pair.same_file else "no",
               " ".join(pair.shared))
        writer.writerow([harmless(cell) for cell in row])
    return buffer.getvalue()
