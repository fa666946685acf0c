"""MADE: the slide's masks worked by hand, the equation in loops, its sampler against full passes, shared weights."""
from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
import torch
from scipy.special import expit

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.contract import ContractError, check_all, check_causal
from course_lib.density import FVSBN, MADE, Mixture
from course_lib.density._made_sampling import SortedWeights
from course_lib.density.made import MaskedLinear, draw_degrees, made_masks
from course_lib.density.tabular import all_states
from course_lib.training import fit
from tests.contract.models import CYCLE
from tests.support.random import drawn, rng, rows

FAMILIES = {"binary": Bernoulli(), "softmax": Categorical(4), "levels": DiscretizedLogisticMixture(2, 6),
            "Gaussians": MixtureOfGaussians(2)}
NINE = [4, 2, 7, 0, 8, 1, 6, 3, 5]                                   # not its own inverse
SHAPES = [(), (1,), (12,), (60,), (30, 20), (9, 40, 12)]


# --- masks -----------------------------------------------------------------------------------------------------------


def test_the_slides_ordering_by_hand():
    """x2, x3, x1: x2 depends on nothing, x3 on x2, x1 on both. Degrees of the inputs 3, 1, 2; four units 1, 2, 2, 1."""
    position, degrees = torch.tensor([3, 1, 2]), torch.tensor([1, 2, 2, 1])
    first, second, last = made_masks(position, degrees, torch.tensor([2, 1]))
    assert first.int().tolist() == [[0, 1, 0], [0, 1, 1], [0, 1, 1], [0, 1, 0]]
    assert second.int().tolist() == [[1, 1, 1, 1], [1, 0, 0, 1]]
    assert last.int().tolist() == [[1, 1], [0, 0], [0, 1]]           # x1 reads both units, x2 none, x3 that of degree 1
    model = MADE(3, (30, 30), order=[1, 2, 0])
    assert model.degrees[0].tolist() == [3, 1, 2]
    assert [model.parents(i) for i in range(3)] == [[1, 2], [], [1]]


def test_masks_are_the_inequalities():
    """Entry by entry; and what can be reached through them is what comes before, never more."""
    for seed in range(5):
        degrees = draw_degrees(6, (7, 5), rng(seed))
        position = torch.randperm(6, generator=rng(seed)) + 1
        first, second, last = made_masks(position, *degrees)
        for k, j in itertools.product(range(7), range(6)):
            assert first[k, j] == (degrees[0][k] >= position[j])
        for k, j in itertools.product(range(5), range(7)):
            assert second[k, j] == (degrees[1][k] >= degrees[0][j])
        for k, j in itertools.product(range(6), range(5)):
            assert last[k, j] == (position[k] > degrees[1][j])
        paths = last.long() @ second.long() @ first.long()
        assert not paths[position[:, None] <= position[None, :]].any()


@pytest.mark.parametrize("n, hidden", [(2, (5,)), (6, (400,)), (6, (400, 400)), (784, (50, 50)), (1, (3,))])
def test_degrees_run_from_1_to_n_minus_1(n, hidden):
    seen = torch.cat(draw_degrees(n, hidden, rng()))
    assert seen.min() >= 1 and seen.max() <= max(n - 1, 1)
    if n == 6:
        counts = torch.bincount(draw_degrees(6, (20000,), rng())[0])
        assert set(seen.tolist()) == {1, 2, 3, 4, 5} and (abs(counts[1:] - 4000) < 300).all()


def test_no_unit_is_connected_to_nothing():
    for seed in range(30):
        model = MADE(12, (3, 3, 3), seed=seed)
        assert all((layer.mask != 0).any(dim=1).all() for layer in model.layers[:-1])


def test_no_unit_is_dead_weight():
    """Each unit reaches an output: a unit of degree n would reach none."""
    model = MADE(5, (200, 200))
    for layer in model.layers[1:]:
        assert (layer.mask != 0).any(dim=0).all()


def test_every_parameter_of_a_variable_has_its_mask():
    """Several numbers a variable: side by side at the input and at the output."""
    one, many = MADE(4, (9,), order=[2, 0, 3, 1]), MADE(4, (9,), Categorical(3), [2, 0, 3, 1])
    assert torch.equal(many.layers[0].mask, one.layers[0].mask.repeat_interleave(3, dim=1))
    assert torch.equal(many.layers[-1].mask, one.layers[-1].mask.repeat_interleave(3, dim=0))


@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("order", [None, NINE])
def test_parents_are_the_paths_through_the_masks(hidden, order):
    for seed in range(4):
        model = MADE(9, hidden, order=order, seed=seed)
        reach = torch.eye(9)
        for layer in model.layers:
            reach = ((layer.mask.float() @ reach) > 0).float()
        for i in range(9):
            assert sorted(model.parents(i)) == reach[i].nonzero().flatten().tolist()


def test_masked_weights_are_left_alone_and_get_no_gradient():
    model = drawn(MADE(5, (8, 8), order=CYCLE))
    before = copy.deepcopy(model.state_dict())
    model.log_prob(rows(Bernoulli(), 20, 5)).sum().backward()
    model.sample(3, generator=rng())
    assert all(torch.equal(model.state_dict()[name], t) for name, t in before.items())
    for layer in model.layers:
        hidden = layer.mask == 0
        assert (layer.weight.grad[hidden] == 0).all() and (layer.weight[hidden] != 0).all()


def test_masks_are_buffers():
    model = MADE(5, (8,), order=CYCLE, seed=3)
    names = {name for name, _ in model.named_buffers()}
    assert names == {"order", "degrees_1", "layers.0.mask", "layers.1.mask"} <= set(model.state_dict())
    other = MADE(5, (8,))
    other.load_state_dict(model.state_dict())
    x = all_states(5)
    assert torch.equal(other.log_prob(x), model.log_prob(x)) and other.parents(0) == model.parents(0)
    assert torch.equal(other.sample(20, generator=rng()), model.sample(20, generator=rng()))


# --- the equation ----------------------------------------------------------------------------------------------------


def by_numpy(model, x):
    """Logits (B, n), a unit at a time, each summing over what its degree allows."""
    position = {i: k + 1 for k, i in enumerate(model.order.tolist())}
    degrees = [[position[i] for i in range(model.n)], *(d.tolist() for d in model.degrees[1:])]
    out = np.zeros((len(x), model.n))
    for r, row in enumerate(x):
        h = list(row)
        for depth, layer in enumerate(model.layers):
            last, W, b = depth == len(model.layers) - 1, layer.weight.detach().numpy(), layer.bias.detach().numpy()
            upper = degrees[0] if last else degrees[depth + 1]
            new = []
            for k, m in enumerate(upper):
                a = b[k] + sum(W[k, j] * h[j] for j in range(len(h))
                               if (m > degrees[depth][j] if last else m >= degrees[depth][j]))
                new.append(a if last else max(a, 0.0))
            h = new
        out[r] = h
    return out


@pytest.mark.parametrize("order", [None, CYCLE])
@pytest.mark.parametrize("hidden", [(), (7,), (9, 6)])
def test_log_prob_is_the_equation(hidden, order):
    model, x = drawn(MADE(5, hidden, order=order, seed=2)), rows(Bernoulli(), 20, 5)
    p = expit(by_numpy(model, x.numpy()))
    want = np.where(x.numpy() == 1, np.log(p), np.log(1 - p)).sum(1)
    np.testing.assert_allclose(model.log_prob(x).detach().numpy(), want, rtol=1e-12)


def test_the_gradient_is_that_of_differences():
    model, x = drawn(MADE(4, (6,), order=[2, 0, 3, 1])), rows(Bernoulli(), 10, 4)
    model.log_prob(x).sum().backward()
    for p in model.parameters():
        flat, grad = p.data.view(-1), p.grad.view(-1)
        for j in range(0, len(flat), 3):
            old = flat[j].item()
            totals = []
            for step in (1e-6, -1e-6):
                flat[j] = old + step
                q = expit(by_numpy(model, x.numpy()))
                totals.append(np.where(x.numpy() == 1, np.log(q), np.log(1 - q)).sum())
            flat[j] = old
            assert grad[j].item() == pytest.approx((totals[0] - totals[1]) / 2e-6, abs=1e-6)


def test_without_hidden_layers_it_is_an_fvsbn():
    made, fvsbn, x = drawn(MADE(5, (), order=CYCLE)), FVSBN(5, CYCLE).double(), all_states(5)
    with torch.no_grad():
        fvsbn.weight.copy_(made.layers[0].weight)
        fvsbn.bias.copy_(made.layers[0].bias)
    torch.testing.assert_close(made.log_prob(x), fvsbn.log_prob(x))
    assert torch.equal(made.sample(200, generator=rng()), fvsbn.sample(200, generator=rng()))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_families(name):
    """Column i reads what came before it and nothing else, whatever the numbers a variable takes."""
    line = str(check_causal(MADE(4, (40, 30), FAMILIES[name], [2, 0, 3, 1])))
    assert line == "causal"


def test_a_leak_is_caught():
    model = MADE(5, (30,))
    model.layers[-1].mask.copy_(model.degrees[0][:, None] >= model.degrees[1])           # not strict at the output
    with pytest.raises(ContractError, match="factor 0 reads x_0, which is the variable that it predicts"):
        check_all(model)


def test_lost_information_is_caught():
    model = MADE(5, (30, 30))
    model.layers[1].mask.copy_(model.degrees[2][:, None] > model.degrees[1])             # strict between hidden layers
    with pytest.raises(ContractError, match="information is lost"):
        check_all(model)


# --- sampling: each unit once, when its degree is reached ------------------------------------------------------------


def as_rerun(model):
    class Rerun(MADE):
        start, predict, update = AutoregressiveModel.start, AutoregressiveModel.predict, AutoregressiveModel.update
        draw_all = AutoregressiveModel.draw_all
    twin = copy.copy(model)
    twin.__class__ = Rerun
    return twin


def as_loop(model):
    class Loop(MADE):
        draw_all = AutoregressiveModel.draw_all
    twin = copy.copy(model)
    twin.__class__ = Loop
    return twin


@pytest.mark.parametrize("order", [None, NINE])
@pytest.mark.parametrize("hidden", SHAPES)
@pytest.mark.parametrize("name", FAMILIES)
def test_sample_draws_what_full_passes_draw(name, hidden, order):
    family = FAMILIES[name]
    model = drawn(MADE(9, hidden, family, order, seed=1))
    given = model.check_input(rows(family, 60, 9, seed=1))
    known = torch.rand(60, 9, generator=rng(2)) < 0.4
    for g, k in ((None, None), (given, known)):
        full = as_rerun(model).sample(60, g, k, generator=rng(3))
        for other in (model, as_loop(model)):
            torch.testing.assert_close(other.sample(60, g, k, generator=rng(3)), full, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("hidden", SHAPES)
def test_each_unit_is_computed_once_when_its_degree_is_reached(hidden, monkeypatch):
    """The multiplications of a whole sample are those that the masks leave of one forward pass, at any depth."""
    model = drawn(MADE(9, hidden, order=NINE, seed=1))
    multiplied, rows = [], []
    real = torch.addmm

    def counting(bias, weight, below, **out):
        multiplied.append(weight.numel())
        rows.append(len(weight))
        return real(bias, weight, below, **out)

    monkeypatch.setattr("course_lib.density.made.torch.addmm", counting)
    allowed = sum(int(layer.mask.sum()) for layer in model.layers)
    as_loop(model).sample(4, generator=rng())
    assert sum(multiplied) == allowed and sum(rows) == sum(hidden) + 9
    steps = len(rows)
    multiplied.clear(), rows.clear()
    model.sample(4, generator=rng())                                 # as many units, in no more steps
    assert sum(rows) == sum(hidden) + 9 and len(rows) <= steps
    assert sum(multiplied) == allowed if len(hidden) < 2 else \
        sum(multiplied) <= sum(layer.mask.numel() for layer in model.layers)


def test_variables_that_read_the_same_units_are_drawn_together():
    model = MADE(9, (3,), seed=0)
    with torch.no_grad():
        model.set_degrees([torch.tensor([7, 3, 3])])
    assert SortedWeights(model).steps() == [0, 3, 7, 9]                   # a step up at the degrees 3 and 7, and the end


def test_the_hidden_units_along_the_path_are_those_of_the_full_pass():
    model, x = drawn(MADE(6, (20, 20), order=[3, 0, 5, 1, 4, 2])), rows(Bernoulli(), 4, 6).double()
    state = model.start(4)
    for i in model.order.tolist():
        state = model.update(state, x[:, i])
    h = x
    for layer, degrees, incremental in zip(model.layers, model.degrees[1:], state.layers[1:]):
        h = torch.relu(layer(h))
        torch.testing.assert_close(incremental, h[:, degrees.argsort(stable=True)])
    torch.testing.assert_close(state.layers[0], x[:, model.order])


def test_weights_that_are_nan_are_not_sampled_from():
    model = MADE(3, (9,))
    with torch.no_grad():
        model.layers[-1].bias[1] = math.nan
    with pytest.raises(ValueError, match="the model's probabilities are NaN: its parameters have diverged"):
        model.sample(4)


# --- one set of weights, many masks ----------------------------------------------------------------------------------


def test_remasked_shares_the_weights_and_nothing_else():
    made = MADE(6, (40, 30), order=[3, 0, 5, 1, 4, 2]).double()
    other = made.remasked(5)
    assert all(p is q for p, q in zip(made.parameters(), other.parameters())) and len(list(other.parameters())) == 6
    assert not torch.equal(made.order, other.order)
    assert all(not torch.equal(a, b) for a, b in zip(made.degrees, other.degrees))
    assert all(a.data_ptr() != b.data_ptr() for a, b in zip(made.buffers(), other.buffers()))
    again = made.remasked(5)
    assert all(torch.equal(a, b) for a, b in zip(again.buffers(), other.buffers()))
    assert not torch.equal(made.remasked(6).order, other.order)
    with torch.no_grad():
        made.layers[0].weight.add_(1)
    assert torch.equal(other.layers[0].weight, made.layers[0].weight)
    twin = MADE(**other.config).double()                             # its config says which masks these are
    assert all(torch.equal(a, b) for a, b in zip(twin.buffers(), other.buffers()))
    assert made.remasked(5, order=[0, 1, 2, 3, 4, 5]).order.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="order is"):
        made.remasked(5, order=[0, 1])


def test_remasked_keeps_dtype_mode_and_families():
    other = MADE(3, (9,), Categorical(4)).double().eval().remasked(1)
    assert not other.training and other.layers[0].weight.dtype == torch.float64
    assert other.conditional.num_values == 4 and str(check_all(other)).startswith("causal")


def masks_of(made, number):
    return Mixture([made.remasked(seed) for seed in range(number)])


def test_a_mixture_of_masks_has_one_set_of_weights():
    made = MADE(5, (24,))
    mixture = masks_of(made, 4)
    assert sum(p.numel() for p in mixture.parameters()) == sum(p.numel() for p in made.parameters())
    assert len({tuple(m.order.tolist()) for m in mixture.models}) > 1
    assert "4 components keep the contract, normalised (sum of p over 32 states = 1.000000)" in str(check_all(mixture))
    kept = copy.deepcopy(mixture)                                    # a copy shares among itself
    assert len(list(kept.parameters())) == 4 and kept.models[0].layers[0].weight is kept.models[3].layers[0].weight
    assert len(list(mixture.double().parameters())) == 4


def test_training_draws_one_mask_a_batch():
    """Each step's gradient is that of one component; all of them move the same weights."""
    torch.manual_seed(0)
    mixture, x = masks_of(MADE(4, (20,)).double(), 3), rows(Bernoulli(), 16, 4)
    single = []
    for m in mixture.models:
        single.append(torch.autograd.grad(-m.log_prob(x).mean(), list(m.parameters())))
    seen = set()
    for _ in range(40):
        got = torch.autograd.grad(mixture.loss(x), list(mixture.parameters()))
        matches = [k for k, want in enumerate(single) if all(torch.allclose(a, b) for a, b in zip(got, want))]
        assert len(matches) == 1
        seen.add(matches[0])
    assert seen == {0, 1, 2}


@pytest.mark.thorough
def test_masks_trained_together_learn_and_stay_above_the_entropy():
    torch.manual_seed(0)
    x = all_states(3)[[0, 3, 5, 6]].repeat(50, 1)                    # x_3 = x_1 xor x_2: 2 ln 2 nats
    mixture = masks_of(MADE(3, (40, 40)), 4)
    history = fit(mixture, x, x[:50], epochs=40, batch_size=20, lr=0.01, progress=False)
    assert 2 * math.log(2) - 1e-4 <= history.valid[-1] < 2 * math.log(2) + 0.1
    for model in mixture.models:
        assert 2 * math.log(2) - 1e-4 <= -model.log_prob(x).mean() < 2 * math.log(2) + 0.2


def test_averaged_logits_of_orders_are_no_likelihood():
    """Their product over variables sums to more or less than one; the mixture's sum is one."""
    mixture, x = drawn(masks_of(MADE(4, (30,)), 3)), all_states(4)
    with torch.no_grad():
        for p in mixture.parameters():
            p.mul_(3)
    logits = torch.stack([m.conditionals(x).logits for m in mixture.models]).mean(0)
    averaged = Bernoulli()(logits).log_prob(x.double()).sum(1).exp().sum().item()
    assert abs(averaged - 1) > 0.01
    assert mixture.log_prob(x).exp().sum().item() == pytest.approx(1, abs=1e-12)


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_it_starts_from_the_columns_of_the_data(name):
    family = FAMILIES[name]
    x = rows(family, 500, 4, seed=1)
    x = 30 + 5 * x if family.num_values is None else x.clamp(max=1)
    model = MADE(4, (12,), family, [2, 0, 3, 1]).double()
    before = model.log_prob(x).mean()
    assert model.initialize(x) is model and model.log_prob(x).mean() > before
    want = family.marginal(model.check_input(x)).flatten()
    torch.testing.assert_close(model.layers[-1].bias.detach(), want.to(torch.float64), rtol=1e-6, atol=1e-6)


def test_a_number_is_one_hidden_layer():
    assert MADE(4, 7).config["hidden"] == [7] and len(MADE(4, 7).layers) == 2


def test_seeds_give_masks_and_nothing_else():
    """The degrees hang on the seed alone; the weights on torch's generator."""
    torch.manual_seed(1)
    first = MADE(6, (20,), seed=4)
    torch.manual_seed(2)
    second = MADE(6, (20,), seed=4)
    assert torch.equal(first.degrees[1], second.degrees[1])
    assert not torch.equal(first.layers[0].weight, second.layers[0].weight)
    assert not torch.equal(first.degrees[1], MADE(6, (20,), seed=5).degrees[1])


@pytest.mark.parametrize("name", FAMILIES)
def test_the_config_builds_the_same_model(name):
    model = drawn(MADE(4, (9, 8), FAMILIES[name], [2, 0, 3, 1], seed=7))
    twin = MADE(**model.config).double()
    twin.load_state_dict(model.state_dict())
    x = rows(FAMILIES[name], 6, 4)
    torch.testing.assert_close(twin.log_prob(x), model.log_prob(x), rtol=0, atol=0)


@pytest.mark.parametrize("call, message", [
    (lambda: MADE(3, 0), r"hidden is \(0,\); a hidden layer needs at least one unit"),
    (lambda: MADE(3, (4, 0)), r"hidden is \(4, 0\); a hidden layer needs at least one unit"),
    (lambda: MADE(0), "n is 0; a model needs at least one variable"),
    (lambda: MADE(3, (4,), order=[1, 2, 3]), r"order is \[1, 2, 3\]; expected a permutation of 0..2"),
    (lambda: MADE(3, (4,)).log_prob(torch.full((2, 3), 2)), "x holds 2 at"),
    (lambda: MADE(3, (4,)).log_prob(torch.zeros(2, 3), torch.zeros(2, 1)), "context was given; MADE models x alone"),
    (lambda: MADE(3, (4,)).start(2, torch.zeros(2, 1)), "context was given; MADE models x alone"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_masked_layer_alone():
    layer = MaskedLinear(3, 2).double()
    layer.mask.copy_(torch.tensor([[1, 0, 1], [0, 0, 0]]))
    x = torch.tensor([[1.0, 1e9, 2.0]]).double()
    want = layer.bias + torch.stack([layer.weight[0, 0] + 2 * layer.weight[0, 2], torch.tensor(0.0).double()])
    torch.testing.assert_close(layer(x)[0], want)


@pytest.mark.gpu
@pytest.mark.parametrize("name", FAMILIES)
def test_on_a_gpu(name):
    model = drawn(MADE(9, (20, 20), FAMILIES[name], NINE))
    x = rows(FAMILIES[name], 12, 9)
    want = model.log_prob(x).detach()
    model = model.cuda()
    torch.testing.assert_close(model.log_prob(x.cuda()).cpu().detach(), want, rtol=1e-9, atol=1e-9)
    assert model.remasked(1).sample(5).device.type == "cuda"
