"""Caches that are broken, to be cases from outside."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lib.exercises.draws import integer, normal
from course_lib.exercises.findings import Findings
from course_lib.exercises.remembered import with_rule
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "find_broken_caches", chapter="gpt", place=5, title="Find the broken caches",
    contract="full is a function: for a list of T tokens it returns logits (T, V), position t having read tokens 0 to t. "
             "Each of candidates claims to compute the same with a cache: candidate(tokens, P) reads the first P tokens "
             "in one pass, P >= 1, then the others one by one, and returns logits (T - P + 1, V), those after P, "
             "P + 1, ..., T tokens. Tokens are 0..V - 1, and T is at most n. Return the sorted list of the candidates, "
             "counted from 0, whose probabilities of the next token differ from full's by more than 1e-4, in some row, for "
             "some tokens and some P.",
    points=["kv-cache"], difficulty=4, minutes=25, kind="find")


def drawn_texts(V, n, number):
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(V, (n,), generator=generator).tolist() for _ in range(number)]


def with_prompts(texts, lengths=(1, 4)):
    return [(text, P) for text in texts for P in lengths]


@exercise.step
def probes(V, n):
    """The texts to try, each with lengths P of the prompt."""
    return with_prompts(drawn_texts(V, n, 3))


@exercise.step
def comparable(logits):
    return logits.softmax(-1)


@exercise.step
def differ(a, b):
    return bool((a - b).abs().max() > 1e-4)


@exercise.reference()
def find_broken_caches_reference(full, candidates, V, n):
    tried = probes(V, n)
    expected = torch.cat([comparable(full(text)[P - 1:]) for text, P in tried])
    return [c for c, candidate in enumerate(candidates)
            if differ(torch.cat([comparable(candidate(text, P)) for text, P in tried]), expected)]


@exercise.misconception(probes, "You always give a prompt of several tokens. Some caches fail with a prompt of one token.")
def long_prompts(V, n):
    return with_prompts(drawn_texts(V, n, 3), (2, 4))


@exercise.misconception(probes, "You always give a prompt of one token. Some caches fail with longer prompts.")
def prompt_of_one(V, n):
    return with_prompts(drawn_texts(V, n, 3), (1,))


@exercise.misconception(probes, "Your texts are short. Some caches lose tokens when the text is nearly n tokens long.")
def short_texts(V, n):
    return with_prompts([text[:n // 2] for text in drawn_texts(V, n, 6)])


@exercise.misconception(probes, "No token occurs twice in your texts. Some caches confuse tokens with positions.")
def no_repeats(V, n):
    generator = torch.Generator().manual_seed(0)
    return with_prompts([torch.randperm(V, generator=generator).tolist()[:n] for _ in range(3)])


@exercise.misconception(
    probes,
    "Your texts repeat a single token. Some caches confuse positions, which shows only where tokens differ.")
def one_token(V, n):
    return with_prompts([[token] * n for token in range(V)])


@exercise.misconception(
    comparable,
    "You compare logits. A constant added to all of them changes no probability: compare after the softmax.")
def compared_logits(logits):
    return logits


@exercise.misconception(
    comparable,
    "You compare only the logits right after the prompt. That part uses no cache: compare all rows.")
def first_row(logits):
    return logits[:1].softmax(-1)


@exercise.misconception(
    comparable,
    "You leave out the logits right after the prompt. The pass over the prompt can be wrong as well: compare all rows.")
def not_first_row(logits):
    return logits[1:].softmax(-1)


@exercise.misconception(
    comparable,
    "You compare the most probable token only. Probabilities can change without changing which token is most probable.")
def likeliest(logits):
    return logits.argmax(-1).double()


@exercise.misconception(
    differ,
    "You ask for equality to the last bit. Sums in another order are rounded differently: allow 1e-4.")
def exact(a, b):
    return bool((a != b).any())


SOUND = ["as full", "float64", "constant"]
BROKEN = ["starts at one", "restarts", "one late", "loses the prompt", "loses a single one", "forgets", "by token",
          "exchanged", "skips tokens", "row before", "flat"]


class Layer:
    """One small attention layer with learned positions, and its caches, sound and broken.

    Answers are cached, because the reference with each misconception asks for the same ones.
    """

    D, LATE, CACHED = 6, 2, 4096                   # width; room for positions past the end; answers that are cached

    def __init__(self, generator: torch.Generator, V: int, n: int):
        E, places = normal(generator, V, self.D), normal(generator, n + self.LATE, self.D)
        Wq, Wk, Wv, U = (0.7 * normal(generator, self.D, width) for width in (self.D, self.D, self.D, V))
        single = (E, places, Wq / math.sqrt(self.D), Wk, Wv, U)
        self.single, self.double, self.n = single, tuple(weight.double() for weight in single), n
        self.skipped = torch.randperm(V, generator=generator)[:3].tolist()     # tokens that a broken cache takes for padding
        self.known: dict[tuple, Tensor] = {}

    def logits(self, tokens, P: int, kind: str) -> Tensor:
        """(T - P + 1, V): after P, ..., T tokens. The tokens come as a list or as a tensor."""
        key = tuple(map(int, tokens)), P, kind
        if key not in self.known:
            if len(self.known) >= self.CACHED:
                self.known.clear()
            self.known[key] = self.computed(*key)
        return self.known[key].clone()                                       # it may be written to

    def computed(self, tokens: tuple[int, ...], P: int, kind: str) -> Tensor:
        T = len(tokens)
        if not 1 <= P <= T <= self.n:
            raise ValueError(f"T is {T} and P {P}; expected 1 <= P <= T <= {self.n}")
        E, table, Wq, Wk, Wv, U = self.double if kind in ("float64", "constant") else self.single
        places = list(range(T))
        if kind == "starts at one":
            places = [place + 1 for place in places]
        if kind == "restarts":
            places[P:] = range(T - P)
        if kind == "one late":
            places[P:] = range(P + 1, T + 1)
        x, key = E[list(tokens)] + table[places], torch.arange(T)              # (T, D), (T,)
        at = key[P - 1:].clone()                                               # where the rows are read, (T - P + 1,)
        if kind == "row before" and P > 1:                                     # the prompt's logits are of its last but one
            at[0] -= 1
        seen = key <= (reader := at[:, None])                                  # (T - P + 1, T)
        if kind == "loses the prompt":
            seen[1:, :P - 1] = False
        if kind == "loses a single one" and P == 1:
            seen[1:, 0] = False
        if kind == "forgets":
            seen[1:] &= (key > reader - (self.n - 3))[1:]
        if kind == "skips tokens":
            skipped = torch.tensor([token in self.skipped for token in tokens])
            seen[1:] &= (~skipped | (key == reader))[1:]
        queries, closed = x[at] @ Wq, ~seen
        heads = attended(queries, x @ Wk, x @ Wv, closed)
        if kind == "by token":                                                 # the prompt's pass has no cache
            held = E[list(tokens)] + table[[tokens.index(token) for token in tokens]]
            heads[1:] = attended(queries, held @ Wk, held @ Wv, closed)[1:]
        if kind == "exchanged" and T > 1:                                      # the first two tokens change places
            held = E[[tokens[1], tokens[0], *tokens[2:]]] + table[places]
            heads[1:] = attended(queries, held @ Wk, held @ Wv, closed)[1:]
        if kind == "flat":                                                     # every step a little warmer
            logits = (heads + x[at]) @ U
            return torch.cat([logits[:1], 0.8 * logits[1:]]).float()
        return ((heads + x[at]) @ U + (1.5 if kind == "constant" else 0)).float()


def attended(queries: Tensor, keys: Tensor, values: Tensor, closed: Tensor) -> Tensor:
    """What attention reads where it is not closed; queries are scaled already."""
    return (queries @ keys.T).masked_fill(closed, -torch.inf).softmax(-1) @ values


def cache_functions(generator: torch.Generator, kinds: list[str], V: int, n: int):
    """`full` of one layer, and a candidate of each kind."""
    layer = Layer(generator, V, n)
    tokens = f"a list of 1 to {n} tokens, each from 0 to {V - 1}"
    return (with_rule(f"full takes {tokens}.", lambda tokens: layer.logits(tokens, 1, "as full")),
            [with_rule(f"A candidate takes {tokens}, and P, the length of the prompt, from 1 to their number.", candidate(layer, kind))
             for kind in kinds])


def candidate(layer: Layer, kind: str):
    if kind == "as full":
        return lambda tokens, P: layer.logits(tokens, 1, kind)[P - 1:]
    return lambda tokens, P: layer.logits(tokens, P, kind)


def cache_cases(generator):
    cases = []
    for number in (3, len(BROKEN)):
        kinds = SOUND + [BROKEN[j] for j in torch.randperm(len(BROKEN), generator=generator)[:number].tolist()]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        n = integer(generator, 9, 11)
        V = n + 2
        while not (functions := cache_functions(generator, kinds, V, n)) or hidden(*functions, kinds, n):
            pass
        cases.append((*functions, V, n))
    return cases


def hidden(full, candidates, kinds: list[str], n: int) -> bool:
    """Is there a broken candidate of which plain texts of n tokens show less than a hundredth?"""
    plain = [(text, P) for text in (list(range(n)), [0] * n, [i % 2 for i in range(n)]) for P in (1, 2, n // 2)]
    right = torch.cat([full(text)[P - 1:] for text, P in plain]).softmax(-1)
    gaps = [(torch.cat([each(text, P) for text, P in plain]).softmax(-1) - right).abs().sum(-1).max() for each in candidates]
    return any(kind in BROKEN and gap < 0.01 for kind, gap in zip(kinds, gaps, strict=True))


exercise.checks.append(Findings(
    "values", 5, cache_cases, holder="One set of candidates", noun="broken one",
    tip="Some break for certain tokens, prompts or rows only."))
exercise.hint(
    "What to compare.",
    "full(tokens)[P - 1:] and candidate(tokens, P) have the same shape. Put both through a softmax over the last axis.")
exercise.hint(
    "Your list misses some.",
    "Vary what a cache could get wrong: prompts of one, two and five tokens; texts of all n tokens, several of them, with "
    "every token of the vocabulary, in which tokens repeat. Look at every row, the first one too.")
exercise.hint(
    "Your list holds sound ones.",
    "Allow a difference of 1e-4 between probabilities, and do not compare logits: a constant added to a row of them means "
    "nothing.")
