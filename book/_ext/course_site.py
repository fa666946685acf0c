"""The foot of each page: authors, license, how to cite, the date of its last commit, its source. Errors are reported from each section.

What a site needs where it has an address (`html: baseurl` in _config.yml, or BOOK_SITE_URL): canonical addresses, social
cards, sitemap.xml, 404.html. A description stands in every page that has a paragraph. Pages that moved redirect.
"""
from __future__ import annotations

import csv
import html
import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from docutils import nodes

FACES = re.findall(r'url\("(vendor/fonts/[^"]+)"\)', (Path(__file__).parent.parent / "_assets" / "book.css").read_text("utf-8"))
LENGTH = 200                                                 # what a result of a search shows of a description
MISSING = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Page not found: {title}</title>
</head>
<body>
<main>
<h1>Page not found</h1>
<ul>
<li><a href="{root}{front}">{title}</a></li>
</ul>
<form action="{root}search.html" role="search"><label>Search the course <input type="search" name="q"></label> <button>Search</button></form>
</main>
</body>
</html>
"""


def site_address(app, config) -> None:
    """The site's address ends with a slash; the environment comes before the configuration."""
    url = os.environ.get("BOOK_SITE_URL") or config.html_baseurl or ""
    config.html_baseurl = url.rstrip("/") + "/" if url.startswith(("http://", "https://")) else ""


def description(doctree) -> str:
    """The first paragraph of a page that is a sentence, cut at a word."""
    for node in doctree.findall(nodes.paragraph):
        text = " ".join("".join(part for part in node.findall(nodes.Text)).split())
        if len(text) < 30 or "course-times" in node["classes"] or next(iter(node.findall(nodes.math)), None):
            continue
        if len(text) <= LENGTH:
            return text
        return text[:LENGTH].rsplit(" ", 1)[0].rstrip(",;:.") + " ..."
    return ""


def head(app, pagename, templatename, context, doctree) -> None:
    """Description and social card of a page."""
    if doctree is None:
        return
    said, url = description(doctree), app.config.html_baseurl
    own = next((node.get("content", "") for node in doctree.findall(nodes.meta) if node.get("name") == "description"), "")
    tags = {} if own or not said else {"name=\"description\"": said}
    if url:
        title = html.unescape(context.get("title", "").strip()) if context.get("title") else app.config.html_title
        tags.update({'property="og:type"': "article", 'property="og:site_name"': app.config.project,
                     'property="og:title"': nodes.unescape(title),
                     'property="og:url"': f"{url}{app.builder.get_target_uri(pagename)}",
                     'property="og:description"': own or said, 'name="twitter:card"': "summary"})
        tags['property="og:image"'] = f"{url}_static/social-card.png"
        if picture := re.search(r'src="[./]*(_images/[^"]+\.png)"', context.get("body") or ""):
            tags['property="og:image"'] = url + picture[1]
    lines = [f'<meta {name} content="{html.escape(text, quote=True)}" />' for name, text in tags.items() if text]
    if chapter := re.match(r"book/(\d+)-", pagename):
        lines.append(f'<style>:root {{ --course-chapter: "{int(chapter[1])}."; }}</style>')
    faces = [context["pathto"](f"_static/{face}", 1) for face in FACES if (Path(app.srcdir) / "build" / "static" / face).exists()]
    if faces:                                                # a page that is opened from a disk may not preload
        lines.append('<script>if (location.protocol !== "file:") for (const href of ' + json.dumps(faces) + ') document.head.append(Object.assign('
                     'document.createElement("link"), { rel: "preload", as: "font", type: "font/woff2", crossOrigin: "anonymous", href }));</script>')
    context["metatags"] = context.get("metatags", "") + "\n".join(lines) + "\n" * bool(lines)


def whole(app, exception) -> None:
    """sitemap.xml and 404.html."""
    if exception is not None or app.builder.format != "html" or not app.config.html_baseurl:
        return
    url, out = app.config.html_baseurl, Path(app.outdir)
    places = [url + app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
    (out / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        + "".join(f"<url><loc>{escape(place)}</loc></url>\n" for place in places) + "</urlset>\n", "utf-8", newline="\n")
    page = MISSING.format(root=url, front=app.builder.get_target_uri(app.config.root_doc),
                          title=html.escape(app.config.project))
    (out / "404.html").write_text(page, "utf-8", newline="\n")


REDIRECT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={to}">
<link rel="canonical" href="{to}">
<title>This page has moved</title>
</head>
<body>
<main><p>This page has moved: <a href="{to}">{to}</a></p></main>
</body>
</html>
"""


def redirects(folder: Path) -> dict[str, str]:
    """Old and new addresses of pages that moved: each old chapter, its exercises and solutions lead to the first chapter that took a cell of it."""
    table = folder / "book" / "moved.tsv"
    if not table.is_file():
        return {}
    first: dict[str, str] = {}
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if not row["new notebook"].startswith("deeper/"):
                first.setdefault(row["old notebook"], row["new notebook"])
    return {f"{part}/{old}.html": f"{new}.html" for part in ("book", "exercises", "solutions") for old, new in first.items()
            if old != new and (folder / part / f"{new}.ipynb").is_file()}


def moved(app, exception) -> None:
    """Write a page that redirects at each old address."""
    if exception is None and app.builder.format == "html":
        for old, new in redirects(Path(app.srcdir)).items():
            (Path(app.outdir) / old).write_text(REDIRECT.format(to=new), "utf-8", newline="\n")


# --- the foot of a page ----------------------------------------------------------------------------------------------

def last_commits(folder) -> dict[str, str]:
    """The date of the last commit of each file; empty where there is no history."""
    command = ["git", "-c", "core.quotePath=false", "log", "--format=%x00%cs", "--name-only", "--no-renames"]
    try:
        log = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    dates: dict[str, str] = {}
    for entry in log.split("\0")[1:]:
        date, *files = entry.split("\n")
        for file in filter(None, files):
            dates.setdefault(file, date)
    return dates


def read_history(app) -> None:
    app.course_dates = last_commits(app.srcdir)


def report_address(url: str, page: str, section: str) -> str:
    """A new issue with its place filled in."""
    body = f"Page: {page}\nSection: {section}\n\nWhat is wrong, and what should it say?\n"
    return f"{url}/issues/new?{urlencode({'title': f'Error in {page}, {section}', 'body': body})}"


HEADING = re.compile(r'(<h[123]>)(.*?)(<a class="headerlink" href="#([^"]+)"[^>]*>.*?</a>)(</h[123]>)', re.S)


def foot(app, pagename, templatename, context, doctree) -> None:
    """Authors, license, how to cite, date and source below a page; beside each of its headings a link to report an error."""
    if doctree is None or "body" not in context:
        return
    source = Path(app.env.doc2path(pagename, base=False)).as_posix()
    url, branch = (app.config.html_theme_options.get(name, "") for name in ("repository_url", "repository_branch"))
    date = app.course_dates.get(source, "")
    parts = [html.escape(app.config.author)] * bool(app.config.author) + [f"Last changed {date}"] * bool(date)
    parts.append('Text <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>, code MIT')
    if url:
        parts += [f'<a href="{url}/blob/{branch}/CITATION.cff">How to cite</a>', f'<a href="{url}/blob/{branch}/{source}">Source of this page</a>',
                  f'<a href="{html.escape(report_address(url, source, "the whole page"))}">Report an error</a>']
        context["body"] = HEADING.sub(lambda h: (
            f'{h[1]}{h[2]}{h[3]}<a class="course-report" href="{html.escape(report_address(url, source, plain(h[2])))}" '
            f'aria-label="Report an error in {html.escape(plain(h[2]))}">report an error</a>{h[5]}'), context["body"])
    if "book/errata" in app.env.found_docs and pagename != "book/errata":
        parts.append(f'<a href="{app.builder.get_relative_uri(pagename, "book/errata")}">Errata</a>')
    context["body"] += f'<footer class="course-colophon" aria-label="About this page"><p>{" · ".join(parts)}</p></footer>\n'


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def setup(app):
    app.connect("builder-inited", read_history)
    app.connect("html-page-context", foot, priority=600)
    app.connect("config-inited", site_address, priority=10)
    app.connect("html-page-context", head)
    app.connect("build-finished", whole)
    app.connect("build-finished", moved)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
