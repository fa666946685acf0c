"""Chapter 06: MADE's masks, the parents that masks leave, several orders as one model, the order of an
unknown one, a class of one's own, and one to be mended."""
from course_lib.grading.bank.ch06_made import (
    ensemble_loglik,
    find_order,
    made_masks,
    made_parents,
    mended_made,
    own_made,
)

EXERCISES = [each.exercise for each in (
    made_masks, made_parents, ensemble_loglik, find_order, own_made, mended_made)]
