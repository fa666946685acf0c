"""A small GPT on two sentences at a time from a grammar, whose heads chapter inside-a-transformer shows, and two of its kind."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.figures import standard_error
from benchmarks.reproduce.recipes import fitted, together
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, of_items, own
from course_lib.data import Splits, toy_agreement
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.transformer.heads import switched_off

SIZES = {"train": 12000, "valid": 1000, "test": 1000}
SEEDS = (0, 1, 2)
INFO = own(f"Texts drawn independently; the entropy of the grammar is {toy_agreement.entropy():.4f} nats a text.",
           "a grammar of this course, course_lib.data.toy_agreement")


@cache
def draw() -> Splits:
    """Texts of the grammar, all parts from one generator with seed 0."""
    generator = torch.Generator().manual_seed(0)
    parts = {part: [str(text) for text in toy_agreement.texts(num, generator)] for part, num in SIZES.items()}
    return Splits("toy_agreement", **parts, info=INFO)


def as_tokens(splits: Splits) -> Parts:
    """Texts as tokens (N, T) after the start symbol, filled up, and where a token is real."""
    words = toy_agreement.vocabulary()
    info = {**splits.info, "tokenizer": {"symbols": [words.symbol(i) for i in range(len(words))], "bos": toy_agreement.BOS}}
    return Parts(*(toy_agreement.to_ids(getattr(splits, part)) for part in SIZES), info)


def by_texts(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Every word of every text from those before it; the last weights stay."""
    return fitted(job, row, settings, name)


def by_texts_and_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The same recipe from each of SEEDS; the first is the seed of the model that ships, trained anew."""
    return together(fitted(job, row, settings, f"{name}-{seed}", seed=seed) for seed in SEEDS)


def word_gpt(**size: int) -> GPT:
    return GPT(GPTConfig(vocab_size=len(toy_agreement.vocabulary()), window=toy_agreement.LONGEST, bos_id=0, **size))


@torch.no_grad()
def nats_a_text(model: GPT, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a text, in nats: its mean, the standard error, the texts it was taken over."""
    tokens, real = part
    log_p = model.eval()(tokens[:, :-1], real[:, :-1]).log_softmax(-1)
    log_p = log_p.gather(-1, tokens[:, 1:, None])[..., 0].masked_fill(~real[:, 1:], 0)
    return of_items(-log_p.sum(1))


class Places(NamedTuple):
    """Columns of the tokens, a start symbol first: what is looked back to, and what has to be told."""

    subject: Int[Tensor, " N"]
    verb: Int[Tensor, " N"]
    pronoun: Int[Tensor, " N"]
    first_thing: Int[Tensor, " N"]
    thing: Int[Tensor, " N"]


def numbers_of(words: Iterable[str]) -> Int[Tensor, " W"]:
    return torch.tensor([toy_agreement.vocabulary().id(word) for word in words])


def places(tokens: Int[Tensor, "N T"]) -> Places:
    """The subject is the first being, the verb the first verb; the rest stands at fixed distances from the first full stop."""
    def first(words):
        return torch.isin(tokens, numbers_of(words)).int().argmax(1)           # (N,)

    verbs, stop = toy_agreement.VERBS, first([toy_agreement.END])
    beings = [word for one, (many, _) in toy_agreement.BEINGS.items() for word in (one, many)]
    return Places(first(beings), first([*verbs, *(verb + "s" for verb in verbs)]), stop + 1, stop - 1, stop + 4)


@torch.no_grad()
def heads_of(model: GPT, tokens: Int[Tensor, "N T"]) -> dict[str, Any]:
    """What each head looks at where the pronoun and the last thing are told, and what is told without it.

    "on" and "on_verb" are mean weights (L, H) on the word to look back to and on the verb; "without" is the mean
    probability of the right word with this head switched off, "all" with all heads on, "none" with none. "verbs_number"
    is the probability that the pronoun has the number of the verb, in texts whose verb was given the other number.
    """
    at, rows, heads = places(tokens), torch.arange(len(tokens)), range(model.config.heads)
    read = tokens[:, :-1]

    def told(where, off=()):
        with switched_off(model, off):
            p = model(read).softmax(-1)[rows, where - 1]                       # (N, V)
        return p.gather(1, tokens[rows, where][:, None]).mean().item()

    weights, found = torch.stack(model.attention_weights(read), 1), {}         # (N, L, H, T, T)
    every = [(layer, head) for layer in range(model.config.layers) for head in heads]
    for kind, where, back in (("pronoun", at.pronoun, at.subject), ("thing", at.thing, at.first_thing)):
        found[kind] = {
            "all": told(where), "none": told(where, every),
            "without": [[told(where, [(layer, head)]) for head in heads] for layer in range(model.config.layers)],
            "on": weights[rows, :, :, where - 1, back].mean(0).tolist(),
            "on_verb": weights[rows, :, :, where - 1, at.verb].mean(0).tolist()}
    found["verbs_number"] = number_of_the_verb(model, tokens, at)
    return rounded(found)


def number_of_the_verb(model: GPT, tokens: Int[Tensor, "N T"], at: Places) -> float:
    """In texts whose verb is given the other number: the probability of a pronoun that has the number of the verb."""
    rows, verbs = torch.arange(len(tokens)), toy_agreement.VERBS
    many, one = numbers_of(verbs), numbers_of([verb + "s" for verb in verbs])
    other = torch.arange(len(toy_agreement.vocabulary()))
    other[many], other[one] = one, many
    wrong = tokens.clone()
    wrong[rows, at.verb] = other[tokens[rows, at.verb]]
    p = model(wrong[:, :-1]).softmax(-1)[rows, at.pronoun - 1]                 # (N, V)
    singular: Float[Tensor, " N"] = p[:, numbers_of(sorted({name for _, name in toy_agreement.BEINGS.values()}))].sum(1)
    plural = p[:, numbers_of([toy_agreement.MANY])[0]]
    return torch.where(torch.isin(wrong[rows, at.verb], many), plural, singular).mean().item()


def rounded(found: Any) -> Any:
    """To three digits, at any depth."""
    if isinstance(found, dict):
        return {key: rounded(value) for key, value in found.items()}
    return [rounded(value) for value in found] if isinstance(found, list) else round(found, 3)


def heads_of_seeds(models: Repeats, part: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """Nats a text, mean and standard error over the seeds; of each seed its own, and its heads."""
    each = [nats_a_text(model, part)["mean"] for model in models]
    return {"mean": round(statistics.mean(each), 4), "standard_error": round(standard_error(each), 4), "over": len(part[0]),
            "seeds": each, "heads": [heads_of(model, part[0]) for model in models]}


SIZE = {"layers": 2, "heads": 4, "d_model": 32, "d_ff": 64}
SETTINGS = {"epochs": 12, "batch_size": 64, "lr": 5e-3, "weight_decay": 0.1, "schedule": "cosine", "warmup": 100, "clip": 1.0}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("gpt-agreement", "toy_agreement", (
        Row("GPT, 2 layers of 4 heads, width 32", word_gpt, by_texts,
            SIZE, SETTINGS, measure=nats_a_text, weights="gpt-agreement"),
    ), prepare=as_tokens, draw=draw, unit="nats a text",
        note="No model of the grammar can go below its entropy, 13.29 nats a text; a sample of texts can."),
    Run("gpt-agreement-seeds", "toy_agreement", (
        Row("GPT, 2 layers of 4 heads, width 32, three seeds", word_gpt, by_texts_and_seeds, SIZE, SETTINGS,
            measure=heads_of_seeds),
    ), prepare=as_tokens, draw=draw, unit="nats a text",
        note="The model whose heads chapter Inside a transformer shows was trained so; here it is trained three times anew, by the seed alone, "
             "and single heads may differ from those that ship. ± is over the seeds. The record holds what each head looks at "
             "and what is told without it."),
)}
