"""What right counts, vectors and losses do. The mutants are caught by it."""
from __future__ import annotations

import math
from collections import Counter

import torch

from course_lib.tokenizers import Vocabulary
from course_lib.words import Corpus
from tests.support.random import normal, rng

WORDS = list("abcdefg")


def corpus(num=12, seed=0, alone=True):
    """Sentences of 1 to 7 words over an alphabet in which words repeat."""
    g = rng(seed)
    lengths = torch.randint(2 - alone, 8, (num,), generator=g).tolist()
    sentences = [[WORDS[i] for i in torch.randint(len(WORDS), (n,), generator=g).tolist()] for n in lengths]
    return Corpus.of(sentences, Vocabulary(WORDS)), sentences


def documents(seed=0):
    """Of unequal lengths, with a word that all have and one that none has; one document is empty."""
    g = rng(seed)
    docs = [["a"] + [WORDS[i] for i in torch.randint(1, 6, (n,), generator=g).tolist()] for n in (3, 9, 5, 1)]
    return [*docs, []]


def tfidf_of_the_slide(docs, word, doc):
    df = sum(word in other for other in docs)
    return doc.count(word) / len(doc) * (math.log((len(docs) + 1) / (df + 1)) + 1) if doc else 0.0


def is_the_slides(weigh, docs=None):
    from course_lib.words import count_words

    docs = docs or documents()
    got = weigh(count_words(docs, Vocabulary(WORDS)).double())
    wanted = torch.tensor([[tfidf_of_the_slide(docs, word, doc) for word in WORDS] for doc in docs], dtype=torch.float64)
    torch.testing.assert_close(got, wanted)


def pairs_by_loops(sentences, window):
    """Every (centre, context, distance), with its number."""
    found = Counter()
    for words in sentences:
        for i, centre in enumerate(words):
            for j, context in enumerate(words):
                if i != j and abs(i - j) <= window:
                    found[WORDS.index(centre), WORDS.index(context), abs(i - j)] += 1
    return found


def are_the_windows(window_pairs):
    for window in (1, 2, 5, 50):
        text, sentences = corpus(seed=window)
        got = Counter(zip(*(part.tolist() for part in window_pairs(text, window))))
        assert got == pairs_by_loops(sentences, window)


def is_the_table(cooccurrences):
    for window, by_distance in ((1, False), (3, False), (3, True)):
        text, sentences = corpus(seed=window)
        wanted = torch.zeros(len(WORDS), len(WORDS))
        for (centre, context, d), count in pairs_by_loops(sentences, window).items():
            wanted[centre, context] += count / d if by_distance else count
        got = cooccurrences(text, window, by_distance).to_dense()
        torch.testing.assert_close(got, wanted)
        assert torch.equal(got, got.T)


def is_pmi(ppmi):
    g = rng(3)
    counts = torch.randint(0, 5, (6, 4), generator=g).double()
    for power in (1.0, 0.75):
        of_context = counts.sum(dim=0) ** power
        wanted = torch.zeros_like(counts)
        for w in range(6):
            for c in range(4):
                if counts[w, c]:
                    given = counts[w, c] / counts[w].sum()
                    wanted[w, c] = max(0.0, math.log(given / (of_context[c] / of_context.sum())))
        torch.testing.assert_close(ppmi(counts, power), wanted)
        torch.testing.assert_close(ppmi(counts.to_sparse(), power).to_dense(), wanted)
    assert (wanted > 0).any() and (wanted == 0).any()


def loss_by_loops(v, u, negatives):
    total = 0.0
    for b in range(len(v)):
        total = total - torch.log(torch.sigmoid(sum(u[b, d] * v[b, d] for d in range(v.shape[1]))))
        for k in range(negatives.shape[1]):
            total = total - torch.log(1 - torch.sigmoid(sum(negatives[b, k, d] * v[b, d] for d in range(v.shape[1]))))
    return total / len(v)


def is_the_loss(negative_sampling_loss):
    parts = [normal(3, 4, seed=1).double(), normal(3, 4, seed=2).double(), normal(3, 2, 4, seed=3).double()]
    mine, theirs = ([part.clone().requires_grad_() for part in parts] for _ in range(2))
    got, wanted = negative_sampling_loss(*mine), loss_by_loops(*theirs)
    torch.testing.assert_close(got, wanted)
    got.backward(), wanted.backward()
    for a, b in zip(mine, theirs):
        torch.testing.assert_close(a.grad, b.grad)
    large = [60 * part.float() for part in parts]
    assert negative_sampling_loss(*large).isfinite()


def draws_the_noise(NoiseSampler):
    """Counts^0.75, without the target, by a chi-square."""
    counts = torch.tensor([1000, 300, 100, 30, 10, 0, 1])
    sampler, num = NoiseSampler(counts), 40_000
    for target in (0, 4):
        drawn = sampler.draw(torch.full((num,), target), 3, rng(target)).flatten()
        p = counts.double() ** 0.75
        p[target] = 0
        p = p / p.sum()
        seen = torch.bincount(drawn, minlength=len(counts)).double()
        assert seen[p == 0].sum() == 0, f"{int(seen[target])} of {3 * num} draws are the target"
        chi = ((seen - 3 * num * p)[p > 0] ** 2 / (3 * num * p[p > 0])).sum()
        assert chi < 25, f"chi-square {chi:.0f} on {int((p > 0).sum()) - 1}"


def is_gloves_loss(GloVe):
    """Value and gradient, by a double loop over the table."""
    torch.manual_seed(0)
    mine, theirs = GloVe(5, 3).double(), GloVe(5, 3).double()
    with torch.no_grad():
        for number, p in enumerate(mine.parameters()):
            p.copy_(normal(*p.shape, seed=number).double())
    theirs.load_state_dict(mine.state_dict())
    counts = torch.randint(0, 4, (5, 5), generator=rng(2)).double() * 60
    i, j = counts.nonzero().T
    got = mine.loss(i, j, counts[i, j])
    wanted = 0.0
    for a in range(5):
        for b in range(5):
            x = counts[a, b].item()
            if x:
                f = min(1.0, (x / 100) ** 0.75)
                error = theirs.word[a] @ theirs.context[b] + theirs.word_bias[a] + theirs.context_bias[b] - math.log(x)
                wanted = wanted + f * error**2
    torch.testing.assert_close(got, wanted)
    got.backward(), wanted.backward()
    for a, b in zip(mine.parameters(), theirs.parameters()):
        torch.testing.assert_close(a.grad, b.grad)


def answers_by_three_cosines(WordVectors):
    """The word of the largest cosine with b - a + c, none of the three; by a loop."""
    table = normal(9, 4, seed=5)
    table[3] *= 10                                                   # a long vector: lengths play no part
    words = list("abcdefghi")
    vectors, unit = WordVectors(words, table), torch.nn.functional.normalize(table, dim=1)
    told = 0
    for a, b, c in ((0, 1, 2), (3, 4, 5), (6, 3, 7), (8, 2, 3)):
        aim = unit[b] - unit[a] + unit[c]
        best = max((i for i in range(9) if i not in (a, b, c)), key=lambda i: float(unit[i] @ aim))
        assert vectors.analogy(words[a], words[b], words[c])[0][0] == words[best]
        told += int((unit @ aim).argmax()) in (a, b, c)
    assert told, "no question has one of its own words as the nearest: the rule is not tried"


def is_the_average(CBOW):
    """CBOW's score is that of the mean of the vectors that are there, whatever fills up."""
    torch.manual_seed(0)
    model = CBOW(6, 3)
    torch.nn.init.normal_(model.context.weight)
    around, word = torch.tensor([[1, 2, -1, -1], [-1, 3, 3, 4], [-1, -1, -1, 5]]), torch.tensor([0, 1, 2])
    v = model.centre.weight
    means = [(v[1] + v[2]) / 2, (2 * v[3] + v[4]) / 3, v[5]]
    wanted = torch.stack([model.context.weight[w] @ mean for w, mean in zip(word, means)])
    torch.testing.assert_close(model(around, word), wanted)
