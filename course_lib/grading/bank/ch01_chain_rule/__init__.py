"""Chapter 01: a likelihood factor by factor, a conditional from a table, the price of a parent, bigrams in bits, and a
trigram of one's own."""
from course_lib.grading.bank.ch01_chain_rule import (
    bernoulli_chain_loglik,
    bigram_bits,
    conditional_table,
    dropped_parent_cost,
    own_trigram,
)

EXERCISES = [each.exercise for each in (
    bernoulli_chain_loglik, conditional_table, dropped_parent_cost, bigram_bits, own_trigram)]
