"""The packed form of n-gram counts: what a file of weights holds."""

from __future__ import annotations

import io
import zipfile
import zlib

import numpy as np
import torch
from jaxtyping import Integer, UInt8
from torch import Tensor


def pack(grams: Integer[Tensor, "G m"], counts: Integer[Tensor, " G"]) -> UInt8[Tensor, " bytes"]:
    """Sorted windows and their counts as the bytes of a compressed .npz of numpy.

    The windows are stored column by column: in a sorted table the first ones repeat, and compress to little.
    """
    archive = io.BytesIO()
    np.savez_compressed(archive, grams=_small(grams.T.contiguous()), counts=_small(counts))
    return torch.frombuffer(bytearray(archive.getvalue()), dtype=torch.uint8).to(grams.device)


def unpack(packed: UInt8[Tensor, " bytes"]) -> tuple[Integer[Tensor, "G m"], Integer[Tensor, " G"]]:
    """The windows and counts that `pack` packed. Raises ValueError if the bytes cannot have come from it."""
    try:
        with np.load(io.BytesIO(packed.cpu().numpy().tobytes()), allow_pickle=False) as archive:
            columns, counts = (torch.from_numpy(archive[name].astype(np.int64)) for name in ("grams", "counts"))
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"the packed counts cannot be read, the file is damaged: {error}") from None
    if columns.dim() != 2 or counts.shape != columns.shape[1:]:
        raise ValueError(f"the packed counts hold windows {tuple(columns.shape)} and counts {tuple(counts.shape)}; "
                         "expected (m, G) and (G,): the file is damaged")
    return columns.T.contiguous().to(packed.device), counts.to(packed.device)


def _small(x: Tensor) -> np.ndarray:
    """In the smallest type of numpy that holds it."""
    return x.cpu().numpy().astype(np.min_scalar_type(int(x.max()) if x.numel() else 0))
