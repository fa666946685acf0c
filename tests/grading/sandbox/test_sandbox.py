"""What a learner's code can reach: in bubblewrap's sandbox, and what is promised without it."""
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

import course_lib
from course_lib.grading.sandbox import bubblewrap as bubblewrap_module
from course_lib.grading.sandbox import sandbox
from course_lib.grading.sandbox.bubblewrap import bubblewrap, control_group
from course_lib.grading.sandbox.inside import confine
from course_lib.grading.sandbox.sandbox import Limits, NoSandbox, Worker
from tests.grading.sample_submissions import LOGLIK, SHORT, TABLE, graded, quick


def test_bubblewrap_is_installed(worker):
    if sys.platform != "linux":
        pytest.skip("bubblewrap needs Linux")
    assert shutil.which("bwrap"), "bubblewrap is missing here: apt-get install bubblewrap"
    assert worker.level in sandbox.ISOLATED, f"the tests of the sandbox did not run in one: {worker.why}"


def attack(body: str) -> str:
    """A right answer if `body` fails, a wrong one if it succeeds."""
    lines = "\n".join("        " + line for line in body.strip().splitlines())
    return ("import torch, os, sys, socket, glob, ctypes, subprocess, signal, builtins\n\ndef bernoulli_chain_loglik(x, p):\n"
            f"    try:\n{lines}\n    except (Exception, SystemExit):\n"
            "        return torch.where(x == 1, p, 1 - p).log().sum(dim=1)\n    return None\n")


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A file that any user may read, an environment variable, a server on this machine."""
    folder = tmp_path_factory.mktemp("secret")
    for place in (folder, folder.parent, folder.parent.parent):
        place.chmod(0o755)
    (folder / "answers.txt").write_text("42")
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, args=(server,), daemon=True).start()
    yield {"file": str(folder / "answers.txt"), "port": server.getsockname()[1], "folder": str(folder)}
    server.close()


def accept(server):
    while True:
        try:
            server.accept()[0].close()
        except OSError:
            return


REACHES = {                     # what an attack tries to reach; each succeeds without the sandbox
    "the network": "socket.create_connection(('127.0.0.1', {port}), 2).close()",
    "files": "open({file!r}).read()",
    "solutions": "from course_lib.exercises import EXERCISES",
    "solutions, with what refuses them taken away": "sys.meta_path.pop(0); from course_lib.exercises import EXERCISES",
    "the library": "sys.meta_path.pop(0); from course_lib.transformer.attention import attention",
    "references": "[path] = glob.glob(os.path.dirname(__import__('course_lib').__file__) + '/exercises/*/nade_loglik.py')",
    "processes": "assert open('/proc/{judge}/cmdline', 'rb').read() == {command!r}",
    "the judge": "os.kill({judge}, 0)",
}


@pytest.mark.parametrize("what", REACHES)
def test_sandbox_denies_access(tmp_path, sandboxed, secret, what):
    body = REACHES[what].format(judge=os.getpid(), command=Path("/proc/self/cmdline").read_bytes(), **secret)
    assert graded(tmp_path, sandboxed, attack(body), exercises=quick("bernoulli_chain_loglik")).score == 1


NEVER = {                       # out of reach by the limits of a process
    "the environment": "assert 'SECRET_OF_THE_JUDGE' in open('/proc/self/environ').read() + str(dict(os.environ))",
    "large files": "open('big', 'wb').write(bytes(30_000_000))",
    "more files than a few": "kept = [open(os.devnull) for _ in range(500)]",
    "core dumps": "import resource; assert resource.getrlimit(resource.RLIMIT_CORE)[1] != 0",
    "higher limits": "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**62, 2**62))",
    "the control socket": "assert [fd for fd in range(3, 200) if alive(fd)][1:]",
    "standard output": "assert os.readlink('/proc/self/fd/1') != '/dev/null'",
    "standard input": "assert sys.stdin.read(1) or True; input()",
}
ALIVE = """
import stat
def alive(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
"""


@pytest.mark.thorough
@pytest.mark.parametrize("what", NEVER)
def test_limits_deny_access(tmp_path, sandboxed, what):
    result = graded(tmp_path, sandboxed, "import os" + ALIVE, attack(NEVER[what]), exercises=quick("bernoulli_chain_loglik"))
    assert result.score == 1, result.reports[0]


WRITES = {"the system": "open('/usr/x', 'w')", "the package": "open(__import__('course_lib').__file__, 'a')",
          "Python": "open(os.__file__, 'a')", "the root": "open('/x', 'w')", "devices": "open('/dev/x', 'w')",
          "a full disk": "[open(f'/dev/shm/{i}', 'wb').write(bytes(9_000_000)) for i in range(12)]",
          "mounts": "if ctypes.CDLL(None, use_errno=True).mount(b'a', b'/tmp', b'tmpfs', 0, None): raise OSError",
          "root": "os.setuid(0); assert os.geteuid() == 0 and open('/proc/1/mem', 'rb').read(1)"}


NUMBERS = confine.CALLS.get(os.uname().machine, (0, {}))[1]
INT80 = """
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("53 89f8 89f3 89d1 cd80 5b c3"))        # a 32-bit call of the number and argument that are passed
call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
"""
TOGETHER = {                    # what the limits of one process do not bound, or what outlives it
    "a user namespace by a 32-bit call": INT80 + "assert call(310, 0x10000000) == 0",
    "a message queue": "assert ctypes.CDLL(None).mq_open(b'/left', 0o102, 0o666, None) >= 0",
    "a key": f"assert ctypes.CDLL(None).syscall({NUMBERS.get('add_key')}, b'user', b'left', b'x', 1, -5) >= 0",
    "limits of a process by its number": "import resource; resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))",
    "priority": "os.setpriority(os.PRIO_PROCESS, 0, 19)",
    "processors of a process by its number": "os.sched_setaffinity(os.getpid(), {0})",
    "scheduling of a process by its number": "os.sched_setscheduler(os.getpid(), os.SCHED_IDLE, os.sched_param(0))",
    "io_uring": "assert ctypes.CDLL(None).syscall(425, 4, bytes(120)) >= 0",
    "a user namespace": "assert ctypes.CDLL(None).unshare(0x10000000) == 0",
    "a user namespace in a new process": "assert ctypes.CDLL(None).syscall(56, 0x10000000 | 17, 0, 0, 0, 0) >= 0",
    "memory of System V": "assert ctypes.CDLL(None).shmget(0, 1_000_000, 0o1666) >= 0",
    "files without a name": "os.memfd_create('x')",
    "sockets to the host of a virtual machine": "try: socket.socket(40, socket.SOCK_STREAM)\nexcept PermissionError: raise\nexcept OSError: pass",
}


@pytest.mark.parametrize("what", TOGETHER)
def test_unaccounted_memory_is_refused(tmp_path, sandboxed, what):
    if os.uname().machine != "x86_64" and ("new process" in what or "32-bit" in what):
        pytest.skip("the code is x86's")
    if "32-bit" in what and subprocess.run([sys.executable, "-c", INT80 + "call(20, 0)"]).returncode:
        pytest.skip("this kernel has no 32-bit calls")
    report = graded(tmp_path, sandboxed, attack(TOGETHER[what]), exercises=quick("bernoulli_chain_loglik")).reports[0]
    assert report.score == 1, report


def test_file_count_is_bounded(tmp_path, sandboxed):
    """Each takes memory of the kernel's, which no limit of a process counts. In folders of folders, without a content."""
    many = """
import os, time
def bernoulli_chain_loglik(x, p):
    for place in ("/scratch/run", "/dev/shm", "/var/tmp"):
        for i in range(5_000):
            open(f"{place}/{i}", "w").close()
    time.sleep(1000)
"""
    few = many.replace("5_000", "300").replace("time.sleep(1000)", "return torch.where(x == 1, p, 1 - p).log().sum(dim=1)")
    began = time.monotonic()
    first, second = graded(tmp_path, sandboxed, many, TABLE, exercises=quick(deadline=30)).reports
    assert first.state == "error" and "It made more than 10000 files" in first.message, first
    assert second.state == "right" and time.monotonic() - began < 25
    exercises = quick("bernoulli_chain_loglik", deadline=30)
    assert graded(tmp_path, sandboxed, "import torch", few, exercises=exercises).reports[0].state == "right"


@pytest.mark.parametrize("kept", [pytest.param('b"x" * 200_000_000', id="private"), pytest.param(
    "mmap.mmap(-1, 200_000_000); [kept.write(bytes(1_000_000)) for _ in range(200)]", id="shared")])
def test_total_memory_is_bounded(tmp_path, sandboxed, kept):
    crowd = f"""
import mmap, os, time
def bernoulli_chain_loglik(x, p):
    for _ in range(6):
        if os.fork() == 0:
            kept = {kept}
            time.sleep(1000)
    time.sleep(1000)
"""
    limits = replace(SHORT, memory=300_000_000)
    began = time.monotonic()
    first, second = graded(tmp_path, sandboxed, crowd, TABLE, exercises=quick(deadline=30), limits=limits).reports
    assert first.state == "error" and "as it does when memory runs out" in first.message, first
    assert second.state == "right" and time.monotonic() - began < 25


@pytest.mark.parametrize("what", WRITES)
def test_sandbox_is_read_only(tmp_path, sandboxed, what):
    result = graded(tmp_path, sandboxed, attack(WRITES[what]), exercises=quick("bernoulli_chain_loglik", deadline=5))
    assert result.score == 1, result.reports[0]


def test_sandbox_holds_no_reference(tmp_path, sandboxed):
    search = """
if hasattr(sys, "searched"):
    raise ValueError
sys.searched, found = True, []
for top in ("/course", "/tmp", "/root", "/home", "/var", "/opt", "/srv", "/mnt", os.path.dirname(torch.__path__[0])):
    for folder, folders, names in os.walk(top):
        if os.path.basename(folder) == "site-packages":
            folders[:] = [name for name in folders if "course" in name]
        for name in names:
            if name.endswith((".py", ".ipynb", ".json")) and ("course" in folder or "grading" in name or "exercises" in name):
                text = open(os.path.join(folder, name), errors="replace").read()
                found += [name] * ("bernoulli_chain_loglik_" + "reference" in text)
assert found
"""
    assert graded(tmp_path, sandboxed, attack(search), exercises=quick("bernoulli_chain_loglik", deadline=20)).score == 1


def test_sandbox_holds_only_allowed_modules(sandboxed):
    """Every file and folder of the course: where the program that lists them runs as the worker does, and here."""
    code = ("import os\nfor place, folders, names in os.walk('/course'):\n"
            "    print(*(os.path.join(place, name) for name in folders + names), sep='\\n')")
    seen = subprocess.run([*bubblewrap(), sys.executable, "-I", "-B", "-c", code], capture_output=True,
                          text=True, check=True).stdout.split()
    package = Path(course_lib.__file__).parent
    allowed = [package / "grading" / "protocol", package / "grading" / "sandbox" / "inside"]
    held = {path.removeprefix("/course/course_lib/") for path in seen if "__pycache__" not in path} - {"/course/course_lib"}
    assert held == {"__init__.py", "autoregressive.py", "validation.py", "conditional.py", "grading",
                    "grading/sandbox", *(str(path.relative_to(package)) for folder in allowed for path in [folder, *folder.rglob("*")]
                                         if "__pycache__" not in path.parts)}
    assert {path.name for folder in allowed for path in folder.glob("*.py")} == {
        "__init__.py", "allowlist.py", "calls.py", "models.py", "process.py", "traceback.py", "wire.py", "confine.py", "session.py",
        "worker.py"}


def test_installed_package_is_hidden(tmp_path, sandboxed, monkeypatch):
    """Installed, not cloned: the folder of packages is bound as it is, and the course lies in it."""
    site = tmp_path / "site-packages"
    shutil.copytree(Path(course_lib.__file__).parent, site / "course_lib", ignore=shutil.ignore_patterns("weights", "corpus"))
    (site / "other.py").touch()
    prefix = tmp_path / "prefix"                          # of another Python, whose packages are not on the path
    for folder in ("lib/python3.11/dist-packages", "src/course/build/lib"):
        (prefix / folder / "course_lib").mkdir(parents=True)
        (prefix / folder / "course_lib" / "exercises.py").touch()
    own = bubblewrap_module.roots()
    monkeypatch.setattr(bubblewrap_module, "roots", lambda: [*own, str(site), str(prefix)])
    monkeypatch.setattr(bubblewrap_module, "PACKAGE", site / "course_lib")
    monkeypatch.syspath_prepend(str(site))
    code = (f"import os\nfor top in ('/course', {str(site)!r}, {str(prefix)!r}):\n    for place, _, names in os.walk(top):\n"
            "        print(*(os.path.join(place, name) for name in names), sep='\\n')")
    run = subprocess.run([*bubblewrap(), sys.executable, "-I", "-B", "-c", code], capture_output=True,
                         text=True, check=True)
    seen = {Path(path) for path in run.stdout.split()}
    assert {path for path in seen if site in path.parents} == {site / "other.py"}
    assert Path("/course/course_lib/conditional.py") in seen and not any("exercises" in str(path) for path in seen)


LEAVE = """
import os, time, torch
def bernoulli_chain_loglik(x, p):
    for place in ("left", "/tmp/left", "/dev/shm/left", "/var/tmp/left"):
        try:
            os.makedirs(place + "/a"); open(place + "/a/b", "w").write("x"); os.chmod(place, 0)
        except OSError:
            pass
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(1000)
    return torch.where(x == 1, p, 1 - p).log().sum(dim=1)
"""
LOOK = """
import os
def conditional_table(joint, i):
    there = [n for place in (".", "..", "/tmp", "/dev/shm", "/var/tmp") for n in os.listdir(place) if n == "left"]
    assert not there, there
    later = tuple(range(i + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    return joint[..., 1] / joint.sum(dim=-1)
"""


def test_exercise_leaves_nothing(tmp_path, sandboxed):
    one = sandboxed
    result = graded(tmp_path, one, LEAVE, LOOK, exercises=quick(deadline=5))
    assert result.score == 1, result.reports
    assert one.process.poll() is None
    assert descendants(one.process.pid) <= {"bwrap", Path(sys.executable).resolve().name, "python", "python3"}
    assert not [cmd for cmd in descendants(one.process.pid) if "sleep" in cmd]
    assert count(one.process.pid) <= 2, "a process outlived its exercise"


RIGHTS = """
import contextlib, os, torch
def bernoulli_chain_loglik(x, p):
    with contextlib.suppress(OSError):
        CHANGE
    return torch.where(x == 1, p, 1 - p).log().sum(dim=1)
"""


@pytest.mark.parametrize("change", ["os.chmod(PLACE, 0o555)", "os.setxattr(PLACE, 'user.left', b'x')"])
@pytest.mark.parametrize("place", ["/dev/shm", "/var/tmp", "/scratch"])
def test_exercise_leaves_rights_alone(tmp_path, sandboxed, place, change):
    """As an ordinary user an answer owns the folders that it may write to; as root it does not."""
    look = LOOK.replace("assert not there, there", f"assert (os.stat({place!r}).st_mode, os.listxattr({place!r})) == (0o41777, [])")
    change = RIGHTS.replace("CHANGE", change.replace("PLACE", repr(place)))
    assert graded(tmp_path, sandboxed, change, look, exercises=quick(deadline=5)).score == 1


def tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        except OSError:
            continue
        found += [int(one) for one in text.split()]
    return found


def count(pid: int) -> int:
    return len(tree(pid)) - 1


def descendants(pid: int) -> set[str]:
    names = set()
    for one in tree(pid)[1:]:
        try:
            names.add(Path(f"/proc/{one}/comm").read_text().strip())
        except OSError:
            pass
    return names


def test_killed_worker_is_replaced(tmp_path):
    with Worker() as one:
        cells = (LOGLIK, TABLE)
        assert graded(tmp_path, one, *cells, exercises=quick(deadline=5)).score == 1
        one.process.kill()
        one.process.wait()
        with pytest.raises(NoSandbox):
            graded(tmp_path, one, *cells, exercises=quick(deadline=5))
        assert graded(tmp_path, one, *cells, exercises=quick(deadline=5)).score == 1


def test_closed_worker_leaves_no_process():
    with Worker() as one:
        one.wait_ready()
        one.start(Limits()).close()
        pids = tree(one.process.pid)
    end = time.monotonic() + 5
    while (left := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left


def replace_program(tmp_path, monkeypatch, name: str, code: str) -> None:
    """Another program of this name, found first."""
    script = tmp_path / name
    script.write_text("#!/bin/sh\n" + code)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["no namespaces", "no /proc"])
def test_worker_refuses_without_namespaces(tmp_path, monkeypatch, case):
    """As in many containers. Without /proc, nothing could sum up the memory of an answer."""
    replace_program(tmp_path, monkeypatch, "bwrap", "exit 1\n" if case == "no namespaces" else
                    f'case " $* " in *" --proc "*) exit 1;; esac\nexec {shutil.which("bwrap")} "$@"\n')
    with Worker() as one, pytest.raises(NoSandbox, match="cannot make its namespaces"):
        one.wait_ready()


@pytest.mark.parametrize("place, name, value, words", [
    ("shutil", "which", lambda _: None, "is not installed"), ("sys", "platform", "darwin", "this is darwin"), ("sandbox", "CALLS", {}, "of this processor")])
def test_no_sandbox_says_what_to_do(monkeypatch, place, name, value, words):
    monkeypatch.setattr(getattr(sandbox, place, sandbox), name, value)
    with pytest.raises(NoSandbox, match=f"{words}.*apt-get install bubblewrap.*Containerfile"):
        Worker()


SYSTEMD_RUN = """
while [ "$1" != -- ]; do echo "$1" >> %s; shift; done
shift
exec "$@"
"""


@pytest.mark.parametrize("case", ["group", pytest.param("no group", marks=pytest.mark.thorough)])
def test_worker_runs_in_control_group(tmp_path, monkeypatch, sandboxed, case):
    """With a systemd-run that notes its options and runs the command, or that fails."""
    monkeypatch.setattr(sandbox, "SYSTEMD", str(tmp_path))
    replace_program(tmp_path, monkeypatch, "systemd-run", SYSTEMD_RUN % (tmp_path / "options") if case == "group" else "exit 1\n")
    assert sandbox.detect_isolation() == "bubblewrap+cgroup"
    with Worker() as one:
        result = graded(tmp_path, one, LOGLIK, TABLE, exercises=quick(deadline=5))
    assert result.score == 1 and result.isolation == ("bubblewrap+cgroup" if case == "group" else "bubblewrap")
    if case == "group":
        options = (tmp_path / "options").read_text().splitlines()
        assert options == control_group(6_000_000_000)[1:-1]
        assert {"--scope", "--property=MemoryMax=6000000000", "--property=MemorySwapMax=0"} <= set(options)
        assert ("--user" in options) == (os.getuid() != 0)


def test_worker_with_other_limits_is_replaced(tmp_path):
    """Whatever lowers the limits of the worker, no later answer inherits them."""
    with Worker() as one:
        one.wait_ready()
        for pid in tree(one.process.pid):
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (40, 40))
        one.start(Limits()).close()
        one.end()
        assert one.process is None
        assert graded(tmp_path, one, LOGLIK, TABLE, exercises=quick(deadline=5)).score == 1


def test_sandbox_module_imports_no_torch():
    code = ("import sys, course_lib.grading.sandbox.sandbox, course_lib.grading.__main__\n"
            "sys.exit('torch' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(course_lib.__file__).parent.parent).returncode == 0
