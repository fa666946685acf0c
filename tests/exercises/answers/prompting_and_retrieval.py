"""Answers to the exercises of chapter prompting-and-retrieval."""
from __future__ import annotations

import itertools
import math
import re
import string
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.exercises.prompting_and_retrieval.frozen_prompt import Reader
from tests.exercises.answers.register import right, wrong


@right("bm25: document frequencies first")
def _(docs, question, k1, b):
    df = Counter(word for doc in docs for word in set(doc))
    N, mean = len(docs), sum(map(len, docs)) / len(docs)
    found = []
    for doc in docs:
        counts, norm = Counter(doc), k1 * (1 - b + b * len(doc) / mean)
        found.append(sum(math.log((N + 1) / (df[t] + 0.5)) * counts[t] * (k1 + 1) / (counts[t] + norm)
                         for t in question if counts[t]))
    return [float(score) for score in found]


@right("bm25: a word of the question at a time")
def _(docs, question, k1, b):
    N, scores = len(docs), [0.0] * len(docs)
    mean = sum(map(len, docs)) / N
    for word in question:
        holding = [i for i, doc in enumerate(docs) if word in doc]
        idf = math.log1p((N - len(holding) + 0.5) / (len(holding) + 0.5))
        for i in holding:
            n = sum(other == word for other in docs[i])
            scores[i] += idf * n * (k1 + 1) / (n + k1 * (1 - b + b * len(docs[i]) / mean))
    return scores


@wrong("bm25: zeros")
def _(docs, question, k1, b):
    return [0.0] * len(docs)


@wrong("bm25: shared words")
def _(docs, question, k1, b):
    return [float(len(set(question) & set(doc))) for doc in docs]


@wrong("bm25: the mean over the question's words")
def _(docs, question, k1, b):
    N, mean = len(docs), sum(map(len, docs)) / len(docs)
    found = []
    for doc in docs:
        total = 0.0
        for t in question:
            n, df = doc.count(t), sum(t in other for other in docs)
            if n:
                total += math.log(1 + (N - df + 0.5) / (df + 0.5)) * n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / mean))
        found.append(total / len(question))
    return found


@wrong("bm25: the length weighs n too", called="length_of_all")
def _(docs, question, k1, b):
    N, mean, found = len(docs), sum(map(len, docs)) / len(docs), []
    for doc in docs:
        total = 0.0
        for t in question:
            n, df = doc.count(t), sum(t in other for other in docs)
            total += math.log(1 + (N - df + 0.5) / (df + 0.5)) * n * (k1 + 1) / ((n + k1) * (1 - b + b * len(doc) / mean))
        found.append(total)
    return found


@right("planted_passages: every start")
def _(question, passages, share):
    def run(passage):
        best = 0
        for i in range(len(question)):
            for j in range(len(passage)):
                n = 0
                while i + n < len(question) and j + n < len(passage) and question[i + n] == passage[j + n]:
                    n += 1
                best = max(best, n)
        return best
    return [run(passage) >= share * len(question) for passage in passages]


@right("planted_passages: runs of the length that is needed")
def _(question, passages, share):
    need = max(0, math.ceil(share * len(question)))
    runs = {tuple(question[i:i + need]) for i in range(len(question) - need + 1)}
    return [any(tuple(passage[j:j + need]) in runs for j in range(len(passage) - need + 1)) for passage in passages]


@wrong("planted_passages: as the page has it", called="as_given")
def _(question, passages, share):
    def longest_piece(passage):
        pieces = [n for n in range(len(question) + 1) if passage[:n] == question[:n]]
        return max(pieces)

    return [longest_piece(passage) > share * len(passage) for passage in passages]


@wrong("planted_passages: the boundary alone mended", called="from_the_start")
def _(question, passages, share):
    def longest_run(passage):
        return max(n for n in range(len(question) + 1) if passage[:n] == question[:n])

    return [longest_run(passage) >= share * len(question) for passage in passages]


@wrong("planted_passages: none")
def _(question, passages, share):
    return [False] * len(passages)


@wrong("planted_passages: all")
def _(question, passages, share):
    return [True] * len(passages)


@wrong("planted_passages: whoever ends with a question's word")
def _(question, passages, share):
    return [passage[-1] in question for passage in passages]


def _bare(text):
    text = text.lower().translate(str.maketrans("", "", string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def _shared(mine, true):
    left, shared = list(true), 0
    for word in mine:
        if word in left:
            left.remove(word)
            shared += 1
    return shared


@right("answer_scores: from precision and recall, as the official script")
def _(said, truths):
    def f1(mine, true):
        if not mine or not true:
            return 1.0 if mine == true else 0.0
        same = _shared(mine, true)
        if not same:
            return 0.0
        precision, recall = same / len(mine), same / len(true)
        return 2 * precision * recall / (precision + recall)

    exact = [any(_bare(answer) == _bare(truth) for truth in each) for answer, each in zip(said, truths)]
    overlap = [max(f1(_bare(answer), _bare(truth)) for truth in each) for answer, each in zip(said, truths)]
    return 100.0 * sum(exact) / len(said), 100.0 * sum(overlap) / len(said)


@right("answer_scores: sorted words, pair by pair")
def _(said, truths):
    def words(text):
        kept = []
        for word in text.lower().split():
            word = word.translate({ord(sign): None for sign in string.punctuation})
            kept += [word] if word and word not in {"a", "an", "the"} else []
        return kept

    exact, overlap = [], []
    for answer, each in zip(said, truths):
        mine, found = words(answer), []
        for true in map(words, each):
            shared = sum(min(mine.count(word), true.count(word)) for word in set(mine))
            found.append((float(mine == true), 2 * shared / (len(mine) + len(true)) if mine or true else 1.0))
        exact.append(max(found)[0])
        overlap.append(max(score for _, score in found))
    return 100 * math.fsum(exact) / len(said), 100 * math.fsum(overlap) / len(said)


@wrong("answer_scores: zeros")
def _(said, truths):
    return 0.0, 0.0


@wrong("answer_scores: exact match twice")
def _(said, truths):
    exact = 100.0 * sum(_bare(answer) in [_bare(truth) for truth in each] for answer, each in zip(said, truths)) / len(said)
    return exact, exact


@wrong("answer_scores: all words of all answers together")
def _(said, truths):
    exact = sum(_bare(answer) in [_bare(truth) for truth in each] for answer, each in zip(said, truths))
    chosen = [(_bare(answer), max((_bare(truth) for truth in each), key=lambda true, answer=answer: _shared(_bare(answer), true)))
              for answer, each in zip(said, truths)]
    words = sum(len(mine) + len(true) for mine, true in chosen)
    return 100.0 * exact / len(said), 200.0 * sum(_shared(*pair) for pair in chosen) / max(words, 1)


@wrong("answer_scores: F1 as a mean over the truths", called="f1_over_truths")
def _(said, truths):
    exact, overlap = 0.0, 0.0
    for answer, each in zip(said, truths):
        pairs = [(_bare(answer), _bare(truth)) for truth in each]
        exact += any(mine == true for mine, true in pairs)
        overlap += sum(2 * _shared(a, b) / (len(a) + len(b)) if a and b else float(a == b) for a, b in pairs) / len(pairs)
    return 100 * exact / len(said), 100 * overlap / len(said)


@right("few_shot_prompt: the largest number that fits, tried from above")
def _(examples, question, k, room, window):
    same = " ".join(question).casefold()
    left = [(asked, answer) for asked, answer in examples if " ".join(asked).casefold() != same]
    for number in range(min(k, len(left)), -1, -1):
        words = []
        for asked, answer in left[:number]:
            words += asked + ["answer:"] + answer + ["|"]
        words += question + ["answer:"]
        if len(words) + room <= window:
            return words


@right("few_shot_prompt: by running totals of the lengths")
def _(examples, question, k, room, window):
    blocks = [[*asked, "answer:", *answer, "|"] for asked, answer in examples
              if [w.upper() for w in asked] != [w.upper() for w in question]][:k]
    ends = itertools.accumulate(map(len, blocks))
    fitting = sum(end + len(question) + 1 <= window - room for end in ends)
    return [*itertools.chain(*blocks[:fitting]), *question, "answer:"]


@wrong("few_shot_prompt: the question alone")
def _(examples, question, k, room, window):
    return [*question, "answer:"]


@wrong("few_shot_prompt: what is too long is cut off behind")
def _(examples, question, k, room, window):
    words = [w for asked, answer in examples[:k] for w in [*asked, "answer:", *answer, "|"]]
    return [*words, *question, "answer:"][:window - room]


@wrong("few_shot_prompt: an example that shares a word with the question is left out")
def _(examples, question, k, room, window):
    words, end = [], [*question, "answer:"]
    for asked, answer in [e for e in examples if not {w.lower() for w in e[0]} & {w.lower() for w in question}][:k]:
        if len(words) + len(asked) + len(answer) + 2 + len(end) > window - room:
            break
        words += [*asked, "answer:", *answer, "|"]
    return words + end


@wrong("few_shot_prompt: the examples alone are counted", called="question_uncounted")
def _(examples, question, k, room, window):
    blocks = [[*asked, "answer:", *answer, "|"] for asked, answer in examples
              if " ".join(asked).lower() != " ".join(question).lower()][:k]
    while sum(map(len, blocks)) > window - room:
        blocks.pop()
    return [*itertools.chain(*blocks), *question, "answer:"]


class Prompted(nn.Module):
    """A reader with a prompt, as the others below have it; they change a part."""

    def __init__(self, body, num):
        super().__init__()
        self.reader = Reader()
        self.reader.load_state_dict(body)
        self.prompt = nn.Parameter(torch.empty(num, 16).uniform_(-0.1, 0.1))

    def forward(self, x):
        prompt = self.prompt[None].repeat(x.shape[0], 1, 1)
        return self.reader(torch.cat((prompt, self.reader.tokens.weight[x]), 1))

    def learned(self):
        return [self.prompt]

    def fit(self, x, y, steps):
        optimizer = torch.optim.Adam(self.learned(), lr=0.1)
        for _ in range(steps):
            self.zero_grad()
            F.cross_entropy(self(x), y).backward()
            optimizer.step()


@right("FrozenPrompt: the gradient of the prompt alone is asked for, with momentum by hand")
class AskedAlone(Prompted):
    def fit(self, x, y, steps):
        speed = torch.zeros_like(self.prompt)
        for _ in range(steps):
            [slope] = torch.autograd.grad(-self(x).log_softmax(1)[torch.arange(len(x)), y].mean(), [self.prompt])
            speed = 0.9 * speed + slope / slope.norm().clamp(min=1)
            with torch.no_grad():
                self.prompt -= 0.2 * speed


@right("FrozenPrompt: words to begin with, small batches, gradients of the reader thrown away")
class ThrownAway(Prompted):
    def __init__(self, body, num):
        super().__init__(body, num)
        self.prompt.data = 0.3 * self.reader.tokens.weight[:num].detach().clone()

    def fit(self, x, y, steps):
        optimizer = torch.optim.AdamW(self.learned(), lr=0.1, weight_decay=0)
        for step in range(steps):
            rows = torch.randperm(len(x))[:20]
            optimizer.zero_grad()
            F.cross_entropy(self(x[rows]), y[rows]).backward()
            optimizer.param_groups[0]["lr"] = 0.1 * (1 - step / steps)
            optimizer.step()
        self.zero_grad(set_to_none=True)


@right("FrozenPrompt: parameters that want no gradient, under their own hook of no_grad for what is fixed")
class NoGradForTheRest(Prompted):
    def __init__(self, body, num):
        super().__init__(body, num)
        for one in self.reader.parameters():
            one.requires_grad = False

    def forward(self, x):
        with torch.no_grad():
            words = self.reader.tokens(x)
        return self.reader(torch.cat([self.prompt.unsqueeze(0).expand(len(words), *self.prompt.shape), words], dim=-2))


@wrong("FrozenPrompt: gradients everywhere, an optimizer over the prompt", called="not_frozen")
class Everywhere(Prompted):
    pass


@wrong("FrozenPrompt: the gradients of the reader are set to zeros", called="not_frozen")
class Zeros(Prompted):
    def fit(self, x, y, steps):
        super().fit(x, y, steps)
        self.zero_grad(set_to_none=False)


@wrong("FrozenPrompt: the table is trained along", called="trained_whole")
class TableToo(Prompted):
    def learned(self):
        return [self.prompt, self.reader.tokens.weight]


@wrong("FrozenPrompt: prompt behind the sign that asks", called="behind")
class Behind(NoGradForTheRest):
    def forward(self, x):
        return self.reader(torch.cat([self.reader.tokens(x), self.prompt.expand(len(x), -1, -1)], 1))


@wrong("FrozenPrompt: a reader of its own", called="fresh_reader")
class Fresh(NoGradForTheRest):
    def __init__(self, body, num):
        super().__init__(Reader().state_dict(), num)


@wrong("FrozenPrompt: the prompt is put back after training", called="stays")
class PutBack(NoGradForTheRest):
    def fit(self, x, y, steps):
        before = self.prompt.detach().clone()
        super().fit(x, y, steps)
        self.prompt.data = before


@wrong("FrozenPrompt: the sign of the step", called="uphill")
class Uphill(NoGradForTheRest):
    def fit(self, x, y, steps):
        for _ in range(steps):
            [slope] = torch.autograd.grad(F.cross_entropy(self(x), y), [self.prompt])
            self.prompt.data += 0.1 * slope


@wrong("FrozenPrompt: the prompt takes the place of the first words")
class InPlaceOfWords(NoGradForTheRest):
    def forward(self, x):
        words = self.reader.tokens(x[:, min(len(self.prompt), x.shape[1] - 1):])
        return self.reader(torch.cat([self.prompt.expand(len(x), -1, -1), words], 1))


@wrong("FrozenPrompt: one update, whatever steps says")
class Once(NoGradForTheRest):
    def fit(self, x, y, steps):
        super().fit(x, y, 1)


@wrong("FrozenPrompt: the prompt is squeezed by tanh")
class Squeezed(NoGradForTheRest):
    def forward(self, x):
        words = self.reader.tokens(x)
        return self.reader(torch.cat([self.prompt.tanh().expand(len(x), -1, -1), words], 1))


@wrong("FrozenPrompt: every row is answered as the commonest answer")
class Commonest(NoGradForTheRest):
    def forward(self, x):
        return super().forward(x).mean(dim=0, keepdim=True).expand(len(x), -1)


@wrong("bm25: empty documents do not count")
def _(docs, question, k1, b):
    full = [doc for doc in docs if doc]
    M, N, scores = sum(map(len, full)) / len(full), len(full), []
    for doc in docs:
        score = 0.0
        for word in question:
            n, df = doc.count(word), sum(word in each for each in full)
            if n:
                score += math.log(1 + (N - df + 0.5) / (df + 0.5)) * n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / M))
        scores.append(score)
    return scores


@wrong("planted_passages: a passage without a word of the question is never planted")
def _(question, passages, share):
    def longest(passage):
        return max([n for i in range(len(question)) for j in range(len(passage)) for n in range(1, len(question) - i + 1)
                    if question[i:i + n] == passage[j:j + n]], default=0)

    return [longest(passage) > 0 and longest(passage) >= share * len(question) for passage in passages]


@wrong("planted_passages: beginnings of the question, anywhere in the passage", called="from_the_first_word")
def _(question, passages, share):
    def repeats(passage, n):
        return any(passage[j:j + n] == question[:n] for j in range(len(passage) - n + 1))

    return [max(n for n in range(len(question) + 1) if repeats(passage, n)) >= share * len(question) for passage in passages]
