"""Pages on answers that look alike: the pairs, and of each pair the answers side by side with what they share
marked."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape

from course_lib.grading.classroom.fingerprints import Prints
from course_lib.grading.classroom.page import document, header
from course_lib.grading.classroom.pairs import NO_PROOF, STORED, Pair

STYLE = """
body { max-width: 90rem; }
a { color: inherit; }
.beside { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 1rem; }
mark { color: inherit; background: #f2d98b; } .number { text-align: right; }
@media (prefers-color-scheme: dark) { mark { background: #5c4a12; } }
"""


def index_page(found: Sequence[Pair], names: Sequence[str], students: int) -> str:
    """The page that names all pairs; `names` are the files of theirs."""
    head = f"<p>{escape(NO_PROOF)}</p>\n<p>{escape(STORED)}</p>\n"
    if not found:
        none = f"<p>Of {students} students no two share that much.</p>\n"
        return document("Answers that look alike", head + none, STYLE)
    rows = "".join(
        f'<tr><td><a href="{escape(name)}">{escape(pair.one.student)} and {escape(pair.other.student)}</a></td>'
        f'<td class="number">{pair.share:.0%}</td><td class="number">{pair.count}</td>'
        f"<td>{escape(what(pair))}</td></tr>\n" for pair, name in zip(found, names, strict=True))
    return document("Answers that look alike", (
        f"{head}<p>Pairs: {len(found)}, of {students} students.</p>\n<table>\n"
        f"{header('Students', 'Share', 'Fingerprints', 'Where')}{rows}</tbody>\n</table>\n"), STYLE)


def what(pair: Pair) -> str:
    """Where the two are alike, in words."""
    same = ["the same file, byte for byte"] * pair.same_file
    return "; ".join([*same, *[", ".join(pair.shared)] * bool(pair.shared)])


def pair_page(pair: Pair) -> str:
    """One pair, exercise by exercise. What they share is marked and, for who sees no marks, said in words."""
    names = f"{pair.one.student} and {pair.other.student}"
    text = (f"<p>They share {pair.count} fingerprints, {pair.share:.0%} of those of the smaller answers, without what "
            "was handed out "
            f"and what many have.{' Their files are the same, byte for byte.' if pair.same_file else ''}</p>\n")
    exercises = [name for name in pair.one.prints
                 if name in pair.other.prints and (pair.same_file or name in pair.shared)]
    for name in exercises:
        text += f'<section>\n<h2>{escape(name)}</h2>\n<div class="beside">\n'
        for one in (pair.one, pair.other):
            text += column(one.student, name, one.prints[name], pair.shared.get(name, frozenset()))
        text += "</div>\n</section>\n"
    return document(names, f"<p>{escape(NO_PROOF)}</p>\n{text}<p>{escape(STORED)}</p>\n", STYLE)


def column(student: str, exercise: str, prints: Prints, shared: frozenset[int]) -> str:
    """One student's answer, with the lines marked on which shared fingerprints lie."""
    lines, marked = prints.code.splitlines(), prints.lines(shared)
    code = "\n".join(f"<mark>{escape(line)}</mark>" if number in marked and line.strip() else escape(line)
                     for number, line in enumerate(lines, 1))
    return (f"<div>\n<h3>{escape(student)}</h3>\n<p>Alike in {len(marked)} of {len(lines)} lines.</p>\n"
            f'<pre tabindex="0" role="region" aria-label="Answer of {escape(student)} to '
            f'{escape(exercise)}"><code>{code}</code></pre>\n'
            "</div>\n")
