"""The balls on a loss surface: every path is torch.optim's, bad input."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.explorables import LossSurface
from course_lib.explorables.loss_surface import FAR, NOISE, OPTIMIZERS, RATES, SURFACES, noise, path
from tests.explorables.figure import Figure, choose, click, close, fill, keys

TORCHS = {
    "SGD": lambda p, lr: torch.optim.SGD(p, lr),
    "momentum": lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9),
    "Adam": lambda p, lr: torch.optim.Adam(p, lr),
}


def by_torch(surface, optimizer, rate, start, steps, sigma=0.0, seed=1):
    """The path by torch's optimizer and torch's gradient of the loss."""
    theta = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    rule, found = TORCHS[optimizer]([theta], rate), [theta.detach().clone()]
    for z in noise(seed, steps):
        rule.zero_grad()
        (SURFACES[surface][0](*theta) + sigma * (theta * torch.tensor(z, dtype=torch.float64)).sum()).backward()
        rule.step()
        found.append(theta.detach().clone())
        if not theta.detach().abs().max() < FAR:
            break
    return torch.stack(found)


@pytest.mark.parametrize("surface, optimizer", [*itertools.product(SURFACES, OPTIMIZERS)])
def test_path_equals_torch(surface, optimizer):
    for rate, sigma in ((0.01, 0.0), (0.19, NOISE), (2.0, NOISE)):
        args = surface, optimizer, rate, [-2.2, 1.4], 60, sigma, 3
        mine, torchs = path(*args), by_torch(*args)
        assert len(mine) == len(torchs)
        torch.testing.assert_close(mine, torchs, rtol=1e-9, atol=1e-9)


def test_path_divergence():
    assert len(path("valley", "SGD", 0.25, [-2.2, 1.4], 100)) < 100
    assert "SGD at rate 0.25: diverged." in LossSurface(rates=[0.25, 0.1, 0.1], steps=100, noisy=False).text()


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    cases = [[surface, name, rate, [-2.2, 1.4] if seed % 2 else [0.4, -1.3], 100, NOISE * (seed % 3 > 0), seed]
             for seed, (surface, name, rate) in enumerate(itertools.product(SURFACES, OPTIMIZERS, RATES[::2]))]
    got = modules.evaluate("""async cases => {
      const { path } = await import("./loss_surface.js");
      return cases.map(c => path(...c));
    }""", cases)
    for case, points in zip(cases, got, strict=True):
        want = path(*case)
        assert len(points) == len(want), case
        torch.testing.assert_close(torch.tensor(points, dtype=torch.float64), want, msg=str(case), rtol=1e-7, atol=1e-5)


def agrees(page, w) -> None:
    """All points of all trails, all losses, the ball."""
    got = page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { loss: all("[data-loss]", e => +e.dataset.loss),
               trails: all(".cl-ls-trail", e => e.getAttribute("points").split(" ").map(p => p.split(",").map(Number))),
               visible: all(".cl-ls-trail", e => e.getAttribute("visibility") === "visible"),
               ball: ["cx", "cy"].map(k => +document.querySelector(".cl-ls-ball").getAttribute(k)) } }""")
    for points, loss, want in zip(got["trails"], got["loss"], w.paths, strict=True):
        close(points, want.clamp(-50, 50) * torch.tensor([1.0, -1.0]))
        height = SURFACES[w.surface][0](*want[-1].tolist())
        assert loss == (float("inf") if want[-1].abs().max() >= FAR else pytest.approx(height, rel=1e-6, abs=1e-6))
    assert got["visible"] == w.shown and got["ball"] == pytest.approx([w.start[0], -w.start[1]])


def dropped_at(x: float, y: float):
    def act(page):
        box = page.locator(".cl-ls-plot").bounding_box()
        page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        page.evaluate("now.start = now.start.map(v => Math.round(10 * v) / 10)")
        page.evaluate("model.set('start', now.start)")               # a pixel is not a round number
    return act


BAD = [
    ({"surface": "hill"}, "surface is 'hill'; expected one of 'valley', 'bowl', 'saddle'"),
    ({"start": [0.0, 3.0]}, r"start is \[0.0, 3.0\]; expected \[x, y\]"),
    ({"rates": [0.1] * 2}, "expected three numbers, each one of 0.003, 0.005"),
    ({"shown": [True]}, "shown has 1 entries; expected three"),
    ({"steps": 101}, "steps is 101; expected 0 to 100"),
]
FIGURE = Figure(LossSurface, agrees, bad=BAD, change={"steps": 3}, height=600,
                says=("30 steps of three optimizers on an elongated quadratic loss", "Adam at rate 0.19: loss "), moves=[
    (keys("Tab", "ArrowRight", "ArrowRight", "ArrowDown", at="other noise"), {"start": [-2.0, 1.3]}),
    (keys(*["ArrowUp"] * 9), {"start": [-2.0, 2.0]}),
    (keys("Tab", "Space"), {"shown": [False, True, True]}),
    (keys("Tab", "ArrowLeft"), {"rates": [0.14, 0.19, 0.19]}),
    (dropped_at(0.75, 0.25), {"start": [1.5, 1.0]}),
    (fill("rate of SGD", 10), {"rates": [0.25, 0.19, 0.19]}),
    (fill("Steps", 80), {"steps": 80}),
    (click("show Adam"), {"shown": [False, True, False]}),
    (click("noise, as from batches"), {"noisy": False}),
    (choose("Surface", "saddle"), {"surface": "saddle"}),
    (click("other noise"), {"seed": 2, "noisy": True}),
    (fill("rate of momentum", 16), {"rates": [0.25, 2.0, 0.19]}),
])
