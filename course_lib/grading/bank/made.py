"""Chapter 06: MADE's masks, the parents that masks leave, several orders as one model, and the order of an unknown one."""
from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.grading.bank.draws import bits, integer, normal, uneven
from course_lib.grading.exercise import Exercise

# The masks

made_masks = Exercise(
    "made_masks", chapter="06", title="The masks of MADE",
    contract="order (D,) is a permutation of 1..D: order[i] is the position of x_i, 1 if it is drawn first. hidden is a "
             "list of tensors (H,), the degrees of each hidden layer, in 1..D-1. Return a list of float masks (out, in), "
             "one for each layer of connections: 1 where m_out >= m_in, and into the output where order_out > m_in.",
    points=["made"], difficulty=2, minutes=20)


@made_masks.reference(
    output_not_strict="Each variable can reach its own output: into the output the inequality is strict.",
    hidden_strict="Connections between equal degrees are missing below the output. There a unit may read its own degree.",
    input_strict="A unit of degree m does not read the variable at position m. It may depend on the first m variables.",
    inverse="Your inputs and outputs have the degrees of the inverse permutation: order[i] is the position of x_i, not the "
            "variable that is drawn i-th.",
    natural_input="Your inputs have the degrees 1..D whatever the order is.",
    natural_output="Your outputs have the degrees 1..D whatever the order is.",
    reversed="Your units read those of higher degrees. They may read the same and lower ones.",
    transposed="Your masks have the shape (in, out). A row belongs to a unit of the layer above: (out, in).",
    no_output="The mask into the output is missing: with L hidden layers there are L + 1 masks.",
    from_zero="Your inputs have the degrees 0..D-1. Positions count from 1 here, so that the first variable has degree 1.",
    booleans="Your masks are right, but they are booleans. Floats are asked for, to be multiplied by the weights.",
)
def made_masks_reference(order, hidden, bugs=frozenset()):
    if "inverse" in bugs:
        order = order.argsort() + 1
    natural = torch.arange(1, len(order) + 1)
    at_input = natural if "natural_input" in bugs else order - 1 if "from_zero" in bugs else order
    at_output = natural if "natural_output" in bugs else order
    below, masks = [at_input, *hidden], []
    for depth, above in enumerate(hidden):
        strict = "hidden_strict" in bugs or "input_strict" in bugs and depth == 0
        masks.append(above[:, None] > below[depth] if strict else above[:, None] >= below[depth])
    last = at_output[:, None]
    masks.append(last >= below[-1] if "output_not_strict" in bugs else last > below[-1])
    if "reversed" in bugs:
        masks = [above[:, None] <= lower for above, lower in zip(hidden, below)] + [last < below[-1]]
    if "no_output" in bugs:
        masks = masks[:-1]
    if "booleans" in bugs:
        return masks
    return [(mask.T if "transposed" in bugs else mask).float().contiguous() for mask in masks]


def permutation(generator, D: int) -> Tensor:
    """A random order of 0..D-1 that is not its own inverse."""
    while True:
        order = torch.randperm(D, generator=generator)
        if not torch.equal(order, order.argsort()):
            return order


def degrees(generator, D: int, H: int) -> Tensor:
    """Random degrees in 1..D-1, both ends among them."""
    drawn = torch.randint(1, D, (H,), generator=generator)
    drawn[torch.randperm(H, generator=generator)[:2]] = torch.tensor([1, D - 1])
    return drawn


def mask_cases(generator):
    found = []
    for depth in (1, 2, 3):
        D, *widths = uneven(generator, (4, 6), *[(3, 9)] * depth)
        found.append((permutation(generator, D) + 1, [degrees(generator, D, H) for H in widths]))
    return found


made_masks.compare("values", mask_cases, points=5)
made_masks.unchanged(mask_cases)
made_masks.hint(
    "You do not see where the order comes in.",
    "It gives the degrees of both ends: the input x_i and the output for x_i have degree order[i]. The hidden layers "
    "bring theirs along.")
made_masks.hint(
    "You are writing two loops for each mask.",
    "above[:, None] >= below compares every unit of one layer with every unit of the next: shape (out, in).")
made_masks.hint(
    "The first variable's output is connected to something.",
    "Its degree is 1, and no hidden unit has a smaller one. With a strict inequality into the output its row is empty.")

# What the masks leave

made_parents = Exercise(
    "made_parents", chapter="06", title="Predict, then check: who reads whom",
    contract="masks is a list of masks (out, in) of 0 and 1, from the input on; the first has D columns, the last D rows. "
             "Return a list of D lists: for each output, the inputs from which a path of connections leads to it, sorted, "
             "counted from 0. The masks need not be MADE's.",
    points=["made"], difficulty=2, minutes=15, kind="measure")


@made_parents.reference(
    children="Your lists go the other way: entry i should hold the inputs that reach output i, not the outputs that input "
             "i reaches.",
    last_layer="Your lists hold units of the last hidden layer. Follow the paths down to the inputs.",
    repeated="An input that is reached by several paths stands several times in your lists. Once is enough.",
    from_one="You count from 1. Inputs count from 0 here, as in the tensors.",
    not_itself="An input that reaches its own output is missing. In a sound MADE that never happens, but these masks may be "
               "broken: report what is there.",
    natural_only="Your lists hold smaller numbers than the output's own only. Which inputs come before is a matter of the "
                 "order, and the masks decide.",
    single_path="You list inputs with exactly one path. One path is enough, and more do no harm.",
    all_inputs="Every list of yours holds all inputs. The masks have removed some paths.",
)
def made_parents_reference(masks, bugs=frozenset()):
    paths = masks[0].double()
    for mask in masks[1:]:
        paths = mask.double() @ paths                                          # (out, D): number of paths
    if "last_layer" in bugs:
        paths = masks[-1].double()
    if "children" in bugs:
        paths = paths.T
    if "all_inputs" in bugs:
        paths = torch.ones_like(paths)
    if "single_path" in bugs:
        paths = torch.where(paths == 1, paths, 0)
    if "not_itself" in bugs:
        paths = paths.clone().fill_diagonal_(0)
    if "natural_only" in bugs:
        paths = paths.tril(-1)
    shift = 1 if "from_one" in bugs else 0
    often = "repeated" in bugs
    return [[j + shift for j, c in enumerate(row) for _ in range(int(c) if often else c > 0)] for row in paths.tolist()]


def parents_cases(generator):
    found = []
    for depth, broken in ((1, False), (2, False), (2, True)):
        D, *widths = uneven(generator, (4, 5), *[(6, 9)] * depth)
        masks = made_masks_reference(permutation(generator, D) + 1, [degrees(generator, D, H) for H in widths])
        if broken:
            keep = torch.rand(masks[1].shape, generator=generator) < 0.5          # random instead of by degree
            masks[1] = keep.float()
            masks[-1][integer(generator, 0, D - 1)] = 1.0
        found.append((masks,))
    return found


made_parents.compare("values", parents_cases, points=4)
made_parents.unchanged(parents_cases)
made_parents.hint(
    "You follow paths one by one and lose track.",
    "Matrix products count paths: entry (i, j) of last @ ... @ first is the number of ways from input j to output i.")
made_parents.hint(
    "The shapes do not fit.",
    "Masks are (out, in), so the last one stands on the left: masks[1] @ masks[0], then masks[2] @ that.")
made_parents.hint(
    "Your lists hold the same number again and again.",
    "A count above 1 means several paths. Ask whether it is above 0.")

# Several orders as one model

ensemble_loglik = Exercise(
    "ensemble_loglik", chapter="06", title="Several orders, one likelihood",
    contract="logits (K, B, D): the logits of all D factors of B rows under each of K orders; x (B, D) holds 0 and 1. Each "
             "order k is a model p_k. Return the log-likelihood of each row under p(x) = (1/K) sum_k p_k(x), shape (B,), "
             "in nats. It must stay finite for thousands of variables.",
    points=["made-orderings"], difficulty=3, minutes=20)


@ensemble_loglik.reference(
    averaged_logits="You average the logits of the orders. Then each variable helps to predict the others both ways, and "
                    "the probabilities of all x sum to more than 1.",
    per_variable="You average the orders variable by variable. Multiply the factors of one order first: what is averaged is "
                 "the joint probability.",
    averaged_logs="You average log-probabilities over the orders. The logarithm comes after the average.",
    no_log_K="Your values are too large by log K: the mixture has weights 1/K.",
    over_K="You divide the logsumexp by K. The weight 1/K stands inside the logarithm: subtract log K.",
    best_only="Your values are those of the best order alone. All K take part.",
    negated="Your values are positive: this is the loss. The log-likelihood is asked for.",
    ones_only="You add up the variables that are 1 only. A 0 has a probability too.",
    mean_of_variables="You average over the variables. The log-likelihood of a row is their sum.",
    underflow="Your probabilities underflow to 0 when there are many variables. Stay in logarithms: use logsumexp.",
)
def ensemble_loglik_reference(logits, x, bugs=frozenset()):
    if "averaged_logits" in bugs:
        logits = logits.mean(dim=0, keepdim=True)
    K = len(logits)
    factors = F.logsigmoid(torch.where(x == 1, logits, -logits))               # (K, B, D), log p_k(x_i | before)
    if "ones_only" in bugs:
        factors = factors * x
    if "per_variable" in bugs:
        return (factors.logsumexp(dim=0) - math.log(K)).sum(dim=-1)
    each = factors.mean(dim=-1) if "mean_of_variables" in bugs else factors.sum(dim=-1)      # (K, B)
    if "averaged_logs" in bugs:
        return each.mean(dim=0)
    if "best_only" in bugs:
        return each.amax(dim=0)
    if "underflow" in bugs:
        return each.exp().mean(dim=0).log()
    total = each.logsumexp(dim=0)
    result = total if "no_log_K" in bugs else total / K if "over_K" in bugs else total - math.log(K)
    return -result if "negated" in bugs else result


def ensemble_cases(generator):
    sizes = [uneven(generator, (2, 4), (3, 5), (4, 7)), [3, 1, integer(generator, 4, 6)], [2, 4, 1]]
    return [(normal(generator, K, B, D, scale=1.5), bits(generator, B, D)) for K, B, D in sizes]


def long_cases(generator):
    K, B, D = integer(generator, 2, 4), 3, integer(generator, 1500, 2500)
    return [(normal(generator, K, B, D), bits(generator, B, D))]


ensemble_loglik.compare("values", ensemble_cases, points=4)
ensemble_loglik.compare("many variables", long_cases, points=1)
ensemble_loglik.gradient("gradient", ensemble_cases, wrt=(0,), points=1)
ensemble_loglik.unchanged(ensemble_cases)
ensemble_loglik.hint(
    "You do not know over what to sum first.",
    "First over the variables: that gives log p_k(x) for each order, (K, B). Then combine the K numbers of a row.")
ensemble_loglik.hint(
    "Your result is better than every single order.",
    "A mixture of K models cannot beat the best of them on a row. Something was averaged before the factors of an order "
    "were multiplied.")
ensemble_loglik.hint(
    "With many variables you get minus infinity.",
    "exp of -1000 is 0 in floating point. torch.logsumexp takes the largest term out before it exponentiates.")

# The order of a model that is a function

find_order = Exercise(
    "find_order", chapter="06", title="Find the order, or show that there is none",
    contract="conditionals is a function: for x (B, n) of 0 and 1 it returns (B, n), the probabilities that a model gives to "
             "x_i = 1; n is at most 6. If the model is autoregressive in some order, exactly one order fits: return it as "
             "a list, order[k] the variable drawn k-th, counted from 0. If none fits, return an empty list.",
    points=["made", "made-orderings"], difficulty=4, minutes=35, kind="find")


@find_order.reference(
    around_zero="You flip variables of the all-zero input only. Some connections show only when another variable is 1: try "
                "every state.",
    positions="You return the position of each variable. order[k] is the variable that is drawn k-th: the inverse.",
    backwards="Your order is reversed: a variable is drawn after those that it reads.",
    from_one="You count from 1. Variables count from 0 here, as in the tensors.",
    counted="You sort by how many variables each factor reads. Connections may be missing, so that a late variable can read "
            "fewer than an early one.",
    never_empty="You return an order for a model that has none: two of its factors wait for each other.",
    itself_ignored="You return an order for a model in which a factor reads its own variable. No order allows that.",
)
def find_order_reference(conditionals, n, bugs=frozenset()):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))        # (2^n, n)
    if "around_zero" in bugs:
        states = states[:1]
    before, reads = conditionals(states), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        reads[:, j] = (conditionals(flipped) - before).abs().amax(dim=0) > 1e-6
    own = reads.diagonal().any() and "itself_ignored" not in bugs
    reads.fill_diagonal_(False)
    order, left = [], set(range(n))
    while left:
        waits = {i: len([j for j in left if reads[i, j]]) for i in sorted(left)}
        ready = min(waits, key=waits.get)
        if waits[ready] and "never_empty" not in bugs:
            return []
        order.append(ready)
        left.remove(ready)
    if own and "never_empty" not in bugs:
        return []
    if "counted" in bugs:
        order = sorted(range(n), key=lambda i: int(reads[i].sum()))
    if "backwards" in bugs:
        order = order[::-1]
    if "positions" in bugs:
        order = [order.index(i) for i in range(n)]
    return [i + 1 for i in order] if "from_one" in bugs else order


def unknown(W: Tensor, c: Tensor, gated: list[tuple[int, int, int]]):
    """sigmoid(W x + c), where (i, j, k) lets factor i react to x_j if x_k = 1."""
    def conditionals(x: Tensor) -> Tensor:
        total = F.linear(x.to(W.dtype), W, c)
        for i, j, k in gated:
            total[:, i] = total[:, i] + 1.4 * x[:, j] * x[:, k]
        return total.sigmoid()

    return conditionals


def order_cases(generator):
    found = []
    for n, kind in ((4, "full"), (5, "sparse"), (5, "gated"), (4, "itself"), (6, "cycle")):
        order = permutation(generator, n).tolist()
        W = torch.zeros(n, n)
        for late in range(1, n):
            for early in range(late):
                if early == late - 1 or kind == "full" or late < n - 1 and kind == "sparse":
                    size = 0.6 + float(torch.rand((), generator=generator))
                    W[order[late], order[early]] = size if (late + early) % 2 else -size
        gates = []
        if kind in ("gated", "cycle"):                        # hidden: the third reads the second where the first is 1
            W[order[2], order[1]], W[order[2], order[0]] = 0.0, 0.8
            gates.append((order[2], order[1], order[0]))
        if kind == "itself":
            W[order[1], order[1]] = 0.9
        if kind == "cycle":
            gates.append((order[1], order[n - 1], order[0]))
        found.append((unknown(W, normal(generator, n), gates), n))
    return found


find_order.compare("values", order_cases, points=5)
find_order.hint(
    "You only have a function, and no masks to look at.",
    "Flip one variable in every state and see which probabilities move. That gives a table: factor i reads x_j, or not.")
find_order.hint(
    "You have the table and do not know how to sort.",
    "A variable can be drawn as soon as everything that it reads has been drawn. Start with one that reads nothing, and "
    "repeat.")
find_order.hint(
    "At some point no variable is left that can be drawn.",
    "Then there is no order: some factors wait for each other, or one reads its own variable. Return an empty list.")

EXERCISES = [made_masks, made_parents, ensemble_loglik, find_order]
