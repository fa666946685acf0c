"""The drawn digit: its numbers against whole passes and against the library's own sampling, its size, bad input."""
from __future__ import annotations

import base64

import numpy as np
import pytest
import torch

from course_lib import hub
from course_lib.conditional import Categorical
from course_lib.density import NADE
from course_lib.explorables import DrawnDigit
from course_lib.explorables.base import STATIC
from course_lib.explorables.drawn_digit import SEEDS, WEIGHTS, trace
from course_lib.explorables.draws import uniforms
from course_lib.pixels import GatedPixelCNN, PixelCNN
from tests.explorables.figure import Figure, choose, click, close, data, keys, pressed


def small(kind=PixelCNN, seed=0):
    model = kind((4, 4), 6, 2, first=3).double().eval()
    model.randomize(torch.Generator().manual_seed(seed))
    return model


@pytest.mark.parametrize("name", WEIGHTS.values())
def test_trace_equals_whole_passes(name):
    """Each effect anew, one flip at a time: the literal loop."""
    model = hub.load(STATIC / "weights" / name).double()
    got = trace(model, SEEDS[0])
    x = got.x.double()[None]
    with torch.no_grad():
        torch.testing.assert_close(got.p, model.conditionals(x).probs[0], rtol=0, atol=1e-9)
        for i, j in ((1, 0), (20, 19), (36, 27), (36, 31), (63, 0), (63, 62)):
            one, other = x.clone(), x.clone()
            one[0, j], other[0, j] = 1, 0
            want = (model.conditionals(one).probs[0, i] - model.conditionals(other).probs[0, i]).item()
            if j in model.parents(i):
                assert got.effect[i, j].item() == pytest.approx(want, abs=1e-9)
            else:
                assert want == 0 and got.effect[i, j].isnan()
    assert torch.equal(~got.effect.isnan(), model.receptive_field)
    assert torch.equal(got.x, (got.u >= 1 - got.p).long())


@pytest.mark.parametrize("kind", [PixelCNN, GatedPixelCNN], ids=lambda k: k.__name__)
def test_trace_draws_library_sample(kind, monkeypatch):
    for seed in range(3):
        model = small(kind, seed)
        monkeypatch.setattr("course_lib.autoregressive.uniforms", lambda num, n, *rest: torch.tensor(
            uniforms(seed, n), dtype=torch.float64).reshape(num, n, 1))
        assert trace(model, seed).x.tolist() == model.sample(1)[0].long().tolist()


@pytest.fixture(scope="module")
def shipped() -> DrawnDigit:
    return DrawnDigit()


def test_page_data(shipped):
    w = shipped
    for each, drawings in zip(w.traces, w._traces, strict=True):
        for sent, t in zip(each["drawings"], drawings, strict=True):
            lower = t.effect[torch.ones(64, 64).tril(-1).bool()]
            for key, want in (("p", t.p), ("u", t.u), ("effect", lower)):
                got = torch.from_numpy(np.frombuffer(base64.b64decode(sent[key]), "<f4").copy()).double()
                torch.testing.assert_close(got, want, rtol=0, atol=1e-5, equal_nan=True)
            assert sent["x"] == "".join(map(str, t.x.tolist()))


# --- in the browser ----------------------------------------------------------------------------------------------------


def agrees(page, w) -> None:
    t, i = w.result, w.pixel
    assert data(page, "value") == [v if j < w.steps else -1 for j, v in enumerate(t.x.tolist())]
    assert pressed(page, ".cl-dd-grid button") == [i]
    close(data(page, "p"), torch.where(torch.arange(64) <= w.steps, t.p, torch.nan), equal_nan=True)
    row = torch.full((64,), torch.nan, dtype=torch.float64)
    if i <= w.steps:
        row[:i] = t.effect[i, :i]
        assert f"{t.p[i]:.4f}" in page.locator(".cl-live").text_content()
        assert page.locator(".cl-dd-blind").count() == int(row[:i].isnan().sum())
    close(data(page, "effect"), row, equal_nan=True)


BAD = [
    (lambda: DrawnDigit({"NADE": NADE(9, 4)}), "models contains a NADE; expected image models"),
    (lambda: DrawnDigit({"four": PixelCNN((4, 4), 4, 1, conditional=Categorical(4))}), r"conditional Categorical\(4\)"),
    (lambda: DrawnDigit({"wide": PixelCNN((4, 5), 4, 1)}), r"shape \[1, 4, 5\] and no classes; expected a square"),
    (lambda: DrawnDigit({"ten": PixelCNN((4, 4), 4, 1, classes=10)}), "and 10 classes; expected a square"),
    (lambda: DrawnDigit({"a": small(), "b": PixelCNN((3, 3), 4, 1)}), r"has images of \[9, 16\] pixels; expected one"),
    (lambda: DrawnDigit({"large": PixelCNN((11, 11), 2, 1)}), "characters in base64; expected at most 100,000"),
    ({"network": 2}, "network is 2; expected 0 to 1"),
    ({"steps": 65}, "steps is 65; expected 0 to 64"),
    ({"pixel": 64}, "pixel is 64; expected 0 to 63"),
]
FIGURE = Figure(DrawnDigit, agrees, bad=BAD, change={"pixel": 10}, height=600,
                says=("?" * 8, "row 5, column 5: probability of ink 0."), moves=[
    (keys("Tab", "ArrowUp", "ArrowLeft", "Enter", at="begin again"), {"pixel": 27}),
    (click("draw the next pixel"), {"steps": 37, "pixel": 37}),
    (click("draw the row"), {"steps": 40, "pixel": 40}),
    (click("[data-value] >> nth=28"), {"pixel": 28}),
    (choose("Network", 1), {"network": 1}),
    (choose("Drawing", 2), {"drawing": 2}),
    (click("draw the rest"), {"steps": 64, "pixel": 63}),
    (click("draw the next pixel"), {}),                              # there is none
    (click("begin again"), {"steps": 0, "pixel": 0}),
    (click("[data-value] >> nth=36"), {"pixel": 36}),                # it comes later
])
