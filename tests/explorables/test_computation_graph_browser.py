"""The computation graph in a browser: every step against the library, whole passes against torch, keys."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import ComputationGraph
from course_lib.explorables.computation_graph import GRAPHS, steps
from tests.explorables.test_computation_graph import by_torch


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), number = t => t === "" ? null : +t;
      return { values: all("[data-value]", e => number(e.dataset.value)),
               gradients: all("[data-value]", e => number(e.dataset.gradient)),
               lit: all(".cl-cg-lit", e => e.dataset.edge), live: document.querySelector(".cl-live").textContent } }""")


def agrees(page, w) -> None:
    got, want = shown(page), w.result
    assert got["values"] == pytest.approx(want.values, abs=1e-9)
    assert got["gradients"] == pytest.approx(want.gradients, abs=1e-9)


def test_every_step_of_the_page_is_the_librarys_and_the_ends_are_torchs(show):
    page, generator = show(ComputationGraph()), torch.Generator().manual_seed(0)
    cases = []
    for name, graph in GRAPHS.items():
        for passes in (1, 2, 3):
            inputs = (20 * torch.rand(3, generator=generator, dtype=torch.float64) - 10).tolist()
            low = 0 if passes == 1 else graph.length - len(graph.edges)
            cases += [{"graph": name, "inputs": inputs, "step": k, "passes": passes}
                      for k in range(low, graph.length + 1)]
    got = page.evaluate("""async cases => {
      const { GRAPHS, steps, length } = await import("./computation_graph.js");
      return cases.map(c => ({ ...steps(GRAPHS[c.graph], c.inputs, c.step, c.passes),
                                length: length(GRAPHS[c.graph]) }));
    }""", cases)
    for case, js in zip(cases, got, strict=True):
        graph = GRAPHS[case["graph"]]
        want = steps(graph, case["inputs"], case["step"], case["passes"])
        assert js["values"] == pytest.approx(want.values, abs=1e-9), case
        assert js["gradients"] == pytest.approx(want.gradients, abs=1e-9), case
        assert js["length"] == graph.length
        if case["step"] == graph.length:
            values, gradients = by_torch(graph, case["inputs"], case["passes"])
            assert js["values"] == pytest.approx(values, abs=1e-5)
            assert js["gradients"] == pytest.approx(gradients, abs=1e-5)


def test_by_mouse(show):
    page, w = show(ComputationGraph()), ComputationGraph()
    agrees(page, w)
    assert shown(page)["lit"] == ["2 0"]
    assert shown(page)["live"] == "Backward: βx passes (−2) × 2 = −4 to β."
    press = {name: page.get_by_role("button", name=name, exact=True) for name in
             ("step", "step back", "to the end", "begin again", "backward once more, without clearing")}
    press["step"].click()
    w.step = 9
    agrees(page, w)
    assert shown(page)["live"] == "Backward: βx passes (−2) × 3 = −6 to x. All gradients are complete."
    press["step"].click(force=True)                                  # it is off, and does nothing
    agrees(page, w)
    press["backward once more, without clearing"].click()
    w.step, w.passes = 4, 2
    agrees(page, w)
    press["to the end"].click()
    w.step = 9
    agrees(page, w)
    assert shown(page)["gradients"][0] == -8 and "never cleared: −12 stands there" in shown(page)["live"]
    page.get_by_role("combobox", name="Graph").select_option("twice")
    w = ComputationGraph("twice", step=0)
    agrees(page, w)
    for step in range(1, 9):
        press["step"].click()
        w.step = step
        agrees(page, w)
    assert shown(page)["live"] == "Backward: ab + c passes 2 × 1 = 2 to c."
    page.get_by_role("textbox").nth(1).fill("-1.5")
    page.keyboard.press("Enter")
    w.inputs = [2.0, -1.5, 10.0]
    agrees(page, w)
    page.get_by_role("textbox").nth(1).fill("eleven")
    page.keyboard.press("Enter")
    agrees(page, w)
    assert shown(page)["live"].startswith("Not a number") and page.locator("[aria-invalid=true]").count() == 1
    press["step back"].click()
    w.step = 7
    agrees(page, w)
    assert page.locator("[aria-invalid=true]").count() == 0
    press["begin again"].click()
    w.step = 0
    agrees(page, w)
    assert shown(page)["live"] == "Only the inputs are known. Step forward."


def test_the_second_contribution_is_said(show):
    page = show(ComputationGraph("twice"))
    assert shown(page)["live"] == "Backward: ab passes 2 × (−3) = −6 to a. It was 4 by the other path: the sum is −2."


def test_by_keyboard_alone(show):
    page, w = show(ComputationGraph(step=0)), ComputationGraph(step=0)
    text = "document.activeElement.textContent"
    page.get_by_role("textbox").nth(2).focus()
    page.keyboard.press("Tab")                                       # the graph itself, which can be scrolled
    page.keyboard.press("Tab")
    assert page.evaluate(text) == "step"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for k in range(1, 12):
        page.keyboard.press("Enter")
        w.step = min(k, 9)
        agrees(page, w)
        assert page.evaluate(text) == "step", "the focus stays, at the end too"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    w.step = 8
    agrees(page, w)


def test_a_change_from_python_redraws(from_python):
    got = from_python(ComputationGraph(), ("step", 1), ("step", 2))
    assert got == ["The figure was changed from outside. Forward: βx = 3 × 2 = 6."] * 2


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(ComputationGraph("twice"), theme, width)


def test_cause_and_effect_stand_on_one_screen(show):
    assert show(ComputationGraph(), width=800).locator(".cl-x").bounding_box()["height"] <= 600
