"""Chapter 03: the conditionals of an FVSBN, a draw from it, the leak in a broken one, one trained to a score,
and a class of one's own."""
from course_lib.grading.bank.ch03_fvsbn import find_leaks, fvsbn_conditionals, fvsbn_sample, own_fvsbn, train_fvsbn

EXERCISES = [each.exercise for each in (fvsbn_conditionals, fvsbn_sample, find_leaks, train_fvsbn, own_fvsbn)]
