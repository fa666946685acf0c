"""`show.source` prints what runs: without annotations, with shapes, no line wider than a chapter's page."""
from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import textwrap
from functools import cache
from typing import NamedTuple

import pytest
import torch
from jaxtyping import Bool, Float
from torch import Tensor

import course_lib
from course_lib import show
from course_lib.show.fitting import WIDTH, fitted
from course_lib.show.listing import untyped
from tests.conftest import ROOT


class Stripped(ast.NodeTransformer):
    """The tree without annotations and docstrings: written apart from the code under test, on trees instead of text."""

    def __init__(self):
        self.within = []

    def body(self, node):
        self.within.append(node)
        self.generic_visit(node)
        self.within.pop()
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:]
        return node

    visit_ClassDef = body

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.body(node)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        if isinstance(self.within[-1], ast.ClassDef):           # a field is made of its annotation
            node.annotation = ast.parse(re.sub(r"\b\w+\[Tensor, '[^']*'\]", "Tensor", ast.unparse(node.annotation)))
            return node
        return ast.Assign([node.target], node.value) if node.value else None


def bare(code: str) -> ast.AST:
    return Stripped().visit(ast.parse(code))


def same(one: ast.AST, other: ast.AST) -> bool:
    return ast.dump(one) == ast.dump(other)


@cache
def whole(name: str) -> str:
    """What show.source prints of one of PUBLIC."""
    return show.source(PUBLIC[name]).code


def original(obj) -> str:
    return textwrap.dedent(inspect.getsource(obj))


def public() -> dict[str, object]:
    """Every class and function that the library defines."""
    found = {}
    for info in pkgutil.walk_packages(course_lib.__path__, "course_lib."):
        if "inside" in info.name:                               # what runs in the sandbox alone
            continue
        module = importlib.import_module(info.name)
        for name, obj in vars(module).items():
            if (inspect.isclass(obj) or inspect.isfunction(obj)) and obj.__module__ == info.name:
                found[f"{info.name}.{name}"] = obj
    return found


PUBLIC = public()


def shown_by_chapters() -> dict[str, show.Source]:
    """What each call of show.source in a chapter prints, by chapter and call."""
    found = {}
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] != "code":
                continue
            for call in re.findall(r"show\.source\(.*?\)", "".join(cell["source"]), flags=re.S):
                node = ast.parse(call, mode="eval").body
                name = ast.unparse(node.args[0]).rsplit(".")[-1]
                members = [ast.literal_eval(arg) for arg in node.args[1:]]
                options = {key.arg: ast.literal_eval(key.value) for key in node.keywords}
                whose = ast.unparse(node.args[0]).split(".")[-2:-1]  # of a method: its class
                classes = [obj for key, obj in PUBLIC.items() if [key.rsplit(".")[-1]] == whose and inspect.isclass(obj)]
                owners = {getattr(obj, name) for obj in classes} or {
                    obj for key, obj in PUBLIC.items() if key.endswith("." + name)}
                assert len(owners) == 1, f"{path.name}: {call} names one of {owners}"
                found[f"{path.name} {call}"] = (owners.pop(), members, options)
    return found


SHOWN = shown_by_chapters()


@pytest.mark.parametrize("call", SHOWN)
def test_no_line_that_a_chapter_shows_is_too_wide(call):
    obj, members, options = SHOWN[call]
    wide = [line for line in show.source(obj, *members, **options).code.split("\n") if len(line) > WIDTH]
    assert not wide, f"{call}: wider than {WIDTH} columns, break it in {inspect.getsourcefile(obj)}:\n" + "\n".join(wide)


@pytest.mark.parametrize("call", SHOWN)
def test_what_a_chapter_shows_is_what_runs(call):
    obj, members, options = SHOWN[call]
    printed, source = bare(show.source(obj, *members, **options).code).body[0], bare(original(obj)).body[0]
    if not members:
        assert same(printed, source)
        return
    of = {child.name: child for child in source.body if isinstance(child, ast.FunctionDef)}
    told = [child for child in printed.body if isinstance(child, ast.FunctionDef)]
    assert [child.name for child in told] == [name for name in of if name in members]
    assert all(same(child, of[child.name]) for child in told)
    assert same(ast.Tuple(printed.bases), ast.Tuple(source.bases)) and printed.name == source.name


def test_all_of_the_library_prints_as_it_runs():
    other = [name for name, obj in PUBLIC.items() if not same(bare(whole(name)), bare(original(obj)))]
    assert len(PUBLIC) > 300 and not other, other


def test_nothing_that_is_printed_has_annotations_but_fields():
    for name, obj in PUBLIC.items():
        for node in ast.walk(ast.parse(whole(name))):
            assert not isinstance(node, ast.FunctionDef) or node.returns is None, name
            assert not isinstance(node, ast.arg) or node.annotation is None, name
        assert "Float[" not in whole(name) or "Float[" in (obj.__doc__ or ""), name


def test_the_printed_code_runs_and_gives_the_same():
    from course_lib import density
    from course_lib.transformer import attention

    def printed(obj, name):
        space = dict(vars(inspect.getmodule(obj)))
        exec(show.source(obj).code, space)
        return space[name]

    q, k, mask = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.rand(3, 5) < 0.5
    ours = printed(attention.attention_weights, "attention_weights")
    assert torch.equal(ours(q, k, mask), attention.attention_weights(q, k, mask))
    with pytest.raises(ValueError):
        ours(q, k, mask.float())

    x = (torch.rand(6, 5) < 0.5).float()
    for kind, arguments in ((density.FVSBN, (5,)), (density.NADE, (5, 7)), (density.MADE, (5, [8]))):
        made, mirror = kind(*arguments), printed(kind, kind.__name__)(*arguments)
        mirror.load_state_dict(made.state_dict())
        assert torch.equal(made.log_prob(x), mirror.log_prob(x)), kind


# Signatures.

def weigh(q: Float[Tensor, "... T K"], mask: Bool[Tensor, "T S"] | None = None, *rest: Float[Tensor, "n"],
          scale: float = 1e-5) -> tuple[Float[Tensor, "... T S"], Float[Tensor, ""]]:
    """One line."""
    total: float = scale
    return q, total


def test_a_comment_says_the_shapes_where_the_signature_has_room():
    assert untyped('def f(x: Float[Tensor, "B n"], y: int = 0) -> Float[Tensor, "B"]:\n    return x') == \
        "def f(x, y=0):  # x (B n) -> (B)\n    return x"
    assert show.source(weigh).code == (
        'def weigh(q, mask=None, *rest, scale=1e-5):\n'
        '    # q (... T K), mask (T S), *rest (n) -> (... T S), ()\n'
        '    """One line."""\n    total = scale\n    return q, total')


@pytest.mark.parametrize("typed, bare_", [
    ("def f(self) -> int: return 1", "def f(self): return 1"),
    ("def f(a, /, b: int = 2, *, c: str = ':', **d: int) -> None:\n    pass",
     "def f(a, /, b=2, *, c=':', **d):\n    pass"),
    ("def f(a: int,  # why\n      b):\n    pass", "def f(a, b):  # why\n    pass"),
    ("def f(a):  # why\n    x: int\n    y: int = a  # kept\n    return y",
     "def f(a):  # why\n    y = a  # kept\n    return y"),
    ("class A:\n    def f(self, é: int = 1, b: dict[str, int] = {'a': 1}):\n        pass",
     "class A:\n    def f(self, é=1, b={'a': 1}):\n        pass"),
])
def test_annotations_leave(typed, bare_):
    assert untyped(typed) == bare_


class Pair(NamedTuple):
    """Two fields."""

    k: Float[Tensor, "B T"] | None = None  # keys
    n: int = 0


def test_fields_stay_what_they_are():
    assert show.source(Pair).code.endswith("    k: Tensor | None = None  # (B T); keys\n    n: int = 0")


def test_a_long_signature_is_wrapped():
    code = untyped(f"def f({', '.join(f'parameter_{k}: int = {k}' for k in range(9))}):\n    pass")
    assert len(code.split("\n")) == 3 and max(map(len, code.split("\n"))) <= WIDTH
    assert same(ast.parse(code), ast.parse(f"def f({', '.join(f'parameter_{k}={k}' for k in range(9))}):\n    pass"))


def test_the_docstring_of_a_class_is_shown_once():
    from course_lib.density import FVSBN

    assert "Slides:" in show.source(FVSBN).code and "Slides:" in show.source(FVSBN, "predict", docstring=True).code
    assert "Slides:" not in show.source(FVSBN, "predict").code + show.source(FVSBN, docstring=False).code
    with pytest.raises(ValueError, match="docstring=True is for a class; weigh is none"):
        show.source(weigh, docstring=True)


# Lines that are too wide.

@pytest.mark.parametrize("code", [
    "x = f(" + ", ".join(f"argument_{k}" for k in range(12)) + ")",
    "def f():\n    return (" + " + ".join(f"term_number_{k}" for k in range(12)) + ")",
    "raise ValueError(f\"" + "words and {more:>9} of " * 6 + "them\")",
    "y = 1" + " " * 64 + "# (B, T, K), a comment that reaches far too much to the right of it",
    "def f():\n    y = 1\n    # " + "a comment that stands alone " * 5 + "\n    return y",
    "def f():\n    '''x'''\n    s = \"a # that is no comment\"" + " " * 60 + "# one that is, and is moved",
])
def test_wide_lines_are_fitted_and_run_the_same(code):
    assert max(map(len, code.split("\n"))) > WIDTH
    out = fitted(code)
    assert max(map(len, out.split("\n"))) <= WIDTH, out
    assert same(ast.parse(out), ast.parse(code))
    assert re.findall(r"\w+", " ".join(re.findall(r"#.*", out))) == re.findall(r"\w+", " ".join(re.findall(r"#.*", code)))


def test_comments_stay_in_line_when_they_move():
    code = "x = 1" + " " * 60 + "# short\nyy = 2" + " " * 59 + "# as long as a comment may be in a line"
    assert fitted(code) == "x = 1   # short\nyy = 2  # as long as a comment may be in a line"


def test_docstrings_flow_and_keep_their_lists():
    doc = ('def f():\n    """First.\n\n    name    ' + "long words " * 12 + "\n            and more\n    other   short\n\n"
           '    Raises.\n    """')
    out = fitted(doc).split("\n")
    assert max(map(len, out)) <= WIDTH and "    other   short" in out and '    """' == out[-1]
    column = out[3].index("long words")
    assert out[4][:column].strip() == "" and out[4][column] != " " and " ".join(doc.split()) == " ".join(" ".join(out).split())


def test_a_line_that_cannot_be_fitted_stays():
    assert len(fitted("name = " + "x" * 99)) > WIDTH
