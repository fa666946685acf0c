"""Contact sheets: sixteen real images of a set, to be shown beside samples where the set itself is not at hand.

They ship with the package as course_lib/data/_sample_images/NAME.npz, a few hundred bytes each; grey ones, some kilobytes.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch

from benchmarks.reproduce import clothes
from course_lib import data
from course_lib.data.sample_images import FOLDER
from course_lib.files import write_atomically

NUMBER = 16
SETS = ("binarized_mnist", "caltech101_silhouettes")
GREY = {"fashion_mnist": lambda: clothes.draw().test, "mnist": lambda: clothes.strangers("digits")}


def make(folder: Path = FOLDER) -> None:
    """NUMBER test images of each set: binary ones drawn without replacement and packed eight pixels a byte; of the grey
    ones the first of those that the run `clothes-and-digits` scores, in its size and levels."""
    for name in SETS:
        splits = data.load_data(name)
        rows = torch.randperm(len(splits.test), generator=torch.Generator().manual_seed(0))[:NUMBER]
        file = io.BytesIO()
        np.savez_compressed(file, packed=np.packbits(splits.test[rows].numpy(), axis=1), rows=rows.numpy(),
                            shape=np.array(splits.info["image_shape"]))
        write_atomically(folder / f"{name}.npz", file.getvalue())
        print(f"{name}: {NUMBER} test images, {file.tell()} bytes")
    for name, images in GREY.items():
        file = io.BytesIO()
        np.savez_compressed(file, levels=images()[:NUMBER].numpy(), shape=np.array([clothes.SIDE, clothes.SIDE]))
        write_atomically(folder / f"{name}.npz", file.getvalue())
        print(f"{name}: {NUMBER} test images, {file.tell()} bytes")
