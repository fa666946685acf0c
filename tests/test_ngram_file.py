"""The form in which counts travel, and figures on real text."""
from __future__ import annotations

import pytest
import torch

from course_lib.text import CharTokenizer, NGram, bits_per_token
from course_lib.text.counts import distinct
from course_lib.text.packing import pack, unpack
from tests.support.text import SCHEMES, some_text


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_state_dict_and_the_config_are_the_model(scheme):
    from safetensors.torch import load, save

    model = NGram(3, 5, 4, scheme, **SCHEMES[scheme]).fit_counts([some_text(4, 200)])
    model.smoothing.randomize(torch.Generator().manual_seed(0))
    other = NGram(**model.config)
    other.load_state_dict(load(save(model.state_dict())))
    x = torch.tensor([some_text(4, 30, 8)])
    assert torch.equal(other.log_prob(x), model.log_prob(x))
    assert other.config == model.config
    full = NGram(3, 5, 4, scheme, **SCHEMES[scheme]).fit_counts([some_text(4, 50, 11)])          # counts are replaced
    full.load_state_dict(model.state_dict())
    assert torch.equal(full.log_prob(x), model.log_prob(x))
    full.load_state_dict(NGram(**model.config).state_dict())         # by nothing, too
    with pytest.raises(ValueError, match="no counts yet"):
        full.log_prob(x)


def test_packing_is_exact_and_small():
    generator = torch.Generator().manual_seed(0)
    for vocabulary, m in ((2, 1), (3, 4), (300, 2), (70_000, 3)):
        rows = torch.randint(vocabulary, (500, m), generator=generator)
        grams, counts = distinct(rows)
        packed = pack(grams, counts)
        assert torch.equal(unpack(packed[0], packed[1], m), grams)
    text = torch.tensor(some_text(60, 20_000))
    model = NGram(3, 60).fit_counts(text)
    size = sum(t.numel() * t.element_size() for t in model.state_dict().values())
    assert size < 0.75 * len(model.counts) * 4 * 2                   # four symbols of a byte and as much for the count
    assert {t.dtype for t in model.state_dict().values()} <= {torch.uint8, torch.int16}


def test_counts_of_another_model_are_refused():
    model = NGram(2, 5).fit_counts(some_text())
    with pytest.raises(ValueError, match="over a vocabulary of 3"):
        NGram(2, 3).load_state_dict(model.state_dict())
    with pytest.raises(ValueError, match="the file is damaged|do not fit"):
        NGram(3, 5).load_state_dict(model.state_dict())
    cut = model.state_dict()
    cut["symbols"] = cut["symbols"][:-3]
    with pytest.raises(ValueError, match="the file is damaged"):
        NGram(2, 5).load_state_dict(cut)


# --- real text --------------------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.slow
def test_bits_per_character_of_shakespeare(course_data):
    text = (course_data / "tiny_shakespeare" / "input.txt").read_text()
    tokenizer = CharTokenizer.fit(text)
    x = tokenizer.encode(text)
    train, test, prompt = x[:1003854], x[1003854 + 55770:], x[1003854 + 55770 - 6:1003854 + 55770]
    assert len(tokenizer.vocabulary) == 65
    for order, expected in ((0, 4.850), (2, 3.027), (5, 2.344)):
        model = NGram(order, 65, smoothing="kneser-ney").fit_counts(train)
        assert bits_per_token(model, test, prompt) == pytest.approx(expected, abs=5e-4)
    assert sum(t.numel() * t.element_size() for t in model.state_dict().values()) < 1.3e6
