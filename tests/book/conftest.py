"""A browser, the served site, and pages that keep what went wrong while they were shown."""
from __future__ import annotations

from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from tests.support.browser import launched
from tests.support.site_server import serve


@pytest.fixture(scope="module")
def browser(browser_path):
    with launched(browser_path) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def address(site):
    """Where the built site is served."""
    with serve(site) as url:
        yield url


@pytest.fixture
def visit(browser, address):
    """visit(page, width=..., scheme=...): a context manager that shows a page of the site and keeps its faults."""
    return visitor(browser, address)


def visitor(browser, address):
    @contextmanager
    def visit(path, width=1280, height=900, scheme="light", wait=True):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        page.faults = watch(page, address)
        try:
            page.goto(address + path, wait_until="load")
            if wait:
                settle(page)
            yield page
        finally:
            context.close()

    return visit


def settle(page):
    """Draw the interactive figures, also those that are far below, and wait for them."""
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("""() => !document.querySelector('script[type="application/vnd.jupyter.widget-view+json"]')
                                    || document.documentElement.dataset.afm === "ready" """)


def watch(page, address):
    """A list that fills with requests that leave this machine, failed requests, and errors on the console.

    What a page still asks for when it is left is aborted, and is not a fault.
    """
    faults, own = [], urlsplit(address).netloc

    def request(sent):
        parts = urlsplit(sent.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.netloc != own:
            faults.append(f"a request left the site: {sent.url}")

    def failed(sent):
        if sent.failure != "net::ERR_ABORTED":
            faults.append(f"a request failed: {sent.url} ({sent.failure})")

    page.on("request", request)
    page.on("requestfailed", failed)
    page.on("response", lambda got: got.status >= 400 and faults.append(f"status {got.status}: {got.url}"))
    page.on("console", lambda message: message.type in ("error", "warning") and faults.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
    return faults
