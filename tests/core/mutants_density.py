"""Faults planted in NADE, MADE and mixtures of masks, and the checks that must catch them."""
from __future__ import annotations

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical, MixtureOfGaussians
from course_lib.density import MADE, NADE, Mixture
from course_lib.density.made import MaskedLinear
from course_lib.density.made_sampling import ByDegree
from course_lib.density.nade import BLOCK, RunningSum, State
from tests.core import mutant_checks as check
from tests.core.models import CYCLE, drawn
from tests.core.mutants import Mutant, gradient_is_finite

DENSITY: list[Mutant] = []


def mutant(trap, right, caught_by, error=AssertionError):
    def register(broken):
        DENSITY.append(Mutant(broken.__name__.replace("_", " "), trap, broken, right, caught_by, error))
        return broken
    return register


def nade():
    return NADE(5, 6, order=CYCLE)


def made():
    return MADE(5, (24,), order=CYCLE)


def deep():
    return MADE(5, (30, 30), order=CYCLE)


def masks(number=3, kind=Mixture):
    one = MADE(4, (20,))
    return kind([one.remasked(seed) for seed in range(number)])


# --- checks of this file ---------------------------------------------------------------------------------------------


def is_the_slide(model):
    """log_prob of a NADE is that of its formula, each hidden layer from nothing."""
    model = drawn(model)
    x = check.all_states(model.n)
    want = model.from_scratch(x).log_prob(x.double()).sum(1)
    torch.testing.assert_close(model.log_prob(x), want)


def has_the_slides_gradient(model):
    """Sums of very different size among them: what is rounded away in the forward pass is not there in the backward."""
    model = drawn(model)
    x = torch.ones(2, model.n).double()
    with torch.no_grad():
        model.W[::3] += 1e16
        model.W[1::3] -= 1e16
    ours, want = (torch.autograd.grad(form(x).log_prob(x).sum(), list(model.parameters()))
                  for form in (model.conditionals, model.one_by_one))
    for a, b in zip(ours, want):
        torch.testing.assert_close(a, b)


def every_unit_matters(model):
    """Each hidden unit is connected to something below and to something above."""
    for below, above in zip(model.layers, model.layers[1:]):
        assert (below.mask != 0).any(dim=1).all() and (above.mask != 0).any(dim=0).all()


def masks_travel(make):
    """The state dict carries the masks: another model takes them over."""
    model, other = drawn(make(3)), make(0).double()
    other.load_state_dict(model.state_dict())
    x = check.all_states(5)
    torch.testing.assert_close(other.log_prob(x), model.log_prob(x))


def shares_the_weights(mixture):
    assert sum(p.numel() for p in mixture.parameters()) == sum(p.numel() for p in mixture.models[0].parameters())


def trains_every_mask(mixture):
    """Forty batches: each loss is one component's, and each component's turn comes."""
    x = check.all_states(4)
    each = {round(-m.log_prob(x).mean().item(), 6) for m in mixture.models}
    torch.manual_seed(0)
    assert {round(mixture.loss(x).item(), 6) for _ in range(40)} == each and len(each) == len(mixture.models)


def draws_what_the_plain_loop_draws(model):
    """The fast sampler against predict, draw and update on the same uniforms, with holes too."""
    model = drawn(model)
    given = torch.randint(2, (200, model.n), generator=check.rng(1)).double()
    known = torch.rand(200, model.n, generator=check.rng(2)) < 0.4
    u = check.uniforms(200, model.n, 1, check.rng(3), "cpu")
    with torch.no_grad():
        for g, k in ((None, None), (given, known)):
            plain = AutoregressiveModel._ancestral(model, u, g, k, None)
            assert torch.equal(model._ancestral(u, g, k, None), plain)


def follows_its_weights(model):
    """Sampling after training uses the weights that were trained."""
    model = drawn(model)
    model.sample(2, generator=check.rng())
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        (model.b if isinstance(model, NADE) else model.layers[-1].bias).fill_(60.0)
    assert model.sample(50, generator=check.rng()).min() == 1


def means_lie_over_the_data(model):
    x = torch.linspace(200, 300, 101, dtype=torch.float64)[:, None].expand(-1, model.n)
    loc = model.double().initialise(x).conditionals(x[:1]).component_distribution.loc
    assert loc.min() < 230 and loc.max() > 270 and ((loc > 200) & (loc < 300)).all()


# --- masks and degrees -----------------------------------------------------------------------------------------------


@mutant("the output connected to units of its own degree: the inequality is not strict there", made, check.check_causal)
def made_output_not_strict():
    model = made()
    model.layers[-1].mask.copy_(model.degrees[0][:, None] >= model.degrees[-1])
    return model


@mutant("a strict inequality between hidden layers too: the variable just before is lost", deep, check.check_causal)
def made_strict_everywhere():
    model = deep()
    model.layers[1].mask.copy_(model.degrees[2][:, None] > model.degrees[1])
    return model


@mutant("a strict inequality at the input: a unit of degree m reads m - 1 variables", made, check.check_causal)
def made_strict_at_the_input():
    model = made()
    model.layers[0].mask.copy_(model.degrees[1][:, None] > model.degrees[0])
    return model


@mutant("degrees up to n: units that no output may read are dead weight", made, every_unit_matters)
def made_degrees_up_to_n():
    model = made()
    model._connect([torch.randint(1, 6, (24,), generator=check.rng())])
    return model


@mutant("degrees from 0: units that are connected to no input", made, every_unit_matters)
def made_degrees_from_zero():
    model = made()
    model._connect([torch.randint(0, 5, (24,), generator=check.rng())])
    return model


@mutant("MADE's masks made from the order where positions belong", made, check.check_causal)
def made_order_as_position():
    class Inverse(MADE):
        @property
        def degrees(self):
            return [self.order + 1, self.degrees_1]

        def parents(self, i):
            return AutoregressiveModel.parents(self, i)
    return Inverse(5, (24,), order=CYCLE)


@mutant("remasked takes new masks and keeps the order of the old ones", lambda: made().remasked(1), check.check_causal)
def remasked_keeps_the_order():
    model = made().remasked(1)
    model.order.copy_(torch.tensor(CYCLE))
    return model


@mutant("masks of several raw parameters laid in blocks, where the parameters lie side by side",
        lambda: MADE(3, (30,), Categorical(4)), check.check_causal)
def made_masks_chunked():
    model = MADE(3, (30,), Categorical(4))
    once = model.degrees[0][:, None] > model.degrees[1]
    model.layers[-1].mask.copy_(once.repeat(4, 1))
    return model


@mutant("one-hot inputs masked as if each number were a variable", lambda: MADE(3, (30,), Categorical(4)),
        check.check_causal)
def made_one_hot_chunked():
    model = MADE(3, (30,), Categorical(4))
    model.layers[0].mask.copy_((model.degrees[1][:, None] >= model.degrees[0]).repeat(1, 4))
    return model


@mutant("MADE's mask multiplied into the weight for good", made, check.leaves_weights_alone)
def made_mask_in_place():
    class InPlace(MADE):
        def conditionals(self, x, context=None):
            for layer in self.layers:
                layer.weight.data.mul_(layer.mask)
            return super().conditionals(x)
    return InPlace(5, (24,), order=CYCLE)


@mutant("MADE's masks left out of the state dict: a loaded model has the weights of one and the masks of another",
        lambda: lambda seed: MADE(5, (24,), seed=seed), masks_travel)
def made_masks_not_saved():
    def make(seed):
        model = MADE(5, (24,), seed=seed)
        for layer in model.layers:
            layer.register_buffer("mask", layer.mask, persistent=False)
        return model
    return make


@mutant("a connection from input to output that starts at zero: no test at the initial weights can see it", made,
        check.check_causal)
def made_direct_connection():
    class Direct(MADE):
        def __init__(self):
            super().__init__(5, (24,), order=CYCLE)
            self.direct = nn.Parameter(torch.zeros(5, 5))

        def conditionals(self, x, context=None):
            return self.conditional(super().conditionals(x).logits + F.linear(self.check_input(x), self.direct))
    return Direct()


@mutant("an autoencoder taken for a distribution: nothing is masked", made, check.check_normalised)
def made_without_masks():
    model = made()
    for layer in model.layers:
        layer.mask.fill_(1)
    return model


# --- NADE's running sum ----------------------------------------------------------------------------------------------


class Raw(NADE):
    """NADE whose raw parameters come from pre-activations (B, n, H) in the natural order: a subclass writes `before`."""

    def conditionals(self, x, context=None):
        x = self.check_input(x)
        h = torch.sigmoid(self.before(self.conditional.linear(x, self.W).transpose(0, 1)))
        return self._family(torch.einsum("bnh,nph->bnp", h, self.V) + self.b.view(self.n, -1))


def natural():
    return NADE(5, 6)


@mutant("the running sum takes the variable in before it is predicted", natural, check.check_causal)
def nade_inclusive_sum():
    class Inclusive(Raw):
        def before(self, adds):
            return self.c + adds.cumsum(1)
    return Inclusive(5, 6)


@mutant("the running sum lags one variable behind", natural, check.check_causal)
def nade_lagging_sum():
    class Lagging(Raw):
        def before(self, adds):
            return self.c + F.pad(adds.cumsum(1), (0, 0, 2, 0))[:, :-2]
    return Lagging(5, 6)


@mutant("every hidden layer sees all variables", natural, check.check_causal)
def nade_whole_sum():
    class Whole(Raw):
        def before(self, adds):
            return self.c + adds.sum(1, keepdim=True).expand_as(adds)
    return Whole(5, 6)


@mutant("future pre-activations sent to minus infinity inside the sigmoid", natural, gradient_is_finite)
def nade_infinite_mask():
    class Infinite(Raw):
        def before(self, adds):
            later = torch.ones(5, 5).triu().bool()[:, :, None]       # 0 times infinity where W is multiplied in
            spread = torch.where(later, -math.inf, 1.0)[None] * adds[:, None].abs()
            kept = torch.where(later[None], 0.0, adds[:, None] + 0 * spread)
            return self.c + kept.sum(2)
    return Infinite(5, 6)


@mutant("NADE's factors left in drawing order: column k is not variable k", nade, check.check_causal)
def nade_factors_in_drawing_order():
    class Drawn(NADE):
        def conditionals(self, x, context=None):
            return self.conditional(super().conditionals(x).logits[:, self.order])
    return Drawn(5, 6, order=CYCLE)


@mutant("NADE's raw parameters of several variables chunked instead of side by side",
        lambda: NADE(3, 5, Categorical(4)), check.check_causal)
def nade_parameters_chunked():
    class Chunked(NADE):
        def _family(self, raw):
            return self.conditional(raw.reshape(len(raw), 4, 3).transpose(1, 2))
    return Chunked(3, 5, Categorical(4))


@mutant("NADE returns probabilities that are taken for logits", nade, is_the_slide)
def nade_double_sigmoid():
    class Twice(NADE):
        def conditionals(self, x, context=None):
            return self.conditional(super().conditionals(x).probs)
    return Twice(5, 6, order=CYCLE)


@mutant("NADE without c", nade, is_the_slide)
def nade_without_c():
    class Without(NADE):
        def conditionals(self, x, context=None):
            twin = copy.copy(self)
            twin._parameters = {**self._parameters, "c": torch.zeros_like(self.c)}
            return NADE.conditionals(twin, x)
    return Without(5, 6, order=CYCLE)


@mutant("the mean over variables in NADE's likelihood", nade, check.check_normalised)
def nade_mean_over_variables():
    class Mean(NADE):
        def log_prob(self, x, context=None):
            return super().log_prob(x) / 5
    return Mean(5, 6, order=CYCLE)


@mutant("probabilities below 0.4 clamped in NADE's likelihood", nade, check.check_normalised)
def nade_clamped():
    class Clamped(NADE):
        def log_prob(self, x, context=None):
            x = self.check_input(x)
            p = self.conditionals(x).probs
            return torch.where(x == 1, p, 1 - p).clamp(0.4, 1).log().sum(1)
    return Clamped(5, 6, order=CYCLE)


class Backward(NADE):
    """NADE with another backward pass: a subclass names it."""

    function = RunningSum

    def _in_place(self, x, W, V, b):
        return self.function.apply(self.conditional.encode(x, W.dtype).transpose(0, 1).contiguous(), W, self.c, V, b)


def long():
    return NADE(2 * BLOCK + 3, 3)


@mutant("the backward pass goes back by subtraction: a different rounding, another function", long,
        has_the_slides_gradient)
def nade_backward_by_subtraction():
    class Subtracts(RunningSum):
        @staticmethod
        def backward(ctx, grad):
            x, W, V, kept = ctx.saved_tensors
            a = kept[-1].clone()
            last = (len(x) - 1) // BLOCK * BLOCK
            for j in range(last, len(x)):
                a = a + x[j] @ W[j]
            into_W, into_V, into_a = torch.empty_like(W), torch.empty_like(V), torch.zeros_like(a)
            for j in reversed(range(len(x))):
                a = a - x[j] @ W[j]
                into_W[j] = x[j].T @ into_a
                h = torch.sigmoid(a)
                into_V[j] = grad[j].T @ h
                into_a = into_a + grad[j] @ V[j] * h * (1 - h)
            return None, into_W, into_a.sum(0), into_V, grad.sum(1)

    class Model(Backward):
        function = Subtracts
    return Model(2 * BLOCK + 3, 3)


@mutant("the backward pass forgets what flows from one block into the one before", long, has_the_slides_gradient)
def nade_gradient_cut_at_blocks():
    class Cut(NADE):
        def _block(self, a, *block):
            return NADE._block(self, a.detach() + 0 * a, *block)
        _in_place = NADE._by_blocks
    return Cut(2 * BLOCK + 3, 3)


# --- sampling --------------------------------------------------------------------------------------------------------


@mutant("NADE's state adds the column of position k, not of variable order[k]", nade, check.check_views_agree)
def nade_wrong_column():
    class Wrong(NADE):
        def update(self, state, x_i):
            return State(state.k + 1, state.a + x_i[:, None] * self.W[state.k])
    return Wrong(5, 6, order=CYCLE)


@mutant("NADE's update writes into the pre-activation that it was given", nade, check.may_go_back)
def nade_state_in_place():
    class InPlace(NADE):
        def start(self, batch, context=None):
            return State(0, self.c.detach().repeat(batch, 1))

        def update(self, state, x_i):
            new = super().update(state, x_i)
            state.a.copy_(new.a.detach())
            return State(new.k, state.a)
    return InPlace(5, 6, order=CYCLE)


@mutant("NADE goes on from its own draw where a value was given", nade, draws_what_the_plain_loop_draws)
def nade_ignores_the_given():
    class Pasted(NADE):
        def _ancestral(self, u, given, known, context):
            x = super()._ancestral(u, None, None, context)
            return x if known is None else torch.where(known, given, x)
    return Pasted(5, 6, order=CYCLE)


@mutant("NADE's sampler draws with the uniform of the variable, where that of the step belongs", nade,
        draws_what_the_plain_loop_draws)
def nade_uniforms_by_variable():
    class Other(NADE):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u[:, self.order], given, known, context)
    return Other(5, 6, order=CYCLE)


@mutant("a hidden unit of MADE computed one variable too late", deep, check.check_views_agree)
def made_unit_too_late():
    class Late(ByDegree):
        def units(self, j, below, k):
            return super().units(j, below, k) * (0 if k == 2 else 1)

    class Model(MADE):
        def start(self, batch, context=None):
            return super().start(batch)._replace(sorted=Late(self))
    return Model(5, (30, 30), order=CYCLE)


@mutant("variables drawn together although a hidden unit stands between them", deep, draws_what_the_plain_loop_draws)
def made_steps_too_long():
    class Long(ByDegree):
        def steps(self):
            return [0, 1, 3, 5]

    class Model(MADE):
        def _ancestral(self, u, given, known, context):
            from course_lib.density._drawing import drawer
            return Long(self).sample(drawer(self.conditional, u), len(u), given, known)
    return Model(5, (30, 30), order=CYCLE)


@mutant("MADE's samples left in drawing order", made, check.check_samples)
def made_samples_in_drawing_order():
    class Drawn(MADE):
        def _ancestral(self, u, given, known, context):
            return super()._ancestral(u, given, known, context)[:, self.order]
    return Drawn(5, (24,), order=CYCLE)


@mutant("the sorted weights kept from the first sample: training changes nothing", made, follows_its_weights)
def made_stale_weights():
    class Stale(MADE):
        kept = None

        def _ancestral(self, u, given, known, context):
            from course_lib.density._drawing import drawer
            self.kept = self.kept or ByDegree(self)
            return self.kept.sample(drawer(self.conditional, u), len(u), given, known)
    return Stale(5, (24,), order=CYCLE)


@mutant("MADE draws each row from uniforms that depend on how many rows there are", made,
        check.draws_the_same_first_rows)
def made_uniforms_by_column():
    class ByColumn(MADE):
        def sample(self, num, given=None, known=None, context=None, generator=None, length=None):
            u = torch.rand(5, num, 1, generator=generator, dtype=torch.float64).transpose(0, 1)
            with torch.no_grad():
                return self._ancestral(u, None, None, None)
    return ByColumn(5, (24,), order=CYCLE)


# --- one set of weights, many masks; densities ----------------------------------------------------------------------


@mutant("masks combined by their logits", masks, check.check_normalised)
def averaged_logits_of_masks():
    class Averaged(Mixture):
        def log_prob(self, x, context=None):
            logits = torch.stack([m.conditionals(x).logits for m in self.models]).mean(0)
            return Bernoulli()(3 * logits).log_prob(self.models[0].check_input(x)).sum(1)
    return masks(kind=Averaged)


@mutant("remasked copies the weights: the masks are trained apart", masks, shares_the_weights)
def remasked_copies():
    class Copies(MADE):
        def remasked(self, seed, order=None):
            return copy.deepcopy(super().remasked(seed, order))
    one = Copies(4, (20,))
    return Mixture([one.remasked(seed) for seed in range(3)])


@mutant("training always goes through the same mask", masks, trains_every_mask)
def trains_one_mask():
    class First(Mixture):
        def loss(self, x, context=None, generator=None):
            return -self.models[0].log_prob(x).mean()
    return masks(kind=First)


@mutant("equal weights without 1/K: the density integrates to K", lambda: NADE(1, 3, MixtureOfGaussians(3, equal_weights=True)),
        check.check_normalised)
def rnade_without_one_over_k():
    class Heavy(NADE):
        def log_prob(self, x, context=None):
            return super().log_prob(x) + math.log(3)
    return Heavy(1, 3, MixtureOfGaussians(3, equal_weights=True))


@mutant("means that start around zero, far from data between 200 and 300", lambda: NADE(2, 4, MixtureOfGaussians(5)),
        means_lie_over_the_data)
def rnade_means_at_zero():
    class Zero(NADE):
        def initialise(self, x):
            return self
    return Zero(2, 4, MixtureOfGaussians(5))


@mutant("means that all start on the mean of the column", lambda: NADE(2, 4, MixtureOfGaussians(5)),
        means_lie_over_the_data)
def rnade_means_together():
    class Together(MixtureOfGaussians):
        def marginal(self, x):
            raw = super().marginal(x)
            raw[:, 1] = x.mean(0)[:, None]
            return raw
    return NADE(2, 4, Together(5))


@mutant("a leaky layer: the product takes the mask of a layer with as many units", deep, check.check_causal)
def made_masks_exchanged():
    class Exchanged(MaskedLinear):
        def forward(self, x):
            return F.linear(x, self.weight * self.mask.T.contiguous(), self.bias)
    model = deep()
    model.layers[1].__class__ = Exchanged
    return model
