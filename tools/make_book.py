"""Build the book, or show it.

    python tools/make_book.py build          _build/html from the stored outputs; every warning is an error
    python tools/make_book.py serve [PORT]   the built book on localhost
"""
from __future__ import annotations

import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
# Sphinx keeps what it read, and copies no asset where no page changed: a change of these starts afresh.
SHARED = ["_config.yml", "_toc.yml", "requirements-book.txt", "book/_ext/*.py", "book/_assets/*", "book/references.bib",
          "tools/reading.py", "build/static/vendor/mathjax/complete.txt"]


def clean_if_stale() -> None:
    files = [path for pattern in SHARED for path in sorted(ROOT.glob(pattern))]
    wanted = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
    stamp = BUILD / "shared.sha256"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(BUILD, ignore_errors=True)
        BUILD.mkdir()
        stamp.write_text(wanted)


def build() -> int:
    clean_if_stale()
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT), "--path-output", str(ROOT),
               "-W", "-n", "--keep-going", "--quiet"]
    # The same bytes on any day, in any time zone.
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "1767225600", "TZ": "UTC"}
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        # What was read is kept without its warnings: forget it, or the next build would call the fault mended.
        shutil.rmtree(BUILD / ".doctrees", ignore_errors=True)
        print("\nThe book was not built: each WARNING or ERROR above names its page. Mend it, and run make book again.",
              file=sys.stderr)
        return 1
    print(f"The book is built. Open {SITE / 'index.html'}, or run: make serve")
    return 0


def serve(port: int) -> int:
    if not (SITE / "index.html").exists():
        print("There is no built book yet: run make book", file=sys.stderr)
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
    sys.exit(serve(int(sys.argv[2]) if len(sys.argv) > 2 else 8000) if sys.argv[1] == "serve" else build())
