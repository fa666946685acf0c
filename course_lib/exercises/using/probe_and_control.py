"""A probe's accuracy beside that of its control."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer, normal
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "probe_and_control", chapter="20", place=3, title="A probe and its control",
    contract="train (N, D) and test (M, D) are vectors, train_labels (N,) and test_labels (M,) their classes 0..K - 1, train_words (N,) "
             "and test_words (M,) the number of each vector's word, and random_label (V,) gives every word a random class. The "
             "probe is the class of the nearest mean: the class whose training vectors have the mean that is nearest (Euclidean). "
             "Every class, real and random, occurs in training. Return two floats: the share of test vectors whose label the "
             "probe tells, and the share of random labels that a probe trained on random labels tells, among the test vectors "
             "whose word occurs in training.",
    points=["probing"], difficulty=3, minutes=25)


@exercise.reference(
    on_training="You measure on the vectors that you trained on. Measure on test.",
    same_probe="You use the probe of the real labels for the control. The control is a probe of its own, trained on the random labels.",
    all_words="Your control counts test vectors whose word never occurred in training. Nobody can know their random label: leave "
              "them out.",
    known_alone="Your first share leaves out the test vectors of words that training has not. It counts all of them.",
    over_all="Your control counts hits among the known words and divides by all test vectors. It is a share of those with a known "
             "word.",
    new_words_only="Your control counts the words that never occurred in training. It is the other way round.",
    label_per_vector="Your random labels go to the vectors by their place. A word keeps its label wherever it stands: "
                     "random_label[words].",
    difference="Your second number is the difference of the two, the selectivity. Return the control itself.",
    exchanged="Your two numbers are exchanged: the real labels first.",
    inner_products="Your probe takes the largest inner product with a mean. Nearest is the smallest distance.",
    nearest_vector="Your probe takes the label of the nearest training vector. Compare with the means of the classes.",
)
def probe_and_control_reference(train, train_labels, train_words, test, test_labels, test_words, random_label, bugs=frozenset()):
    def told(labels):
        if "nearest_vector" in bugs:
            return lambda x: labels[torch.cdist(x, train).argmin(dim=1)]
        means = torch.stack([train[labels == k].mean(dim=0) for k in range(int(labels.max()) + 1)])
        if "inner_products" in bugs:
            return lambda x: (x @ means.T).argmax(dim=1)
        return lambda x: torch.cdist(x, means).argmin(dim=1)

    drawn, wanted = random_label[train_words], random_label[test_words]
    if "label_per_vector" in bugs:
        drawn = random_label[torch.arange(len(train)) % len(random_label)]
        wanted = random_label[torch.arange(len(test)) % len(random_label)]
    real = told(train_labels)
    control = real if "same_probe" in bugs else told(drawn)
    known = torch.isin(test_words, train_words)
    if "all_words" in bugs:
        known = torch.ones_like(known)
    if "new_words_only" in bugs:
        known = ~known
    if "on_training" in bugs:
        test, test_labels, wanted, known = train, train_labels, drawn, torch.ones(len(train), dtype=torch.bool)
    counted = known if "known_alone" in bugs else torch.ones_like(known)
    task = float((real(test) == test_labels)[counted].double().mean())
    hits = (control(test) == wanted)[known].double()
    by_heart = float(hits.sum() / len(test) if "over_all" in bugs else hits.mean())
    if "difference" in bugs:
        by_heart = task - by_heart
    return (by_heart, task) if "exchanged" in bugs else (task, by_heart)


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
