"""Chapter 09: a step of FGSM, the p-value by rank, a repair with faults in view, and a detector with a score to beat."""
from course_lib.grading.bank.ch09_likelihood import anomaly_scores, fgsm_levels, greedy_repair, rank_p_value

EXERCISES = [each.exercise for each in (fgsm_levels, rank_p_value, greedy_repair, anomaly_scores)]
