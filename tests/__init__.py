"""The tests mirror the library: `course_lib/X/y.py` is tested by `tests/X/test_y.py`, and a file of the root by one here.

    checks.py, mutants.py            of a folder: what a right thing does, and its faults
    mutation.py, test_mutants.py     asks each check of the right source; plants the faults, and each is caught
    support/                         what tests of several folders share
    book/ benchmarks/                the pages, the tools behind them, the records

Dependencies, layers and docstrings are checked by `make lint`.
"""
