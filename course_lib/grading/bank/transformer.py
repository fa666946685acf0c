"""Chapter 15: layer norm, smoothed targets, the schedule of the paper, and the name of a block's arrangement."""
from __future__ import annotations

import torch
from torch import Tensor

from course_lib.grading.bank.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

# Layer norm

layer_norm = Exercise(
    "layer_norm", chapter="15", title="Layer norm",
    contract="x (..., d) of any number of axes, gamma (d,), beta (d,), eps. Return gamma * (x - mean) / "
             "sqrt(variance + eps) + beta, mean and population variance being those of the last axis. Same shape as x.",
    points=["layer-norm"], difficulty=2, minutes=15)


@layer_norm.reference(
    sample_variance="Your variance divides by d - 1. Layer norm divides by d.",
    eps_outside="Your eps is added to the standard deviation. It stands inside the root, beside the variance.",
    no_root="You divide by the variance. Divide by its root.",
    no_eps="Your eps is missing: a row whose entries are all alike gives NaN instead of beta.",
    first_axis="Your mean is taken over the first axis: the rows are mixed. Each row is normalised by itself.",
    whole="You take one mean and one variance of the whole tensor. Each row has its own.",
    not_centred="You do not subtract the mean. That is RMSNorm, or a variance alone.",
    no_gamma="Your result does not depend on gamma.",
    no_beta="Your result does not depend on beta.",
    beta_scaled="Your gamma multiplies beta too. It multiplies the normalised row; beta is added afterwards.",
    detached="The values are right, but no gradient passes through your mean and variance. They are functions of x.",
)
def layer_norm_reference(x, gamma, beta, eps=1e-5, bugs=frozenset()):
    axes = (0,) if "first_axis" in bugs else tuple(range(x.ndim)) if "whole" in bugs else (-1,)
    mean = x.mean(dim=axes, keepdim=True)
    variance = x.var(dim=axes, keepdim=True, correction=int("sample_variance" in bugs))
    if "detached" in bugs:
        mean, variance = mean.detach(), variance.detach()
    centred = x if "not_centred" in bugs else x - mean
    if "eps_outside" in bugs:
        scale = variance.sqrt() + eps
    elif "no_root" in bugs:
        scale = variance + eps
    else:
        scale = (variance + (0 if "no_eps" in bugs else eps)).sqrt()
    gamma = torch.ones_like(gamma) if "no_gamma" in bugs else gamma
    beta = torch.zeros_like(beta) if "no_beta" in bugs else beta
    return gamma * (centred / scale + beta) if "beta_scaled" in bugs else gamma * centred / scale + beta


def layer_norm_cases(generator):
    found = []
    for axes in (1, 2, 0):
        sizes = uneven(generator, (2, 5), (3, 7), (4, 9))[2 - axes:]
        d = sizes[-1]
        x = normal(generator, *sizes, scale=2.0) + uniform(generator, 1, low=-3.0, high=3.0)
        found.append((x, 1 + normal(generator, d), normal(generator, d), float(uniform(generator, 1, low=0.05, high=0.4))))
    return found


def flat_row_cases(generator):
    """A row whose entries are all alike, and the default eps."""
    d = integer(generator, 3, 6)
    x = torch.cat([torch.full((1, d), 2.5), normal(generator, 2, d)])
    return [(x, 1 + normal(generator, d), normal(generator, d))]


layer_norm.compare("values", layer_norm_cases, points=4)
layer_norm.compare("a row that is all alike", flat_row_cases, points=1)
layer_norm.gradient("gradient", layer_norm_cases, wrt=(0, 1, 2), points=1)
layer_norm.unchanged(layer_norm_cases)
layer_norm.hint(
    "The shapes do not fit, or fit by accident.",
    "Take the mean with dim=-1 and keepdim=True: (..., 1) broadcasts against (..., d), whatever the other axes are.")
layer_norm.hint(
    "Your values are a little too small.",
    "torch.var divides by d - 1 unless you pass correction=0. Or square the centred row and take its mean.")
layer_norm.hint(
    "Only the row of equal entries fails.",
    "Its variance is 0, so eps alone keeps the root away from 0: (variance + eps).sqrt().")

# Smoothed targets

label_smoothing_loss = Exercise(
    "label_smoothing_loss", chapter="15", title="Cross-entropy with smoothed targets",
    contract="logits (N, K), target (N,) with integers, eps, and pad, an integer. The smoothed target gives "
             "(1 - eps) to the target, and eps / K to each of the K classes, the target included. Return the "
             "mean cross-entropy in nats over the rows whose target is not pad: a tensor of shape ().",
    points=["label-smoothing"], difficulty=3, minutes=25)


@label_smoothing_loss.reference(
    slides_form="Your eps is shared among the K - 1 other classes: that is the slide's form. This one, torch's, gives "
                "eps / K to all K, the target included.",
    not_smoothed="Your loss does not depend on eps.",
    swapped="Your eps and 1 - eps are exchanged: most of the weight belongs to the target.",
    rest_unshared="Each class of yours gets eps. Together they get eps: eps / K each.",
    padding_counted="Rows whose target is pad are in your mean. Leave them out.",
    padding_in_the_count="Rows of padding add nothing to your sum, but you still divide by N. Divide by the number of "
                         "rows that count.",
    summed="You return the sum over the rows. The mean is asked for.",
    base_two="Your loss is in bits. Use the natural logarithm.",
    plus_entropy="You subtract the entropy of the targets: that is the divergence. The cross-entropy is asked for.",
    pad_column="You drop the column of pad from the logits. Only its rows are left out: pad remains a class.",
)
def label_smoothing_loss_reference(logits, target, eps, pad, bugs=frozenset()):
    real, K = target != pad, logits.shape[1]
    log_p = logits.masked_fill(torch.arange(K) == pad, -1e4).log_softmax(1) if "pad_column" in bugs else \
        logits.log_softmax(dim=1)                                              # (N, K)
    one_hot = torch.nn.functional.one_hot(target, K).to(logits.dtype)
    if "not_smoothed" in bugs:
        q = one_hot
    elif "slides_form" in bugs:
        q = (1 - eps) * one_hot + eps / (K - 1) * (1 - one_hot)
    elif "swapped" in bugs:
        q = eps * one_hot + (1 - eps) / K
    elif "rest_unshared" in bugs:
        q = (1 - eps) * one_hot + eps
    else:
        q = (1 - eps) * one_hot + eps / K
    if "pad_column" in bugs:
        q, log_p = q.masked_fill(torch.arange(K) == pad, 0), log_p.masked_fill(torch.arange(K) == pad, 0)
    losses = -(q * log_p).sum(dim=1)                                           # (N,)
    if "plus_entropy" in bugs:
        losses = losses + (q * q.clamp(min=1e-30).log()).sum(dim=1)
    if "base_two" in bugs:
        losses = losses / torch.log(torch.tensor(2.0, dtype=losses.dtype))
    if "padding_counted" in bugs:
        return losses.mean()
    if "summed" in bugs:
        return losses[real].sum()
    return losses[real].sum() / (len(losses) if "padding_in_the_count" in bugs else real.sum())


def smoothing_cases(generator):
    found = []
    for eps in (0.1, 0.35):
        N, K = uneven(generator, (6, 11), (3, 7))
        pad = integer(generator, 0, K - 1)
        target = torch.randint(K, (N,), generator=generator)
        target[:2] = pad                                                       # padding, and a row that is not
        target[2] = (pad + 1) % K
        target = target[torch.randperm(N, generator=generator)]
        found.append((normal(generator, N, K, scale=2.0), target, eps, pad))
    return found


def exact_cases(generator):
    """eps = 0 leaves the plain loss; logits so large that a softmax and then a logarithm would be infinite."""
    N, K = uneven(generator, (5, 8), (3, 4))
    target = torch.randint(1, K, (N,), generator=generator)
    return [(normal(generator, N, K), target, 0.0, 0), (normal(generator, N, K, scale=300.0), target, 0.1, 0)]


label_smoothing_loss.compare("values", smoothing_cases, points=4)
label_smoothing_loss.compare("without smoothing, and with large logits", exact_cases, points=1)
label_smoothing_loss.gradient("gradient", smoothing_cases, wrt=(0,), points=1)
label_smoothing_loss.unchanged(smoothing_cases)
label_smoothing_loss.hint(
    "You do not know where to begin.",
    "The cross-entropy with targets q is -(q * log_p).sum(dim=1), with log_p = logits.log_softmax(dim=1). Build q, (N, K).")
label_smoothing_loss.hint(
    "Your value is near, and grows apart as eps grows.",
    "The target has 1 - eps + eps / K: the share eps / K goes to all classes. On the slide the target has 1 - eps.")
label_smoothing_loss.hint(
    "It fails only where there is padding.",
    "Choose the rows first: real = target != pad. Both the sum and the number to divide by are theirs.")

# The schedule of the paper

noam_lr = Exercise(
    "noam_lr", chapter="15", title="Warm up, then fall",
    contract="step, counted from 1, d_model, and warmup, the number of warm-up steps. Return the learning rate "
             "d_model^-0.5 min(step^-0.5, step warmup^-1.5), a number.",
    points=["noam"], difficulty=1, minutes=10)


@noam_lr.reference(
    maximum="You take the larger of the two. Then the rate starts high, falls, and grows for ever; min makes a peak.",
    no_warmup="Your rate only falls. While step is below warmup it rises in a straight line.",
    never_falls="Your rate rises for ever. After the warm-up it falls as 1 / sqrt(step).",
    no_width="Your rate does not depend on d_model.",
    width_multiplied="Your rate grows with d_model. A wider model takes smaller steps: the power is -0.5.",
    wrong_power="Your two branches do not meet at step = warmup. The power of warmup is -1.5.",
    from_zero="You count the steps from 0. The first is 1, and its rate is not 0.",
    one_ahead="Your rate is that of the next step: step counts from 1 already, so nothing is added to it.",
    flat_after="Your rate stays at its peak after the warm-up. It falls as 1 / sqrt(step).",
    relative="Your rate is 1 at its peak. That factor is `inverse_sqrt` of the library; the paper's peak is "
             "(d_model warmup)^-0.5.",
)
def noam_lr_reference(step, d_model, warmup, bugs=frozenset()):
    s, w = step - ("from_zero" in bugs) + ("one_ahead" in bugs), warmup
    rise, fall = s * w ** (-1.0 if "wrong_power" in bugs else -1.5), max(s, 1e-9) ** -0.5
    if "flat_after" in bugs:
        fall = w ** -0.5
    shape = max(rise, fall) if "maximum" in bugs else fall if "no_warmup" in bugs else \
        rise if "never_falls" in bugs else min(rise, fall)
    if "relative" in bugs:
        return shape * w ** 0.5
    return shape if "no_width" in bugs else shape * d_model ** (0.5 if "width_multiplied" in bugs else -0.5)


def noam_cases(generator):
    found = [(4000, 512, 4000)]
    for low, high in ((2, 60), (61, 140), (900, 9000), (1, 1)):
        found.append((integer(generator, low, high), integer(generator, 24, 700), integer(generator, 62, 800)))
    return found


noam_lr.compare("values", noam_cases, points=4)
noam_lr.hint(
    "You do not see the shape.",
    "Below warmup the second term is the smaller one, a straight line; above it the first is. They are equal at "
    "step = warmup. Draw both for warmup = 100.")
noam_lr.hint(
    "Your values are off by one and the same factor.",
    "At the peak the rate is 1 / sqrt(d_model * warmup). For 512 and 4000 that is 0.000699.")

# Which arrangement?

find_placements = Exercise(
    "find_placements", chapter="15", title="Which arrangement is it?",
    contract="blocks is a list of functions (T, d) -> (T, d), f is a layer, also (T, d) -> (T, d). Each block was meant "
             'to be one of "post", LN(x + f(x)); "pre", x + f(LN(x)); "inner", x + LN(f(x)), with LN without gamma and '
             'beta and eps = 1e-5. Return a list with one of these names for each block, and "none" for a block that '
             "is none of them.",
    points=["residual", "layer-norm", "transformer-block"], difficulty=4, minutes=30, kind="find")


@find_placements.reference(
    post_and_pre="Your names post and pre are exchanged. Post normalises after the sum; pre before the layer.",
    pre_and_inner="Your names pre and inner are exchanged: one normalises what the layer reads, the other what it returns.",
    never_none='You never answer "none". A block that fits no formula exactly is none of the three.',
    only_none="You find none of the three anywhere. Compare with a tolerance: the functions round differently from you.",
    sample_variance="Your layer norm divides by d - 1, and so takes the blocks with that fault for right.",
    shape_alone="You look at the mean and the spread of the outputs only. A block can return rows of mean 0 and variance 1 "
                "and still have left out the skip connection.",
    one_token="You try the blocks on a single token. A norm that mixes tokens shows only where there are several.",
    backwards="Your list is in the opposite order: one name for each block, in the blocks' order.",
)
def find_placements_reference(blocks, f, d, bugs=frozenset()):
    generator = torch.Generator().manual_seed(0)
    x = 3 * torch.randn(1 if "one_token" in bugs else 6, d, generator=generator, dtype=torch.float64) + 1
    correction = int("sample_variance" in bugs)
    wanted = {"post": norm(x + f(x), correction), "pre": x + f(norm(x, correction)), "inner": x + norm(f(x), correction)}
    if "post_and_pre" in bugs:
        wanted = {"post": wanted["pre"], "pre": wanted["post"], "inner": wanted["inner"]}
    if "pre_and_inner" in bugs:
        wanted = {"post": wanted["post"], "pre": wanted["inner"], "inner": wanted["pre"]}
    names = []
    for block in blocks:
        out = block(x).double()
        gaps = {name: float((out - want).abs().max()) for name, want in wanted.items()}
        name = min(gaps, key=gaps.get)
        if gaps[name] > 1e-4 and "never_none" not in bugs:
            name = "none"
        if "shape_alone" in bugs and bool((out.mean(1).abs() < 1e-3).all() and ((out.var(1, correction=0) - 1).abs() < 1e-2).all()):
            name = "post"
        names.append("none" if "only_none" in bugs else name)
    return names[::-1] if "backwards" in bugs else names


def norm(x: Tensor, correction: int = 0, dim: int = -1) -> Tensor:
    """Layer norm without gamma and beta; `correction` 1 is the fault of dividing by d - 1, `dim` 0 that of mixing tokens."""
    mean, variance = x.mean(dim, keepdim=True), x.var(dim, keepdim=True, correction=correction)
    return (x - mean) / (variance + 1e-5).sqrt()


KINDS = {
    "post": lambda x, f: norm(x + f(x)),
    "pre": lambda x, f: x + f(norm(x)),
    "inner": lambda x, f: x + norm(f(x)),
    "no skip": lambda x, f: norm(f(x)),
    "skip from the norm": lambda x, f: norm(x) + f(norm(x)),
    "sample variance": lambda x, f: norm(x + f(x), correction=1) if len(x) > 1 else norm(x + f(x)),
    "mixes tokens": lambda x, f: x + f(norm(x, dim=0) if len(x) > 1 else norm(x)),
    "twice": lambda x, f: x + f(norm(x)) + x,
    "not centred": lambda x, f: x + f(x) / (f(x).square().mean(-1, keepdim=True) + 1e-5).sqrt(),
}


def block(kind: str, f):
    return lambda x: KINDS[kind](x, f)


def placement_cases(generator):
    found = []
    for number in (5, 7, 9):
        d, hidden = uneven(generator, (4, 7), (8, 12))
        widen, narrow = normal(generator, d, hidden).double(), normal(generator, hidden, d).double()

        def f(x, widen=widen, narrow=narrow):
            return ((x.double() @ widen).tanh() @ narrow).to(x.dtype)          # blocks answer in the precision of x

        kinds = ["post", "pre", "inner", "no skip", "sample variance"] + list(KINDS)[-4:]
        kinds = kinds[:number] if number > 5 else ["inner", "post", "mixes tokens", "pre", "pre"]
        kinds = [kinds[j] for j in torch.randperm(len(kinds), generator=generator).tolist()]
        if kinds[0] == kinds[-1]:                                              # so that an order can be told
            kinds.sort()
        found.append(([block(kind, f) for kind in kinds], f, d))
    return found


find_placements.compare("values", placement_cases, points=5)
find_placements.hint(
    "You do not know what to feed the blocks.",
    "Any x of several rows whose mean is not 0 and whose spread is not 1: 3 * torch.randn(6, d) + 1. With a normalised x, "
    "the norm does nothing, and post and pre look alike.")
find_placements.hint(
    "You know what comes out, and not what it means.",
    "Compute the three formulas yourself on the same x, with the f that you are given. Compare each with the block's output.")
find_placements.hint(
    "You take a block for sound that is not.",
    "Compare all entries with a small tolerance, 1e-4 say. Population variance; each row by itself; more than one row.")

EXERCISES = [layer_norm, label_smoothing_loss, noam_lr, find_placements]
