"""What a learner's code can reach: in bubblewrap's sandbox, and what is promised without it."""
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import course_lib
from course_lib.grading import sandbox
from course_lib.grading.sandbox import Limits, NoSandbox, Worker
from tests.grading.submissions import LOGLIK, SHORT, TABLE, graded, quick


def test_bubblewrap_is_there_where_the_tests_run(worker):
    if sys.platform != "linux":
        pytest.skip("bubblewrap needs Linux")
    assert shutil.which("bwrap"), "bubblewrap is missing here: apt-get install bubblewrap"
    assert worker.level == "bubblewrap", f"the tests of the sandbox did not run in one: {worker.why}"


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
    "solutions": "from course_lib.grading.bank import EXERCISES",
    "references": "[path] = glob.glob(os.path.dirname(__import__('course_lib').__file__) + '/grading/bank/fvsbn.py')",
    "processes": "assert open('/proc/{judge}/cmdline', 'rb').read() == {command!r}",
    "the judge": "os.kill({judge}, 0)",
}


@pytest.mark.parametrize("what", REACHES)
def test_out_of_reach_in_the_sandbox(tmp_path, sandboxed, secret, what):
    body = REACHES[what].format(judge=os.getpid(), command=Path("/proc/self/cmdline").read_bytes(), **secret)
    assert graded(tmp_path, sandboxed, attack(body), exercises=quick("bernoulli_chain_loglik")).score == 1


@pytest.mark.parametrize("what", ["the network", "files", "solutions", "processes"])
def test_the_attacks_would_succeed_without_it(tmp_path, limited, secret, what):
    body = REACHES[what].format(judge=os.getpid(), command=Path("/proc/self/cmdline").read_bytes(), **secret)
    result = graded(tmp_path, limited, attack(body), exercises=quick("bernoulli_chain_loglik"))
    assert result.score == 0 and result.isolation == "limits"


NEVER = {                       # out of reach at either level
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


@pytest.mark.parametrize("level", ["sandboxed", "limited"])
@pytest.mark.parametrize("what", NEVER)
def test_out_of_reach_at_either_level(tmp_path, request, level, what, monkeypatch):
    one = request.getfixturevalue(level)
    result = graded(tmp_path, one, "import os" + ALIVE, attack(NEVER[what]), exercises=quick("bernoulli_chain_loglik"))
    assert result.score == 1, result.reports[0]


def test_the_workers_environment_holds_nothing_of_the_judges(monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_JUDGE", "1")
    assert "SECRET_OF_THE_JUDGE" not in sandbox.environment("/tmp")


WRITES = {"the system": "open('/usr/x', 'w')", "the package": "open(__import__('course_lib').__file__, 'a')",
          "Python": "open(os.__file__, 'a')", "the root": "open('/x', 'w')", "devices": "open('/dev/x', 'w')",
          "a full disk": "[open(f'/dev/shm/{i}', 'wb').write(bytes(9_000_000)) for i in range(12)]",
          "mounts": "if ctypes.CDLL(None, use_errno=True).mount(b'a', b'/tmp', b'tmpfs', 0, None): raise OSError",
          "root": "os.setuid(0); assert os.geteuid() == 0 and open('/proc/1/mem', 'rb').read(1)"}


@pytest.mark.parametrize("what", WRITES)
def test_cannot_be_written_to_in_the_sandbox(tmp_path, sandboxed, what):
    result = graded(tmp_path, sandboxed, attack(WRITES[what]), exercises=quick("bernoulli_chain_loglik", deadline=5))
    assert result.score == 1, result.reports[0]


def test_no_line_of_a_reference_can_be_read_in_the_sandbox(tmp_path, sandboxed):
    search = """
if hasattr(sys, "searched"):
    raise ValueError
sys.searched, found = True, []
for top in ("/course", "/tmp", "/root", "/home", "/var", "/opt", "/srv", "/mnt", os.path.dirname(torch.__path__[0])):
    for folder, folders, names in os.walk(top):
        if os.path.basename(folder) == "site-packages":
            folders[:] = [name for name in folders if "course" in name]
        for name in names:
            if name.endswith((".py", ".ipynb", ".json")) and ("course" in folder or "grading" in name or "bank" in name):
                text = open(os.path.join(folder, name), errors="replace").read()
                found += [name] * ("bernoulli_chain_loglik_" + "reference" in text)
assert found
"""
    assert graded(tmp_path, sandboxed, attack(search), exercises=quick("bernoulli_chain_loglik", deadline=20)).score == 1


def test_the_rest_of_the_package_can_be_imported(tmp_path, worker):
    cell = LOGLIK + "\nfrom course_lib.density import FVSBN\nbase = FVSBN(3)\n" + \
        "\nright = bernoulli_chain_loglik\ndef bernoulli_chain_loglik(x, p):\n    assert base.n == 3\n    return right(x, p)\n"
    assert graded(tmp_path, worker, cell, exercises=quick("bernoulli_chain_loglik", deadline=20)).score == 1


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


@pytest.mark.parametrize("level", ["sandboxed", "limited"])
def test_nothing_is_left_of_an_exercise_for_the_next(tmp_path, request, level):
    one = request.getfixturevalue(level)
    for place in ("/tmp/left", "/dev/shm/left", "/var/tmp/left"):
        assert not os.path.exists(place)
    look = LOOK if level == "sandboxed" else LOOK.replace(', "/tmp", "/dev/shm", "/var/tmp"', "")
    leave = LEAVE if level == "sandboxed" else LEAVE.replace(', "/tmp/left", "/dev/shm/left", "/var/tmp/left"', "")
    result = graded(tmp_path, one, leave, look, exercises=quick(deadline=5))
    assert result.score == 1, result.reports
    assert one.process.poll() is None
    assert descendants(one.process.pid) <= {"bwrap", Path(sys.executable).resolve().name, "python", "python3"}
    assert not [cmd for cmd in descendants(one.process.pid) if "sleep" in cmd]
    assert count(one.process.pid) <= 2, "a process outlived its exercise"


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


def test_a_worker_that_was_killed_is_replaced(tmp_path):
    with Worker() as one:
        cells = (LOGLIK, TABLE)
        assert graded(tmp_path, one, *cells, exercises=quick(deadline=5)).score == 1
        one.process.kill()
        one.process.wait()
        with pytest.raises(NoSandbox):
            graded(tmp_path, one, *cells, exercises=quick(deadline=5))
        assert graded(tmp_path, one, *cells, exercises=quick(deadline=5)).score == 1


def test_nothing_outlives_a_closed_worker(limited):
    with Worker() as one:
        one.wait_ready()
        one.start(Limits()).close()
        pids = tree(one.process.pid)
    end = time.monotonic() + 5
    while (left := [pid for pid in pids if os.path.exists(f"/proc/{pid}")]) and time.monotonic() < end:
        time.sleep(0.02)
    assert not left


def test_less_than_was_required_is_refused(monkeypatch):
    monkeypatch.setattr(sandbox.shutil, "which", lambda _: None)
    with pytest.raises(NoSandbox, match="bubblewrap .* not installed, and isolation was required"):
        Worker(require=True)


def broken_bwrap(tmp_path, monkeypatch):
    """A bubblewrap that may not make namespaces, as in many containers."""
    script = tmp_path / "bwrap"
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


def test_where_namespaces_are_forbidden_it_goes_on_without_and_says_so(tmp_path, monkeypatch):
    broken_bwrap(tmp_path, monkeypatch)
    with Worker() as one:
        result = graded(tmp_path, one, LOGLIK, TABLE, exercises=quick(deadline=5))
        assert result.score == 1 and result.isolation == "limits" and "cannot make its namespaces" in one.why
    with Worker(require=True) as one, pytest.raises(NoSandbox, match="isolation was required"):
        one.wait_ready()


def test_a_system_without_fork_and_namespaces_grades_without_isolation(tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", "win32")
    monkeypatch.delattr(sandbox.os, "fork")
    assert sandbox.best() == "none"
    with Worker() as one:
        hang = "def conditional_table(joint, i):\n    while True:\n        pass"
        result = graded(tmp_path, one, LOGLIK, hang, exercises=quick(deadline=1), limits=SHORT)
    assert [report.state for report in result.reports] == ["right", "timeout"]
    assert result.isolation == "none" and "bubblewrap needs Linux; this is win32" in one.why


def test_macos_has_limits(monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    assert sandbox.best() == "limits"


def test_the_sandbox_module_imports_no_torch():
    code = "import sys, course_lib.grading.sandbox, course_lib.grading.__main__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(course_lib.__file__).parent.parent).returncode == 0
