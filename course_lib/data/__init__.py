"""Load data sets by name: download, verify, read and split into train, valid and test.

    from course_lib import load_data
    digits = load_data("digits")  # part of scikit-learn, no download
    mnist = load_data("binarized_mnist")  # downloaded once, verified each time

A file is read from the folder that the environment variable COURSE_DATA names if it is there, otherwise from the cache
(the folder that COURSE_CACHE names, or the cache folder of the system). Otherwise it is downloaded to the cache.
`describe(name)` returns the source, license and protocol of a data set as text.
"""

from __future__ import annotations

from course_lib.data.binarize import binarize
from course_lib.data.download import DataError
from course_lib.data.loaders import Splits, read
from course_lib.data.registry import REGISTRY, find

__all__ = ["DataError", "Splits", "available", "binarize", "describe", "load_data"]


def load_data(name: str, **options) -> Splits:
    """Load the data set `name`, one of `available()`, as `Splits` with the parts train, valid and test.

    options  keyword arguments, the default first:
             "digits": split="shuffled" or "writers" (the order of the file, mostly by writer); grey=False or True
             (gray levels instead of 0 and 1)
             "caltech101_silhouettes": split="own" (random) or "official"
             "cifar10_small": side=32, 16 or 8 (height and width in pixels)
             "red_wine", "white_wine", "parkinsons", "ionosphere", "boston_housing": fold=0 to 9 (the test part),
             standardize=True or False (columns scaled to mean 0 and standard deviation 1 on train)
             "multi30k": source="de", "en" or "fr"; target="en", "de" or "fr" (languages)
             Other data sets have no options

    Raises ValueError if the name or an option is unknown, DataError if a file is damaged or cannot be downloaded.
    """
    entry = find(name)
    for option, value in options.items():
        if option not in entry.options:
            takes = f"only {', '.join(entry.options)}" if entry.options else "no options"
            raise ValueError(f"{name!r} was given the option {option!r}; expected {takes}")
        if value not in entry.options[option]:
            allowed = ", ".join(map(repr, entry.options[option]))
            raise ValueError(f"{option} is {value!r}; expected one of {allowed} for {name}")
    defaults = {option: values[0] for option, values in entry.options.items()}
    return read(entry, **{**defaults, **options})


def available() -> list[str]:
    """The names of all data sets."""
    return list(REGISTRY)


def describe(name: str) -> str:
    """Return a text of several lines on the data set `name`: shape, protocol, options, files, license, citation."""
    entry = find(name)
    rows = [("name", entry.name), ("is", entry.title), ("shape", entry.shape), ("protocol", entry.protocol)]
    for option, values in entry.options.items():
        rows.append(("option", f"{option}: {' or '.join(map(repr, values))}, the first unless given"))
    for file in entry.files:
        size = f"{file.size:,} bytes" if file.size is not None else "size unknown"
        rows.append(("file", f"{file.path}, {size}, {file.hash}"))
        rows.extend(("", f"from {url}") for url in file.urls)
        if file.known_from:
            rows.append(("", f"hash: {file.known_from}"))
    for file in entry.packed:
        rows.append(("or", f"{file.path} in COURSE_DATA, {file.size:,} bytes, {file.hash}"))
    rows += [("licence", entry.licence), ("cite", f"{entry.citation} [{entry.key}]")]
    return "\n".join(f"{left:10}{right}" for left, right in rows)
