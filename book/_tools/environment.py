"""Create or update the virtual environment .venv from requirements.txt, a section of it at a time.

    python book/_tools/environment.py book                 what builds the book from its stored outputs; no torch
    python book/_tools/environment.py book course          all of requirements.txt, and the package itself, editable
    python book/_tools/environment.py book course lab      and what the extra `lab` of pyproject.toml names (or `bench`)

A section is installed again only when its pins change. Kept to the syntax of old Pythons, so that one of them can say
what it lacks.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLDEST = (3, 11)
PIP = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]   # Python compiles what is imported


def stop(sentence):
    sys.stderr.write("\n" + sentence + "\n")
    sys.exit(1)


def sections(text):
    """The pins of each section: {"book": "attrs==26.1.0\\n...", "course": ...}. A section begins with "# -- name: ..."."""
    parts = re.split(r"(?m)^# -- (\w+):.*$", text)
    return {name: "\n".join(line for line in pins.splitlines() if line and line[0] != "#")
            for name, pins in zip(parts[1::2], parts[2::2])}


def create(folder):
    """An empty environment, if there is none."""
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(python):
        return python
    if sys.version_info < OLDEST:
        stop("The book and the tests need Python 3.11 or newer; {} is {}. Name another one: "
             "make PYTHON=python3.12 ...".format(sys.executable, sys.version.split()[0]))
    shutil.rmtree(folder, ignore_errors=True)
    # Debian's Python lacks ensurepip until python3-venv is installed; the environment would have no pip.
    if subprocess.call([sys.executable, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL) or \
            subprocess.call([sys.executable, "-m", "venv", folder]):
        stop("This Python cannot create a virtual environment. On Debian and Ubuntu: apt-get install python3-venv")
    return python


class Stamp:
    """Whether a step was done for this text already; written when the step has succeeded."""

    def __init__(self, folder, name, text):
        self.path = os.path.join(folder, name + ".sha256")
        self.wanted = hashlib.sha256(repr((sys.version_info[:2], os.path.abspath(folder), text)).encode()).hexdigest()

    @property
    def done(self):
        return os.path.exists(self.path) and open(self.path).read() == self.wanted

    def write(self):
        with open(self.path, "w") as file:
            file.write(self.wanted)


def install(folder, pins):
    """Install the pins of the sections that are missing: side by side without dependencies, since every one is pinned;
    then what this platform needs beyond them."""
    stamps = {name: Stamp(folder, name, text) for name, text in pins.items()}
    missing = [name for name in pins if not stamps[name].done]
    if not missing:
        return
    print("Setting up {}: {} ...".format(folder, " and ".join(missing)), flush=True)
    python = create(folder)
    with tempfile.TemporaryDirectory() as place:
        files = [os.path.join(place, name + ".txt") for name in missing]
        for name, path in zip(missing, files):
            with open(path, "w") as file:
                file.write(pins[name] + "\n")
        running = [subprocess.Popen([python] + PIP + ["--no-deps", "-r", path]) for path in files]
        if any([process.wait() for process in running]) or \
                subprocess.call([python] + PIP + [word for path in files for word in ("-r", path)]):
            stop("pip could not install requirements.txt: its message is above. Is there a package index within reach, and "
                 "room on the disk?")
    for name in missing:
        stamps[name].write()


def install_once(folder, name, text, arguments):
    """Install something else that changes with `text`."""
    stamp = Stamp(folder, name, text)
    if not stamp.done:
        if subprocess.call([create(folder)] + PIP + arguments):
            stop("pip could not install {}: its message is above.".format(name))
        stamp.write()


def main(names, folder=".venv"):
    with open("requirements.txt") as file:
        pins = sections(file.read())
    with open("pyproject.toml") as file:
        project = file.read()
    install(folder, {name: pins[name] for name in names if name in pins})
    if "course" in names:
        install_once(folder, "package", project, ["--no-deps", "--no-build-isolation", "--editable", "."])
    if "lab" in names:
        install_once(folder, "lab", project, ["-c", "requirements.txt", "--no-build-isolation", "--editable", ".[lab]"])
    if "bench" in names:                             # without their dependencies: one of them would bring TensorBoard
        peers = re.findall('"([^"]+)"', re.search(r"(?s)^bench = \[(.*?)\]", project, re.M).group(1))
        install_once(folder, "bench", project, ["--no-deps"] + peers)


if __name__ == "__main__":
    main(sys.argv[1:])
