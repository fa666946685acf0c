"""What a record says of several measurements of one thing: their mean, and how far it would move with other seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any


def standard_error(values: Sequence[float]) -> float:
    """Of the mean, from the spread of the values; 0 where there is one alone."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def of_seeds(values: Sequence[float], over: int, digits: int = 2) -> dict[str, Any]:
    """Mean and standard error over seeds, of how many things each value is a mean, and each seed's own value."""
    return {"mean": round(statistics.mean(values), digits), "standard_error": round(standard_error(values), digits), "over": over,
            "seeds": [round(value, digits) for value in values]}
