"""Chapter 04: NADE's log-likelihood, a draw from it, impostors among distributions, one trained to a score,
and a class of one's own."""
from course_lib.grading.bank.ch04_nade import find_impostors, nade_loglik, nade_sample, own_nade, train_nade

EXERCISES = [each.exercise for each in (nade_loglik, nade_sample, find_impostors, train_nade, own_nade)]
