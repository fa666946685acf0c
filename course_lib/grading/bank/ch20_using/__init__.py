"""Chapter 20: BM25, a probe beside its control, planted passages, scores of answers, and examples in a prompt."""
from course_lib.grading.bank.ch20_using import answer_scores, bm25, few_shot_prompt, planted_passages, probe_and_control

EXERCISES = [each.exercise for each in (bm25, probe_and_control, planted_passages, answer_scores, few_shot_prompt)]
