"""Set up once for all tests: no network, one thread, shapes checked, honest marks."""
from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LONGEST = ("pairs", "tests/benchmarks/test_smoke.py", "tests/benchmarks/test_weights.py", "tests/grading/sandbox/test_ordinary_user.py")

from tests.support import isolated  # noqa: E402

isolated.install()

from tests.support.offline import netblock  # noqa: E402


def pytest_configure(config):
    import matplotlib
    import torch

    matplotlib.use("agg")            # not by the environment: notebooks draw with their own backend
    torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Add the marks that follow from fixtures, before any test is selected by its mark. The tests of a file go to one worker,
    which sets up their fixtures once, unless they name a group."""
    import torch

    gpu, data = torch.cuda.is_available(), os.environ.get("COURSE_DATA")
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))
        if "browser_path" in getattr(item, "fixturenames", ()):
            item.add_marker("thorough")
        if item.get_closest_marker("gpu") and not gpu:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device; this machine has none"))
        if item.get_closest_marker("data") and not data:
            item.add_marker(pytest.mark.skip(reason="needs the real data: COURSE_DATA names no folder"))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group").args[0] not in LONGEST)   # so that no worker ends with them


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Every test starts from the same state of torch's global generator, in whatever order the workers take the tests."""
    import torch

    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def network_is_off(request):
    """A test that reached out fails, even if the code under test swallowed the error."""
    netblock.attempts.clear()
    yield
    reached = list(netblock.attempts)
    if reached and "no_network" not in request.fixturenames:
        pytest.fail(f"this test tried to reach {', '.join(reached)}; {netblock.ADVICE}")


@pytest.fixture
def no_network():
    """For a test that wants the attempt: the list of addresses that the code tried to reach."""
    return netblock.attempts


@pytest.fixture(scope="session")
def course_data() -> Path:
    """The folder with the real data; for tests marked `data`."""
    folder = Path(os.environ["COURSE_DATA"])
    if not folder.is_dir():
        pytest.fail(f"COURSE_DATA names {folder}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The folder of the built book. `make test` builds it before the tests; a bare pytest builds it here."""
    folder = ROOT / "_build" / "html"
    if not os.environ.get("COURSE_SITE_IS_BUILT"):
        built = subprocess.run(["make", "book"], cwd=ROOT, capture_output=True, text=True,
                               env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})
        if built.returncode:
            pytest.fail("make book failed:\n" + (built.stdout + built.stderr)[-4000:])
    if not (folder / "index.html").exists():
        pytest.fail(f"{folder} holds no built book: run make book")
    return folder


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium of the tests. Where none can be had, each test that needs one fails with that sentence."""
    from playwright.sync_api import sync_playwright

    from tests.support import browser

    try:
        if path := browser.on_system():
            return path
        with sync_playwright() as playwright:
            return browser.find(playwright)
    except browser.NoBrowser as error:
        pytest.fail(str(error), pytrace=False)
