"""Confine a process: limits, a user of its own, refused system calls, memory that no other process reads."""
from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from course_lib.grading.protocol.process import prctl, size_now


def confine(limits: dict, uid: int, home: str, isolated: bool) -> None:
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
        refuse_system_calls()
        prctl(4, 0)                                      # PR_SET_DUMPABLE: nobody reads its memory
        prctl(1, signal.SIGKILL)                         # a change of user clears it
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder


NEW_USER = 0x10000000            # CLONE_NEWUSER
CALLS = {                        # machine -> its number in filters, then those of the system calls by name
    "x86_64": (0xC000003E, {"clone": 56, "unshare": 272, "clone3": 435, "memfd_create": 319,
                            "shmget": 29, "semget": 64, "msgget": 68}),
    "aarch64": (0xC00000B7, {"clone": 220, "unshare": 97, "clone3": 435, "memfd_create": 279,
                             "shmget": 194, "semget": 190, "msgget": 186}),
}


def refuse_system_calls() -> None:
    """No user namespaces, in which an answer would be root again, and no memory that belongs to no process: System V's
    and files without a name. A filter of the kernel's, where it has filters and the machine is known."""
    import ctypes
    import errno
    import struct

    machine, numbers = CALLS.get(os.uname().machine, (None, {}))
    if machine is None:
        return
    load, equal, any_of, give = 0x20, 0x15, 0x45, 0x06               # of the filter's language

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    refused = [step(give, 0x00050000 | errno.EPERM)]                 # SECCOMP_RET_ERRNO
    absent = [step(give, 0x00050000 | errno.ENOSYS)]                 # the C library takes clone instead of clone3
    allowed = [step(give, 0x7FFF0000)]
    program = [step(load, 4), step(equal, machine, 1), *allowed, step(load, 0)]      # another kind of call; the number
    if machine == 0xC000003E:                                        # the numbers of x32, which name the same calls
        program += [step(0x35, 0x40000000, 0, 1), *refused]
    for name in ("shmget", "semget", "msgget", "memfd_create"):
        program += [step(equal, numbers[name], 0, 1), *refused]
    program += [step(equal, numbers["clone3"], 0, 1), *absent]
    program += [step(equal, numbers["clone"], 1), step(equal, numbers["unshare"], 0, 3), step(load, 16),
                step(any_of, NEW_USER, 0, 1), *refused, *allowed]
    code = ctypes.create_string_buffer(b"".join(program))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    ctypes.CDLL(None).prctl(22, 2, ctypes.byref(Filter(len(program), ctypes.addressof(code))), 0, 0)   # PR_SET_SECCOMP


def open_to_all(path: str) -> bool:
    """Whether any user may read what lies there."""
    return all(os.stat(part).st_mode & 1 for part in Path(path).resolve().parents)


def silence() -> None:
    """No input, and output to nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def tasks_now() -> int:
    """Threads of this user, where the limit counts all of them."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else []):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:      # its folder may be root's
            if f"\nUid:\t{os.getuid()}\t" in file.read():
                count += len(os.listdir(f"/proc/{pid}/task"))
    return count or 1000
