"""Run the cells of a chapter at full size, for two steps: `python -m tests.support.full_size book/04-fvsbn.ipynb`.

A process of its own, so that types are not checked, as for a reader.
"""
from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import nbformat

SWITCH = re.compile(r"^(?P<names>[A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = .*?# full size, on a GPU: (?P<values>.+)$", re.M)
SHORT = {"EPOCHS": "1", "STEPS": "2"}           # what is not size, but time


def full(match: re.Match) -> str:
    """The line of a constant with its values at full size, but with little time."""
    names = match["names"].split(", ")
    values = ast.parse(f"({match['values']},)", mode="eval").body.elts
    return f"{match['names']} = " + ", ".join(SHORT.get(name, ast.unparse(one)) for name, one in zip(names, values, strict=True))


def code_cells(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


def switched(path: Path) -> list[str]:
    """The code cells of a chapter with its constants at full size; empty if it has no such constants."""
    cells = code_cells(path)
    full_cells = [SWITCH.sub(full, source) for source in cells]
    return full_cells if any(map(SWITCH.search, cells)) else []


def unread(path: Path) -> list[str]:
    """The names of such constants that no cell reads."""
    source = "\n".join(code_cells(path))
    names = {name for match in SWITCH.finditer(source) for name in match["names"].split(", ")}
    code = "\n".join(line for line in source.splitlines() if not line.lstrip().startswith(("%", "!")))
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)]
    return sorted(names - {node.id for node in nodes if isinstance(node.ctx, ast.Load)})


def images(name: str):
    """Random images of 28 x 28 pixels, 0 and 1."""
    import torch

    from course_lib.data.loaders import Splits

    generator = torch.Generator().manual_seed(0)
    parts = [torch.randint(2, (num, 784), dtype=torch.uint8, generator=generator) for num in (70, 62, 64)]
    return Splits(name, *parts, info={"image_shape": (28, 28), "maximum": 1})


def text(name: str):
    """Random letters of an alphabet of 65, 40,000 to train on."""
    import torch

    from course_lib.data.loaders import Splits

    generator = torch.Generator().manual_seed(0)
    return Splits(name, *("".join(map(chr, torch.randint(48, 48 + 65, (num,), generator=generator).tolist()))
                          for num in (40_000, 3_000, 3_000)))


DRAWN = {"binarized_mnist": images, "tiny_shakespeare": text}        # what comes over a network


def first(data, rows: int):
    """The first rows of what `fit` takes: a tensor, a tuple of them, or none."""
    import torch

    if isinstance(data, torch.Tensor):
        return data[:rows]
    return tuple(first(part, rows) for part in data) if isinstance(data, tuple) else data


def run(path: Path) -> None:
    """All cells, with random data for those that a network brings, and two batches in the place of many epochs."""
    import matplotlib
    from IPython.core.inputtransformer2 import TransformerManager

    import course_lib.data
    import course_lib.training

    if unknown := unread(path):
        sys.exit(f"{path.stem} reads nowhere: {', '.join(unknown)}")
    load, fit, asked = course_lib.data.load_data, course_lib.training.fit, []

    def load_few(name, **options):
        if name not in DRAWN:
            return load(name, **options)
        asked.append(name)
        return DRAWN[name](name)

    def fit_briefly(model, train, *args, **options):
        rows = 2 * options.get("batch_size", 100)
        if options.get("lengths") is not None:
            options["lengths"] = options["lengths"][:rows]
        return fit(model, first(train, rows), *(first(one, rows) for one in args), **{**options, "epochs": 1, "warmup": 0})

    course_lib.data.load_data, course_lib.training.fit = load_few, fit_briefly
    matplotlib.use("agg")
    names: dict = {"display": print}                             # IPython's, as is a line of the set-up cell
    as_python = TransformerManager().transform_cell
    cells = switched(path)
    for number, source in enumerate(map(as_python, cells)):
        exec(compile(source, f"{path.stem}, code cell {number}", "exec"), names)
    named = "".join(cells).replace("'", '"')
    if any(f'"{name}"' in named for name in DRAWN.keys() - asked):
        sys.exit(f"{path.stem} never loaded the data that its constant names")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
