"""Chapter 10: TF-IDF, the loss of skip-gram, the distribution of negatives, samplers with faults, and vectors to a score."""
from course_lib.grading.bank.ch10_words import (
    find_samplers,
    noise_distribution,
    sgns_loss,
    tfidf,
    train_vectors,
)

EXERCISES = [each.exercise for each in (tfidf, sgns_loss, noise_distribution, find_samplers, train_vectors)]
