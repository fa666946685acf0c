"""What a reader can tick: each section of a chapter as read, each of its questions as answered.

The boxes, the line under the title and the table on the page *Your marks* are written when the book is built, so that nothing
moves when marks.js fills them. The marks themselves never leave the reader's browser.

    ```{marks}          a row for every chapter, and the button that deletes all marks
    ```
"""
from __future__ import annotations

import hashlib
import html
import re
from typing import Iterator

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

CHAPTER = re.compile(r"book/\d\d-")
PAGE = "book/your-marks"
QUESTION = re.compile(r"<details>\s*<summary>(.*?)</summary>", re.S)
END = "</details>"
# Where a browser denies a page its storage, reading the name alone raises: the theme and the marks then find an empty one.
NO_STORAGE = ("<script>try { window.localStorage.length } catch { Object.defineProperty(window, 'localStorage', { value: "
              "{ getItem: () => null, setItem() {}, removeItem() {} } }) }</script>")


def sections(doctree) -> list[nodes.section]:
    """The sections below the title of a page."""
    return [node for node in doctree.findall(nodes.section) if isinstance(node.parent, nodes.section)
            and isinstance(node.parent.parent, nodes.document)]


def questions(doctree) -> Iterator[tuple[str, str, nodes.raw]]:
    """For each question that folds its answer: a key made from its words, the words, and the node that ends the answer."""
    asked = None
    for node in doctree.findall(nodes.raw):
        if opened := QUESTION.search(node.astext()):
            asked = " ".join(html.unescape(re.sub(r"<[^>]*>", "", opened[1])).split())
            asked = asked if re.match(r"\d+\. ", asked) else None         # a note that folds is no question
        if asked and END in node.astext():
            yield hashlib.sha1(asked.encode()).hexdigest()[:8], asked, node
            asked = None


def box(key: str, name: str, says: str) -> str:
    label = html.escape(f"{says}: {name}", quote=True)
    return (f'<div class="course-mark pst-js-only"><label><input type="checkbox" autocomplete="off" data-mark="{key}" '
            f'aria-label="{label}"> {says}</label></div>')


def count(doctree) -> tuple[int, int]:
    """How many sections and questions a chapter has."""
    return len(sections(doctree)), len(list(questions(doctree)))


def says(read: int, of: tuple[int, int]) -> str:
    """The line under a title; marks.js writes the same words."""
    return f"{read} of {of[0]} sections read" + f", 0 of {of[1]} questions answered" * bool(of[1])


def marked(app, doctree, docname: str) -> None:
    """Boxes at the headings and in the answers of a chapter, and the count under its title; the table on its own page."""
    if app.builder.format != "html":
        return
    for table in [node for node in doctree.findall(nodes.raw) if node.get("marks")]:
        table.children = [nodes.Text(rows(app, docname))]
        table.rawsource = table.astext()
    if not CHAPTER.match(docname):
        return
    of = count(doctree)
    for key, asked, end in list(questions(doctree)):
        text = end.astext().replace(END, f"{box(f'q:{key}', asked, 'answered')}\n{END}", 1)
        end.children = [nodes.Text(text)]
    for section in sections(doctree):
        tick = nodes.raw("", box(f"s:{section['ids'][0]}", section[0].astext(), "read"), format="html")
        section.insert(1, tick)
    title = next(iter(doctree.findall(nodes.title)), None)
    if title is None or not of[0]:
        return
    more = f' <a href="{app.builder.get_relative_uri(docname, PAGE)}">Your marks</a>' * (PAGE in app.env.found_docs)
    line = (f'<p class="course-progress pst-js-only" data-doc="{docname}" data-sections="{of[0]}" data-questions="{of[1]}">'
            f'<span role="status">{says(0, of)}</span>.{more}</p>')
    place = title.parent.index(title) + 1
    while "course-times" in getattr(title.parent[place], "attributes", {}).get("classes", ()):
        place += 1
    title.parent.insert(place, nodes.raw("", line, format="html"))


def rows(app, docname: str) -> str:
    """The table of the page *Your marks*."""
    found = []
    for name in sorted(app.env.found_docs):
        if CHAPTER.match(name):
            of = count(app.env.get_doctree(name))
            title = app.builder.render_partial(app.env.titles[name])["title"]
            found.append(f'<tr data-doc="{name}" data-sections="{of[0]}" data-questions="{of[1]}"><td>'
                         f'<a href="{app.builder.get_relative_uri(docname, name)}">{title}</a></td>'
                         f'<td class="course-read">0 of {of[0]}</td><td class="course-answered">0 of {of[1]}</td></tr>')
    return ('<table class="table course-marks"><thead><tr><th scope="col">Chapter</th><th scope="col">Sections read</th>'
            '<th scope="col">Questions answered</th></tr></thead><tbody>\n' + "\n".join(found) + "\n</tbody></table>\n"
            '<p class="course-forget pst-js-only"><button type="button">Delete all marks'
            '</button> <span role="status"></span></p>')


class Marks(SphinxDirective):
    """Takes the place of the table; which chapters there are is known when all have been read."""

    def run(self) -> list[nodes.Node]:
        for name in sorted(self.env.found_docs):
            if CHAPTER.match(name):
                self.env.note_dependency(str(self.env.doc2path(name)))
        table = nodes.raw("", "", format="html")
        table["marks"] = True
        return [table]


def storage(app, pagename, templatename, context, doctree) -> None:
    """Before the theme's own first script."""
    context["metatags"] = NO_STORAGE + "\n" + context.get("metatags", "")


def setup(app):
    app.add_directive("marks", Marks)
    app.connect("doctree-resolved", marked)
    app.connect("html-page-context", storage)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
