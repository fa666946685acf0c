"""Chapter 16: the loss out of the logits, one step with a cache, prompts of unequal length, the work of a generation, caches
that are broken, and a GPT of one's own."""
from course_lib.grading.bank.ch16_gpt import (
    cached_step,
    find_broken_caches,
    generation_work,
    left_padded,
    next_token_loss,
    own_gpt,
)

EXERCISES = [each.exercise for each in (
    next_token_loss, cached_step, left_padded, generation_work, find_broken_caches, own_gpt)]
