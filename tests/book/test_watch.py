"""What is watched while a page is shown: its own failed requests are faults, what is aborted when it is left is none."""
from __future__ import annotations

import http.server
import threading
import time

import pytest

from tests.book.conftest import watch

ICON = '<link rel="icon" href="data:,">'
PAGES = {"/slow": ICON + '<script>new Image().src = "late.png"</script>', "/broken": ICON + '<img alt="" src="cut.png">',
         "/plain": ICON + "plain"}


class Hurdles(http.server.BaseHTTPRequestHandler):
    """late.png comes after seconds, cut.png ends before it begins."""

    def do_GET(self):
        if self.path == "/late.png":
            time.sleep(5)
        if body := PAGES.get(self.path):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def at():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hurdles)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def page(browser, at):
    page = browser.new_page()
    page.faults = watch(page, at + "/")
    page.failed = []
    page.on("requestfailed", lambda sent: page.failed.append((sent.url, sent.failure)))
    yield page
    page.close()


def test_what_is_aborted_because_the_page_is_left_is_no_fault(page, at):
    page.goto(at + "/slow", wait_until="commit")
    page.wait_for_function("performance.now() > 200")
    page.goto(at + "/plain")
    assert page.failed == [(at + "/late.png", "net::ERR_ABORTED")] and page.faults == []


def test_what_fails_while_the_page_is_shown_is_a_fault(page, at):
    page.goto(at + "/broken")
    assert page.failed and [f"a request failed: {url} ({why})" for url, why in page.failed] == [
        fault for fault in page.faults if fault.startswith("a request failed")]


def test_what_the_page_itself_gives_up_is_a_fault(page, at):
    page.goto(at + "/plain")
    with page.expect_event("requestfailed"):
        page.evaluate("""() => { const stop = new AbortController(); setTimeout(() => stop.abort(), 100);
                                fetch("late.png", {signal: stop.signal}).catch(() => 0); }""")
    assert [fault for fault in page.faults if "late.png (net::ERR_ABORTED)" in fault]
