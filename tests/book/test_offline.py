"""The tests' own guard: no address but this machine's can be reached, from here or from a process started here."""
from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from tests.support.offline import netblock

REACH = {
    "connect": lambda: socket.create_connection(("93.184.216.34", 80), timeout=1),
    "name": lambda: socket.getaddrinfo("example.org", 80),
    "connect_ex": lambda: socket.socket().connect_ex(("93.184.216.34", 80)),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("93.184.216.34", 53)),
    "six": lambda: socket.socket(socket.AF_INET6).connect(("2606:2800:220:1::1", 80)),
}


@pytest.mark.parametrize("way", REACH)
def test_blocked(way, no_network):
    with pytest.raises(netblock.NoNetwork, match="without a network"):
        REACH[way]()
    assert len(no_network) == 1


def test_blocked_in_a_process_started_here(tmp_path):
    script = "import urllib.request; urllib.request.urlopen('http://example.org', timeout=5)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode != 0 and "the tests run without a network" in done.stderr


def test_loopback_is_open():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, server.getsockname()[1]), timeout=5).close()


@pytest.mark.parametrize("host, local", [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
                                         ("", True), (None, True), (b"localhost", True), ("0.0.0.0", True),
                                         ("10.0.0.1", False), ("example.org", False), ("8.8.8.8", False)])
def test_what_is_local(host, local):
    assert netblock.is_local(host) is local


SWALLOWS = """
import socket
def test_swallows():
    try:
        socket.create_connection(("example.org", 80))
    except OSError:
        pass
def test_wants_it(no_network):
    try:
        socket.create_connection(("example.org", 80))
    except OSError:
        pass
    assert no_network == ["example.org:80"]
"""


@pytest.mark.slow
def test_a_swallowed_attempt_fails_the_test_all_the_same(tmp_path):
    from tests.conftest import ROOT

    (tmp_path / "test_it.py").write_text(SWALLOWS)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT),
               "-p", "tests.conftest", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True,
                          env={k: v for k, v in os.environ.items() if not k.startswith("PYTEST_XDIST")})
    assert "2 passed, 1 error" in done.stdout and "tried to reach example.org" in done.stdout, done.stdout
