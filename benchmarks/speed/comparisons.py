"""All comparisons by name: functions that build the contenders."""

from benchmarks.speed import beams, density, from_source, pixels, recurrent, text, transformers

COMPARISONS = (density.COMPARISONS | recurrent.COMPARISONS | pixels.COMPARISONS | transformers.COMPARISONS
               | beams.COMPARISONS | text.COMPARISONS | from_source.COMPARISONS)
