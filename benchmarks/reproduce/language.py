"""Runs of transformers on text: a GPT that reads characters, an encoder-decoder that translates captions."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.reproduce.recipes import Job, Trained
from benchmarks.reproduce.run import Row, Run, Target
from benchmarks.reproduce.text import Parts
from course_lib.data import Splits
from course_lib.text import BytePairTokenizer, CharTokenizer, bleu
from course_lib.text.batching import pad
from course_lib.text.decoding import greedy
from course_lib.training import evaluate, fit
from course_lib.transformer.gpt import GPT, GPTConfig
from course_lib.transformer.translation import Translation, TranslationConfig

if TYPE_CHECKING:
    from typing import Any

WINDOW, BATCH, STEPS = 64, 12, 2000


def windows(splits: Splits) -> Parts:
    """Characters as numbers. Train: STEPS batches of windows from anywhere. Valid and test: consecutive windows.

    A window is WINDOW characters and the one before them, from which the first is predicted: every character is scored
    from what its own window holds, the first ones from little.
    """
    tokenizer = CharTokenizer.fit(splits.train + splits.valid + splits.test)
    train, valid, test = (tokenizer.encode(part) for part in (splits.train, splits.valid, splits.test))
    starts = torch.randint(len(train) - WINDOW, (STEPS * BATCH,), generator=torch.Generator().manual_seed(0))
    rows = train.unfold(0, WINDOW + 1, 1)[starts]
    return Parts(rows, consecutive(valid), consecutive(test), {**splits.info, "tokenizer": tokenizer.config})


def consecutive(text: Int[Tensor, "T"]) -> tuple[Int[Tensor, "N L"], Int[Tensor, "N 1"]]:
    """Windows (N, WINDOW) one after another, and the character before each, (N, 1); what is left over is not scored."""
    both = text.unfold(0, WINDOW + 1, WINDOW)
    return both[:, 1:], both[:, :1]


def by_steps(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """One pass over the windows that were drawn; the last weights stay."""
    torch.manual_seed(job.seed)
    model = row.model(**row.arguments).to(job.device)
    history = fit(model, job.splits.train, seed=job.seed, device=job.device, checkpoint_every=200,
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs)


def character_gpt(**size: int) -> GPT:
    return GPT(GPTConfig(window=WINDOW, **size))


def nats_a_character(model: nn.Module, part: tuple[Tensor, Tensor]) -> dict[str, float]:
    """Minus log p of a character, in nats: its mean, the standard error over windows, the characters it was taken over."""
    mean, error = evaluate(model, part, batch_size=100)
    return {"mean": round(mean / WINDOW, 4), "standard_error": round(error / WINDOW, 4), "over": part[0].numel()}


# --- translation -----------------------------------------------------------------------------------------------------

PIECES, LONGEST = 4000, 60                                           # symbols of each language; tokens of a translation
PAD, BOS, EOS, FIRST = 0, 1, 2, 3                                    # FIRST is the number of the first symbol


class Sentences(NamedTuple):
    """Sources (N, S) and targets (N, T), filled up, and what the targets say; `tokenizer` is that of the targets."""

    source: Int[Tensor, "N S"]
    target: Int[Tensor, "N T"]
    texts: list[str]
    tokenizer: BytePairTokenizer


class Pairs(NamedTuple):
    train: Sentences
    valid: Sentences
    test: Sentences
    info: dict[str, Any]


def pairs(splits: Splits) -> Pairs:
    """Lower-cased sentences as byte pairs, learnt from the training sentences of each language."""
    sides = [[text.lower() for text in side] for side in zip(*splits.train)]
    tokenizers = [BytePairTokenizer.fit("\n".join(side), PIECES) for side in sides]

    def numbered(part: list[tuple[str, str]]) -> Sentences:
        texts = [[text.lower() for text in side] for side in zip(*part)]
        source, target = ([tokenizer.encode(text) + FIRST for text in side] for tokenizer, side in zip(tokenizers, texts))
        target = [torch.cat([row, row.new_tensor([EOS])]) for row in target]
        return Sentences(pad(source, PAD)[0], pad(target, PAD)[0], texts[1], tokenizers[1])

    return Pairs(*(numbered(getattr(splits, part)) for part in ("train", "valid", "test")), splits.info)


def by_length(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Sentences of like length share a batch; the last weights stay."""
    torch.manual_seed(job.seed)
    model, train = row.model(**row.arguments).to(job.device), job.splits.train
    history = fit(model, (train.source, train.target), seed=job.seed, device=job.device, lengths=(train.target != PAD).sum(1),
                  checkpoint=job.checkpoints / f"{name}.safetensors", **settings)
    return Trained(model, sum(history.seconds), history.epochs)


def translator(**size: int | float | str) -> Translation:
    return Translation(TranslationConfig(source=PIECES + FIRST, target=PIECES + FIRST, pad_id=PAD, bos_id=BOS, eos_id=EOS,
                                         **size))


def translate(model: Translation, part: Sentences) -> list[str]:
    """The greedy translation of every source."""
    said = []
    for rows in torch.arange(len(part.source)).split(100):
        found = greedy(model.eval(), length=LONGEST, context=part.source[rows], end=EOS).tokens
        said += [part.tokenizer.decode(row[row >= FIRST] - FIRST).strip() for row in found.cpu()]
    return said


def bleu_of_tokens(model: Translation, part: Sentences) -> dict[str, float | str]:
    """BLEU of lower-cased tokens, its standard error over resampled sentences, and the 13a figure of the plain text."""
    said, texts = translate(model, part), part.texts
    cut = [[" ".join(re.findall(r"\w+|[^\w\s]", text)) for text in side] for side in (said, texts)]
    whole = bleu(cut[0], [[text] for text in cut[1]], tokenize="none")
    generator, scores = torch.Generator().manual_seed(0), []
    for _ in range(100):
        rows = torch.randint(len(said), (len(said),), generator=generator).tolist()
        scores.append(bleu([cut[0][i] for i in rows], [[cut[1][i]] for i in rows], tokenize="none").score)
    plain = bleu(said, [[text] for text in texts], lowercase=True)
    return {"mean": round(whole.score, 2), "standard_error": round(statistics.stdev(scores), 2), "over": len(said),
            "signature": whole.signature, "plain_13a": round(plain.score, 2), "plain_signature": plain.signature}


# --- the table -------------------------------------------------------------------------------------------------------


def translation(epochs: int, dropout: float, warmup: int) -> Row:
    return Row(f"encoder-decoder, 3 + 3 layers, width 128, {epochs} epochs", translator, by_length,
               {"d_model": 128, "heads": 4, "d_ff": 512, "encoder_layers": 3, "decoder_layers": 3, "norm": "pre",
                "dropout": dropout, "smoothing": 0.1},
               {"epochs": epochs, "batch_size": 64, "lr": 2e-3, "betas": [0.9, 0.98], "schedule": "cosine",
                "warmup": warmup, "clip": 1.0}, measure=bleu_of_tokens, target=Target(at_least=33.0))


SAID = ("German to English, lower-cased, greedy. sacrebleu on tokens (tokenize none); the record has the 13a figure of the "
        "plain text too, which is another number. ")
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("gpt-tiny-shakespeare", "tiny_shakespeare", (
        Row("GPT, 4 layers, width 128", character_gpt, by_steps,
            {"vocabulary": 65, "layers": 4, "heads": 4, "d_model": 128},
            {"epochs": 1, "batch_size": BATCH, "lr": 2e-3, "betas": [0.9, 0.99], "weight_decay": 0.1, "clip": 1.0,
             "schedule": "cosine", "warmup": 100},
            measure=nats_a_character, target=Target(1.88), weights="gpt-tiny-shakespeare"),
    ), prepare=windows, unit="nats a character",
        note="2,000 steps of 12 windows of 64 characters. Each character is scored from its own window alone."),
    Run("translation-multi30k", "multi30k", (translation(9, 0.1, 400),), prepare=pairs, unit="BLEU", best=max,
        note=SAID + "Nine epochs took about 27 CPU-minutes."),
    Run("translation-multi30k-800", "multi30k", (translation(5, 0.0, 200),), prepare=pairs, unit="BLEU", best=max,
        note=SAID + "Five epochs without dropout, to stay within 800 CPU-seconds of training. A try before it, four epochs with "
             "dropout 0.1, took 648 CPU-seconds to 32.13 on the validation set and 32.77 on the test set."),
)}
