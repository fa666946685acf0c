"""Where a learner's code runs. The levels of isolation are "bubblewrap+cgroup", where systemd gives a control group, and "bubblewrap", where
the worker sums up the memory of an answer; "limits" is none, for an instructor's own machine. This file imports no torch, so that a worker can be started before that."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from course_lib.grading.protocol.process import prctl
from course_lib.grading.sandbox.bubblewrap import PACKAGE, PROGRAM, bubblewrap, control_group, environment, search_path
from course_lib.grading.sandbox.inside.confine import CALLS
from course_lib.grading.sandbox.inside.worker import SHARE

STARTUP = 120.0                          # seconds for the worker to import torch, on a busy machine
ENDING = 15.0                            # seconds to kill a child and to clean up after it
GROUP = "bubblewrap+cgroup"              # the level with a control group
ISOLATED = (GROUP, "bubblewrap")         # the levels
LIMITS = "limits"                        # without isolation
HELP = ("Submissions are graded in a sandbox. On Debian and Ubuntu: apt-get install bubblewrap; a container must allow user namespaces. On other "
        "systems use the container of book/_tools/Containerfile, or on macOS --no-sandbox. check in a notebook works everywhere")
WORKER_MEMORY = 2_000_000_000            # bytes of the control group that are the worker's own
SYSTEMD = "/run/systemd/system"          # exists where systemd runs
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
SESSION = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")           # where an ordinary user's systemd is reached


@dataclass(frozen=True)
class Limits:
    """Of one exercise, in bytes and seconds."""

    memory: int = 2_000_000_000              # above what torch takes
    file: int = 16_000_000                   # of one file
    cpu: int = 240                           # of the processor
    processes: int = 64
    statement: float = 5.0
    submission: float = 240.0
    student: float = 1800.0                  # for all submissions of one
    grace: float = 1.0                       # that the grader waits beyond a deadline
    own: float = 10.0                        # of the processor, for the grader's own work on an answer
    own_memory: int = 1_000_000_000          # and its memory


class NoSandbox(RuntimeError):
    """The worker could not be started."""


class Worker(contextlib.AbstractContextManager):
    """One worker and, at any time, one child of it. `level` is one of ISOLATED."""

    def __init__(self, level: str | None = None):
        self.child = self.process = self.control = None
        self.stopped = ""                                # why the worker killed the last child, if not for its memory
        self.level = level or detect_isolation()
        self.launch()

    def launch(self) -> None:
        """Start the worker, without waiting for it to import torch."""
        self.ready, self.lines = False, b""
        prctl(4, 0)                                      # PR_SET_DUMPABLE: no other process of this user's reads or writes this one's memory
        self.control, other_end = socket.socketpair()
        command, own_environment = bubblewrap(), environment()
        if self.level == GROUP:
            command = control_group(Limits.memory * SHARE + WORKER_MEMORY) + command
            own_environment |= {name: os.environ[name] for name in SESSION if name in os.environ}     # --clearenv drops them inside
        plan = {"fd": other_end.fileno(), "path": search_path()}
        python = [sys.executable, "-I", "-B", PROGRAM, json.dumps(plan)]
        with other_end:
            self.process = subprocess.Popen(command + python, pass_fds=[other_end.fileno()], cwd="/", env=own_environment, **QUIET)

    def wait_ready(self) -> None:
        """Wait until the worker has imported torch. Where a level cannot be had, take the next one. Raises NoSandbox if there is none."""
        if self.ready:
            return
        while (hello := self.line(STARTUP)) is None and self.level == GROUP:
            self.close()
            self.level = "bubblewrap"
            self.launch()
        if hello != "hello" or self.line(STARTUP) != "ready":
            self.close()
            raise NoSandbox("the worker did not start: can this Python import torch?" if hello else
                            f"bubblewrap cannot make its namespaces here, or not mount /proc in them. {HELP}")
        self.ready = True

    def line(self, seconds: float) -> str | None:
        """The worker's next line, or None if it has gone or is silent for too long."""
        until = time.monotonic() + seconds
        while b"\n" not in self.lines:
            data = b""
            with contextlib.suppress(OSError):
                self.control.settimeout(max(0.001, until - time.monotonic()))
                data = self.control.recv(4096)
            if not data:
                return None
            self.lines += data
        line, _, self.lines = self.lines.partition(b"\n")
        return line.decode()

    def request(self, message: dict, fds: Sequence[int] = (), seconds: float = STARTUP) -> dict:
        """Ask the worker for something and return its answer. Raises NoSandbox if none comes in time."""
        line = None
        with contextlib.suppress(OSError):
            socket.send_fds(self.control, [json.dumps(message).encode()], fds)
            line = self.line(seconds)
        if line is None:
            raise NoSandbox("the worker has gone")
        reply = json.loads(line)
        if "error" in reply:
            raise NoSandbox(reply["error"])
        return reply

    def start(self, limits: Limits, preload: Sequence[str] = ()) -> socket.socket:
        """The socket to a fresh child; the worker imports `preload` first. Raises NoSandbox if it has gone; the next start begins a new one."""
        self.end()
        self.stopped = ""
        if self.ready and self.process.poll() is not None:
            self.close()
            raise NoSandbox("the worker has gone")
        if self.process is None:
            self.launch()
        self.wait_ready()
        own_end, other_end = socket.socketpair()
        message = {"do": "start", "limits": asdict(limits), "preload": list(preload), "worker": self.process.pid}    # whose number is its own
        try:
            with other_end:
                self.child = self.request(message, [other_end.fileno()])["pid"]
        except NoSandbox:
            own_end.close()
            self.close()
            raise
        return own_end

    def end(self, wait: float = 0.0) -> int | None:
        """Kill the child with all that it started; its exit code, minus a signal's number, or None if it had not ended within `wait` seconds."""
        if self.child is None:
            return None
        child, self.child = self.child, None
        try:
            reply = self.request({"do": "end", "pid": child, "wait": wait}, seconds=ENDING)
        except NoSandbox:
            self.close()
            return -signal.SIGKILL
        self.stopped = reply["why"]
        if not reply["clean"]:                           # something could not be removed: take a new sandbox
            self.close()
        return reply["status"]

    def close(self) -> None:
        """Stop the worker; all that lives in it ends with it."""
        self.child = None
        if self.control is not None:
            self.control.close()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            self.process.wait()
        self.process = self.control = None
        self.ready = False

    def __exit__(self, *_):
        self.close()


class Unisolated(Worker):
    """A process under limits for each answer, which may read what its user may: no marks come from it."""

    def __init__(self):
        self.child, self.stopped, self.level = None, "", LIMITS
        if not hasattr(os, "fork"):
            raise NoSandbox(f"without fork nothing can be graded; this is {sys.platform}. {HELP}")

    def wait_ready(self) -> None:
        """There is nothing to wait for."""

    def start(self, limits: Limits, preload: Sequence[str] = ()) -> socket.socket:
        """The socket to a fresh process, which has imported torch. Raises NoSandbox if it does not start."""
        self.end()
        own_end, other_end = socket.socketpair()
        folder = tempfile.gettempdir()
        plan = {"fd": other_end.fileno(), "path": [str(PACKAGE.parent), *sys.path], "limits": asdict(limits), "preload": list(preload)}
        python = [sys.executable, "-I", "-B", str(PACKAGE / "grading/sandbox/inside/worker.py"), json.dumps(plan)]
        with other_end:
            self.child = subprocess.Popen(python, pass_fds=[other_end.fileno()], cwd=folder, **QUIET,
                                          env=environment() | {"HOME": folder, "TMPDIR": folder})
        own_end.settimeout(STARTUP)
        if own_end.recv(1) != b"!":
            raise NoSandbox("the process did not start: can this Python import torch?")
        own_end.settimeout(None)
        return own_end

    def end(self, wait: float = 0.0) -> int | None:
        """Kill the process and its group; how it had ended, as `Worker.end` says it."""
        child, self.child, status = self.child, None, None
        if child is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = child.wait(wait)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return status

    def close(self) -> None:
        self.end()


def detect_isolation() -> str:
    """The highest level that this system may offer. Raises NoSandbox where there is none."""
    why = (f"bubblewrap needs Linux; this is {sys.platform}" if sys.platform != "linux" else
           "the numbers of the system calls of this processor are not known" if os.uname().machine not in CALLS else
           "bubblewrap (bwrap) is not installed" if not shutil.which("bwrap") else "")
    if why:
        raise NoSandbox(f"{why}. {HELP}")
    return GROUP if shutil.which("systemd-run") and os.path.isdir(SYSTEMD) else "bubblewrap"
