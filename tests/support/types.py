"""Types are checked at every call of the library in the tests; here is how to meet it as a user does, who has no checker."""
from __future__ import annotations

from contextlib import contextmanager

from jaxtyping import config


@contextmanager
def untyped():
    """Inside, no annotation is looked at: what the library itself says of bad input is heard."""
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)
