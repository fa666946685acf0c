"""The worker: a program that imports torch once and forks a child for each exercise; the parent itself runs no learner's code."""
import contextlib
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import time

LOWEST_UID = 200_000            # as root, each child gets a user of its own, and each worker a block of them
UIDS = 512
SWEEP = 5.0                     # seconds to be rid of all processes of a child
WATCH = 0.1                     # seconds between looks at what all processes of a child hold together
FILES = 10_000                  # files and folders that they may make: each takes memory of the kernel's
SHARE = 2                       # times the memory of one process that they may hold; what they share counts for each


def main(plan: dict) -> None:
    """plan: fd (the control socket), path (of modules). Every other process here is this worker's."""
    if os.getpid() != 1:
        sys.exit("the worker kills all processes that it sees, so it runs in a sandbox alone")
    sys.path[:] = plan["path"]
    from course_lib.grading.protocol.process import prctl

    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")                               # where memory runs out, the kernel ends the sandbox first
    prctl(4, 0)                                          # PR_SET_DUMPABLE: its children of the same user neither read nor write its memory
    prctl(36, 1)                                         # PR_SET_CHILD_SUBREAPER: orphans come to us
    from course_lib.grading.protocol import allowlist

    allowlist.install()
    signal.signal(signal.SIGINT, signal.SIG_IGN)         # in bubblewrap it is process 1: no signal without a handler
    control = socket.socket(fileno=plan["fd"])
    control.send(b"hello\n")
    gc.disable()                                         # what is imported stays: nothing of it is garbage
    import torch

    import course_lib.grading.protocol.calls
    import course_lib.grading.protocol.wire  # noqa: F401

    gc.freeze()
    gc.enable()
    torch.set_num_threads(1)
    parent = Parent(control)
    control.send(b"ready\n")
    parent.serve()


def alone(plan: dict) -> None:
    """Answer without isolation, in a process of its own, under limits and with only what is allowed of the course."""
    import resource

    sys.path[:] = plan["path"]
    from course_lib.grading.protocol import allowlist
    from course_lib.grading.protocol.process import size_now

    allowlist.install()
    for name in ["torch", "course_lib.grading.protocol.wire", *plan["preload"]]:
        importlib.import_module(name)
    sys.modules["torch"].set_num_threads(1)
    limits = plan["limits"]
    for name, value in (("CORE", 0), ("FSIZE", limits["file"]), ("CPU", limits["cpu"]), ("AS", size_now() + limits["memory"])):
        with contextlib.suppress(ValueError, OSError):   # macOS does not give each
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    connection = socket.socket(fileno=plan["fd"])
    connection.send(b"!")
    answer(connection)


class Parent:
    """Forks a child when told to, and leaves nothing of it behind."""

    def __init__(self, control: socket.socket):
        self.control, self.count = control, 0
        self.memory: int | None = None                   # bytes that the child of now may hold, with all it starts
        self.why = ""                                    # that it was killed for another reason than memory
        self.home = os.environ["HOME"]
        self.places = [self.home, "/dev/shm", "/var/tmp"]       # that a child may write to
        self.given = own_limits(), list(map(state_of, self.places))

    def serve(self) -> None:
        """Do what the grader asks over the control socket, until it closes."""
        while True:
            while self.memory is not None and not select.select([self.control], [], [], WATCH)[0]:
                self.watch()
            data, fds, _, _ = socket.recv_fds(self.control, 4096, 1)
            if not data:
                break
            message = json.loads(data)
            if message["do"] == "start":
                for name in message["preload"]:
                    importlib.import_module(name)
                self.memory, self.why = message["limits"]["memory"] * SHARE, ""
                uid = LOWEST_UID + message["worker"] * UIDS + self.count % UIDS
                try:
                    reply = {"pid": self.start(fds[0], message["limits"], uid)}
                except RuntimeError as problem:
                    reply = {"error": str(problem)}
                self.control.send(json.dumps(reply).encode() + b"\n")
            else:
                self.memory = None
                self.control.send(json.dumps(self.end(message["pid"], message["wait"])).encode() + b"\n")
        self.sweep()

    def watch(self) -> None:
        """Kill everything of the child's if its processes together hold more memory than they may, or have made more files."""
        ours, held = own_memory(os.getpid()), 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            held += max(0, own_memory(int(pid)) - ours)  # what it has from here is shared with us
        crowded = sum(map(count_files, self.places)) > FILES
        if held > self.memory or crowded:
            self.memory, self.why = None, f"It made more than {FILES} files." if crowded else ""
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)              # of this sandbox; process 1 is not meant

    def start(self, fd: int, limits: dict, uid: int) -> int:
        """Fork a child that answers over `fd`, as root the user `uid`; returns its number. Raises RuntimeError if it cannot be confined."""
        from course_lib.grading.sandbox.inside.confine import confine

        self.count += 1
        reading, writing = os.pipe()
        pid = os.fork()
        if pid:
            os.close(fd)
            os.close(writing)
            with open(reading) as pipe:
                if (said := pipe.read()) != "confined":
                    raise RuntimeError(f"an answer could not be confined: {said}")
            return pid
        try:
            os.close(reading)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.control.close()
            try:
                confine(limits, uid, self.home)
            except (OSError, ValueError) as problem:
                os.write(writing, str(problem).encode()[:1000])
                return 0
            os.write(writing, b"confined")
            os.close(writing)
            answer(socket.socket(fileno=fd))
        finally:
            os._exit(0)

    def end(self, pid: int, wait: float) -> dict:
        """Kill the child and whatever it started. Says how it had ended, given `wait` seconds to, and whether nothing is left of it."""
        until = time.monotonic() + wait
        ended, status = os.waitpid(pid, os.WNOHANG)
        while not ended and time.monotonic() < until:
            time.sleep(0.002)
            ended, status = os.waitpid(pid, os.WNOHANG)
        clean = self.sweep() and self.wipe() and (own_limits(), list(map(state_of, self.places))) == self.given
        return {"status": os.waitstatus_to_exitcode(status) if ended else None, "clean": clean, "why": self.why}

    def sweep(self) -> bool:
        """Kill every process but this one, which is process 1 here; True when none is left."""
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
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
        for place in self.places:
            for entry in os.scandir(place) if os.path.isdir(place) else ():
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, onerror=retry_with_rights)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(entry.path)
            if os.path.isdir(place) and os.listdir(place):
                return False
        for kind in ("shm", "sem", "msg"):
            with contextlib.suppress(FileNotFoundError), open(f"/proc/sysvipc/{kind}") as table:
                if len(table.readlines()) > 1:
                    return False
        return True


def retry_with_rights(function, path, _) -> None:
    """Try again what rmtree could not do, after giving ourselves the right to."""
    with contextlib.suppress(OSError):
        for name in (os.path.dirname(path), path):
            os.chmod(name, 0o700)
        shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.unlink(path)


def count_files(place: str) -> int:
    """The files and folders on the file system that this folder is: it has one of its own."""
    with contextlib.suppress(OSError):
        state = os.statvfs(place)
        return state.f_files - state.f_ffree
    return 0


def state_of(place: str) -> tuple[int, list[str]]:
    """The rights on a folder, and its attributes: where there is no root, it belongs to the child too, which may change them."""
    with contextlib.suppress(OSError, AttributeError):   # not on each file system, nor on macOS
        return os.stat(place).st_mode, os.listxattr(place)
    return os.stat(place).st_mode, []


def own_memory(pid: int) -> int:
    """Bytes that are this process's and no file's, anonymous or shared, in memory or swapped out; 0 if it has gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        return 1024 * sum(int(line.split()[1]) for line in file if line.startswith(("RssAnon", "RssShmem", "VmSwap")))
    return 0


def own_limits() -> list:
    """What a child inherits: limits, priority, processors and scheduling."""
    import resource

    limits: list = [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")]
    return [*limits, os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0)]


def answer(connection: socket.socket) -> None:
    """Hold a learner's definitions, and answer for them until the grader closes."""
    import builtins
    import random
    from functools import partial

    import torch

    from course_lib.grading.protocol.calls import Local, OutOfTime, time_limit
    from course_lib.grading.protocol.wire import Channel, Endpoint
    from course_lib.grading.sandbox.inside.session import Session

    def refuse_input(*_, **__):
        raise EOFError("input() waits for somebody to type; nobody is there when it is graded")

    builtins.input = refuse_input
    torch.manual_seed(0)
    random.seed(0)
    session = Session()
    module = sys.modules["__main__"] = session.module
    local = None                                         # the learner's function, after `find`

    def define(data):
        try:
            with time_limit(data["seconds"]):
                session.run(data["source"], f"<cell {data['cell']}>")
        except OutOfTime:
            return f"it did not end within {data['seconds']:g} seconds"
        except BaseException as problem:
            return f"{type(problem).__name__}: {problem}"[:300]

    def find(data):
        nonlocal local
        function = module.__dict__.get(data["name"])
        if data["build"]:
            from course_lib.grading.protocol.models import ModelServer

            function = ModelServer(function) if isinstance(function, type) else None
        local = Local(function, data["seconds"], data["forbid"])
        return callable(function)

    def call(data):
        outcome, after = local.call_and_report_arguments(data["args"], data["wrt"], data["weight"])
        return vars(outcome) | {"after": after}

    def run(function, args, kwargs):
        outcome, _ = Local(partial(function, **kwargs), local.deadline, local.forbid).call_and_report_arguments(args)
        return {"kind": outcome.kind, "value": outcome.value, "detail": outcome.detail}

    Endpoint(Channel(connection), {"define": define, "find": find, "call": call}, run, generators=True).serve()


if __name__ == "__main__":
    plan = json.loads(sys.argv[1])
    alone(plan) if "limits" in plan else main(plan)
