"""Confine a process: limits, a user of its own, refused system calls, memory that no other process reads."""
import os
import signal

from course_lib.grading.protocol.process import prctl, size_now


def confine(limits: dict, uid: int, home: str) -> None:
    """In the child: nothing to read, nowhere to print, limits, no rights, an empty folder. Raises OSError or ValueError."""
    import resource

    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    soft = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": limits["file"], "RLIMIT_NOFILE": 64, "RLIMIT_CPU": limits["cpu"],
            "RLIMIT_AS": size_now() + limits["memory"], "RLIMIT_NPROC": limits["processes"]}
    for name, value in soft.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)         # a lower one is the grader's own
        resource.setrlimit(getattr(resource, name), (most, hard if 0 <= hard < value else value + (name == "RLIMIT_CPU")))
    prctl(1, signal.SIGKILL)                             # PR_SET_PDEATHSIG
    folder = os.path.join(home, "run")
    os.mkdir(folder, 0o700)
    if os.getuid() == 0:
        os.chown(folder, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    prctl(38, 1)                                         # PR_SET_NO_NEW_PRIVS
    refuse_system_calls()
    prctl(4, 0)                                          # PR_SET_DUMPABLE: nobody reads its memory
    prctl(1, signal.SIGKILL)                             # a change of user clears it
    os.chdir(folder)
    os.environ["HOME"] = os.environ["TMPDIR"] = folder


NEW_USER = 0x10000000            # CLONE_NEWUSER
X32 = 0x40000000                 # a bit of the numbers of x32, which name the same calls
# Refused: memory and objects that belong to no process (System V's, queues, keys, files without a name, io_uring, ...), changes of
# priority, and sockets from FAMILIES on, of which some reach the host of a virtual machine (vsock) or its devices from any namespace.
# OWN are allowed for the caller itself, by the number 0: an answer changes no limit of the worker.
FAMILIES = 11                    # AF_UNIX, AF_INET and AF_INET6 are below
REFUSED = ("shmget", "semget", "msgget", "memfd_create", "memfd_secret", "mq_open", "add_key", "request_key", "keyctl", "io_uring_setup",
           "bpf", "userfaultfd", "perf_event_open", "setpriority", "ioprio_set")
OWN = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
NAMES = (*REFUSED, *OWN, "clone", "unshare", "clone3", "socket")
CALLS = {                        # machine -> its number in filters, then those of the system calls by name
    "x86_64": (0xC000003E, dict(zip(NAMES, (29, 64, 68, 319, 447, 240, 248, 249, 250, 425, 321, 323, 298, 141, 251,
                                            302, 203, 144, 142, 314, 56, 272, 435, 41), strict=True))),
    "aarch64": (0xC00000B7, dict(zip(NAMES, (194, 190, 186, 279, 447, 180, 217, 218, 219, 425, 280, 282, 241, 140, 30,
                                             261, 122, 119, 118, 274, 220, 97, 435, 198), strict=True))),
}


def refuse_system_calls() -> None:
    """A filter of the kernel's: no user namespaces, and none of the calls above. Raises OSError if the kernel has no filters."""
    import ctypes
    import errno
    import struct

    machine, numbers = CALLS[os.uname().machine]
    load, equal, at_least, any_of, give = 0x20, 0x15, 0x35, 0x45, 0x06         # of the filter's language

    def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    refused = [step(give, 0x00050000 | errno.EPERM)]                 # SECCOMP_RET_ERRNO
    absent = [step(give, 0x00050000 | errno.ENOSYS)]                 # the C library takes clone instead of clone3
    allowed = [step(give, 0x7FFF0000)]
    first_argument = step(load, 16)                                  # its lower half
    program = [step(load, 4), step(equal, machine, 1), *refused, step(load, 0)]      # the kind of call, such as int 0x80; the number
    if machine == 0xC000003E:
        program += [step(at_least, X32, 0, 1), *refused]
    for name in REFUSED:
        program += [step(equal, numbers[name], 0, 1), *refused]
    for name in OWN:
        program += [step(equal, numbers[name], 0, 4), first_argument, step(equal, 0, 1), *refused, *allowed]
    program += [step(equal, numbers["socket"], 0, 4), first_argument, step(at_least, FAMILIES, 0, 1), *refused, *allowed]
    program += [step(equal, numbers["clone3"], 0, 1), *absent]
    program += [step(equal, numbers["clone"], 1), step(equal, numbers["unshare"], 0, 3), first_argument,
                step(any_of, NEW_USER, 0, 1), *refused, *allowed]
    code = ctypes.create_string_buffer(b"".join(program))

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]

    if ctypes.CDLL(None, use_errno=True).prctl(22, 2, ctypes.byref(Filter(len(program), ctypes.addressof(code))), 0, 0):   # PR_SET_SECCOMP
        raise OSError(ctypes.get_errno(), "the kernel filters no system calls")
