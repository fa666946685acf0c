"""CPU time of several contenders, measured in turns: what disturbs one round disturbs all of it."""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from collections.abc import Callable

ENOUGH = 0.05                                                        # seconds that one measurement lasts at least
LARGE = 2**16                                                        # bytes of a block whose memory is looked at by itself
M_MMAP_THRESHOLD = -3                                                # of glibc's mallopt


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU time a call, one entry a round for each contender; the order turns by one each round.

    A contender that is done in a moment is called often enough for the clock to be fine enough.
    """
    repeats = {name: _repeats(call) for name, call in contenders.items()}
    names, seconds = list(contenders), {name: [] for name in contenders}
    for r in range(rounds):
        for name in names[r % len(names):] + names[:r % len(names)]:
            seconds[name].append(cpu_time(contenders[name], repeats[name]))
    return seconds


def cpu_time(call: Callable[[], object], repeats: int = 1) -> float:
    """Seconds of this process's CPU time a call, over `repeats` calls."""
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


def summary(seconds: list[float]) -> dict[str, float]:
    """Median and quartiles over the rounds."""
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"seconds": float(f"{median:.5g}"), "quartiles": [float(f"{low:.5g}"), float(f"{high:.5g}")]}


def ratio(slow: list[float], fast: list[float]) -> float:
    """The median over the rounds of how many times as long `slow` took as `fast`."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))


def _repeats(call: Callable[[], object]) -> int:
    call()                                                           # the first call pays for what is set up once
    seconds = min(cpu_time(call) for _ in range(3))                  # one may be held up by the machine
    return max(1, round(ENOUGH / max(seconds, 1e-6)))


def extra_memory(call: Callable[[], object]) -> float | None:
    """Most MiB that a call needs beyond what was there before it; None where the kernel does not say (not Linux).

    Measured in a copy of this process. Its free blocks are taken away first: the call would find memory in them, and keep
    what it has given back there, so that the figure would depend on what ran before.
    """
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()                                                   # its code and constants are in memory now
            _take_free_blocks(ctypes.CDLL(None))
            with open("/proc/self/clear_refs", "w") as reset:
                reset.write("5")                                     # the high-water mark, down to what is used now
            before = _resident("VmRSS")
            call()
            os.write(send, f"{(_resident('VmHWM') - before) / 1024:.1f}".encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return float(said) if said else None


def _take_free_blocks(libc: ctypes.CDLL) -> None:
    """Allocate, untouched and for good, every large free block; from here on each new one is the kernel's and returns to it.

    With the threshold set, a large request is met from the heap only where a free block is there; else it is mapped, which
    glibc notes in the second bit of the word before the block.
    """
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
    libc.malloc_trim(0)
    libc.mallopt(M_MMAP_THRESHOLD, LARGE)
    size = 2**34
    while size >= LARGE:
        block = libc.malloc(size)
        mapped = block and ctypes.c_size_t.from_address(block - ctypes.sizeof(ctypes.c_size_t)).value & 2
        if mapped:
            libc.free(block)
        if mapped or not block:
            size //= 2


def _resident(field: str) -> int:
    """KiB of this process's memory, from the kernel."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))
