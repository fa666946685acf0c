"""Wrong answers to the exercises of chapter documents, written without knowing its checks."""
from __future__ import annotations

import math
from collections import Counter

from tests.exercises.answers.register import blind


@blind("tfidf: empty documents do not count among the N of the idf")
def _(docs):
    N = sum(1 for doc in docs if doc)
    df = Counter(word for doc in docs for word in set(doc))
    return [{word: count / len(doc) * (math.log((N + 1) / (df[word] + 1)) + 1)
             for word, count in Counter(doc).items()} for doc in docs]


df = Counter()


@blind("tfidf: the document counts are kept outside of the function and never emptied: each call adds its "
       "documents to those of the calls before")
def _(docs):
    N = len(docs)
    for doc in docs:
        for word in set(doc):
            df[word] += 1
    result = []
    for doc in docs:
        counts = Counter(doc)
        result.append({word: n / len(doc) * (math.log((N + 1) / (df[word] + 1)) + 1)
                       for word, n in counts.items()})
    return result


@blind("tfidf: df counts every occurrence: a word that stands twice in a document counts it twice")
def _(docs):
    df = Counter()
    for doc in docs:
        df.update(doc)
    def idf(word):
        return math.log((len(docs) + 1) / (df[word] + 1)) + 1
    return [{w: c / len(doc) * idf(w) for w, c in Counter(doc).items()} for doc in docs]
