"""Label smoothing in both forms: gradients, torch's own, bad input."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from course_lib.training import cross_entropy, noam_lr
from course_lib.training.losses import FORMS, smoothed

G = torch.Generator().manual_seed(0)
LOGITS = 3 * torch.randn(7, 5, generator=G, dtype=torch.float64)
TARGET = torch.tensor([0, 4, 2, 2, 1, 0, 3])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("eps", [0.0, 0.1, 0.6])
def test_cross_entropy_gradient(form, eps):
    q = smoothed(TARGET, 5, eps, form).double()
    a, b = LOGITS.clone().requires_grad_(), LOGITS.clone().requires_grad_()
    got, want = cross_entropy(a, TARGET, eps, form), -(q * b.log_softmax(-1)).sum(1).mean()
    assert torch.allclose(got, want, rtol=1e-6)
    got.backward(), want.backward()
    assert torch.allclose(a.grad, b.grad, atol=1e-7)
    assert torch.allclose(q.sum(1), torch.ones(7, dtype=torch.float64), atol=1e-6)


def test_smoothed_forms():
    slide, theirs = smoothed(TARGET[:1], 5, 0.2, "slide")[0], smoothed(TARGET[:1], 5, 0.2, "torch")[0]
    assert torch.allclose(slide, torch.tensor([0.8, 0.05, 0.05, 0.05, 0.05]))
    assert torch.allclose(theirs, torch.tensor([0.84, 0.04, 0.04, 0.04, 0.04]))
    assert torch.equal(cross_entropy(LOGITS, TARGET, 0.2, "torch"), F.cross_entropy(LOGITS, TARGET, label_smoothing=0.2))
    assert cross_entropy(LOGITS, TARGET, 0.2, "slide") != cross_entropy(LOGITS, TARGET, 0.2, "torch")


def test_cross_entropy_nothing_to_count():
    with pytest.raises(ValueError, match="target has no element, or only padding; expected at least one target"):
        cross_entropy(LOGITS[:1], TARGET[:1], ignore=0)


@pytest.mark.parametrize("eps, form, says", [
    (-0.1, "torch", "eps is -0.1; with 5 classes expected 0 <= eps < 1"), (1.0, "torch", "eps is 1.0"),
    (0.8, "slide", "eps is 0.8; with 5 classes expected 0 <= eps < 0.8"), (0.1, "uniform", "form is 'uniform'"),
])
def test_cross_entropy_bad_input(eps, form, says):
    with pytest.raises(ValueError, match=says):
        cross_entropy(LOGITS, TARGET, eps, form)


@pytest.mark.parametrize("name, arguments", [("step", (0, 8, 4)), ("d_model", (1, 0, 4)), ("warmup", (1, 8, 0))])
def test_noam_lr_bad_input(name, arguments):
    with pytest.raises(ValueError, match=f"{name} is 0; expected at least 1"):
        noam_lr(*arguments)
