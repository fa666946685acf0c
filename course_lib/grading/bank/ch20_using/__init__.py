"""Chapter 20: a vector for each word, BM25, a probe beside its control, planted passages, scores of answers, examples in a
prompt, and a prompt of vectors that is tuned."""
from course_lib.grading.bank.ch20_using import (
    answer_scores,
    bm25,
    few_shot_prompt,
    frozen_prompt,
    planted_passages,
    probe_and_control,
    word_feature,
)

EXERCISES = [each.exercise for each in (word_feature, bm25, probe_and_control, planted_passages, answer_scores, few_shot_prompt,
                                        frozen_prompt)]
