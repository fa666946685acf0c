"""One step with a cache."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "cached_step", chapter="16", place=2, title="One step with a cache",
    contract="x_t (B, D) is the new token; cache is a pair (K, V), each (B, t, D), of the tokens before, where t may be "
             "0; Wq, Wk, Wv are (D, D), applied as x_t @ W. Return (out, (K, V)): out (B, D) is the new token's attention, "
             "one head, scores divided by sqrt(D), to all tokens up to and including itself, and the new pair has "
             "t + 1 tokens. The old pair is left as it is.",
    points=["kv-cache"], difficulty=3, minutes=25)


@exercise.reference(
    no_scale="Your scores are not divided by the root of D.",
    without_itself="Your new token does not attend to itself. Its own key and value come into the cache first.",
    itself_only="Your new token attends to itself alone. The cached keys and values take part too.",
    not_grown="You return the cache that you were given. The new key and value have to be in it for the next step.",
    in_front="You put the new key and value in front. The cache is in the order of the text: they come last.",
    replaces="You write over the oldest token of the cache. Nothing leaves it: it grows by one.",
    stores_inputs="Your cache stores x_t itself. It holds projected keys and values: x_t @ Wk and x_t @ Wv.",
    exchanged="You return the pair as (V, K). It is (K, V), as it came.",
    keys_as_values="You average the keys. The weights come from the keys, what is averaged are the values.",
    transposed="You use the weight matrices transposed. It is x_t @ W here.",
    first_key="Your new token sees the first of the keys alone, as the first row of a causal mask does. It is the last "
              "token, and nothing comes after it: no mask is needed.",
    over_rows="Your softmax runs over the batch. It runs over the tokens: each row's weights sum to one.",
    uniform="Your weights are all alike: the softmax runs over an axis of length one, or is missing. It runs over the "
            "tokens.",
)
def cached_step_reference(x_t, cache, Wq, Wk, Wv, bugs=frozenset()):
    (K, V), D = cache, x_t.shape[1]
    if "transposed" in bugs:
        Wq, Wk, Wv = Wq.T, Wk.T, Wv.T
    q, k, v = x_t @ Wq, (x_t @ Wk)[:, None], (x_t @ Wv)[:, None]               # (B, D), (B, 1, D), (B, 1, D)
    if "stores_inputs" in bugs:
        k = v = x_t[:, None]
    parts = ((k, K), (v, V)) if "in_front" in bugs else ((K[:, 1:], k), (V[:, 1:], v)) if "replaces" in bugs else \
        ((K, k), (V, v))
    K, V = (torch.cat(pair, dim=1) for pair in parts)                          # (B, t + 1, D)
    keys, values = K, V
    if "without_itself" in bugs:
        keys, values = K[:, :-1], V[:, :-1]
    if "itself_only" in bugs:
        keys, values = K[:, -1:], V[:, -1:]
    if "keys_as_values" in bugs:
        values = keys
    if "first_key" in bugs:
        keys, values = K[:, :1], V[:, :1]
    scores = (keys @ q[..., None])[..., 0] / (1 if "no_scale" in bugs else math.sqrt(D))       # (B, t + 1)
    weights = torch.full_like(scores, 1 / max(1, scores.shape[1])) if "uniform" in bugs else \
        scores.softmax(0 if "over_rows" in bugs else -1)
    out = (weights[:, None] @ values)[:, 0]
    pair = cache if "not_grown" in bugs else (V, K) if "exchanged" in bugs else (K, V)
    return out, (pair[0].clone(), pair[1].clone())


def step_cases(generator):
    found = []
    for t in (5, 0, 1, 8):
        B, D = uneven(generator, (2, 3), (4, 7))
        found.append((normal(generator, B, D), (normal(generator, B, t, D), normal(generator, B, t, D)),
                      *(normal(generator, D, D) for _ in range(3))))
    return found


exercise.compare("values", step_cases, points=5)
exercise.unchanged(step_cases)
exercise.hint(
    "Where to begin.",
    "Three projections of x_t, each (B, D). Key and value get an axis for time, [:, None], and join the cached ones by "
    "torch.cat along dimension 1. Only then comes attention, with one query.")
exercise.hint(
    "It fails with an empty cache.",
    "With t = 0 the cat is (B, 1, D), and the softmax over one score is 1: out is the new value. Nothing special is needed "
    "if the new token joins before you attend.")
exercise.hint(
    "The shapes do not fit.",
    "The query is (B, D), the keys (B, t + 1, D): torch.einsum('bd,btd->bt', q, K) gives the scores, and "
    "torch.einsum('bt,btd->bd', weights, V) the result.")
