"""One step with a cache."""
from __future__ import annotations

import math

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

NOT_ITSELF = "Your new token does not attend to itself. Append its key and value to the cache first."

exercise = Exercise(
    "cached_step", chapter="gpt", place=2, title="One step with a cache",
    contract="x_t (B, D) is the new token; cache is a pair (K, V), each (B, t, D), of the tokens before, where t may be "
             "0; Wq, Wk, Wv are (D, D), applied as x_t @ W. Return (out, (K, V)): out (B, D) is the new token's attention, "
             "one head, scores divided by sqrt(D), to all tokens up to and including itself, and the new pair has "
             "t + 1 tokens. The old pair is left as it is.",
    points=["kv-cache"], difficulty=3, minutes=25)


@exercise.step
def projected(x_t, Wq, Wk, Wv):
    """Query (B, D), key and value (B, 1, D)."""
    return x_t @ Wq, (x_t @ Wk)[:, None], (x_t @ Wv)[:, None]


@exercise.step
def appended(cached, new):
    return torch.cat([cached, new], dim=1)                                     # (B, t + 1, D)


@exercise.step
def scaled_scores(q, K):
    return (K @ q[..., None])[..., 0] / math.sqrt(q.shape[1])                  # (B, t + 1)


@exercise.step
def attended(q, K, V):
    return (scaled_scores(q, K).softmax(-1)[:, None] @ V)[:, 0]                   # (B, D)


@exercise.reference()
@exercise.step
def cached_step_reference(x_t, cache, Wq, Wk, Wv):
    q, k, v = projected(x_t, Wq, Wk, Wv)
    K, V = appended(cache[0], k), appended(cache[1], v)
    return attended(q, K, V), (K, V)


@exercise.misconception(projected, "You use the weight matrices transposed. It is x_t @ W here.")
def transposed(x_t, Wq, Wk, Wv):
    return projected.original(x_t, Wq.T, Wk.T, Wv.T)


@exercise.misconception(
    appended,
    "You put the new key and value in front. The cache is in the order of the text, so they come last.")
def in_front(cached, new):
    return torch.cat([new, cached], dim=1)


@exercise.misconception(appended, "You overwrite the oldest token of the cache. The cache keeps all tokens and grows by one.")
def replaces(cached, new):
    return torch.cat([cached[:, 1:], new], dim=1)


@exercise.misconception(scaled_scores, "Your scores are not divided by the root of D.")
def no_scale(q, K):
    return (K @ q[..., None])[..., 0]


@exercise.misconception(scaled_scores, "Your scores are divided by D. Divide them by the root of D.")
def scaled_by_width(q, K):
    return (K @ q[..., None])[..., 0] / q.shape[1]


@exercise.misconception(attended, NOT_ITSELF)
def without_itself(q, K, V):
    return attended.original(q, K[:, :-1], V[:, :-1])


@exercise.misconception(attended, NOT_ITSELF)
def itself_if_first(q, K, V):
    return attended.original(q, K, V) if K.shape[1] == 1 else without_itself(q, K, V)


@exercise.misconception(
    attended,
    "Your weights sum to one over the batch, so the result of a row depends on the other rows. The softmax runs over the keys of each "
    "row.")
def over_batch(q, K, V):
    return (scaled_scores(q, K).softmax(0)[:, None] @ V)[:, 0]


@exercise.misconception(
    attended,
    "Your new token attends to the first key only, as in the first row of a causal mask. It is the last token, and nothing "
    "comes after it, so no mask is needed.")
def first_key(q, K, V):
    return attended.original(q, K[:, :1], V[:, :1])


@exercise.misconception(
    attended,
    "You average the keys. The weights come from the keys, but the average is that of the values.")
def keys_as_values(q, K, V):
    return attended.original(q, K, K)


@exercise.misconception(
    cached_step_reference,
    "You return the cache that you were given. The next step needs the new key and value in it.")
def not_grown(x_t, cache, Wq, Wk, Wv):
    out, _ = cached_step_reference.original(x_t, cache, Wq, Wk, Wv)
    return out, cache


def step_cases(generator):
    cases = []
    for t in (5, 0, 1, 8, 3, 2):                          # the last two: all sizes equal, and one row
        B, D = (3, 3) if t == 3 else (1, 4) if t == 2 else uneven(generator, (2, 3), (4, 7))
        cases.append((normal(generator, B, D), (normal(generator, B, t, D), normal(generator, B, t, D)),
                      *(normal(generator, D, D) for _ in range(3))))
    return cases


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
