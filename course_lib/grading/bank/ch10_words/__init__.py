"""Chapter 10: TF-IDF, latent semantic analysis, two losses, the distribution of negatives, samplers with faults, and
vectors to a score."""
from course_lib.grading.bank.ch10_words import (
    find_samplers,
    glove_loss,
    lsa,
    noise_distribution,
    sgns_loss,
    tfidf,
    train_vectors,
)

EXERCISES = [each.exercise for each in (tfidf, lsa, sgns_loss, noise_distribution, find_samplers, glove_loss, train_vectors)]
