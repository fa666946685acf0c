"""The process of the caller, on Linux: its size, and prctl."""
from __future__ import annotations

import os


def prctl(option: int, value: int) -> None:
    """Linux's prctl, for one option and value."""
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def size_now() -> int:
    """Bytes of address space in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
