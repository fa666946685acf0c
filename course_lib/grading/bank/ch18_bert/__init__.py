"""Chapter 18: what BERT reads, the pairs it judges, the sum of three embeddings, tokens hidden by its rule, maskers
that break it, the best span of an answer, a BERT of one's own, and one that is fine-tuned to a score."""
from course_lib.grading.bank.ch18_bert import (
    bert_embed,
    bert_segments,
    best_span,
    find_masker_fault,
    fine_tune_bert,
    mlm_mask,
    nsp_pair,
    own_bert,
)

EXERCISES = [each.exercise for each in (bert_segments, bert_embed, nsp_pair, mlm_mask, find_masker_fault, best_span, own_bert,
                                        fine_tune_bert)]
