"""The tests reach no address but this machine's, from here or from a process started here."""
from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tests.support.offline import netblock


@pytest.mark.parametrize("reach", [lambda: socket.create_connection(("93.184.216.34", 80), timeout=1),
                                   lambda: socket.getaddrinfo("example.org", 80)], ids=["connect", "name"])
def test_other_machines_are_out_of_reach(reach, no_network):
    with pytest.raises(netblock.NoNetwork, match="without a network"):
        reach()
    assert len(no_network) == 1


def test_other_machines_are_out_of_reach_in_a_process_started_here():
    script = "import urllib.request; urllib.request.urlopen('http://example.org', timeout=5)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode != 0 and "the tests run without a network" in done.stderr
