"""Contact sheets: sixteen real test images of a set that does not ship with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

FOLDER = Path(__file__).parent / "_sample_images"


def load_sample_images(name: str) -> UInt8[Tensor, "N n"]:
    """Sixteen test images of the set `name`, drawn at random once: uint8, (16, n), flattened row by row.

    A pixel is 0 or 1; of "mnist" and "fashion_mnist", which are 14 x 14 here, a level from 0 to 15.
    For figures only: too few to measure anything on. sheets/README.md names their sources. Raises ValueError for a
    set without a sheet.
    """
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.npz")))
        raise ValueError(f"name is {name!r}; there is a sheet of: {known or 'no set'}")
    with np.load(path, allow_pickle=False) as file:
        if "levels" in file:
            return torch.from_numpy(file["levels"])
        return torch.from_numpy(np.unpackbits(file["packed"], axis=1, count=int(file["shape"].prod())))
