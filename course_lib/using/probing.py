r"""Probing: a linear classifier on frozen hidden states, and two controls.

The hidden states of an *untrained model* of the same architecture show which accuracy needs no training. A *control
task* assigns a random label to every word type, and shows how much the probe memorizes. Papers: Tenney, Das and Pavlick
2019, "BERT rediscovers the classical NLP pipeline"; Hewitt and Liang 2019.
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.validation import check_sizes


class LinearProbe(nn.Module):
    r"""Linear classifier $p(y \mid h) = \mathrm{softmax}(W h + b)$, trained by the constructor: W and b minimize the
    mean cross-entropy plus $\frac{1}{2 C N} \lVert W \rVert^2$, as in scikit-learn's `LogisticRegression(C)`.

    vectors  (N, D), frozen hidden states h of the training set
    labels   (N,), their classes y, 0..K-1
    C        inverse strength of the penalty
    steps    maximum number of iterations of the optimizer L-BFGS

    >>> vectors = torch.tensor([[-2.0], [-1.0], [1.0], [2.0]])
    >>> LinearProbe(vectors, torch.tensor([0, 0, 1, 1])).score(vectors, torch.tensor([0, 0, 1, 1]))
    1.0
    """

    def __init__(self, vectors: Tensor, labels: Tensor, C: float | int = 1.0, steps: int = 200):
        super().__init__()
        _fit(vectors, labels)
        if C <= 0 or steps < 1:
            raise ValueError(f"C is {C} and steps is {steps}; expected C above 0 and at least 1 step")
        if int(labels.min()) < 0 or int(labels.max()) == 0:
            raise ValueError(f"labels goes from {labels.min()} to {labels.max()}; expected at least two classes, "
                             "numbered from 0")
        vectors = vectors.detach()
        classes = int(labels.max()) + 1
        self.W = nn.Parameter(vectors.new_zeros(classes, vectors.shape[1]))
        self.b = nn.Parameter(vectors.new_zeros(classes))
        self._minimize(vectors, labels, C, steps)

    def forward(self, vectors: Float[Tensor, "B D"]) -> Float[Tensor, "B K"]:
        """Return the logits (B, K) of the classes for hidden states (B, D)."""
        return F.linear(vectors, self.W, self.b)

    def score(self, vectors: Tensor, labels: Tensor) -> float:
        """Accuracy of the probe on hidden states (N, D) with labels (N,)."""
        _fit(vectors, labels)
        with torch.no_grad():
            return (self(vectors).argmax(dim=1) == labels).double().mean().item()

    def _minimize(self, vectors: Tensor, labels: Tensor, C: float | int, steps: int) -> None:
        """Train W and b: minimize the penalized cross-entropy, which is convex, by L-BFGS."""
        optimizer = torch.optim.LBFGS(self.parameters(), max_iter=steps, tolerance_grad=1e-6, tolerance_change=1e-10,
                                      history_size=20, line_search_fn="strong_wolfe")

        def closure() -> Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(self(vectors), labels) + self.W.square().sum() / (2 * C * len(vectors))
            loss.backward()
            return loss

        with torch.enable_grad():
            optimizer.step(closure)


class Probed(NamedTuple):
    """Accuracies of probes on inputs that they were not trained on.

    task       accuracy of a probe for the labels of the task
    control    accuracy of a probe for the labels of the control task
    commonest  accuracy of always predicting the most frequent label of the training set

    >>> round(Probed(task=0.9, control=0.6, commonest=0.5).selectivity, 1)
    0.3
    """

    task: float
    control: float
    commonest: float

    @property
    def selectivity(self) -> float:
        """Accuracy on the task minus accuracy on the control task."""
        return self.task - self.control


def control_labels(kinds: Int[Tensor, "..."], classes: int, generator: torch.Generator | None = None) -> Int[Tensor, "..."]:
    """Return labels of the control task: a random label for every *kind* of input, such as a word type.

    kinds    id of the kind of each input, of any shape; the labels have the same shape
    classes  number of labels; they are 0..classes-1

    >>> kinds = torch.tensor([3, 1, 3, 3, 1])
    >>> labels = control_labels(kinds, 10, torch.Generator().manual_seed(0))
    >>> len({(int(k), int(y)) for k, y in zip(kinds, labels)})
    2
    """
    check_sizes(2, classes=classes)
    every, which = kinds.unique(return_inverse=True)
    return torch.randint(classes, every.shape, generator=generator)[which]


def probe(train: tuple[Tensor, Tensor], test: tuple[Tensor, Tensor],
          kinds: tuple[Tensor, Tensor], C: float | int = 1.0,
          generator: torch.Generator | None = None, steps: int = 200) -> Probed:
    """Train a probe on labels and one on control labels; return their accuracies on `test`.

    train, test  vectors (N, D) and labels (N,)
    kinds        the kind of each input of `train` and of `test`, for the control labels
    C, steps     arguments of each `LinearProbe`

    The control accuracy is over inputs whose kind occurs in `train`; nan if there are none.
    """
    (vectors, labels), (new, wanted) = train, test
    together = torch.cat([labels, wanted])
    _fit(vectors, kinds[0])
    _fit(new, kinds[1])
    random = control_labels(torch.cat(kinds), int(together.max()) + 1,
                            generator).split([len(labels), len(wanted)])
    seen = torch.isin(kinds[1], kinds[0])
    control = float("nan")
    if seen.any() and len(random[0].unique()) > 1:
        guess = LinearProbe(vectors, random[0], C, steps)
        control = guess.score(new[seen], random[1][seen])
    commonest = labels.bincount().argmax()
    return Probed(LinearProbe(vectors, labels, C, steps).score(new, wanted), control,
                  (wanted == commonest).double().mean().item())


def untrained_twin(model: nn.Module, seed: int = 0) -> nn.Module:
    """Return a model of the same class and configuration, with random weights from `seed`, in eval mode.

    The state of torch's random number generator is unchanged.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return type(model)(copy.deepcopy(model.config)).eval()


def _fit(vectors: Tensor, labels: Tensor) -> None:
    if vectors.dim() != 2 or labels.shape != vectors.shape[:1] or not len(labels):
        raise ValueError(f"vectors has shape {tuple(vectors.shape)}, and its labels or kinds have shape "
                         f"{tuple(labels.shape)}; expected (N, D), and (N,) with one entry for each vector, with N at least 1")
