"""Published results, reproduced: one command each.

    python -m benchmarks.reproduce                            the names, and what is recorded of each
    python -m benchmarks.reproduce fvsbn-binarized-mnist      train, choose on validation, evaluate on test, record
    python -m benchmarks.reproduce --all

table     every run in one table: data, models, settings, targets
recipes   the ways to get a trained model: gradient descent, counting, a mixture of what was trained before
record    a run carried out: from the table to a JSON record and to shipped weights
sheets    a few real images that ship with the package, to be shown beside samples
"""
