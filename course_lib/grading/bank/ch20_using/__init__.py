"""Chapter 20: BM25, a probe beside its control, and planted passages."""
from course_lib.grading.bank.ch20_using import bm25, planted_passages, probe_and_control

EXERCISES = [each.exercise for each in (bm25, probe_and_control, planted_passages)]
