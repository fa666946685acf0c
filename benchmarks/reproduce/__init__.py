"""Published results, reproduced: one command each.

    python -m benchmarks.reproduce                            the names, and what is recorded of each
    python -m benchmarks.reproduce fvsbn-binarized-mnist      train, choose on validation, evaluate on test, record
    python -m benchmarks.reproduce --all

run       what a run is: a data set, the models measured on it, and how each is trained
table     every run by its name, from the modules beside it
recipes   how most models are trained: gradient descent, counting, a mixture of models trained before
record    a run carried out: from the table to a JSON record and to shipped weights
sheets    a few real images that ship with the package, to be shown beside samples
"""
