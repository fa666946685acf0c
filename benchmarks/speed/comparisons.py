"""Every comparison by name: one function each, which builds the contenders and says what is asked."""

from benchmarks.speed import density, transformers

COMPARISONS = density.COMPARISONS | transformers.COMPARISONS
