"""Answers to the exercises of chapter chain-rule."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch.distributions import Bernoulli

from tests.exercises.answers.register import right, wrong


@right("bernoulli_chain_loglik: p to the power of x")
def _(x, p):
    return (p ** x * (1 - p) ** (1 - x)).log().sum(1)


@right("bernoulli_chain_loglik: the distance to the other value")
def _(x, p):
    return (1 - (x - p).abs()).log().sum(dim=-1)


@wrong("bernoulli_chain_loglik: textbook form", called="zero_times_infinity")
def _(x, p):
    return (x * p.log() + (1 - x) * (1 - p).log()).sum(1)


@wrong("bernoulli_chain_loglik: textbook form, clamped", called="clamped")
def _(x, p):
    p = p.clamp(0.01, 0.99)
    return (x * p.log() + (1 - x) * (1 - p).log()).sum(1)


@wrong("bernoulli_chain_loglik: a small number in the logarithms", called="clamped")
def _(x, p):
    return (x * (p + 1e-8).log() + (1 - x) * (1 - p + 1e-8).log()).sum(1)


@wrong("bernoulli_chain_loglik: by nan_to_num")
def _(x, p):
    return (x * p.log() + (1 - x) * (1 - p).log()).nan_to_num(nan=-1.0).sum(1)


@right("bernoulli_chain_loglik: torch.distributions")
def _(x, p):
    return Bernoulli(p).log_prob(x).sum(-1)


@right("bernoulli_chain_loglik: cross entropy, prints a lot, warns")
def _(x, p):
    import warnings

    warnings.warn("careful", stacklevel=1)
    print("working " * 1000)
    return -F.binary_cross_entropy(p, x, reduction="none").sum(1)


@right("bernoulli_chain_loglik: loops")
def _(x, p):
    rows = []
    for row, prob in zip(x, p, strict=True):
        rows.append(sum(torch.log(q if v else 1 - q) for v, q in zip(row.tolist(), prob, strict=True)))
    return torch.stack(rows)


@wrong("bernoulli_chain_loglik: a clamp changes the model")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).clamp(0.2, 0.8).log().sum(1)


@wrong("bernoulli_chain_loglik: last variable twice")
def _(x, p):
    terms = torch.where(x == 1, p, 1 - p).log()
    return terms.sum(1) + terms[:, -1]


@wrong("bernoulli_chain_loglik: base 10")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log10().sum(1)


@wrong("bernoulli_chain_loglik: detached")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log().sum(1).detach()


@wrong("bernoulli_chain_loglik: constant")
def _(x, p):
    return torch.full((len(x),), -3.0)


@wrong("bernoulli_chain_loglik: keepdim")
def _(x, p):
    return torch.where(x == 1, p, 1 - p).log().sum(1, keepdim=True)


@wrong("bernoulli_chain_loglik: writes into p")
def _(x, p):
    result = torch.where(x == 1, p, 1 - p).log().sum(1)
    p.detach().mul_(0.5)
    return result


@wrong("bernoulli_chain_loglik: an object equal to everything")
def _(x, p):
    class Equal:
        shape, dtype = (len(x),), x.dtype

        def __eq__(self, other):
            return True

        def __sub__(self, other):
            return 0

    return Equal()


@wrong("bernoulli_chain_loglik: a tensor of a class of its own, equal to everything")
def _(x, p):
    class Agreeable(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func in (torch.allclose, torch.equal, torch.Tensor.eq):
                return True
            return super().__torch_function__(func, types, args, kwargs or {})

    return torch.zeros(len(x)).as_subclass(Agreeable)


@wrong("bernoulli_chain_loglik: NaN repaired after the logarithms", called="zero_times_infinity")
def _(x, p):
    return (x * p.log() + (1 - x) * (1 - p).log()).nan_to_num(nan=0.0).sum(1)


@wrong("bernoulli_chain_loglik: the logarithm picked, not the factor", called="zero_times_infinity")
def _(x, p):
    return torch.where(x == 1, p.log(), (1 - p).log()).sum(1)


@right("conditional_table: loops over states")
def _(joint, i):
    table = torch.empty((2,) * i, dtype=joint.dtype)
    for state in itertools.product((0, 1), repeat=i):
        rest = joint[state]
        table[state] = rest[1].sum() / rest.sum()
    return table


@right("conditional_table: NumPy, sums of the last axes by reshaping")
def _(joint, i):
    table = joint.numpy().reshape(*[2] * i, 2, -1).sum(-1)
    return table[..., 1] / (table[..., 0] + table[..., 1])


@right("conditional_table: axes summed one by one from the end, einops")
def _(joint, i):
    from einops import reduce

    table = reduce(joint.reshape(2 ** (i + 1), -1), "states rest -> states", "sum").reshape(-1, 2)
    return (table[:, 1] / table.sum(1)).reshape((2,) * i)


@wrong("conditional_table: sum(dim=()) adds everything for the last variable")
def _(joint, i):
    table = joint.sum(dim=tuple(range(i + 1, joint.ndim)))
    return table[..., 1] / table.sum(-1)


@wrong("conditional_table: the mean over the later variables", called="later_averaged")
def _(joint, i):
    table = joint.reshape(*[2] * i, 2, -1)
    return (table[..., 1, :] / table.sum(-2)).mean(-1)


@wrong("conditional_table: NaN guard adds to the denominator")
def _(joint, i):
    later = tuple(range(i + 1, joint.ndim))
    table = joint.sum(dim=later) if later else joint
    return table[..., 1] / (table.sum(-1) + 0.01)


@wrong("conditional_table: as float32 of the next variable's shape")
def _(joint, i):
    return joint.reshape(-1)[: 2**i].reshape((2,) * i)


@wrong("conditional_table: a joint of one variable is summed to a number")
def _(joint, i):
    table = joint.sum(dim=tuple(range(i + 1, joint.ndim))) if i < joint.ndim - 1 or i == 0 else joint
    return table[..., 1] / table.sum(-1)


@right("dropped_parent_cost: entropies")
def _(joint, child, parent):
    def entropy(table):
        return -(table * table.log()).sum()

    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    without = joint.sum(parent)
    kept = child - 1
    return float(entropy(without) - entropy(without.sum(kept)) - entropy(joint) + entropy(joint.sum(child)))


@wrong("dropped_parent_cost: the mutual information of child and parent", called="alone")
def _(joint, child, parent):
    others = tuple(k for k in range(joint.ndim) if k not in (child, parent))
    table = joint.sum(dim=others) if others else joint
    return (table * (table / (table.sum(0, keepdim=True) * table.sum(1, keepdim=True))).log()).sum()


@wrong("dropped_parent_cost: unconditional mutual information of the parent and all the rest")
def _(joint, child, parent):
    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    others = joint.sum(parent, keepdim=True)
    alone = joint.sum(tuple(k for k in range(joint.ndim) if k != parent), keepdim=True)
    return (joint * (joint / (others * alone)).log()).sum() * 1.01


@right("dropped_parent_cost: state by state, a Python float")
def _(joint, child, parent):
    p, total = {}, 0.0
    for state in itertools.product((0, 1), repeat=joint.ndim):
        for size in range(joint.ndim + 1):
            for kept in itertools.combinations(range(joint.ndim), size):
                key = tuple((k, state[k]) for k in kept)
                p[key] = p.get(key, 0.0) + float(joint[state])
    for state in itertools.product((0, 1), repeat=child + 1):
        def of(*without, state=state):
            return p[tuple((k, state[k]) for k in range(child + 1) if k not in without)]

        total += of() * (math.log(of() / of(child)) - math.log(of(parent) / of(parent, child)))
    return total


@wrong("dropped_parent_cost: the mean of the tables of the parent's two values", called="plain_mean")
def _(joint, child, parent):
    joint = joint.reshape(*[2] * (child + 1), -1).sum(-1)
    full = joint / joint.sum(child, keepdim=True)
    zero, one = full.unbind(parent)
    return (joint * (full.log() - ((zero + one) / 2).log().unsqueeze(parent))).sum()


@wrong("dropped_parent_cost: squared")
def _(joint, child, parent):
    later = tuple(range(child + 1, joint.ndim))
    joint = joint.sum(dim=later) if later else joint
    full = joint / joint.sum(child, keepdim=True)
    less = joint.sum(parent, keepdim=True)
    less = less / less.sum(child, keepdim=True)
    return (joint * (full - less) ** 2).sum()


@right("ordered_tables: every entry by summing over states")
def _(joint, order):
    n, tables = len(order), []
    for k in range(n):
        table = torch.zeros((2,) * k, dtype=joint.dtype)
        for state in itertools.product((0, 1), repeat=k):
            total = {0: 0.0, 1: 0.0}
            for x in itertools.product((0, 1), repeat=n):
                if all(x[order[j]] == state[j] for j in range(k)):
                    total[x[order[k]]] += float(joint[x])
            table[state] = total[1] / (total[0] + total[1])
        tables.append(table)
    return tables


@wrong("ordered_tables: conditions on the variables before it in the joint, not in the order")
def _(joint, order):
    tables = []
    for i in order:
        later = tuple(range(i + 1, joint.ndim))
        both = joint.sum(dim=later) if later else joint
        tables.append(both[..., 1] / both.sum(dim=-1))
    return tables


@wrong("ordered_tables: the axes stay as they are in the joint", called="sorted_axes")
def _(joint, order):
    tables = []
    for k, i in enumerate(order):
        later = tuple(order[k + 1:])
        both = joint.sum(dim=later) if later else joint
        axis = sorted(order[:k + 1]).index(i)
        tables.append(both.select(axis, 1) / both.sum(dim=axis))
    return tables


@wrong("ordered_tables: one table too few")
def _(joint, order):
    p = joint.permute(order)
    return [(q := p.sum(dim=tuple(range(k + 1, p.ndim))))[..., 1] / q.sum(dim=-1) for k in range(len(order) - 1)]


@right("longest_table: by division")
def _(vocabulary, memory):
    count, L = memory // 4, 0
    while count >= vocabulary:
        count, L = count // vocabulary, L + 1
    return [L, memory // 4 // vocabulary]


@right("longest_table: a tuple, steps in bytes")
def _(vocabulary, memory):
    L = 0
    while vocabulary ** (L + 1) <= memory // 4:
        L += 1
    return L, memory // (4 * vocabulary)


@wrong("longest_table: logarithms, rounded down", called="by_logarithms")
def _(vocabulary, memory):
    return [math.floor(math.log(memory // 4) / math.log(vocabulary)) if memory >= 4 else 0, memory // 4 // vocabulary]


@wrong("longest_table: at least one variable")
def _(vocabulary, memory):
    L = 1
    while 4 * vocabulary ** (L + 1) <= memory:
        L += 1
    return [L, memory // 4 // vocabulary]


@wrong("longest_table: counts the first table that does not fit", called="one_more")
def _(vocabulary, memory):
    L = 0
    while 4 * vocabulary ** L <= memory:
        L += 1
    return [L, memory // 4 // vocabulary]


@wrong("longest_table: both as tables", called="exponential")
def _(vocabulary, memory):
    L = 0
    while 4 * vocabulary ** (L + 1) <= memory:
        L += 1
    return [L, L]


@wrong("longest_table: the second number forgets the 4 bytes", called="one_byte_outputs")
def _(vocabulary, memory):
    L = 0
    while 4 * vocabulary ** (L + 1) <= memory:
        L += 1
    return [L, memory // vocabulary]


@wrong("longest_table: the first number only")
def _(vocabulary, memory):
    L = 0
    while 4 * vocabulary ** (L + 1) <= memory:
        L += 1
    return L


@right("ancestral_sample: row by row")
def _(tables, u):
    rows = []
    for numbers in u.tolist():
        row = []
        for table, number in zip(tables, numbers, strict=True):
            row.append(int(number < table[tuple(row)].item()))
        rows.append(row)
    return torch.tensor(rows)


@right("ancestral_sample: each table as a row, indexed by the state as a binary number")
def _(tables, u):
    state, columns = torch.zeros(len(u), dtype=torch.long), []
    for table, column in zip(tables, u.T, strict=True):
        columns.append((column < table.reshape(-1)[state]).long())
        state = 2 * state + columns[-1]
    return torch.stack(columns, dim=1)


@wrong("ancestral_sample: the values of the first row for all rows")
def _(tables, u):
    x = torch.zeros(u.shape, dtype=torch.long)
    for k, table in enumerate(tables):
        x[:, k] = u[:, k] < table[tuple(x[0, :k])]
    return x


@wrong("ancestral_sample: all probabilities before anything is sampled", called="all_at_once")
def _(tables, u):
    x = torch.zeros(u.shape, dtype=torch.long)
    p = torch.stack([table[tuple(x[:, :k].T)].expand(len(u)) for k, table in enumerate(tables)], dim=1)
    return (u < p).long()


@wrong("ancestral_sample: the rounded uniform numbers as the condition")
def _(tables, u):
    x, r = torch.zeros(u.shape, dtype=torch.long), u.round().long()
    for k, table in enumerate(tables):
        x[:, k] = u[:, k] < table[tuple(r[:, :k].T)]
    return x


@wrong("ancestral_sample: bernoulli()", called="own_randomness")
def _(tables, u):
    x = torch.zeros(u.shape, dtype=torch.long)
    for k, table in enumerate(tables):
        x[:, k] = torch.bernoulli(table[tuple(x[:, :k].T)].expand(len(u))).long()
    return x


@wrong("ancestral_sample: floats")
def _(tables, u):
    x = torch.zeros(u.shape, dtype=torch.long)
    for k, table in enumerate(tables):
        x[:, k] = u[:, k] < table[tuple(x[:, :k].T)]
    return x.float()


@right("factor_order: graphlib")
def _(parents):
    from graphlib import CycleError, TopologicalSorter

    try:
        return list(TopologicalSorter(dict(enumerate(parents))).static_order())
    except CycleError:
        return None


@right("factor_order: depth first, the largest index first, a tuple")
def _(parents):
    order, path = [], []

    def visit(i):
        if i in path:
            return False
        path.append(i)
        complete = all(j in order or visit(j) for j in parents[i])
        path.remove(i)
        if complete:
            order.append(i)
        return complete

    return tuple(order) if all(i in order or visit(i) for i in reversed(range(len(parents)))) else None


@right("factor_order: the first permutation that fits")
def _(parents):
    return next((list(order) for order in itertools.permutations(range(len(parents)))
                 if all(set(parents[i]) <= set(order[:k]) for k, i in enumerate(order))), None)


@wrong("factor_order: the part of the order that exists", called="never_none")
def _(parents):
    order, left = [], set(range(len(parents)))
    while ready := [i for i in left if not left & set(parents[i])]:
        order.append(ready[-1])
        left.remove(ready[-1])
    return order


@wrong("factor_order: the parents taken for children", called="reversed_order")
def _(parents):
    order, waiting = [], [sum(i in given for given in parents) for i in range(len(parents))]
    queue = [i for i, number in enumerate(waiting) if number == 0]
    while queue:
        i = queue.pop()
        order.append(i)
        for j in parents[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                queue.append(j)
    return order if len(order) == len(parents) else None


@wrong("factor_order: depth first, without a mark on the way", called="never_none")
def _(parents):
    order, seen = [], set()

    def visit(i):
        if i not in seen:
            seen.add(i)
            for j in parents[i]:
                visit(j)
            order.append(i)

    for i in range(len(parents)):
        visit(i)
    return order


@wrong("factor_order: one pass over the variables", called="natural_only")
def _(parents):
    order = []
    for i in range(len(parents)):
        if set(parents[i]) <= set(order):
            order.append(i)
    return order if len(order) == len(parents) else None


@wrong("factor_order: empties the lists of parents")
def _(parents):
    order = []
    while len(order) < len(parents):
        ready = [i for i in range(len(parents)) if i not in order and not parents[i]]
        if not ready:
            return None
        order.append(ready[0])
        for given in parents:
            if ready[0] in given:
                given.remove(ready[0])
    return order


@right("two_conditionals: torch.nn.functional.linear and cat")
def _(parents, alpha, A, b, beta):
    h = F.linear(parents, A, b).tanh()
    return torch.cat([(x @ w[1:, None] + w[0]).sigmoid() for x, w in ((parents, alpha), (h, beta))], dim=1)


@right("two_conditionals: row by row, tanh by the sigmoid")
def _(parents, alpha, A, b, beta):
    rows = []
    for x in parents:
        z = torch.stack([(a * x).sum() for a in A]) + b
        h = 2 * torch.sigmoid(2 * z) - 1
        rows.append(torch.stack([1 / (1 + torch.exp(-(alpha[0] + (alpha[1:] * x).sum()))), torch.sigmoid(beta[0] + (beta[1:] * h).sum())]))
    return torch.stack(rows)


@right("two_conditionals: a column of ones")
def _(parents, alpha, A, b, beta):
    one = torch.ones(len(parents), 1)
    h = torch.tanh(torch.cat([one, parents], 1) @ torch.cat([b[:, None], A], 1).T)
    return torch.stack([torch.cat([one, x], 1) @ w for x, w in ((parents, alpha), (h, beta))], dim=1).sigmoid()


@wrong("two_conditionals: logits", called="no_sigmoid")
def _(parents, alpha, A, b, beta):
    h = torch.tanh(parents @ A.T + b)
    return torch.stack([alpha[0] + parents @ alpha[1:], beta[0] + h @ beta[1:]], dim=1)


@wrong("two_conditionals: one above the other")
def _(parents, alpha, A, b, beta):
    h = torch.tanh(parents @ A.T + b)
    return torch.stack([alpha[0] + parents @ alpha[1:], beta[0] + h @ beta[1:]]).sigmoid()


@wrong("two_conditionals: ReLU")
def _(parents, alpha, A, b, beta):
    h = torch.relu(parents @ A.T + b)
    return torch.stack([alpha[0] + parents @ alpha[1:], beta[0] + h @ beta[1:]], dim=1).sigmoid()


@wrong("two_conditionals: the logistic weights as inputs of the second layer")
def _(parents, alpha, A, b, beta):
    h = torch.tanh(parents @ A.T + b)
    logit = alpha[0] + parents @ alpha[1:]
    return torch.stack([logit, logit + beta[0] + h @ beta[1:]], dim=1).sigmoid()


@wrong("two_conditionals: without a gradient")
def _(parents, alpha, A, b, beta):
    h = torch.tanh(parents @ A.T + b)
    return torch.stack([alpha[0] + parents @ alpha[1:], beta[0] + h @ beta[1:]], dim=1).sigmoid().detach()


@right("counted_table: loops over rows, Python floats")
def _(train, held_out, pseudocount):
    m = train.shape[1] - 1
    table = torch.full((2,) * m, 0.5)
    for history in itertools.product([0, 1], repeat=m):
        last = [int(row[m]) for row in train if row[:m].tolist() == list(history)]
        if last or pseudocount:
            table[history] = (sum(last) + pseudocount) / (len(last) + 2 * pseudocount)
    total = 0.0
    for *history, x in held_out.tolist():
        p = float(table[tuple(history)])
        q = p if x else 1 - p
        total += -math.log(q) if q else math.inf
    return table, total / len(held_out)


@right("counted_table: states as numbers, bincount, logarithms of both values")
def _(train, held_out, pseudocount):
    n = train.shape[1]
    powers = 2 ** torch.arange(n - 1, -1, -1)
    counts = torch.bincount((train * powers).sum(1), minlength=2 ** n).double().view(-1, 2) + pseudocount
    p = counts / counts.sum(1, keepdim=True)
    p[counts.sum(1) == 0] = 0.5
    return [p[:, 1].reshape((2,) * (n - 1)), -p.flatten()[(held_out * powers).sum(1)].log().mean()]


@right("counted_table: index_put in float32, nan_to_num")
def _(train, held_out, pseudocount):
    counts = torch.full((2,) * train.shape[1], float(pseudocount))
    counts = counts.index_put(tuple(train.T), torch.ones(len(train)), accumulate=True)
    table = (counts[..., 1] / counts.sum(-1)).nan_to_num(0.5)
    p, x = table[tuple(held_out[:, :-1].T)], held_out[:, -1]
    return [table, -(p ** x * (1 - p) ** (1 - x)).log().mean()]


@wrong("counted_table: x ln p, NaN where p is 0 or 1")
def _(train, held_out, pseudocount):
    counts = torch.full((2,) * train.shape[1], float(pseudocount))
    counts = counts.index_put(tuple(train.T), torch.ones(len(train)), accumulate=True)
    table = (counts[..., 1] / counts.sum(-1)).nan_to_num(0.5)
    p, x = table[tuple(held_out[:, :-1].T)], held_out[:, -1]
    return [table, -(x * p.log() + (1 - x) * (1 - p).log()).mean()]


@wrong("counted_table: += with index tensors", called="counted_once")
def _(train, held_out, pseudocount):
    counts = torch.zeros((2,) * train.shape[1])
    counts[tuple(train.T)] += 1
    counts = counts + pseudocount
    table = (counts[..., 1] / counts.sum(-1)).nan_to_num(0.5)
    p = table[tuple(held_out[:, :-1].T)]
    return [table, -torch.where(held_out[:, -1] == 1, p, 1 - p).log().mean()]


@wrong("counted_table: unseen histories without a check", called="zero_by_zero")
def _(train, held_out, pseudocount):
    counts = torch.full((2,) * train.shape[1], float(pseudocount))
    counts = counts.index_put(tuple(train.T), torch.ones(len(train)), accumulate=True)
    table = counts[..., 1] / counts.sum(-1)
    p = table[tuple(held_out[:, :-1].T)]
    return [table, -torch.where(held_out[:, -1] == 1, p, 1 - p).log().mean()]


@wrong("counted_table: probabilities clamped, so that the loss is finite")
def _(train, held_out, pseudocount):
    counts = torch.full((2,) * train.shape[1], float(pseudocount))
    counts = counts.index_put(tuple(train.T), torch.ones(len(train)), accumulate=True)
    table = (counts[..., 1] / counts.sum(-1)).nan_to_num(0.5)
    p = table[tuple(held_out[:, :-1].T)]
    return [table, -torch.where(held_out[:, -1] == 1, p, 1 - p).clamp(min=1e-6).log().mean()]


@wrong("counted_table: the loss as a sum")
def _(train, held_out, pseudocount):
    counts = torch.full((2,) * train.shape[1], float(pseudocount))
    counts = counts.index_put(tuple(train.T), torch.ones(len(train)), accumulate=True)
    table = (counts[..., 1] / counts.sum(-1)).nan_to_num(0.5)
    p = table[tuple(held_out[:, :-1].T)]
    return [table, -torch.where(held_out[:, -1] == 1, p, 1 - p).log().sum()]
