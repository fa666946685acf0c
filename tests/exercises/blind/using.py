"""Wrong answers to the exercises of chapter 20, written without knowing its checks."""
from __future__ import annotations

import math
import re
import string
from collections import Counter

import torch
import torch.nn.functional as F

from tests.exercises.answers.register import blind


@blind("word_feature: halves the sum of the mean so far and the next piece: from three pieces on that is "
       "not the mean of all")
def _(states, pieces, chosen, how):
    words = []
    for t, piece in enumerate(pieces):
        if piece in ("[CLS]", "[SEP]", "[PAD]"):
            continue
        if piece.startswith("##"):
            words[-1] = (words[-1] + states[:, t]) / 2
        else:
            words.append(states[:, t])
    layers = [torch.stack(words)[:, k] for k in chosen]
    return torch.cat(layers, dim=-1) if how == "concat" else sum(layers)


@blind("word_feature: leaves out [UNK] too, as if it belonged to no word")
def _(states, pieces, chosen, how):
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


@blind("word_feature: the mean is taken piece by piece, (mean so far + next) / 2: in a word of three pieces "
       "and more the later ones weigh more")
def _(states, pieces, chosen, how):
    words = []
    for t, piece in enumerate(pieces):
        if piece in ("[CLS]", "[SEP]", "[PAD]"):
            continue
        if piece.startswith("##") and words:
            words[-1] = (words[-1] + states[:, t]) / 2
        else:
            words.append(states[:, t])
    vectors = torch.stack(words, dim=1)[chosen]                # (layers, N, D)
    if how == "sum":
        return vectors.sum(dim=0)
    return torch.cat(list(vectors), dim=-1)


@blind("word_feature: 'concat' interleaves the layers: number 0 of every layer, then number 1 of every "
       "layer, instead of one layer's vector after the other")
def _(states, pieces, chosen, how):
    places = []
    for t, piece in enumerate(pieces):
        if piece in {"[CLS]", "[SEP]", "[PAD]"}:
            continue
        if piece[:2] == "##":
            places[-1].append(t)
        else:
            places.append([t])
    layers = torch.stack([states[k] for k in chosen], dim=-1)          # (T, D, layers)
    rows = torch.stack([layers[p].mean(dim=0) for p in places])        # (N, D, layers)
    return rows.flatten(1) if how == "concat" else rows.sum(dim=-1)


@blind("word_feature: 'sum' gives the mean of the chosen layers: divided by their number")
def _(states, pieces, chosen, how):
    word, number = -1, []
    for piece in pieces:
        if piece in ("[CLS]", "[SEP]", "[PAD]"):
            number.append(-1)
        else:
            word += not piece.startswith("##")
            number.append(word)
    number = torch.tensor(number)
    features = []
    for layer in chosen:
        h = states[layer]
        features.append(torch.stack([h[number == w].mean(0) for w in range(word + 1)]))
    if how == "concat":
        return torch.cat(features, dim=1)
    return torch.stack(features).mean(dim=0)


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


@blind("bm25: b and 1 - b are exchanged: the length weighs 1 - b")
def _(docs, question, k1, b):
    counts = [Counter(doc) for doc in docs]
    N, average = len(docs), sum(map(len, docs)) / len(docs)
    df = Counter(t for c in counts for t in c)
    result = []
    for doc, c in zip(docs, counts):
        total = 0.0
        for t in question:
            if c[t] == 0:
                continue
            idf = math.log(1 + (N - df[t] + 0.5) / (df[t] + 0.5))
            total += idf * c[t] * (k1 + 1) / (c[t] + k1 * (b + (1 - b) * len(doc) / average))
        result.append(total)
    return result


@blind("bm25: a bracket in the denominator: (n + k1) times the length factor, which belongs to k1 alone")
def _(docs, question, k1, b):
    N = len(docs)
    L = [len(doc) for doc in docs]
    L_mean = sum(L) / N
    scores = [0.0] * N
    for t in question:
        df = len([1 for doc in docs if t in doc])
        weight = math.log(1 + (N - df + 0.5) / (df + 0.5))
        for d, doc in enumerate(docs):
            n = doc.count(t)
            if n > 0:
                scores[d] += weight * n * (k1 + 1) / ((n + k1) * (1 - b + b * L[d] / L_mean))
    return scores


@blind("probe_and_control: the control is taken over all test vectors, also those whose word is new")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def told(classes):
        means = torch.stack([train[classes == c].mean(0) for c in range(int(classes.max()) + 1)])
        return torch.cdist(test, means).argmin(1)

    real = (told(train_labels) == test_labels).float().mean()
    control = (told(random_label[train_words]) == random_label[test_words]).float().mean()
    return real.item(), control.item()


@blind("probe_and_control: tells the class whose mean has the largest inner product, not the nearest mean")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def share(labels, vectors, right):
        member = F.one_hot(labels).to(train.dtype)
        means = member.T @ train / member.sum(0)[:, None]
        guess = (vectors @ means.T).argmax(dim=1)
        return (guess == right).double().mean().item()

    known = torch.isin(test_words, train_words)
    return (share(train_labels, test, test_labels),
            share(random_label[train_words], test[known], random_label[test_words[known]]))


@blind("probe_and_control: the nearest mean is the one with the largest scalar product, not with the smallest distance")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def told(labels):
        means = torch.stack([train[labels == c].mean(dim=0) for c in range(int(labels.max()) + 1)])
        return (test @ means.T).argmax(dim=1)

    real = (told(train_labels) == test_labels).double().mean()
    known = torch.isin(test_words, train_words)
    guess = told(random_label[train_words])
    control = (guess == random_label[test_words])[known].double().mean()
    return real.item(), control.item()


@blind("probe_and_control: the first share, too, is taken only among the test vectors whose word occurs in training")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    seen = set(train_words.tolist())
    known = torch.tensor([w in seen for w in test_words.tolist()])
    test, test_labels, test_words = test[known], test_labels[known], test_words[known]

    def share(labels, truth):
        classes = labels.unique()
        means = torch.stack([train[labels == c].mean(0) for c in classes])
        nearest = torch.cdist(test, means).argmin(dim=1)
        return float((classes[nearest] == truth).float().mean())

    return (share(train_labels, test_labels),
            share(random_label[train_words], random_label[test_words]))


@blind("probe_and_control: the control counts the hits among known words, but divides by all test vectors")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def predict(labels):
        K = int(labels.max()) + 1
        sums = torch.zeros(K, train.shape[1], dtype=train.dtype).index_add_(0, labels, train)
        means = sums / torch.bincount(labels, minlength=K)[:, None]
        distance = ((test[:, None] - means[None]) ** 2).sum(dim=-1)
        return distance.argmin(dim=-1)

    right = predict(train_labels) == test_labels
    random_right = predict(random_label[train_words]) == random_label[test_words]
    known = (test_words[:, None] == train_words[None]).any(dim=1)
    return right.double().mean().item(), (random_right & known).double().mean().item()


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


@blind("planted_passages: gaps are allowed: the longest common subsequence is counted, not the longest piece in a row")
def _(question, passages, share):
    def longest(passage):
        best = [[0] * (len(passage) + 1) for _ in range(len(question) + 1)]
        for i, q in enumerate(question, 1):
            for j, p in enumerate(passage, 1):
                if q == p:
                    best[i][j] = best[i - 1][j - 1] + 1
                else:
                    best[i][j] = max(best[i - 1][j], best[i][j - 1])
        return best[-1][-1]

    return [longest(passage) >= share * len(question) for passage in passages]


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


@blind("answer_scores: puts a space in the place of punctuation, instead of deleting it")
def _(said, truths):
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


@blind("answer_scores: F1 counts different words: a shared word counts once however often both have it")
def _(said, truths):
    def normal(text):
        text = "".join(c for c in text.lower() if c not in string.punctuation)
        return [w for w in text.split() if w not in ("a", "an", "the")]

    def f1(x, y):
        if not x or not y:
            return float(x == y)
        return 2 * len(set(x) & set(y)) / (len(x) + len(y))

    exact = total = 0.0
    for answer, right in zip(said, truths):
        words = normal(answer)
        exact += max(words == normal(t) for t in right)
        total += max(f1(words, normal(t)) for t in right)
    return 100 * exact / len(said), 100 * total / len(said)


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


@blind("answer_scores: F1 is the mean over the truths of a question, not the best of them")
def _(said, truths):
    def normalize(text):
        text = text.lower()
        text = "".join(ch for ch in text if ch not in set(string.punctuation))
        text = re.sub(r"\b(a|an|the)\b", " ", text)
        return text.split()

    em_total, f1_total = 0, 0
    for answer, golds in zip(said, truths):
        a = normalize(answer)
        scores = []
        for gold in golds:
            g = normalize(gold)
            if len(a) == 0 or len(g) == 0:
                scores.append(int(a == g))
            else:
                same = sum((Counter(a) & Counter(g)).values())
                scores.append(2 * same / (len(a) + len(g)))
        em_total += int(any(a == normalize(gold) for gold in golds))
        f1_total += sum(scores) / len(scores)
    return 100.0 * em_total / len(said), 100.0 * f1_total / len(said)


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


@blind("few_shot_prompt: the first k are taken before the question's own example is left out: one too few "
       "stand in the prompt")
def _(examples, question, k, room, window):
    lower = [w.lower() for w in question]
    ending = question + ["answer:"]
    prompt = []
    for asked, answer in examples[:k]:
        if [w.lower() for w in asked] == lower:
            continue
        block = asked + ["answer:"] + answer + ["|"]
        if len(prompt) + len(block) + len(ending) > window - room:
            break
        prompt += block
    return prompt + ending


@blind("few_shot_prompt: only the examples are counted against window - room: the question and its answer: "
       "are forgotten, and the prompt gets too long")
def _(examples, question, k, room, window):
    def same(a, b):
        return " ".join(a).lower() == " ".join(b).lower()

    prompt, number = [], 0
    for asked, answer in examples:
        if same(asked, question):
            continue
        example = [*asked, "answer:", *answer, "|"]
        if number == k or len(prompt) + len(example) > window - room:
            break
        prompt += example
        number += 1
    return prompt + [*question, "answer:"]


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
