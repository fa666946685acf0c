"""Proofs that a model keeps the contract: `check_all(model)` and the four checks behind it.

checks      the four questions, and their verdicts
probes      what a model is asked with: inputs, copies, enumerations, quadrature
statistics  the tests that samples have to pass
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
