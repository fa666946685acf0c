"""A pair of sentences, next or not."""
from __future__ import annotations

import random

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "nsp_pair", chapter="bert", place=3, title="Next sentence, or not",
    contract="docs is a list of documents, each a list of sentences; rng a random.Random. A is docs[d][i]. With is_next, B "
             "is the sentence after it (there is one) and the label 0; otherwise B is drawn by rng from the sentences of "
             "the other documents, each of which may come, and the label is 1. Return (A, B, label); docs stays as it is.",
    points=["nsp"], difficulty=2, minutes=15)


@exercise.step
def second_sentence(docs, d, i, is_next, rng):
    return docs[d][i + 1] if is_next else random_sentence(docs, d, rng)


@exercise.step
def random_sentence(docs, d, rng):
    return drawn_from([document for k, document in enumerate(docs) if k != d], rng)


def drawn_from(documents, rng):
    sentences = [sentence for document in documents for sentence in document]
    return sentences[rng.randrange(len(sentences))]


@exercise.step
def label(is_next):
    return int(not is_next)


@exercise.reference()
def nsp_pair_reference(docs, d, i, is_next, rng):
    return docs[d][i], second_sentence(docs, d, i, is_next, rng), label(is_next)


@exercise.misconception(label, "Your labels are exchanged: 0 says that B is the next sentence, 1 that it is not.")
def labels(is_next):
    return int(is_next)


@exercise.misconception(second_sentence, "Your B is the sentence before A. It is to be the sentence after it.")
def previous(docs, d, i, is_next, rng):
    return docs[d][i - 1] if is_next else random_sentence(docs, d, rng)


@exercise.misconception(
    random_sentence,
    "Your random sentence is sometimes from A's own document, where it may even be the next one. Leave that document out.")
def same_document(docs, d, rng):
    return drawn_from(docs, rng)


@exercise.misconception(
    random_sentence,
    "Your random sentence is always the first of its document. Any of them may come, or the model learns what first sentences look like.")
def first_sentence(docs, d, rng):
    return random_sentence.original([document[:1] for document in docs], d, rng)


@exercise.misconception(
    random_sentence,
    "Your random sentence is never from the last document. If you sample k from all document numbers but one, add 1 "
    "to it wherever k >= d, not only where k == d.")
def last_left_out(docs, d, rng):
    k = rng.randrange(len(docs) - 1)
    return rng.choice(docs[k + 1 if k == d else k])


@exercise.misconception(
    random_sentence,
    "Your random sentence is the same whatever the state of rng. Draw from rng, and do not seed it.")
def unmoved(docs, d, rng):
    return random_sentence.original(docs, d, random.Random(0))


@exercise.misconception(
    random_sentence,
    "Two calls with rng in the same state give different sentences: something else than rng is drawn from, such as the module random "
    "itself. With rng alone, a run can be repeated.")
def own_dice(docs, d, rng):
    return random_sentence.original(docs, d, random.Random())


def documents(generator) -> list[list[str]]:
    """Four documents of 2 to 4 sentences, each sentence with a name of its own."""
    sizes = [integer(generator, 2, 4) for _ in range(4)]
    names = torch.randperm(900, generator=generator).tolist()
    return [[f"sentence {names.pop() + 100}" for _ in range(n)] for n in sizes]


def own_rng(generator) -> random.Random:
    return random.Random(integer(generator, 0, 2**31))


def next_cases(generator):
    cases = []
    for _ in range(8):
        docs = documents(generator)
        d = integer(generator, 0, 3)
        cases.append((docs, d, integer(generator, 0, len(docs[d]) - 2), True, own_rng(generator)))
    return cases


exercise.compare("the next sentence", next_cases, points=2)


@exercise.property("a sentence of another document", points=3)
def strangers(run, generator, solve):
    docs = documents(generator)
    return next(filter(None, (of_another(run, docs, d, generator) for d in (1, 2))), None)


def of_another(run, docs, d, generator) -> Fault | None:
    """What is wrong with the random sentences for document d."""
    others = {sentence: k for k, document in enumerate(docs) for sentence in document if k != d}
    seen = set()
    for _ in range(200):
        result = run(docs, d, 0, False, own_rng(generator))
        if not isinstance(result, list | tuple) or len(result) != 3:
            return Fault("Your function should return three things: A, B and the label.", None, "wrong_shape")
        a, b, label = result
        if label != 1 or isinstance(label, torch.Tensor):
            return Fault("The label should be the number 1 when is_next is False.")
        if a != docs[d][0]:
            return Fault("A should be docs[d][i] in any case.")
        if b in docs[d]:
            return Fault("B is of A's own document.", "same_document")
        if b not in others:
            return Fault("B is no sentence of the documents.")
        seen.add(b)
    for _ in range(12):
        seed = integer(generator, 0, 2**31)
        if run(docs, d, 0, False, random.Random(seed))[1] != run(docs, d, 0, False, random.Random(seed))[1]:
            return Fault("Two calls with rng in the same state give different sentences.", "own_dice")
    missing = len(others) - len(seen)
    if not missing:
        return None
    if len(seen) == 1:
        return Fault("B never changes.", "unmoved")
    if len({others[b] for b in seen}) == 1 and len(seen) == len(docs[others[min(seen)]]):
        return Fault("B is always of the same document.")
    if seen == {document[0] for k, document in enumerate(docs) if k != d}:
        return Fault("B is always a first sentence.", "first_sentence")
    if set(others) - seen == set(docs[-1]):
        return Fault("B is never of the last document.", "last_left_out")
    return Fault(f"In 200 draws, {missing} of the {len(others)} sentences of other documents never came.")


def both_cases(generator):
    """With the next sentence and without, several times: what is taken out of a list of lists would be missing there."""
    cases = []
    for is_next in (False, True, False, False):
        docs = documents(generator)
        d = integer(generator, 0, 3)
        cases.append((docs, d, integer(generator, 0, len(docs[d]) - 2), is_next, own_rng(generator)))
    return cases


exercise.unchanged(both_cases)
exercise.hint(
    "Your random sentence is sometimes the next one.",
    "Take the documents other than number d first: [doc for k, doc in enumerate(docs) if k != d]. Then draw.")
exercise.hint(
    "Some sentences never come.",
    "Put the sentences of all the other documents in one list and use rng.choice, or draw a document and then one of its "
    "sentences. Both are accepted.")
