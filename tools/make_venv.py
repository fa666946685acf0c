"""Make a virtual environment once, and again only when its requirements change.

    python tools/make_venv.py .venv-book requirements-book.txt
    python tools/make_venv.py .venv requirements.txt --package      # and the library itself, editable
    python tools/make_venv.py .venv requirements.txt --package --also requirements-bench.txt

Kept to the syntax of old Pythons, so that one of them can say what it lacks.
"""
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys

OLDEST = (3, 11)


def stop(sentence):
    sys.stderr.write("\n" + sentence + "\n")
    sys.exit(1)


def fingerprint(files):
    """Changes with the Python, the place, and every requirements file, included ones too."""
    digest = hashlib.sha256(repr((sys.version_info[:2], os.path.abspath("."))).encode())
    todo = list(files)
    while todo:
        with open(todo.pop(), "rb") as file:
            text = file.read()
        digest.update(text)
        todo += [line[3:].strip() for line in text.decode().splitlines() if line.startswith("-r ")]
    return digest.hexdigest()


def main(folder, requirements, package, also=None):
    if sys.version_info < OLDEST:
        stop("The book and the tests need Python 3.11 or newer; {} is {}. Name another one: "
             "make PYTHON=python3.12 ...".format(sys.executable, sys.version.split()[0]))
    python = os.path.join(folder, "bin", "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    with once(folder, "complete", fingerprint([requirements])) as missing:
        if missing:
            print("Setting up {} from {} ...".format(folder, requirements), flush=True)
            make(folder)
            if subprocess.call(install + ["-r", requirements]):
                stop("pip could not install {}: its message is above. Is there a package index within reach, and "
                     "room on the disk?".format(requirements))
    if package:
        with once(folder, "package", fingerprint(["pyproject.toml"])) as missing:
            if missing and subprocess.call(install + ["--no-deps", "--no-build-isolation", "--editable", "."]):
                stop("pip could not install the library itself: its message is above.")
    if also:                                    # what it depends on is among the requirements
        name = os.path.splitext(os.path.basename(also))[0]
        with once(folder, name, fingerprint([requirements, also])) as missing:
            if missing and subprocess.call(install + ["--no-deps", "-r", also]):
                stop("pip could not install {}: its message is above.".format(also))


@contextlib.contextmanager
def once(folder, name, wanted):
    """True if the step was not done yet for these requirements; the stamp is written when it succeeded."""
    stamp = os.path.join(folder, name + ".sha256")
    done = os.path.exists(stamp) and open(stamp).read() == wanted
    yield not done
    if not done:
        with open(stamp, "w") as file:
            file.write(wanted)


def make(folder):
    shutil.rmtree(folder, ignore_errors=True)
    # ensurepip is what Debian leaves out of its Python; without it the environment would have no pip.
    if subprocess.call([sys.executable, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL) or \
            subprocess.call([sys.executable, "-m", "venv", folder]):
        stop("This Python cannot make a virtual environment. On Debian and Ubuntu: apt-get install python3-venv")


if __name__ == "__main__":
    rest = sys.argv[3:]
    main(sys.argv[1], sys.argv[2], "--package" in rest, rest[rest.index("--also") + 1] if "--also" in rest else None)
