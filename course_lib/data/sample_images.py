"""Sixteen test images each of data sets that are not part of the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

FOLDER = Path(__file__).parent / "_sample_images"


def load_sample_images(name: str) -> UInt8[Tensor, "N n"]:
    """Sixteen random test images of the data set `name`, for figures: uint8 (16, n), flattened row by row.

    The images of "mnist" and "fashion_mnist" are reduced to 14 x 14 pixels with gray levels from 0 to 15; the pixels of
    other data sets are 0 or 1. Raises ValueError if there are no sample images of the data set.
    """
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in FOLDER.glob("*.npz")))
        raise ValueError(f"name is {name!r}; expected one of: {known or 'no data set'}")
    with np.load(path, allow_pickle=False) as file:
        if "levels" in file:
            return torch.from_numpy(file["levels"])
        return torch.from_numpy(np.unpackbits(file["packed"], axis=1, count=int(file["shape"].prod())))
