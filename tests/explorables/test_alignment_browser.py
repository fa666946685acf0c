"""Two translators in a browser: every probability and weight against torch, the sentence composed, the steps by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.data.toy_translation import draw_pairs, translate
from course_lib.explorables import Alignment
from course_lib.explorables.alignment import START

CLOSE = {"rtol": 0, "atol": 1e-5}


def test_the_networks_in_the_page_are_those_in_torch(show):
    page, w = show(Alignment()), Alignment()
    pairs = [translate(START), *draw_pairs(6, torch.Generator().manual_seed(5))]
    sources = []
    for pair in pairs:
        w.sentence = " ".join(pair.source)
        sources.append(w.ids)
    got = page.evaluate("""async ([weights, sizes, sources, sentences, g]) => {
      const m = await import("./alignment.js"), { parse } = await import("./translator_model.js");
      const networks = weights.map((text, k) => m.unpackGru(text, sizes, k === 1));
      return sources.map((source, i) => ({ both: networks.map(n => m.written(n, source)),
        places: m.known(g, parse(g, sentences[i])) }));
    }""", [w.weights, w.sizes, sources, [" ".join(pair.source) for pair in pairs], w.grammar])
    for pair, js in zip(pairs, got, strict=True):
        assert js["places"] == [list(places) for places in pair.alignment]
        w.sentence = " ".join(pair.source)
        for want, mine in zip(w.result, js["both"], strict=True):
            assert mine["ids"] == want.ids
            torch.testing.assert_close(torch.tensor(mine["p"]).double(), want.p, **CLOSE)
            torch.testing.assert_close(torch.tensor(mine["weights"]).double(), want.weights, **CLOSE)


def agrees(page, w) -> str:
    """All weights, and the three likeliest words of the step, are those of `w`."""
    got = page.evaluate("""() => ({ alpha: [...document.querySelectorAll("[data-alpha]")].map(e => +e.dataset.alpha),
      p: [...document.querySelectorAll("[data-p]")].map(e => +e.dataset.p),
      pressed: [...document.querySelectorAll(".cl-al-table button")].findIndex(e => e.ariaPressed === "true"),
      live: document.querySelector(".cl-live").textContent })""")
    want = w.result[1]
    torch.testing.assert_close(torch.tensor(got["alpha"]).double(), want.weights.flatten(), **CLOSE)
    torch.testing.assert_close(torch.tensor(got["p"]).double(), want.p[w.place].topk(3).values, **CLOSE)
    assert got["pressed"] == w.place
    return got["live"]


def test_by_mouse_and_by_keyboard(show):
    page, w = show(Alignment()), Alignment()
    assert "With one vector the sentence comes out wrong, with attention right." in agrees(page, w)
    assert page.locator(".cl-al-said tr").first.locator("u").count() > 0, "what is wrong is underlined"
    page.get_by_role("button", name="next word").click()
    w.place = 1
    agrees(page, w)
    page.locator(".cl-al-table button[aria-pressed=true]").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    w.place = 2
    live = agrees(page, w)
    places = translate(w.sentence).alignment[2]
    assert all(f"“{w.sentence.split()[s]}”" in live.partition("It comes from")[2] for s in places)
    assert page.locator(".cl-al-now .cl-al-known").count() == len(places)
    page.get_by_role("button", name="word before").click()
    w.place = 1
    agrees(page, w)
    page.get_by_label("subject", exact=True).select_option("they")
    w.sentence, w.place = START.replace("the small dog does", "they do"), 0
    agrees(page, w)
    page.get_by_label("affirmed or denied").select_option("false")
    page.get_by_label("object", exact=True).select_option("music")
    w.sentence = "they find music"
    agrees(page, w)
    assert page.get_by_label("adjective of the object").is_hidden()


def test_a_change_from_python_redraws(from_python):
    got = from_python(Alignment(), ("place", 1), ("place", 2))
    assert got[0].startswith("The figure was changed from outside. Step 2: ") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(Alignment(), theme, width)
