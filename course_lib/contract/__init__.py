"""Tests that a model satisfies the autoregressive contract: `check_all(model)` and the four checks that it runs.

checks      the four checks and their results
probes      inputs, model copies, enumeration and quadrature
statistics  goodness-of-fit tests for samples
"""

from course_lib.contract.checks import (
    ContractError,
    Result,
    check_all,
    check_causal,
    check_normalized,
    check_samples,
    check_views_agree,
)
from course_lib.contract.probes import TooLarge

__all__ = ["ContractError", "Result", "TooLarge", "check_all", "check_causal", "check_normalized", "check_samples",
           "check_views_agree"]
