"""All comparisons by name: functions that build the contenders."""

from benchmarks.speed import density, from_source, pixels, recurrent, text, transformers

COMPARISONS = {name: build for module in (density, recurrent, pixels, transformers, text, from_source)
               for name, build in module.COMPARISONS.items()}
