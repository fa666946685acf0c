"""Training of the small networks that are shipped within interactive figures.

    python -m benchmarks.explorables digits        two networks of chapter pixelcnn, on the digits: seconds
    python -m benchmarks.explorables letters       the LSTM of chapter recurrent, on tiny Shakespeare: minutes
    python -m benchmarks.explorables cells         what its cells follow, measured and written on its card
    python -m benchmarks.explorables alignment     two encoder-decoders of chapter attention, three seeds each: minutes

The files are stored with the figures, not with the weights of the hub. No table uses them.
"""
from __future__ import annotations

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks import steps
from benchmarks.translators import parts
from course_lib import hub
from course_lib.data import REGISTRY, load_data
from course_lib.data.toy_translation import Pair, alignment_score, to_ids, to_text, vocabularies
from course_lib.decoding import greedy
from course_lib.explorables.alignment import NETWORKS
from course_lib.explorables.base import STATIC
from course_lib.explorables.lstm_letters import WEIGHTS, run
from course_lib.pixels import GatedPixelCNN, PixelCNN
from course_lib.recurrent import Carried, RecurrentLM, Seq2Seq, nats_of_text, streams
from course_lib.tokenizers import CharTokenizer
from course_lib.training import evaluate, fit

FOLDER = STATIC / "weights"
DIGITS = {"epochs": 25, "batch_size": 50, "lr": 0.01, "weight_decay": 0.1, "schedule": "cosine", "patience": 25}
LETTERS = {"epochs": 12, "lr": 0.008, "betas": [0.9, 0.99], "clip": 1.0, "schedule": "cosine", "warmup": 100,
           "patience": 12}
STREAMS, PIECE = 64, 64
TRANSLATORS = {"epochs": 12, "batch_size": 50, "lr": 0.015, "schedule": "cosine", "clip": 1.0}
ARTICLES = ("il", "la", "le")
READ = 30_000                                                        # letters of each part that the cells are judged on


def card(model: str, data: str, training: dict, results: dict, notes: str) -> hub.Card:
    entry = REGISTRY[data]
    return hub.Card(model, data, entry.licence, entry.citation, {**training, "seed": 0}, results, notes)


def digits(folder: Path = FOLDER) -> None:
    """A small PixelCNN and gated PixelCNN, each at its best epoch on the validation set."""
    data = load_data("digits")
    for name, kind, width in (("pixelcnn", PixelCNN, 20), ("gated", GatedPixelCNN, 10)):
        torch.manual_seed(0)
        model = kind((8, 8), width, 4, first=3).initialize(data.train)
        history = fit(model, data.train, data.valid, progress=False, **DIGITS)
        valid, error = evaluate(model, data.valid)
        print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters, {sum(history.seconds):.0f} s, "
              f"validation {valid:.2f} ± {error:.2f} nats, best epoch {history.best_epoch}")
        hub.save(model, folder, f"{name}-drawn-digits", card(
            f"{kind.__name__}, width {width}, four layers", "digits", DIGITS, {"validation nats": round(valid, 2)},
            "For the figure that draws a digit. Made by `python -m benchmarks.explorables digits`."))


def letters(folder: Path = FOLDER) -> None:
    """LSTM of 48 cells with one-hot letters as inputs, its weights rounded to half precision."""
    text = load_data("tiny_shakespeare")
    tokenizer = CharTokenizer.fit(text.train + text.valid + text.test)
    train, valid, test = (tokenizer.encode(part) for part in (text.train, text.valid, text.test))
    torch.manual_seed(0)
    model = RecurrentLM(len(tokenizer.vocabulary), 48, "lstm", forget_bias=1.0)
    history = fit(Carried(model, STREAMS), streams(train, STREAMS, PIECE), streams(valid, 10, PIECE), **LETTERS)
    rounded = model.half().float()
    nats = nats_of_text(rounded, test, valid[-1000:]).mean().item()
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {sum(history.seconds):.0f} s, best epoch "
          f"{history.best_epoch}, test {nats:.3f} nats a character")
    hub.save(model, folder, WEIGHTS, card(
        "LSTM of 48 cells on letters, one-hot", "tiny_shakespeare",
        {**LETTERS, "streams": STREAMS, "piece": PIECE, "tokenizer": tokenizer.config},
        {"test nats a character": round(nats, 3)},
        "For the figure of the hidden state. Half precision. Made by `python -m benchmarks.explorables letters`."),
        dtype=torch.float16)
    cells(folder)


def correlation(a: Float[Tensor, "T ..."], b: Float[Tensor, "T"]) -> Float[Tensor, "..."]:
    """Pearson correlation of each column of a with b."""
    a, b = a - a.mean(dim=0), b - b.mean()
    return (a.movedim(0, -1) @ b) / (a.norm(dim=0) * b.norm())


def features(text: str) -> dict[str, Float[Tensor, "T"]]:
    """Features after each letter: a position, counted from its beginning, or 1 inside and 0 outside."""
    found: dict[str, list[float]] = {name: [] for name in
                                     ("the place in the line", "the place in the word", "the place in the sentence",
                                      "the line of the speech", "a speaker's name", "inside a word")}
    line = word = sentence = speech = 0
    name = False
    for before, letter in zip(" " + text, text):
        if letter == "\n":
            name = before == "\n"
            speech = 0 if name else speech + 1
        line = 0 if letter == "\n" else line + 1
        word = word + 1 if letter.isalpha() or letter == "'" else 0
        sentence = 0 if letter in ".?!" else sentence + 1
        for values, value in zip(found.values(), (line, word, sentence, speech, name, word > 0)):
            values.append(float(value))
        name = name and letter != ":"
    return {key: torch.tensor(values, dtype=torch.float64) for key, values in found.items()}


def cells(folder: Path = FOLDER) -> None:
    """For each feature the cell with the highest correlation on the validation text, and its correlation on the test
    text.

    The baseline is the last letter: the mean of the feature after each letter of the validation text.
    """
    model, about = hub.load(folder / WEIGHTS), hub.card(folder / WEIGHTS)
    tokenizer, text = CharTokenizer.from_config(about.training["tokenizer"]), load_data("tiny_shakespeare")
    valid, test = ((tokenizer.encode(part[:READ]), features(part[:READ])) for part in (text.valid, text.test))
    memory = [run(model.double(), ids.tolist()).c for ids, _ in (valid, test)]                 # (T, H) each
    for name in valid[1]:
        best = int(correlation(memory[0], valid[1][name]).abs().argmax())
        count = torch.bincount(valid[0], minlength=len(tokenizer.vocabulary)).clamp(min=1)
        after = torch.zeros(len(count), dtype=torch.float64).index_add(0, valid[0], valid[1][name]) / count
        about.results[name] = {
            "cell": best, "correlation": round(correlation(memory[1][:, best], test[1][name]).item(), 3),
            "last letter alone": round(correlation(after[test[0]], test[1][name]).item(), 3), "letters": READ}
        print(name, about.results[name])
    hub.save(model.float(), folder, WEIGHTS, about, dtype=torch.float16)


def right_by_length(model: Seq2Seq, pairs: list[Pair]) -> dict[int, list[int]]:
    """For each number of Italian words: the number of sentences that greedy search translates correctly, and their
    total."""
    source, target = to_ids(pairs)
    said = greedy(model, length=target.shape[1], context=source, eos_id=model.eos_id).tokens
    found: dict[int, list[int]] = {}
    for row, pair in zip(said, pairs):
        count = found.setdefault(len(pair.target), [0, 0])
        count[0] += to_text(row) == " ".join(pair.target)
        count[1] += 1
    return dict(sorted(found.items()))


def alignment(folder: Path = FOLDER) -> None:
    """Two small GRU translators of the toy language, without and with attention; the best of three seeds on the
    validation set."""
    train, valid, test = parts()
    (source, target), sizes = to_ids(train), [len(words) for words in vocabularies()]
    for name, score in NETWORKS.items():
        best, seeds = None, []
        for seed in range(3):
            torch.manual_seed(seed)
            model = Seq2Seq(*sizes, 10, score, "after", embedding=8, tied=True)
            history = fit(model, (source, target), lengths=(target != model.pad_id).sum(dim=1), seed=seed,
                          progress=False, **TRANSLATORS)
            model = model.half().float().eval()
            by_length = right_by_length(model, test)
            valid_right = sum(right for right, _ in right_by_length(model, valid).values())
            looks = list(model.attention_weights(*to_ids(test)))
            seeds.append({"seed": seed, "valid": valid_right, "test": sum(right for right, _ in by_length.values()),
                          "by length": [right for right, _ in by_length.values()],
                          "aligned": round(alignment_score(looks, test, ARTICLES), 3)})
            print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters, {sum(history.seconds):.0f} s, "
                  f"{seeds[-1]}", flush=True)
            if best is None or valid_right > best[0]:
                best = valid_right, seed, model
        about = hub.Card(
            f"GRU encoder-decoder, hidden 10, embedding 8, {'one vector' if score is None else score + ' attention'}",
            "toy_translation", "MIT, as the code that draws it", "a grammar of this course, "
            "course_lib.data.toy_translation", {**TRANSLATORS, "pairs": len(train), "seed": best[1]},
            {"right of 400": seeds, "sentences by words": {str(k): num for k, (_, num) in by_length.items()}},
            "For the figure of chapter attention. Half precision. Made by `python -m benchmarks.explorables alignment`.")
        hub.save(best[2], folder, name, about, dtype=torch.float16)


STEPS = {"digits": digits, "letters": letters, "cells": cells, "alignment": alignment}
if __name__ == "__main__":
    steps.run("benchmarks.explorables", __doc__, STEPS)
