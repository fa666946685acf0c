"""Chapter 09: a step of FGSM, the p-value by rank, a repair with faults in view, a detector with a score to beat, and a detector of
one's own."""
