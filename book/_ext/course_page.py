"""The body of a page: what stands before its first figure, and where its lines break."""
from __future__ import annotations

import ast
import re

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
        if cell.get("hide_mode") == "input":
            cell["prompt_show"], cell["prompt_hide"] = f"Show the {what}", f"Hide the {what}"


def only_imports(code: str) -> bool:
    try:
        return all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in ast.parse(code).body)
    except SyntaxError:                                              # a magic command, for example
        return False


def punctuation_stays(app, doctree) -> None:
    """Keep punctuation on the line of the formula that it follows."""
    for formula in list(doctree.findall(nodes.math)):
        after = formula.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and (mark := re.match(r"[.,;:!?)\]]+", after)):
            kept = nodes.inline("", "", classes=["course-keep"])
            formula.parent.replace(formula, kept)
            kept += [formula, nodes.Text(mark[0])]
            after.parent.replace(after, nodes.Text(after[mark.end():]))


def setup(app):
    app.connect("doctree-read", start_with_the_subject)
    app.connect("doctree-read", punctuation_stays)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
