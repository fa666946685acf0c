"""Tests of the autoregressive contract, the four properties that every `AutoregressiveModel` must have.

checks      one check for each property, `check_all`, and their results
probes      test inputs, copies of a model, enumeration of its states and quadrature
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
