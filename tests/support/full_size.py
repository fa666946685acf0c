"""Run the cells of a chapter at full size, on few images: `python -m tests.support.full_size book/03-fvsbn.ipynb`.

A process of its own, so that types are not checked, as for a reader.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat

SWITCH = re.compile(r"^(?P<names>[A-Z][A-Z, _]*) = .*?# full size, on a GPU: (?P<values>.+)$", re.M)


def switched(path: Path) -> list[str]:
    """The code cells of a chapter with its constants at full size; empty if it has no such constants."""
    cells = [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    full = [SWITCH.sub(r"\g<names> = \g<values>", source) for source in cells]
    return full if full != cells else []


def run(path: Path) -> None:
    """All cells, with random images of 28 x 28 pixels for binarized MNIST, and one epoch in the place of many."""
    import matplotlib
    import torch
    from IPython.core.inputtransformer2 import TransformerManager

    import course_lib.data
    import course_lib.training
    from course_lib.data.loaders import Splits

    load, fit, asked = course_lib.data.load_data, course_lib.training.fit, []

    def load_few(name, **options):
        if name != "binarized_mnist":
            return load(name, **options)
        asked.append(name)
        generator = torch.Generator().manual_seed(0)
        parts = [torch.randint(2, (num, 784), dtype=torch.uint8, generator=generator) for num in (70, 62, 64)]
        return Splits(name, *parts, info={"image_shape": (28, 28), "maximum": 1})

    course_lib.data.load_data = load_few
    course_lib.training.fit = lambda *args, **options: fit(*args, **{**options, "epochs": 1})
    matplotlib.use("agg")
    names: dict = {}
    as_python = TransformerManager().transform_cell              # the set-up cell has a line that is IPython's
    for number, source in enumerate(map(as_python, switched(path))):
        exec(compile(source, f"{path.stem}, code cell {number}", "exec"), names)
    if not asked:
        sys.exit(f"{path.stem} never loaded the data that its constant names")


if __name__ == "__main__":
    run(Path(sys.argv[1]))
