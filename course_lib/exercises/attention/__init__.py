"""Chapter 12: Bahdanau's attention, a gradient through a random choice, scores with faults to be found, and a decoder of one's own."""
