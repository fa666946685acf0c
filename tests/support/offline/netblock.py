"""Cuts a Python process off from every address but its own machine's.

`install()` wraps the calls of `socket` that reach out. An attempt raises `NoNetwork`, an OSError as a machine
without a network would raise it, and is kept in `attempts`, so that a test which swallows the error fails too.
"""
from __future__ import annotations

import ipaddress
import socket
import sys

ADVICE = "the tests run without a network: use data that ship with the package, or a server on localhost"

attempts: list[str] = []


class NoNetwork(OSError):
    """What a blocked call raises."""


def is_local(host) -> bool:
    """True for the loopback range, for "any address" of a listening socket, and for this machine's own name."""
    if host in (None, "", b""):
        return True
    host = host.decode() if isinstance(host, bytes) else str(host)
    if host in ("localhost", socket.gethostname()) or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified or host in _own_addresses()


def _own_addresses() -> set[str]:
    try:
        return set(_real["gethostbyname_ex"](socket.gethostname())[2])
    except OSError:
        return set()


def _check(host, port=None):
    if not is_local(host):
        where = f"{host}:{port}" if port is not None else str(host)
        attempts.append(where)
        raise NoNetwork(f"this code tried to reach {where}; {ADVICE}")


_real: dict = {}


def install():
    """Wrap the calls, once."""
    if _real:
        return
    sys.modules.setdefault("netblock", sys.modules[__name__])     # one list of attempts, under either name

    def method(name, address_of):
        real = _real[name] = getattr(socket.socket, name)

        def guarded(self, *args):
            if self.family in (socket.AF_INET, socket.AF_INET6):
                _check(*address_of(args)[:2])
            return real(self, *args)

        setattr(socket.socket, name, guarded)

    def function(name):
        real = _real[name] = getattr(socket, name)

        def guarded(host, *args, **kwargs):
            _check(host, args[0] if args and isinstance(args[0], (int, str)) else None)
            return real(host, *args, **kwargs)

        setattr(socket, name, guarded)

    _real["gethostbyname_ex"] = socket.gethostbyname_ex
    for name in ("connect", "connect_ex"):
        method(name, lambda args: args[0])
    method("sendto", lambda args: args[-1])
    for name in ("getaddrinfo", "gethostbyname"):
        function(name)
