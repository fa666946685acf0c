"""Means over seeds, and their standard errors, for records."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any


def standard_error(values: Sequence[float]) -> float:
    """Standard error of the mean; 0 for a single value."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def of_seeds(values: Sequence[float], over: int, digits: int = 2) -> dict[str, Any]:
    """Mean and standard error over seeds, the number of items of each value, and the value of each seed."""
    return {"mean": round(statistics.mean(values), digits), "standard_error": round(standard_error(values), digits), "over": over,
            "seeds": [round(value, digits) for value in values]}


def of_trainings(each: Sequence[dict[str, Any]], digits: int = 4) -> dict[str, Any]:
    """A figure of models that differ by their seeds, each with its standard error over rows: the mean over seeds, the
    values, and their standard deviation, None for a single one. The error is that over rows, of the first seed.
    """
    own = [round(one["mean"], digits) for one in each]
    return {**each[0], "mean": round(statistics.mean(own), digits), "seeds": own,
            "deviation_over_seeds": round(statistics.stdev(own), digits) if len(own) > 1 else None}
