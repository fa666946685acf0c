"""Made-up data of the form of each set, so that experiments run without a download: small, and without any meaning."""
from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import torch

from course_lib.data import Splits
from course_lib.data import load_data as loaded

INFO = {"licence": "x", "citation": "x", "key": "x", "protocol": "x", "comparable_with_papers": True}
WORDS = ("the a man woman dog king queen boy girl son daughter river city sees takes is was good bad big old new red film scene "
         "who what where when why how many did year people water house with on in and of to not").split()
GERMAN = {word: word[::-1] + "en" for word in WORDS}
TAGS, RELATIONS = ("DET", "NOUN", "VERB"), ("det", "nsubj", "root")
ROWS = {"train": 80, "valid": 22, "test": 24}
TREC_KINDS = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")


def sentence(draw: random.Random, most: int = 9) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(4, most)))


def sentences(num: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"{sentence(draw)} {1000 * seed + k} ." for k in range(num)]


def load_data(name: str, **options: Any) -> Splits:
    """Splits of the form that the loader of this name gives."""
    g = torch.Generator().manual_seed(len(name))
    if name == "digits":                                             # these ship with scikit-learn
        splits = loaded(name, **options)
        return Splits(name, *(getattr(splits, part)[:num] for part, num in ROWS.items()),
                      {part: splits.labels[part][:num] for part, num in ROWS.items()}, splits.info)
    if name in ("sst2", "cola"):
        texts = [sentences(700 if part == "train" else num, seed) for seed, (part, num) in enumerate(ROWS.items(), len(name))]
        labels = {part: torch.arange(len(text)) % 2 for part, text in zip(ROWS, texts)}
        return Splits(name, *texts, labels, INFO)
    if name == "multi30k":
        english = [sentences(num, seed) for seed, num in enumerate(ROWS.values(), 7)]
        pairs = ([(" ".join(GERMAN.get(word, word) for word in text.split()), text) for text in part] for part in english)
        return Splits(name, *pairs, info=INFO)
    if name == "tiny_shakespeare":
        text = "\n\n".join(f"A king:\n{text}" for text in sentences(400, 3))
        return Splits(name, text[:6000], text[6000:6000 + 10 * 110], text[8000:8000 + 10 * 110], info=INFO)
    width, levels = {"binarized_mnist": (784, 2), "caltech101_silhouettes": (784, 2), "nltcs": (16, 2), "plants": (69, 2),
                     "cifar10_small": (192, 256), "mnist": (784, 256), "red_wine": (11, 0)}[name]
    parts = (torch.randint(levels, (num, width), generator=g, dtype=torch.uint8) if levels
             else torch.randn(num, width, generator=g, dtype=torch.float64) for num in ROWS.values())
    return Splits(name, *parts, info={**INFO, "image_shape": (28, 28)})


def word_texts(folder: Path) -> dict[str, Path]:
    """Files of the form of those that `benchmarks.reproduce.word_texts` names."""
    def conllu(seed: int) -> str:
        draw, blocks = random.Random(seed), []
        for text in sentences(60, seed):
            rows = []
            for k, word in enumerate(text.split(), 1):
                i = draw.randrange(3)
                rows.append("\t".join([str(k), word, "_", TAGS[i], "_", "_", "0", RELATIONS[i], "_", "_"]))
            blocks.append("\n".join([f"# text = {text}", *rows]))
        return "\n\n".join(blocks) + "\n"

    def trec(num: int, seed: int) -> str:
        return "".join(f"{TREC_KINDS[k % 6]}:x {text}\n" for k, text in enumerate(sentences(num, seed)))

    def snli(seed: int) -> str:
        pairs = zip(sentences(40, seed), sentences(40, seed + 1))
        return "".join(f"entailment\t{a}\t{b}\n" for a, b in pairs)

    def scored(num: int) -> str:
        draw = random.Random(num)
        return "".join(f"{a}\t{b}\t{draw.random():.3f}\n" for a, b in (draw.sample(WORDS, 2) for _ in range(num)))

    articles = []
    for k, context in enumerate(sentences(6, 40)):
        context = f"{context} In {1900 + k} the King of Rome took {k + 3} houses . {context}"
        questions = [{"question": "When did the King take houses ?", "answers": [{"text": f"{1900 + k}"}]},
                     {"question": "Who took houses in the city ?", "answers": [{"text": "King of Rome"}]}]
        articles.append({"paragraphs": [{"context": context, "qas": questions}]})
    questions = [" ".join(random.Random(k).sample(WORDS, 4)) for k in range(40)]
    files = {"ud": conllu(11), "ud dev": conllu(12), "ud test": conllu(13),
             "wikitext valid": "\n".join(sentences(60, 14)), "wikitext test": "\n".join(sentences(60, 15)),
             "snli dev": snli(16), "snli test": snli(18), "trec": trec(700, 20), "trec test": trec(24, 21),
             "xquad": json.dumps({"data": articles}), "RG-65": scored(30), "SimLex-999": scored(31), "WordSim-353": scored(32),
             "analogies": "\n".join([": family", *questions[:20], ": other", *questions[20:]]) + "\n"}
    paths = {name: folder / f"{name}.txt" for name in files}
    for name, text in files.items():
        paths[name].write_text(text, encoding="utf-8")
    paths["inaugural"] = folder / "inaugural.zip"
    with zipfile.ZipFile(paths["inaugural"], "w") as packed:
        for k in range(15):
            packed.writestr(f"inaugural/{1900 + k}-Man.txt", " ".join(sentences(20, 50 + k)))
    return paths
