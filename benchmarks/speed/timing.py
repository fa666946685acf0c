"""CPU time and memory of contenders, measured in interleaved rounds, so that a disturbance affects all of them."""

from __future__ import annotations

import ctypes
import os
import statistics
import time
from collections.abc import Callable

ENOUGH = 0.05                                                        # minimum duration of a measurement, in seconds


def interleaved(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of CPU time per call, one entry per round for each contender; the order rotates by one each round.

    A fast contender is called several times per round, because the resolution of the clock is limited.
    """
    repeats = {name: _repeats(call) for name, call in contenders.items()}
    names, seconds = list(contenders), {name: [] for name in contenders}
    for r in range(rounds):
        for name in names[r % len(names):] + names[:r % len(names)]:
            seconds[name].append(cpu_time(contenders[name], repeats[name]))
    return seconds


def cpu_time(call: Callable[[], object], repeats: int = 1) -> float:
    """CPU time of this process per call in seconds, over `repeats` calls."""
    began = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - began) / repeats


def summary(seconds: list[float]) -> dict[str, float]:
    """Median and quartiles over the rounds."""
    low, median, high = statistics.quantiles(seconds, n=4, method="inclusive")
    return {"seconds": float(f"{median:.5g}"), "quartiles": [float(f"{low:.5g}"), float(f"{high:.5g}")]}


def ratio(slow: list[float], fast: list[float]) -> float:
    """Median over the rounds of the time of `slow` over that of `fast`."""
    return statistics.median(s / f for s, f in zip(slow, fast, strict=True))


def _repeats(call: Callable[[], object]) -> int:
    call()                                                           # the first call includes the setup
    seconds = min(cpu_time(call) for _ in range(3))                  # the machine may delay one
    return max(1, round(ENOUGH / max(seconds, 1e-6)))


def extra_memory(call: Callable[[], object]) -> float | None:
    """Peak memory of a call in MiB, beyond the memory in use before it; None if the kernel does not report it (not Linux).

    Measured in a forked process, which gives its free blocks back first: otherwise the call would use them, and the figure
    would depend on earlier calls.
    """
    if not os.path.exists("/proc/self/clear_refs"):
        return None
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()                                                   # its code and constants are in memory now
            ctypes.CDLL(None).malloc_trim(0)                         # free blocks go back to the kernel
            with open("/proc/self/clear_refs", "w") as reset:
                reset.write("5")                                     # reset the peak to the current use
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


def _resident(field: str) -> int:
    """KiB of this process's memory, from the kernel."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))
