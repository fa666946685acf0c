"""A probe's accuracy beside that of its control."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "probe_and_control", chapter="embeddings-and-probes", place=2, title="A probe and its control",
    contract="train (N, D) and test (M, D) are vectors, train_labels (N,) and test_labels (M,) their classes 0..K - 1, train_words (N,) "
             "and test_words (M,) the number of each vector's word, and random_label (V,) gives every word a random class. The "
             "probe is the class of the nearest mean: the class whose training vectors have the mean that is nearest (Euclidean). "
             "Every class, real and random, occurs in training. Return two floats: the share of test vectors whose label the "
             "probe tells, and the share of random labels that a probe trained on random labels tells, among the test vectors "
             "whose word occurs in training.",
    points=["probing"], difficulty=3, minutes=25)


@exercise.step
def probe(vectors, labels):
    """A function of new vectors: the class of the nearest mean."""
    means = class_means(vectors, labels)
    return lambda x: torch.cdist(x, means).argmin(dim=1)


def class_means(vectors, labels):
    return torch.stack([vectors[labels == k].mean(dim=0) for k in range(int(labels.max()) + 1)])


@exercise.step
def control_probe(vectors, labels, random_labels):
    return probe(vectors, random_labels)


@exercise.step
def labels_of(words, random_label):
    return random_label[words]


@exercise.step
def accuracy(hits, known):
    return float(hits.mean())


@exercise.step
def control_accuracy(hits, known):
    return float(hits[known].mean())


@exercise.reference()
@exercise.step
def probe_and_control_reference(train, train_labels, train_words, test, test_labels, test_words, random_label):
    known = torch.isin(test_words, train_words)
    hits = probe(train, train_labels)(test) == test_labels
    control = control_probe(train, train_labels, labels_of(train_words, random_label))
    control_hits = control(test) == labels_of(test_words, random_label)
    return accuracy(hits.double(), known), control_accuracy(control_hits.double(), known)


@exercise.misconception(
    probe_and_control_reference,
    "You measure on the vectors that you trained on. Measure on test.")
def on_training(train, train_labels, train_words, test, test_labels, test_words, random_label):
    return probe_and_control_reference.original(train, train_labels, train_words, train, train_labels, train_words, random_label)


@exercise.misconception(
    control_probe,
    "You use the probe of the real labels for the control. The control is a probe of its own, trained on the random labels.")
def same_probe(vectors, labels, random_labels):
    return probe(vectors, labels)


@exercise.misconception(
    control_accuracy,
    "Your control counts test vectors whose word never occurred in training. Their random label cannot be known: leave them out.")
def all_words(hits, known):
    return float(hits.mean())


@exercise.misconception(
    accuracy,
    "Your first share leaves out the test vectors of words that do not occur in training. It counts all of them.")
def known_alone(hits, known):
    return float(hits[known].mean())


@exercise.misconception(
    control_accuracy,
    "Your control counts hits among the known words and divides by all test vectors. It is a share of those with a known word.")
def over_all(hits, known):
    return float(hits[known].sum() / len(hits))


@exercise.misconception(
    labels_of,
    "Your random labels go to the vectors by their place. A word keeps its label wherever it stands: random_label[words].")
def label_per_vector(words, random_label):
    return random_label[torch.arange(len(words)) % len(random_label)]


@exercise.misconception(
    probe,
    "Your probe takes the largest inner product with a mean. Nearest is the smallest distance.")
def inner_products(vectors, labels):
    means = class_means(vectors, labels)
    return lambda x: (x @ means.T).argmax(dim=1)


@exercise.misconception(
    probe,
    "Your probe takes the label of the nearest training vector. Compare with the means of the classes.")
def nearest_vector(vectors, labels):
    return lambda x: labels[torch.cdist(x, vectors).argmin(dim=1)]


def probes(generator):
    """Words with vectors of their own and labels that hang on half of the numbers; some words in test alone."""
    cases = []
    for V, K in ((9, 2), (12, 3), (10, 2)):
        while True:
            D, N, M = integer(generator, 5, 7), integer(generator, 50, 60), integer(generator, 61, 75)
            random_label = torch.cat([torch.arange(K), torch.randint(K, (V - K,), generator=generator)])
            words = torch.randint(V - 3, (N,), generator=generator)
            new = torch.randint(V, (M,), generator=generator)
            table, centres = normal(generator, V, D), normal(generator, K, D, scale=1.2)
            labels, wanted = (torch.randint(K, (num,), generator=generator) for num in (N, M))
            train = table[words] + centres[labels] + normal(generator, N, D) + 1.5
            test = table[new] + centres[wanted] + normal(generator, M, D) + 1.5
            both = [labels, random_label[words]]
            if all(len(each.unique()) == K for each in both):
                break
        case = (train, labels, words, test, wanted, new, random_label)
        cases.append(case)
    return cases


exercise.compare("values", probes, points=4)
exercise.unchanged(probes)
exercise.hint(
    "You do not know what the control is.",
    "The same two steps with other labels: random_label[train_words] to train on, random_label[test_words] to measure on.")
exercise.hint(
    "Your first number is right and the second is not.",
    "torch.isin(test_words, train_words) is True where the word occurred in training. Measure the control there.")
exercise.hint(
    "Neither number is right.",
    "torch.stack([train[labels == k].mean(0) for k in range(K)]) are the means; torch.cdist gives the distances to them.")
