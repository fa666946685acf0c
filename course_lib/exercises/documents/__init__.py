"""Chapter 10: TF-IDF, latent semantic analysis, two losses, the distribution of negatives, samplers with faults, and
vectors to a score."""
