"""The book as one PDF, printed by Chromium from the built site: a cover, the contents, every chapter in order, then notation,
formulas and glossary. The light theme, with answers open and interactive figures in their first state.

    python book/_tools/print_book.py [SITE [FILE]]        _build/html, and the PDF beside it
"""
from __future__ import annotations

import html
import os
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from lxml import html as lxml_html

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.browser import NoBrowser, find, launched, on_system  # noqa: E402

SITE = ROOT / "_build" / "html"
NAME = "from-the-chain-rule-to-bert.pdf"
LAST = ("book/notation", "book/formulas", "book/glossary")               # behind the chapters, where a book has them
WIDTH = 658                                                  # of the text in pixels: A4 between margins of 18 mm
LEFT_OUT = ("headerlink", "course-practice", "copybtn", "prev-next-footer")
PAGE = """<!DOCTYPE html>
<html lang="en" data-theme="light" data-mode="light">
<head>
<meta charset="utf-8">
<title>{title}</title>
{sheets}
<style>
html {{ color-scheme: light; font-size: 11pt; }}
body {{ background: #fff; }}
.bd-article {{ --course-measure: 100%; --course-code: 7.6pt; }}
.print-part {{ break-before: page; }}
.bd-article section h1 {{ display: block !important; }} /* the theme prints another title in its place */
.print-cover {{ min-height: 22cm; display: flex; flex-direction: column; justify-content: center; }}
.print-cover h1 {{ font-size: 34pt; }}
.print-contents ol {{ list-style: none; padding: 0; }}
.print-contents li {{ padding: 0.2em 0; break-inside: avoid; }}
.bd-article details.hide {{ display: none; }}
.course-explorable, .course-explorable > .afm-view {{ min-height: 0; break-inside: avoid; }}
.bd-article .afm-view, .bd-article .cell_output .output, .bd-article div.math {{ overflow: visible; }}
pre, code {{ white-space: pre-wrap !important; overflow-wrap: anywhere; }}
img {{ max-width: 100%; height: auto; }}
</style>
<script defer src="{site}/_static/afm-host.js"></script>
</head>
<body>
<main class="bd-main"><div class="bd-content"><div class="bd-article-container"><article class="bd-article">
<section class="print-cover"><h1>{title}</h1>{author}</section>
<section class="print-part print-contents"><h2>Contents</h2><ol>
{contents}
</ol></section>
{parts}
</article></div></div></main>
</body>
</html>
"""
FOOT = '<div style="width:100%;text-align:center;font-size:8pt"><span class="pageNumber"></span></div>'
# Folds open, but for code that only draws; pictures are there; what is wider than the sheet becomes smaller.
READY = """async () => {
    for (const fold of document.querySelectorAll('details')) fold.open = !fold.matches('.hide');
    await document.fonts.ready;
    await Promise.all([...document.images].map(image => image.decode().catch(() => {})));
}"""
FIT = """() => {
    const sheet = document.querySelector('article'), room = sheet.clientWidth, left = sheet.getBoundingClientRect().left;
    const boxes = 'div.math, table, .afm-view, .cell_output .output, img, pre';
    for (const box of document.querySelectorAll(boxes)) {
        if (box.parentElement.closest('.afm-view')) continue;
        const own = box.getBoundingClientRect(), offset = own.left - left;
        const inside = box.matches('div.math') ? box.querySelector('mjx-container')?.scrollWidth ?? 0 : 0;
        const wide = Math.max(own.width, box.scrollWidth, inside);
        if (wide + offset > room + 1) box.style.zoom = Math.max(0.3, (room - offset) / wide);
    }
    return [...document.querySelectorAll(boxes)].filter(box => box.getBoundingClientRect().right > left + room + 2
        && !box.parentElement.closest('.afm-view')).map(box => box.outerHTML.slice(0, 120));
}"""


def key(name: str) -> str:
    """The name of a page within the one: book/05-nade -> book-04-nade."""
    return name.replace("/", "-")


def pages(site: Path) -> list[str]:
    files = [file for file in (site / "book").glob("[0-9][0-9]-*.html") if 'http-equiv="refresh"' not in file.read_text("utf-8")]
    chapters = sorted(file.relative_to(site).with_suffix("").as_posix() for file in files)         # without those that have moved
    return chapters + [name for name in LAST if (site / f"{name}.html").exists()]


def article(site: Path, name: str, names: set[str], here: Path):
    """The text of a page with its names made unique, its links led within the one page."""
    file = site / f"{name}.html"
    tree = lxml_html.document_fromstring(file.read_bytes(), parser=lxml_html.HTMLParser(encoding="utf-8", huge_tree=True))
    text = tree.find(".//article")
    for kind in LEFT_OUT:
        for tag in text.find_class(kind):
            tag.drop_tree()
    for tag in text.iter():
        if not isinstance(tag.tag, str):
            continue
        for attribute in ("id", "for", "aria-labelledby", "aria-describedby"):
            if tag.get(attribute):
                tag.set(attribute, " ".join(f"{key(name)}-{one}" for one in tag.get(attribute).split()))
        tag.attrib.pop("loading", None)
        for attribute in ("src", "data-state"):
            if tag.get(attribute) and not urlsplit(tag.get(attribute)).scheme:
                tag.set(attribute, relative((file.parent / unquote(tag.get(attribute))).resolve(), here))
        if tag.tag == "a" and tag.get("href") is not None:
            lead(tag, file, site, name, names)
    text.tag = "section"
    text.set("class", "print-part")
    text.set("id", key(name))
    return text


def lead(link, file: Path, site: Path, name: str, names: set[str]) -> None:
    """A link to a page of the PDF leads there; one to another page of the site is text."""
    parts = urlsplit(link.get("href"))
    if parts.scheme:
        return
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    other = target.relative_to(site).with_suffix("").as_posix() if site in target.parents else ""
    if other in names:
        link.set("href", f"#{key(other)}" + f"-{unquote(parts.fragment)}" * bool(parts.fragment))
    else:
        del link.attrib["href"]


def relative(target: Path, here: Path) -> str:
    return Path(os.path.relpath(target, here)).as_posix()


def joined(site: Path, here: Path) -> str:
    """The one page, to be written into the folder `here`."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    names, parts, contents = pages(site), [], []
    for name in names:
        text = article(site, name, set(names), here)
        title = " ".join("".join(text.find(".//h1").itertext()).split())
        contents.append(f'<li><a href="#{key(name)}">{html.escape(title)}</a></li>')
        parts.append(lxml_html.tostring(text, encoding="unicode", with_tail=False))
    first = site / f"{names[0]}.html"
    sheets = [relative((first.parent / urlsplit(link).path).resolve(), here) for link in lxml_html.fromstring(
        first.read_bytes()).xpath("//link[@rel='stylesheet']/@href")]
    return PAGE.format(title=config["title"], author=f"<p>{config['author']}</p>" if config["author"] else "",
                       site=relative(site, here), contents="\n".join(contents), parts="\n".join(parts),
                       sheets="\n".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in dict.fromkeys(sheets)))


def printed(site: Path, target: Path, browser) -> list[str]:
    """Print the book; returns what is cut off."""
    site, source = site.resolve(), target.with_suffix(".html").resolve()
    source.write_text(joined(site, source.parent), "utf-8")
    page = browser.new_page(viewport={"width": WIDTH, "height": 1000}, color_scheme="light")
    page.set_default_timeout(600_000)
    page.emulate_media(media="print", color_scheme="light")
    page.goto(source.as_uri(), wait_until="load")
    page.wait_for_function("document.documentElement.dataset.afm === 'ready'")
    page.evaluate(READY)
    cut = page.evaluate(FIT)
    target.write_bytes(page.pdf(
        format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "18mm"), outline=True, tagged=True,
        print_background=True, display_header_footer=True, header_template="<span></span>", footer_template=FOOT))
    page.close()
    source.unlink()
    return cut


def main(site: Path = SITE, target: Path | None = None) -> int:
    if not (site / "index.html").exists():
        print("There is no built book yet: run make book", file=sys.stderr)
        return 1
    target = target or site.parent / NAME
    try:
        path = on_system()
        if path is None:
            from playwright.sync_api import sync_playwright

            with sync_playwright() as playwright:
                path = find(playwright)
    except NoBrowser as error:
        print(str(error).replace("the tests of the built pages need", "printing the book needs"), file=sys.stderr)
        return 1
    with launched(path) as browser:
        cut = printed(site, target, browser)
    print(*(f"wider than the sheet: {part}" for part in cut), sep="\n", end="\n" * bool(cut), file=sys.stderr)
    print(f"{target} has {target.stat().st_size / 2**20:.1f} MB")
    return bool(cut)


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
