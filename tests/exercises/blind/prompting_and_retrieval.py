"""Wrong answers to the exercises of chapter prompting-and-retrieval, written without knowing its checks."""
from __future__ import annotations

import math
import string
from collections import Counter

from tests.exercises.answers.register import blind


@blind("bm25: a word that stands twice in the question counts once")
def _(docs, question, k1, b):
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


@blind("bm25: b and 1 - b are exchanged in the factor of the length")
def _(docs, question, k1, b):
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


@blind("bm25: the idf lacks the 1 + inside the logarithm: a word in more than half of the documents gets a "
       "negative weight")
def _(docs, question, k1, b):
    N = len(docs)
    mean_length = sum(len(d) for d in docs) / N
    scores = []
    for doc in docs:
        score = 0.0
        for t in question:
            df = sum(t in d for d in docs)
            idf = math.log((N - df + 0.5) / (df + 0.5))
            n = doc.count(t)
            if n:
                norm = 1 - b + b * len(doc) / mean_length
                score += idf * n * (k1 + 1) / (n + k1 * norm)
        scores.append(score)
    return scores


@blind("planted_passages: keeps > where a run of exactly share * len(question) words must count: at least")
def _(question, passages, share):
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


@blind("planted_passages: allows gaps: it finds the longest common subsequence, not the longest run")
def _(question, passages, share):
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


@blind("planted_passages: share * len(question) is cut to a whole number first: a run that falls short of "
       "it by a fraction is caught as well")
def _(question, passages, share):
    needed = int(share * len(question))
    flags = []
    for passage in passages:
        run = 0
        for start in range(len(question)):
            for end in range(start + 1, len(question) + 1):
                piece = question[start:end]
                m = end - start
                if any(passage[i:i + m] == piece for i in range(len(passage) - m + 1)):
                    run = max(run, m)
        flags.append(run >= needed)
    return flags


@blind("planted_passages: counts how many of the question's words stand anywhere in the passage: neither "
       "their order nor whether they stand in one piece matters")
def _(question, passages, share):
    flags = []
    for passage in passages:
        words = set(passage)
        found = sum(word in words for word in question)
        flags.append(found >= share * len(question))
    return flags


def normal(text):
    kept = "".join(c for c in text.lower() if c not in string.punctuation)
    return [w for w in kept.split() if w not in {"a", "an", "the"}]


@blind("answer_scores: shared words are counted as a set, each once, not as often as both have them")
def _(said, truths):
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


@blind("answer_scores: punctuation is replaced by a space, not deleted: U.S. becomes two words")
def _(said, truths):
    table = str.maketrans({c: " " for c in string.punctuation})

    def words(text):
        return [w for w in text.lower().translate(table).split() if w not in {"a", "an", "the"}]

    def f1(a, b):
        if not a or not b:
            return 1.0 if a == b else 0.0
        common = sum((Counter(a) & Counter(b)).values())
        return 2 * common / (len(a) + len(b))

    exact, f = [], []
    for text, answers in zip(said, truths):
        exact.append(any(words(text) == words(one) for one in answers))
        f.append(max(f1(words(text), words(one)) for one in answers))
    return 100 * sum(exact) / len(exact), 100 * sum(f) / len(f)


@blind("few_shot_prompt: passes over an example that does not fit and takes a shorter one behind it")
def _(examples, question, k, room, window):
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


@blind("few_shot_prompt: takes the first k examples and leaves out the telling ones only then: they use up a place")
def _(examples, question, k, room, window):
    def key(words):
        return " ".join(words).lower()

    shots = [list(asked) + ["answer:"] + list(answer) + ["|"]
             for asked, answer in examples[:k] if key(asked) != key(question)]
    last = list(question) + ["answer:"]
    while shots and sum(map(len, shots)) + len(last) > window - room:
        shots.pop()
    return sum(shots, []) + last


@blind("few_shot_prompt: where the k examples do not fit, the first ones are dropped and the last ones kept")
def _(examples, question, k, room, window):
    key = tuple(word.lower() for word in question)
    others = [e for e in examples if tuple(word.lower() for word in e[0]) != key][:k]

    def written(chosen):
        words = []
        for asked, answer in chosen:
            words += list(asked) + ["answer:"] + list(answer) + ["|"]
        return words + list(question) + ["answer:"]

    while others and len(written(others)) > window - room:
        others = others[1:]
    return written(others)
