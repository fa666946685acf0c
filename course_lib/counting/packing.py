"""Compress n-gram counts for a file of weights."""

from __future__ import annotations

import io
import zipfile
import zlib

import numpy as np
import torch
from jaxtyping import Integer, UInt8
from torch import Tensor


def pack(grams: Integer[Tensor, "G m"], counts: Integer[Tensor, " G"]) -> UInt8[Tensor, " bytes"]:
    """Encode G n-grams (G, m) in lexicographic order and their counts (G,) as the bytes of a compressed .npz file.

    The n-grams are stored by column, because the first columns of a sorted table compress well.
    """
    archive = io.BytesIO()
    np.savez_compressed(archive, grams=_small(grams.T.contiguous()), counts=_small(counts))
    return torch.frombuffer(bytearray(archive.getvalue()), dtype=torch.uint8).to(grams.device)


def unpack(packed: UInt8[Tensor, " bytes"]) -> tuple[Integer[Tensor, "G m"], Integer[Tensor, " G"]]:
    """Inverse of `pack`: return the G n-grams (G, m) and their counts (G,), in int64.

    Raises ValueError if `packed` was not written by `pack` or is damaged.
    """
    try:
        with np.load(io.BytesIO(packed.cpu().numpy().tobytes()), allow_pickle=False) as archive:
            columns, counts = (torch.from_numpy(archive[name].astype(np.int64)) for name in ("grams", "counts"))
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"packed, the stored n-gram counts, cannot be decoded ({error}); expected the result of "
                         "`pack`: the file that it was loaded from is damaged, so store or download it again") from None
    if columns.dim() != 2 or counts.shape != columns.shape[1:]:
        raise ValueError(f"packed contains n-grams of shape {tuple(columns.shape)} and counts of shape {tuple(counts.shape)}; "
                         "expected (m, G) and (G,): the file that it was loaded from is damaged")
    return columns.T.contiguous().to(packed.device), counts.to(packed.device)


def _small(x: Tensor) -> np.ndarray:
    """Convert to a NumPy array of the smallest unsigned dtype that can hold all values."""
    return x.cpu().numpy().astype(np.min_scalar_type(int(x.max()) if x.numel() else 0))
