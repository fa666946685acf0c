"""The chain rule's figure in a browser: its functions and its page against torch, by mouse and by keyboard."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.explorables import ChainRule
from course_lib.explorables.chain_rule import (
    ORDERS,
    conditionals_in_order,
    costs,
    joint_from_conditionals,
    kl,
    project,
    sample,
)

PAIRS = [[0, 1], [0, 2], [1, 2]]
SUBSETS = [list(s) for r in range(4) for s in itertools.combinations(PAIRS, r)]
CLOSE = {"rtol": 0, "atol": 1e-5}


def settings(num: int) -> list[dict]:
    """Random conditionals, some of them 0 or 1, with orders and dropped arrows in turn."""
    generator, out = torch.Generator().manual_seed(2), []
    for i in range(num):
        c = torch.rand(7, generator=generator, dtype=torch.float64)
        if i % 3 == 0:
            c = torch.where(torch.rand(7, generator=generator) < 0.3, c.round(), c)
        orders = {"order": list(ORDERS[i % 6]), "next": list(ORDERS[i % 5])}
        out.append({"c": c.tolist(), "dropped": SUBSETS[i % 8], **orders})
    return out


def numbers(page) -> dict:
    """What the page shows, read from its text, and from data attributes where the text is rounded."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { q: all("[data-q]", e => +e.dataset.q), text: all("[data-q]", e => +e.textContent),
               p: all("[data-joint]", e => +e.textContent), sum: document.querySelector("[data-sum]").textContent,
               kl: +document.querySelector("[data-kl]").dataset.kl,
               cost: document.querySelector("[data-kl]").textContent,
               counts: all("[data-count]", e => +e.dataset.count), products: all(".cl-product", e => e.textContent),
               slots: Object.fromEntries(all("[data-slot]:not([type=range])", e => [e.dataset.slot, +e.dataset.p])),
               live: document.querySelector(".cl-live").textContent } }""")


def test_every_function_of_the_page_agrees_with_torch(show):
    page = show(ChainRule())
    cases = settings(240)
    got = page.evaluate("""async cases => {
      const m = await import("./chain_rule.js");
      return cases.map(({ c, order, dropped, next }) => {
        const joint = m.jointFromConditionals(c, order), q = m.project(c, order, dropped);
        return { joint, q, next: m.conditionalsInOrder(joint, next), costs: m.costs(c, order, dropped),
                 kl: m.kl(joint, m.jointFromConditionals(q, order)), counts: m.counts(q, order, 7, 60).n };
      });
    }""", cases)
    for case, js in zip(cases, got, strict=True):
        c, order, dropped = torch.tensor(case["c"], dtype=torch.float64), case["order"], case["dropped"]
        joint, q = joint_from_conditionals(c, order), project(c, order, dropped)
        expected = {"joint": joint.flatten(), "q": q, "next": conditionals_in_order(joint, case["next"]),
                    "costs": costs(c, order, dropped), "kl": kl(joint, joint_from_conditionals(q, order))}
        for name, value in expected.items():
            got_here = torch.tensor(js[name], dtype=torch.float64)
            torch.testing.assert_close(got_here, value, msg=f"{name}: {case}", **CLOSE)
        drawn = torch.bincount(sample(q, order, 60, seed=7) @ torch.tensor([4, 2, 1]), minlength=8)
        assert js["counts"] == drawn.tolist(), case


def test_the_page_shows_what_python_computes(show):
    """A few settings through the controls: a preset, typed numbers, another order, dropped arrows, samples."""
    page, w = show(ChainRule()), ChainRule()
    preset, order = page.locator("select").nth(0), page.locator("select").nth(1)
    for case in settings(16)[1::3]:
        preset.select_option(label="independent")
        order.select_option("012")
        for box in page.locator("input[type=checkbox]").all():
            box.check()
        typed = [round(v, 3) for v in case["c"]]
        for at, value in enumerate(typed):
            page.fill(f"input[type=text][data-slot='{at}']", str(value))
            page.keyboard.press("Enter")
        order.select_option("".join(map(str, case["order"])))
        for a, b in case["dropped"]:
            later, earlier = (a, b) if case["order"].index(a) > case["order"].index(b) else (b, a)
            page.get_by_label(f"x{later + 1} reads x{earlier + 1}").uncheck()
        page.get_by_role("button", name="draw 100 samples").click()

        w.order, w.dropped, w.conditionals, w.drawn = [0, 1, 2], [], typed, 100
        w.reorder(case["order"])
        w.dropped = case["dropped"]
        shown, q = numbers(page), w.model.flatten()
        torch.testing.assert_close(torch.tensor(shown["q"], dtype=torch.float64), q, **CLOSE)
        torch.testing.assert_close(torch.tensor(shown["text"], dtype=torch.float64), q, **CLOSE)
        if case["dropped"]:
            torch.testing.assert_close(torch.tensor(shown["p"], dtype=torch.float64), w.joint.flatten(), **CLOSE)
        assert shown["sum"] == "1.000000"
        assert shown["kl"] == pytest.approx(w.cost, abs=1e-5) and shown["cost"] == f"{abs(w.cost):.4f} nats"
        best = project(torch.tensor(w.conditionals, dtype=torch.float64), w.order, w.dropped)
        for at, value in shown["slots"].items():
            assert value == pytest.approx(best[int(at)].item(), abs=1e-5)
        assert shown["counts"] == torch.bincount(w.samples @ torch.tensor([4, 2, 1]), minlength=8).tolist()
        first = [float(f) for f in shown["products"][5].split(" × ")]
        assert first[0] * first[1] * first[2] == pytest.approx(q[5].item(), abs=3e-4)


def arrows(page) -> dict[str, bool]:
    """Each arrow of the graph, and whether it is drawn as a line of dots."""
    return page.evaluate("""() => Object.fromEntries([...document.querySelectorAll(".cl-graph [data-arrow]")].map(g => [g.dataset.arrow,
      getComputedStyle(g.querySelector("path")).strokeDasharray !== "none"]))""")


def test_the_graph_has_an_arrow_for_each_parent_and_dots_for_a_dropped_one(show):
    page = show(ChainRule(dropped=[[0, 2]]))
    graph = page.locator(".cl-graph")
    assert arrows(page) == {"1-2": False, "2-3": False, "1-3": True}
    assert graph.get_attribute("aria-label") == "Graph. Arrows: x1 to x2, x2 to x3, x1 to x3 dropped."
    assert graph.locator("text").all_text_contents() == ["x1", "x2", "x3"]
    page.get_by_label("x3 reads x1").check()
    page.get_by_label("x2 reads x1").uncheck()
    assert arrows(page) == {"1-2": True, "2-3": False, "1-3": False}
    page.locator("select").nth(1).select_option("201")
    assert arrows(page) == {"3-1": False, "1-2": True, "3-2": False}, "no arrow between x1 and x2, in either direction"
    assert graph.locator("text").all_text_contents() == ["x3", "x1", "x2"], "in the order of drawing"
    centres = page.evaluate("""() => [...document.querySelectorAll(".cl-graph circle")].map(c => +c.getAttribute("cx"))""")
    ends = page.evaluate("""() => [...document.querySelectorAll(".cl-graph g")].map(g => {
      const tip = g.querySelector("polygon").points[0], line = g.querySelector("path");
      return [line.getPointAtLength(0), tip].map(({ x, y }) => [x, y]) })""")
    for (start, tip), (j, k) in zip(ends, [(0, 1), (1, 2), (0, 2)]):
        for (x, y), at in ((start, centres[j]), (tip, centres[k])):
            assert 16 < ((x - at) ** 2 + (y - 58) ** 2) ** 0.5 < 20, "from the edge of one circle to that of the other"


def test_by_keyboard_alone(show):
    """Tab from control to control; arrows move a slider; a space drops an arrow and draws; letters choose an order."""
    page = show(ChainRule(joint=[0.125] * 8))
    focus = "document.activeElement.getAttribute('aria-label') || document.activeElement.closest('label')?.textContent"
    live = page.locator(".cl-live")
    page.locator("select").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(focus) == "p(x1 = 1)"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert live.text_content() == "p(x1 = 1) is 0.53. The eight products sum to 1.000000."
    assert numbers(page)["text"][7] == pytest.approx(0.53 / 4, abs=1e-6)
    page.keyboard.press("Tab")
    page.keyboard.type("0,2")                                   # focus by Tab selects the text; a comma is understood
    page.keyboard.press("Tab")
    assert numbers(page)["text"][7] == pytest.approx(0.2 / 4, abs=1e-6)
    assert page.evaluate(focus) == "x2 reads x1"
    page.keyboard.press("Space")
    assert live.text_content() == "x2 no longer reads x1. Cost 0.0000 nats, 6 numbers."
    assert page.evaluate(focus) == "x2 reads x1", "the focus stays where it was"
    page.keyboard.press("Space")
    assert live.text_content() == "x2 reads x1. Cost 0.0000 nats, 7 numbers."
    seen = []
    for _ in range(20):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent"))
        if seen[-1] == "draw 100 samples":
            page.keyboard.press("Enter")
            break
    assert live.text_content().startswith("Samples drawn: 100.") and sum(numbers(page)["counts"]) == 100
    page.locator("select").nth(1).focus()
    page.keyboard.press("ArrowDown")
    assert live.text_content() == "Order x1, x3, x2: other conditionals. The joint p moved by 0.000000."
    assert sum(numbers(page)["counts"]) == 0


def test_by_mouse_a_slider_is_dragged_and_samples_come_one_by_one(show):
    page = show(ChainRule())
    slider = page.locator("input[type=range]").first
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.6049 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 20, middle, steps=5)
    page.mouse.up()
    assert page.locator("input[type=text]").first.input_value() == "1"
    assert numbers(page)["text"][:4] == [0, 0, 0, 0], "x1 is always 1"
    page.get_by_role("button", name="draw 1 sample").click()
    page.get_by_role("button", name="draw 1 sample").click()
    counts = sample(torch.tensor([1, *ChainRule().conditionals[1:]]), (0, 1, 2), 2) @ torch.tensor([4, 2, 1])
    assert numbers(page)["counts"] == torch.bincount(counts, minlength=8).tolist()
    assert page.locator(".cl-trace").text_content().startswith("Sample 2: u = ")
    page.get_by_role("button", name="clear").press("Enter")
    assert page.locator(".cl-trace").text_content() == "" and sum(numbers(page)["counts"]) == 0
    assert page.evaluate("document.activeElement.textContent") == "clear", "a button with nothing to do keeps the focus"
    assert page.get_by_role("button", name="clear").get_attribute("aria-disabled") == "true"


@pytest.mark.parametrize("typed", ["1.5", "-0.1", "abc", ""])
def test_what_is_no_probability_is_refused_in_words(show, typed):
    page = show(ChainRule())
    before, field = numbers(page), page.locator("input[type=text]").first
    field.fill(typed)
    field.press("Tab")
    after = numbers(page)
    assert after["live"] == f'p(x1 = 1): got "{typed}"; expected a number from 0 to 1.'
    assert field.get_attribute("aria-invalid") == "true" and after["q"] == before["q"]


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    """A model as JupyterLab has it: what the kernel sets arrives as a change event; what the page sets is saved."""
    page = show(ChainRule())
    state = {k: v for k, v in ChainRule(joint=[0.125] * 8).get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./chain_rule.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(structuredClone(state)); } };
      document.body.append(el);
      const end = widget.render({ model, el }), first = () => el.querySelector("[data-q]").textContent, out = [first()];
      model.set("conditionals", [0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
      out.push(first(), el.querySelector(".cl-live").textContent, saved.length);
      const order = el.querySelectorAll("select")[1];
      order.value = "210"; order.dispatchEvent(new Event("change"));
      out.push(saved.length, saved[0].order, saved[0].conditionals);
      end();
      model.set("conditionals", [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]);
      out.push(first());
      el.remove();
      return out;
    }""", state)
    assert got[0] == "0.125000" and got[1] == "0.187500" and got[3] == 0
    assert got[2] == "The figure was changed from outside. The eight products sum to 1.000000."
    assert got[4] == 1 and got[5] == [2, 1, 0]
    assert got[6] == pytest.approx([0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])
    assert got[7] == "0.187500", "a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(ChainRule(dropped=[[0, 2]], drawn=250), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower
