"""Build the book, or show it.

    python book/_tools/make_book.py build          _build/html from the stored outputs; every warning is an error
    python book/_tools/make_book.py build --without-solutions
                                             the same without a page of the solutions: _build/without-solutions/_build/html
    python book/_tools/make_book.py serve [PORT]   the built book on localhost
    python book/_tools/make_book.py zip            the built book in one file, to be read without a network
"""
from __future__ import annotations

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from book._tools import without_solutions  # noqa: E402

BUILD = ROOT / "_build"
SITE = BUILD / "html"
NAME = "from-the-chain-rule-to-bert"
# Sphinx keeps what it read, and copies no asset where no page changed: a change of these starts afresh.
SHARED = ["_config.yml", "_toc.yml", "requirements.txt", "book/_ext/*.*", "book/_assets/*.*", "book/references.bib",
          "book/_tools/reading_time.py", "build/mathjax/complete.txt"]


def clean_if_stale() -> None:
    files = [path for pattern in SHARED for path in sorted(ROOT.glob(pattern))]
    wanted = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    stamp = BUILD / "shared.sha256"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(BUILD, ignore_errors=True)
        BUILD.mkdir()
        stamp.write_text(wanted)


def build(root: Path | None = None) -> int:
    """Build the book of the course in `root`, of this one if none is named; returns the exit status."""
    if root is None:
        clean_if_stale()
    root, site = root or ROOT, SITE if root is None else root / "_build" / "html"
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(root), "--path-output", str(root),
               "-W", "-n", "--keep-going", "--quiet"]
    # The same bytes on any day, in any time zone.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1767225600", "TZ": "UTC"}
    if subprocess.run(command, cwd=root, env=environment).returncode:
        # What was read is kept without its warnings: forget it, or the next build would call the fault mended.
        shutil.rmtree((BUILD if root == ROOT else root / "_build") / ".doctrees", ignore_errors=True)
        print("\nThe book was not built: each WARNING or ERROR above names its page. Mend it, and run make book again.",
              file=sys.stderr)
        return 1
    print(f"The book is built. Open {site / 'index.html'}" + ", or run: make serve" * (root == ROOT))
    return 0


def build_without_solutions() -> int:
    """Build the site that a class may read before the solutions are out, from a copy that holds none."""
    copy = BUILD / "without-solutions"
    without_solutions.copied(ROOT, copy)
    return build(copy)


def packed(site: Path, target: Path) -> None:
    """The site as a zip in a folder of its own; the same bytes from the same site."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(site.rglob("*")):
            if file.is_file() and file.name != ".buildinfo" and file.suffix != ".map":
                entry = zipfile.ZipInfo(f"{target.stem}/{file.relative_to(site).as_posix()}", (2026, 1, 1, 0, 0, 0))
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
                archive.writestr(entry, file.read_bytes())


def pack() -> int:
    if not built():
        return 1
    packed(SITE, BUILD / f"{NAME}.zip")
    print(f"{BUILD / NAME}.zip: unpack it, and open {NAME}/index.html")
    return 0


def built() -> bool:
    if not (SITE / "index.html").exists():
        print("There is no built book yet: run make book", file=sys.stderr)
    return (SITE / "index.html").exists()


def serve(port: int) -> int:
    if not built():
        return 1
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SITE))
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        print(f"Port {port} cannot be used ({error.strerror}): run make serve PORT={port + 1}", file=sys.stderr)
        return 1
    print(f"The book is at http://localhost:{server.server_port}/ (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    verb, *rest = sys.argv[1:]
    sys.exit(serve(int(rest[0]) if rest else 8000) if verb == "serve" else pack() if verb == "zip" else
             build_without_solutions() if rest == ["--without-solutions"] else build())
