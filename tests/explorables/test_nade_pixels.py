"""NADE pixel by pixel: its numbers against the library's own passes."""
from __future__ import annotations

import pytest
import torch

from course_lib import hub
from course_lib.conditional import Categorical
from course_lib.density import FVSBN, NADE
from course_lib.explorables import NadePixels
from course_lib.explorables.draws import uniforms
from course_lib.explorables.nade_pixels import OPEN, pack, run
from tests.explorables.figure import Figure, choose, click, close, data, keys, texts

SPIRAL = [4, 8, 0, 5, 2, 7, 1, 3, 6]                                 # not its own inverse


def small(order=SPIRAL, seed=0):
    model = NADE(9, 5, order=order)
    model.randomize(torch.Generator().manual_seed(seed))
    return model


def test_result_equals_full_pass():
    w = NadePixels(steps=64, seed=3)
    model, shown = hub.load("nade-digits").double(), w.result
    x = shown.x[None]
    assert shown.known == 64 and 5 < x.sum() < 50
    torch.testing.assert_close(shown.p, model.conditionals(x).probs[0].detach(), rtol=0, atol=1e-9)
    assert shown.log_prob == pytest.approx(model.log_prob(x).item(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_run_draws_library_sample(seed, monkeypatch):
    """The k-th variable drawn uses the k-th uniform, in an order that is not its own inverse, with pixels given."""
    model, given = small(seed=seed).double(), [OPEN] * 9
    given[4], given[1] = 1, 0
    monkeypatch.setattr("course_lib.autoregressive.uniforms", lambda num, n, *rest: torch.tensor(
        uniforms(seed, n), dtype=torch.float64).reshape(num, n, 1))
    known = torch.tensor([given]) != OPEN
    drawn = model.sample(1, given=torch.tensor([given]).clamp(min=0), known=known)[0]
    assert run(model, given, 9, seed).x.tolist() == drawn.long().tolist()


# --- in the browser ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, small(seed=1)], ids=["nade-digits", "nine pixels in another order"])
def test_javascript_equals_torch(modules, model):
    model = model or hub.load("nade-digits")
    n, generator, cases = model.n, torch.Generator().manual_seed(4), []
    for seed in range(15):
        given = torch.randint(0, 2, (n,), generator=generator)
        given[torch.rand(n, generator=generator) < 0.25 * (seed % 5)] = OPEN
        cases.append({"given": given.tolist(), "steps": (7 * seed) % (n + 1) if seed % 3 else n, "seed": seed})
    got = modules.evaluate("""async ({ cases, weights, hidden, order }) => {
      const { run, unpack, late } = await import("./nade_pixels.js"), m = unpack(weights, hidden, order);
      return cases.map(c => ({ ...run(m, c.given, c.steps, c.seed), late: late(c.given, order) }));
    }""", {"cases": cases, "weights": pack(model), "hidden": model.hidden, "order": model.order.tolist()})
    w, seen = NadePixels(model), set()
    for case, js in zip(cases, got, strict=True):
        want = run(model.double(), **case)
        assert (js["x"], js["known"]) == (want.x.tolist(), want.known), case
        close(js["p"], want.p, equal_nan=True, msg=str(case))
        assert js["logProb"] == pytest.approx(want.log_prob, abs=1e-5)
        w.given = case["given"]
        assert (js["late"] == 0) is w.exact
        seen |= {w.exact, want.known == n}
    assert seen == {True, False}


def agrees(page, w) -> None:
    want = w.result
    assert data(page, "value") == want.x.tolist()
    close(data(page, "p"), want.p, equal_nan=True)
    assert data(page, "log-prob")[0] == pytest.approx(want.log_prob, abs=1e-5)
    assert f"{want.log_prob:.4f}".replace("-0.0000", "0.0000") in texts(page, "[data-status]")[0]
    given = page.locator("[data-pixel]").evaluate_all("all => all.map(e => e.classList.contains('cl-given'))")
    assert given == [v != OPEN for v in w.given]
    assert ("not a draw from p(open | given)" in texts(page, ".cl-warning")[0]) is not w.exact
    ink = page.evaluate("""() => { const ground = e => getComputedStyle(e).backgroundColor;
      const color = getComputedStyle(document.querySelector(".cl-nade")).color;
      return [...document.querySelectorAll("[data-pixel]")].map(e => ground(e) === color) }""")
    assert ink == [v == 1 for v in want.x.tolist()], "ink is the color of text"


def given(**pixels: int):
    """pixels: p20=1 and so on."""
    return [pixels.get(f"p{i}", OPEN) for i in range(64)]


BAD = [
    (lambda: NadePixels(FVSBN(9)), r"model is a FVSBN with Bernoulli\(\); expected a NADE with Bernoulli\(\)"),
    (lambda: NadePixels(NADE(9, 4, Categorical(3))), r"model is a NADE with Categorical\(3\); expected a NADE with"),
    (lambda: NadePixels(NADE(8, 4)), "model has 8 variables; expected a square image"),
    (lambda: NadePixels(NADE(64, 300)), "155,056 bytes of weights; expected at most 100,000"),
    (lambda: NadePixels(small(), given=[1, 0]), "given has 2 entries; expected 9"),
    (lambda: NadePixels(small(), given=[2] * 9), r"given contains 2; expected 1 \(ink\), 0 \(empty\) or -1 \(open\)"),
    (lambda: NadePixels(small(), steps=10), "steps is 10; expected 0 to 9"),
]
FIGURE = Figure(NadePixels, agrees, bad=BAD, change={"steps": 5}, rich={"given": given(p10=1, p30=0), "steps": 20},
                says=("?" * 8, "pixels known in the order: 0 of 64", "next: row 1, column 1, probability of ink 0."), moves=[
    (keys("Tab", "ArrowLeft", "ArrowRight", "ArrowDown", "End", "ArrowRight", "ArrowUp", "ArrowUp", "Home", "ArrowRight",
          at="select >> nth=0"), {}),
    *((keys(key), {"given": given(p1=v)}) for key, v in (("Space", 1), ("Space", 0), ("Space", OPEN), ("1", 1), ("0", 0),
                                                         ("Delete", OPEN), ("1", 1))),
    (keys("Tab", "Enter"), {"steps": 1}),
    (keys("Tab", "Space"), {"steps": 64}),
    (keys("Tab", "Space"), {"seed": 2}),
    (keys("Tab", "Space"), {"steps": 0}),
    (keys("Tab", "Space"), {"given": given()}),
    (click("draw the next pixel"), {"steps": 1}),
    (click("draw the rest"), {"steps": 64}),
    (click("[data-pixel='20']"), {"given": given(p20=1), "steps": 20}),
    (click("sample again"), {"steps": 64, "seed": 3}),
    (click("take back what was drawn"), {"steps": 0}),
    (click("clear"), {"given": given()}),
    *((choose("select >> nth=0", number), lambda w, k=number: {"given": w.starts[k]["given"]}) for number in (1, 3)),
    (choose("select >> nth=0", "none"), {"given": given()}),
])
