"""The book's own Sphinx extension: the repository's address, numbers, where links lead.

Chapters get their numbers here, from the names of their files: in titles, in the sidebar, and in the links to the next.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

log = logging.getLogger(__name__)

BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button", "use_source_button")


def public_address(url: str) -> str:
    """git@host:org/repo.git -> https://host/org/repo, without credentials; empty for a folder or a file."""
    if match := re.match(r"(?:ssh://)?git@([^:/]+)[:/](.+)$", url):
        url = f"https://{match[1]}/{match[2]}"
    if not re.match(r"https?://", url):
        return ""
    url = re.sub(r"^(https?://)[^@/]*@", r"\1", url)
    return re.sub(r"\.git/?$", "", url).rstrip("/")


def git_remote(folder) -> str:
    command = ["git", "remote", "get-url", "origin"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def address(configured: str, folder) -> str:
    """The repository's public address: from the environment, else as configured, else the git remote's; or empty."""
    if "executablebooks/jupyter-book" in configured:           # what Jupyter Book puts where nothing is said
        configured = ""
    candidates = (os.environ.get("BOOK_REPOSITORY_URL", ""), configured, git_remote(folder))
    return next(filter(None, map(public_address, candidates)), "")


def elsewhere(folder: Path, url: str, branch: str) -> list[str]:
    """The notebooks whose set-up cell would not install this repository's library on Colab."""
    cells = ((path.relative_to(folder).as_posix(), cell) for part in ("book", "exercises", "solutions")
             for path in sorted((folder / part).glob("*.ipynb")) for cell in json.loads(path.read_text("utf-8"))["cells"])
    return [name for name, cell in cells if "setup" in cell["metadata"].get("tags", ())
            and f"git+{url}@{branch}" not in "".join(cell["source"])]


def repository(app, config) -> None:
    """The launch buttons lead to the repository's address; where there is none, there are no buttons."""
    options = config.html_theme_options
    url = address(options.get("repository_url") or "", app.srcdir)
    if url:
        branch = os.environ.get("BOOK_REPOSITORY_BRANCH") or options.get("repository_branch") or "main"
        options.update(repository_url=url, repository_branch=branch)
        if other := elsewhere(Path(app.srcdir), url, branch):
            log.info("No buttons for Colab: the set-up cell of %s does not install from %s.", other[0], url)
            options["launch_buttons"].pop("colab_url", None)
        return
    log.info("The repository has no public address: no launch buttons.")
    for name in ("launch_buttons", "repository_url"):
        options.pop(name, None)
    options.update(dict.fromkeys(BUTTONS, False))


def faces(app, config) -> None:
    """The faces of text and formulas, where the build fetched them."""
    static = Path(app.srcdir) / "build" / "static"
    if static.exists():
        config.html_static_path.append(str(static))


def scripts_once(app, pagename, templatename, context, doctree) -> None:
    """Sphinx 7.4 writes inline scripts twice, and the second declares the first one's constants again. Live code (Thebe)
    has no use in a book with stored outputs."""
    seen, kept = set(), []
    for script in context.get("script_files", []):
        body = getattr(script, "attributes", {}).get("body")
        if (body is None or body not in seen) and "thebe" not in f"{body} {script.filename}".lower():
            kept.append(script)
        seen.add(body)
    context["script_files"] = kept


def bibliography_role(app, pagename, templatename, context, doctree):
    """Replace the role of bibliography entries, which ARIA has withdrawn."""
    if body := context.get("body"):
        context["body"] = body.replace('role="doc-biblioentry"', 'role="listitem"')


def tags_beside_line_breaks(app, doctree) -> None:
    r"""A formula with a number, `\tag`, and a line break, as between the rows of a matrix, is passed on as it stands.

    Sphinx would put it into an environment `split`, in which no number may stand.
    """
    for node in doctree.findall(nodes.math_block):
        text = node.astext()
        if "\\\\" in text and "\\tag" in text:
            node["nowrap"] = node["no-wrap"] = True
            node.children = [nodes.Text(f"\\[{text}\\]")]


# --- chapters and their exercises have numbers -----------------------------------------------------------------------

PAGE = re.compile(r"(book|book/deeper|exercises|solutions)/(\d\d)-([a-z-]+)$")
LIST = "course_lib/exercises/chapters.toml"
MINE = {"book/deeper": "Going deeper", "exercises": "Exercises", "solutions": "Solutions"}


def number(docname: str) -> tuple[str, int, str] | None:
    """The folder, the number and the slug of a chapter, of its deeper page, exercises or solutions, as the file's name has them."""
    match = PAGE.match(docname)
    return (match[1], int(match[2]), match[3]) if match else None


def numbered(app, doctree) -> None:
    """The number stands in the title: "16 GPT", "Exercises 16: GPT". The anchors of a page are those of its headings."""
    place = number(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    if not place or title is None:
        return
    folder, num, _ = place
    if folder == "book":
        title.insert(0, nodes.Text(f"{num} "))
    elif isinstance(title[0], nodes.Text) and title[0].startswith(f"{MINE[folder]}:"):
        title[0] = nodes.Text(title[0].replace(f"{MINE[folder]}:", f"{MINE[folder]} {num}:", 1))


def times(app, doctree) -> None:
    """Show under a chapter's title how long the chapter and its exercises take."""
    place = number(app.env.docname)
    title = next(iter(doctree.findall(nodes.title)), None)
    chapter = chapters_of(app.srcdir).get(place[2], {}) if place and place[0] == "book" else {}
    if title is None or not chapter:
        return
    from book._tools import reading_time

    page, practice = (Path(app.srcdir) / folder / chapter["notebook"] for folder in ("book", "exercises"))
    for file in (page, practice, Path(app.srcdir) / LIST):
        app.env.note_dependency(str(file))
    line = nodes.paragraph(classes=["course-times"])
    tasks = reading_time.tasks(practice)
    line += nodes.Text(f"{reading_time.amount(page).minutes} min"
                       + f", {len(tasks)} exercises {sum(task.minutes for task in tasks)} min" * bool(tasks) + ".")
    title.parent.insert(title.parent.index(title) + 1, line)


def onward(app, pagename, templatename, context, doctree) -> None:
    """A chapter leads to its exercises, and past them to the next chapter; back to the chapter before. Exercises lead back to their chapter."""
    place = number(pagename)
    if not place or place[0] not in ("book", "exercises") or "body" not in context:
        return
    if place[0] == "exercises":
        chapter = pagename.replace("exercises", "book", 1)
        context["prev"] = {"link": app.builder.get_relative_uri(pagename, chapter), "title": title_of(app, chapter)}
        return
    order = list(reading_order(app.env))
    here = order.index(pagename)
    other = [name for name in order if (number(name) or ("book",))[0] == "book"]
    at = other.index(pagename)
    for key, name in (("prev", other[at - 1] if at else None), ("next", other[at + 1] if at + 1 < len(other) else None)):
        context[key] = name and {"link": app.builder.get_relative_uri(pagename, name), "title": title_of(app, name)}
    practice = [name for name in order[here + 1:here + 3] if (number(name) or ("",))[0] == "exercises"]
    if practice and number(practice[0])[1] == place[1]:
        link = app.builder.get_relative_uri(pagename, practice[0])
        context["body"] += (f'<nav class="course-practice" aria-label="Exercises of this chapter">'
                            f'<a href="{link}">{title_of(app, practice[0])}</a></nav>\n')


def reading_order(env):
    """The pages in the order of the table of contents."""
    name = env.config.root_doc
    relations = env.collect_relations()
    while name:
        yield name
        name = relations[name][2]


def title_of(app, docname: str) -> str:
    return app.builder.render_partial(app.env.titles[docname])["title"]


def chapters_of(folder) -> dict[str, dict]:
    """The table of chapters, by their slugs; empty in a book without one."""
    file = Path(folder) / LIST
    if not file.exists():
        return {}
    from book._tools.chapters import chapters

    return chapters(file)


def setup(app):
    sys.path.insert(0, str(app.srcdir))                        # the API pages read course_lib from the work tree
    app.connect("doctree-read", numbered, priority=100)        # before the titles are collected, at 500
    app.connect("doctree-read", times, priority=100)
    app.connect("html-page-context", onward, priority=400)
    app.connect("doctree-read", tags_beside_line_breaks)
    app.connect("config-inited", repository, priority=10)
    app.connect("config-inited", faces, priority=10)
    app.connect("html-page-context", scripts_once, priority=999)
    app.connect("html-page-context", bibliography_role, priority=998)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
