"""The tests mirror the library: `course_lib/X/y.py` is tested by `tests/X/test_y.py`, and a file of the root by one here.

    checks.py, mutants.py, test_mutants.py   of a folder: what a right thing does, its faults, and that each is caught
    mutation.py                              plants faults
    support/                                 what tests of several folders share
    book/ benchmarks/                        the pages, the tools behind them, the records
    test_layers.py test_dependencies.py test_docstrings.py test_marks.py     rules that hold everywhere
"""
