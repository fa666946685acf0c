r"""Decoding: search or sample a sequence x from the conditionals $p(x_i \mid x_{<i})$ of a model.

    greedy           the most probable value at every step
    beam_search      the k most probable prefixes at every step
    sample           ancestral sampling with temperature, top-k and top-p
    stochastic_beam  k distinct sequences, sampled without replacement
    exhaustive       the most probable of all sequences, for small models

These functions use only `start`, `predict`, `update` and `select` of a model, and return a `Decoded`. They raise
TypeError for a model of continuous variables, whose values cannot be enumerated.

Common arguments:

    length   maximum number T of values of a sequence, for a model without a fixed number of variables
    context  the condition, (B, ...), such as prompts; or a tuple of tensors, such as prompts and their mask
    batch    number of rows B if there is no context, default 1; rows are decoded independently
    eos_id   the value that ends a sequence and is part of it; None: every sequence has T values
"""

from course_lib.decoding.beam import beam_search
from course_lib.decoding.exact import exhaustive
from course_lib.decoding.sampling import greedy, keep_top_k, keep_top_p, reshape, sample
from course_lib.decoding.steps import Decoded, log_probs
from course_lib.decoding.stochastic import stochastic_beam

__all__ = ["Decoded", "beam_search", "exhaustive", "greedy", "keep_top_k", "keep_top_p", "log_probs", "reshape",
           "sample", "stochastic_beam"]
