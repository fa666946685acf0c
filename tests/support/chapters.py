"""What the tests add to nbval: numbers with a tolerance, cells in their order, and the cost of each notebook."""
from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.support.numbers import Output
from tools import nb

CPU_SECONDS = 60.0
MEBIBYTES = 2048.0
NEIGHBOURS = 1.5                      # what runs beside a notebook never made it this many times as long


def install():
    """Teach nbval's cells; called once, when the tests' configuration is read."""
    if getattr(IPyNbCell, "course", False):
        return
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
            if complaint := over_budget(cost, self.parent.path):
                self.raise_cell_error(complaint)

    IPyNbFile.setup, IPyNbCell.runtest, IPyNbCell.sanitize = start_kernel, run_and_measure, compare_with_tolerance
    IPyNbCell.course = True


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


def over_budget(cost: dict[str, float], path: Path) -> str:
    """The sentence that fails a notebook which takes too long or too much memory; empty if it does not.

    The seconds are those of a machine that does nothing else, and tests on the other core add to them. So where
    COURSE_MEASURE_AGAIN names a file, what took too long beside others is written into it, to be run once more alone:
    `make test` does that after the tests, and then nothing is put off.
    """
    again = os.environ.get("COURSE_MEASURE_AGAIN")
    if cost["peak"] > MEBIBYTES:
        return f"the notebook took {cost['peak']:.0f} MiB of memory; it has {MEBIBYTES:.0f}"
    if cost["cpu"] <= CPU_SECONDS:
        return ""
    if again and cost["cpu"] <= NEIGHBOURS * CPU_SECONDS:
        with open(again, "a", encoding="utf-8") as file:
            file.write(f"{path}\n")
        return ""
    return f"the notebook took {cost['cpu']:.0f} CPU-seconds; it has {CPU_SECONDS:.0f}"


def in_order(items: list) -> list:
    """Notebooks first, each with its cells in their order (a shuffled notebook means nothing); then what waits for a
    browser, so that it does not wait alone at the end; then the rest."""
    cells = [item for item in items if isinstance(item, IPyNbCell)]
    others = [item for item in items if not isinstance(item, IPyNbCell)]
    others.sort(key=lambda item: item.get_closest_marker("browser") is None)
    return sorted(cells, key=lambda cell: (str(cell.path), cell.cell_num)) + others


def report(terminal) -> None:
    """One line a notebook at the end of the run."""
    reports = [report for reports in terminal.stats.values() for report in reports]
    rows = {value["name"]: value for report in reports for key, value in getattr(report, "user_properties", ())
            if key == "chapter"}
    if rows:
        terminal.section("notebooks")
        for name, cost in sorted(rows.items()):
            terminal.write_line(f"{name}: {cost['cpu']:.1f} CPU-seconds, {cost['wall']:.1f} s by the clock, "
                                f"{cost['peak']:.0f} MiB")
