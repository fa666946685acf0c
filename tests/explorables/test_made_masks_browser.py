"""The figure of MADE's masks in a browser: its functions against the library's, its page by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.density import MADE
from course_lib.explorables.made_masks import MadeMasks, draw, masks_of, reach, used
from course_lib.show.masks import idle


def settings(num: int) -> list[dict]:
    """Random orders and degrees from 1 to n, one or two layers."""
    generator, out = torch.Generator().manual_seed(4), []
    for k in range(num):
        n = 3 + k % 3
        degrees = [torch.randint(1, n + 1, (2 + (k + j) % 4,), generator=generator).tolist() for j in range(1 + k % 2)]
        out.append({"order": torch.randperm(n, generator=generator).tolist(), "degrees": degrees, "output": k % n})
    return out


def shown(page) -> dict:
    """What the page draws, read from its elements."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { edges: all("line", e => e.dataset.edge).sort(), lit: all("line.cl-mm-lit", e => e.dataset.edge).sort(),
               dead: all(".cl-mm-dead", e => e.getAttribute("aria-label")),
               reads: all("[data-kind=reads]", e => e.dataset.cell).sort(),
               lost: all("[data-kind=lost]", e => e.dataset.cell).sort(),
               factors: all("[data-factor]", e => e.textContent), live: document.querySelector(".cl-live").textContent,
               degrees: all(".cl-mm-hidden text", e => +e.textContent) } }""")


def expected(w: MadeMasks) -> dict:
    masks, order = w.masks, w.order
    edges = {f"{layer} {k} {j}" for layer, mask in enumerate(masks) for k, j in mask.nonzero().tolist()}
    units = [*used(masks, w.output), torch.arange(len(order)) == w.output] if w.output >= 0 else None
    lit = {e for e in edges if units and units[int(e.split()[0]) + 1][int(e.split()[1])]}
    reads = {f"{i} {j}" for i, j in w.reads.nonzero().tolist()}
    allowed = {f"{i} {j}" for k, i in enumerate(order) for j in order[:k]}
    dead = [f"degree of unit {k + 1}, hidden layer {layer}" for layer, row in enumerate(w.dead, 1) for k in row]
    return {"edges": sorted(edges), "lit": sorted(lit), "reads": sorted(reads), "lost": sorted(allowed - reads),
            "dead": dead, "degrees": [m for row in w.degrees for m in row]}


def test_every_function_of_the_page_agrees_with_the_library(show):
    page = show(MadeMasks())
    cases = settings(120)
    got = page.evaluate("""async cases => {
      const m = await import("./made_masks.js");
      return cases.map(({ order, degrees, output }, seed) => {
        const masks = m.masksOf(order, degrees);
        return { masks, reach: m.reach(masks), used: m.used(masks, output), idle: m.idle(masks),
                 positions: m.positions(order), drawn: m.draw(seed, order.length, degrees.map(r => r.length)) };
      });
    }""", cases)
    for seed, (case, js) in enumerate(zip(cases, got, strict=True)):
        n, masks = len(case["order"]), masks_of(case["order"], case["degrees"])
        model = MADE(n, [len(row) for row in case["degrees"]], order=case["order"])
        model._connect([torch.tensor(row) for row in case["degrees"]])
        assert js["positions"] == model.degrees[0].tolist()
        for mask, layer, mine in zip(js["masks"], model.layers, masks, strict=True):
            assert torch.equal(torch.tensor(mask), layer.mask.bool()) and torch.equal(mine, layer.mask.bool()), case
        assert js["reach"] == reach(masks).tolist()
        assert [sorted(model.parents(i)) for i in range(n)] == [[j for j in range(n) if row[j]] for row in js["reach"]]
        assert js["used"] == [row.tolist() for row in used(masks, case["output"])]
        assert js["idle"] == [row.tolist() for row in idle(masks)]
        assert js["drawn"] == draw(seed, n, [len(row) for row in case["degrees"]])


def test_the_page_draws_what_the_masks_leave(show):
    for case in settings(30)[::7]:
        w = MadeMasks(**case)
        got, want = shown(show(w)), expected(w)
        assert {key: got[key] for key in want} == want, case


def test_by_mouse(show):
    """A click raises a degree, an output lights its paths, neighbours change places, the shape changes."""
    page, w = show(MadeMasks()), MadeMasks()
    page.locator(".cl-mm-hidden").nth(0).click()
    w.degrees = [[2, 2, 2, 1], [1, 2, 1, 2]]
    assert {k: shown(page)[k] for k in expected(w)} == expected(w)
    page.locator(".cl-mm-hidden").nth(1).click()
    w.degrees = [[2, 3, 2, 1], [1, 2, 1, 2]]
    got = shown(page)
    assert {k: got[k] for k in expected(w)} == expected(w) and got["dead"] == ["degree of unit 2, hidden layer 1"]
    assert got["live"] == "Hidden layer 1, unit 2: degree 3, a dead unit. Nothing allowed is lost. Dead units: 1."
    page.locator(".cl-mm-output").nth(0).hover()
    w.output = 0
    assert shown(page)["lit"] == expected(w)["lit"]
    assert shown(page)["live"] == "p(x1 | x2, x3): paths lead to it from x2, x3."
    page.get_by_label("exchange x2 and x3").click()
    w.order = [2, 1, 0]
    assert {k: shown(page)[k] for k in expected(w)} == expected(w)
    page.get_by_label("Variables").select_option("5")
    page.get_by_label("Hidden layers").select_option("1")
    page.get_by_label("Units in a layer").select_option("6")
    w = MadeMasks(order=[1, 2, 3, 4, 0], degrees=draw(1, 5, [6]), output=0)
    assert {k: shown(page)[k] for k in expected(w)} == expected(w)
    page.get_by_role("button", name="draw the degrees anew").click()
    w.degrees = draw(2, 5, [6])
    assert {k: shown(page)[k] for k in expected(w)} == expected(w)
    page.get_by_label("list in the order of drawing").check()
    first = page.locator(".cl-mm-table tbody th").all_text_contents()
    assert first == ["of x2", "of x3", "of x4", "of x5", "of x1"]
    page.get_by_label("Variables").select_option("3")
    assert len(shown(page)["factors"]) == 3


def test_the_planted_fault_shows_its_path_and_what_the_contract_says(show):
    """By keyboard; the masks, the pattern and the sentence are those of the reference."""
    w = MadeMasks(output=-1)
    page = show(w)
    assert shown(page)["live"].startswith("Set the degree") and page.locator("[data-kind=leak], .cl-mm-leak").count() == 0
    page.get_by_label("plant a fault").focus()
    page.keyboard.press("Space")
    w.leak = True
    own = [f"{i} {i}" for i in range(3) if w.reads[i, i]]
    w.output = int(own[0][0])
    got, want = shown(page), expected(w)
    want["reads"] = sorted(set(want["reads"]) - set(own))
    assert {key: got[key] for key in want} == want
    assert page.eval_on_selector_all("[data-kind=leak]", "all => all.map(e => e.dataset.cell)") == own
    assert page.locator(".cl-mm-leak.cl-mm-lit").count() > 0 and w.verdict in got["live"] and "loss falls" in got["live"]
    page.keyboard.press("Space")
    assert "as it must" in shown(page)["live"] and page.locator("[data-kind=leak]").count() == 0


def test_by_keyboard_alone(show):
    page = show(MadeMasks())
    label = "document.activeElement.getAttribute('aria-label')"
    page.get_by_label("exchange x3 and x1").focus()
    page.keyboard.press("Enter")
    assert shown(page)["live"].startswith("Order of drawing: x2, x1, x3.")
    assert page.evaluate(label) == "exchange x1 and x3", "the focus stays where it was"
    page.keyboard.press("Tab")
    assert page.evaluate(label) == "degree of unit 1, hidden layer 1"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert shown(page)["degrees"][0] == 3 and page.evaluate(label) == "degree of unit 1, hidden layer 1"
    assert page.evaluate("document.activeElement.getAttribute('aria-valuetext')") == "3, dead unit"
    page.keyboard.press("1")
    assert shown(page)["degrees"][0] == 1
    for _ in range(8):
        page.keyboard.press("Tab")
    assert page.evaluate(label) == "output p(x1 | x2), degree 2"
    assert shown(page)["live"] == "p(x1 | x2): paths lead to it from x2."
    page.keyboard.press("Escape")
    assert shown(page)["lit"] == [] and shown(page)["live"] == "No output is chosen."
    page.keyboard.press("Enter")
    assert shown(page)["lit"]


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(MadeMasks(order=[3, 1, 4, 0, 2], degrees=[[1, 5, 2, 4, 3, 2], [2, 3, 4, 1, 2, 4]]), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


def test_a_change_from_python_redraws(show):
    page = show(MadeMasks())
    state = {k: v for k, v in MadeMasks().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./made_masks.js"), heard = {};
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() {} };
      document.body.append(el);
      const end = widget.render({ model, el }), lines = () => el.querySelectorAll("line").length, out = [lines()];
      model.set("degrees", [[1, 1]]);
      out.push(lines(), el.querySelector(".cl-live").textContent);
      end();
      model.set("degrees", [[1, 2, 2, 2]]);
      out.push(lines());
      el.remove();
      return out;
    }""", state)
    one, two = MadeMasks(), MadeMasks(degrees=[[1, 1]])
    assert got[0] == sum(int(m.sum()) for m in one.masks) and got[1] == sum(int(m.sum()) for m in two.masks) == got[3]
    assert got[2] == "The figure was changed from outside. 1 of the allowed dependences has no path. No unit is dead."
