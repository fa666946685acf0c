"""The form in which counts travel, and figures on real text."""
from __future__ import annotations

import pytest
import torch

from course_lib.counting import NGram
from course_lib.counting.counts import distinct
from course_lib.counting.packing import pack, unpack
from course_lib.tokenizers import CharTokenizer
from course_lib.training import bits_per_token
from tests.support.text import SCHEMES, some_text


@pytest.mark.parametrize("scheme", SCHEMES)
def test_state_dict_and_config(scheme):
    from safetensors.torch import load, save

    model = NGram(n=4, vocab_size=5, bos_id=4, smoothing=scheme, **SCHEMES[scheme]).fit_counts([some_text(4, 200)])
    model.smoothing.randomize(torch.Generator().manual_seed(0))
    other = NGram(**model.config)
    other.load_state_dict(load(save(model.state_dict())))
    x = torch.tensor([some_text(4, 30, 8)])
    assert torch.equal(other.log_prob(x), model.log_prob(x))
    assert other.config == model.config
    full = NGram(n=4, vocab_size=5, bos_id=4, smoothing=scheme, **SCHEMES[scheme]).fit_counts([some_text(4, 50, 11)])          # counts are replaced
    full.load_state_dict(model.state_dict())
    assert torch.equal(full.log_prob(x), model.log_prob(x))
    full.load_state_dict(NGram(**model.config).state_dict())         # by nothing, too
    with pytest.raises(ValueError, match=r"the n-gram model has no counts, .*; call fit_counts\(tokens\) first"):
        full.log_prob(x)


def test_pack_exact_and_small():
    generator = torch.Generator().manual_seed(0)
    for vocabulary, m in ((2, 1), (3, 4), (300, 2), (70_000, 3)):
        rows = torch.randint(vocabulary, (500, m), generator=generator)
        grams, counts = distinct(rows)
        again = unpack(pack(grams, counts))
        assert torch.equal(again[0], grams) and torch.equal(again[1], counts)
    text = torch.tensor(some_text(60, 20_000))
    model = NGram(n=4, vocab_size=60).fit_counts(text)
    windows = len(distinct(text.unfold(0, 4, 1))[1])
    assert len(model.packed) < 0.6 * windows * (4 + 1)               # four symbols of a byte, and a byte for the count


def test_load_other_counts():
    model = NGram(n=3, vocab_size=5).fit_counts(some_text())
    with pytest.raises(ValueError, match="and ids below 3"):
        NGram(n=3, vocab_size=3).load_state_dict(model.state_dict())
    with pytest.raises(ValueError, match="n-grams of 3 symbols.*expected n = 4"):
        NGram(n=4, vocab_size=5).load_state_dict(model.state_dict())


@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b[40:], lambda b: torch.cat([b[:60], 255 - b[60:90], b[90:]])])
def test_load_damaged_counts(damage):
    model = NGram(n=3, vocab_size=5).fit_counts(some_text())
    with pytest.raises(ValueError, match="the file that it was loaded from is damaged"):
        NGram(n=3, vocab_size=5).load_state_dict({**model.state_dict(), "packed": damage(model.packed)})


# --- real text --------------------------------------------------------------------------------------------------------


@pytest.mark.data
def test_bits_per_character_of_shakespeare(course_data):
    text = (course_data / "tiny_shakespeare" / "input.txt").read_text()
    tokenizer = CharTokenizer.fit(text)
    x = tokenizer.encode(text)
    train, test, prompt = x[:1003854], x[1003854 + 55770:], x[1003854 + 55770 - 6:1003854 + 55770]
    assert len(tokenizer.vocabulary) == 65
    for order, expected in ((0, 4.850), (2, 3.027), (5, 2.344)):
        model = NGram(n=order + 1, vocab_size=65, smoothing="kneser-ney").fit_counts(train)
        assert bits_per_token(model, test, prompt) == pytest.approx(expected, abs=5e-4)
    assert len(model.packed) < 0.5e6
