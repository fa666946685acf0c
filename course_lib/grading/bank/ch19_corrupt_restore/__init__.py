"""Chapter 19: spans cut into sentinels and put back, labels of replaced words mended, the two masks of an order."""
from course_lib.grading.bank.ch19_corrupt_restore import cut_spans, masks_of_order, put_back, replaced_labels

EXERCISES = [each.exercise for each in (cut_spans, put_back, replaced_labels, masks_of_order)]
