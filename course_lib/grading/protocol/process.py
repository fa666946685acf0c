"""The process of the caller: its size, and Linux's prctl."""
import os
import sys


def prctl(option: int, value: int) -> None:
    """On Linux its prctl, for one option and value; elsewhere nothing."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def size_now() -> int:
    """Bytes of address space in use; off Linux about what torch takes."""
    if sys.platform != "linux":
        return 1_500_000_000
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
