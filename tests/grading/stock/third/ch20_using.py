"""Wrong answers to the exercises on using language models."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("word_feature",
          "halves the sum of the mean so far and the next piece: from three pieces on "
          "that is not the mean of all",
          "third", """
import torch

def word_feature(states, pieces, chosen, how):
    words = []
    for t, piece in enumerate(pieces):
        if piece in ("[CLS]", "[SEP]", "[PAD]"):
            continue
        if piece.startswith("##"):
            words[-1] = (words[-1] + states[:, t]) / 2
        else:
            words.append(states[:, t])
    layers = [torch.stack(words)[:, l] for l in chosen]
    return torch.cat(layers, dim=-1) if how == "concat" else sum(layers)
"""),
    wrong("word_feature",
          "leaves out [UNK] too, as if it belonged to no word",
          "third", """
import torch

def word_feature(states, pieces, chosen, how):
    groups = []
    for t, piece in enumerate(pieces):
        if piece.startswith("##"):
            groups[-1].append(t)
        elif not (piece.startswith("[") and piece.endswith("]") and len(piece) == 5):
            groups.append([t])
    rows = []
    for places in groups:
        v = states[chosen][:, places].mean(dim=1)
        rows.append(v.reshape(-1) if how == "concat" else v.sum(dim=0))
    return torch.stack(rows)
"""),
    wrong("bm25",
          "a word that stands twice in the question counts once",
          "third", """
import math

def bm25(docs, question, k1, b):
    N = len(docs)
    mean = sum(map(len, docs)) / N
    scores = []
    for doc in docs:
        score = 0.0
        for t in dict.fromkeys(question):
            n = doc.count(t)
            if n == 0:
                continue
            df = sum(t in other for other in docs)
            idf = math.log(1 + (N - df + 0.5) / (df + 0.5))
            score += idf * n * (k1 + 1) / (n + k1 * (1 - b + b * len(doc) / mean))
        scores.append(score)
    return scores
"""),
    wrong("bm25",
          "b and 1 - b are exchanged in the factor of the length",
          "third", """
import math
from collections import Counter

def bm25(docs, question, k1, b):
    counts = [Counter(doc) for doc in docs]
    mean = sum(len(doc) for doc in docs) / len(docs)
    df = Counter(word for count in counts for word in count)

    def part(t, count, length):
        if not count[t]:
            return 0.0
        idf = math.log(1 + (len(docs) - df[t] + 0.5) / (df[t] + 0.5))
        longer = b + (1 - b) * length / mean
        return idf * count[t] * (k1 + 1) / (count[t] + k1 * longer)

    return [sum((part(t, count, len(doc)) for t in question), 0.0)
            for count, doc in zip(counts, docs)]
"""),
    wrong("probe_and_control",
          "the control is taken over all test vectors, also those whose word is new",
          "third", """
import torch

def probe_and_control(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def told(classes):
        means = torch.stack([train[classes == c].mean(0) for c in range(int(classes.max()) + 1)])
        return torch.cdist(test, means).argmin(1)

    real = (told(train_labels) == test_labels).float().mean()
    control = (told(random_label[train_words]) == random_label[test_words]).float().mean()
    return real.item(), control.item()
"""),
    wrong("probe_and_control",
          "tells the class whose mean has the largest inner product, not the nearest mean",
          "third", """
import torch
import torch.nn.functional as F

def probe_and_control(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def share(labels, vectors, right):
        member = F.one_hot(labels).to(train.dtype)
        means = member.T @ train / member.sum(0)[:, None]
        guess = (vectors @ means.T).argmax(dim=1)
        return (guess == right).double().mean().item()

    known = torch.isin(test_words, train_words)
    return (share(train_labels, test, test_labels),
            share(random_label[train_words], test[known], random_label[test_words[known]]))
"""),
    wrong("planted_passages",
          "keeps > where a run of exactly share * len(question) words must count: at least",
          "third", """
def planted_passages(question, passages, share):
    def longest(passage):
        best = 0
        for i in range(len(question)):
            for j in range(len(passage)):
                n = 0
                while (i + n < len(question) and j + n < len(passage)
                       and question[i + n] == passage[j + n]):
                    n += 1
                best = max(best, n)
        return best

    return [longest(passage) > share * len(question) for passage in passages]
"""),
    wrong("planted_passages",
          "allows gaps: it finds the longest common subsequence, not the longest run",
          "third", """
def planted_passages(question, passages, share):
    flags = []
    for passage in passages:
        row = [0] * (len(question) + 1)
        for word in passage:
            new = [0]
            for k, asked in enumerate(question):
                new.append(row[k] + 1 if word == asked else max(new[k], row[k + 1]))
            row = new
        flags.append(row[-1] >= share * len(question))
    return flags
"""),
    wrong("answer_scores",
          "puts a space in the place of punctuation, instead of deleting it",
          "third", """
import string
from collections import Counter

def answer_scores(said, truths):
    table = str.maketrans({sign: " " for sign in string.punctuation})

    def words(text):
        return [w for w in text.lower().translate(table).split() if w not in ("a", "an", "the")]

    def f1(x, y):
        if not x or not y:
            return float(x == y)
        return 2 * sum((Counter(x) & Counter(y)).values()) / (len(x) + len(y))

    exact = [any(words(s) == words(t) for t in ts) for s, ts in zip(said, truths)]
    best = [max(f1(words(s), words(t)) for t in ts) for s, ts in zip(said, truths)]
    return 100 * sum(exact) / len(said), 100 * sum(best) / len(said)
"""),
    wrong("answer_scores",
          "shared words are counted as a set, each once, not as often as both have them",
          "third", """
import string

def normal(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return [w for w in kept.split() if w not in {"a", "an", "the"}]

def answer_scores(said, truths):
    em = f1 = 0.0
    for answer, rights in zip(said, truths):
        mine = normal(answer)
        hit, best = 0.0, 0.0
        for right in map(normal, rights):
            hit = max(hit, float(mine == right))
            if not mine or not right:
                best = max(best, float(mine == right))
            else:
                shared = len(set(mine) & set(right))
                best = max(best, 2 * shared / (len(mine) + len(right)))
        em, f1 = em + hit, f1 + best
    return 100 * em / len(said), 100 * f1 / len(said)
"""),
    wrong("few_shot_prompt",
          "passes over an example that does not fit and takes a shorter one behind it",
          "third", """
def few_shot_prompt(examples, question, k, room, window):
    low = [word.lower() for word in question]
    end = [*question, "answer:"]
    free = window - room - len(end)
    fine = [e for e in examples if [word.lower() for word in e[0]] != low]
    prompt = []
    for asked, answer in fine[:k]:
        shot = [*asked, "answer:", *answer, "|"]
        if len(prompt) + len(shot) <= free:
            prompt += shot
    return prompt + end
"""),
    wrong("few_shot_prompt",
          "takes the first k examples and leaves out the telling ones only then: "
          "they use up a place",
          "third", """
def few_shot_prompt(examples, question, k, room, window):
    def key(words):
        return " ".join(words).lower()

    shots = [list(asked) + ["answer:"] + list(answer) + ["|"]
             for asked, answer in examples[:k] if key(asked) != key(question)]
    last = list(question) + ["answer:"]
    while shots and sum(map(len, shots)) + len(last) > window - room:
        shots.pop()
    return sum(shots, []) + last
"""),
]
