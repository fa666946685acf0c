"""Chapter 16: the loss out of the logits, one step with a cache, and the work of a generation."""
from __future__ import annotations

import math

import torch

from course_lib.grading.bank.draws import normal, uneven
from course_lib.grading.exercise import Exercise

# The loss

next_token_loss = Exercise(
    "next_token_loss", chapter="16", title="The loss out of the logits",
    contract="logits (B, T, V) are what a causal model gave for tokens (B, T), having read all of them: position t "
             "concerns the token after it. Row b has lengths[b] real tokens, two or more; what follows is padding and "
             "counts for nothing. Return the mean of minus ln p over all real tokens that are predicted, a scalar.",
    points=["gpt"], difficulty=2, minutes=20)


@next_token_loss.reference(
    no_shift="You compare position t with token t, which the model has read. Position t concerns token t + 1.",
    wrong_way="Your shift goes the wrong way: you compare position t with token t - 1. It concerns token t + 1.",
    padding_counted="Your mean runs over the padding too. Row b has lengths[b] - 1 tokens to predict.",
    first_padding="You count one token too many in each row: the first of the padding. A row of n tokens has n - 1 to "
                  "predict.",
    last_left_out="You count one token too few in each row: the last real one is predicted too.",
    mean_of_rows="You take the mean of each row and then the mean of the rows. Long rows have more tokens: one mean over "
                 "all of them is asked for.",
    summed="Your result is a sum. The mean over the predicted tokens is asked for.",
    over_tokens="You divide by the number of tokens. n tokens give n - 1 predictions: divide by those.",
    no_softmax="You read the logits as log-probabilities. A log-softmax over the vocabulary is missing.",
    in_bits="Your loss is in bits. Nats are asked for: the natural logarithm.",
)
def next_token_loss_reference(logits, tokens, lengths, bugs=frozenset()):
    T = tokens.shape[1]
    log_p = logits if "no_softmax" in bugs else logits.log_softmax(-1)
    place = torch.arange(1, T)
    said, wanted = log_p[:, :-1], tokens[:, 1:]
    if "no_shift" in bugs:
        wanted = tokens[:, :-1]
    if "wrong_way" in bugs:
        said, wanted = log_p[:, 1:], tokens[:, :-1]
    last = lengths + int("first_padding" in bugs) - int("last_left_out" in bugs)
    counted = (place < last[:, None]) | ("padding_counted" in bugs)            # (B, T - 1)
    terms = -said.gather(-1, wanted[..., None])[..., 0] * counted
    if "mean_of_rows" in bugs:
        return (terms.sum(1) / counted.sum(1)).mean()
    if "summed" in bugs:
        return terms.sum()
    number = lengths.sum() if "over_tokens" in bugs else counted.sum()
    return terms.sum() / number / (math.log(2) if "in_bits" in bugs else 1)


def loss_cases(generator):
    found = []
    for _ in range(3):
        B, T, V = uneven(generator, (3, 4), (6, 8), (5, 9))
        lengths = torch.randint(3, T, (B,), generator=generator)
        lengths[0], lengths[1] = T - 1, 3
        found.append((2 * normal(generator, B, T, V), torch.randint(V, (B, T), generator=generator), lengths))
    return found


next_token_loss.compare("values", loss_cases, points=4)
next_token_loss.gradient("gradient", loss_cases, wrt=(0,), points=1)
next_token_loss.unchanged(loss_cases)
next_token_loss.hint(
    "You do not know which logits belong to which token.",
    "logits[:, :-1] are the predictions that have a target, and tokens[:, 1:] are the targets.")
next_token_loss.hint(
    "Your value is right without padding only.",
    "Build a boolean (B, T - 1): target number 1, 2, ..., T - 1 of row b counts if it is below lengths[b].")
next_token_loss.hint(
    "Your value is near, but not right.",
    "Divide the sum of all counted terms by how many they are, once, for the whole batch.")

# One step with a cache

cached_step = Exercise(
    "cached_step", chapter="16", title="One step with a cache",
    contract="x_t (B, D) is the new token; cache is a pair (K, V), each (B, t, D), of the tokens before, where t may be "
             "0; Wq, Wk, Wv are (D, D), applied as x_t @ W. Return (out, (K, V)): out (B, D) is the new token's attention, "
             "one head, scores divided by sqrt(D), to all tokens up to and including itself, and the new pair has "
             "t + 1 tokens. The old pair is left as it is.",
    points=["kv-cache"], difficulty=3, minutes=25)


@cached_step.reference(
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


cached_step.compare("values", step_cases, points=5)
cached_step.unchanged(step_cases)
cached_step.hint(
    "You do not know where to begin.",
    "Three projections of x_t, each (B, D). Key and value get an axis for time, [:, None], and join the cached ones by "
    "torch.cat along dimension 1. Only then comes attention, with one query.")
cached_step.hint(
    "It fails with an empty cache.",
    "With t = 0 the cat is (B, 1, D), and the softmax over one score is 1: out is the new value. Nothing special is needed "
    "if the new token joins before you attend.")
cached_step.hint(
    "The shapes do not fit.",
    "The query is (B, D), the keys (B, t + 1, D): torch.einsum('bd,btd->bt', q, K) gives the scores, and "
    "torch.einsum('bt,btd->bd', weights, V) the result.")

# The work of a generation

generation_work = Exercise(
    "generation_work", chapter="16", title="Predict, then count: the work of a generation",
    contract="One attention layer of width D reads a prompt of P tokens in one pass, then t more tokens one at a time. A "
             "query takes D multiplications with each key for its scores, and D with each value. A pass over s tokens "
             "multiplies all s x s pairs: what the causal mask hides is computed, then thrown away. With a cache "
             "(cached is True) each of the t tokens is one query that meets all tokens so far, itself included; without "
             "it, each is a pass over all tokens so far. Return the number of multiplications in all, as an integer.",
    points=["kv-cache"], difficulty=2, minutes=15, kind="measure")


@generation_work.reference(
    scores_only="You count the scores and not the values. Each pair takes D multiplications twice.",
    no_prompt="You leave out the pass over the prompt.",
    masked_saved="You count the prompt's pairs below the diagonal only. The pass multiplies all of them; the mask comes "
                 "afterwards.",
    prompt_in_steps="You let the prompt come token by token, as if it were written. It is read in one pass: P queries, P "
                    "keys, all pairs at once.",
    prompt_as_one="You count the prompt as one query. It has P of them, one for each of its tokens.",
    not_itself="Your new token does not meet its own key. After P tokens the first step has P + 1 keys.",
    new_only="Your new tokens meet each other and not the prompt. The keys of the prompt are still there.",
    last_only="You count the last step only. Every token is a step.",
    always_cached="Your count with and without a cache is the same. Without one, all queries of the tokens so far are "
                  "asked again.",
    width_squared="Your count grows with the square of D. That is the projections; a pair in attention takes D.",
)
def generation_work_reference(P, t, D, cached, bugs=frozenset()):
    lengths = [P + i for i in range(1, t + 1)]
    if "not_itself" in bugs:
        lengths = [s - 1 for s in lengths]
    if "new_only" in bugs:
        lengths = [s - P for s in lengths]
    if "last_only" in bugs:
        lengths = lengths[-1:]
    prompt = P * (P + 1) // 2 if "masked_saved" in bugs else P if "prompt_as_one" in bugs else P * P
    if "prompt_in_steps" in bugs:
        prompt = sum(s if cached else s * s for s in range(1, P + 1))
    pairs = 0 if "no_prompt" in bugs else prompt
    pairs += sum(s if cached or "always_cached" in bugs else s * s for s in lengths)
    return pairs * D * (1 if "scores_only" in bugs else 2) * (D if "width_squared" in bugs else 1)


def work_cases(generator):
    return [(*uneven(generator, (3, 9), (4, 12), (5, 16)), cached) for cached in (True, False, True, False)]


generation_work.compare("values", work_cases, points=4, rtol=1e-9, atol=0.1)
generation_work.hint(
    "You look for a formula.",
    "A loop will do: add up pairs of a query and a key, step by step, and multiply by 2 D at the end.")
generation_work.hint(
    "You are off by a little.",
    "Write the steps of P = 1, t = 2 on paper. With a cache: one pair, then two, then three. Without: one, then four, "
    "then nine.")

EXERCISES = [next_token_loss, cached_step, generation_work]
