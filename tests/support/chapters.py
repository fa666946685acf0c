"""A pytest plugin for notebooks (`-p tests.support.chapters --nbval`): numbers are compared as numbers, cells run in their
order, one thread a kernel and without a network, and each notebook's cost is reported and limited."""
from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from book._tools import nb
from tests.support import isolated, kernels
from tests.support.numbers import Output

CPU_SECONDS = 60.0
MEBIBYTES = 2048.0

isolated.install()
kernels.install()


def pytest_configure(config):
    if getattr(IPyNbCell, "course", False):
        return
    config.option.nbval_sanitize_with = (config.option.nbval_sanitize_with
                                         or str(Path(__file__).parent.parent / "nbval_sanitize.cfg"))
    sanitize, runtest, setup = IPyNbCell.sanitize, IPyNbCell.runtest, IPyNbFile.setup

    def start_kernel(self):
        with nb.environment():           # as when the outputs were stored
            setup(self)

    def compare_with_tolerance(self, text):
        text = sanitize(self, text)
        return Output(text) if isinstance(text, str) else text

    def run_and_measure(self):
        began = time.perf_counter()
        try:
            runtest(self)
        finally:
            self.parent.wall = getattr(self.parent, "wall", 0.0) + time.perf_counter() - began
        if self.cell_num == sum(cell.cell_type == "code" for cell in self.parent.nb.cells) - 1:
            cost = kernel_cost(self.parent.kernel.km.provisioner.process.pid)
            cost["wall"] = self.parent.wall
            self.user_properties.append(("chapter", {"name": f"{self.parent.path.parent.name}/{self.parent.path.name}", **cost}))
            if complaint := over_budget(cost):
                self.raise_cell_error(complaint)

    IPyNbFile.setup, IPyNbCell.runtest, IPyNbCell.sanitize = start_kernel, run_and_measure, compare_with_tolerance
    IPyNbCell.course = True


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    """Undo any shuffling: a notebook's cells run in their order."""
    result = yield
    place = {id(item): (str(item.path), item.cell_num) for item in items if isinstance(item, IPyNbCell)}
    cells = sorted((item for item in items if id(item) in place), key=lambda item: place[id(item)])
    items[:] = cells + [item for item in items if id(item) not in place]
    return result


def pytest_terminal_summary(terminalreporter):
    """One line for each notebook, and the sum for each folder."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    rows = {value["name"]: value for report in reports for key, value in getattr(report, "user_properties", ())
            if key == "chapter"}
    if not rows:
        return
    terminalreporter.section("notebooks")
    for name, cost in sorted(rows.items()):
        terminalreporter.write_line(f"{name}: {cost['cpu']:.1f} CPU-seconds, {cost['wall']:.1f} s by the clock, "
                                    f"{cost['peak']:.0f} MiB")
    for folder in sorted({name.split("/")[0] for name in rows}):
        total = sum(cost["cpu"] for name, cost in rows.items() if name.startswith(f"{folder}/"))
        terminalreporter.write_line(f"{folder}/ in all: {total:.1f} CPU-seconds")


def kernel_cost(pid: int) -> dict[str, float]:
    """CPU seconds and the largest resident memory, in MiB, of a kernel and of what it started."""
    process = psutil.Process(pid)
    times = process.cpu_times()
    seconds = times.user + times.system + getattr(times, "children_user", 0) + getattr(times, "children_system", 0)
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        peak = next(int(line.split()[1]) / 1024 for line in status.read_text().splitlines() if line[:6] == "VmHWM:")
    else:
        peak = process.memory_info().rss / 2**20
    return {"cpu": seconds, "peak": peak}


def over_budget(cost: dict[str, float]) -> str:
    """The sentence that fails a notebook which takes too much time or memory; empty if it does not."""
    if cost["peak"] > MEBIBYTES:
        return f"the notebook took {cost['peak']:.0f} MiB of memory; it has {MEBIBYTES:.0f}"
    if cost["cpu"] > CPU_SECONDS:
        return f"the notebook took {cost['cpu']:.0f} CPU-seconds; it has {CPU_SECONDS:.0f}"
    return ""
