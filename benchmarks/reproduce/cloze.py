"""A run on Taylor's cloze of 1953: every fifth word of easy texts and hard ones, filled by counts, by networks and by ELMo."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterator
from functools import cache, cached_property, partial
from itertools import groupby
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Integer
from torch import Tensor, nn

from benchmarks.reproduce import english
from benchmarks.reproduce.english import PIECES, WEIGHTS, in_rows
from benchmarks.reproduce.pretraining import letters
from benchmarks.reproduce.run import Job, Parts, Repeats, Row, Run, Trained, over
from course_lib import data, hub
from course_lib.counting import NGram
from course_lib.counting.ngram import State
from course_lib.data import Splits
from course_lib.data.corpus import load_prose
from course_lib.tokenizers import WordPieceTokenizer
from course_lib.tokenizers.batching import pad
from course_lib.training import fit
from course_lib.words import BiRNNCloze, WindowCloze, delete_every, flesch

NOISE = 200                                                          # pieces that stand in for all in the softmax of training


class Sampled:
    r"""A masked word by a network of chapter fill-the-gap, whose softmax is trained on a sample: the piece itself and `NOISE` others.

    These are drawn by how often each is read, q, the same ones for a whole batch, the piece itself among them where it falls.
    Each score has $\log q$ taken off, the first too: so what is learnt are the scores of the whole softmax, by which gaps are filled.
    """

    def __init__(self, **size: Any):
        super().__init__(PIECES, **size)
        self.scores, self.U = self.U, nn.Identity()                  # fill gives the hidden state, (B, T, H)
        self.register_buffer("q", torch.full((PIECES,), 1 / PIECES))

    def loss(self, batch: Tensor) -> tuple[Float[Tensor, ""], int]:
        tokens, real = self.check_tokens(batch)
        h, own = self.fill(tokens, real)[real], tokens[real]         # (N, H), (N,)
        others = torch.multinomial(self.q, NOISE, replacement=True)
        W, b = self.scores.weight, (self.scores.bias - self.q.log())[:, None]
        of_own = (h * F.embedding(own, W)).sum(dim=1, keepdim=True) + F.embedding(own, b)            # as W[own], in less time
        logits = torch.cat([of_own, h @ F.embedding(others, W).T + F.embedding(others, b).T], dim=1)  # (N, 1 + NOISE)
        return F.cross_entropy(logits, torch.zeros_like(own)), len(own)

    def at(self, tokens: Tensor, real: Tensor, row: Tensor, place: Tensor) -> Tensor:
        return self.scores(self.fill(*self.check_tokens((tokens, real)))[row, place])


class ByWindow(Sampled, WindowCloze):
    """From the pieces on both sides, as many as the radius says."""


class ByTwoRNNs(Sampled, BiRNNCloze):
    """From a network that has read what is before the gap, and one that has read what is after it."""


def by_seeds(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A network a seed, by AdamW on every so many-th row; a radius belongs to the network. The last weights stay."""
    settings, models, seconds = dict(settings), Repeats(), 0.0
    size = {"radius": settings.pop("radius")} if "radius" in settings else {}
    rows = job.splits.train[::settings.pop("every")]
    often = torch.bincount(job.splits.train.flatten(), minlength=PIECES) + 0.1
    for seed in range(settings.pop("seeds")):
        torch.manual_seed(seed)
        model = row.model(**row.arguments, **size)
        model.q.copy_(often / often.sum())
        history = fit(model, rows, seed=seed, checkpoint=job.checkpoints / f"{name}-{len(rows)}-{seed}.safetensors", **settings)
        models.append(model)
        seconds += sum(history.seconds)
    return Trained(models, seconds)


GAPS = 30                                                            # of a passage: 150 words
PASSAGES = 30                                                        # of a source, at most
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")                        # signs stay where they are; "don't" is one word
CLITIC = re.compile(r" (n['’]t|['’](?:s|re|ve|ll|d|m))\b")           # cut off in treebanks and reviews
INFO = {**english.INFO, "protocol":
        "Read: the sentences of the run elmo-english, lower case. What is chosen is chosen on thirty passages of its sentences to validate on. Filled: every "
        "fifth word of texts that nobody has read, in passages of thirty gaps: captions (Multi30k, test), the course's own prose, plays "
        "(Shakespeare, the parts to validate and test on), web texts (UD English EWT, test), reviews (SST-2, test), questions (XQuAD), "
        "and of the 1,000 sentences held out by elmo-english those of Wikipedia and of the inaugural addresses. Of a source 30 "
        "passages at most."}


class Passage(NamedTuple):
    """Sentences in pieces, an edge before and after each; its gaps, of each the sentence and its place there."""

    source: str
    ease: float                                                      # Flesch's
    sentences: list[Int[Tensor, "..."]]
    gaps: list[tuple[int, int]]                                      # of words that are one piece
    asked: int                                                       # how many gaps there are


# --- the texts -------------------------------------------------------------------------------------------------------

def texts() -> Iterator[tuple[str, list[str]]]:
    """What is filled: each source and its sentences, none of which was read."""
    def cut(text: str) -> list[str]:
        return english.SENTENCE.split(" ".join(text.split()))

    plays = data.load_data("tiny_shakespeare")
    speeches = [speech.split(":\n", 1)[-1] for part in (plays.valid, plays.test) for speech in part.split("\n\n")]
    source = {letters(text): name for name, found in english.sources() for text in found}
    held_out = [(source.get(letters(text)), text) for text in english.draw().test]
    yield "captions", [text for _, text in data.load_data("multi30k", source="de", target="en").test]
    yield "the course's own prose", [one for line in load_prose().split("\n") for one in cut(line)]
    yield "plays", [one for speech in speeches for one in cut(speech)]
    yield "web texts", [" ".join(sentence.words) for sentence in english.treebank("test")]
    yield "reviews", data.load_data("sst2").test
    yield "questions", english.passages("question")
    yield "Wikipedia", [text for name, text in held_out if name in ("WikiText-2", "XQuAD")]
    yield "inaugural addresses", [text for name, text in held_out if name == "inaugural addresses"]


@cache
def draw() -> Splits:
    """The English sentences; in the place of those to test on, pairs of a source and a sentence."""
    read = english.draw()
    return Splits(read.name, read.train, read.valid, [(name, one) for name, found in texts() for one in found if WORD.search(one)],
                  info=INFO)


def parts_of(splits: Splits) -> Parts:
    """Rows of pieces (N, T) to train on, passages to choose by and to fill."""
    rows = in_rows(Splits(splits.name, splits.train, splits.valid[:100], splits.valid[:100], info=splits.info))
    tokenizer = WordPieceTokenizer.from_config(rows.info["tokenizer"])
    test = [passage for name, pairs in groupby(splits.test, key=lambda pair: pair[0])
            for passage in passages_of(name, [text for _, text in pairs], tokenizer)]
    return Parts(rows.train, passages_of("english", splits.valid, tokenizer), test, rows.info)


def passages_of(name: str, sentences: list[str], tokenizer: WordPieceTokenizer) -> list[Passage]:
    """Sentences in their order, cut where a passage has `GAPS` gaps or more; what is left over is not used."""
    found, own, words = [], [], 0
    for sentence in (CLITIC.sub(r"\1", one.lower()) for one in sentences):
        own.append(sentence)
        words += len(WORD.findall(sentence))
        if words >= 5 * GAPS:
            found.append(passage_of(name, own, tokenizer))
            own, words = [], 0
            if len(found) == PASSAGES:
                break
    return found


def passage_of(name: str, sentences: list[str], tokenizer: WordPieceTokenizer) -> Passage:
    """Every fifth word of the passage is a gap, whatever it is; that of a word in several pieces is asked and not tried."""
    words = [(number, *match.span()) for number, text in enumerate(sentences) for match in WORD.finditer(text)]
    edge = torch.tensor([tokenizer.vocabulary.eos_id])
    gaps = []
    for place in delete_every([str(i) for i in range(len(words))]).places:
        number, start, end = words[place]
        if len(tokenizer.encode(sentences[number][start:end])) == 1:
            gaps.append((number, 1 + len(tokenizer.encode(sentences[number][:start]))))
    tokens = [torch.cat([edge, tokenizer.encode(text), edge]) for text in sentences]
    ended = " ".join(text if text.rstrip(" \"')")[-1:] in tuple(".!?") else f"{text} ." for text in sentences)
    return Passage(name, flesch(ended), tokens, gaps, len(range(4, len(words), 5)))


# --- who fills them --------------------------------------------------------------------------------------------------

# Each has at(tokens (B, T), real (B, T), row (N,), place (N,)) -> (N, V): scores of the word in the gap (row, place) of
# padded sentences, given the words on the sides that it reads.

class ByCounts(NGram):
    r"""$p(w \mid \text{before})$ of an n-gram; a bigram that reads both sides gives $p(w \mid l)\, p(r \mid w)$."""

    def __init__(self, n: int, both: bool = False, smoothing: str = "kneser-ney"):
        super().__init__(n=n, vocab_size=PIECES, smoothing=smoothing, alpha=0.1)
        if both and n != 2:
            raise ValueError(f"n is {n}; expected a bigram, n = 2, which has one word on each side")
        self.both = both

    def at(self, tokens: Tensor, real: Tensor, row: Tensor, place: Tensor) -> Tensor:
        padded = nn.functional.pad(tokens, (self.memory, 0), value=int(tokens[0, 0]))
        before = padded[row[:, None], place[:, None] + torch.arange(self.memory)]          # (N, m): what stands before the gap
        scores = self.predict(State(before)).logits
        return scores + self.follows[:, tokens[row, place + 1]].T if self.both else scores

    @cached_property
    def follows(self) -> Float[Tensor, "V V"]:
        """log p(r | w) of every pair, a row a word w."""
        return self.predict(State(torch.arange(PIECES)[:, None])).logits


class ByELMo(nn.Module):
    r"""$\log p_\rightarrow(w \mid \text{before}) + \log p_\leftarrow(w \mid \text{after}) - \lambda \log p(w)$, or the first term alone.

    With $\lambda = 1$ these are the odds of Bayes' rule if both sides hang on the word alone; p(w) is counted.
    """

    def __init__(self, both: bool, minus: float = 0.0):
        super().__init__()
        self.model, self.both, self.minus = hub.load(WEIGHTS), both, minus
        self.register_buffer("log_p", torch.zeros(PIECES))

    def at(self, tokens: Tensor, real: Tensor, row: Tensor, place: Tensor) -> Tensor:
        ahead, back, _ = self.model.both_ways(tokens, real)
        scores = self.model.scores(ahead[-1][row, place - 1]).log_softmax(-1)
        if not self.both:
            return scores
        return scores + self.model.scores(back[-1][row, place + 1]).log_softmax(-1) - self.minus * self.log_p


def by_counting(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    model = row.model(**row.arguments).fit_counts(job.splits.train)
    return Trained(model)


def by_loading(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """Nothing is trained: the weights that the package ships, and how often each piece was read."""
    model = row.model(**row.arguments, **settings)
    model.log_p.copy_((torch.bincount(job.splits.train.flatten(), minlength=PIECES) + 0.1).log())
    return Trained(model, 0.0)


# --- how many are right ----------------------------------------------------------------------------------------------

def is_word() -> Bool[Tensor, "V"]:
    """Which pieces are words: the guess is one of them."""
    symbols = hub.card(WEIGHTS).training["tokenizer"]["symbols"]
    return torch.tensor([WORD.fullmatch(symbol) is not None for symbol in symbols])


@torch.no_grad()
def right_in(model: nn.Module, passage: Passage, words: Bool[Tensor, "V"]) -> int:
    """How many gaps of a passage the likeliest word fills with the very word."""
    if not passage.gaps:
        return 0
    tokens, real = pad(passage.sentences, int(passage.sentences[0][0]))
    row, place = torch.tensor(passage.gaps).T
    scores = model.eval().at(tokens, real, row, place).masked_fill(~words, -torch.inf)
    return int((scores.argmax(dim=1) == tokens[row, place]).sum())


def restored(model: nn.Module, part: list[Passage]) -> dict[str, Any]:
    """% of gaps filled with the very word, the standard error over passages; each source, and what Flesch's formula tells of it.
    Of several seeds a passage has their mean, and beside it stands what each of them gives.

    one_piece  % of the gaps whose word is one piece: of no other can the guess be right
    right      % right; right_of_those: of the gaps that are one piece
    flesch     correlations of a passage's score with its reading ease, and their standard error by drawing passages anew:
               over all passages; within a source, its means taken away; and both for the gaps of one piece
    """
    words, models = is_word(), model if isinstance(model, Repeats) else [model]
    each_own = torch.tensor([[right_in(one, passage, words) for passage in part] for one in models]).double()
    right = each_own.mean(dim=0)
    whole = torch.tensor([len(passage.gaps) for passage in part]).double()
    asked = torch.tensor([passage.asked for passage in part]).double()
    ease = torch.tensor([passage.ease for passage in part]).double()
    names = list(dict.fromkeys(passage.source for passage in part))
    source = torch.tensor([names.index(passage.source) for passage in part])
    each, share = 100 * right / asked, 100 * right / whole
    sources = {}
    for number, name in enumerate(names):
        own = source == number
        sources[name] = {
            "flesch": round(ease[own].mean().item(), 1), "passages": int(own.sum()), "gaps": int(asked[own].sum()),
            "one_piece": round(100 * (whole[own].sum() / asked[own].sum()).item(), 1),
            "right": round(100 * (right[own].sum() / asked[own].sum()).item(), 2), "standard_error": error_of(each[own]),
            "right_of_those": round(100 * (right[own].sum() / whole[own].sum()).item(), 2)}
    shares = [round(share, 2) for share in (100 * each_own.sum(dim=1) / asked.sum()).tolist()]
    return {"mean": round(100 * (right.sum() / asked.sum()).item(), 2), "standard_error": error_of(each), "over": int(asked.sum()),
            **({"seeds": shares, "deviation_over_seeds": round(statistics.stdev(shares), 2)} if len(shares) > 1 else {}),
            "sources": sources, "flesch": {
                "all": correlation(ease, each), "within": correlation(ease, each, source),
                "all, one piece": correlation(ease, share), "within, one piece": correlation(ease, share, source)}}


def error_of(values: Float[Tensor, "..."]) -> float:
    return round(statistics.stdev(values.tolist()) / math.sqrt(len(values)), 2)


def correlation(x: Float[Tensor, "..."], y: Float[Tensor, "..."], source: Integer[Tensor, "..."] | None = None,
                draws: int = 1000) -> dict[str, float]:
    """Pearson's r, and its standard error over passages drawn anew, with `source` from each source as many as it has.

    Where one of the two has no spread, r is 0.
    """
    def of(chosen: Tensor) -> float:
        a, b = x[chosen].clone(), y[chosen].clone()
        if source is not None:
            for values in (a, b):
                count = torch.bincount(source[chosen]).double()
                values -= (torch.bincount(source[chosen], weights=values) / count)[source[chosen]]
        return torch.corrcoef(torch.stack([a, b]))[0, 1].nan_to_num().item()

    generator = torch.Generator().manual_seed(0)
    groups = [torch.arange(len(x))] if source is None else [(source == k).nonzero()[:, 0] for k in source.unique()]
    drawn = [of(torch.cat([group[torch.randint(len(group), (len(group),), generator=generator)] for group in groups]))
             for _ in range(draws)]
    return {"r": round(of(torch.arange(len(x))), 2), "standard_error": round(statistics.stdev(drawn), 2), "over": len(x)}


# --- the table -------------------------------------------------------------------------------------------------------

SMALL = {"every": 8, "seeds": 1, "epochs": 1, "batch_size": 64, "schedule": "linear", "clip": 1.0}
RATES = (6e-3, 1.2e-2, 2.4e-2)
WHOLE = {"every": 1, "seeds": 3, "epochs": 2}
RUNS: dict[str, Run] = {run.name: run for run in (
    Run("cloze-english", "english", (
        Row("commonest word", ByCounts, by_counting, {"n": 1, "smoothing": "add"}, measure=restored),
        Row("bigram, the word before", ByCounts, by_counting, {"n": 2}, measure=restored),
        Row("trigram, two words before", ByCounts, by_counting, {"n": 3}, measure=restored),
        Row("bigram, the words on both sides", ByCounts, by_counting, {"n": 2, "both": True}, measure=restored),
        Row("window, words on both sides", ByWindow, by_seeds, {"width": 64, "hidden": 128}, SMALL,
            tuple({"radius": radius, "lr": rate} for radius in (1, 2, 4) for rate in RATES), restored, final=WHOLE),
        Row("two GRUs, joined", ByTwoRNNs, by_seeds, {"width": 64, "hidden": 96, "cell": "gru"}, SMALL,
            over("lr", RATES), restored, final=WHOLE),
        Row("ELMo, forward", partial(ByELMo, both=False), by_loading, measure=restored),
        Row("ELMo, both ways", partial(ByELMo, both=True), by_loading, {}, {}, over("minus", (0.0, 0.5, 1.0)), restored),
    ), draw=draw, prepare=parts_of, unit="% of words restored", best=max,
        note="One gap at a time, its sentence with the other words in their places. The guess is the likeliest of the word pieces that "
             "are whole words; the very word counts, and a word of several pieces counts as not restored. The counts are of the "
             "text that ELMo's two language models have read six times. The window and the two GRUs have read it twice, "
             "three seeds, with a softmax over 201 pieces at a time; the rate of both and the radius of the one are "
             "chosen after an eighth of the rows. Their standard errors are over passages, of which each has its mean over seeds."),
)}
