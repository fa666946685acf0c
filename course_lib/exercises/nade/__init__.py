"""Chapter 04: NADE's log-likelihood, a draw from it, impostors among distributions, one trained to a score,
and a class of one's own."""
