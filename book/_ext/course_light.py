"""Lighter pages. Once Sphinx has written them, formulas are set, icons drawn, the style sheets joined without the rules of which
nothing occurs, and images and the states of interactive figures moved into files that a browser loads when they come near.
"""
from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from course_front import STATE, VIEW, in_script
from sphinx.util import logging

log = logging.getLogger(__name__)

RENDERER = "build/mathjax"                                   # what fetch_mathjax.py brings
ROOT = re.compile(r'data-content_root="([^"]*)"')
LINK = re.compile(r'[ \t]*<link\b[^>]*\bhref="(?:\.\./)*_static/([^"?]+\.css)[^"]*"[^>]*>\n?')
OWN = "book.css"
JOINED = "course.css"


def lighter(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = {file: file.read_text("utf-8") for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    fresh = [file for file, text in pages.items() if f"_static/{OWN}" in text]      # the others were written by an earlier build
    if not fresh:
        return
    before = dict(pages)
    rules = set_formulas(Path(app.srcdir) / RENDERER, pages, fresh)
    icons = drawings(site / "_static/scripts/fontawesome.js")
    options = (site / "_static/documentation_options.js").read_text("utf-8").strip()
    sheets = list(dict.fromkeys(name for file in fresh for name in LINK.findall(pages[file])))
    for file in fresh:
        root = ROOT.search(pages[file])[1]
        text = OPTIONS.sub(f"<script>{options}</script>", pages[file])
        text = EXTRA.sub("", ICON.sub(lambda found: drawn(found, icons), text))
        text = images_late(figures_late(text, site, root), site, root)
        pages[file] = SCRIPT.sub("<script defer ", text)
    sheet = joined(site / "_static", sheets, rules, words(site, pages.values()))
    (site / "_static" / JOINED).write_text(sheet, "utf-8", newline="\n")
    for name in (*sheets, "basic.css", "scripts/fontawesome.js"):                   # a later build writes them again, before this
        for old in (site / "_static" / name, site / "_static" / f"{name}.map"):
            old.unlink(missing_ok=True)
    digest = hashlib.sha256(sheet.encode()).hexdigest()[:8]
    for file, text in pages.items():
        if found := ROOT.search(text):
            link = f'<link rel="stylesheet" href="{found[1]}_static/{JOINED}?v={digest}" />\n'
            first = LINK.search(text).start()
            head = (THEME + baseline(site / "_static", text)) * (file in fresh) + link
            text = text[:first] + head + LINK.sub("", text[first:])
        if text != before[file]:
            file.write_text(text, "utf-8", newline="\n")


# --- formulas --------------------------------------------------------------------------------------------------------

FORMULA = re.compile(r'(<(span|div) class="math [^>]*>)\s*(\\\(.*?\\\)|\\\[.*?\\\]|\\begin\{.*?)\s*(</\2>)', re.S)
ENGINE = re.compile(r'[ \t]*<script[^>]*>window\.MathJax = .*?</script>\n|[ \t]*<script[^>]*mathjax[^>]*></script>\n')


def set_formulas(renderer: Path, pages: dict[Path, str], fresh: list[Path]) -> str:
    """Set the formulas of the fresh pages, which then need no MathJax; returns its style sheet. Without Node, pages stay as they are."""
    node = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if not node or not renderer.is_dir():
        log.info("There is no Node, or no MathJax in %s: the pages ask a public server for it.", renderer)
        return ""
    wanted = dict.fromkeys(tex(found) for file in fresh for found in FORMULA.finditer(pages[file]))
    program = Path(__file__).with_name("set_formulas.js")
    made = subprocess.run([node, str(program), str(renderer)], input=json.dumps(list(wanted)), capture_output=True, text=True,
                          encoding="utf-8", check=True)
    answer = json.loads(made.stdout)
    known = dict(zip(wanted, answer["formulas"], strict=True))
    for file in fresh:
        pages[file] = ENGINE.sub("", FORMULA.sub(lambda found: found[1] + known[tex(found)] + found[4], pages[file]))
    return answer["sheet"]


def baseline(static: Path, text: str) -> str:
    """Glyphs get their height from a face without any. It has to be there at the first paint, or lines would shift: so it is in the page."""
    face = static / "vendor/mathjax/MathJax_Zero.woff"
    if "<mjx-container" not in text or not face.is_file():
        return ""
    return (f'<script>document.fonts.add(new FontFace("MJXZERO", Uint8Array.from(atob("{base64.b64encode(face.read_bytes()).decode()}"), '
            'letter => letter.charCodeAt(0))));</script>\n')


def tex(found: re.Match) -> tuple[str, bool]:
    """The TeX of a formula, and whether it stands on a line of its own."""
    text = html.unescape(found[3])
    return (text[2:-2] if text[1] in "([" else text).strip(), not text.startswith("\\(")


# --- icons -----------------------------------------------------------------------------------------------------------

ICON = re.compile(r'<(i|span) class="([^"]*\bfa-[^"]*)"([^>]*)></\1>')
SHAPE = re.compile(r'"?([\w-]+)"?:\[(\d+),(\d+),\[([^\]]*)\],"[0-9a-f]+","([^"]*)"\]')
SETS = {"brands": ("fab", "fa-brands"), "regular": ("far", "fa-regular")}


def drawings(script: Path) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Width, height and path of each icon of the theme, by its set and by each of its names."""
    found = {}
    sets = re.split(r'\("fa[brs]",', script.read_text("utf-8"))           # each ends with its registration
    for kind, text in zip(("brands", "regular", "solid"), sets, strict=False):
        for name, width, height, others, path in SHAPE.findall(text):
            for each in (name, *re.findall(r'"([^"]+)"', others)):
                found[kind, each] = width, height, path
    return found


def drawn(found: re.Match, icons: dict) -> str:
    """An icon as an SVG image, which the theme's script would make of it in the browser."""
    names = found[2].split()
    kind = next((kind for kind, marks in SETS.items() if set(marks) & set(names)), "solid")
    name = next((name for name in names if (kind, name.removeprefix("fa-")) in icons), None)
    if name is None:
        return found[0]
    width, height, path = icons[kind, name.removeprefix("fa-")]
    return (f'<svg class="svg-inline--fa {" ".join(names)}"{found[3]} data-icon="{name.removeprefix("fa-")}" aria-hidden="true" '
            f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"/></svg>')


# --- scripts ---------------------------------------------------------------------------------------------------------

SCRIPT = re.compile(r"<script (?![^>]*\b(?:defer|async)\b)(?=[^>]*\bsrc=)")
OPTIONS = re.compile(r'<script[^>]*/documentation_options\.js[^>]*></script>')        # scripts within the page need them
# The theme resolves "auto" only when its script has run: borders and colors would come after the first paint.
THEME = ('<script>if (document.documentElement.dataset.theme === "auto") document.documentElement.dataset.theme = '
         'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";</script>\n')
# The script of the icons; scripts that are asked for twice; live code (Thebe), which has no use in a book with stored outputs.
EXTRA = re.compile(r'[ \t]*<script[^>]*/fontawesome\.js[^>]*></script>\n|[ \t]*<link rel="preload" as="script"[^>]*>\n|'
                   r'[ \t]*<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName = .*?</script>', re.S)


# --- figures and images ----------------------------------------------------------------------------------------------

STATES = re.compile(f'[ \t]*<script type="{re.escape(STATE)}">(.*?)</script>\n?', re.S)
VIEWS = re.compile(f'<script type="{re.escape(VIEW)}">(.*?)</script>', re.S)


def figures_late(text: str, site: Path, root: str) -> str:
    """Each figure's state in a file of its own, which afm-host.js loads; the figure's place has its name, and a height in the style sheet."""
    models = {}
    for found in STATES.finditer(text):
        models.update(json.loads(found[1])["state"])

    def late(found: re.Match) -> str:
        model = json.loads(found[1])["model_id"]
        if model not in models:
            return found[0]
        state = f"(window.courseModels ??= {{}})[{json.dumps(model)}] = {json.dumps(models[model], separators=(',', ':'))};\n"
        address = written(site / "_static/figures", state.encode(), ".js")
        figure = models[model]["state"].get("_anywidget_id", "").split(".")[-1]
        return (f'<div class="course-explorable" data-figure="{html.escape(figure)}"><script type="{VIEW}" '
                f'data-state="{root}_static/figures/{address}">{in_script({"model_id": model})}</script></div>')

    return VIEWS.sub(late, STATES.sub("", text))


IMAGE = re.compile(r"<img\b[^>]*>")
SOURCE = re.compile(r'\bsrc="([^"]+)"')
DATA = re.compile(r"data:image/(svg|png)(?:\+xml)?;base64,(.{4000,})")


def images_late(text: str, site: Path, root: str) -> str:
    """Images are loaded when they come near, and have their size before; large ones within a page become files."""
    def late(found: re.Match) -> str:
        tag, source = found[0], SOURCE.search(found[0])
        if not source or "loading=" in tag:
            return tag
        address = html.unescape(source[1])
        if data := DATA.fullmatch(address):
            address = f"{root}_images/{written(site / '_images', base64.b64decode(data[2]), f'.{data[1]}')}"
            tag = tag.replace(source[1], address)
        file = site / address.removeprefix(root)
        size = size_of(file) if file.is_file() else None
        if size and " height=" not in tag:
            width = re.search(r'\bwidth="(\d+)"', tag)
            height = round(int(width[1]) * size[1] / size[0]) if width else size[1]
            tag = tag.replace("<img", f'<img height="{height}"' + f' width="{size[0]}"' * (not width), 1)
        return tag.replace("<img", '<img loading="lazy"', 1)

    return IMAGE.sub(late, text)


def written(folder: Path, content: bytes, ending: str) -> str:
    """The name of a file with that content, named after it."""
    name = hashlib.sha256(content).hexdigest()[:16] + ending
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)
    return name


def size_of(file: Path) -> tuple[int, int] | None:
    """Width and height of a PNG or SVG image in pixels."""
    content = file.read_bytes()
    if content.startswith(b"\x89PNG"):
        return struct.unpack(">II", content[16:24])
    sizes = re.search(rb'<svg\b[^>]*?\bviewBox="\S+ \S+ ([\d.]+) ([\d.]+)"', content)
    return (round(float(sizes[1])), round(float(sizes[2]))) if sizes else None


# --- styles ----------------------------------------------------------------------------------------------------------

IMPORT = re.compile(r'@import\s+(?:url\()?"([^"]+)"\)?;')
CLASS = re.compile(r"\.(-?[A-Za-z_](?:\\.|[\w-])*)")
NOT = re.compile(r":not\([^()]*\)")


def joined(static: Path, sheets: list[str], formulas: str, names: set[str]) -> str:
    """One style sheet in the place of those: this book's own as it stands, of the others the rules that occur."""
    parts = ['@charset "utf-8";']
    for sheet in sheets:
        text = (static / sheet).read_text("utf-8")
        text = IMPORT.sub(lambda found, folder=(static / sheet).parent: (folder / found[1]).read_text("utf-8"), text)
        parts.append(text if sheet == OWN else occurring(text, names))
    text = "\n".join([*parts, occurring(formulas, names)]).replace('@charset "UTF-8";', "")
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"/\*.*?\*/", "", text, flags=re.S))


def words(site: Path, pages) -> set[str]:
    """The classes that occur. A class may be set by a script: any word of one is kept."""
    names: set[str] = set()
    for text in pages:
        for value in re.findall(r'\bclass="([^"]*)"', text):
            names.update(value.split())
    for script in site.glob("_static/**/*.js"):
        if not {"figures", "locales"} & set(script.parts) and script.name != "fontawesome.js":
            names.update(re.findall(r"[\w-]+", script.read_text("utf-8")))
    return names


def occurring(css: str, names: set[str]) -> str:
    """A style sheet without the rules of which every selector names a class that does not occur, and without faces for icons."""
    css, out, at = re.sub(r"/\*.*?\*/", "", css, flags=re.S), [], 0
    while (opened := css.find("{", at)) >= 0:
        depth, end = 1, opened + 1
        while depth:
            depth += {"{": 1, "}": -1}.get(css[end], 0)
            end += 1
        head, body = css[at:opened].strip(), css[opened + 1:end - 1]
        while head.startswith("@") and ";" in head:           # @charset, @import
            statement, head = head.split(";", 1)
            out.append(f"{statement};")
            head = head.strip()
        at = end
        if head.startswith(("@media", "@supports")):
            if inner := occurring(body, names):
                out.append(f"{head}{{{inner}}}")
        elif head.startswith("@font-face") and "FontAwesome" in body.replace(" ", ""):
            continue
        elif head.startswith("@") or any(
                all(name.replace("\\", "") in names for name in CLASS.findall(NOT.sub("", part))) for part in selectors(head)):
            out.append(f"{head}{{{body}}}")
    return "".join(out)


def selectors(head: str) -> list[str]:
    """The selectors of a rule: the commas within parentheses separate none, and what stands there names classes of a choice."""
    while (flat := re.sub(r"\([^()]*\)", "", head)) != head:
        head = flat
    return head.split(",")


def setup(app):
    app.connect("build-finished", lighter, priority=900)      # after the theme's colors of code
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
