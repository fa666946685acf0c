"""Runs on text: a GPT that reads characters; a transformer and a recurrent encoder-decoder that translate captions."""

from __future__ import annotations

import re
import statistics
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.figures import of_trainings
from benchmarks.reproduce.recipes import fitted, together
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained
from benchmarks.reproduce.text import blocks, numbered
from course_lib.data import Splits
from course_lib.decoding import greedy
from course_lib.recurrent import Seq2Seq
from course_lib.tokenizers import BytePairTokenizer
from course_lib.tokenizers.batching import pad
from course_lib.training import bleu, evaluate
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.transformer.transformer import Transformer, TransformerConfig

WINDOW, BATCH, STEPS = 64, 12, 2000
LONG = {"window": 128, "batch": 32, "steps": 6000}
SEEDS = (0, 1, 2)
SCORED = 55                                                          # the last characters of a long window, at most


def windows(splits: Splits) -> Parts:
    """Characters as numbers. Train: STEPS batches of windows from anywhere. Valid and test: consecutive windows.

    A window is WINDOW characters and the one before them, from which the first is predicted: every character is scored
    from what its own window holds, the first ones from little.
    """
    train, valid, test, info = numbered(splits)
    return Parts(from_anywhere(train, WINDOW, STEPS * BATCH), consecutive(valid), consecutive(test), info)


def overlapping(splits: Splits) -> Parts:
    """As `windows`, with the longer windows of LONG; every character of valid and test is scored once, from at least
    73 and at most 127 characters before it, those of the part before included."""
    train, valid, test, info = numbered(splits)
    before = LONG["window"] - SCORED
    return Parts(from_anywhere(train, LONG["window"], LONG["steps"] * LONG["batch"]), blocks(train, valid, SCORED, before),
                 blocks(valid, test, SCORED, before), info)


def from_anywhere(text: Int[Tensor, "T"], window: int, count: int) -> Int[Tensor, "N L"]:
    """`count` windows of `window` + 1 characters that start at random places."""
    starts = torch.randint(len(text) - window, (count,), generator=torch.Generator().manual_seed(0))
    return text.unfold(0, window + 1, 1)[starts]


def consecutive(text: Int[Tensor, "T"]) -> tuple[Int[Tensor, "N L"], Int[Tensor, "N 1"]]:
    """Windows (N, WINDOW) one after another, and the character before each, (N, 1); what is left over is not scored."""
    both = text.unfold(0, WINDOW + 1, WINDOW)
    return both[:, 1:], both[:, :1]


def by_steps(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """One pass over the windows that were drawn; the last weights stay."""
    return fitted(job, row, {**settings, "checkpoint_every": 200}, name)


def by_steps_and_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """The same windows in the order of each of SEEDS, from weights drawn by it; the first is the seed of what ships."""
    return together(by_steps(replace(job, seed=seed), row, settings, f"{name}-{seed}") for seed in SEEDS)


def character_gpt(window: int = WINDOW, **size: int | float) -> GPT:
    return GPT(GPTConfig(window=window, **size))


def nats_a_character(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a character, in nats: its mean, the standard error over windows, the characters it was taken over."""
    mean, error = evaluate(model, part, batch_size=100)
    scored = part[0].shape[1]
    return {"mean": round(mean / scored, 4), "standard_error": round(error / scored, 4), "over": part[0].numel()}


def nats_of_seeds(models: Repeats, part: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """The same over seeds: the mean, each seed's own, and their standard deviation. The error is that of the first seed."""
    return of_trainings([nats_a_character(model, part) for model in models])


# --- translation -----------------------------------------------------------------------------------------------------

PIECES, LONGEST = 4000, 60                                           # symbols of each language; tokens of a translation
PAD, BOS, EOS, FIRST = 0, 1, 2, 3                                    # FIRST is the number of the first symbol


class Sentences(NamedTuple):
    """Sources (N, S) and targets (N, T), filled up, and what the targets say; `tokenizer` is that of the targets,
    `read_by` that of the sources."""

    source: Int[Tensor, "N S"]
    target: Int[Tensor, "N T"]
    texts: list[str]
    tokenizer: BytePairTokenizer
    read_by: BytePairTokenizer


def pairs(splits: Splits) -> Parts:
    """Lower-cased sentences as byte pairs, learnt from the training sentences of each language."""
    sides = [[text.lower() for text in side] for side in zip(*splits.train)]
    tokenizers = [BytePairTokenizer.fit("\n".join(side), PIECES) for side in sides]

    def sentences(part: list[tuple[str, str]]) -> Sentences:
        texts = [[text.lower() for text in side] for side in zip(*part)]
        source, target = ([tokenizer.encode(text) + FIRST for text in side] for tokenizer, side in zip(tokenizers, texts))
        target = [torch.cat([row, row.new_tensor([EOS])]) for row in target]
        return Sentences(pad(source, PAD)[0], pad(target, PAD)[0], texts[1], tokenizers[1], tokenizers[0])

    return Parts(*(sentences(getattr(splits, part)) for part in ("train", "valid", "test")), splits.info)


def by_length(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Sentences of like length share a batch; the last weights stay."""
    train = job.splits.train
    return fitted(job, row, {**settings, "lengths": (train.target != PAD).sum(1)}, name, (train.source, train.target))


def translator(**size: int | float | str) -> Transformer:
    return Transformer(TransformerConfig(source=PIECES + FIRST, target=PIECES + FIRST, pad_id=PAD, bos_id=BOS, eos_id=EOS,
                                         **size))


def translate(model: Transformer, part: Sentences) -> list[str]:
    """The greedy translation of every source."""
    said = []
    for rows in torch.arange(len(part.source)).split(100):
        found = greedy(model.eval(), length=LONGEST, context=part.source[rows], eos_id=EOS).tokens
        said += [part.tokenizer.decode(row[row >= FIRST] - FIRST).strip() for row in found.cpu()]
    return said


def bleu_of_tokens(model: Transformer, part: Sentences) -> dict[str, float | str]:
    """What `bleu_of` says of the greedy translations."""
    return bleu_of(translate(model, part), part.texts)


def bleu_of(said: list[str], texts: list[str]) -> dict[str, float | str]:
    """BLEU of lower-cased tokens, its standard error over resampled sentences, and the 13a figure of the plain text."""
    cut = [words_of(side) for side in (said, texts)]
    whole = bleu(cut[0], [[text] for text in cut[1]], tokenize="none")
    generator, scores = torch.Generator().manual_seed(0), []
    for _ in range(100):
        rows = torch.randint(len(said), (len(said),), generator=generator).tolist()
        scores.append(bleu([cut[0][i] for i in rows], [[cut[1][i]] for i in rows], tokenize="none").score)
    plain = bleu(said, [[text] for text in texts], lowercase=True)
    return {"mean": round(whole.score, 2), "standard_error": round(statistics.stdev(scores), 2), "over": len(said),
            "signature": whole.signature, "plain_13a": round(plain.score, 2), "plain_signature": plain.signature}


def words_of(texts: list[str]) -> list[str]:
    """Words and signs apart, a space between two."""
    return [" ".join(re.findall(r"\w+|[^\w\s]", text)) for text in texts]


GROUPS = ((1, 8), (9, 11), (12, 14), (15, 18), (19, LONGEST))       # words and signs of the reference
SHOWN = ("ein kleiner hund läuft über die grüne wiese .",            # of our own: the data's sentences do not ship
         "zwei männer in blauen hemden spielen auf der straße gitarre .")


def recurrent_translator(**size: Any) -> Seq2Seq:
    return Seq2Seq(source=PIECES + FIRST, target=PIECES + FIRST, pad_id=PAD, bos_id=BOS, eos_id=EOS, **size)


def bleu_by_length(model: Seq2Seq, part: Sentences) -> dict[str, Any]:
    """What `bleu_of_tokens` measures; BLEU of the sentences of each length; how the model looks back on SHOWN."""
    measured = bleu_of_tokens(model, part)
    cut = [[text.split() for text in words_of(side)] for side in (translate(model, part), part.texts)]
    groups = []
    for first, last in GROUPS:
        rows = [k for k, words in enumerate(cut[1]) if first <= len(words) <= last]
        said, texts = ([" ".join(side[k]) for k in rows] for side in cut)
        score = bleu(said, [[text] for text in texts], tokenize="none").score if rows else None
        groups.append({"from": first, "to": last, "over": len(rows), "mean": None if score is None else round(score, 2)})
    return {**measured, "by_length": groups, "shown": [looked_back(model, part, text) for text in SHOWN]}


def looked_back(model: Seq2Seq, part: Sentences, text: str) -> dict[str, Any]:
    """Pieces of a source, those of its greedy translation with the end, and the weights between them, in hundredths."""
    source = part.read_by.encode(text)[None] + FIRST
    found = greedy(model.eval(), length=LONGEST, context=source, eos_id=EOS)
    said = found.tokens[:, :int(found.length)]
    weights = model.attention_weights(source, said)[0]
    pieces = [part.tokenizer.decode(token[None] - FIRST) if token >= FIRST else "</s>" for token in said[0]]
    return {"source": [part.read_by.decode(token[None] - FIRST) for token in source[0]], "said": pieces,
            "weights": None if model.score is None else (100 * weights).round().int().tolist()}


# --- the table -------------------------------------------------------------------------------------------------------


def translation(epochs: int, dropout: float, warmup: int) -> Row:
    return Row(f"encoder-decoder, 3 + 3 layers, width 128, {epochs} epochs", translator, by_length,
               {"d_model": 128, "heads": 4, "d_ff": 512, "encoder_layers": 3, "decoder_layers": 3, "norm": "pre",
                "dropout": dropout, "smoothing": 0.1},
               {"epochs": epochs, "batch_size": 64, "lr": 2e-3, "betas": [0.9, 0.98], "schedule": "cosine",
                "warmup": warmup, "clip": 1.0}, measure=bleu_of_tokens)


def recurrent_translation(label: str, score: str | None, epochs: int) -> Row:
    return Row(f"{label}, {epochs} epochs", recurrent_translator, by_length,
               {"hidden": 256, "embedding": 128, "score": score, "placement": "after", "tied": True, "dropout": 0.1,
                "smoothing": 0.1},
               {"epochs": epochs, "batch_size": 64, "lr": 2e-3, "betas": [0.9, 0.98], "schedule": "cosine", "warmup": 200,
                "clip": 1.0}, measure=bleu_by_length)


SAID = ("German to English, lower-cased, greedy. sacrebleu on tokens (tokenize none); the record has the 13a figure of the "
        "plain text too, which is another number. ")
CHARACTERS = {"vocab_size": 65, "layers": 4, "heads": 4, "d_model": 128}
CHARACTERS_SETTINGS = {"epochs": 1, "batch_size": BATCH, "lr": 2e-3, "betas": [0.9, 0.99], "weight_decay": 0.1, "clip": 1.0,
                       "schedule": "cosine", "warmup": 100}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("gpt-tiny-shakespeare", "tiny_shakespeare", (
        Row("GPT, 4 layers, width 128", character_gpt, by_steps, CHARACTERS, CHARACTERS_SETTINGS,
            measure=nats_a_character, weights="gpt-tiny-shakespeare"),
    ), prepare=windows, unit="nats a character",
        note="2,000 steps of 12 windows of 64 characters. Each character is scored from its own window alone."),
    Run("gpt-tiny-shakespeare-seeds", "tiny_shakespeare", (
        Row("GPT, 4 layers, width 128, three seeds", character_gpt, by_steps_and_seeds, CHARACTERS, CHARACTERS_SETTINGS,
            measure=nats_of_seeds),
    ), prepare=windows, unit="nats a character",
        note="The recipe of gpt-tiny-shakespeare, three times anew; the seed draws the weights and the order of the windows. "
             "After ± the standard error over windows, of the first seed; the record has each seed's own figure."),
    Run("gpt-tiny-shakespeare-long", "tiny_shakespeare", (
        Row("GPT, 4 layers, width 128, trained longer", character_gpt, by_steps,
            {"vocab_size": 65, "layers": 4, "heads": 4, "d_model": 128, "window": LONG["window"], "dropout": 0.1},
            {"epochs": 1, "batch_size": LONG["batch"], "lr": 2.5e-3, "betas": [0.9, 0.99], "weight_decay": 0.1, "clip": 1.0,
             "schedule": "cosine", "warmup": 100, "bf16": True},
            measure=nats_a_character, weights="gpt-tiny-shakespeare-long"),
    ), prepare=overlapping, unit="nats a character",
        note="6,000 steps of 32 windows of 128 characters. Each character is scored once, from 73 to 127 characters before it: "
             "the first windows reach back into the part before."),
    Run("translation-multi30k", "multi30k", (translation(9, 0.1, 400),), prepare=pairs, unit="BLEU", best=max,
        note=SAID + "Nine epochs took about 27 CPU-minutes."),
    Run("translation-multi30k-800", "multi30k", (translation(5, 0.0, 200),), prepare=pairs, unit="BLEU", best=max,
        note=SAID + "Five epochs without dropout, to stay within 800 CPU-seconds of training. A try before it, four epochs with "
             "dropout 0.1, took 648 CPU-seconds to 32.13 on the validation set and 32.77 on the test set."),
    Run("seq2seq-multi30k", "multi30k", (
        recurrent_translation("GRU encoder-decoder with attention", "additive", 7),
        recurrent_translation("GRU encoder-decoder with one vector", None, 10),
    ), prepare=pairs, unit="BLEU", best=max,
        note="German to English, lower-cased, greedy, on the byte pairs of translation-multi30k. sacrebleu on tokens "
             "(tokenize none). A step without attention is cheaper: the epochs were set from the time of a step, for "
             "about the same cost. The record has seconds by the clock alone, of a machine with other work: they do not "
             "show that it was the same."),
)}
