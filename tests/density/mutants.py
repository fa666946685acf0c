"""Faults planted in FVSBN, tables, mixtures, NADE and MADE; see `tests.mutation`."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib import autoregressive
from course_lib.conditional import Categorical, MixtureOfGaussians
from course_lib.contract import check_causal, check_normalized, check_samples, check_views_agree
from course_lib.density import (
    FVSBN,
    MADE,
    NADE,
    Tabular,
    _block_solver,
    _made_sampling,
    _running_sum,
    fvsbn,
    mixture,
    nade,
    tabular,
)
from course_lib.density import made as made_module
from course_lib.density._running_sum import BLOCK, RunningSum
from course_lib.density.nade import State
from tests.contract import checks as model
from tests.contract.models import CYCLE
from tests.density import checks as check
from tests.mutation import Mutant, built, faults

A, FV, M, N, MIX, TAB = autoregressive, fvsbn, made_module, nade, mixture, tabular
SAMPLING = _made_sampling                                            # the weights in order of degree
BS, RS = _block_solver, _running_sum                                 # what makes FVSBN and NADE fast
ORDERS = ([0, 1, 2], [2, 1, 0], [1, 2, 0])
PARENTS = [[], [0], [1], [0]]


# --- what is broken, and its right counterpart -----------------------------------------------------------------------


def fvsbn_of_5(m):
    return m.FVSBN(5)


def fvsbn_in_order(m):
    return m.FVSBN(5, CYCLE)


def orders(m):
    """One set of variables, three orders."""
    return m.Mixture([FVSBN(3, o) for o in ORDERS])


def exact_orders(m):
    """Fits tables of three orders to a source exactly, and returns the log_prob of the whole."""
    return lambda p: m.Mixture([Tabular.from_joint(p.reshape(2, 2, 2), order=o) for o in ORDERS]).log_prob


def trained(m):
    """Fits an FVSBN to a source."""
    def fit(p):
        net, x = m.FVSBN(3).double(), check.all_states(3)
        optimizer = torch.optim.LBFGS(net.parameters(), max_iter=50)

        def loss():
            optimizer.zero_grad()
            value = -(p * net.log_prob(x)).sum()
            value.backward()
            return value
        optimizer.step(loss)
        return net.log_prob
    return fit


def made_in_order(m):
    return m.MADE(5, (24,), order=CYCLE)


def deep(m):
    return m.MADE(5, (30, 30), order=CYCLE)


def softmax_made(m):
    return m.MADE(3, (30,), Categorical(4))


def masks(m):
    """One set of weights, three sets of masks."""
    one = m.MADE(4, (20,))
    return mixture.Mixture([one.remasked(seed) for seed in range(3)])


def mixture_of_masks(m):
    one = MADE(4, (20,))
    return m.Mixture([one.remasked(seed) for seed in range(3)])


def natural(m):
    return m.NADE(5, 6)


def nade_in_order(m):
    return m.NADE(5, 6, order=CYCLE)


def long(m):
    return m.NADE(2 * BLOCK + 3, 3)


def rnade(m):
    return m.NADE(2, 4, MixtureOfGaussians(5))


# --- the faults ------------------------------------------------------------------------------------------------------

EARLIER = "position[None, :] < position[:, None]"
LINEAR = "self.conditional(F.linear(x, self.weight * self.earlier, self.bias))"
REGISTER = f'self.register_buffer("earlier", ({EARLIER}).float())'
WHOLE = "each.logsumexp(dim=0) - math.log(len(self.models))"
LOGITS = "Bernoulli()(torch.stack([m.conditionals(x).logits for m in self.models]).mean(0)).log_prob(x.double()).sum(1)"
SCORE = ".log_prob(x).sum(dim=1)"
HIDDEN = "upper[:, None] >= lower for lower, upper in"
DRAWN = "return torch.cat(drawn, dim=1)[:, model.order.argsort()]"
KEPT = """            if known is not None:
                x = torch.where(known[:, i:i + 1], given[:, i:i + 1], x)
"""
ADDED = """            a.addmm_(self.conditional.encode(x, a.dtype)[:, 0], W[i])
"""

MUTANTS: list[Mutant] = [
    # FVSBN: the mask
    *faults(FV, fvsbn_of_5, check_causal,
            ("a mask that keeps its diagonal: variable i helps to predict itself", EARLIER, EARLIER.replace("<", "<=")),
            ("a strict mask applied twice: the variable just before is lost, and only the loss is worse", EARLIER,
             EARLIER + " - 1"),
            ("a mask turned round: the factors read what comes later", EARLIER, EARLIER.replace("<", ">")),
            ("a leak in some states only: variable 1 looks ahead where variable 0 is set",
             "self.conditional(F.linear(x, self.weight * self.earlier, self.bias))",
             "self.conditional(F.linear(x, self.weight * self.earlier, self.bias)\n"
             "                                + 1e-3 * x[:, :1] * x[:, 4:] * (torch.arange(5) == 1))")),
    *faults(FV, fvsbn_in_order, check_causal,
            ("one parent of many is missing", REGISTER, REGISTER + "\n        self.earlier[4, 2] = 0"),
            ("the mask made from the order where its inverse belongs", "position = self.order.argsort()",
             "position = self.order")),
    *faults(FV, fvsbn_of_5, model.leaves_weights_alone,
            ("the mask multiplied into the weight in place", f"return {LINEAR}",
             "self.weight.data.mul_(self.earlier)\n"
             "        return self.conditional(F.linear(x, self.weight, self.bias))")),
    *faults(FV, fvsbn_in_order, model.follows_dtype_and_state_dict,
            ("a mask that is no buffer: it keeps its dtype and device when the model is cast", REGISTER,
             f"self.earlier = ({EARLIER}).float()"),
            ("a mask that is left out of the state dict", REGISTER, REGISTER[:-1] + ", persistent=False)")),
    *faults(FV, trained, check.does_not_beat_the_entropy,
            ("a leak trained on a known source falls below its entropy", EARLIER, EARLIER.replace("<", "<="))),
    *faults(FV, fvsbn_of_5, check.is_the_equation,
            ("the sigmoid applied twice: probabilities passed on as logits", LINEAR,
             LINEAR.replace("self.bias)", "self.bias).sigmoid()"))),

    # FVSBN: one variable at a time
    *faults(FV, fvsbn_in_order, check_views_agree,
            ("predict takes column k, where variable order[k] is drawn k-th",
             "state.logits[:, self.variable_at(state.k)]", "state.logits[:, state.k]"),
            ("the state is not updated", "state.logits + x_i[:, None] * column", "state.logits"),
            ("update adds the column of the variable before", "i = self.variable_at(state.k)",
             "i = self.variable_at(max(0, state.k - 1))")),

    # FVSBN: its sampler
    *faults(BS, fvsbn_in_order, check_samples,
            ("samples left in drawing order: column k is not variable k", "x[order.argsort()].T", "x.T"),
            ("samples sorted back by the order, where its inverse belongs", "x[order.argsort()].T", "x[order].T"),
            seen_from=FV),
    *faults(BS, fvsbn_of_5, check_samples,
            ("a draw that takes 1 where it should take 0", "(margin >= 0)", "(margin < 0)"), seen_from=FV),
    *faults(BS, lambda m: m.FVSBN(12), check.draws_what_the_loop_draws,
            ("a fixed number of rounds: the block is not solved", "range(len(logits) + 1)", "range(2)"), seen_from=FV),
    *faults(BS, lambda m: m.FVSBN(BS.BLOCK + 8), check.draws_what_the_loop_draws,
            ("a block forgets the blocks before it", " + weight[block, :begin] @ x[:begin]", ""), seen_from=FV),
    *faults(BS, fvsbn_in_order, check.draws_what_the_loop_draws,
            ("uniforms taken by variable, where they are drawn by step", "1 - u.T", "1 - u[:, order].T"), seen_from=FV),

    # tables
    *faults(TAB, lambda m: lambda p, o: m.Tabular.from_joint(p, order=o), check.is_the_joint,
            ("a table whose rows are read by the wrong variable: the parents of the joint are mixed up",
             "joint.double().flatten()", "joint.permute(model.order.tolist()).double().flatten()")),
    *faults(TAB, lambda m: m.Tabular(1), check.adds_to_both_counts,
            ("smoothing adds to the ones and not to the visits", "+ 2 * alpha\n", "+ alpha\n")),
    *faults(TAB, lambda m: m.Tabular(4, PARENTS), check_causal,
            ("a factor fed all variables: the table reads a parent that it does not declare", "return self._parents[i]",
             "return [0] if i == 2 else self._parents[i]")),

    # mixtures
    *faults(MIX, orders, check_normalized,
            ("orders combined by their logits: no distribution at all", f"return {WHOLE}",
             f"from course_lib.conditional import Bernoulli\n        return {LOGITS}"),
            ("log-probabilities of the components averaged, without logsumexp", WHOLE, "each.mean(dim=0)"),
            ("log K is not subtracted", WHOLE, "each.logsumexp(dim=0)")),
    *faults(MIX, exact_orders, check.does_not_beat_the_entropy,
            ("averaged logits fall below the entropy of a known source: a leak, not a record", f"return {WHOLE}",
             f"from course_lib.conditional import Bernoulli\n        return {LOGITS}")),
    *faults(MIX, mixture_of_masks, check_normalized,
            ("masks combined by their logits", f"return {WHOLE}",
             f"from course_lib.conditional import Bernoulli\n        return {LOGITS}")),
    *faults(MIX, mixture_of_masks, check.trains_every_mask,
            ("training always goes through the same mask",
             "k = int(torch.randint(len(self.models), (), generator=generator))", "k = 0")),
    *faults(MIX, orders, model.draws_the_same_first_rows,
            ("a mixture whose components share one generator: the rows change with the size of the batch",
             "own = torch.Generator().manual_seed((seed + k + 1) % 2 ** 63)", "own = generator")),
    *faults(MIX, orders, check_samples,
            ("a mixture that always draws from its first component", "rows = (which == k).nonzero()",
             "rows = (which >= 0 if k == 0 else which < 0).nonzero()")),

    # NADE: the equation
    *faults(RS, natural, check_causal,
            ("the running sum takes the variable in before it is predicted", "raw_j.addmm_(torch.sigmoid(a, out=h)",
             "raw_j.addmm_(torch.sigmoid(a + x_j * W_j)"),
            ("the running sum lags one variable behind", "a.addcmul_(x_j, W_j)",
             "j and a.addcmul_(x[j - 1], W[j - 1])"),
            ("every hidden layer sees all variables", "a, kept = c.repeat(x.shape[1], 1), []",
             "a, kept = c + (x @ W).sum(dim=0), []"),
            seen_from=N),
    *faults(RS, nade_in_order, check_causal,
            ("NADE's factors left in drawing order: column k is not variable k",
             "(raw[order.argsort()] if ordered else raw)", "raw"),
            seen_from=N),
    *faults(N, lambda m: m.NADE(3, 5, Categorical(4)), check_causal,
            ("NADE's raw parameters of several variables chunked instead of side by side",
             "raw.reshape(*raw.shape[:2], *self.conditional.parameter_shape)",
             "raw.reshape(len(raw), *self.conditional.parameter_shape, -1).movedim(-1, 1)")),
    *faults(N, nade_in_order, check.is_the_slide,
            ("NADE returns probabilities that are taken for logits", "self.V, b, self.order))",
             "self.V, b, self.order).sigmoid())")),
    *faults(RS, nade_in_order, check.is_the_slide,
            ("NADE without c", "a, kept = c.repeat(", "a, kept = (0 * c).repeat("),
            seen_from=N),
    *faults(A, nade_in_order, check_normalized,
            ("the mean over variables in NADE's likelihood", SCORE, SCORE.replace("sum", "mean")),
            ("probabilities below 0.4 clamped in NADE's likelihood", SCORE,
             ".log_prob(x).exp().clamp(0.4, 1).log().sum(dim=1)"),
            seen_from=N),
    *faults(RS, long, check.has_the_slides_gradient,
            ("the backward pass forgets what flows from one block into the one before", "a[0] = kept[begin // BLOCK]",
             "a[0] = kept[begin // BLOCK] + into_a.zero_()"),
            seen_from=N),
    *faults(N, rnade, check.means_lie_over_the_data,
            ("means that start around zero, far from data between 200 and 300",
             "self.b.copy_(self.conditional.marginal(self.check_input(x)).flatten())", "pass")),

    # NADE: one variable at a time, and its sampler
    *faults(N, nade_in_order, check_views_agree,
            ("NADE's state adds the column of position k, not of variable order[k]", "(x_i[:, None], self.W[i:i + 1])",
             "(x_i[:, None], self.W[state.k:state.k + 1])")),
    *faults(N, nade_in_order, check.draws_what_the_plain_loop_draws,
            ("NADE goes on from its own draw where a value was given", KEPT + ADDED, ADDED + KEPT),
            ("NADE's sampler draws with the uniform of the variable, where that of the step belongs",
             "draw(raw.view(len(u), 1, *shape), k)", "draw(raw.view(len(u), 1, *shape), i)")),

    # MADE: masks and degrees
    *faults(M, made_in_order, check_causal,
            ("the output connected to units of its own degree: the inequality is not strict there",
             "position[:, None] > below[-1]", "position[:, None] >= below[-1]"),
            ("a strict inequality at the input: a unit of degree m reads m - 1 variables", HIDDEN,
             "upper[:, None] >= lower + (lower is position) for lower, upper in"),
            ("MADE's masks made from the order where positions belong", "return [self.order.argsort() + 1, ",
             "return [self.order + 1, ")),
    *faults(M, deep, check_causal,
            ("a strict inequality between hidden layers too: the variable just before is lost", HIDDEN,
             "upper[:, None] >= lower + (lower is not position) for lower, upper in"),
            ("a leaky layer: the product takes the mask of a layer with as many units",
             "return self.weight * self.mask",
             "return self.weight * (self.mask.T if len(self.mask) == len(self.mask.T) else self.mask)")),
    *faults(M, made_in_order, check.every_unit_matters,
            ("degrees up to n: units that no output may read are dead weight", "torch.randint(low, max(n, 2),",
             "torch.randint(low, n + 1,"),
            ("degrees from 0: units that are connected to no input", "degrees, low = [], 1", "degrees, low = [], 0")),
    *faults(M, lambda m: made_in_order(m).remasked(1), check_causal,
            ("remasked takes new masks and keeps the order of the old ones", "other.set_degrees(degrees)",
             "other.set_degrees(degrees)\n        other.order.copy_(self.order)")),
    *faults(M, softmax_made, check_causal,
            ("masks of several raw parameters laid in blocks, where the parameters lie side by side",
             "masks[-1].repeat_interleave(P, dim=0)", "masks[-1].repeat(P, 1)"),
            ("one-hot inputs masked as if each number were a variable", "masks[0].repeat_interleave(E, dim=1)",
             "masks[0].repeat(1, E)")),
    *faults(M, made_in_order, model.leaves_weights_alone,
            ("MADE's mask multiplied into the weight for good", "return self.weight * self.mask",
             "self.weight.data.mul_(self.mask)\n        return self.weight")),
    *faults(M, lambda m: lambda seed: m.MADE(5, (24,), seed=seed), check.masks_travel,
            ("MADE's masks left out of the state dict: a loaded model has the weights of one and the masks of another",
             "torch.ones(outputs, inputs))", "torch.ones(outputs, inputs), persistent=False)")),
    *faults(M, made_in_order, check_normalized,
            ("an autoencoder taken for a distribution: nothing is masked", "return self.weight * self.mask",
             "return self.weight")),
    *faults(M, masks, check.shares_the_weights,
            ("remasked copies the weights: the masks are trained apart",
             "copy.deepcopy(self, {id(p): p for p in self.parameters()})", "copy.deepcopy(self)")),

    # MADE: one variable at a time, and its sampler
    *faults(M, deep, check_views_agree,
            ("a hidden unit of MADE computed one variable too late", "state.sorted.units(j, layers[j], state.k + 1)",
             "state.sorted.units(j, layers[j], state.k + 1) * (state.k != 1)")),
    *faults(SAMPLING, deep, check.draws_what_the_plain_loop_draws,
            ("variables drawn together although a hidden unit stands between them",
             "return [0, *(k for k in range(1, self.model.n) if count[k] > count[k - 1]), self.model.n]",
             "return [0, 1, 3, 5]"),
            seen_from=M),
    *faults(SAMPLING, made_in_order, check_samples,
            ("MADE's samples left in drawing order", DRAWN, "return torch.cat(drawn, dim=1)"),
            seen_from=M),
    *faults(M, made_in_order, check.follows_its_weights,
            ("the sorted weights kept from the first sample: training changes nothing", "return SortedWeights(self).sample(",
             "return self.__dict__.setdefault(\"kept\", SortedWeights(self)).sample(")),
    *faults(A, made_in_order, model.draws_the_same_first_rows,
            ("MADE draws each row from uniforms that depend on how many rows there are",
             "torch.rand(num, n, per_variable, generator=generator, dtype=dtype)",
             "torch.rand(n, num, per_variable, generator=generator, dtype=dtype).transpose(0, 1)"),
            seen_from=M),
]


# --- faults that no line comes close to ------------------------------------------------------------------------------


class Raw(NADE):
    """NADE from pre-activations (B, n, H) in the natural order: a subclass writes `before`."""

    def conditionals(self, x, context=None):
        x = self.check_input(x)
        h = torch.sigmoid(self.before(self.conditional.linear(x, self.W).transpose(0, 1)))
        return self._family(torch.einsum("bnh,nph->bnp", h, self.V) + self.b.view(self.n, -1))


@built(MUTANTS, "a connection from input to output that starts at zero: no test at the initial weights can see it",
       lambda: MADE(5, (24,), order=CYCLE), check_causal)
def made_direct_connection():
    class Direct(MADE):
        def __init__(self):
            super().__init__(5, (24,), order=CYCLE)
            self.direct = nn.Parameter(torch.zeros(5, 5))

        def conditionals(self, x, context=None):
            return self.conditional(super().conditionals(x).logits + F.linear(self.check_input(x), self.direct))
    return Direct()


@built(MUTANTS, "future pre-activations sent to minus infinity inside the sigmoid", lambda: NADE(5, 6),
       model.gradient_is_finite)
def nade_infinite_mask():
    class Infinite(Raw):
        def before(self, adds):
            later = torch.ones(5, 5).triu().bool()[:, :, None]       # 0 times infinity where W is multiplied in
            spread = torch.where(later, -math.inf, 1.0)[None] * adds[:, None].abs()
            kept = torch.where(later[None], 0.0, adds[:, None] + 0 * spread)
            return self.c + kept.sum(2)
    return Infinite(5, 6)


@built(MUTANTS, "the backward pass goes back by subtraction: a different rounding, another function",
       lambda: long(nade), check.has_the_slides_gradient)
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

    class Model(NADE):
        def conditionals(self, x, context=None):                     # in the natural order
            x, b = self.conditional.encode(x, self.W.dtype), self.b.view(self.n, -1)
            raw = Subtracts.apply(x.transpose(0, 1).contiguous(), self.W, self.c, self.V, b)
            return self._family(raw.transpose(0, 1))
    return Model(2 * BLOCK + 3, 3)


@built(MUTANTS, "NADE's update writes into the pre-activation that it was given",
       lambda: NADE(5, 6, order=CYCLE), model.may_go_back)
def nade_state_in_place():
    class InPlace(NADE):
        def start(self, batch, context=None):
            return State(0, self.c.detach().repeat(batch, 1))

        def update(self, state, x_i):
            new = super().update(state, x_i)
            state.a.copy_(new.a.detach())
            return State(new.k, state.a)
    return InPlace(5, 6, order=CYCLE)


@built(MUTANTS, "equal weights without 1/K: the density integrates to K",
       lambda: NADE(1, 3, MixtureOfGaussians(3, equal_weights=True)), check_normalized)
def rnade_without_one_over_k():
    class Heavy(NADE):
        def log_prob(self, x, context=None):
            return super().log_prob(x) + math.log(3)
    return Heavy(1, 3, MixtureOfGaussians(3, equal_weights=True))
