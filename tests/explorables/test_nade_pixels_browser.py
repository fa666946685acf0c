"""NADE pixel by pixel in a browser: its functions and its page against torch, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib import hub
from course_lib.density import NADE
from course_lib.explorables import NadePixels
from course_lib.explorables.nade_pixels import OPEN, pack, run

NINE = [4, 8, 0, 5, 2, 7, 1, 3, 6]                                   # not its own inverse
CLOSE = {"rtol": 0, "atol": 1e-5}


def small():
    model = NADE(9, 5, order=NINE)
    model.randomize(torch.Generator().manual_seed(1))
    return model


def shown(page) -> dict:
    """What the page shows: the pixels, the probabilities, the log-probability, its sentences."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      return { x: all("[data-pixel]", e => +e.dataset.value), p: all("[data-p]", e => e.dataset.p),
               logProb: +document.querySelector("[data-status]").dataset.logProb, status: text("[data-status]"),
               warning: text(".cl-warning"), live: text(".cl-live"), detail: text(".cl-detail"),
               given: all("[data-pixel]", e => e.classList.contains("cl-given")) } }""")


def agrees(page, w) -> None:
    """The page shows what `w` computes."""
    got, want = shown(page), w.result
    assert got["x"] == want.x.tolist()
    p = torch.tensor([float(v) if v else torch.nan for v in got["p"]], dtype=torch.float64)
    torch.testing.assert_close(p, want.p, equal_nan=True, **CLOSE)
    assert got["logProb"] == pytest.approx(want.log_prob, abs=1e-5)
    assert f" {want.log_prob:.4f} nats".replace("-0.0000", "0.0000") in got["status"]
    assert got["given"] == [v != OPEN for v in w.given]


@pytest.mark.parametrize("model", [None, small()], ids=["nade-digits", "nine pixels in another order"])
def test_the_function_of_the_page_agrees_with_torch(show, model):
    page = show(NadePixels(model))
    model = model or hub.load("nade-digits")
    n, generator, cases = model.n, torch.Generator().manual_seed(4), []
    for seed in range(15):
        given = torch.randint(0, 2, (n,), generator=generator)
        given[torch.rand(n, generator=generator) < 0.25 * (seed % 5)] = OPEN
        cases.append({"given": given.tolist(), "steps": (7 * seed) % (n + 1) if seed % 3 else n, "seed": seed})
    got = page.evaluate("""async ({ cases, weights, hidden, order }) => {
      const { run, unpack, late } = await import("./nade_pixels.js"), m = unpack(weights, hidden, order);
      return cases.map(c => ({ ...run(m, c.given, c.steps, c.seed), late: late(c.given, order) }));
    }""", {"cases": cases, "weights": pack(model), "hidden": model.hidden, "order": model.order.tolist()})
    w, seen = NadePixels(model), set()
    for case, js in zip(cases, got, strict=True):
        want = run(model.double(), **case)
        assert (js["x"], js["known"]) == (want.x.tolist(), want.known), case
        p = torch.tensor([torch.nan if v is None else v for v in js["p"]], dtype=torch.float64)
        torch.testing.assert_close(p, want.p, equal_nan=True, msg=str(case), **CLOSE)
        assert js["logProb"] == pytest.approx(want.log_prob, abs=1e-5)
        w.given = case["given"]
        assert (js["late"] == 0) is w.exact
        seen |= {w.exact, want.known == n}
    assert seen == {True, False}
    whole = next(js for js, case in zip(got, cases) if js["known"] == n and case["given"].count(OPEN))
    assert whole["logProb"] == pytest.approx(model.log_prob(torch.tensor([whole["x"]])).item(), abs=1e-5)


def test_by_mouse_pixels_are_set_drawn_taken_back_and_cleared(show):
    page, w = show(NadePixels()), NadePixels()
    agrees(page, w)
    assert shown(page)["warning"] == "Nothing is set: the model draws from p(x)."
    page.get_by_role("button", name="draw the next pixel").click()
    w.steps = 1
    agrees(page, w)
    page.get_by_role("button", name="draw the rest").click()
    w.steps = 64
    agrees(page, w)
    assert shown(page)["status"].startswith("All 64 pixels are known: ln p = -")
    assert shown(page)["live"] == "The rest is drawn.", "the status is not written twice"
    page.click("[data-pixel='20']")                                  # drawn empty or ink: set to ink
    w.given, w.steps = [1 if i == 20 else OPEN for i in range(64)], 20
    agrees(page, w)
    assert "What was drawn from there on is taken back." in shown(page)["live"]
    page.get_by_role("button", name="sample again").click()
    w.steps, w.seed = 64, 2
    agrees(page, w)
    assert shown(page)["warning"].startswith("Careful: 1 pixel that you set come")
    page.get_by_role("button", name="take back what was drawn").click()
    w.steps = 0
    agrees(page, w)
    page.get_by_role("button", name="clear").click()
    w.given = [OPEN] * 64
    agrees(page, w)


def test_the_halves_say_whether_they_come_first_in_the_order(show):
    page, w = show(NadePixels()), NadePixels()
    for number, exact in ((1, True), (3, False)):
        page.locator("select").select_option(str(number))
        page.get_by_role("button", name="draw the rest").click()
        w.given, w.steps = w.starts[number]["given"], 64
        agrees(page, w)
        assert w.exact is exact
        assert ("not a draw from p(open | given)" in shown(page)["warning"]) is not exact
    page.locator("select").select_option("none")
    assert shown(page)["x"] == [OPEN] * 64


def test_tab_leads_to_the_pixel_that_is_drawn_first(show):
    page, model = show(NadePixels(small())), small()
    page.locator("select").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("+document.activeElement.dataset.pixel") == model.order[0] != 0
    assert page.locator(".cl-detail").text_content().startswith(f"row {int(model.order[0]) // 3 + 1}, ")


def test_by_keyboard_alone(show):
    """Tab into the image, arrows, Space, 1, 0 and Delete; then Tab to the buttons and Enter."""
    page, w = show(NadePixels()), NadePixels()
    here = "document.activeElement.dataset.pixel ?? document.activeElement.textContent"
    page.locator("select").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(here) == "0"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key, at in (("ArrowLeft", 0), ("ArrowRight", 1), ("ArrowDown", 9), ("End", 15), ("ArrowRight", 15),
                    ("ArrowUp", 7), ("ArrowUp", 7), ("Home", 0), ("ArrowRight", 1)):
        page.keyboard.press(key)
        assert page.evaluate(here) == str(at), key
    given = [OPEN] * 64
    for key, value in (("Space", 1), ("Space", 0), ("Space", OPEN), ("1", 1), ("0", 0), ("Delete", OPEN), ("1", 1)):
        page.keyboard.press(key)
        given[1] = value
        w.given = given
        agrees(page, w)
        assert page.evaluate(here) == "1", "the focus stays where it was"
    assert shown(page)["live"].startswith("row 1, column 2 is ink.")
    label = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert label == "row 1, column 2: ink, set by you"
    page.keyboard.press("Tab")
    assert page.evaluate(here) == "draw the next pixel"
    page.keyboard.press("Enter")
    w.steps = 1
    agrees(page, w)
    assert shown(page)["detail"].startswith("row 1, column 1, step 1 of 64. p(ink | the 0 pixels before it) = ")
    for name, change in (("draw the rest", {"steps": 64}), ("sample again", {"seed": 2}),
                         ("take back what was drawn", {"steps": 0}), ("clear", {"given": [OPEN] * 64})):
        page.keyboard.press("Tab")
        assert page.evaluate(here) == name
        page.keyboard.press("Space")
        for trait, value in change.items():
            setattr(w, trait, value)
        agrees(page, w)
        assert page.evaluate(here) == name


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(NadePixels())
    state = {k: v for k, v in NadePixels().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./nade_pixels.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(state.steps); } };
      document.body.append(el);
      const end = widget.render({ model, el }), known = () => el.querySelector("[data-status]").textContent, out = [];
      model.set("steps", 5);
      out.push(known(), el.querySelector(".cl-live").textContent, saved.length);
      [...el.querySelectorAll("button")].find(b => b.textContent === "draw the rest").click();
      out.push(saved);
      end();
      model.set("steps", 0);
      out.push(known());
      el.remove();
      return out;
    }""", state)
    assert got[0].startswith("Known so far: 5 of 64, ln p = -")
    assert got[1].strip() == "The figure was changed from outside." and got[2] == 0
    assert got[3] == [64] and got[4].startswith("All 64 pixels"), "a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    given = [OPEN] * 64
    given[10], given[30] = 1, 0
    page = show(NadePixels(given=given, steps=20), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_ink_is_the_colour_of_text_and_a_probability_a_share_of_it(show, theme):
    page = show(NadePixels(steps=64), theme=theme)
    drawn = shown(page)["x"]
    at, off = drawn.index(1), drawn.index(0)
    colour = page.evaluate("getComputedStyle(document.querySelector('.cl-nade')).color")
    ground = "e => getComputedStyle(e).backgroundColor"
    assert page.locator(f"[data-pixel='{at}']").evaluate(ground) == colour
    assert page.locator(f"[data-pixel='{off}']").evaluate(ground) != colour
    shade = page.locator(".cl-shade").nth(at).evaluate(ground)
    alpha = float(shade.rpartition("/")[2].strip(" )") if "/" in shade else shade.split(",")[-1].strip(" )"))
    assert alpha == pytest.approx(NadePixels(steps=64).result.p[at].item(), abs=0.006)
