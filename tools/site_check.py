"""What is wrong with a built site, read from its files alone: links, anchors, assets, ids, alt text, maths, widgets.

    python tools/site_check.py _build/html

Prints one line for each fault and fails if there is one.
"""
from __future__ import annotations

import json
import re
import sys
import urllib.parse
from functools import cached_property
from pathlib import Path

from bs4 import BeautifulSoup

ASSETS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "link": "href"}
# A link element that names another place, and fetches nothing from it.
NAMES_ONLY = {"canonical", "next", "prev", "search", "index", "author", "license"}
RAW = re.compile(
    r"\$[^$\s](?:[^$\n]{0,60}[^$\s])?\$(?!\d)|\$\$|\\\(|\\\[|\\(?:frac|sum|prod|mathbf|mid|sigma|alpha)\b"
    r"|\{(?:ref|eq|doc|numref|cite|term|prf:ref)[^}]*\}`|`{3}\{|:{3}\{|\[\?\]|\?\?")
FILE_NAME = re.compile(r"\S*\.(png|svg|jpe?g|gif)", re.I)
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"


class Page:
    """One HTML file of the site."""

    def __init__(self, path: Path):
        self.path = path
        self.soup = BeautifulSoup(path.read_text("utf-8"), "html.parser")

    @cached_property
    def ids(self) -> list[str]:
        return [tag["id"] for tag in self.soup.find_all(id=True)]

    @cached_property
    def anchors(self) -> set[str]:
        return set(self.ids) | {tag["name"] for tag in self.soup.find_all("a", attrs={"name": True})}


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
        for tag, attribute, url in references(page):
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
    """(tag, attribute, url) of everything that a page names."""
    for name, attribute in {"a": "href", **ASSETS}.items():
        for tag in page.soup.find_all(name, attrs={attribute: True}):
            yield tag, attribute, tag[attribute]


def outside_assets(page: Page):
    for tag, attribute, url in references(page):
        outside = url.startswith("//") or urllib.parse.urlsplit(url).scheme in ("http", "https")
        if tag.name != "a" and outside and not set(tag.get("rel", ())) & NAMES_ONLY:
            yield f"{tag.name} asks another server: {url}"


def double_ids(page: Page):
    for name in sorted({name for name in page.ids if page.ids.count(name) > 1}):
        yield f"id {name} stands {page.ids.count(name)} times"


def alt_texts(page: Page):
    for tag in page.soup.find_all("img"):
        alt, source = tag.get("alt"), tag.get("src", "")[-40:]
        if alt is None:
            yield f"image {source} has no alt text"
        elif FILE_NAME.fullmatch(alt.strip()):
            yield f"image {source} has its file name for alt text"


def raw_maths(page: Page):
    main = page.soup.find("article") or page.soup.find("main") or page.soup
    main = BeautifulSoup(str(main), "html.parser")
    for tag in main.find_all(["script", "style", "pre", "code"]) + main.select(".math, .sig"):
        tag.extract()
    for match in RAW.finditer(main.get_text(" ")):
        yield f"maths or a role left raw: {match.group()[:50]!r}"


def widgets(page: Page):
    def bodies(kind):
        return [json.loads(tag.get_text()) for tag in page.soup.find_all("script", type=kind)]

    known = {model for block in bodies(STATE) for model in block["state"]}
    for view in bodies(VIEW):
        if view["model_id"] not in known:
            yield "an interactive figure without its stored state: run the notebook again"


def reported(page: Page):
    for tag in page.soup.select(".problematic, .system-message"):
        yield f"a fault that Sphinx wrote into the page: {tag.get_text(' ', strip=True)[:80]}"


if __name__ == "__main__":
    faults = Site(Path(sys.argv[1])).problems()
    print(*faults, sep="\n")
    print(f"{len(faults)} faults")
    sys.exit(bool(faults))
