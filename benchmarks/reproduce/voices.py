"""From the passive voice to the active one: is the name right that was read last, and does a head look at it?"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, own
from course_lib.data import Splits
from course_lib.data.toy_translation import Pair, to_ids, to_text
from course_lib.data.toy_voice import draw_voices, to_active, vocabulary
from course_lib.decoding import greedy
from course_lib.training import fit
from course_lib.transformer import Transformer, TransformerConfig

MOST, MANY, EACH = 3, (0, 1, 2, 3, 5, 6), 350                        # adjectives to train on and to test on; sentences of each
PAD, BOS, EOS = 0, 1, 2
INFO = own("Sentences drawn independently from a grammar, in the passive voice and in the active one; those to train on have at "
           "most three adjectives.", "a grammar of this course, course_lib.data.toy_voice")


@cache
def draw() -> Splits:
    def lines(pairs: list[Pair]) -> list[tuple[str, str]]:
        return [(" ".join(p.source), " ".join(p.target)) for p in pairs]

    train, *others = (torch.Generator().manual_seed(seed) for seed in range(3))
    return Splits("toy_voice", lines(draw_voices(2000, train, most=MOST)),
                  *(lines([p for many in MANY for p in draw_voices(EACH, g, many, many)]) for g in others), info=INFO)


def as_pairs(splits: Splits) -> Parts:
    """Pairs to train on, and of those to score the ones with so many adjectives."""
    def by_length(lines: list[tuple[str, str]]) -> dict[int, list[Pair]]:
        pairs = [to_active(source) for source, _ in lines]
        return {many: [p for p in pairs if len(p.source) == 6 + many] for many in MANY}

    return Parts([to_active(source) for source, _ in splits.train], by_length(splits.valid), by_length(splits.test), splits.info)


class Activist(nn.Module):
    """A trained encoder-decoder; the head that looks at the name most often; the number of adjectives it is asked about."""

    def __init__(self, model: Transformer, head: int, many: int):
        super().__init__()
        self.model, self.head, self.many = model, head, many


@cache
def trained(seed: int, epochs: int) -> Transformer:
    """One model for the rows of all lengths."""
    words, parts = vocabulary(), as_pairs(draw())
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(len(words), len(words), PAD, BOS, EOS, d_model=64, heads=4, d_ff=128,
                                          encoder_layers=1, decoder_layers=1, dropout=0.0))
    fit(model, to_ids(parts.train, (words, words)), epochs=epochs, batch_size=50, lr=0.003, schedule="inverse_sqrt", warmup=40,
        clip=1.0, seed=seed, progress=False)
    return model.eval()


@torch.no_grad()
def looking(model: Transformer, pairs: list[Pair]) -> Float[Tensor, "H+1"]:
    """The share of sentences in which the largest weight of the first word lies on "by" or the name: mean of heads, each head."""
    words = vocabulary()
    w = model.attention_weights(*to_ids(pairs, (words, words)))[0][:, :, 0]                   # (B, H, S)
    most = torch.cat([w.mean(dim=1, keepdim=True), w], dim=1).argmax(dim=-1)
    return torch.tensor([[int(s) in p.alignment[0] for s in row] for row, p in zip(most, pairs)]).double().mean(dim=0)


def said(model: Transformer, pairs: list[Pair]) -> list[str]:
    """What greedy decoding writes."""
    words = vocabulary()
    source, target = to_ids(pairs, (words, words))
    rows = greedy(model, length=target.shape[1] + 2, context=source, eos_id=EOS).tokens
    return [to_text(row, words) for row in rows]


def by_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A model a seed. Its head is the one that looks at the name most often in validation sentences as long as those it learnt."""
    models = Repeats()
    for seed in range(settings["seeds"]):
        model = trained(seed, settings["epochs"])
        there = sum(looking(model, job.splits.valid[many])[1:] for many in MANY if many <= MOST)
        models.append(Activist(model, int(there.argmax()), settings["adjectives"]))
    return Trained(models)


def names_and_looks(models: Repeats, part: dict[int, list[Pair]]) -> dict[str, Any]:
    """Per cent of names right, of whole sentences, and of sentences in which the heads' mean and the one head look at the name."""
    found = []
    for each in models:
        pairs = part[each.many]
        written, there = said(each.model, pairs), looking(each.model, pairs)
        names = sum(text.split()[:1] == [p.target[0]] for text, p in zip(written, pairs)) / len(pairs)
        whole = sum(text == " ".join(p.target) for text, p in zip(written, pairs)) / len(pairs)
        found.append([100 * float(share) for share in (names, whole, there[0], there[1 + each.head])])
    names, *others = ([seed[k] for seed in found] for k in range(4))
    return {**of_seeds(names, len(part[models[0].many])),
            **{key: of_seeds(values, len(part[models[0].many])) for key, values in zip(("sentences", "mean of heads", "one head"), others)}}


SETTINGS = {"epochs": 5, "seeds": 3}
RUNS: dict[str, Run] = {"passive-to-active": Run(
    "passive-to-active", "toy_voice", tuple(
        Row(f"{many} adjective{'s' * (many != 1)}", Activist, by_seeds, {}, {**SETTINGS, "adjectives": many}, measure=names_and_looks)
        for many in MANY),
    prepare=as_pairs, draw=draw, unit="% of names right", best=max,
    note=f"One block on each side, width 64, four heads, five times through 2,000 sentences with at most {MOST} adjectives; the name is the "
         f"first word to write and the last one to be read. Three seeds; {EACH} new sentences of each length. The record has whole sentences "
         "too, and in how many of them the largest weight of the first word lies on \"by\" or the name: that of the heads' mean, and that of "
         "the head that does so most often in other sentences of the lengths that it learnt.")}
