"""Answers to the exercises of chapter made."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from tests.exercises.answers.register import right, wrong


@right("made_masks: entry by entry")
def _(order, hidden):
    rows = [order.tolist(), *[m.tolist() for m in hidden], order.tolist()]
    masks = []
    for depth in range(len(rows) - 1):
        last = depth == len(rows) - 2
        masks.append(torch.tensor([[1.0 if a > b or a == b and not last else 0.0 for b in rows[depth]]
                                   for a in rows[depth + 1]]))
    return masks


@right("made_masks: a tuple, by outer differences")
def _(order, hidden):
    below = (order, *hidden)
    steps = [torch.sub(above[:, None], lower[None, :]) for above, lower in zip((*hidden, order), below)]
    return tuple([*[(d >= 0).float() for d in steps[:-1]], (steps[-1] > 0).float()])


@wrong("made_masks: positions from 0 at both ends", called="no_degree_one")
def _(order, hidden):
    order = order - 1
    below = [order, *hidden]
    masks = [(above[:, None] >= lower).float() for above, lower in zip(hidden, below)]
    return [*masks, (order[:, None] > below[-1]).float()]


@wrong("made_masks: whole numbers", called=("not_floats", None))
def _(order, hidden):
    below = [order, *hidden]
    masks = [(above[:, None] >= lower).int() for above, lower in zip(hidden, below)]
    return [*masks, (order[:, None] > below[-1]).int()]


@wrong("made_masks: ones everywhere")
def _(order, hidden):
    widths = [len(order), *[len(m) for m in hidden], len(order)]
    return [torch.ones(b, a) for a, b in zip(widths, widths[1:])]


@wrong("made_masks: differences of degrees")
def _(order, hidden):
    rows = [order, *hidden]
    masks = [(b[:, None] - a).clamp(min=0).float() for a, b in zip(rows, rows[1:])]
    return [*masks, (order[:, None] - rows[-1]).clamp(min=0).float()]


@wrong("made_masks: the first hidden layer only")
def _(order, hidden):
    masks = [torch.ones(len(b), len(a)) for a, b in zip(hidden, hidden[1:])]
    return [(hidden[0][:, None] >= order).float(), *masks, (order[:, None] > hidden[-1]).float()]


@wrong("made_masks: turned only where the shape shows it")
def _(order, hidden):
    masks, layers = [], [order, *hidden, order]
    for k, (below, above) in enumerate(zip(layers, layers[1:])):
        mask = (below[:, None] < above if k == len(hidden) else below[:, None] <= above).float()
        masks.append(mask if mask.shape == (len(above), len(below)) else mask.T)
    return masks


@right("made_parents: walking down")
def _(masks):
    found = []
    for i in range(len(masks[-1])):
        units = {i}
        for mask in reversed(masks):
            units = {j for k in units for j in range(mask.shape[1]) if mask[k, j] > 0}
        found.append(sorted(units))
    return found


@right("made_parents: gradients of a linear network")
def _(masks):
    x = torch.ones(masks[0].shape[1], requires_grad=True)
    h = x
    for mask in masks:
        h = mask @ h
    rows = [torch.autograd.grad(h[i], x, retain_graph=True)[0] for i in range(len(h))]
    return [row.nonzero().flatten().tolist() for row in rows]


@right("made_parents: tuples, by NumPy and booleans")
def _(masks):
    import numpy as np

    reach = np.eye(masks[0].shape[1], dtype=bool)
    for mask in masks:
        reach = (mask.numpy() > 0).astype(int) @ reach.astype(int) > 0
    return tuple(tuple(map(int, np.flatnonzero(row))) for row in reach)


@wrong("made_parents: empty lists")
def _(masks):
    return [[] for _ in range(len(masks[-1]))]


@wrong("made_parents: what is not read")
def _(masks):
    paths = masks[0]
    for mask in masks[1:]:
        paths = mask @ paths
    return [(row == 0).nonzero().flatten().tolist() for row in paths]


@wrong("made_parents: the most frequent input only")
def _(masks):
    paths = masks[0]
    for mask in masks[1:]:
        paths = mask @ paths
    return [[int(row.argmax())] for row in paths]


@wrong("made_parents: two masks at least")
def _(masks):
    paths = masks[1] @ masks[0]
    for mask in masks[2:]:
        paths = mask @ paths
    return [row.nonzero().flatten().tolist() for row in paths]


@right("ensemble_loglik: binary cross-entropy, one order at a time")
def _(logits, x):
    each = [-F.binary_cross_entropy_with_logits(z, x, reduction="none").sum(1) for z in logits]
    return torch.logsumexp(torch.stack(each) - math.log(len(each)), 0)


@right("ensemble_loglik: the largest term taken out by hand")
def _(logits, x):
    each = torch.distributions.Bernoulli(logits=logits).log_prob(x.expand_as(logits)).sum(-1)
    top = each.max(0).values.detach()
    return top + (each - top).exp().mean(0).log()


@wrong("ensemble_loglik: the logarithm of the sigmoid", called="saturated")
def _(logits, x):
    p = torch.sigmoid(logits)
    each = torch.log(torch.where(x == 1, p, 1 - p)).sum(-1)
    return torch.logsumexp(each, 0) - math.log(len(logits))


@wrong("ensemble_loglik: binary cross-entropy of the probabilities")
def _(logits, x):
    each = torch.stack([-F.binary_cross_entropy(z.sigmoid(), x, reduction="none").sum(1) for z in logits])
    return torch.logsumexp(each, 0) - math.log(len(logits))


@wrong("ensemble_loglik: the worst order")
def _(logits, x):
    return F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1).amin(0)


@wrong("ensemble_loglik: zeros and ones exchanged")
def _(logits, x):
    return F.logsigmoid(torch.where(x == 0, logits, -logits)).sum(-1).logsumexp(0) - math.log(len(logits))


@wrong("ensemble_loglik: in bits")
def _(logits, x):
    each = F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1)
    return (each.logsumexp(0) - math.log(len(logits))) / math.log(2)


@wrong("ensemble_loglik: no gradient to the first order")
def _(logits, x):
    logits = torch.cat([logits[:1].detach(), logits[1:]])
    each = F.logsigmoid(torch.where(x == 1, logits, -logits)).sum(-1)
    return each.logsumexp(0) - math.log(len(logits))


@wrong("ensemble_loglik: infinite logarithms replaced afterwards")
def _(logits, x):
    z = (2 * x - 1) * logits
    plain = z.sigmoid().log()
    return torch.where(plain.isfinite(), plain, z).sum(-1).logsumexp(0) - math.log(len(logits))


@wrong("ensemble_loglik: an infinite mixture replaced afterwards")
def _(logits, x):
    log_p = F.logsigmoid((2 * x - 1) * logits).sum(-1)
    plain = log_p.exp().mean(0).log()
    return torch.where(plain.isfinite(), plain, log_p.logsumexp(0) - math.log(len(logits)))


def reads(conditionals, n):
    states = torch.tensor(list(itertools.product((0.0, 1.0), repeat=n)))
    table = torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        other = states.clone()
        other[:, j] = 1 - other[:, j]
        table[:, j] = ((conditionals(other) - conditionals(states)).abs() > 1e-6).any(0)
    return table


@right("find_order: every permutation tried")
def _(conditionals, n):
    table = reads(conditionals, n)
    for order in itertools.permutations(range(n)):
        if not any(table[i, j] for k, i in enumerate(order) for j in order[k:]):
            return list(order)
    return []


@right("find_order: the longest chain below each variable")
def _(conditionals, n):
    table = reads(conditionals, n)
    step, total = table.double(), table.double()
    for _ in range(n):
        total = ((total + total @ step) > 0).double()
    if total.diagonal().any():
        return []
    return sorted(range(n), key=lambda i: int(total[i].sum()))


def sorted_by(reads, n):
    """Kahn's way: whoever waits for nobody is next."""
    order, left = [], set(range(n))
    while left:
        ready = [i for i in sorted(left) if not any(reads[i, j] for j in left)]
        if not ready:
            return []
        order.append(ready[0])
        left.remove(ready[0])
    return order


def moved(conditionals, n, states):
    table = torch.zeros(n, n)
    for j in range(n):
        other = states.clone()
        other[:, j] = 1 - other[:, j]
        table[:, j] = (conditionals(other) - conditionals(states)).abs().amax(0)
    return table


@right("find_order: moves above the thousandth that is stated")
def _(conditionals, n):
    return sorted_by(moved(conditionals, n, torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)) > 1e-3, n)


@wrong("find_order: flips at all zeros and all ones", called=("few_states", None))
def _(conditionals, n):
    return sorted_by(moved(conditionals, n, torch.stack([torch.zeros(n), torch.ones(n)])) > 1e-6, n)


@wrong("find_order: four states drawn at random", called=("few_states", None))
def _(conditionals, n):
    return sorted_by(moved(conditionals, n, torch.randint(0, 2, (4, n)).float()) > 1e-6, n)


@wrong("find_order: gradients at a random point", called=("few_states", None))
def _(conditionals, n):
    point = torch.rand(n)
    return sorted_by(torch.autograd.functional.jacobian(lambda x: conditionals(x[None])[0], point).abs() > 1e-6, n)


@wrong("find_order: moves above a twentieth", called="strong_only")
def _(conditionals, n):
    return sorted_by(moved(conditionals, n, torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * n)) > 0.05, n)


@wrong("find_order: by how many variables a factor reads, empty where two read each other", called=("counted", None))
def _(conditionals, n):
    table = reads(conditionals, n)
    if (table & table.T).any():
        return []
    return sorted(range(n), key=lambda i: int(table[i].sum()))


@wrong("find_order: the natural order")
def _(conditionals, n):
    return list(range(n))


@wrong("find_order: always empty")
def _(conditionals, n):
    return []


@wrong("find_order: whatever reads the first variable comes first")
def _(conditionals, n):
    table = reads(conditionals, n)
    return sorted(range(n), key=lambda i: (not table[i, 0], i))


class MadeBase(AutoregressiveModel):
    """What the answers to MendedMADE share that is right."""

    def __init__(self, n, hidden):
        super().__init__(n)
        self.one, self.two = nn.Linear(n, hidden), nn.Linear(hidden, n)
        self.position = torch.arange(1, n + 1)
        self.degree = torch.arange(hidden) % max(1, n - 1) + 1

    def masked(self):
        one = self.one.weight.masked_fill(self.degree[:, None] < self.position, 0)
        return one, self.two.weight.masked_fill(self.position[:, None] <= self.degree, 0)

    def conditionals(self, x, context=None):
        one, two = self.masked()
        h = torch.relu(x.to(one.dtype) @ one.T + self.one.bias)
        return torch.distributions.Bernoulli(logits=h @ two.T + self.two.bias)

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.02)
        for _ in range(15):
            for batch in x[torch.randperm(len(x))].split(200):
                optimizer.zero_grad()
                (-self.log_prob(batch).mean()).backward()
                optimizer.step()


@right("MendedMADE: masks made each time, epochs")
class MadeEachTime(MadeBase):
    pass


@right("MendedMADE: the weights closed again after each step and whenever they are used")
class MadeParametrized(MadeBase):
    def conditionals(self, x, context=None):
        with torch.no_grad():
            for mine, masked in zip((self.one.weight, self.two.weight), self.masked(), strict=True):
                mine.copy_(masked)
        return self.conditional(self.two(torch.relu(self.one(x))))

    def fit(self, x):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.02, weight_decay=0)
        for _ in range(400):
            optimizer.zero_grad(set_to_none=False)
            loss = -self.conditionals(x).log_prob(x).sum(1).mean()
            loss.backward()
            optimizer.step()


@wrong("MendedMADE: other degrees, a sound model all the same")
class MadeOtherDegrees(MadeBase):
    def __init__(self, n, hidden):
        super().__init__(n, hidden)
        self.degree = self.degree.flip(0)


@wrong("MendedMADE: outputs that see one variable further than themselves")
class MadeOneFurther(MadeBase):
    def masked(self):
        return super().masked()[0], self.two.weight.masked_fill(self.position[:, None] + 1 < self.degree, 0)


@wrong("MendedMADE: a rate a thousand times too small")
class MadeTooSlow(MadeBase):
    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=2e-5)
        for _ in range(100):
            optimizer.zero_grad()
            (-self.log_prob(x[:200]).mean()).backward()
            optimizer.step()


@wrong("MendedMADE: only the output layer is trained")
class MadeHalf(MadeBase):
    def fit(self, x):
        optimizer = torch.optim.Adam([self.two.bias], lr=0.02)
        for _ in range(100):
            optimizer.zero_grad()
            (-self.log_prob(x[:500]).mean()).backward()
            optimizer.step()


@wrong("MendedMADE: sigmoids for ReLUs")
class MadeSigmoid(MadeBase):
    def conditionals(self, x, context=None):
        one, two = self.masked()
        return self.conditional((x @ one.T + self.one.bias).sigmoid() @ two.T + self.two.bias)


class Masked(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, n, order, degrees):
        super().__init__(n, order=order)
        position = [order.index(i) + 1 for i in range(n)]
        below, sizes = [position, *degrees], [n, *map(len, degrees), n]
        for j, above in enumerate([*degrees, [m - 1 for m in position]]):      # m - 1 >= below: the same as m > below
            self.register_buffer(f"mask{j}", torch.tensor([[float(a >= b) for b in below[j]] for a in above]))
        self.weights = nn.ParameterList([torch.randn(b, a) / a ** 0.5 for a, b in zip(sizes, sizes[1:])])
        self.biases = nn.ParameterList([torch.zeros(b) for b in sizes[1:]])

    def layer(self, j, h):
        return F.linear(h, self.weights[j] * getattr(self, f"mask{j}"), self.biases[j])

    def logits(self, x):
        for j in range(len(self.weights) - 1):
            x = torch.relu(self.layer(j, x))
        return self.layer(len(self.weights) - 1, x)

    def conditionals(self, x, context=None):
        return self.conditional(self.logits(x))

    @torch.no_grad()
    def draw(self, u):
        x = torch.zeros_like(u)
        for i in self.order.tolist():
            x[:, i] = (u[:, i] < torch.sigmoid(self.logits(x)[:, i])).float()
        return x

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.02)
        for _ in range(120):
            loss = F.binary_cross_entropy_with_logits(self.logits(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@right("OwnMADE: masks entry by entry, the loss of all rows at once")
class EntryByEntry(Masked):
    pass


@right("OwnMADE: drawn through the base class, torch's own start, batches of 250")
class ThroughTheBase(Masked):
    def __init__(self, n, order, degrees):
        super().__init__(n, order, degrees)
        for W in self.weights:
            nn.init.kaiming_uniform_(W, a=5 ** 0.5)

    def draw(self, u):
        return self.draw_all(1 - u[:, self.order, None])

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        for _ in range(30):
            for rows in torch.randperm(len(x)).split(250):
                loss = -self.log_prob(x[rows]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


@wrong("OwnMADE: the mask hides activations of the layer above")
class HidesUnits(Masked):
    def layer(self, j, h):
        return F.linear(h, self.weights[j], self.biases[j]) * (getattr(self, f"mask{j}").sum(1) > 0)


@wrong("OwnMADE: order and masks of the inverse, sound in itself", called="inverse")
class Inverse(Masked):
    def __init__(self, n, order, degrees):
        super().__init__(n, [order.index(i) for i in range(n)], degrees)


@wrong("OwnMADE: drawn from the last in the order to the first", called="zeros_before")
class Backwards(Masked):
    def draw(self, u):
        x = torch.zeros_like(u)
        for i in reversed(self.order.tolist()):
            x[:, i] = (u[:, i] < self.conditionals(x).probs[:, i]).float()
        return x


@wrong("OwnMADE: the columns of u in the order of the draws", called="columns_by_step")
class ByStep(Masked):
    def draw(self, u):
        x = torch.zeros_like(u)
        for i, column in zip(self.order.tolist(), u.T):
            x[:, i] = (column < self.conditionals(x).probs[:, i]).float()
        return x


@wrong("OwnMADE: a probability joins instead of the draw")
class Expected(Masked):
    def draw(self, u):
        x = torch.zeros_like(u)
        for i in self.order.tolist():
            x[:, i] = self.conditionals(x).probs[:, i]
        return (u < x).float()


@wrong("OwnMADE: the masks are lost in training")
class Unmasked(Masked):
    def fit(self, x):
        for j in range(len(self.weights)):
            getattr(self, f"mask{j}").fill_(1)
        super().fit(x)


@wrong("OwnMADE: a threshold of one half in training")
class Thresholded(Masked):
    def fit(self, x):
        super().fit((x.mean(0) > 0.5).float().expand_as(x))
