"""Chapter 03: the conditionals of an FVSBN, a draw from it, the leak in a broken one, and one trained to a score."""
from __future__ import annotations

import itertools

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.grading.bank.draws import bits, integer, normal, uneven, uniform
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise


def logits(x: Tensor, W: Tensor, c: Tensor) -> Tensor:
    """c_i + sum_{j<i} W[i, j] x_j, shape (B, D)."""
    return x @ W.tril(-1).T + c


# Every conditional at once

fvsbn_conditionals = Exercise(
    "fvsbn_conditionals", chapter="03", title="Every conditional in one product",
    contract="x (B, D) holds 0 and 1; W (D, D), of which only the entries j < i are used; c (D,). Return "
             "sigmoid(c_i + sum_{j<i} W[i, j] x_j), shape (B, D).",
    points=["fvsbn"], difficulty=2, minutes=15)


@fvsbn_conditionals.reference(
    sees_itself="Factor i reads x_i, the variable that it predicts: the diagonal of W takes part. Only j < i may.",
    sees_all="Every factor reads every variable. Only the entries of W with j < i may take part.",
    sees_later="Your factors read what comes after them. Row i of W may read the columns j < i: the lower triangle.",
    transposed="You read W[j, i] where W[i, j] is asked for: row i belongs to the variable that is predicted.",
    no_sigmoid="You return the logits. Put them through the sigmoid.",
    no_bias="Your probabilities do not use c. The first one, which has no parents, is 0.5 for every c.",
    signed="You read a 0 as -1. In this model a variable that is 0 adds nothing.",
    averaged="Your sum over the parents is divided by the number of variables. The model adds; it does not average.",
    of_zero="Your entries are the probabilities of a 0.",
    softmaxed="Your rows sum to 1. Each variable is a coin of its own: a sigmoid each, not a softmax over all.",
    written_over="You cut W down to its triangle in place. The caller's W is changed: use torch.tril, which returns a "
                 "new tensor.",
)
def fvsbn_conditionals_reference(x, W, c, bugs=frozenset()):
    if "written_over" in bugs:
        W.detach().tril_(-1)
    if "transposed" in bugs:
        W = W.T
    lower = W.tril(-1)                                                         # row i: the parents of x_i
    if "sees_itself" in bugs:
        lower = W.tril(0)
    if "sees_all" in bugs:
        lower = W
    if "sees_later" in bugs:
        lower = W.triu(1)
    if "signed" in bugs:
        x = 2 * x - 1
    total = x @ lower.T                                                        # (B, D)
    if "averaged" in bugs:
        total = total / x.shape[1]
    if "no_bias" not in bugs:
        total = total + c
    if "of_zero" in bugs:
        total = -total
    return total if "no_sigmoid" in bugs else total.softmax(-1) if "softmaxed" in bugs else total.sigmoid()


def weights(generator, D: int):
    return normal(generator, D, D, scale=1.5), normal(generator, D)


def conditionals_cases(generator):
    sizes = [uneven(generator, (3, 6), (4, 8)), [1, integer(generator, 4, 7)], [integer(generator, 2, 4), 1]]
    return [(bits(generator, B, D), *weights(generator, D)) for B, D in sizes]


fvsbn_conditionals.compare("values", conditionals_cases, points=4)
fvsbn_conditionals.gradient("gradient", conditionals_cases, wrt=(1, 2), points=1)
fvsbn_conditionals.unchanged(conditionals_cases)
fvsbn_conditionals.hint(
    "You have a loop over i and wonder about the triangle.",
    "torch.tril(W, diagonal=-1) keeps the entries with j < i and sets the others to 0. After that the sum may run over "
    "all j.")
fvsbn_conditionals.hint(
    "The shapes do not fit, or the values belong to other rows.",
    "Row i of W holds the weights of variable i, and x is (B, D): x @ W.T sums over j and gives (B, D).")
fvsbn_conditionals.hint(
    "The first column is not the same in every row.",
    "The first variable has no parents: its probability is sigmoid(c_1) whatever x is. If it varies, the diagonal or "
    "the upper triangle still takes part.")

# A draw, variable by variable

fvsbn_sample = Exercise(
    "fvsbn_sample", chapter="03", title="A draw, one variable at a time",
    contract="u (B, D) holds uniform numbers in [0, 1); W and c as in fvsbn_conditionals. Draw x_1, x_2, ... in this "
             "order: x_i = 1 where u[:, i] < p(x_i = 1 given the x_<i just drawn), else 0. Return x, floats (B, D).",
    points=["fvsbn"], difficulty=2, minutes=20)


@fvsbn_sample.reference(
    rounded="Your draws do not depend on u: each variable takes its likelier value. That gives one image, not samples.",
    all_at_once="Your variables do not react to those drawn before them. The probability of x_i needs the x_<i that were "
                "drawn, so it can only be computed after them.",
    greater="You set x_i to 1 where u is above p. That happens with probability 1 - p.",
    feeds_probabilities="You pass the probabilities on to the later variables. They must read the drawn values, 0 or 1.",
    feeds_uniforms="The later variables read u in the place of the values that were drawn.",
    no_bias="Your draws do not use c.",
    one_parent="Each of your variables reads only the one before it. It has all the earlier ones as parents.",
)
def fvsbn_sample_reference(u, W, c, bugs=frozenset()):
    if "no_bias" in bugs:
        c = torch.zeros_like(c)
    if "one_parent" in bugs:
        W = W.triu(-1)
    x, read = torch.zeros_like(u), u.clone() if "feeds_uniforms" in bugs else torch.zeros_like(u)
    if "all_at_once" in bugs:
        return (u < logits(x, W, c).sigmoid()).to(u.dtype)
    for i in range(u.shape[1]):
        p = logits(read, W, c)[:, i].sigmoid()                                 # (B,)
        drawn = p > 0.5 if "rounded" in bugs else u[:, i] > p if "greater" in bugs else u[:, i] < p
        x[:, i] = drawn.to(u.dtype)
        if "feeds_uniforms" not in bugs:
            read[:, i] = p if "feeds_probabilities" in bugs else x[:, i]
    return x


def sample_cases(generator):
    found = []
    while len(found) < 3:
        B, D = uneven(generator, (9, 12), (5, 8))
        u, (W, c) = uniform(generator, B, D), weights(generator, D)
        p = logits(fvsbn_sample_reference(u, W, c), W, c).sigmoid()
        if (u - p).abs().min() > 1e-4:                                         # no draw hangs on the last digits
            found.append((u, W, c))
    return found


fvsbn_sample.compare("values", sample_cases, points=4)
fvsbn_sample.unchanged(sample_cases)
fvsbn_sample.hint(
    "You do not see how to begin without an x.",
    "Begin with zeros. The first variable has no parents, so its probability is right whatever x holds. Draw it, write "
    "it into x, and the second probability is right.")
fvsbn_sample.hint(
    "Your samples look alike, or like noise.",
    "Each step needs its own pass with the values drawn so far: a loop over the variables, with the whole batch at "
    "once.")
fvsbn_sample.hint(
    "You tried bernoulli() and the check disagrees.",
    "The randomness is in u, so that the check can know what is right. x_i = 1 where u[:, i] is below p.")

# The leak in a broken model

find_leaks = Exercise(
    "find_leaks", chapter="03", title="Find the leak",
    contract="conditionals is a function: for x (B, n) of 0 and 1 it returns (B, n), the probabilities that a model "
             "gives to x_i = 1. Return a sorted list of the pairs (i, j), counted from 0, with j >= i, for which "
             "factor i depends on x_j. For a sound model the list is empty.",
    points=["fvsbn"], difficulty=4, minutes=35, kind="find")


@find_leaks.reference(
    around_zero="You flip variables of the all-zero input only. Some leaks open only when another variable is 1: try "
                "every state.",
    diagonal_forgotten="A factor that reads its own variable is not in your list. j = i is a leak too, the worst one.",
    earlier_too="Your list holds pairs with j < i. Those are parents, and are allowed.",
    exchanged="Your pairs are the wrong way round: the factor comes first, the variable that it reads second.",
    from_one="You count from 1. Positions count from 0 here, as in the tensors.",
    first_only="You stop at the first leak of a factor. List all of them.",
    unsorted="Your list is not sorted.",
)
def find_leaks_reference(conditionals, n, bugs=frozenset()):
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=n)))        # (2^n, n)
    if "around_zero" in bugs:
        states = states[:1]
    before, found = conditionals(states), []
    for j in range(n):
        flipped = states.clone()
        flipped[:, j] = 1 - flipped[:, j]
        moved = (conditionals(flipped) - before).abs().amax(dim=0) > 1e-6       # (n,): who noticed
        found += [(i, j) for i in range(n) if moved[i]]
    if "earlier_too" not in bugs:
        found = [(i, j) for i, j in found if i < j or i == j and "diagonal_forgotten" not in bugs]
    if "first_only" in bugs:
        found = [(i, j) for i, j in found if j == min(b for a, b in found if a == i)]
    if "exchanged" in bugs:
        found = [(j, i) for i, j in found]
    if "from_one" in bugs:
        found = [(i + 1, j + 1) for i, j in found]
    return sorted(found, reverse="unsorted" in bugs)


def broken(W: Tensor, c: Tensor, gated: list[tuple[int, int, int]]):
    """The conditionals of sigmoid(W x + c), where (i, j, k) adds to factor i something that reads x_j if x_k = 1."""
    def conditionals(x: Tensor) -> Tensor:
        total = F.linear(x.to(W.dtype), W, c)
        for i, j, k in gated:
            total[:, i] = total[:, i] + 1.3 * x[:, j] * x[:, k]
        return total.sigmoid()

    return conditionals


def leak_cases(generator):
    found = [(broken(normal(generator, 4, 4).tril(-1), normal(generator, 4), []), 4)]
    for n in (4, 5, 6):
        W = normal(generator, n, n).tril(-1)
        j = integer(generator, 1, n - 1)
        W[j - 1, j], W[1, n - 1], W[n - 1, n - 1] = 0.9, -0.7, 1.1              # two that look ahead, one at itself
        W[0, 0], W[0, n - 1] = -0.8, 0.6                                         # and one that does both
        found.append((broken(W, normal(generator, n), [(2, n - 1, 0)]), n))
    return found


find_leaks.compare("values", leak_cases, points=5)
find_leaks.hint(
    "You only have a function, and no weights to look at.",
    "Change one variable and see whose probability moves. If factor i moves when only x_j changed, factor i reads x_j.")
find_leaks.hint(
    "You find most leaks, but not all.",
    "A dependence can hide: x_3 may matter only where x_0 is 1. With n variables there are 2^n states. n is small here: "
    "flip x_j in every one of them.")
find_leaks.hint(
    "Your list is too long.",
    "A factor may read what comes before it. Keep only the pairs with j >= i, the factor's own variable included, and "
    "sort them.")

# Train to a score

train_fvsbn = Exercise(
    "train_fvsbn", chapter="03", title="Train to a score",
    contract="train (N, D) holds 0 and 1, drawn from an unknown FVSBN. Return (W, c), the weights (D, D) and biases "
             "(D,) of an FVSBN that you trained on it. Of W only the entries j < i are used. To reach: an expected "
             "log-likelihood within 0.1 nats of the source's own. You have 20 seconds on one core.",
    points=["fvsbn"], difficulty=3, minutes=30, kind="train", deadline=20.0)

GAP = 0.1                       # nats to the source
ALIGNED = 0.5                   # cosine above which two directions are one; chance gives 0.15 in 45 dimensions


@train_fvsbn.reference(
    untrained="Your weights and biases are all zero: this is the model before training.",
    independent="Your W is zero where it counts, so your pixels are independent. Train W too, not c alone.",
    transposed="Your W is transposed: W.T would do. Row i holds the weights that predict variable i.",
    uphill="Your parameters point away from the data: you climb the loss. Minimise minus the log-likelihood.",
    looked_ahead="You trained without the mask: the weight went where j >= i, which the model cannot use. Mask W inside "
                 "the loss.",
)
def train_fvsbn_reference(train, bugs=frozenset()):
    W = torch.zeros(train.shape[1], train.shape[1], requires_grad=True)
    c = torch.zeros(train.shape[1], requires_grad=True)
    if "untrained" in bugs:
        return W.detach(), c.detach()
    parameters = [c] if "independent" in bugs else [W, c]
    optimizer = torch.optim.Adam(parameters, lr=0.1, maximize="uphill" in bugs)
    for _ in range(150):
        mask = torch.ones_like(W) if "looked_ahead" in bugs else torch.ones_like(W).tril(-1)
        loss = F.binary_cross_entropy_with_logits(F.linear(train, W * mask, c), train)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    W, c = W.detach(), c.detach()
    return (W.T if "transposed" in bugs else W), c


def expected_gap(states: Tensor, p: Tensor, W: Tensor, c: Tensor) -> Tensor:
    """Source's expected log-likelihood minus the model's, in nats: the KL divergence, over all states."""
    log_q = -F.binary_cross_entropy_with_logits(logits(states, W, c), states, reduction="none").sum(1)
    return (p * (p.log() - log_q)).sum()


@train_fvsbn.property("within 0.1 nats of the source", points=5)
def trained(run, generator, solve):
    D, N = 9, 3000
    W, c = normal(generator, D, D, scale=1.5).tril(-1).double(), normal(generator, D, scale=0.5).double()
    train = fvsbn_sample_reference(uniform(generator, N, D).double(), W, c).float()
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=D)), dtype=torch.float64)
    p = (-F.binary_cross_entropy_with_logits(logits(states, W, c), states, reduction="none").sum(1)).exp()

    result = run(train)
    good = isinstance(result, list | tuple) and len(result) == 2 and all(isinstance(part, Tensor) for part in result)
    if not good or result[0].shape != (D, D) or result[1].shape != (D,):
        return Fault(f"Your function should return two tensors, W of shape {(D, D)} and c of shape {(D,)}.", None,
                     "wrong_shape")
    mine, bias = (part.double() for part in result)
    if not (mine.isfinite().all() and bias.isfinite().all()):
        return Fault("Some of your parameters are NaN or infinite. Train with a smaller learning rate, and compute the "
                     "loss from logits.")

    gap = expected_gap(states, p, mine, bias)
    if gap <= GAP:
        return None
    return Fault(f"Your model loses {gap:.3f} nats to the source; {GAP} are allowed.",
                 why_short(lambda a, b: expected_gap(states, p, a, b), mine, bias))


def why_short(gap, W: Tensor, c: Tensor) -> str | None:
    """The misconception that the parameters show, if they show one."""
    lower, upper = W.tril(-1), W.triu(0)
    if gap(W.T, c) <= GAP:
        return "transposed"
    if not lower.any():
        return None if upper.any() else "independent" if c.any() else "untrained"
    start = torch.zeros_like(W).requires_grad_(), torch.zeros_like(c).requires_grad_()
    climb = torch.cat([part.flatten() for part in torch.autograd.grad(gap(*start), start)])
    cosine = F.cosine_similarity(torch.cat([lower.flatten(), c]), climb, dim=0)
    if cosine > ALIGNED:
        return "uphill"
    if upper.diagonal().abs().min() > lower.abs().max() and cosine < 0:
        return "looked_ahead"
    return None


train_fvsbn.hint(
    "You do not know what loss to take.",
    "Minus the mean log-likelihood. From logits it is F.binary_cross_entropy_with_logits(logits, train), which stays "
    "finite when a probability comes close to 0 or 1.")
train_fvsbn.hint(
    "Your training loss is near zero, and the score is bad.",
    "The weights look at the pixel that they predict. Multiply W by the strictly lower triangle inside the loss, at "
    "every step.")
train_fvsbn.hint(
    "You stay above 0.1 nats.",
    "Train longer, or with a larger step: Adam at 0.1 needs some hundred steps on the whole batch, well under a second.")

EXERCISES = [fvsbn_conditionals, fvsbn_sample, find_leaks, train_fvsbn]
