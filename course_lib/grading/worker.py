"""The worker: a program of its own, which holds a learner's definitions and nothing of the judge's.

It imports torch once and then forks a child for each exercise, before any of the learner's code runs. A child talks
to the judge over a socket of its own; the control socket stays with the parent, which runs no code of a learner's.
Started by `sandbox`, with one argument: what to do, as JSON.
"""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import signal
import socket
import sys
import time
import types
from pathlib import Path

LOWEST_UID = 200_000            # as root, each child gets a user of its own
UIDS = 50_000
SWEEP = 5.0                     # seconds to be rid of all processes of a child


def main(plan: dict) -> None:
    """plan: fd (the control socket) or port (and a token on stdin: one child, this process), path (of modules),
    package (the folder of course_lib), isolated (whether every other process here is this worker's), threads."""
    sys.path[:] = plan["path"]
    if "fd" in plan:
        control = socket.socket(fileno=plan["fd"])
        control.send(b"hello\n")
    else:
        token = sys.stdin.buffer.read(32)
    # The package without its grading part: that holds the references, and is not visible in a sandbox.
    sys.modules["course_lib.grading"] = grading = types.ModuleType("course_lib.grading")
    grading.__path__ = [os.path.join(plan["package"], "grading")]
    import torch

    import course_lib.grading.local
    import course_lib.grading.wire  # noqa: F401

    torch.set_num_threads(1)
    if "fd" not in plan:
        connection = socket.create_connection(("127.0.0.1", plan["port"]))
        connection.sendall(token)
        alone(connection)
        return
    control.send(b"ready\n")
    Parent(control, plan["isolated"]).serve()


class Parent:
    """Forks a child when told to, and leaves nothing of it behind."""

    def __init__(self, control: socket.socket, isolated: bool):
        self.control, self.isolated, self.count = control, isolated, 0
        self.home = os.environ["HOME"]
        if sys.platform == "linux":
            prctl(36, 1)                                 # PR_SET_CHILD_SUBREAPER: orphans come to us

    def serve(self) -> None:
        while True:
            data, fds, _, _ = socket.recv_fds(self.control, 4096, 1)
            if not data:
                break
            message = json.loads(data)
            if message["do"] == "start":
                for name in message["preload"]:
                    importlib.import_module(name)
                self.control.send(json.dumps({"pid": self.start(fds[0], message["limits"])}).encode() + b"\n")
            else:
                self.control.send(json.dumps(self.end(message["pid"], message["wait"])).encode() + b"\n")
        self.sweep(None)

    def start(self, fd: int, limits: dict) -> int:
        self.count += 1
        pid = os.fork()
        if pid:
            os.close(fd)
            return pid
        try:
            self.control.close()
            limits["torch"] = sys.modules["torch"].__file__
            settle(limits, LOWEST_UID + self.count % UIDS, self.home, self.isolated)
            answer(socket.socket(fileno=fd))
        finally:
            os._exit(0)

    def end(self, pid: int, wait: float) -> dict:
        """Kill the child and whatever it started. Says how it had ended, given `wait` seconds to, and whether nothing
        is left of it."""
        until = time.monotonic() + wait
        while True:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended or time.monotonic() >= until:
                break
            time.sleep(0.002)
        gone = self.sweep(pid if not ended else None)
        return {"status": os.waitstatus_to_exitcode(status) if ended else None, "clean": gone and self.wipe()}

    def sweep(self, pid: int | None) -> bool:
        """Kill every process that a child started; True when none is left."""
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
            for victim in {pid, *children()} - {None}:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(victim, signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
            if self.isolated:                            # nothing else lives here, but the init of the sandbox
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(-1, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return True
            time.sleep(0.001)
        return False

    def wipe(self) -> bool:
        """Empty the places that a child may write to, and what of System V it may leave; True if all is gone."""
        places = [self.home, "/dev/shm", "/var/tmp"] if self.isolated else [self.home]
        for place in places:
            for entry in os.scandir(place) if os.path.isdir(place) else ():
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, onerror=loosen)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)
            if os.path.isdir(place) and os.listdir(place):
                return False
        for kind in ("shm", "sem", "msg") if self.isolated else ():
            with contextlib.suppress(FileNotFoundError), open(f"/proc/sysvipc/{kind}") as table:
                if len(table.readlines()) > 1:
                    return False
        return True


def loosen(function, path, _) -> None:
    """Try again what rmtree could not do, after giving ourselves the right to."""
    with contextlib.suppress(OSError):
        for one in (os.path.dirname(path), path):
            os.chmod(one, 0o700)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def children() -> list[int]:
    """The processes whose parent this one is, as far as the system tells."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(one) for one in file.read().split()]
    return []


def prctl(option: int, value: int) -> None:
    import ctypes

    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def settle(limits: dict, uid: int, home: str, isolated: bool) -> None:
    """In the child: nothing to read, nowhere to print, limits that cannot be raised, no rights, an empty folder."""
    import resource

    os.setsid()
    silence()
    soft = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": limits["file"], "RLIMIT_NOFILE": 256, "RLIMIT_CPU": limits["cpu"],
            "RLIMIT_AS": size_now() + limits["memory"],
            "RLIMIT_NPROC": limits["processes"] + (0 if isolated or os.getuid() == 0 else tasks_now())}
    for name, value in soft.items():
        with contextlib.suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (value, value + (name == "RLIMIT_CPU")))
    if sys.platform == "linux":
        prctl(1, signal.SIGKILL)                         # PR_SET_PDEATHSIG
    folder = os.path.join(home, "run")
    os.mkdir(folder, 0o700)
    if os.getuid() == 0 and (isolated or open_to_all(os.__file__) and open_to_all(limits["torch"])):
        os.chown(folder, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    if sys.platform == "linux":
        prctl(38, 1)                                     # PR_SET_NO_NEW_PRIVS
        prctl(4, 0)                                      # PR_SET_DUMPABLE: nobody reads its memory
        prctl(1, signal.SIGKILL)                         # a change of user clears it
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder


def open_to_all(path: str) -> bool:
    """Whether any user may read what lies there."""
    return all(os.stat(part).st_mode & 1 for part in Path(path).resolve().parents)


def silence() -> None:
    """No input, and output to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def size_now() -> int:
    """Bytes of address space in use."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 1_500_000_000                                 # no /proc: about what torch takes


def tasks_now() -> int:
    """Threads of this user, where the limit counts all of them."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid == os.getuid():
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count or 1000


def alone(connection: socket.socket) -> None:
    """Serve one child's worth of questions in this process: on a system that cannot fork."""
    sys.stdin = open(os.devnull)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    answer(connection)


def answer(connection: socket.socket) -> None:
    """Hold a learner's definitions, and answer for them until the judge closes."""
    import builtins
    import linecache
    import random
    from functools import partial

    import torch

    from course_lib.grading.local import Local, OutOfTime, time_limit
    from course_lib.grading.wire import Border, Channel

    def nobody(*_, **__):
        raise EOFError("input() waits for somebody to type; nobody is there when it is graded")

    builtins.input = nobody
    torch.manual_seed(0)
    random.seed(0)
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    found: dict[str, Local] = {}

    def define(data):
        name = f"<cell {data['cell']}>"
        linecache.cache[name] = (len(data["source"]), None, data["source"].splitlines(True), name)
        try:
            with time_limit(data["seconds"]):
                exec(compile(data["source"], name, "exec", dont_inherit=True), module.__dict__)
        except OutOfTime:
            return f"it did not end within {data['seconds']:g} seconds"
        except BaseException as problem:
            return f"{type(problem).__name__}: {problem}"[:300]
        return None

    def find(data):
        function = module.__dict__.get(data["name"])
        found["it"] = Local(function, data["seconds"])
        return callable(function)

    def call(data):
        return vars(found["it"].call(data["args"], data["wrt"], data["weight"]))

    def run(function, args, kwargs):
        outcome = Local(partial(function, **kwargs), found["it"].deadline).call(args)
        return {"kind": outcome.kind, "value": outcome.value, "detail": outcome.detail}

    Border(Channel(connection), {"define": define, "find": find, "call": call}, run, generators=True).serve()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
