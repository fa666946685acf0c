"""The body of a page: what stands before its first figure, which figures follow the theme, where lines break, links to formulas."""
from __future__ import annotations

import ast
import re
from pathlib import Path

from docutils import nodes


def start_with_the_subject(app, doctree) -> None:
    """Omit the set-up cell from the page, and fold cells that only import, so that a chapter begins with its figure."""
    for cell in [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]:
        if "tag_setup" in cell["classes"]:
            cell.parent.remove(cell)
            continue
        code, what = next(cell.findall(nodes.literal_block), None), "code"
        if code is not None and not cell.get("hide_mode") and only_imports(code.astext()):
            cell["hide_mode"], what = "input", "imports"
        elif any("image/png" in bundle.get("mime_type", "") for bundle in cell.findall(nodes.container)):
            what = "code of the figure"
        if cell.get("hide_mode") == "input":
            cell["prompt_show"], cell["prompt_hide"] = f"Show the {what}", f"Hide the {what}"


def only_imports(code: str) -> bool:
    try:
        return all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in ast.parse(code).body)
    except SyntaxError:                                              # a magic command, for example
        return False


SHOWS_PIXELS = re.compile(r"\bimshow\(|\bshow\.(images|matrices|readers)\(")


def charts_follow_theme(app, doctree) -> None:
    """Mark charts, which the style sheet inverts on a dark page. Pixels keep their colors: the text calls them black and white."""
    for cell in [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]:
        code = next(cell.findall(nodes.literal_block), None)
        if code is not None and not SHOWS_PIXELS.search(code.astext()):
            for image in cell.findall(nodes.image):
                image["classes"] += ["course-chart"] * image["uri"].endswith(".png")


def punctuation_stays(app, doctree) -> None:
    """Keep punctuation on the line of the formula that it follows."""
    for formula in list(doctree.findall(nodes.math)):
        after = formula.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and (mark := re.match(r"[.,;:!?)\]]+", after)):
            kept = nodes.inline("", "", classes=["course-keep"])
            formula.parent.replace(formula, kept)
            kept += [formula, nodes.Text(mark[0])]
            at = next(k for k, node in enumerate(after.parent) if node is after)     # texts are equal to others with the same letters
            after.parent[at] = nodes.Text(after[mark.end():])


TAG = re.compile(r"\\tag\{(D?\d+\.\d+)\}")
NUMBER = re.compile(r"(?<![\w)\]])\((D?\d+\.\d+)\)")              # "(5.2)", but not the argument of a call


def find_equations(app) -> None:
    """The page of each numbered formula."""
    app.env.course_equations = {
        number: file.relative_to(app.srcdir).with_suffix("").as_posix()
        for file in sorted(Path(app.srcdir, "book").glob("**/*.ipynb")) for number in re.findall(r"\\\\tag\{(D?\d+\.\d+)\}", file.read_text("utf-8"))}


def equations_are_linked(app, doctree) -> None:
    """Each numbered formula gets an id, and its number in a text leads to it."""
    for block in doctree.findall(nodes.math_block):
        block["ids"] += [f"equation-{number}" for number in TAG.findall(block.astext())]
    here, pages = app.env.docname, app.env.course_equations
    for text in [node for node in doctree.findall(nodes.Text) if type(node.parent) in (nodes.paragraph, nodes.emphasis, nodes.strong)]:
        parts, end = [], 0
        for found in NUMBER.finditer(text):
            if page := pages.get(found[1]):
                address = f"{app.builder.get_relative_uri(here, page) if page != here else ''}#equation-{found[1]}"
                parts += [nodes.Text(text[end:found.start()]), nodes.reference("", found[0], internal=True, refuri=address)]
                end = found.end()
        if parts:
            at = next(k for k, node in enumerate(text.parent) if node is text)
            text.parent[at:at + 1] = [*parts, nodes.Text(text[end:])]


def setup(app):
    app.connect("builder-inited", find_equations)
    app.connect("doctree-read", start_with_the_subject)
    app.connect("doctree-read", charts_follow_theme)
    app.connect("doctree-read", punctuation_stays)
    app.connect("doctree-read", equations_are_linked)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
