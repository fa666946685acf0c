"""The balls on a loss surface in a browser: every path against torch.optim, by mouse and by keyboard."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.explorables import LossSurface
from course_lib.explorables.loss_surface import FAR, NOISE, OPTIMIZERS, RATES, SURFACES
from tests.explorables.test_loss_surface import by_torch

CLOSE = {"rtol": 1e-7, "atol": 1e-5}


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { loss: all("[data-loss]", e => +e.dataset.loss), live: document.querySelector(".cl-live").textContent,
               trails: all(".cl-ls-trail", e => e.getAttribute("points").split(" ").map(p => p.split(",").map(Number))),
               visible: all(".cl-ls-trail", e => e.getAttribute("visibility") === "visible"),
               ball: ["cx", "cy"].map(k => +document.querySelector(".cl-ls-ball").getAttribute(k)) } }""")


def agrees(page, w) -> None:
    """The page shows what `w` computes: all points of all trails, all losses."""
    got = shown(page)
    for points, loss, want in zip(got["trails"], got["loss"], w.paths, strict=True):
        torch.testing.assert_close(torch.tensor(points, dtype=torch.float64) * torch.tensor([1.0, -1.0]),
                                   want.clamp(-50, 50), **CLOSE)
        height = SURFACES[w.surface][0](*want[-1].tolist())
        assert loss == (float("inf") if want[-1].abs().max() >= FAR else pytest.approx(height, rel=1e-6, abs=1e-6))
    assert got["visible"] == w.shown and got["ball"] == pytest.approx([w.start[0], -w.start[1]])


def test_the_paths_of_the_page_are_those_of_torch(show):
    page = show(LossSurface())
    cases = [[surface, name, rate, [-2.2, 1.4] if seed % 2 else [0.4, -1.3], 100, NOISE * (seed % 3 > 0), seed]
             for seed, (surface, name, rate) in enumerate(itertools.product(SURFACES, OPTIMIZERS, RATES[::2]))]
    got = page.evaluate("""async cases => {
      const { path } = await import("./loss_surface.js");
      return cases.map(c => path(...c));
    }""", cases)
    for case, points in zip(cases, got, strict=True):
        want = by_torch(*case)
        assert len(points) == len(want), case
        torch.testing.assert_close(torch.tensor(points, dtype=torch.float64), want, msg=str(case), **CLOSE)


def test_contours_lie_at_their_level(show):
    """Ends of segments, on cut edges of the mesh, are within the mesh's error of the level."""
    page = show(LossSurface())
    for surface, level in (("bowl", 1.2), ("valley", 5), ("saddle", 1.3)):
        text = page.evaluate("""async ([surface, level]) => {
          const { contours, SURFACES } = await import("./loss_surface.js");
          return contours(SURFACES[surface].loss, [level]);
        }""", [surface, level])
        points = [tuple(map(float, p.split())) for part in text.split("M")[1:] for p in part.split("L")]
        assert len(points) > 60
        assert all(SURFACES[surface][0](x, -y) == pytest.approx(level, abs=0.06) for x, y in points)


def test_by_mouse(show):
    page, w = show(LossSurface()), LossSurface()
    agrees(page, w)
    assert shown(page)["live"].startswith("From (-2.20, 1.40), 30 steps: lowest is ")
    box = page.locator(".cl-ls-plot").bounding_box()
    page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 0.25 * box["height"])
    w.start = shown(page)["ball"][0], -shown(page)["ball"][1]
    assert w.start == pytest.approx([1.5, 1.0], abs=0.03)
    agrees(page, w)
    page.get_by_label("rate of SGD").fill("10")
    w.rates = [0.25, 0.19, 0.19, 0.19]
    page.get_by_role("slider", name="Steps").fill("80")
    w.steps = 80
    agrees(page, w)
    assert "SGD left the picture." in shown(page)["live"]
    page.get_by_label("show Adam", exact=True).uncheck()
    w.shown = [True, True, False, True]
    agrees(page, w)
    page.get_by_label("noise, as from batches").uncheck()
    w.noisy = False
    agrees(page, w)
    page.get_by_role("combobox", name="Surface").select_option("saddle")
    w.surface = "saddle"
    agrees(page, w)
    page.get_by_role("button", name="other noise").click()
    w.seed, w.noisy = 2, True
    agrees(page, w)
    page.get_by_label("rate of momentum").fill("16")
    w.rates = [0.25, 2.0, 0.19, 0.19]
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(LossSurface()), LossSurface()
    page.get_by_role("button", name="other noise").focus()
    page.keyboard.press("Tab")
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == "the ball, dropped at (-2.20, 1.40): arrow keys move it"
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    w.start = [-2.0, 1.3]
    agrees(page, w)
    for _ in range(9):
        page.keyboard.press("ArrowUp")
    w.start = [-2.0, 2.0]
    agrees(page, w)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    w.shown = [False, True, True, True]
    agrees(page, w)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowLeft")
    w.rates = [0.14, 0.19, 0.19, 0.19]
    agrees(page, w)
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "0.14"


def test_a_change_from_python_redraws(from_python):
    got = from_python(LossSurface(), ("steps", 3), ("steps", 4))
    assert got[0].startswith("The figure was changed from outside. From (-2.20, 1.40), 3 steps") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(LossSurface(), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    assert show(LossSurface(), width=800).locator(".cl-x").bounding_box()["height"] <= 600
