"""Densities and distributions over a fixed number of variables."""

from course_lib.density.autoencoder import Autoencoder
from course_lib.density.fvsbn import FVSBN
from course_lib.density.made import MADE
from course_lib.density.mixture import Mixture
from course_lib.density.nade import NADE
from course_lib.density.tabular import CPT, Factorised, Logistic, Neural, Tabular

__all__ = ["Autoencoder", "CPT", "FVSBN", "Factorised", "Logistic", "MADE", "Mixture", "NADE", "Neural", "Tabular"]
