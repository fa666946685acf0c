"""Runs on the tags of UD English EWT from few sentences: one network for several tasks, and features from ELMo."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn

from benchmarks.figures import of_seeds
from benchmarks.reproduce import english
from benchmarks.reproduce.english import Tagged
from benchmarks.reproduce.pretraining import drawn, per_cent_right
from benchmarks.reproduce.recipes import minimize
from benchmarks.reproduce.run import Job, Repeats, Row, Run, Trained, over, own
from course_lib.data import Splits
from course_lib.words import MultiTask, windows_of, with_another_middle

SIZES = (50, 200, 1000)                                              # tagged sentences
RADIUS, WIDTHS = 2, (50, 10, 4)                                      # of a window; of the vectors of word, suffix, capitals
INFO = own("Universal tags of UD English EWT, words as the treebank cuts them; trained on a few sentences of train, settings "
           "chosen on dev, all of test scored once.", "Silveira et al. 2014, A gold standard dependency corpus for English", "CC BY-SA 4.0")


@cache
def draw() -> Splits:
    """A sentence a string: a line a word, with its tag and its relation."""
    parts = {part: ["\n".join(map("\t".join, zip(*sentence))) for sentence in english.treebank(name)]
             for part, name in (("train", "train"), ("valid", "dev"), ("test", "test"))}
    return Splits("ud_english_ewt", **parts, info=INFO)


def parsed(sentences: list[str]) -> list[Tagged]:
    return [Tagged(*map(list, zip(*(line.split("\t") for line in one.split("\n"))))) for one in sentences]


class Words(NamedTuple):
    """Words in their windows: features, tags, relations, and the sentence that each word is of."""

    windows: Int[Tensor, "N W F"]
    tags: Int[Tensor, "..."]
    relations: Int[Tensor, "..."]
    sentence: Int[Tensor, "..."]


class Parts(NamedTuple):
    train: Words
    valid: Words
    test: Words
    sizes: dict[str, int]                                            # values of each feature, labels of each task
    info: dict[str, Any]


def capitals(word: str) -> int:
    """None, a first one, all, somewhere."""
    return 0 if word == word.lower() else 2 if word == word.upper() else 1 if word[1:] == word[1:].lower() else 3


def in_windows(splits: Splits) -> Parts:
    """Words seen twice in the training sentences, whether tagged or not, and suffixes of three letters seen ten times."""
    parts = {name: parsed(getattr(splits, name)) for name in ("train", "valid", "test")}
    plain = Counter(word.lower() for sentence in parts["train"] for word in sentence.words)
    ends = Counter(word.lower()[-3:] for sentence in parts["train"] for word in sentence.words)
    words = {word: i for i, word in enumerate(sorted(w for w in plain if plain[w] > 1), start=1)}          # 0: unknown
    suffixes = {end: i for i, end in enumerate(sorted(e for e in ends if ends[e] >= 10), start=1)}
    labels = [{label: i for i, label in enumerate(sorted({label for s in parts["train"] for label in s[k]}))} for k in (1, 2)]
    beyond = (len(words) + 1, len(suffixes) + 1, 4)

    def of(sentences: list[Tagged]) -> Words:
        found = []
        for sentence in sentences:
            features = torch.tensor([(words.get(word.lower(), 0), suffixes.get(word.lower()[-3:], 0), capitals(word))
                                     for word in sentence.words])
            found.append(windows_of(features, RADIUS, beyond))
        tags, relations = (torch.tensor([known.get(label, 0) for s in sentences for label in s[k]])
                           for k, known in ((1, labels[0]), (2, labels[1])))
        sentence = torch.cat([torch.full((len(s.words),), i) for i, s in enumerate(sentences)])
        return Words(torch.cat(found), tags, relations, sentence)

    sizes = dict(zip(("word", "suffix", "capitals"), beyond), tag=len(labels[0]), relation=len(labels[1]))
    return Parts(*map(of, parts.values()), sizes, splits.info)


def network(tasks: tuple[str, ...], sizes: dict[str, int], dropout: float = 0.3) -> MultiTask:
    tables = [(sizes[name], width) for name, width in zip(("word", "suffix", "capitals"), WIDTHS)]
    return MultiTask(tables, RADIUS, 128, {task: sizes.get(task, 1) for task in tasks}, dropout)


def by_sharing(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    """A network a seed: each update takes 128 words of each task. The tagged sentences are drawn by the seed; relations are those
    of 2,000 others, and the language model reads all training sentences without their labels."""
    models, train, sizes = Repeats(), job.splits.train, job.splits.sizes
    sentences = int(train.sentence.max()) + 1
    for seed in range(settings["seeds"]):
        torch.manual_seed(1000 + seed)
        order = drawn(sentences, sentences, 2000 + seed)
        own, others = (torch.isin(train.sentence, order[rows]).nonzero()[:, 0]
                       for rows in (slice(0, settings["labels"]), slice(settings["labels"], settings["labels"] + 2000)))
        model = network(settings["tasks"], sizes)

        def loss(update: int, model=model, own=own, others=others) -> Tensor:
            batches = {}
            for task in settings["tasks"]:
                rows = {"tag": own, "relation": others}.get(task, torch.arange(len(train.tags)))
                rows = rows[torch.randint(len(rows), (128,))]
                windows = train.windows[rows]
                if task == "rank":
                    middles = train.windows[torch.randint(len(train.tags), (128,)), RADIUS]
                    batches[task] = windows, with_another_middle(windows, middles)
                else:
                    batches[task] = windows, (train.tags if task == "tag" else train.relations)[rows]
            return model.loss(batches)

        minimize(model, loss, settings["updates"], settings["lr"], lambda update: 1 - update / settings["updates"], weight_decay=0.0)
        models.append(model)
    return Trained(models)


class Commonest(nn.Module):
    """The tag that a word has most often among the tagged sentences; of a new word, the commonest tag of all."""

    def __init__(self, words: int, tags: int):
        super().__init__()
        self.counts = nn.Parameter(torch.zeros(words, tags), requires_grad=False)

    def forward(self, windows: Tensor, task: str) -> Tensor:
        counts = self.counts[windows[:, RADIUS, 0]]
        return counts + 1e-3 * self.counts.sum(dim=0) / self.counts.sum()


def by_counting_tags(job: Job, row: Row, settings: dict[str, Any], name: str) -> Trained:
    models, train = Repeats(), job.splits.train
    sentences = int(train.sentence.max()) + 1
    for seed in range(settings["seeds"]):
        own = torch.isin(train.sentence, drawn(sentences, sentences, 2000 + seed)[:settings["labels"]])
        model = Commonest(job.splits.sizes["word"] + 1, job.splits.sizes["tag"])
        model.counts.index_put_((train.windows[own, RADIUS, 0], train.tags[own]), torch.ones(()), accumulate=True)
        model.counts[0] = 0                                          # words that are known to nobody share a number
        models.append(model)
    return Trained(models)


@torch.no_grad()
def tags_right(models: Repeats, part: Words) -> dict[str, Any]:
    """Per cent of words with the right tag: the mean over seeds, its standard error over seeds, and each seed's own."""
    each = [per_cent_right(torch.cat([model(windows, "tag").argmax(dim=1) for windows in part.windows.split(5000)]), part.tags)
            for model in models.eval()]
    return of_seeds(each, len(part.tags))


ARMS = {"tags alone": ("tag",), "tags and the language model": ("tag", "rank"), "tags and relations": ("tag", "relation"),
        "tags, relations and the language model": ("tag", "relation", "rank")}

RUNS: dict[str, Run] = {run.name: run for run in (
    Run("multitask-ewt", "ud_english_ewt", tuple(
        row for labels in SIZES for row in (
            Row(f"commonest tag of the word, {labels:,} sentences", Commonest, by_counting_tags, {},
                {"labels": labels, "seeds": 5}, measure=tags_right),
            *(Row(f"{arm}, {labels:,} sentences", MultiTask, by_sharing, {},
                  {"labels": labels, "tasks": list(tasks), "updates": 600, "seeds": 1}, over("lr", (2e-3, 5e-3, 1e-2)), tags_right,
                  final={"seeds": 5}) for arm, tasks in ARMS.items()))),
        draw=draw, prepare=in_windows, unit="% of tags right", best=max,
        note="Universal tags of UD English EWT. One network over windows of five words, its word vectors and hidden layer shared "
             "by the tasks: tags of 50 to 1,000 sentences, relations of 2,000 other sentences, a language model that ranks real "
             "windows of all 12,544 above others. Mean ± standard error over five seeds, each with its own sentences. Whoever "
             "labelled relations knew the tags: the gain without labels is the language model's alone."),
)}
