"""Wrong answers to the exercises on models in use."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("bm25", "a document without the word is scored by the idf alone", "open", """
import math

def bm25(docs, question, k1, b):
    N, mean = len(docs), sum(map(len, docs)) / len(docs)
    found = []
    for doc in docs:
        total = 0.0
        for t in question:
            n, df = doc.count(t), sum(t in other for other in docs)
            idf = math.log(1 + (N - df + 0.5) / (df + 0.5))
            total += idf * (n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / mean)) if n else 1)
        found.append(total)
    return found
"""),
    wrong("bm25", "the longest document in place of the mean", "sealed", """
import math

def bm25(docs, question, k1, b):
    N, longest = len(docs), max(map(len, docs))
    found = []
    for doc in docs:
        total = 0.0
        for t in question:
            n, df = doc.count(t), sum(t in other for other in docs)
            if n:
                idf = math.log(1 + (N - df + 0.5) / (df + 0.5))
                total += idf * n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / longest))
        found.append(total)
    return found
"""),
    wrong("probe_and_control", "the words of training are looked for among those of test", "open", """
import torch

def probe_and_control(train, train_labels, train_words, test, test_labels, test_words, random_label):
    def told(labels):
        means = torch.stack([train[labels == k].mean(0) for k in range(int(labels.max()) + 1)])
        return torch.cdist(test, means).argmin(1)
    known = test_words <= test_words.min()
    right = told(random_label[train_words]) == random_label[test_words]
    return float((told(train_labels) == test_labels).float().mean()), float(right[known].float().mean())
"""),
    wrong("probe_and_control", "the means of the test vectors", "sealed", """
import torch

def probe_and_control(train, train_labels, train_words, test, test_labels, test_words, random_label):
    def told(labels, wanted):
        means = torch.stack([test[wanted == k].mean(0) for k in range(int(labels.max()) + 1)])
        return torch.cdist(test, means).argmin(1)
    known = torch.isin(test_words, train_words)
    wanted = random_label[test_words]
    right = told(random_label[train_words], wanted) == wanted
    return float((told(train_labels, test_labels) == test_labels).float().mean()), float(right[known].float().mean())
"""),
    wrong("planted_passages", "the run is counted in letters", "open", """
def planted_passages(question, passages, share):
    text, found = " ".join(question), []
    for passage in passages:
        other, best = " ".join(passage), 0
        for i in range(len(text)):
            n = best
            while i + n < len(text) and text[i:i + n + 1] in other:
                n += 1
            best = max(best, n)
        found.append(best >= share * len(question))
    return found
"""),
    wrong("planted_passages", "only the first place of each word is looked at", "sealed", """
def planted_passages(question, passages, share):
    found = []
    for passage in passages:
        best = 0
        for i, word in enumerate(question):
            if word in passage[:3]:
                j, n = passage.index(word), 0
                while i + n < len(question) and j + n < len(passage) and question[i + n] == passage[j + n]:
                    n += 1
                best = max(best, n)
        found.append(best >= share * len(question))
    return found
"""),
    wrong("answer_scores", "the truth may be longer than what was said, and is right all the same", "open", """
import string
from collections import Counter

def answer_scores(said, truths):
    def words(text):
        kept = "".join(c for c in text.lower() if c not in string.punctuation)
        return [w for w in kept.split() if w not in ("a", "an", "the")]
    exact, best = 0, 0.0
    for answer, each in zip(said, truths):
        mine, scores = words(answer), []
        for truth in each:
            true = words(truth)
            shared = sum((Counter(mine) & Counter(true)).values())
            scores.append(2 * shared / (len(mine) + len(true)) if mine and true else float(mine == true))
        exact += any(mine == words(truth)[:len(mine)] for truth in each)
        best += max(scores)
    return 100 * exact / len(said), 100 * best / len(said)
"""),
    wrong("answer_scores", "the F1 of letters", "sealed", """
import string
from collections import Counter

def answer_scores(said, truths):
    def words(text):
        kept = "".join(c for c in text.lower() if c not in string.punctuation)
        return [w for w in kept.split() if w not in ("a", "an", "the")]
    exact, best = 0, 0.0
    for answer, each in zip(said, truths):
        mine, scores = words(answer), []
        for truth in each:
            true = words(truth)
            a, b = "".join(mine), "".join(true)
            scores.append(2 * sum((Counter(a) & Counter(b)).values()) / (len(a) + len(b)) if a and b else float(a == b))
        exact += mine in [words(truth) for truth in each]
        best += max(scores)
    return 100 * exact / len(said), 100 * best / len(said)
"""),
    wrong("few_shot_prompt", "the words answer: and | are not counted", "open", """
def few_shot_prompt(examples, question, k, room, window):
    lower = lambda words: [w.lower() for w in words]
    honest = [(a, b) for a, b in examples if lower(a) != lower(question)][:k]
    used, prompt = len(question), []
    for asked, answer in honest:
        used += len(asked) + len(answer)
        if used > window - room:
            break
        prompt += [*asked, "answer:", *answer, "|"]
    return [*prompt, *question, "answer:"]
"""),
    wrong("few_shot_prompt", "the shortest examples first", "sealed", """
def few_shot_prompt(examples, question, k, room, window):
    lower = lambda words: [w.lower() for w in words]
    honest = [(a, b) for a, b in examples if lower(a) != lower(question)]
    honest = sorted(honest, key=lambda pair: len(pair[0]) + len(pair[1]))[:k]
    prompt, end = [], [*question, "answer:"]
    for asked, answer in honest:
        longer = prompt + [*asked, "answer:", *answer, "|"]
        if len(longer) + len(end) > window - room:
            break
        prompt = longer
    return prompt + end
"""),
]
