r"""From a model to sequences: which x to write down, given $p(x_i \mid x_{<i})$?

    greedy           the likeliest value at every step
    beam_search      the k likeliest prefixes at every step
    sample           draw, after changing the distribution by temperature, top-k and top-p
    stochastic_beam  a beam that walks at random: k different sequences, drawn without replacement
    exhaustive       the likeliest sequences there are, by trying all: the reference for small models

They ask a model for `start`, `predict`, `update` and `select` alone, so they work for a table as for GPT. All raise
TypeError for a model of continuous variables, whose values cannot be listed.

Arguments they share:

    length   number of variables to write, for a model of sequences of any length
    context  what the model is conditioned on, (B, ...): prompts, say; or a tuple of such, as prompts with their mask
    batch    number of rows without a context; 1 unless given. A row's result does not depend on the others
    eos_id   the value that ends a sequence, which counts as part of it; None: every sequence has full length
"""

from course_lib.decoding.beam import beam_search
from course_lib.decoding.exact import exhaustive
from course_lib.decoding.sampling import greedy, keep_top_k, keep_top_p, reshape, sample
from course_lib.decoding.steps import Decoded, log_probs
from course_lib.decoding.stochastic import stochastic_beam

__all__ = ["Decoded", "beam_search", "exhaustive", "greedy", "keep_top_k", "keep_top_p", "log_probs", "reshape",
           "sample", "stochastic_beam"]
