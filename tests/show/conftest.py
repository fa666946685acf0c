"""The drawings, as they are stored and as they are made anew, and a page of a browser."""
from __future__ import annotations

import pytest

from tests.support.browser import FLAGS


@pytest.fixture(scope="module")
def chromium(browser_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page(chromium):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    yield page
    page.close()
