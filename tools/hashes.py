"""The pins of requirements.txt with the SHA-256 of every file that an index may serve for them, and what torch brings on a GPU.

    python tools/hashes.py                write requirements-hashed.txt (needs the network, and uv: pip install uv)
    python tools/hashes.py --check        fail if it lacks a pin of requirements.txt, or has another version

Whoever wants only files that were seen when the pins were made installs by

    pip install --require-hashes --no-deps -r requirements-hashed.txt

A build of torch from another index than the default (a CPU build) has other hashes, and is refused so.
"""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PINS, HASHED = ROOT / "requirements.txt", ROOT / "requirements-hashed.txt"
OLDEST = "3.11.5"                                            # the oldest Python that all of the pins support
HEAD = """\
# requirements.txt with hashes, for Python 3.11.5 or newer on any system: pip install --require-hashes --no-deps -r this file.
# Written by tools/hashes.py; do not edit.
"""


def pins(requirements: Path) -> dict[str, str]:
    """Name to version, of a list and of those that it includes."""
    found: dict[str, str] = {}
    for line in requirements.read_text("utf-8").splitlines():
        if line.startswith("-r "):
            found |= pins(requirements.parent / line[3:].strip())
        elif pin := re.match(r"([\w.-]+)==([^\s;]+)", line):
            found[re.sub(r"[-_.]+", "-", pin[1]).lower()] = pin[2]
    return found


def missing(requirements: Path, hashed: Path) -> list[str]:
    """What the hashed list lacks: pins, the same version of them, a hash for each."""
    wanted, text = pins(requirements), hashed.read_text("utf-8")
    have = pins(hashed)
    found = [f"{name} is {have.get(name, 'not there')}; expected {version}"
             for name, version in wanted.items() if have.get(name) != version]
    for entry in re.split(r"\n(?=[\w])", text[text.index("\n", text.rindex("# ")) + 1:]):
        if entry.strip() and not re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry):
            found.append(f"{entry.split()[0]} has no hash")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the list is stale; reaches for nothing")
    if not parser.parse_args(arguments).check:
        if find_spec("uv") is None:
            parser.error("this needs uv, which is not among the pins: pip install uv")
        said = subprocess.run([sys.executable, "-m", "uv", "pip", "compile", PINS, "--universal", "--generate-hashes",
                               "--python-version", OLDEST, "--no-header", "--no-annotate", "--quiet"],
                              stdout=subprocess.PIPE, text=True, check=False)
        if said.returncode:
            return said.returncode                           # uv has said why
        HASHED.write_text(HEAD + said.stdout, "utf-8", newline="\n")
    if found := missing(PINS, HASHED):
        print("requirements-hashed.txt is stale: run python tools/hashes.py", *found, sep="\n", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
