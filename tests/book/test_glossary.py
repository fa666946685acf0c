"""The glossary has every term that a chapter sets in italics, and the words that readers were promised."""
from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conftest import ROOT

# What chapters set in italics that is no term: emphasis, examples, names of lectures, of papers and of books.
NO_TERMS = Path(__file__).with_name("no_terms.txt")
PROMISED = ["token", "GPT", "BERT", "cache", "pre-training", "fine-tuning", "self-supervision", "[CLS]", "[SEP]",
            "next-sentence prediction", "segment", "few-shot", "GLUE", "ELMo"]
FORMULA_OR_CODE = re.compile(r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`", re.S)
ITALIC = re.compile(r"(?<![*\w])\*(?![*\s])([^*]+?)(?<![\s*])\*(?!\*)|(?<!\w)_(?![_\s])([^_]+?)(?<![\s_])_(?!\w)")


def key(term: str) -> str:
    """Case, hyphens and a plural make no difference."""
    return re.sub(r"(?<=[a-z]{3})s$", "", re.sub(r"[\s-]+", " ", term.strip().lower()))


def glossary(text: str) -> set[str]:
    """The terms, each under every name that its line gives: `query, key, value` is three."""
    body = re.search(r"```\{glossary\}\n(.*?)```", text, re.S)[1]
    names = [line for line in body.split("\n") if line and not line.startswith(" ")]
    return {key(part) for name in names for part in (name, *name.split(","))}


def italics(cells: list[str]) -> list[str]:
    """What the text sets in italics, up to the list of sources: there they are titles."""
    text = re.split(r"^## Sources", "\n\n".join(cells), maxsplit=1, flags=re.M)[0]
    return [" ".join((one or other).split()) for one, other in ITALIC.findall(FORMULA_OR_CODE.sub("", text))]


def missing(cells: list[str], terms: set[str], others: set[str]) -> list[str]:
    return [term for term in dict.fromkeys(italics(cells)) if key(term) not in terms | others]


def no_terms() -> set[str]:
    return {key(line) for line in NO_TERMS.read_text("utf-8").splitlines()}


def chapters() -> dict[str, list[str]]:
    return {path.name: ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]
                        if cell["cell_type"] == "markdown"] for path in sorted((ROOT / "book").glob("[0-9]*.ipynb"))}


def test_every_term_in_italics_is_in_the_glossary():
    terms = glossary((ROOT / "book/glossary.md").read_text("utf-8"))
    gaps = {name: gap for name, cells in chapters().items() if (gap := missing(cells, terms, no_terms()))}
    assert not gaps, f"add each to book/glossary.md, or to {NO_TERMS.name} if it is emphasis or a title: {gaps}"


def test_what_is_promised_is_there():
    terms = glossary((ROOT / "book/glossary.md").read_text("utf-8"))
    assert [term for term in PROMISED if key(term) not in terms] == []


def test_no_term_is_called_none():
    assert sorted(glossary((ROOT / "book/glossary.md").read_text("utf-8")) & no_terms()) == []


def test_the_entries_stand_in_order_and_once():
    body = re.search(r"```\{glossary\}\n(.*?)```", (ROOT / "book/glossary.md").read_text("utf-8"), re.S)[1]
    names = [re.sub(r"[^a-z0-9]", "", entry.split("\n")[0].lower()) for entry in body.strip().split("\n\n")]
    assert names == sorted(set(names))


def test_a_missing_term_is_found():
    terms = glossary("```{glossary}\nquery, key\n  x\n\nbeam search\n  y\n```")
    text = ["A *query* and two *keys*, $a * b * c$, `*args*`, **bold**; a *Beam\nsearch* and a *tree*; *no*",
            "## Sources\n\n*A title*"]
    assert missing(text, terms, {"no"}) == ["tree"]
