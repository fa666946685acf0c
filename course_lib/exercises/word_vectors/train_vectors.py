"""Skip-gram trained until it answers analogies."""
from __future__ import annotations

from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.data.toy_company import analogies, draw_sentences
from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise
from course_lib.tokenizers import Vocabulary
from course_lib.words import Corpus, NoiseSampler, window_pairs

exercise = Exercise(
    "train_vectors", chapter="word-vectors", place=5, title="Vectors that answer",
    contract="sentences is a list of 5,000 sentences of the chapter's small world, each a list of whole numbers in 0..num_words - 1: "
             "the words, under numbers that are drawn anew. Return a tensor (num_words, D) of vectors, D at most 24, floats. To "
             "reach: 85 % of 120 questions a : b = c : ? on roles and capitals, answered by the word of the largest cosine with "
             "b - a + c (vectors of length 1, the three words left out). Your function has 20 seconds on one core.",
    points=["word2vec", "distributional"], difficulty=4, minutes=45, kind="train", deadline=20.0)

SENTENCES, WIDTH, SHARE = 5000, 24, 0.85


def skip_gram(sentences, num_words: int, epochs: int = 8, with_negatives: bool = True) -> Tensor:
    """Vectors (num_words, WIDTH) trained by skip-gram with negative sampling; pairs of frequent words are subsampled."""
    generator = torch.Generator().manual_seed(0)
    vocabulary = Vocabulary([str(i) for i in range(num_words)])
    corpus = Corpus.of([[str(i) for i in sentence] for sentence in sentences], vocabulary)
    tables = [torch.randn(num_words, WIDTH, generator=generator).div_(WIDTH).requires_grad_() for _ in range(2)]
    (V, U), noise = tables, NoiseSampler(corpus.counts)
    optimizer = torch.optim.Adam(tables, 0.02)
    center, context, _ = window_pairs(corpus, 3)
    keep = (0.02 / (corpus.counts / corpus.counts.sum())).sqrt().clamp(max=1)
    for _ in range(epochs):
        pairs = (torch.rand(len(center), generator=generator) < keep[center] * keep[context]).nonzero()[:, 0]
        for rows in pairs[torch.randperm(len(pairs), generator=generator)].split(2048):
            v = V[center[rows]]
            loss = -F.logsigmoid((U[context[rows]] * v).sum(dim=1))
            if with_negatives:
                drawn = U[noise.draw(context[rows], 5, generator)]
                loss = loss - F.logsigmoid(-torch.einsum("bkd,bd->bk", drawn, v)).sum(dim=1)
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
    return V.detach()


@exercise.reference()
@exercise.step
def train_vectors_reference(sentences, num_words):
    return skip_gram(sentences, num_words)


@exercise.misconception(
    train_vectors_reference,
    "Your vectors have more than 24 components. The counts themselves would answer the questions; compressing them is the task.")
def too_wide(sentences, num_words):
    return skip_gram(sentences, num_words).repeat(1, 2)


@exercise.misconception(
    train_vectors_reference,
    "Your tensor is transposed: one row for each word is asked for, and you return one column for each word.")
def turned(sentences, num_words):
    return skip_gram(sentences, num_words).T.contiguous()


@exercise.misconception(
    train_vectors_reference,
    "All your vectors point in nearly the same direction. Either nothing pushes them apart (are there negatives, and with the right "
    "sign?), or training has hardly begun.")
def all_alike(sentences, num_words):
    return skip_gram(sentences, num_words, epochs=1, with_negatives=False)


@exercise.misconception(
    train_vectors_reference,
    "Your vectors do not depend on the text: words of one sentence are no nearer to each other than any two. Are they trained, and do "
    "the rows keep the numbers of the words?")
def no_text(sentences, num_words):
    return skip_gram(sentences, num_words, epochs=0)


@exercise.misconception(
    train_vectors_reference,
    "Words of one sentence are near each other, but the questions still fail. Train for more epochs or with a larger learning rate, "
    "and leave out most pairs of the most frequent words.")
def too_short(sentences, num_words):
    """Halfway: what was learned, with as much of the initial values."""
    vectors = F.normalize(skip_gram(sentences, num_words, epochs=3), dim=1)
    return vectors + 0.2 * torch.randn(vectors.shape, generator=torch.Generator().manual_seed(1))


def world(generator) -> tuple[list[list[int]], list[str], Tensor]:
    """Sentences as numbers, the words in the order of these, and the questions as numbers."""
    sentences, symbols, questions = drawn_world(integer(generator, 0, 2**31))
    return [list(sentence) for sentence in sentences], symbols, questions


@lru_cache(4)
def drawn_world(seed: int):
    generator = torch.Generator().manual_seed(seed)
    sentences = draw_sentences(SENTENCES, generator)
    symbols = sorted({word for sentence in sentences for word in sentence})
    symbols = [symbols[i] for i in torch.randperm(len(symbols), generator=generator).tolist()]
    number = {word: i for i, word in enumerate(symbols)}
    questions = torch.tensor([[number[word] for word in question] for kind in analogies().values() for question in kind])
    return [[number[word] for word in sentence] for sentence in sentences], symbols, questions


@exercise.property("85 % of the analogies", points=5)
def answered(run, generator, solve):
    sentences, symbols, questions = world(generator)
    vectors, V = run(sentences, len(symbols)), len(symbols)
    if not isinstance(vectors, Tensor) or vectors.dim() != 2 or vectors.is_complex():
        return Fault(f"Your function should return a tensor ({V}, D), a row a word.", None, "wrong_shape")
    if len(vectors) != V:
        return Fault(f"Your vectors have shape {tuple(vectors.shape)}; expected ({V}, D), a row a word.",
                     "turned" if vectors.shape[1] == V else None)
    if vectors.shape[1] > WIDTH:
        return Fault(f"Your vectors have {vectors.shape[1]} numbers each; at most {WIDTH} are allowed.", "too_wide")
    vectors = vectors.detach().double()
    if not vectors.isfinite().all():
        return Fault("Some of your vectors are NaN or infinite. Train with a smaller learning rate.")
    unit = F.normalize(vectors, dim=1)
    a, b, c, d = questions.T
    cosines = (unit[b] - unit[a] + unit[c]) @ unit.T                           # (120, V)
    for asked in (a, b, c):
        cosines[torch.arange(len(a)), asked] = -torch.inf
    share = float((cosines.argmax(dim=1) == d).double().mean())
    if share >= SHARE:
        return None
    return Fault(f"{share:.0%} of the questions are answered right; {SHARE:.0%} are asked.", why_low(unit, sentences))


def why_low(unit: Tensor, sentences: list[list[int]]) -> str | None:
    """The misconception that the cosines show, if they show one."""
    every = unit @ unit.T
    V = len(unit)
    if float(every.sum() - V) / (V * (V - 1)) > 0.8:
        return "all_alike"
    together = torch.zeros(V, V, dtype=torch.bool)
    count = torch.bincount(torch.tensor([word for sentence in sentences for word in sentence]), minlength=V)
    rare = count < 4 * count.median()                                          # filling words stand next to everything
    for sentence in sentences[:1000]:
        together[torch.tensor(sentence)[:, None], torch.tensor(sentence)] = True
    pairs = rare[:, None] & rare & ~torch.eye(V, dtype=torch.bool)
    gap = float(every[pairs & together].mean() - every[pairs & ~together].mean())
    return "no_text" if gap < 0.06 else "too_short"


exercise.hint(
    "You do not know what to begin with.",
    "Make the pairs first, once: for each sentence, each word and each word within three places of it. As two long tensors of "
    "numbers they are quickly shuffled and cut into batches.")
exercise.hint(
    "All words are near each other.",
    "Nothing pushes them apart. Draw five words a pair, by the counts to the power 0.75, and never the one that stands there.")
exercise.hint(
    "Neighbours look right, and the questions fail.",
    "Words like 'the' are in most pairs and say little. Leave out most of their pairs at random, and train for some more epochs.")
