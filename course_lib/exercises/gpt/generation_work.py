"""The work of a generation."""
from __future__ import annotations

from course_lib.exercises.draws import uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "generation_work", chapter="16", place=4, title="Predict, then count: the work of a generation",
    contract="One attention layer of width D reads a prompt of P tokens in one pass, then t more tokens one at a time. A "
             "query takes D multiplications with each key for its scores, and D with each value. A pass over s tokens "
             "multiplies all s x s pairs: what the causal mask hides is computed, then thrown away. With a cache "
             "(cached is True) each of the t tokens is one query that meets all tokens so far, itself included; without "
             "it, each is a pass over all tokens so far. Return the number of multiplications in all, as an integer.",
    points=["kv-cache"], difficulty=2, minutes=10, kind="measure")


@exercise.reference(
    scores_only="You count the scores and not the values. Each pair takes D multiplications twice.",
    no_prompt="You leave out the pass over the prompt.",
    masked_saved="You count the prompt's pairs below the diagonal only. The pass multiplies all of them; the mask comes "
                 "afterwards.",
    half_everywhere="You count half of the pairs of every pass. A pass over s tokens multiplies all s x s; the mask throws half "
                    "of them away, afterwards.",
    prompt_cached="With a cache you let the prompt come token by token, each meeting those before it. It is read in one pass, "
                  "cache or not: P queries, P keys, all pairs at once.",
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
    if "prompt_cached" in bugs and cached or "half_everywhere" in bugs:
        prompt = P * (P + 1) // 2
    pairs = 0 if "no_prompt" in bugs else prompt
    pairs += sum(s if cached or "always_cached" in bugs else s * (s + 1) // 2 if "half_everywhere" in bugs else s * s
                 for s in lengths)
    return pairs * D * (1 if "scores_only" in bugs else 2) * (D if "width_squared" in bugs else 1)


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
