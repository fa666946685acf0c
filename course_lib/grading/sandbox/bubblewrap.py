"""The namespaces that a learner's code runs in: no network, read-only Python and packages, of the course what `allowlist` names."""
import functools
import importlib.util
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from course_lib.grading.protocol import allowlist

PACKAGE = Path(__file__).resolve().parents[2]                        # course_lib
FOLDERS = [folder.replace(".", "/") for folder in allowlist.FOLDERS]      # all of the grader that exists there
COURSE = "/course"                       # where the package lies in the sandbox
SCRATCH = "/scratch"                     # what an answer may write to; /tmp is another name for it
PROGRAM = f"{COURSE}/course_lib/grading/sandbox/inside/worker.py"         # the file that the worker is started from


def environment() -> dict[str, str]:
    """The environment of the worker, with nothing of the caller's. torch.compile returns what it is given: the sandbox has no compiler."""
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    return {"PATH": os.defpath, "HOME": SCRATCH, "TMPDIR": SCRATCH, "LANG": "C.UTF-8", "TORCHDYNAMO_DISABLE": "1", **threads}


def search_path() -> list[str]:
    """The folders that modules come from: this package's and those below `roots`."""
    inside, entries = roots(), [str(Path(entry).resolve()) for entry in sys.path if entry and os.path.exists(entry)]
    return [COURSE, *(entry for entry in dict.fromkeys(entries) if any(within(entry, root) for root in inside))]


def within(path: str, root: str) -> bool:
    """True if the path is the folder `root` or lies below it."""
    return path == root or path.startswith(root.rstrip("/") + "/")


def roots() -> list[str]:
    """The folders that Python and its packages lie in."""
    folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parent.parent)]
    folders += [str(Path(importlib.util.find_spec(name).origin).resolve().parent.parent) for name in ("torch", "numpy")]
    folders = list(dict.fromkeys(str(Path(folder)) for folder in folders if folder not in ("/", "")))
    return [folder for folder in folders if not any(folder != other and within(folder, other) for other in folders)]


def bubblewrap() -> list[str]:
    """The command that makes the sandbox, up to the program to run in it."""
    command = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--as-pid-1",
               "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox", "--clearenv"]
    if os.getuid() != 0:                     # root needs none, and gives each child a user of its own instead
        command += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    for name, value in environment().items():
        command += ["--setenv", name, value]
    for path in ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix/store", "/etc/ld.so.cache", "/etc/alternatives",
                 "/etc/localtime"):
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
    places = [root for root in roots() if not within(root, "/usr")]
    for parent in sorted({str(parent) for place in [*places, *(f"{COURSE}/course_lib/{folder}" for folder in FOLDERS), "/var/tmp"]
                          for parent in Path(place).parents} - {"/"}):
        command += ["--perms", "0755", "--dir", parent]              # each child, whatever its user, has to reach them
    for place in places:
        command += ["--ro-bind", place, place]
    for name in (SCRATCH, "/var/tmp", "/dev/shm"):
        if name == "/dev/shm":
            command += ["--dev", "/dev"]
        command += ["--perms", "1777", "--size", "64000000", "--tmpfs", name]
    if not any(within(place, "/tmp") for place in places):           # where Python lies there, it is for reading
        command += ["--symlink", SCRATCH, "/tmp"]
    command += ["--proc", "/proc"]                                   # without it nothing could sum the memory of an answer
    for folder in hidden([*places, "/usr"]):
        command += ["--perms", "0755", "--size", "4096", "--tmpfs", folder, "--remount-ro", folder]
    for name in [*(f"{name}.py" for name in allowlist.FILES), *FOLDERS]:
        command += ["--ro-bind", str(PACKAGE / name), f"{COURSE}/course_lib/{name}"]
    return command + ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SCRATCH, "--"]


@functools.cache
def find_copies(root: str) -> list[Path]:
    """The folders at most seven levels below `root` that hold a copy of the course. Of installed packages only the names are read."""
    copies = []
    for place, folders, _ in os.walk(root):
        if "course_lib" in folders:
            copies.append(Path(place))
        if os.path.basename(place) in ("site-packages", "dist-packages") or place.count("/") > root.count("/") + 6:
            folders.clear()
    return copies


def hidden(places: Sequence[str]) -> list[str]:
    """The folders of the course below these, which are bound."""
    return [str(base / name) for place in places for base in find_copies(place)
            for name in ("course_lib", "solutions", "exercises") if (base / name).is_dir()]


def control_group(memory: int) -> list[str]:
    """The command that runs another in a control group with so many bytes; Delegate keeps it when a process of it is killed."""
    command = [shutil.which("systemd-run") or "systemd-run", "--scope", "--quiet", "--collect", "--no-ask-password"]
    if os.getuid() != 0:
        command.append("--user")
    return [*command, f"--property=MemoryMax={memory}", "--property=MemorySwapMax=0", "--property=Delegate=yes", "--"]
