"""Chapter 01: a likelihood factor by factor, a conditional from a table, the price of a parent, bigrams in bits, and a
trigram of one's own."""
