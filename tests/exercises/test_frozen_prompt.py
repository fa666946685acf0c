"""The reader that is frozen: it follows orders, needs one, and vectors found by training do for an order."""
from __future__ import annotations

import pytest
import torch

from course_lib.exercises.prompting_and_retrieval import frozen_prompt as bank


def share(logits: torch.Tensor, y: torch.Tensor) -> float:
    return float((logits.argmax(dim=1) == y).double().mean())


@torch.no_grad()
def test_the_reader_answers_by_the_order_and_cannot_without():
    generator = torch.Generator().manual_seed(1)
    kind = torch.randint(bank.KINDS, (600,), generator=generator)
    x, y = bank.rows(kind, generator)
    reader = bank.Reader()
    reader.load_state_dict(bank.pretrained())
    order = (bank.KINDS * bank.EACH + kind)[:, None]
    assert share(reader(reader.tokens(torch.cat([order, x], dim=1))), y) > 0.99
    assert share(reader(reader.tokens(x)), y) < 0.5


def test_words_have_new_numbers_and_the_reader_is_the_same():
    body, ((x, y), (new, _)) = bank.drawn(torch.Generator().manual_seed(2))
    old = bank.pretrained()
    assert x.shape == (40, 4) and new.shape == (300, 4) and all(word in row for word, row in zip(y.tolist(), x.tolist()))
    assert len(y.unique()) <= bank.EACH                              # one kind alone
    assert not torch.equal(body["tokens.weight"], old["tokens.weight"]) and torch.equal(body["key.weight"], old["key.weight"])
    assert torch.equal(body["tokens.weight"].sort(dim=0).values, old["tokens.weight"].sort(dim=0).values)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_wherever_the_prompt_begins_it_gets_there(seed):
    body, (train, (x, y)) = bank.drawn(torch.Generator().manual_seed(seed))
    torch.manual_seed(100 + seed)
    model = bank.FrozenPrompt(body, 2)
    model.fit(*train, bank.STEPS)
    with torch.no_grad():
        assert share(model(x), y) > bank.SHARE + 0.05
