"""What trains an encoder on stories, made small: pairs of BERT, orders of XLNet."""
from __future__ import annotations

from functools import cache

import pytest
import torch

from benchmarks.reproduce import denoising
from benchmarks.reproduce.denoising import CLS, END, PAD, SEP, Part, coded
from course_lib.data import Splits
from course_lib.data.toy_stories import stories

LINES = [f"{s.subject}\t{' . '.join(map(str, s.sentences))} ." for s in stories(60, torch.Generator().manual_seed(0), 2)]


@pytest.fixture(scope="module", autouse=True)
def few():
    """Sixty stories in place of three thousand, and their words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(denoising, "draw", lambda: Splits("toy_stories", LINES, LINES, LINES, info=denoising.INFO))
        patch.setattr(denoising, "symbols", cache(denoising.symbols.__wrapped__))
        yield


def some(num: int = 40) -> Part:
    return coded(LINES[:num])


def test_half_of_the_pairs_are_of_one_story_and_the_answer_says_which(monkeypatch):
    train, seen = some(), []
    model, loss = denoising.paired(train, 0)
    monkeypatch.setattr(model, "loss", lambda batch: seen.append(batch) or (torch.zeros(()), 0))
    loss(torch.arange(40).repeat(3), 0)
    (batch,) = seen
    stories = {tuple(tokens[real][1:-1].tolist()) for tokens, real in zip(train.tokens, train.real)}
    for row, real, types, follows in zip(batch.targets, batch.mask, batch.token_types, batch.next.tolist()):
        row, types = row[real].tolist(), types[real].tolist()
        cut = row.index(SEP)
        first, second = row[1:cut], row[cut + 1:-1]
        assert row[0] == CLS and row[-1] == SEP and first[-1] == second[-1] == END
        assert types == [0] * (cut + 1) + [1] * (len(second) + 1)
        assert ((*first, *second) in stories) is follows
    assert 30 < int(batch.next.sum()) < 90 and not (batch.chosen & (batch.targets < END)).any() and batch.chosen.any()


def test_what_fills_up_a_text_is_told_last_and_read_by_none(monkeypatch):
    train = some()
    other = train._replace(tokens=torch.where(train.real, train.tokens, END))
    assert not train.real.all()
    found = []
    for part in (train, other):
        torch.manual_seed(1)
        _, loss = denoising.in_orders(part, 0)
        found.append([loss(torch.tensor([i] * 8), 0).item() for i in range(12)])
    assert found[0] == found[1] and len(set(found[0])) > 6


def test_the_loss_of_an_order_is_that_of_its_factors_one_by_one(monkeypatch):
    """One text, its order known: each word's nats from the sequential view, which reads what came before and no more."""
    train = some(1)
    torch.manual_seed(0)
    model, loss = denoising.in_orders(train, 0)
    n, order = int(train.real.sum()), torch.tensor([2, 0, 3, 1])
    order = torch.cat([order, torch.arange(4, n)])
    monkeypatch.setattr(torch, "randperm", lambda size, generator: order[:size])
    told = model.reordered(torch.cat([order, torch.arange(n, model.n)]))
    state, nats = told.start(1), {}
    for place in order.tolist():
        nats[place] = -told.predict(state).log_prob(train.tokens[:, place]).item()
        state = told.update(state, train.tokens[:, place])
    expected = sum(nats[place] for place in range(1, n - 1)) / (n - 2)
    assert abs(loss(torch.tensor([0]), 0).item() - expected) < 1e-5


def test_the_states_of_xlnet_do_not_depend_on_what_fills_up():
    train = some()
    torch.manual_seed(0)
    model, _ = denoising.in_orders(train, 0)
    row = int(train.real.sum(dim=1).argmin())
    n = int(train.real[row].sum())
    alone = denoising.states(model, train.tokens[row:row + 1, :n], train.real[row:row + 1, :n])
    filled = denoising.states(model, train.tokens[row:row + 1], train.real[row:row + 1])
    assert train.tokens[row, n] == PAD and torch.allclose(alone, filled[:, :n], atol=1e-6)
    changed = train.tokens[row:row + 1, :n].clone()
    changed[0, n - 2] = END + 8
    assert ((denoising.states(model, changed, train.real[row:row + 1, :n]) - alone).abs().amax(dim=-1) > 1e-6).all()


def test_a_network_of_few_stories_is_not_that_of_many(monkeypatch):
    """Both runs of one command keep what they pre-trained."""
    monkeypatch.setattr(denoising, "PRETRAINED", {})
    monkeypatch.setattr(denoising, "OBJECTIVES", {"masked words": (denoising.masked, 2)})
    many, few, again = (denoising.pretrained("masked words", 1e-3, 0, some(num)) for num in (40, 20, 40))
    first, second, third = (torch.nn.utils.parameters_to_vector(model.parameters()) for model in (many, few, again))
    assert torch.equal(first, third) and not torch.equal(first, second)
