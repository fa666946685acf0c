"""The run of the language model that looks back: what is scored, how long it is trained, what is kept of it."""
from __future__ import annotations

import time

import pytest
import torch
import torch.nn.functional as F

from benchmarks.reproduce import looking_back
from benchmarks.reproduce.recipes import Repeats
from benchmarks.reproduce.table import RUNS
from course_lib.recurrent import AttentiveLM, RecurrentLM
from tests.support.random import rng
from tests.support.tensors import same

pytestmark = pytest.mark.slow

TEXT = torch.randint(5, (400,), generator=rng(3))


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return AttentiveLM(5, 8, "gru", score="bilinear", embedding=4).eval()


def test_a_character_is_scored_from_its_window_alone(model):
    """A loop over windows and places, each with a pass of its own."""
    terms = []
    with torch.no_grad():
        for start in range(0, len(TEXT) - looking_back.WINDOW, looking_back.WINDOW):
            for t in range(start + 1, start + looking_back.WINDOW + 1):
                logits = model.read(TEXT[start:t][None])[0][0, -1]
                terms.append(F.cross_entropy(logits, TEXT[t]))
    assert len(terms) == 6 * looking_back.WINDOW
    same(torch.tensor(looking_back.nats(model, TEXT)), torch.stack(terms).mean(), 1e-4)


def test_training_lasts_its_seconds_and_helps():
    torch.manual_seed(0)
    text, model = torch.tensor([0, 1, 2, 3, 4]).repeat(200), RecurrentLM(5, 8, "gru", embedding=4)
    before, began = looking_back.nats(model, text), time.process_time()
    read, used = looking_back.train_for(model, text, seed=0, seconds=0.4, lr=0.02, batch_size=4, clip=1.0)
    assert 0.4 <= used <= time.process_time() - began and read % (4 * looking_back.WINDOW) == 0 and read > 0
    assert looking_back.nats(model, text) < before - 0.1


def test_what_is_kept_of_a_model_that_looks_back(model):
    """Each row sums to one but the first, which has nothing to look at; of a model that does not, nothing is kept."""
    found = looking_back.nats_of_seeds(Repeats([model, model]), TEXT)
    weights = torch.tensor(found["shown"]["weights"])
    assert weights.shape == (looking_back.SHOWN,) * 2 and not weights.triu().any()
    assert found["shown"]["tokens"] == TEXT[:looking_back.SHOWN].tolist()
    same(weights[1:].sum(dim=1).double(), torch.full((looking_back.SHOWN - 1,), 100.0).double(), 0.1)
    assert found["mean"] == found["each"][0] == found["each"][1] and found["standard_error"] == 0
    assert "shown" not in looking_back.nats_of_seeds(Repeats([RecurrentLM(5, 8, "gru")] * 2), TEXT)


def test_both_sides_have_about_the_same_parameters():
    sizes = [sum(p.numel() for p in row.model(**row.arguments).parameters())
             for row in RUNS["looking-back-tiny-shakespeare"].rows]
    assert max(sizes) < 1.01 * min(sizes)
