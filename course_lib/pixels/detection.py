"""Detection of out-of-distribution and attacked images by rank tests, ROC curves and typicality, and purification of
attacked images."""

from __future__ import annotations

import math
import zlib

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from course_lib.autoregressive import AutoregressiveModel, evaluating
from course_lib.validation import validating


def rank_p_values(scores: Tensor, calibration: Tensor,
                  generator: torch.Generator | None = None) -> Float[Tensor, "B"]:
    r"""P-value of each score by its rank among calibration scores,
    $p = \frac{1 + \#\{j : s_j \le s\}}{N + 1}$.

    scores       (B,), for example log-likelihoods; low scores are anomalous
    calibration  (N,), scores of held-out images from the same distribution as the training
                 images
    generator    breaks ties at random: of k equal scores, 0 to k are counted. None: all k
                 are counted, so with ties p is too large rather than too small

    If s has the same distribution as the $s_j$, all of its ranks are equally probable, so
    $P(p \le \alpha) \le \alpha$ whatever the model is. Without ties equality holds where
    (N + 1) alpha is an integer.

    Raises ValueError if there are no scores, or if a score is NaN.

    >>> calibration = torch.tensor([-60.0, -80.0, -70.0])
    >>> rank_p_values(torch.tensor([-90.0, -70.0, -50.0]), calibration)
    tensor([0.2500, 0.7500, 1.0000], dtype=torch.float64)
    """
    calibration = _scores(calibration, "calibration").sort().values
    scores = _scores(scores, "scores")
    # (B,): number of s_j <= s
    counted = torch.searchsorted(calibration, scores, right=True)
    if generator is not None:
        below = torch.searchsorted(calibration, scores)              # number of s_j < s
        u = torch.rand(scores.shape, generator=generator, dtype=torch.float64)
        counted = below + (u * (counted - below + 1)).floor()
    return (1 + counted.double()) / (len(calibration) + 1)


def roc(clean: Tensor, other: Tensor) -> tuple[Float[Tensor, "..."], Float[Tensor, "..."]]:
    """ROC curve of a detector that reports images whose score reaches a threshold.

    clean  (N,), scores of normal images
    other  (M,), scores of the images to be detected; high scores are anomalous

    Returns the false positive rates, the fractions of `clean` that reach each threshold, and the true positive rates,
    the fractions of `other`. Both are (K + 1,): 0, then one entry for each of the K distinct scores as the threshold,
    the largest first.
    """
    clean, other = _scores(clean, "clean"), _scores(other, "other")
    thresholds = torch.cat([clean, other]).unique().flip(0)          # descending
    shares = [(s[None] >= thresholds[:, None]).double().mean(dim=1) for s in (clean, other)]
    return tuple(torch.cat([share.new_zeros(1), share]) for share in shares)


def auc(clean: Tensor, other: Tensor) -> float:
    """Area under the ROC curve: the probability that a random score of `other` exceeds a random score of `clean`.

    The arguments are as in `roc`. A tie counts as one half. 0.5 is chance level. Below 0.5 the negated score is better.

    >>> auc(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 3.0]))
    0.875
    """
    clean, other = _scores(clean, "clean").sort().values, _scores(other, "other")
    below, up_to = (torch.searchsorted(clean, other, right=right).double() for right in (False, True))
    return ((below + up_to).mean() / 2 / len(clean)).item()


def auc_interval(clean: Tensor, other: Tensor, repeats: int = 1000, level: float = 0.95,
                 seed: int = 0) -> tuple[float, float]:
    """Bootstrap confidence interval (low, high) of `auc` by the percentile method, with coverage `level`.

    clean, other  scores of the two groups, as in `auc`
    repeats       number of bootstrap samples, each drawn with replacement within the groups
    seed          seed of the samples

    If every score of one group exceeds every score of the other group, the width of the interval is 0.
    """
    if repeats < 1 or not 0 < level < 1:
        raise ValueError(f"repeats is {repeats} and level is {level}; expected repeats >= 1 and 0 < level < 1")
    clean, other = _scores(clean, "clean"), _scores(other, "other")
    g = torch.Generator().manual_seed(seed)
    areas = torch.tensor([auc(clean[torch.randint(len(clean), clean.shape, generator=g)],
                              other[torch.randint(len(other), other.shape, generator=g)]) for _ in range(repeats)])
    return tuple(areas.quantile(torch.tensor([(1 - level) / 2, (1 + level) / 2])).tolist())


def wilson(count: int, of: int, z: float = 1.959964) -> tuple[float, float]:
    r"""Wilson score interval (low, high) of a success probability $\pi$, given c successes in n trials.

    count  c, number of successes
    of     n, number of trials
    z      quantile of the standard normal; by default for 95 %

    It contains all $\pi$ with $\lvert c/n - \pi \rvert \le z \sqrt{\pi (1 - \pi)/n}$. It stays within [0, 1] and has
    positive width at c/n = 0 and c/n = 1. Source: Wilson 1927.

    >>> [round(end, 4) for end in wilson(0, 100)]
    [0.0, 0.037]
    """
    if not 0 <= count <= of or of < 1:
        raise ValueError(f"count is {count} and `of` is {of}; expected 0 <= count <= of and of >= 1")
    share, shrink = count / of, 1 + z ** 2 / of
    middle = (share + z ** 2 / (2 * of)) / shrink
    half = z * math.sqrt(share * (1 - share) / of + z ** 2 / (4 * of ** 2)) / shrink
    return (0.0 if count == 0 else middle - half), (1.0 if count == of else middle + half)


def typicality(log_p: Shaped[Tensor, "B"], reference: Tensor) -> Float[Tensor, "B"]:
    r"""Typicality score $\lvert \log p(x) - \bar{s} \rvert$ of each image, where $\bar s$ is the mean of `reference`.

    log_p      (B,), log-likelihoods of the images, in nats
    reference  (N,), log-likelihoods of reference images, such as validation images

    Source: Nalisnick et al. 2019 (Detecting out-of-distribution inputs to deep generative models using typicality).
    """
    return (log_p - _scores(reference, "reference").mean()).abs()


def compressed_bits(x: Tensor) -> Float[Tensor, "B"]:
    """Compressed length in bits of each image of x (B, n): one byte per pixel, compressed by zlib's deflate, no header.

    The length measures the complexity of an image, independently of any trained model.
    """
    if x.dim() != 2 or x.is_floating_point() or not len(x) or not (0 <= x.min() and x.max() <= 255):
        raise ValueError(f"x has shape {tuple(x.shape)} and dtype {x.dtype}; expected (B, n) with B at least 1, "
                         "integers from 0 to 255")
    lengths = []
    for row in x.cpu().to(torch.uint8):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)            # -15: no header, no checksum
        lengths.append(8 * len(deflate.compress(row.numpy().tobytes()) + deflate.flush()))
    return torch.tensor(lengths, dtype=torch.float64)


@torch.no_grad()
def purify(model: AutoregressiveModel, x: Tensor, eps: int) -> Int[Tensor, "B n"]:
    r"""Greedy decoding within eps levels of an image,
    $\hat x_i = \arg\max_{v :\, |v - x_i| \le \epsilon}\; p(v \mid \hat x_{<i})$.

    model  model of discrete variables, in any order
    x      (B, n), images
    eps    largest change of a pixel, in levels; 0 returns x

    Each pixel is predicted from the pixels that are already purified. Among values of equal
    probability, the nearest to x is used. Slides: "PixelDefend". Paper: Song, Kim, Nowozin,
    Ermon and Kushman 2018.

    Raises TypeError if the model's variables are continuous, and ValueError if eps is
    negative or x has a wrong shape or values.
    """
    K, dtype = model.conditional.num_values, model.like().dtype
    if K is None:
        raise TypeError(f"{type(model).__name__} has continuous variables, "
                        f"{model.conditional}; expected discrete levels")
    if eps != int(eps) or eps < 0:
        raise ValueError(f"eps is {eps}; expected an integer, 0 or more")
    x = model.check_input(x).long()
    near = torch.tensor(sorted(range(-int(eps), int(eps) + 1), key=abs), device=x.device)
    repaired = x.clone()
    with evaluating(model), validating(model):
        state = model.start(len(x))
        for k in range(x.shape[1]):
            i = model.variable_at(k)
            values = (x[:, i] + near[:, None]).clamp(0, K - 1)       # (2 eps + 1, B)
            log_p = model.predict(state).log_prob(values.to(dtype))
            repaired[:, i] = values.gather(0, log_p.argmax(dim=0, keepdim=True))[0]
            state = model.update(state, repaired[:, i].to(dtype))
    return repaired


def _scores(t: Tensor, name: str) -> Float[Tensor, "..."]:
    if t.dim() != 1 or len(t) == 0:
        raise ValueError(f"{name} has shape {tuple(t.shape)}; expected (N,) with N at least 1")
    if t.isnan().any():
        raise ValueError(f"{name} contains NaN at index {int(t.isnan().nonzero()[0])}; expected scores without NaN")
    return t.double()
