"""Two processes that want the same file, and a killed one."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.data.download import fetch

pytestmark = pytest.mark.thorough
BODY = bytes(range(256)) * 40000                 # 10 MB
FETCH = "import sys; from course_lib.data import download, registry; " \
        "print(download.fetch('toy', registry.File(sys.argv[1], int(sys.argv[2]), sys.argv[3], (sys.argv[4],))))"
ROOT = Path(__file__).resolve().parents[2]


def start(file, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, file.path, str(file.size), file.hash, *file.urls], cwd=ROOT, text=True,
        env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_fetch_two_processes(server, cache, row):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY, "paired"))     # each waits for the other half-way
    for process in [start(file), start(file)]:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert Path(out.strip()).read_bytes() == BODY
    assert server.asked == ["a.bin", "a.bin"]
    assert sorted(path.name for path in cache.rglob("*")) == ["a.bin", "toy"]


def test_fetch_killed(server, cache, row):
    file = row("toy/a.bin", BODY, server.serve("a.bin", BODY, "stall"))
    process = start(file)
    deadline = time.monotonic() + 120
    while not any(path.stat().st_size for path in cache.glob(".part-*/a.bin")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert not (cache / "toy" / "a.bin").exists()
    server.serve("a.bin", BODY)
    assert fetch("toy", file).read_bytes() == BODY
