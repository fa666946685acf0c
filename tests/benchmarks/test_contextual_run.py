"""What chapter 20 measures of bert-english: features by layer, similarity, and classifiers of which a part is trained."""
from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from benchmarks import contextual, store
from benchmarks.contextual import NAMES, SIZES, Kept, MeanClassifier, by_layers, found_first, in_pieces, scaled
from course_lib import hub
from course_lib.using import feature_extraction, hidden_states

TEXTS = ["Where is New York ?", "she opened the door", "a b"]


@pytest.fixture(scope="module")
def bert():
    return hub.load("bert-english").eval()


@torch.no_grad()
def test_layers_are_means_over_the_pieces_without_signs(bert):
    found = by_layers(bert, TEXTS)
    assert set(found) == {name for name in NAMES if name.startswith("layer")}
    for k, text in enumerate(TEXTS):
        tokens = in_pieces([text])[0]
        states = hidden_states(bert, tokens[None])
        for layer in range(3):
            mean = torch.stack([states[layer][0, t] for t in range(1, len(tokens) - 1)]).mean(dim=0)
            np.testing.assert_allclose(found[f"layer {layer}, mean"][k], mean.numpy(), atol=1e-5)
            np.testing.assert_allclose(found[f"layer {layer}, [CLS]"][k], states[layer][0, 0].numpy(), atol=1e-5)
        shares = bert.pretraining_logits(tokens[None])[0][0].softmax(dim=-1)
        np.testing.assert_allclose(found["layer 3, the softmax, mean"][k], shares[1:-1].mean(dim=0).numpy(), atol=1e-6)
        np.testing.assert_allclose(found["layer 3, the softmax, [CLS]"][k], shares[0].numpy(), atol=1e-6)
    last = feature_extraction(bert, contextual.pieces_of_bert(), [TEXTS[1]])[0]
    np.testing.assert_allclose(found["layer 2, mean"][1], last[1:-1].mean(dim=0).numpy(), atol=1e-5)


def test_columns_have_deviation_one_or_all_have_one_scale():
    rng = np.random.default_rng(0)
    x, new = rng.normal(3, [1, 5], (200, 2)), rng.normal(3, [1, 5], (7, 2))
    columns, other = scaled(x, new, how="columns")
    np.testing.assert_allclose((columns.mean(axis=0), columns.std(axis=0)), ([0, 0], [1, 1]), atol=1e-5)
    np.testing.assert_allclose(other, (new - x.mean(axis=0)) / x.std(axis=0), atol=1e-4)
    whole, _ = scaled(x, new, how="whole")
    np.testing.assert_allclose(whole.std(axis=0)[1] / whole.std(axis=0)[0], x.std(axis=0)[1] / x.std(axis=0)[0])
    counts = sparse.csr_matrix(np.eye(2))
    assert scaled(counts, how="columns")[0] is counts


def test_the_own_row_must_have_the_largest_cosine_alone():
    collection = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    asked = np.array([[5.0, 1.0], [1.0, 0.1], [1.0, 1.0]])
    assert found_first(collection, asked) == pytest.approx(200 / 3)
    unit = sparse.csr_matrix([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])   # TF-IDF rows have length 1
    assert found_first(unit, sparse.csr_matrix(np.eye(3)[:, :2])) == pytest.approx(100 / 3), "ties count as lost"


@pytest.mark.parametrize("trained, changed", [(0, set()), (1, {1}), (None, {0, 1})])
def test_only_what_is_named_is_trained_and_the_answer_is_the_same(bert, trained, changed):
    torch.manual_seed(0)
    model = MeanClassifier(bert, 3, trained=trained).eval()
    torch.manual_seed(0)
    whole = MeanClassifier(bert, 3).eval()
    tokens, real = torch.tensor([[2, 300, 301, 3, 0], [2, 400, 3, 0, 0]]), torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]).bool()
    torch.testing.assert_close(model(model.below(tokens), real), whole(tokens, real), rtol=0, atol=1e-5)
    before = {name: p.clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1)
    model.loss((model.below(tokens), real, torch.tensor([0, 2]))).backward()
    optimizer.step()
    moved = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    blocks = {int(name.split(".")[2]) for name in moved if name.startswith("bert.blocks")}
    assert blocks == changed and any(name.startswith("head") for name in moved)
    assert ("bert.tokens.weight" in moved) == (trained is None)


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(store, "RESULTS", tmp_path / "results")
    assert Kept("a")("x", lambda: [1.0]) == [1.0]
    again = Kept("a")
    assert again("x", lambda: pytest.fail("measured twice")) == [1.0]
    again.done()
    assert not list(tmp_path.glob("*.json"))


def test_the_record_of_layers_has_every_way_for_every_task():
    rows = {row["model"]: row["test"] for row in store.read()["using-layers"]["rows"]}
    for task in ("TREC, 100 labels", "SST-2, 100 labels", "SNLI, 500 captions"):
        for name in ("TF-IDF", *NAMES):
            values = rows[f"{task}: {name}"]["seeds"]
            assert len(values) == contextual.DRAWS and rows[f"{task}: {name}"]["mean"] == pytest.approx(np.mean(values), abs=0.01)


def test_the_record_of_tuning_has_every_arm():
    rows = {row["model"]: row["test"] for row in store.read()["using-tuning"]["rows"]}
    for labels in SIZES:
        for name in ("TF-IDF", *contextual.ARMS, "untrained twin, all layers"):
            assert len(rows[f"{name}, {labels:,} labels"]["seeds"]) == contextual.SEEDS
