"""Markov's chain: his own figures, counting as maximum likelihood, the contract."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.contract import check_all
from course_lib.counting import MarkovChain
from course_lib.tokenizers import vowels
from tests.support.text import some_text


def test_fit_counts_markov_1913():
    """20,000 letters of Eugene Onegin: 8,638 vowels, 1,104 of them after one. Markov printed 0.432, 0.128, 0.663."""
    pairs = [(1, 1)] * 1104 + [(1, 0)] * (8638 - 1104) + [(0, 1)] * (8638 - 1104) + [(0, 0)] * (11362 - 7534)
    chain = MarkovChain(2).double().fit_counts(torch.tensor(pairs))  # each pair a sequence of its own
    assert chain.transition[1, 1].item() == pytest.approx(0.128, abs=5e-4)
    assert chain.transition[0, 1].item() == pytest.approx(0.663, abs=5e-4)
    assert chain.stationary()[1].item() == pytest.approx(0.432, abs=5e-4)
    independent = -(0.432 * math.log(0.432) + 0.568 * math.log(0.568))
    assert chain.entropy_rate().item() < independent - 0.1           # the letter before is worth something


def test_vowels():
    assert vowels("The sea, 1913!").tolist() == [0, 0, 1, 0, 1, 1]
    assert vowels("Why").tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="text is '1913 !'; expected at least one of the letters a to"):
        vowels("1913 !")


def test_contract():
    chain = MarkovChain(3).fit_counts(some_text(3, 40))
    assert chain.parents(0) == [] and chain.parents(4) == [3]
    check_all(chain, length=5)
    check_all(chain, length=4, context=torch.tensor([2, 1]))


def test_stationary_and_entropy_rate():
    generator = torch.Generator().manual_seed(0)
    rows = torch.rand(6, 6, generator=generator, dtype=torch.float64) ** 2
    chain = MarkovChain.from_probabilities(torch.ones(6, dtype=torch.float64) / 6, rows / rows.sum(1, keepdim=True))
    far = torch.linalg.matrix_power(chain.transition.detach(), 200)  # every row tends to it
    assert torch.allclose(far[0], chain.stationary(), atol=1e-12) and torch.allclose(far[5], chain.stationary())
    entropy = torch.distributions.Categorical(chain.transition.detach()).entropy()
    assert chain.entropy_rate().item() == pytest.approx((far[0] * entropy).sum().item())
    fair = MarkovChain(4)
    assert fair.entropy_rate().item() == pytest.approx(math.log(4)) and fair.stationary().tolist() == [0.25] * 4
    weather = torch.tensor([[0.9, 0.1], [0.4, 0.6]])                 # 0.1 / (0.1 + 0.4)
    assert MarkovChain.from_probabilities(weather[0], weather).stationary().tolist() == pytest.approx([0.8, 0.2])


def test_stationary_cycle_and_absorbing():
    cycle = MarkovChain.from_probabilities(torch.tensor([1.0, 0, 0]), torch.eye(3).roll(1, dims=1))
    assert cycle.stationary().tolist() == pytest.approx([1 / 3] * 3)
    assert cycle.entropy_rate().item() == pytest.approx(0, abs=1e-12)
    apart = MarkovChain.from_probabilities(torch.tensor([0.5, 0.5]), torch.eye(2))
    with pytest.raises(ValueError, match="transition has several closed classes .*; expected one, so"):
        apart.stationary()


@pytest.mark.parametrize("act, message", [
    (lambda: MarkovChain(1), "k is 1"),
    (lambda: MarkovChain(2).fit_counts([0, 2]), "tokens contains 2; expected 0 to 1, the ids of this vocabulary"),
    (lambda: MarkovChain(2).fit_counts([0, 1], alpha=-1.0), "alpha is -1.0"),
    (lambda: MarkovChain(2).log_prob(torch.tensor([[0]]), torch.zeros(1, 0, dtype=torch.long)), "context has 0 symbols; expected at least 1"),
    (lambda: MarkovChain(2).sample(2), "length is None"),
    (lambda: MarkovChain.from_probabilities(torch.tensor([0.5, 0.4]), torch.eye(2)), "initial has the minimum 0.4"),
    (lambda: MarkovChain.from_probabilities(torch.tensor([0.5, 0.5]), torch.eye(2) * 2), "transition has the minimum"),
])
def test_bad_input(act, message):
    with pytest.raises(ValueError, match=message):
        act()
