"""Chapter 09: a step of FGSM, the p-value by rank, a repair with faults in view, a detector with a score to beat, and a detector of
one's own."""
from course_lib.grading.bank.ch09_likelihood import (
    anomaly_scores,
    fgsm_levels,
    greedy_repair,
    own_detector,
    rank_p_value,
)

EXERCISES = [each.exercise for each in (fgsm_levels, rank_p_value, greedy_repair, anomaly_scores, own_detector)]
