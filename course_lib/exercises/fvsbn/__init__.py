"""Chapter 03: the conditionals of an FVSBN, a draw from it, the leak in a broken one, one trained to a score,
and a class of one's own."""
