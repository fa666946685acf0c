"""Words counted, beside BERT: the module is scikit-learn's pipeline, on the labels that BERT gets."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.reproduce import bag_of_words, pretraining
from benchmarks.reproduce.recipes import Job, Repeats, free_parameters

PIECES = 30


@pytest.fixture
def made(monkeypatch) -> pretraining.Task:
    """Rows [CLS] ... [SEP] of unequal length; class 1 has more of the high numbers."""
    monkeypatch.setattr(pretraining, "PIECES", PIECES)
    generator = torch.Generator().manual_seed(0)

    def part(count: int) -> pretraining.Sentences:
        labels = torch.randint(2, (count,), generator=generator)
        tokens = torch.randint(5, 25, (count, 9), generator=generator) + 5 * labels[:, None]
        tokens[:, 0] = 2
        for row, length in zip(tokens, torch.randint(4, 10, (count,), generator=generator).tolist()):
            row[length - 1], row[length:] = 3, pretraining.PAD
        return pretraining.Sentences(tokens, labels)

    return pretraining.Task(part(120), part(60), part(80), torch.zeros(0, 9, dtype=torch.long), {})


def trained(made: pretraining.Task, tmp_path, labels: int | None = 40, seeds: int = 2, C: float = 3.0) -> Repeats:
    row = bag_of_words.row(labels)
    settings = {**row.settings, "seeds": seeds, "C": C}
    return bag_of_words.by_weighing(Job(made, 0, torch.device("cpu"), tmp_path), row, settings, "a-row").model


def spelt(tokens: torch.Tensor) -> list[str]:
    return [" ".join(f"w{t}" for t in row if t >= pretraining.SPECIAL) for row in tokens.tolist()]


def test_it_is_scikit_learns_pipeline_on_the_labels_that_bert_gets(made, tmp_path):
    for seed, model in enumerate(trained(made, tmp_path)):
        rows = pretraining.drawn(120, 40, 2000 + seed)
        words = TfidfVectorizer(vocabulary=[f"w{k}" for k in range(5, PIECES)])
        learned = LogisticRegression(C=3.0, max_iter=2000).fit(
            words.fit_transform(spelt(made.train.tokens[rows])), made.train.labels[rows].numpy())
        expected = learned.predict_proba(words.transform(spelt(made.test.tokens)))
        torch.testing.assert_close(model(made.test.tokens).softmax(dim=1).double(), torch.from_numpy(expected),
                                   atol=1e-4, rtol=0)
        assert free_parameters(model) == PIECES + 1


def test_order_special_tokens_and_filling_do_not_count(made, tmp_path):
    model = trained(made, tmp_path, seeds=1)[0]
    one = torch.tensor([[2, 7, 9, 9, 3, 0, 0]])
    for other in ([[2, 9, 7, 9, 3, 0, 0]], [[7, 9, 9, 0, 0, 0, 0]], [[2, 7, 4, 9, 1, 9, 3]]):
        assert torch.equal(model(torch.tensor(other)), model(one))
    assert not torch.equal(model(torch.tensor([[2, 7, 9, 3, 0, 0, 0]])), model(one))


def test_no_label_but_those_is_read(made, tmp_path):
    rows = pretraining.drawn(120, 40, 2000)
    flipped = 1 - made.train.labels
    flipped[rows] = made.train.labels[rows]
    other = made._replace(train=made.train._replace(labels=flipped), valid=made.valid._replace(labels=1 - made.valid.labels),
                          test=made.test._replace(labels=1 - made.test.labels))
    first, second = (trained(one, tmp_path, seeds=1)[0] for one in (made, other))
    assert torch.equal(first.linear.weight, second.linear.weight)


def test_the_error_of_all_labels_is_that_over_the_sentences(made, tmp_path):
    whole = bag_of_words.row(None)
    found = whole.measure(trained(made, tmp_path, labels=None, seeds=1), made.test)
    told = trained(made, tmp_path, labels=None, seeds=1)[0](made.test.tokens).argmax(dim=1) == made.test.labels
    assert found["mean"] == pytest.approx(100 * told.double().mean().item(), abs=0.01) and found["over"] == 80
    assert found["standard_error"] == pytest.approx(100 * np.std(told.double().numpy()) / 80 ** 0.5, abs=0.01)
    assert "seeds" not in whole.final and whole.settings["seeds"] == 1
    assert bag_of_words.row(100).final == {"seeds": 3}
