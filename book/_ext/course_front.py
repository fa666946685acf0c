"""What the start page is made of: the chapters as cards, and an interactive figure out of a chapter.

    ```{chapters}                               every chapter of the table
    ```
    ```{explorable} 05-nade.ipynb NadePixels    the figure of that class, with the state that the chapter stores
    ```

Neither needs torch, a kernel or a network: both read files of the book.
"""
from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
SVG = "{http://www.w3.org/2000/svg}"
DRAWINGS = "book/drawings"


class Explorable(SphinxDirective):
    """An interactive figure that a notebook stores, on another page: the same module, state and front-end host."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        notebook, name = self.arguments
        path = Path(self.env.srcdir) / Path(self.env.docname).parent / notebook
        if not path.is_file():
            raise self.error(f"there is no notebook {notebook} beside this page")
        self.env.note_dependency(str(path))
        found = stored(json.loads(path.read_text("utf-8")), name)
        if len(found) != 1:
            raise self.error(f"{notebook} stores {len(found)} figures of the class {name}; expected 1")
        (model,) = found
        scripts = "".join(f'<script type="{kind}">{in_script(what)}</script>\n' for kind, what in (
            (STATE, {"version_major": 2, "version_minor": 0, "state": found}),
            (VIEW, {"version_major": 2, "version_minor": 0, "model_id": model})))
        figure = nodes.raw("", scripts, format="html")
        figure["explorable"] = name
        return [figure]


def stored(notebook: dict, name: str) -> dict[str, dict]:
    """The models of the figures of a class that a notebook stores, by their ids."""
    state = notebook["metadata"].get("widgets", {}).get(STATE, {}).get("state", {})
    return {id: model for id, model in state.items() if model["state"].get("_anywidget_id", "").split(".")[-1] == name}


def in_script(what: dict) -> str:
    """JSON within a script element, which its end tag or a comment would end early."""
    return json.dumps(what, separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")


def host(app, pagename, templatename, context, doctree) -> None:
    """The front-end host is loaded by the pages that have a figure; MyST-NB does the same for notebooks."""
    if doctree and any(node.get("explorable") for node in doctree.findall(nodes.raw)):
        app.add_js_file("afm-host.js", defer="defer")


class Chapters(SphinxDirective):
    """The chapters as cards, each with a picture."""

    def run(self) -> list[nodes.Node]:
        from course_book import LIST, chapters_of

        from book._tools import reading_time

        book = Path(self.env.srcdir) / "book"
        self.env.note_dependency(str(Path(self.env.srcdir) / LIST))
        minutes = {slug: reading_time.amount(book / row["notebook"]).minutes for slug, row in chapters_of(self.env.srcdir).items()}
        cards = nodes.bullet_list(classes=["course-cards"])
        cards += [self.card(row, minutes[slug]) for slug, row in chapters_of(self.env.srcdir).items()]
        total = f"{len(minutes)} chapters, about {round(sum(minutes.values()) / 60)} hours of reading, running and answering in all."
        return [nodes.paragraph(text=total), cards]

    def card(self, chapter: dict, minutes: int) -> nodes.list_item:
        target = f"/book/{chapter['notebook'].removesuffix('.ipynb')}"
        title = addnodes.pending_xref("", nodes.inline(text=f"{int(chapter['number'])} {chapter['title']}"), refdomain="std", reftype="doc",
                                      reftarget=target, refdoc=self.env.docname, refexplicit=True, refwarn=True)
        return nodes.list_item("", self.picture(chapter), nodes.paragraph("", "", title, classes=["course-card-title"]),
                               nodes.paragraph(text=chapter["builds"]),
                               nodes.paragraph(text=f"{minutes} min", classes=["course-card-time"]))

    def picture(self, chapter: dict) -> nodes.image:
        """The chapter's thumbnail, which thumbnails.py draws."""
        address = f"{DRAWINGS}/card-{chapter['slug']}.svg"
        file = Path(self.env.srcdir) / address
        if not file.is_file():
            raise self.error(f"there is no {address}: run python book/_tools/generate.py thumbnails")
        self.env.note_dependency(str(file))
        root = ElementTree.parse(file).getroot()
        return nodes.image(uri=f"/{address}", alt=root.findtext(f"{SVG}desc"), classes=["course-drawing", "dark-light"])


def setup(app):
    app.add_directive("explorable", Explorable)
    app.add_directive("chapters", Chapters)
    app.connect("html-page-context", host, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
