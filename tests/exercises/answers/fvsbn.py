"""Answers to the exercises of chapter fvsbn."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from tests.exercises.answers.register import right, wrong


@right("fvsbn_conditionals: loop, einsum, float64 inside")
def _(x, W, c):
    columns = [torch.sigmoid(c[i] + x[:, :i] @ W[i, :i]) for i in range(len(c))]
    return torch.stack(columns, dim=1)


@wrong("fvsbn_conditionals: tanh")
def _(x, W, c):
    return torch.tanh(x @ W.tril(-1).T + c)


@wrong("fvsbn_conditionals: two diagonals cut")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-2).T + c)


@wrong("fvsbn_conditionals: rounded")
def _(x, W, c):
    return torch.sigmoid(x @ W.tril(-1).T + c).round()


@wrong("fvsbn_conditionals: the lower triangle, not transposed", called="columns")
def _(x, W, c):
    return torch.sigmoid(x @ torch.tril(W, -1) + c)


@right("fvsbn_conditionals: torch.distributions, logits by einsum")
def _(x, W, c):
    mask = torch.arange(len(c))[:, None] > torch.arange(len(c))
    return torch.distributions.Bernoulli(logits=torch.einsum("bj,ij->bi", x, W * mask) + c).probs


@wrong("fvsbn_conditionals: gradient to the bias alone")
def _(x, W, c):
    return torch.sigmoid(x @ W.detach().tril(-1).T + c)


@right("fvsbn_sample: a full pass for each variable")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u < torch.sigmoid(x @ W.tril(-1).T + c))[:, i].float()
    return x


@wrong("fvsbn_sample: randomness of its own", called="own_randomness")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = torch.bernoulli(torch.sigmoid(x @ W.tril(-1).T + c))[:, i]
    return x


@wrong("fvsbn_sample: W transposed", called="transposed")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u[:, i] < torch.sigmoid(x @ W[:, i] + c[i])).float()
    return x


@right("fvsbn_sample: running sums of the logits, the library's way")
def _(u, W, c):
    x, z = torch.zeros_like(u), c.repeat(len(u), 1)
    for i in range(len(c)):
        x[:, i] = (u[:, i] < z[:, i].sigmoid()).float()
        z = z + x[:, i, None] * W.tril(-1)[:, i]
    return x


@wrong("fvsbn_sample: booleans")
def _(u, W, c):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = (u[:, i] < torch.sigmoid(x @ W.tril(-1).T + c)[:, i]).float()
    return x.bool()


def sampled_by(u, W, c, draw):
    x = torch.zeros_like(u)
    for i in range(len(c)):
        x[:, i] = draw(u[:, i], torch.sigmoid(x @ W.tril(-1)[i] + c[i]))
    return x


@wrong("fvsbn_sample: 1 also where u equals p", called="at_equality")
def _(u, W, c):
    return sampled_by(u, W, c, lambda u, p: (u <= p).float())


@wrong("fvsbn_sample: without the axes of length 1")
def _(u, W, c):
    return sampled_by(u, W, c, lambda u, p: (u < p).float()).squeeze()


@right("find_leaks: state by state")
def _(conditionals, n):
    leaks = set()
    for state in itertools.product((0.0, 1.0), repeat=n):
        x = torch.tensor([state])
        for j in range(n):
            y = x.clone()
            y[0, j] = 1 - y[0, j]
            moved = (conditionals(x) != conditionals(y))[0]
            leaks |= {(i, j) for i in range(j + 1) if moved[i] and abs(conditionals(x) - conditionals(y))[0, i] > 1e-7}
    return sorted(leaks)


def moves(conditionals, states):
    """The largest change of each factor (row) when a variable (column) is flipped in `states`."""
    columns = []
    for j in range(states.shape[1]):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        columns.append((conditionals(flipped) - conditionals(states)).abs().amax(0))
    return torch.stack(columns, 1)


def beyond(table, threshold=1e-6):
    return [(i, j) for i in range(len(table)) for j in range(i, len(table)) if table[i, j] > threshold]


def every(n):
    return torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)


@right("find_leaks: whether the values of a column depend on a bit, by reshaping")
def _(conditionals, n):
    p = conditionals(every(n)).reshape(*[2] * n, n)
    span = [(p.amax(j) - p.amin(j)).flatten(0, -2).amax(0) for j in range(n)]
    return [(i, j) for i in range(n) for j in range(i, n) if span[j][i] > 1e-4]


@right("find_leaks: moves above the thousandth that is stated")
def _(conditionals, n):
    return beyond(moves(conditionals, every(n)), 1e-3)


@wrong("find_leaks: flips at all zeros and all ones", called="few_states")
def _(conditionals, n):
    return beyond(moves(conditionals, torch.stack([torch.zeros(n), torch.ones(n)])))


@wrong("find_leaks: four states drawn at random", called=("few_states", None))
def _(conditionals, n):
    return beyond(moves(conditionals, torch.randint(0, 2, (4, n)).float()))


def jacobian(conditionals, point):
    return torch.autograd.functional.jacobian(lambda x: conditionals(x[None])[0], point).abs()


@wrong("find_leaks: gradients at a random point", called="few_states")
def _(conditionals, n):
    return beyond(jacobian(conditionals, torch.rand(n)))


@wrong("find_leaks: moves above a twentieth", called=("strong_only", None))
def _(conditionals, n):
    return beyond(moves(conditionals, every(n)), 0.05)


@wrong("find_leaks: the mean over the states", called="averaged")
def _(conditionals, n):
    x = every(n)
    flipped = [torch.where(torch.arange(n) == j, 1 - x, x) for j in range(n)]
    mean = torch.stack([(conditionals(y) - conditionals(x)).abs().mean(0) for y in flipped], 1)
    return beyond(mean, 1e-3)


@wrong("find_leaks: variable by variable, not sorted", called="by_variable")
def _(conditionals, n):
    return [(i, j) for j in range(n) for i in range(j + 1) if moves(conditionals, every(n))[i, j] > 1e-6]


@wrong("find_leaks: sees nothing")
def _(conditionals, n):
    return []


@wrong("find_leaks: reports everything")
def _(conditionals, n):
    return [(i, j) for i in range(n) for j in range(i, n)]


class Base(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, n):
        super().__init__(n)
        self.weight = nn.Parameter(torch.zeros(n, n))
        self.bias = nn.Parameter(torch.zeros(n))

    def conditionals(self, x, context=None):
        return self.conditional(x @ self.weight.tril(-1).T + self.bias)

    def gradient(self, x):
        error = (x - self.conditionals(x).probs.detach()) / len(x)
        return {"weight": (error.T @ x).tril(-1), "bias": error.sum(0)}

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.05)
        for _ in range(300):
            loss = -self.log_prob(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@right("OwnFVSBN: autograd and Adam in fit, a running sum for sampling")
class RunningSum(Base):
    def start(self, batch, context=None):
        return 0, self.bias.expand(batch, -1)

    def predict(self, state):
        k, logits = state
        return self.conditional(logits[:, k])

    def update(self, state, x_i):
        k, logits = state
        return k + 1, logits + x_i[:, None] * self.weight.tril(-1)[:, k]

    def select(self, state, rows):
        return state[0], state[1][rows]


@right("OwnFVSBN: factor by factor, probabilities, gradient by a loop")
class FactorByFactor(Base):
    def conditionals(self, x, context=None):
        columns = [x[:, :i] @ self.weight[i, :i] + self.bias[i] for i in range(self.n)]
        return torch.distributions.Bernoulli(probs=torch.stack(columns, 1).sigmoid())

    def gradient(self, x):
        p, weight = self.conditionals(x).probs.detach(), torch.zeros(self.n, self.n)
        for i in range(self.n):
            for j in range(i):
                weight[i, j] = ((x[:, i] - p[:, i]) * x[:, j]).mean()
        return {"weight": weight, "bias": (x - p).mean(0)}


@wrong("OwnFVSBN: an update that forgets all but the last value")
class Forgets(RunningSum):
    def update(self, state, x_i):
        return state[0] + 1, self.bias + x_i[:, None] * self.weight.tril(-1)[:, state[0]]


@wrong("OwnFVSBN: samples that are rounded")
class Rounded(Base):
    def draw_all(self, u, given=None, known=None, context=None):
        return super().draw_all(torch.full_like(u, 0.5), given, known, context)


@wrong("OwnFVSBN: the gradient of the bias is a mean over the variables too")
class Averaged(Base):
    def gradient(self, x):
        found = super().gradient(x)
        return found | {"bias": found["bias"] / self.n}


@wrong("OwnFVSBN: a single step")
class OneStep(Base):
    def fit(self, x):
        with torch.no_grad():
            for name, slope in self.gradient(x).items():
                getattr(self, name).add_(slope, alpha=0.1)


@wrong("OwnFVSBN: weights that no gradient reaches", called=(None,))
class Detached(Base):
    def conditionals(self, x, context=None):
        return self.conditional(x @ self.weight.detach().tril(-1).T + self.bias)


@right("fvsbn_products: loops over pairs")
def _(x, W, P, c):
    columns = []
    for i in range(len(c)):
        logit = c[i] + x[:, :i] @ W[i, :i]
        for k in range(i):
            for j in range(k):
                logit = logit + P[i, j, k] * x[:, j] * x[:, k]
        columns.append(torch.sigmoid(logit))
    return torch.stack(columns, dim=1)


@right("fvsbn_products: matrix products with triangular matrices")
def _(x, W, P, c):
    logits = x @ torch.tril(W, -1).T + c
    rows = [((x[:, :i] @ torch.triu(P[i, :i, :i], 1)) * x[:, :i]).sum(dim=1) for i in range(len(c))]
    return (logits + torch.stack(rows, dim=1)).sigmoid()


@wrong("fvsbn_products: the predicted variable is the last axis of P", called="predicted_last")
def _(x, W, P, c):
    i = torch.arange(x.shape[1])
    used = (i[:, None, None] < i[:, None]) & (i[:, None] < i)
    return torch.sigmoid(c + x @ W.tril(-1).T + torch.einsum("jki,bj,bk->bi", torch.where(used, P, 0.0), x, x))


@wrong("fvsbn_products: products halved, as if both orders were counted")
def _(x, W, P, c):
    i = torch.arange(len(c))
    used = (i[:, None] < i) & (i < i[:, None, None])
    return (c + x @ W.tril(-1).T + 0.5 * torch.einsum("ijk,bj,bk->bi", P * used, x, x)).sigmoid()


@wrong("fvsbn_products: every product of the row, masked by the last axis alone", called="both_orders")
def _(x, W, P, c):
    i = torch.arange(len(c))
    used = (i[:, None] != i) & (i < i[:, None, None]) & (i[:, None] < i[:, None, None])
    return (c + x @ W.tril(-1).T + torch.einsum("ijk,bj,bk->bi", P * used, x, x)).sigmoid()


@right("fit_p_logit: Adam on all rows")
def _(parents, child):
    alpha = torch.zeros(parents.shape[1] + 1, requires_grad=True)
    optimizer = torch.optim.Adam([alpha], lr=0.1)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.01, 500)
    for _ in range(500):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(alpha[0] + parents @ alpha[1:], child).backward()
        optimizer.step()
        schedule.step()
    return alpha.detach()


@right("fit_p_logit: gradient ascent by hand")
def _(parents, child):
    x = torch.cat([torch.ones(len(parents), 1), parents], dim=1)
    alpha = torch.zeros(x.shape[1])
    for _ in range(5000):
        alpha = alpha + 1.5 * x.T @ (child - torch.sigmoid(x @ alpha)) / len(x)
    return alpha


@wrong("fit_p_logit: 0.01 of the squares is added to the loss", called="penalized_weakly")
def _(parents, child):
    inputs = torch.cat([torch.ones(len(parents), 1), parents], dim=1).double()
    alpha = torch.zeros(inputs.shape[1], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([alpha], max_iter=1000, tolerance_grad=1e-9, tolerance_change=1e-14,
                                  line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(inputs @ alpha, child.double()) + 0.01 * (alpha ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return alpha.detach().float()


@wrong("fit_p_logit: ten steps")
def _(parents, child):
    x = torch.cat([torch.ones(len(parents), 1), parents], dim=1)
    alpha = torch.zeros(x.shape[1])
    for _ in range(10):
        alpha = alpha + 0.5 * x.T @ (child - torch.sigmoid(x @ alpha)) / len(x)
    return alpha


@wrong("fit_p_logit: each weight from a table of its own parent")
def _(parents, child):
    base = torch.logit(child.mean())
    weights = [torch.logit(child[column == 1].mean()) - torch.logit(child[column == 0].mean()) for column in parents.T]
    return torch.stack([base, *weights])


@right("choose_penalty: from the largest decay down, in float64")
def _(decays, valid, test):
    best, chosen = float("inf"), None
    for k in sorted(range(len(decays)), key=lambda k: -decays[k]):
        if valid[k].double().mean() < best:
            best, chosen = valid[k].double().mean(), k
    return torch.tensor(decays[chosen]), test[chosen].mean()


@right("choose_penalty: the maximum of pairs, from sums")
def _(decays, valid, test):
    _, decay, k = max((-float(row.sum()), decay, k) for k, (decay, row) in enumerate(zip(decays, valid)))
    return [decay, float(test[k].sum()) / test.shape[1]]


@wrong("choose_penalty: argmin, the first of equal means", called="first")
def _(decays, valid, test):
    k = int(valid.mean(1).argmin())
    return decays[k], test[k].mean().item()


@wrong("choose_penalty: the lowest loss of the test images", called="chosen_on_test")
def _(decays, valid, test):
    k = max(range(len(decays)), key=lambda k: (-test[k].mean().item(), decays[k]))
    return decays[k], test[k].mean().item()


@wrong("choose_penalty: the decays sorted, but not the losses")
def _(decays, valid, test):
    k = int(valid.mean(1).argmin())
    return sorted(decays)[k], test[k].mean().item()


@wrong("choose_penalty: the lowest test loss beside the chosen decay", called="lowest_test_loss")
def _(decays, valid, test):
    means = valid.double().mean(1)
    return max(d for d, mean in zip(decays, means) if mean == means.min()), min(row.mean().item() for row in test)


@wrong("choose_penalty: the test loss of all models")
def _(decays, valid, test):
    means = valid.mean(1)
    return max(d for d, mean in zip(decays, means) if mean == means.min()), test.mean().item()


@right("paired_difference: std over the square root, NaN by itself")
def _(a, b):
    d = a - b
    return d.mean(), d.std() / len(d) ** 0.5


@right("paired_difference: sums in Python")
def _(a, b):
    d = [float(x) - float(y) for x, y in zip(a, b)]
    N, mean = len(d), sum(d) / len(d)
    if N == 1:
        return mean, float("nan")
    return mean, (sum((x - mean) ** 2 for x in d) / (N - 1) / N) ** 0.5


@wrong("paired_difference: independent standard errors added in squares", called="unpaired")
def _(a, b):
    N = len(a)
    return (a - b).mean(), (a.var() / N + b.var() / N) ** 0.5


@wrong("paired_difference: numpy's standard deviation", called="biased")
def _(a, b):
    d = (a - b).numpy()
    return float(d.mean()), float("nan") if len(d) == 1 else float(d.std()) / len(d) ** 0.5


@wrong("paired_difference: the difference of the standard errors")
def _(a, b):
    return (a - b).mean(), (a.std() - b.std()) / len(a) ** 0.5
