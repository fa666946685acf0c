"""A masked word by a window, by convolutions, by two recurrent networks: padding, losses, bad input."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from course_lib.words import BiRNNCloze, ConvCloze, TextConv, WindowCloze
from tests.support.random import redrawn
from tests.words.gaps import checks as check

MODELS = {"window": lambda: WindowCloze(5, 3, 2, 4), "pooled": lambda: WindowCloze(5, 3, 2, 4, pooled=True),
          "convolution": lambda: ConvCloze(5, 3, 3, 2), "two RNNs": lambda: BiRNNCloze(5, 3, 4, "lstm")}


def test_pooled_window():
    check.pooling_loses_the_order(WindowCloze)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_padding(make):
    check.reads_no_padding(make())


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_loss_cross_entropy(make):
    model = redrawn(make())
    real = torch.ones_like(check.TEXT, dtype=torch.bool)
    real[1, 2:] = False
    torch.manual_seed(0)
    mean, weight = model.loss((check.TEXT, real))
    nats = F.cross_entropy(model(check.TEXT, real).mT, check.TEXT, reduction="none")
    if isinstance(model, ConvCloze):                                 # one gap a row, drawn
        assert weight == 2
        assert any(torch.isclose(mean, (nats[0, i] + nats[1, j]) / 2) for i in range(5) for j in range(2))
    else:
        assert weight == 7
        torch.testing.assert_close(mean, nats[real].mean())


@pytest.mark.parametrize("call, message", [
    (lambda: WindowCloze(1, 3, 2, 4), "vocab_size is 1; expected at least 2"),
    (lambda: WindowCloze(5, 0, 2, 4), "width is 0; expected at least 1"),
    (lambda: WindowCloze(5, 3, 0, 4), "radius is 0 and hidden is 4; expected at least 1 of each"),
    (lambda: TextConv(3, 4), "kernel is 4; expected an odd number, 2k + 1"),
    (lambda: ConvCloze(5, 3, 3, 0), "depth is 0; expected at least 1"),
    (lambda: WindowCloze(5, 3, 2, 4)(torch.tensor([[1, 5]])),
     "tokens contains 5 at [0, 1]; a categorical variable with 5 values takes 0 to 4"),
    (lambda: WindowCloze(5, 3, 2, 4)(torch.tensor([1, 2])),
     "tokens has shape (2,); expected (B, T) with B and T at least 1"),
    (lambda: BiRNNCloze(5, 3, 4)(torch.tensor([[1, 2]]), torch.tensor([[False, True]])),
     "the mask of tokens has padding before a token; expected padding on the right only"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
