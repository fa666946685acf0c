"""Notebooks are run by `pytest --nbval book/*.ipynb` as they are with the tests: in the order of their cells, one thread a
kernel, numbers compared as numbers, their cost reported. The files that take longest are begun first."""
from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import chapters, seconds


def pytest_addoption(parser):
    parser.addoption("--store-seconds", action="store_true", help="write what each file takes into tests/seconds.tsv")


def pytest_configure(config):
    if config.getoption("--store-seconds") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(seconds.Stopwatch())
    if config.pluginmanager.hasplugin("nbval"):
        chapters.install()
        config.option.nbval_sanitize_with = (config.option.nbval_sanitize_with
                                             or str(Path(__file__).parent / "tests" / "nbval_sanitize.cfg"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """The order after all others have shuffled; for several workers the longest files first."""
    result = yield
    items[:] = chapters.in_order(items)
    if hasattr(config, "workerinput"):
        items[:] = seconds.longest_first(items, seconds.read())
    return result


def pytest_terminal_summary(terminalreporter):
    chapters.report(terminalreporter)
