"""Chapter 13: attention with a mask, the causal mask of queries that go on, attention to another sequence, heads, a
layer that looks where it must not, a layer of one's own, and one to be mended."""
from course_lib.grading.bank.ch13_self_attention import (
    attention,
    causal_mask,
    cross_attention,
    find_peeking,
    mended_attention,
    merge_heads,
    own_multi_head_attention,
    split_heads,
)

EXERCISES = [each.exercise for each in (
    attention, causal_mask, cross_attention, split_heads, merge_heads, find_peeking, own_multi_head_attention,
    mended_attention)]
