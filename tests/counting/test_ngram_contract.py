"""N-grams keep the contract, planted faults break it, and no model beats the entropy of its source but a leak."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.contract import ContractError, check_all, check_causal, check_normalized, check_views_agree
from course_lib.counting import MarkovChain, NGram
from course_lib.counting.counts import distinct
from tests.support.text import SCHEMES, some_text


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_contract_with_bos(scheme, order):
    model = NGram(n=order + 1, vocab_size=3, bos_id=1, smoothing=scheme, **SCHEMES[scheme]).fit_counts([0, 2, 2, 0, 2, 0, 0, 2])
    assert "causal, normalised (sum of p over 243 states = 1.000000)" in str(check_all(model, length=5))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contract_after_a_prompt(scheme):
    model = NGram(n=3, vocab_size=3, bos_id=None, smoothing=scheme, **SCHEMES[scheme]).fit_counts([0, 2, 2, 0, 2, 1, 0, 2])
    check_all(model, length=5, context=torch.tensor([1, 0, 2]))


def test_bos_with_a_prompt_longer_or_shorter_than_the_order():
    model = NGram(n=3, vocab_size=4, bos_id=3).fit_counts([some_text(4, 60, without=3)])
    x = torch.tensor([[1, 0, 2, 1]])
    whole = model.conditionals(x).log_prob(x)
    for cut in (1, 2, 3):
        rest = model.conditionals(x[:, cut:], x[:, :cut]).log_prob(x[:, cut:])
        assert torch.equal(rest, whole[:, cut:])
    check_all(model, length=4, context=torch.tensor([2]))


class ReadsItself(NGram):                                            # histories one place late: they hold x_i
    def _past(self, x, context):
        return torch.cat([super()._past(x, context), x[..., None]], dim=-1)[..., 1:]


class ReadsTooOld(NGram):                                            # one place early: x_{i-1} is never read
    def _past(self, x, context):
        past = super()._past(x, context)
        return torch.cat([past[:, :1], past[:, :-1]], dim=1)


class ReadsTooFew(NGram):                                            # the oldest symbol of the window is lost
    def _past(self, x, context):
        past = super()._past(x, context).clone()
        past[..., 0] = 0
        return past


class Reversed(NGram):                                               # the window read from the wrong end
    def _past(self, x, context):
        return super()._past(x, context).flip(-1)


class KeepsTheOldest(NGram):                                         # sampling: the window never moves
    def update(self, state, x_i):
        return type(state)(torch.cat([state.history, x_i[:, None].long()], dim=1)[:, :-1])


class ForgetsTheOthers(NGram):                                       # sampling: rows are not reordered with the beams
    def select(self, state, rows):
        return state


class LosesMass(NGram):                                              # log_prob: a discount that is given to nobody
    def log_prob(self, x, context=None):
        return super().log_prob(x, context) + math.log(0.9)


class PredictsBos(NGram):                                            # the uniform spread over bos too: more than one
    def log_prob(self, x, context=None):
        return super().log_prob(x.clamp(max=1), context)


@pytest.mark.parametrize("mutant, check, sentence", [
    (ReadsItself, check_causal, "reads x_0"),
    (ReadsTooOld, check_causal, "reads x_|never reads"),
    (ReadsTooFew, check_causal, "never reads"),
    (Reversed, check_views_agree, "the two views differ"),
    (KeepsTheOldest, check_views_agree, "the two views differ"),
    (ForgetsTheOthers, check_views_agree, "the two views differ"),
    (LosesMass, check_normalized, "do not sum to one"),
    (PredictsBos, check_normalized, "do not sum to one"),
])
def test_planted_faults_are_caught(mutant, check, sentence):
    bos_id, prompt = (2, None) if mutant is PredictsBos else (None, torch.tensor([1, 2]))
    sound, model = (made(n=3, vocab_size=3, bos_id=bos_id, smoothing="kneser-ney").fit_counts(some_text(3, 60, without=bos_id))
                    for made in (NGram, mutant))
    check(sound, length=5, context=prompt)
    with pytest.raises(ContractError, match=sentence):
        check(model, length=5, context=prompt)


@pytest.mark.thorough
def test_no_model_beats_the_entropy_of_its_source_but_a_leak():
    """A chain of known entropy: held-out nats approach it from above; a model that reads its target falls below."""
    generator = torch.Generator().manual_seed(3)
    rows = torch.rand(4, 4, generator=generator, dtype=torch.float64) ** 3
    rows, start = rows / rows.sum(1, keepdim=True), torch.full((4,), 0.25, dtype=torch.float64)
    source = MarkovChain.from_probabilities(start, rows)
    entropy = source.entropy_rate().item()
    train, test = source.sample(2, length=4000, generator=generator)
    prompt = train[None, -3:]
    truth = -source.conditionals(test[None], prompt[:, -1:]).log_prob(test)[0].detach()
    error = (truth.std() / len(test) ** 0.5).item()
    assert truth.mean().item() == pytest.approx(entropy, abs=4 * error)

    nats = {}
    for order in (0, 1, 2, 3):
        model = NGram(n=order + 1, vocab_size=4, smoothing="kneser-ney").fit_counts(train)
        nats[order] = -model.log_prob(test[None], prompt).item() / len(test)
        assert nats[order] > entropy - 4 * error
    assert nats[1] == pytest.approx(entropy, abs=4 * error)
    assert nats[0] > nats[1] + 0.1                                   # a symbol of memory is worth something
    assert nats[2] > nats[1] - 1e-3                                  # a second one is not
    leak = ReadsItself(n=2, vocab_size=4, smoothing="kneser-ney").fit_counts(train)
    leak._set(*distinct(torch.stack([train, train], dim=1)))         # trained on its own leak, as a network would be
    assert -leak.log_prob(test[None], prompt).item() / len(test) < 0.01 < entropy
