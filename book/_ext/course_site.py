"""What a site needs where it has an address (`html: baseurl` in _config.yml, or BOOK_SITE_URL): canonical addresses, social
cards, sitemap.xml, 404.html. A description stands in every page that has a paragraph. Pages that moved redirect.
"""
from __future__ import annotations

import csv
import html
import os
import re
from pathlib import Path
from xml.sax.saxutils import escape

from docutils import nodes

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
<li><a href="{root}search.html">Search</a></li>
</ul>
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
        if picture := re.search(r'src="[./]*(_images/[^"]+\.png)"', context.get("body") or ""):
            tags['property="og:image"'] = url + picture[1]
    lines = [f'<meta {name} content="{html.escape(text, quote=True)}" />' for name, text in tags.items() if text]
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


def setup(app):
    app.connect("config-inited", site_address, priority=10)
    app.connect("html-page-context", head)
    app.connect("build-finished", whole)
    app.connect("build-finished", moved)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
