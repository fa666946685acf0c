"""N-grams keep the contract under every smoothing, with a start symbol and after a prompt."""
from __future__ import annotations

import pytest
import torch

from course_lib.contract import check_all
from course_lib.counting import NGram
from tests.support.text import SCHEMES


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_contract_with_bos(scheme, order):
    model = NGram(n=order + 1, vocab_size=3, bos_id=1, smoothing=scheme, **SCHEMES[scheme]).fit_counts([0, 2, 2, 0, 2, 0, 0, 2])
    assert "causal, normalized (sum of p over 243 states = 1.000000)" in str(check_all(model, length=5))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contract_with_prompt(scheme):
    model = NGram(n=3, vocab_size=3, bos_id=None, smoothing=scheme, **SCHEMES[scheme]).fit_counts([0, 2, 2, 0, 2, 1, 0, 2])
    check_all(model, length=5, context=torch.tensor([1, 0, 2]))
