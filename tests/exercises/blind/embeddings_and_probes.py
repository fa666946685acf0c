"""Wrong answers to the exercises of chapter embeddings-and-probes, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("probe_and_control: the control is taken over all test vectors, also those whose word is new")
def _(train, train_labels, train_words, test, test_labels, test_words,
                      random_label):
    def told(classes):
        means = torch.stack([train[classes == c].mean(0) for c in range(int(classes.max()) + 1)])
        return torch.cdist(test, means).argmin(1)

    real = (told(train_labels) == test_labels).float().mean()
    control = (told(random_label[train_words]) == random_label[test_words]).float().mean()
    return real.item(), control.item()


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
