"""The texts that the stored word vectors are made of, and the lists of words that measure them."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_lib.data import DataError, load_data
from course_lib.data.download import fetch
from course_lib.data.readers import read_rows, read_text
from course_lib.data.registry import File

GITHUB = "https://raw.githubusercontent.com/"

CLITICS = re.compile(r"n['’]t\b|['’](?:s|re|ve|ll|d|m)\b")
WORD = re.compile(r"n't|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]+|\d+|[^\w\s]")
END = re.compile(r"(?<=[.!?;])\s+")


@dataclass(frozen=True)
class Source:
    """One text: its licence, as its home states it, and where it comes from."""

    name: str
    licence: str
    citation: str


SOURCES = {source.name: source for source in (
    Source("UD English EWT, train", "CC BY-SA 4.0", "Silveira et al. 2014, A gold standard dependency corpus for English"),
    Source("WikiText-2, valid and test", "CC BY-SA 3.0", "Merity et al. 2016, Pointer sentinel mixture models"),
    Source("SNLI, dev and test", "CC BY-SA 4.0", "Bowman et al. 2015, A large annotated corpus for learning natural language "
           "inference"),
    Source("SST-2, train", "none stated", "Socher et al. 2013, Recursive deep models for semantic compositionality"),
    Source("TREC, train", "none stated", "Li and Roth 2002, Learning question classifiers"),
    Source("inaugural addresses", "public domain", "Presidents of the USA, 1789 to 2021; from NLTK's data"),
    Source("tiny_shakespeare, train", "public-domain text", "Karpathy 2015, The unreasonable effectiveness of recurrent "
           "neural networks"),
    Source("XQuAD, English passages", "CC BY-SA 4.0", "Artetxe, Ruder and Yogatama 2020, On the cross-lingual "
           "transferability of monolingual representations"),
)}
LEFT_OUT = {
    "Multi30k, English": "non-commercial research and educational use only",
    "CoLA, train": "the copyright remains with the authors of the sentences; used under fair use",
}


def _file(path: str, size: int, sha256: str, *urls: str) -> File:
    return File(path, size, f"sha256:{sha256}", tuple(GITHUB + url for url in urls))


QNN = "FreedomIntelligence/qnn/77f5493/data/"
FILES = {name: _file(*row) for name, row in {
    "ud": ("ud_english_ewt/en_ewt-ud-train.conllu.gz", 2608077,
           "4861d76b9c49cb3524dfdf7d02e78c1d6a4c4e6fb892f9e6128cc671a6f195a8"),
    "ud dev": ("ud_english_ewt/en_ewt-ud-dev.conllu.gz", 334223,
               "24656b4a407808e7b9e42959b2e39e18ae5580bfbf3b27938d6873dabaed8845"),
    "ud test": ("ud_english_ewt/en_ewt-ud-test.conllu.gz", 331264,
                "0506bfdbccef68634d5429369e67a7d4418b2340bd2b2ddcfca8373514af83bc"),
    "wikitext valid": ("wikitext2/valid.txt", 1121681, "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8"),
    "wikitext test": ("wikitext2/test.txt", 1256449, "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0"),
    "snli dev": ("snli_devtest/dev.tsv.gz", 231623, "372b6a3e69b5b55667e0bba0c873906377652bc6a3c991facdace77199208526"),
    "snli test": ("snli_devtest/test.tsv.gz", 231708, "98b6dbb3dfa66f404b6060fb32f4928b2481e7ca0822edc9701d1977f0579d8f"),
    "trec": ("trec/train_5500.label", 333379, "8bd6e79493f43bbd22c364587366a1dced54e1e31259eaa92721a0f526031116",
             QNN + "TREC/train_5500.label"),
    "trec test": ("trec/TREC_10.label", 23269, "86ad53c8fc9d397ab2f4be7c967d8efb470b260140557d3e57afad69d1b88b76",
                  QNN + "TREC/TREC_10.label"),
    "inaugural": ("inaugural/inaugural.zip", 346476, "7c5fb5793e31fbeae12bf1aa0ffda5336468f07cedb50654c6d31ca384e2046b",
                  "nltk/nltk_data/5db857e/packages/corpora/inaugural.zip"),
    "xquad": ("xquad/xquad.en.json", 609383, "e4c57d1c9143aaa1c5d265ba5987a65f4e69528d2a98f29d6e75019b10344f29",
              "deepmind/xquad/60cac41/xquad.en.json"),
    "RG-65": ("wordsim/EN-RG-65.txt", 1210, "c243f3a91c3f5d8cf67f21a67f6fb80bde8b6bb060851a6a48e6f2d68ec98c9f",
              "mfaruqui/eval-word-vectors/94b3dd9/data/word-sim/EN-RG-65.txt"),
    "SimLex-999": ("wordsim/EN-SIMLEX-999.txt", 18024, "405394ffb7d25f6d0e3c041f87c9f27d29dc6b047506769953e85c4523b11685",
                   "mfaruqui/eval-word-vectors/94b3dd9/data/word-sim/EN-SIMLEX-999.txt"),
    "WordSim-353": ("wordsim/EN-WS-353-ALL.txt", 7405, "ce12919b240af45bdf46d243601eaca2b6212b159b5e7e9b435ee7ee40c5619c",
                    "mfaruqui/eval-word-vectors/94b3dd9/data/word-sim/EN-WS-353-ALL.txt"),
    "analogies": ("wordsim/questions-words.txt", 603955, "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
                  "tmikolov/word2vec/20c129a/questions-words.txt"),
}.items()}


def path(name: str) -> Path:
    """The file of that row, verified: from COURSE_DATA, the cache or its home."""
    return fetch("word vectors", FILES[name])


def words(text: str) -> list[str]:
    """Lower case; n't, 's and their like apart, and every mark: raw text and tokenised text come out alike.

    >>> words("Don't stop, it 's Tom's dog.")
    ['do', "n't", 'stop', ',', 'it', "'s", 'tom', "'s", 'dog', '.']
    """
    text = text.lower().replace("<unk>", " ").replace("’", "'")
    return WORD.findall(CLITICS.sub(lambda found: " " + found.group(), text))


def sentences(text: str) -> list[list[str]]:
    """Cut after the marks that end one."""
    return [found for piece in END.split(text) if (found := words(piece))]


def read(name: str) -> list[list[str]]:
    """The sentences of one source, before any is taken out."""
    if name == "UD English EWT, train":
        return _conllu("ud")
    if name == "WikiText-2, valid and test":
        lines = [line for part in ("valid", "test") for line in read_text(path(f"wikitext {part}")).split("\n")]
        return [each for line in lines for each in sentences(line)]
    if name == "SNLI, dev and test":
        rows = [row for part in ("dev", "test") for row in read_rows(read_text(path(f"snli {part}")), part, 3)]
        return [words(text) for text in dict.fromkeys(side for _, *both in rows for side in both)]    # a premise has three rows
    if name == "SST-2, train":
        return [words(text) for text in load_data("sst2").train]
    if name == "TREC, train":
        return [words(question) for _, question in trec("trec")]
    if name == "inaugural addresses":
        return [each for address in addresses().values() for each in sentences(address)]
    if name == "tiny_shakespeare, train":
        return sentences(load_data("tiny_shakespeare").train)
    if name == "XQuAD, English passages":
        articles = json.loads(read_text(path("xquad")))["data"]
        return [each for article in articles for passage in article["paragraphs"] for each in sentences(passage["context"])]
    raise ValueError(f"no text is called {name!r}; there are: {', '.join(SOURCES)}")


def _conllu(name: str) -> list[list[str]]:
    lines = read_text(path(name)).split("\n")
    return [words(line.removeprefix("# text = ")) for line in lines if line.startswith("# text = ")]


def trec(name: str) -> list[tuple[str, str]]:
    """(kind, question): the six kinds of TREC, such as HUM and LOC."""
    rows = [line.split(" ", 1) for line in path(name).read_text("latin-1").splitlines()]
    return [(label.split(":")[0], question) for label, question in rows]


def addresses() -> dict[str, str]:
    """Every inaugural address, by year and president."""
    try:
        with zipfile.ZipFile(path("inaugural")) as packed:
            return {name.split("/")[1].removesuffix(".txt"): packed.read(name).decode("latin-1")
                    for name in sorted(packed.namelist()) if name.endswith(".txt") and "README" not in name}
    except (zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"inaugural.zip cannot be unpacked: {error}") from None


def held_out() -> Iterable[list[str]]:
    """Every sentence of the parts that this course measures on: validation and test."""
    for part in ("ud dev", "ud test"):
        yield from _conllu(part)
    for name in ("sst2", "cola"):
        data = load_data(name)
        yield from (words(text) for part in (data.valid, data.test) for text in part)
    multi30k = load_data("multi30k")
    yield from (words(pair[1]) for part in (multi30k.valid, multi30k.test) for pair in part)
    shakespeare = load_data("tiny_shakespeare")
    yield from (each for part in (shakespeare.valid, shakespeare.test) for each in sentences(part))
    yield from (words(question) for _, question in trec("trec test"))
    articles = json.loads(read_text(path("xquad")))["data"]
    yield from (words(q["question"]) for article in articles for passage in article["paragraphs"] for q in passage["qas"])


def fingerprint(sentence: list[str]) -> bytes:
    """Eight bytes that stand for a sentence."""
    return hashlib.sha256(" ".join(sentence).encode()).digest()[:8]


def training_text() -> tuple[list[list[str]], dict[str, dict[str, int | str]]]:
    """Every sentence of SOURCES that is in no held-out part, and what each source gave."""
    forbidden = {fingerprint(each) for each in held_out()}
    text, given = [], {}
    for name, source in SOURCES.items():
        every = read(name)
        kept = [each for each in every if fingerprint(each) not in forbidden]
        given[name] = {"sentences": len(kept), "words": sum(map(len, kept)), "left_out": len(every) - len(kept),
                       "licence": source.licence}
        text += kept
    return text, given


def scored(name: str) -> list[tuple[str, str, float]]:
    """Pairs of words in lower case with people's scores: "RG-65", "SimLex-999" or "WordSim-353"."""
    return [(a.lower(), b.lower(), float(score)) for a, b, score in read_rows(read_text(path(name)), name, 3)]


def analogies() -> dict[str, list[tuple[str, str, str, str]]]:
    """Questions of four words in lower case, by section."""
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for line in read_text(path("analogies")).removesuffix("\n").split("\n"):
        if line.startswith(": "):
            current = sections.setdefault(line[2:], [])
        else:
            current.append(tuple(line.lower().split()))
    return sections
