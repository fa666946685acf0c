"""Lighter pages, made from the built ones: one style sheet and one script instead of twenty files, the few icons that occur
instead of a whole font of them, the index of the search on its own page alone, figures that are fetched when they come into
view, with their size known before, and code without marks for what has the colour of the text.

It reads files that Sphinx has written and writes them again; a page that it has seen is left as it is.
"""
from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
from pathlib import Path
from xml.etree import ElementTree

SCRIPT = re.compile(r'[ \t]*<script[^>]*\ssrc="(?P<root>(?:\.\./)*)(?P<path>[^":?]+)(?:\?[^"]*)?"[^>]*></script>\n?')
SHEET = re.compile(r'[ \t]*<link (?=[^>]*rel="stylesheet")[^>]*href="'
                   r'(?P<root>(?:\.\./)*)(?P<path>_static/[^"?]+)[^"]*"[^>]*>\n?')
PRELOAD = re.compile(r'[ \t]*<link rel="preload" as="script"[^>]*>\n?')
THEBE = re.compile(r'[ \t]*<script>const THEBE_JS_URL[^<]*</script>\n?')
IMAGE = re.compile(r'<img\b(?![^>]*\s(?:width|style|loading)=)'
                   r'(?P<before>[^>]*?\ssrc="(?P<path>[^":]+\.(?:png|svg))"[^>]*?)\s*/?>')
ICON = re.compile(r'(?<![\w-])(fas|far|fab|fa-solid|fa-regular|fa-brands) (?:fa-[\w-]+ )*?fa-([a-z0-9-]+)')

CODE = re.compile(r'<div class="highlight"><pre>.*?</pre>', re.S)
TOKEN = re.compile(r'<span class="([a-z]+\d?)">([^<]*)</span>')
COLOUR = re.compile(r'(html\[data-theme="\w+"\]) \.highlight( \.\w+)?\s*\{([^}]*)\}')

OPTIONS = "_static/documentation_options.js"                 # inline: what stands in the page reads it at once
BUNDLED = ["doctools", "sphinx_highlight", "clipboard.min", "copybutton", "scripts/sphinx-book-theme", "togglebutton",
           "book", "marks", "scripts/bootstrap", "scripts/pydata-sphinx-theme"]
SEARCH = ["_static/language_data.js", "_static/searchtools.js", "_static/search.js", "searchindex.js"]   # in this order
DROPPED = {"_static/scripts/fontawesome.js", "_static/sphinx-thebe.js"}
STYLES = {"brands": ("fab", "fa-brands"), "regular": ("far", "fa-regular"), "solid": ("fas", "fa-solid")}
ICONS = """/* Icons: Font Awesome Free, https://fontawesome.com, licence CC BY 4.0. */
:is(.fas, .far, .fab, .fa-solid, .fa-regular, .fa-brands) { display: inline-block; width: 1.25em; height: 1em;
  vertical-align: -0.125em; background: currentColor; mask: var(--course-icon) center / contain no-repeat; }
.fa-lg { font-size: 1.25em; line-height: 0.05em; vertical-align: -0.075em; }
.bd-header-article .btn :is(.fas, .far, .fab, .fa-solid, .fa-regular, .fa-brands) { width: 1.3rem; }
@media (forced-colors: active) { :is(.fas, .far, .fab, .fa-solid, .fa-regular, .fa-brands) { forced-color-adjust: none;
  background: ButtonText; } }
"""


def lighten(app, exception) -> None:
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    pages = {path: path.read_text("utf-8") for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    fresh = [text for text in pages.values() if SHEET.search(text) and OPTIONS in text]
    if not fresh:
        return
    sheets = list(dict.fromkeys(match["path"] for text in fresh for match in SHEET.finditer(text)))
    sheets = [sheet for sheet in sheets if sheet != "_static/course.css"]
    script = bundle(site)
    known = names(pages.values(), script)
    style = "\n".join([*(used(inlined(site / sheet), known) for sheet in sheets), icons(site, pages.values(), script)])
    unmarked, grounds = colourless(style)
    style += grounds
    versions = {}
    for name, text in (("course.css", style), ("course.js", script)):
        (site / "_static" / name).write_text(text, "utf-8", newline="\n")
        versions[name] = hashlib.sha256(text.encode()).hexdigest()[:8]
    options = (site / OPTIONS).read_text("utf-8")
    for path, text in pages.items():
        if OPTIONS in text:
            path.write_text(plain(sized(light(text, options, versions), path), unmarked), "utf-8", newline="\n")


def light(text: str, options: str, versions: dict[str, str]) -> str:
    """A page that asks for less."""
    root = next(SHEET.finditer(text))["root"]
    searches = "courseWords = " in text
    one = {"sheet": False}

    def sheet(match):
        if one["sheet"]:
            return ""
        one["sheet"] = True
        return f'    <link rel="stylesheet" type="text/css" href="{root}_static/course.css?v={versions["course.css"]}" />\n'

    def script(match):
        path = match["path"].removeprefix("../")
        if path == OPTIONS:
            late = [f"{root}_static/course.js?v={versions['course.js']}"] + [root + name for name in SEARCH] * searches
            lines = [f"<script>{options.strip()}</script>", *(f'<script defer src="{url}"></script>' for url in late)]
            return "".join(f"    {line}\n" for line in lines)
        tabs = path == "_static/design-tabs.js" and "sd-tab-set" not in text
        own = path.startswith("_static/") and path[8:-3] in BUNDLED
        return "" if own or tabs or path in DROPPED or path in SEARCH else match[0]

    return SCRIPT.sub(script, SHEET.sub(sheet, THEBE.sub("", PRELOAD.sub("", text))))


def bundle(site: Path) -> str:
    """The scripts of every page, one after another, as they were asked for.

    The first sign keeps the "use strict" of the first file from holding for all.
    """
    files = (site / "_static" / f"{name}.js" for name in BUNDLED)
    texts = [re.sub(r"^//# sourceMappingURL=.*$", "", file.read_text("utf-8"), flags=re.M) for file in files if file.exists()]
    return ";" + "\n;".join(texts)


def inlined(file: Path) -> str:
    """A style sheet with what it imports; addresses in it are those of _static."""
    text = file.read_text("utf-8")
    text = re.sub(r"/\*.*?\*/|^/\*# sourceMappingURL.*$", "", text, flags=re.S | re.M).replace('@charset "UTF-8";', "")
    if file.parent.name == "styles":
        text = re.sub(r"url\((['\"]?)\.\./", r"url(\1", text)
        return re.sub(r'@import\s+(?:url\()?["\']\.\./([\w.]+)["\']\)?;', lambda m: inlined(file.parent.parent / m[1]), text)
    return text


def names(pages, script: str) -> set[str]:
    """Every class and id that a page has or that a script may write."""
    found = set(re.findall(r"[\w-]+", script))
    for text in pages:
        for values in set(re.findall(r'(?:class|id)=\\?["\']([^"\'\\]*)', text)):
            found.update(values.split())
    return found | {"MathJax", "MJX"}


def rules(text: str):
    """(selector or at-rule, body) of the blocks of a style sheet, and (statement, None) between them."""
    at = 0
    while match := re.compile(r"[^{};]*([{;])").match(text, at):
        head, at = match[0][:-1].strip(), match.end()
        if match[1] == ";":
            yield head, None
            continue
        depth, begin = 1, at
        quote = ""
        while depth:
            sign = text[at]
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "\"'":
                quote = sign
            else:
                depth += (sign == "{") - (sign == "}")
            at += 1
        yield head, text[begin:at - 1]


def used(text: str, known: set[str]) -> str:
    """The style sheet without the rules for classes and ids that no page has."""
    kept = []
    for head, body in rules(text):
        if body is None:
            kept.append(head + ";" if head else "")
        elif head.startswith(("@media", "@supports", "@layer")):
            inside = used(body, known)
            kept.append(f"{head}{{{inside}}}" if inside.strip() else "")
        elif head.startswith("@font-face") and "fontawesome" in body:
            continue
        elif head.startswith("@"):
            kept.append(f"{head}{{{body}}}")
        else:
            selectors = [one for one in split(head) if lives(one, known)]
            kept.append(f"{','.join(selectors)}{{{body}}}" if selectors else "")
    return "\n".join(filter(None, kept))


def split(selectors: str) -> list[str]:
    """A list of selectors, without those commas that stand in brackets."""
    parts, depth = [""], 0
    for sign in selectors:
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def lives(selector: str, known: set[str]) -> bool:
    """Whether all classes and ids of a selector occur; what stands in brackets, as in :not(...), is not asked."""
    plain = re.sub(r"\[[^\]]*\]|\((?:[^()]|\([^()]*\))*\)", "", selector)
    if re.search(r"\.(?:fa|fas|far|fab|fa-(?!lg)[\w-]+)\b", plain) and "svg" not in plain and "i." not in plain:
        return not re.fullmatch(r"\.fa[\w-]*(?::{1,2}before)?", plain.strip())       # the font of icons
    return all(name.replace("\\", "") in known for name in re.findall(r"[.#]((?:[A-Za-z_-]|\\.)(?:[\w-]|\\.)*)", plain))


def icons(site: Path, pages, script: str) -> str:
    """The icons that occur, as masks: they take the colour of the text around them."""
    library = (site / "_static/scripts/fontawesome.js").read_text("utf-8")
    found = {(style, name) for text in pages for style, name in set(ICON.findall(text))} | set(ICON.findall(script))
    lines = []
    for style, name in sorted(found - {(style, "lg") for style, _ in found}):
        family = next(family for family, both in STYLES.items() if style in both)
        if shape := drawn(library, family, name):
            svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {shape[0]} {shape[1]}"><path d="{shape[2]}"/></svg>'
            lines.append(f'.{style}.fa-{name} {{ --course-icon: url("data:image/svg+xml,{urllib.parse.quote(svg)}"); }}')
    return ICONS + "\n".join(lines) + "\n"


def drawn(library: str, family: str, name: str) -> tuple[str, str, str] | None:
    """Width, height and path of an icon, by its name or a former one. Brands come first in the file, then regular, then solid."""
    entry = re.compile(r'(?<![\w-])"?([a-z0-9-]+)"?:\[(\d+),(\d+),(\[[^\]]*\]),"[0-9a-f]+","([^"]+)"\]')
    shapes = [m.groups() for m in entry.finditer(library) if m[1] == name or name in json.loads(m[4])]
    shape = shapes[-1 if family == "solid" else 0] if shapes else None
    return (shape[1], shape[2], shape[4]) if shape else None


def colourless(style: str) -> tuple[set[str], str]:
    """The classes of tokens of code that look like the code around them in every theme, and the rules that give it that look."""
    themes: dict[str, dict[str, str]] = {}
    for theme, name, looks in COLOUR.findall(style):
        themes.setdefault(theme, {})[name.strip(" .")] = looks
    colours = {theme: re.search(r"(?:^|[; ])color:\s*([^;}]+)", of.get("", "")) for theme, of in themes.items()}
    if not themes or not all(colours.values()):
        return set(), ""
    ground = {theme: found[1].strip() for theme, found in colours.items()}
    alone = {theme: re.compile(rf"\s*color:\s*{re.escape(colour)}\s*;?\s*", re.I) for theme, colour in ground.items()}
    same = [{name for name, looks in of.items() if name and alone[theme].fullmatch(looks)} for theme, of in themes.items()]
    return set.intersection(*same), "".join(f"{theme} .highlight pre{{ color: {ground[theme]} }}\n" for theme in themes)


def plain(text: str, unmarked: set[str]) -> str:
    """Code whose plain tokens are plain text."""
    def token(match):
        return match[2] if match[1] in unmarked else match[0]

    return CODE.sub(lambda code: TOKEN.sub(token, code[0]), text)


def sized(text: str, page: Path) -> str:
    """Figures have their size before they are there, so that nothing moves, and are fetched when they come near."""
    before = text.find("<article")

    def image(match):
        size = measures((page.parent / urllib.parse.unquote(match["path"])).resolve())
        late = ' loading="lazy"' if match.start() > before and match.string.count("<img", before, match.start()) else ""
        return f'<img{match["before"]}{size}{late} />'

    return IMAGE.sub(image, text)


def measures(file: Path) -> str:
    """width and height of a PNG or an SVG as attributes; nothing where they are not said."""
    if not file.is_file():
        return ""
    if file.suffix == ".png":
        head = file.read_bytes()[:24]
        width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    else:
        root = ElementTree.parse(file).getroot()
        sizes = [re.fullmatch(r"([\d.]+)(?:px)?", root.get(side, "")) for side in ("width", "height")]
        if not all(sizes):
            return ""
        width, height = (round(float(size[1])) for size in sizes)
    return f' width="{width}" height="{height}"'


def setup(app):
    app.connect("build-finished", lighten, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
