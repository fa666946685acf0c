"""Chapter 14: the sinusoidal table, an offset as a matrix, the combined encoding, a table with broken pairs, and rotary
attention of one's own."""
