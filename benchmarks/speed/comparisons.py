"""Every comparison by name: one function each, which builds the contenders and says what is asked."""

from benchmarks.speed import beams, density, from_source, pixels, recurrent, transformers

COMPARISONS = (density.COMPARISONS | recurrent.COMPARISONS | pixels.COMPARISONS | transformers.COMPARISONS
               | beams.COMPARISONS | from_source.COMPARISONS)
