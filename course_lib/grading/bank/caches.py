"""Chapter 16: caches that are broken, to be found from outside."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer, normal
from course_lib.grading.exercise import Exercise

find_broken_caches = Exercise(
    "find_broken_caches", chapter="16", title="Find the broken caches",
    contract="full is a function: for a list of T tokens it returns logits (T, V), position t having read tokens 0 to t. "
             "Each of candidates claims to compute the same with a cache: candidate(tokens, P) reads the first P tokens "
             "in one pass, P >= 1, then the others one by one, and returns logits (T - P + 1, V), those after P, "
             "P + 1, ..., T tokens. Tokens are 0..V - 1, and T is at most n. Return the sorted list of the candidates, "
             "counted from 0, whose probabilities of the next token differ from full's by more than rounding, for some "
             "tokens and some P.",
    points=["kv-cache"], difficulty=4, minutes=30, kind="find")


@find_broken_caches.reference(
    compared_logits="You compare logits. A constant added to all of them changes no probability: compare after the "
                    "softmax.",
    exact="You ask for equality to the last bit. Sums in another order are rounded otherwise: allow 1e-4.",
    first_row="You only look at the logits right after the prompt. That part uses no cache: look at all rows.",
    long_prompts="You always give a prompt of several tokens. Some caches break with a prompt of one.",
    prompt_of_one="You always give a prompt of one token. Some caches break with longer ones.",
    short_texts="Your texts are short. Some caches forget when the text is nearly n tokens long.",
    no_repeats="No token occurs twice in your texts. Some caches confuse tokens with places.",
    sound_ones="Your list holds the sound candidates. The broken ones are asked for.",
    from_one="You count candidates from 1. They count from 0.",
    unsorted="Your list is not sorted.",
)
def find_broken_caches_reference(full, candidates, V, n, bugs=frozenset()):
    generator, found = torch.Generator().manual_seed(0), []
    prompts = (2, 4) if "long_prompts" in bugs else (1,) if "prompt_of_one" in bugs else (1, 4)
    texts = [torch.randint(V, (n,), generator=generator).tolist() for _ in range(2)]
    if "no_repeats" in bugs:
        texts = [torch.randperm(V, generator=generator).tolist()[:n] for _ in range(2)]
    if "short_texts" in bugs:
        texts = [text[:n // 2] for text in texts]
    expected = [full(tokens) for tokens in texts]
    for c, candidate in enumerate(candidates):
        gap = 0.0
        for tokens, whole in zip(texts, expected, strict=True):
            for P in prompts:
                mine, right = candidate(tokens, P), whole[P - 1:]
                if "first_row" in bugs:
                    mine, right = mine[:1], right[:1]
                if "compared_logits" not in bugs:
                    mine, right = mine.softmax(-1), right.softmax(-1)
                gap = max(gap, float((mine - right).abs().max()))
        broken = gap > (0 if "exact" in bugs else 1e-4)
        if broken != ("sound_ones" in bugs):
            found.append(c + ("from_one" in bugs))
    return sorted(found, reverse="unsorted" in bugs)


SOUND = ["as full", "float64", "constant"]
BROKEN = ["starts at one", "restarts", "one late", "loses the prompt", "loses a single one", "forgets", "by token"]


def whole_numbers(tokens) -> list[int]:
    """The tokens as a list, whether they came as one or as a tensor."""
    return [int(token) for token in tokens]


def cache_functions(generator, kinds: list[str], V: int, n: int):
    """`full`, and a candidate of each kind, for one small attention layer with learned positions."""
    D, late = 6, 2                                                             # room for positions past the end
    E, P_table = normal(generator, V, D), normal(generator, n + late, D)
    Wq, Wk, Wv, U = (0.7 * normal(generator, *shape) for shape in ((D, D), (D, D), (D, D), (D, V)))

    def logits(tokens, P, kind):
        wide = torch.float64 if kind in ("float64", "constant") else torch.float32
        table, embed = P_table.to(wide), E.to(wide)
        if not 1 <= P <= len(tokens) <= n:
            raise ValueError(f"T is {len(tokens)} and P {P}; needed is 1 <= P <= T <= {n}")
        places = list(range(len(tokens)))
        if kind == "starts at one":
            places = [place + 1 for place in places]
        if kind == "restarts":
            places[P:] = range(len(tokens) - P)
        if kind == "one late":
            places[P:] = range(P + 1, len(tokens) + 1)
        stored = [tokens.index(token) for token in tokens] if kind == "by token" else places
        x, held = embed[tokens] + table[places], embed[tokens] + table[stored]     # (T, D)
        key = torch.arange(len(tokens))
        seen = key <= (reader := key[P - 1:, None])                            # (T - P + 1, T)
        if kind == "loses the prompt":
            seen[1:, :P - 1] = False
        if kind == "loses a single one" and P == 1:
            seen[1:, 0] = False
        if kind == "forgets":
            seen[1:] &= (key > reader - (n - 3))[1:]

        def attend(rows, source):
            scores = x[P - 1:][rows] @ Wq.to(wide) @ (source @ Wk.to(wide)).T / math.sqrt(D)
            return scores.masked_fill(~seen[rows], -torch.inf).softmax(-1) @ (source @ Wv.to(wide))

        heads = torch.cat([attend(slice(0, 1), x), attend(slice(1, None), held)])     # the prompt's pass has no cache
        return ((heads + x[P - 1:]) @ U.to(wide) + (1.5 if kind == "constant" else 0)).float()

    def full(tokens: list[int]) -> Tensor:
        return logits(whole_numbers(tokens), 1, "as full")

    def candidate(kind: str):
        if kind == "as full":
            return lambda tokens, P: full(tokens)[P - 1:]
        return lambda tokens, P: logits(whole_numbers(tokens), P, kind)

    return full, [candidate(kind) for kind in kinds]


def cache_cases(generator):
    found = []
    for number in (3, 7):
        kinds = SOUND + [BROKEN[j] for j in torch.randperm(len(BROKEN), generator=generator)[:number].tolist()]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        n = integer(generator, 9, 11)
        V = n + 2
        found.append((*cache_functions(generator, kinds, V, n), V, n))
    return found


find_broken_caches.compare("values", cache_cases, points=5)
find_broken_caches.hint(
    "You do not know what to compare.",
    "full(tokens)[P - 1:] and candidate(tokens, P) have the same shape. Put both through a softmax over the last axis.")
find_broken_caches.hint(
    "You find some of them.",
    "Vary what a cache could get wrong: prompts of one, two and five tokens, texts of all n tokens, texts in which tokens "
    "repeat. Look at every row.")
find_broken_caches.hint(
    "You accuse sound ones.",
    "Allow a difference of 1e-4 between probabilities, and do not compare logits: a constant added to a row of them means "
    "nothing.")

EXERCISES = [find_broken_caches]
