"""The contract: it holds for every correct model, finds small faults, names them, and leaves the model alone."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.contract import (
    ContractError,
    TooLarge,
    check_all,
    check_causal,
    check_normalized,
    check_samples,
    check_views_agree,
)
from course_lib.density import FVSBN, Mixture
from tests.contract.models import CONDITIONED, MODELS, SEQUENCES, AnyLength, Linear
from tests.support.random import rng

CONTEXT = torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.1, -0.4]])


# --- every correct model keeps it ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_contract_holds(name):
    line = str(check_all(MODELS[name]()))
    assert "components satisfy the contract" in line if "mixture" in name else line.startswith("causal, ")
    assert ("sum not computed (model has 4 continuous" if "four" in name else "= 1.000") in line
    assert "samples fit (chi-square" in line


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CONDITIONED)
def test_contract_holds_with_context(name, dtype):
    line = str(check_all(CONDITIONED[name]().to(dtype), context=CONTEXT.to(dtype)))
    assert line.startswith("causal, normalized (")
    assert str(check_samples(CONDITIONED[name]().to(dtype), context=CONTEXT[0].to(dtype))) in line


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("name", SEQUENCES)
def test_contract_holds_for_sequences(name, length):
    assert "samples fit" in str(check_all(SEQUENCES[name](), length=length))


@pytest.mark.gpu
@pytest.mark.parametrize("name", MODELS)
def test_contract_holds_on_gpu(name):
    assert "samples fit" in str(check_all(MODELS[name]().cuda()))


def test_result_line_and_values():
    result = check_all(FVSBN(9))
    assert str(result).startswith("causal, normalized (sum of p over 512 states = 1.000000), "
                                  "both views agree within 1e-12, samples fit (chi-square ")
    assert repr(result) == str(result)
    assert torch.equal(result.values["reacts"], torch.ones(9, 9).tril(-1).bool())
    assert result.values["states"] == 512 and abs(result.values["sum"] - 1) < 1e-12
    assert result.values["difference"] < 1e-12
    assert f"chi-square {result.values['chi_square']:.0f} on {result.values['freedom']})" in str(result)


def test_check_all_large_model():
    line = str(check_all(FVSBN(17)))
    assert line == ("causal, sum not computed (model has 2^17 states; expected at most 65536), "
                    "both views agree within 1e-12, "
                    "samples not tested (model has 2^17 states; expected at most 65536)")
    with pytest.raises(TooLarge, match=r"model has 2\^17 states; expected at most 65536"):
        check_normalized(FVSBN(17))


def test_check_all_vocabulary():
    line = str(check_all(Linear(2, Categorical(70))))
    assert "normalized (sum of p over 4900 states = 1.000000)" in line and "samples fit" in line


# --- the model is left alone -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FVSBN in an order", "table", "mixture of orders", "Gaussians, two variables"])
def test_check_all_leaves_model(name):
    model = MODELS[name]()
    model.randomize(rng(3))
    first = next(model.children(), model)
    model.train()
    first.eval()
    modes = [m.training for m in model.modules()]
    before = {k: v.clone() for k, v in model.state_dict().items()}
    ids = [id(p) for p in model.parameters()]
    torch.manual_seed(11)
    before_any_draw = torch.get_rng_state()
    check_all(model)
    assert torch.equal(torch.get_rng_state(), before_any_draw), "a check drew from the global generator"
    assert [m.training for m in model.modules()] == modes
    after = model.state_dict()
    assert before.keys() == after.keys()
    assert all(before[k].dtype == after[k].dtype and torch.equal(before[k], after[k]) for k in before)
    assert [id(p) for p in model.parameters()] == ids
    assert all(p.grad is None and p.requires_grad for p in model.parameters())


# --- faults are found and named --------------------------------------------------------------------------------------


class Edited(FVSBN):
    """An FVSBN whose mask has entries added and removed."""

    def __init__(self, n, add=(), drop=(), order=None):
        super().__init__(n, order)
        for i, j in add:
            self.earlier[i, j] = 1
        for i, j in drop:
            self.earlier[i, j] = 0


@pytest.mark.parametrize("model, sentence", [
    (Edited(4, add=[(3, 3)]),
     "factor 3 depends on x_3, which is the variable that it predicts: its distribution changes when x_3 does"),
    (Edited(4, add=[(1, 2)]), "factor 1 depends on x_2, which is sampled later: its distribution changes when x_2 does"),
    (Edited(4, drop=[(3, 1)]), "factor 3 does not depend on x_1, which is one of its parents: information is lost"),
])
def test_error_factor_and_input(model, sentence):
    with pytest.raises(ContractError) as error:
        check_all(model)
    assert str(error.value) == sentence


def test_error_dropped_parent():
    class Dropped(FVSBN):
        def parents(self, i):
            return [j for j in super().parents(i) if (i, j) != (2, 0)]

    with pytest.raises(ContractError) as error:
        check_causal(Dropped(4))
    assert str(error.value) == "factor 2 depends on x_0, which is not one of its parents: its distribution changes when " \
                               "x_0 does"


def test_error_continuous_variable():
    model = Linear(3, MixtureOfGaussians(2))
    model.earlier[1, 2] = True
    with pytest.raises(ContractError) as error:
        check_causal(model)
    assert str(error.value) == "factor 1 depends on x_2, which is sampled later: its Jacobian changes when x_2 does"


def test_error_sum():
    class Double(FVSBN):
        def log_prob(self, x, context=None):
            return super().log_prob(x, context) + math.log(2)

    class Wide(Linear):
        def log_prob(self, x, context=None):
            return super().log_prob(x, context) + math.log(1.5)

    with pytest.raises(ContractError) as error:
        check_normalized(Double(4))
    assert str(error.value) == "probabilities do not sum to one: the sum of p over 16 states is 2.000000"
    with pytest.raises(ContractError, match="to one: the integral over 2 continuous variables is 1.50"):
        check_normalized(Wide(2, MixtureOfGaussians(2)))
    with pytest.raises(ContractError, match="^log_prob is not the sum of the factors' log-prob.*: it differs by 0.69$"):
        check_views_agree(Double(4))


def test_error_component():
    with pytest.raises(ContractError, match="^component 1: factor 0 depends on x_0, which is the variable that"):
        check_all(Mixture([FVSBN(3), Edited(3, add=[(0, 0)])]))


def test_check_normalized_nan():
    model = FVSBN(3)
    with torch.no_grad():
        model.bias[1] = float("nan")
    with pytest.raises(ContractError, match="probabilities do not sum to one: the sum of p over 8 states is nan"):
        check_normalized(model)
    with pytest.raises((ContractError, ValueError)):
        check_views_agree(model)


def leaky(size, i=2, j=3, when=None, family=None):
    """A model whose factor i reads x_j with a given weight, only where another variable has a value."""
    class Leaky(Linear):
        def raw(self, x, context=None):
            a = super().raw(x, context)
            leak = torch.zeros_like(a)
            amount = size * x[:, j].to(a.dtype)
            if when is not None:
                amount = amount * (x[:, when[0]] == when[1])
            leak[:, i] = amount.reshape(-1, *[1] * (a.dim() - 2))
            if family is not None and family.num_values is None:
                leak[..., 0, :] = 0                                  # the same shift of all logits is none
            elif family is not None and a.dim() > 2:
                leak[..., 1:] = 0
            return a + leak
    return Leaky(5, family)


@pytest.mark.parametrize("family", [None, Categorical(3), MixtureOfGaussians(2), DiscretizedLogisticMixture(2, 4)],
                         ids=str)
def test_check_causal_small_leak(family):
    for seed in range(20):
        with pytest.raises(ContractError, match="factor 2 depends on x_3, which is sampled later"):
            check_causal(leaky(1e-3, family=family), seed=seed)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["FVSBN in an order", "table", "table, logistic, network", "mixture of orders",
                                  "categorical", "Gaussians, one variable", "Gaussians, four variables"])
def test_no_false_alarm(name):
    for seed in range(12):
        check_all(MODELS[name](), seed=seed)


def test_check_normalized_narrow_density():
    narrow = Linear(1, MixtureOfGaussians(2))
    with torch.no_grad():
        narrow.bias.copy_(torch.tensor([[0.0, 0.0, -3.0, 3.0, -4.0, -4.0]]))     # two spikes of width 0.02
    assert "integral over 1 continuous variable = 1.000" in str(check_all(narrow))
    follows = Linear(2, MixtureOfGaussians(1))
    with torch.no_grad():
        follows.weight[1, 1, 0] = 1.0                                # x_1 is x_0, give or take 0.001
        follows.bias[1, 2] = -20.0
    assert "sum not computed (the density is too narrow for the grid" in str(check_all(follows))


@pytest.mark.parametrize("weights", [(0.52, 0.48), (0.5, 0.5)])
def test_check_samples_continuous_mixture(weights):
    class Uneven(Mixture):
        def sample(self, num, *args, **kwargs):
            return super().sample(num, *args, **kwargs) * (1 if weights[0] == 0.5 else 1.1)

    model = Uneven([Linear(2, MixtureOfGaussians(2)), Linear(2, MixtureOfGaussians(2), order=[1, 0])])
    if weights[0] == 0.5:
        check_samples(model)
    else:
        with pytest.raises(ContractError, match="samples do not follow"):
            check_samples(model)


def test_checks_refuse_mixture():
    for check in (check_causal, check_views_agree):
        with pytest.raises(TypeError, match="Mixture has no conditionals; this check is for its components"):
            check(Mixture([FVSBN(2)]))


def test_lengths():
    for check in (check_all, check_causal, check_normalized, check_views_agree, check_samples):
        for length in (None, 0, -1):
            with pytest.raises(ValueError, match=f"length is {length}; expected at least 1, because AnyLength has no fixed number of variables"):
                check(AnyLength(), length=length)
        with pytest.raises(ValueError, match="length is 4; expected 3, the number of variables"):
            check(FVSBN(3), length=4)
        check(FVSBN(3), length=3)
