"""Densities and distributions over a fixed number of variables."""

from course_lib.density.fvsbn import FVSBN
from course_lib.density.mixture import Mixture
from course_lib.density.tabular import CPT, Factorised, Logistic, Neural, Tabular

__all__ = ["CPT", "FVSBN", "Factorised", "Logistic", "Mixture", "Neural", "Tabular"]
