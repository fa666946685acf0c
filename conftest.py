"""Notebooks are run by `pytest --nbval book/*.ipynb` as they are with the tests: in the order of their cells, one thread a
kernel, numbers compared as numbers, their cost reported."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import chapters


def pytest_configure(config):
    if config.pluginmanager.hasplugin("nbval"):
        chapters.install()
        config.option.nbval_sanitize_with = (config.option.nbval_sanitize_with
                                             or str(Path(__file__).parent / "tests" / "nbval_sanitize.cfg"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """The order after all others have shuffled."""
    result = yield
    items[:] = chapters.in_order(items)
    return result


def pytest_terminal_summary(terminalreporter):
    chapters.report(terminalreporter)
