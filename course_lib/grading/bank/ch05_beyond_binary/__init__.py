"""Chapter 05: a log-softmax that survives, the softmax NADE, a mixture of Gaussians, functions that are no densities,
and a class of one's own."""
from course_lib.grading.bank.ch05_beyond_binary import (
    categorical_nade_loglik,
    find_improper,
    mog_loglik,
    own_density,
    stable_log_softmax,
    train_mog,
)

EXERCISES = [each.exercise for each in (
    stable_log_softmax, categorical_nade_loglik, mog_loglik, find_improper, train_mog, own_density)]
