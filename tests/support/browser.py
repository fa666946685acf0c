"""A Chromium for the tests of the built pages: the system's, else Playwright's own, else Debian's package."""
from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NONE = ("no Chromium: the tests of the built pages need one. Install the package chromium, run "
        "`playwright install chromium`, or name one in the variable CHROMIUM.")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class NoBrowser(RuntimeError):
    """Raised with the sentence `NONE`; a test that needs a browser then fails, it is not skipped."""


def on_system() -> str | None:
    """The path that CHROMIUM names, else the first known name on the PATH."""
    if named := os.environ.get("CHROMIUM"):
        return shutil.which(named)
    return next(filter(None, map(shutil.which, NAMES)), None)


def of_playwright(playwright) -> str | None:
    path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def from_debian() -> str | None:
    """Install Debian's package, where this user may."""
    if os.environ.get("CHROMIUM") or not shutil.which("apt-get") or os.geteuid() != 0:
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["apt-get", "update", "-qq"],
                    ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]):
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=900)
    return on_system()


def find(playwright) -> str:
    """The path of a Chromium, or NoBrowser."""
    path = on_system() or of_playwright(playwright) or from_debian()
    if not path:
        raise NoBrowser(NONE)
    return path


@contextmanager
def launched(path):
    """A Chromium for one module of tests: closed at its end, so that its event loop meets no notebook's."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()
