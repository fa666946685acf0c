"""What is wrong with a built site, read from its files alone: links, anchors, assets, ids, alt text, maths, widgets, weight.

    python book/_tools/site_check.py _build/html

Prints one line for each fault and fails if there is one.
"""
from __future__ import annotations

import copy
import gzip
import json
import re
import sys
import urllib.parse
from collections import Counter
from functools import cache, cached_property
from pathlib import Path

from lxml import html

ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
# A link element that names another place, and fetches nothing from it.
NAMES_ONLY = {"canonical", "next", "prev", "search", "index", "author", "license"}
RAW = re.compile(
    r"\$[^$\s](?:[^$\n]{0,60}[^$\s])?\$(?!\d)|\$\$|\\\(|\\\[|\\(?:frac|sum|prod|mathbf|mid|sigma|alpha)\b"
    r"|\{(?:ref|eq|doc|numref|cite|term|prf:ref)[^}]*\}`|`{3}\{|:{3}\{|\[\?\]|\?\?")
FILE_NAME = re.compile(r"\S*\.(png|svg|jpe?g|gif)", re.I)
STATE = "application/vnd.jupyter.widget-state+json"
FACE = re.compile(r'url\("?(vendor/fonts/[^")]+)')
VIEW = "application/vnd.jupyter.widget-view+json"
HEAVY = 1_500_000                                                    # bytes of a page with all that it shows, as they are sent
LIGHT = 1_100_000                                                    # bytes of a chapter before the reader scrolls, decoded; 0.1 MB are for faces of formulas
PACKED = {".png", ".jpg", ".gif", ".webp", ".woff", ".woff2"}        # no smaller when they are compressed


class Page:
    """One HTML file of the site."""

    def __init__(self, path: Path):
        self.path = path
        self.tree = html.document_fromstring(path.read_bytes(), parser=html.HTMLParser(encoding="utf-8", huge_tree=True))

    @cached_property
    def ids(self) -> Counter[str]:
        return Counter(self.tree.xpath("//@id"))

    @cached_property
    def anchors(self) -> set[str]:
        return {*self.ids, *self.tree.xpath("//a/@name")}


class Site:
    def __init__(self, root: Path):
        self.root = Path(root).resolve()
        self.pages = {path: Page(path) for path in sorted(self.root.rglob("*.html")) if "_static" not in path.parts}

    def problems(self) -> list[str]:
        """One sentence for each fault: the page, then what is wrong."""
        checks = (self.dead_links, outside_assets, double_ids, alt_texts, raw_maths, widgets, reported)
        found = []
        for path, page in self.pages.items():
            for check in checks:
                found += [f"{path.relative_to(self.root)}: {fault}" for fault in check(page)]
        return found

    def dead_links(self, page: Page):
        for _, url in references(page):
            parts = urllib.parse.urlsplit(url)
            if parts.scheme or url.startswith("//"):
                continue
            target = (page.path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page.path
            if target.is_dir():
                target /= "index.html"
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                yield f"dead link {url}"
            elif self.root not in target.parents:
                yield f"a link out of the site: {url}"
            elif anchor and target in self.pages and anchor != "top" and anchor not in self.pages[target].anchors:
                yield f"dead anchor {url}"


def references(page: Page):
    """(tag, url) of everything that a page names."""
    for tag in page.tree.iter("a", *ASSETS):
        url = tag.get(ASSETS.get(tag.tag, "href"))
        if url is not None:
            yield tag, url


def outside_assets(page: Page):
    for tag, url in references(page):
        outside = url.startswith("//") or urllib.parse.urlsplit(url).scheme in ("http", "https")
        if tag.tag != "a" and outside and not set(tag.get("rel", "").split()) & NAMES_ONLY:
            yield f"{tag.tag} asks another server: {url}"


def double_ids(page: Page):
    for name, times in sorted(page.ids.items()):
        if times > 1:
            yield f"id {name} stands {times} times"


def alt_texts(page: Page):
    for tag in page.tree.iter("img"):
        alt, source = tag.get("alt"), tag.get("src", "")[-40:]
        if alt is None:
            yield f"image {source} has no alt text"
        elif FILE_NAME.fullmatch(alt.strip()):
            yield f"image {source} has its file name for alt text"


def raw_maths(page: Page):
    main = copy.deepcopy((page.tree.findall(".//article") + page.tree.findall(".//main") + [page.tree])[0])
    for tag in list(main.iter("script", "style", "pre", "code")) + main.find_class("math") + main.find_class("sig"):
        tag.clear(keep_tail=True)
    for match in RAW.finditer(" ".join(main.itertext())):
        yield f"maths or a role left raw: {match.group()[:50]!r}"


def widgets(page: Page):
    def bodies(kind):
        return [json.loads(tag.text_content()) for tag in page.tree.iter("script") if tag.get("type") == kind]

    known = {model for block in bodies(STATE) for model in block["state"]}
    late = [tag for tag in page.tree.iter("script") if tag.get("data-state")]
    known |= {json.loads(tag.text_content())["model_id"] for tag in late if (page.path.parent / tag.get("data-state")).is_file()}
    for view in bodies(VIEW):
        if view["model_id"] not in known:
            yield "an interactive figure without its stored state: run the notebook again"


def reported(page: Page):
    for tag in page.tree.find_class("problematic") + page.tree.find_class("system-message"):
        yield f"a fault that Sphinx wrote into the page: {' '.join(tag.text_content().split())[:80]}"


def parts(page: Page, late: bool) -> set[Path]:
    """The files of which a page is made: those that it names, and the faces of its text."""
    named = [urllib.parse.urlsplit(url) for tag, url in references(page)
             if tag.tag != "a" and not set(tag.get("rel", "").split()) & NAMES_ONLY and (late or tag.get("loading") != "lazy")]
    files = {(page.path.parent / urllib.parse.unquote(each.path)).resolve() for each in named if each.path and not each.scheme}
    sheets = [path for path in files if path.suffix == ".css" and path.is_file()]
    files |= {sheet.parent / face for sheet in sheets for face in FACE.findall(sheet.read_text("utf-8"))}
    return {path for path in {page.path, *files} if path.is_file()}


def decoded(page: Page) -> int:
    """Bytes, decoded, of a page with all that it shows before it is scrolled, without the faces of its formulas."""
    return sum(path.stat().st_size for path in parts(page, late=False))


def weight(page: Page):
    """Compressed, as web hosts send text; pictures that come late are counted with the others."""
    heavy = sum(sent(path) for path in parts(page, late=True))
    if heavy > HEAVY:
        yield f"weighs {heavy:,} bytes as it is sent; {HEAVY:,} are the most"


@cache
def sent(path: Path) -> int:
    """Bytes of a file on their way, compressed with gzip where that makes it smaller."""
    return path.stat().st_size if path.suffix in PACKED else len(gzip.compress(path.read_bytes(), compresslevel=6))


if __name__ == "__main__":
    faults = Site(Path(sys.argv[1])).problems()
    print(*faults, sep="\n")
    print(f"{len(faults)} faults")
    sys.exit(bool(faults))
