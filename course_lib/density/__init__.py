"""Models of a fixed number of variables: tables, FVSBN, NADE, MADE, mixtures, and an autoencoder for comparison."""

from course_lib.density.autoencoder import Autoencoder
from course_lib.density.fvsbn import FVSBN
from course_lib.density.made import MADE
from course_lib.density.mixture import Mixture
from course_lib.density.nade import NADE
from course_lib.density.tabular import CPT, Factorized, Logistic, Neural, Tabular

__all__ = ["Autoencoder", "CPT", "FVSBN", "Factorized", "Logistic", "MADE", "Mixture", "NADE", "Neural", "Tabular"]
