"""The work of a generation."""
from __future__ import annotations

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "generation_work", chapter="gpt", place=4, title="Predict, then count: the work of a generation",
    contract="One attention layer of width D reads a prompt of P tokens in one pass, then t more tokens one at a time. A "
             "query takes D multiplications with each key for its scores, and D with each value. A pass over s tokens "
             "multiplies all s x s pairs: what the causal mask hides is computed, then thrown away. With a cache "
             "(cached is True) each of the t tokens is one query that meets all tokens so far, itself included; without "
             "it, each is a pass over all tokens so far. Return the number of multiplications in all, as an integer.",
    points=["kv-cache"], difficulty=2, minutes=10, kind="measure")


@exercise.step
def pairs_of_pass(s):
    """Pairs of a query and a key in a pass over s tokens."""
    return s * s


@exercise.step
def pairs_of_step(P, i, cached):
    """Of the i-th new token, from 1."""
    return P + i if cached else pairs_of_pass(P + i)


@exercise.step
def pairs_in_all(P, t, cached):
    return pairs_of_pass(P) + sum(pairs_of_step(P, i, cached) for i in range(1, t + 1))


@exercise.step
def multiplications(D):
    """For one pair: D for the score, D for the value."""
    return 2 * D


@exercise.reference()
def generation_work_reference(P, t, D, cached):
    return pairs_in_all(P, t, cached) * multiplications(D)


@exercise.misconception(
    pairs_of_pass,
    "You count half of the pairs of every pass. A pass over s tokens multiplies all s x s, and the mask discards half of them "
    "afterwards.")
def half_everywhere(s):
    return s * (s + 1) // 2


@exercise.misconception(
    pairs_of_step,
    "Your new token does not attend to its own key. After P tokens the first step has P + 1 keys.")
def not_itself(P, i, cached):
    return pairs_of_step.original(P, i - 1, cached)


@exercise.misconception(
    pairs_of_step,
    "With a cache your new token does not attend to its own key. After P tokens the first step has P + 1 keys, its own included.")
def not_itself_in_cache(P, i, cached):
    return pairs_of_step.original(P, i - cached, cached)


@exercise.misconception(
    pairs_of_step,
    "Your count with and without a cache is the same. Without a cache, every step computes the queries of all tokens so far "
    "again.")
def always_cached(P, i, cached):
    return P + i


@exercise.misconception(pairs_in_all, "You leave out the pass over the prompt.")
def no_prompt(P, t, cached):
    return pairs_in_all.original(P, t, cached) - P * P


@exercise.misconception(
    pairs_in_all,
    "You count the prompt's pairs below the diagonal only. The pass multiplies all of them, and the mask comes afterwards.")
def masked_saved(P, t, cached):
    return pairs_in_all.original(P, t, cached) - P * (P - 1) // 2


@exercise.misconception(
    pairs_in_all,
    "With a cache you let the prompt come token by token, each attending to those before it. It is read in one pass, with or "
    "without a cache: P queries, P keys, all pairs at once.")
def prompt_cached(P, t, cached):
    return pairs_in_all.original(0, P + t, cached) if cached else pairs_in_all.original(P, t, cached)


@exercise.misconception(
    pairs_in_all,
    "You let the prompt come token by token, as if it were generated. It is read in one pass: P queries, P keys, all pairs at "
    "once.")
def prompt_in_steps(P, t, cached):
    return pairs_in_all.original(0, P + t, cached)


@exercise.misconception(multiplications, "You count the scores but not the values. Each pair takes D multiplications twice.")
def scores_only(D):
    return D


def work_cases(generator):
    return [(*uneven(generator, (3, 9), (4, 12), (5, 16)), cached) for cached in (True, False, True, False)]


exercise.compare("values", work_cases, points=4, rtol=1e-9, atol=0.1)
exercise.hint(
    "A formula, or a loop.",
    "A loop will do: add up pairs of a query and a key, step by step, and multiply by 2 D at the end.")
exercise.hint(
    "You are off by a little.",
    "Write the steps of P = 1, t = 2 on paper. With a cache: one pair, then two, then three. Without: one, then four, "
    "then nine.")
