"""The search: a list of sections with their text, which search.js ranks in the browser. It needs no server and no network.

A glossary's terms and the library's classes and functions are sections too. Solutions are left out.
"""
from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

SYNONYMS = "book/_assets/synonyms.txt"
LEFT_OUT = (nodes.literal_block, nodes.math_block, nodes.comment, nodes.raw, nodes.image, nodes.title)
PARTS = (nodes.section, addnodes.desc, addnodes.glossary)
TERM = 4                                                     # words of a term in italics; more of them are a title or a stress


def sections(docname: str, doctree, address: str) -> list[list]:
    """[address, title, text, terms that it defines] of each section of a page."""
    found = []
    for node in doctree.findall(lambda n: isinstance(n, nodes.section)):
        terms = [] if flat(node[0]) in ("Sources", "References") else [
            text for part in own(node, nodes.emphasis) if 3 < len(text := flat(part)) and len(text.split()) <= TERM
            and not flat(part.parent).startswith("Slides ")]                        # the names of the decks
        first = node.parent is doctree
        found.append([address + f"#{node['ids'][0]}" * (not first), flat(node[0]), text_of(node), terms])
    for item in (i for g in doctree.findall(addnodes.glossary) for i in g.findall(nodes.definition_list_item)):
        names = [flat(part) for part in item.findall(nodes.term)]
        found.append([f"{address}#{next(item.findall(nodes.term))['ids'][0]}", ", ".join(names), text_of(item), names])
    for node in doctree.findall(addnodes.desc):
        if node["objtype"] in ("class", "function", "exception") and (ids := node[0].get("ids")):
            found.append([f"{address}#{ids[0]}", ids[0], text_of(node[-1])[:600], []])
    return found


def own(node, kind):
    """The descendants of that kind that lie in no smaller section."""
    for child in node.children:
        if isinstance(child, kind):
            yield child
        elif isinstance(child, nodes.Element) and not isinstance(child, PARTS):
            yield from own(child, kind)


def text_of(node) -> str:
    def words(part):
        for child in part.children:
            if isinstance(child, nodes.Text):
                yield str(child)
            elif isinstance(child, nodes.math):
                yield plain(child.astext())
            elif not isinstance(child, (*PARTS, *LEFT_OUT, nodes.term)):
                yield from words(child)
                if isinstance(child, (nodes.paragraph, nodes.list_item, nodes.entry)):
                    yield " "

    return " ".join("".join(words(node)).split())


GREEK = dict(zip("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau phi chi psi omega".split(),
                 "αβγδεζηθικλμνξπρστφχψω"))
SYMBOLS = {"in": "∈", "le": "≤", "ge": "≥", "ne": "≠", "times": "×", "cdot": "·", "approx": "≈", "pm": "±", "to": "→", "infty": "∞",
           "sum": "∑", "prod": "∏", "nabla": "∇", "partial": "∂", "ell": "ℓ", "mid": "|", "top": "T", "ldots": "...", "dots": "...",
           "leftarrow": "←", "odot": "⊙"}
NAMES = {"ln", "log", "exp", "max", "min", "arg", "argmax", "argmin", "det", "lim", "Pr", "sin", "cos", "tanh"}


def plain(tex: str) -> str:
    """A formula within a sentence as a line of text: $p_\\theta(x) \\le 1$ becomes p_θ(x) ≤ 1."""
    tex = re.sub(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", tex)

    def symbol(found: re.Match) -> str:
        name = found[1]
        greek = GREEK.get(name.lower(), "")
        greek = greek.upper() if name[0].isupper() else greek
        text = greek or SYMBOLS.get(name, name if name in NAMES else "")
        return text + found[2] if text else ""

    return re.sub(r"[{}]|\\[^\w\s]", "", re.sub(r"\\([A-Za-z]+)(\s?)", symbol, tex)).strip()


def flat(node) -> str:
    return " ".join(node.astext().split())


def synonyms(folder: Path) -> list[list[str]]:
    """The groups of words that mean the same, a line each, with commas between them."""
    file = folder / SYNONYMS
    lines = file.read_text("utf-8").splitlines() if file.is_file() else []
    return [re.split(r"\s*,\s*", line) for line in lines if line and not line.startswith("#")]


def index(app, pagename, templatename, context, doctree) -> None:
    """Write the list of sections beside the page of the search, the only one that loads it."""
    if pagename != "search":
        return
    pages = []
    for docname in sorted(app.env.found_docs):
        if not docname.startswith("solutions/") and docname in app.env.titles:
            pages.append([flat(app.env.titles[docname]),
                          sections(docname, app.env.get_doctree(docname), app.builder.get_target_uri(docname))])
    text = json.dumps({"pages": pages, "synonyms": synonyms(Path(app.srcdir))}, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / "_static" / "sections.js").write_text(f"const courseSections = {text};\n", "utf-8", newline="\n")
    app.add_js_file("sections.js", defer="defer")
    app.add_js_file("search.js", defer="defer")


OTHER = re.compile(r' *<script src="[./]*(?:_static/searchtools|_static/language_data|searchindex)\.js"></script>\n')


def only_this_one(app, exception) -> None:
    """Sphinx's own index, of pages, is not kept."""
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for page in site.rglob("*.html"):
        if OTHER.search(text := page.read_text("utf-8")):
            page.write_text(OTHER.sub("", text), "utf-8", newline="\n")
    for name in ("searchindex.js", "_static/searchtools.js", "_static/language_data.js"):
        (site / name).unlink(missing_ok=True)


def without_old_index(app) -> None:
    """Sphinx would read its index of an earlier build, which is not kept, and warn that it is gone."""
    if hasattr(app.builder, "load_indexer"):
        app.builder.load_indexer = lambda docnames: None


def setup(app):
    app.connect("builder-inited", without_old_index)
    app.connect("html-page-context", index, priority=400)
    app.connect("build-finished", only_this_one)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
