"""The transformer in a browser: every number against torch, by mouse and by keyboard, on one screen and on a phone."""
from __future__ import annotations

import pytest
import torch

from course_lib.data.toy_translation import draw_pairs
from course_lib.explorables import Translator
from course_lib.explorables.translator import HEADS, run, translated
from tests.explorables.test_translator import OFF, SENTENCES, ids, models

CLOSE = {"rtol": 0, "atol": 1e-5}
ARTICLE = 870                                                        # the width of a chapter's text at 1366 pixels


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      return { says: all("[data-says]", e => e.textContent.replaceAll("(missing)", "").split(" ").filter(w => w).join(" ")),
        underlined: all("[data-says]", e => [...e.querySelectorAll("u")].map(u => u.textContent)),
        right: all("[data-right]", e => e.textContent), on: all("[data-head]", e => e.checked),
        alone: all(".cl-tr-without", e => +e.textContent), row: all("[data-v]", e => +e.dataset.v),
        total: +document.querySelector("[data-total]").dataset.total, title: text(".cl-tr-detail h4"),
        network: all("[data-network]", e => e.checked).indexOf(true), live: text(".cl-live"),
        words: all(".cl-tr-words", e => e.textContent) } }""")


def agrees(page, w) -> None:
    """Everything the page shows is what `w` computes."""
    got, value = shown(page), w.result[w.shown]
    i, j = min(w.place[0], value.shape[0] - 1), min(w.place[1], value.shape[1] - 1)
    assert got["says"] == [w.says(network, w.off) for network in (0, 1)]
    assert got["right"] == [f"{w.right(network, w.off)} of 400" for network in (0, 1)]
    assert got["on"] == [list(pair) not in w.off for pair in HEADS] and got["network"] == w.network
    assert got["alone"] == [w.right(w.network, [pair]) for pair in HEADS]
    assert got["words"][0] == w.sentence and got["words"][1].split()[0] == "<s>"
    torch.testing.assert_close(torch.tensor(got["row"], dtype=torch.float64), value[i], **CLOSE)
    assert got["total"] == pytest.approx(value[i, j].item(), abs=1e-5)


def test_the_models_in_the_page_are_the_models_in_torch(show):
    """All boxes of both networks for three sentences, heads on and off; and every number is the sum it is shown as."""
    cases = [{"network": k, "source": ids(s), "off": [list(p) for p in off]} for k in (0, 1) for s in SENTENCES for off in OFF]
    w, page = Translator(), show(Translator())
    got = page.evaluate("""async ([cases, weights, sizes]) => {
      const { terms, total, translated, unpack } = await import("./translator_model.js");
      const nets = weights.map(text => unpack(text, sizes));
      return cases.map(({ network, source, off }) => {
        const m = nets[network], { values, read, written } = translated(m, source, off);
        let apart = 0;
        for (const [key, rows] of Object.entries(values)) rows.forEach((row, i) => row.forEach((v, j) => {
          const given = key.startsWith("encoder") || key.startsWith("ffn1") ? source : read;
          const again = total(terms(m, values, given, key, i, j), j, m.K);
          if (again !== v) apart = Math.max(apart, Math.abs(again - v));
        }));
        const finite = Object.fromEntries(Object.entries(values).map(([key, rows]) =>
          [key, rows.map(row => row.map(v => v === -Infinity ? "-inf" : v))]));
        return { read, written, apart, values: finite };
      });
    }""", [cases, w.weights, w.sizes])
    nets = models()
    for case, js in zip(cases, got, strict=True):
        model = nets[case["network"]]
        assert (js["read"], js["written"]) == translated(model, case["source"], case["off"])
        assert js["apart"] < 1e-9
        want = run(model, case["source"], js["read"], case["off"])
        assert set(js["values"]) == set(want)
        for name, value in want.items():
            mine = torch.tensor([[float(v) for v in row] for row in js["values"][name]], dtype=torch.float64)
            torch.testing.assert_close(mine, value, msg=f"{name}: {case}", **CLOSE)


def test_the_grammar_of_the_page_is_the_courses(show):
    pairs = draw_pairs(500, torch.Generator().manual_seed(5))
    got = show(Translator()).evaluate("""async ([g, sentences]) => {
      const { compose, italian, parse } = await import("./translator_model.js");
      return sentences.map(text => { const s = parse(g, text); return [compose(g, s), italian(g, s)]; });
    }""", [Translator().grammar, [" ".join(pair.source) for pair in pairs]])
    assert got == [[" ".join(pair.source), " ".join(pair.target)] for pair in pairs]


@pytest.mark.parametrize("was, now, want", [
    ("a b c", "a b c", "a b c"), ("a b c", "a x c", "a x* c"), ("a b c d", "a b", "a b _"), ("b c", "a b c", "a* b c"),
    ("a b c", "b a c", "_ b a* c"), ("a", "", "_")])
def test_what_is_underlined(show, was, now, want):
    got = show(Translator()).evaluate("""async ([a, b]) => (await import("./translator_model.js")).compared(
      a.split(" ").filter(w => w), b.split(" ").filter(w => w))""", [was, now])
    assert " ".join("_" if word is None else word + "*" * new for word, new in got) == want


def test_it_opens_on_its_point(show):
    page, w = show(Translator()), Translator()
    agrees(page, w)
    got = shown(page)
    assert got["underlined"] == [["montagna"], []], "one network loses a word, the other does not"
    page.get_by_role("button", name="all heads on").click()
    w.off = []
    agrees(page, w)
    assert shown(page)["underlined"] == [[], []] and shown(page)["live"].startswith("All heads are on. ")


def test_by_mouse_sentence_switches_networks_and_boxes(show):
    page, w = show(Translator()), Translator()
    field = lambda name: page.get_by_role("combobox", name=name, exact=True)                    # noqa: E731
    for name, value, sentence in (
            ("affirmed or denied", "true", "the red car does not see the white cat"),
            ("subject", "we", "we do not see the white cat"), ("affirmed or denied", "false", "we see the white cat"),
            ("object", "hiking", "we see hiking"), ("subject", "girl", "the girl sees hiking"),
            ("adjective of the subject", "old", "the old girl sees hiking"), ("verb", "paint", "the old girl paints hiking"),
            ("object", "car", "the old girl paints the car"),
            ("adjective of the object", "new", "the old girl paints the new car")):
        field(name).select_option(value)
        w.sentence = sentence
        agrees(page, w)
    page.get_by_role("button", name="all cross heads off").click()
    w.off = [["cross", h] for h in range(3)]
    agrees(page, w)
    before = shown(page)["says"]
    field("subject").select_option("I")
    w.sentence = "I paint the new car"
    agrees(page, w)
    assert shown(page)["says"] == before, "the same sentence whatever the source"
    page.get_by_role("radio", name="trained with heads dropped").click()
    w.network = 1
    agrees(page, w)
    for part, head in (("cross", 0), ("encoder", 2)):
        page.click(f"[data-head='{part},{head}']")
        w.off = [list(p) for p in HEADS if (list(p) in w.off) != (p == (part, head))]
        agrees(page, w)
    assert shown(page)["live"].startswith("Off: encoder head 3, cross-attention head 2, cross-attention head 3. ")
    for key in page.evaluate("[...document.querySelectorAll('[data-box]')].map(e => e.dataset.box)"):
        page.click(f"[data-box='{key}']")
        w.shown = key
        agrees(page, w)
        assert page.locator("[data-box][aria-pressed=true]").count() == 1
    page.click("[data-box='decoder.1.weights']")
    for step, name in (("q", "queries"), ("k", "keys"), ("v", "values"), ("scores", "scores"), ("out", "output")):
        page.get_by_role("group", name="Values of the head").get_by_role("button", name=name, exact=True).click()
        w.shown = f"decoder.1.{step}"
        agrees(page, w)
        assert shown(page)["title"] == f"decoder, head 2: {name}"
    page.click("[data-row='3']")
    page.click("[data-column='5']")
    w.place = [3, 5]
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(Translator()), Translator()
    page.locator("[data-head='cross,2']").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Space")
    w.off = []
    agrees(page, w)
    page.locator("[data-box='ffn2.hidden']").focus()
    page.keyboard.press("Enter")
    w.shown = "ffn2.hidden"
    agrees(page, w)
    page.locator("[data-row][tabindex='0']").focus()
    for key in ("End", "Enter"):
        page.keyboard.press(key)
    w.place = [page.locator("[data-row]").count() - 1, w.place[1]]
    agrees(page, w)
    page.keyboard.press("Tab")
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    w.place = [w.place[0], w.place[1] + 2]
    agrees(page, w)
    assert page.evaluate("document.activeElement.dataset.column") == "4", "the focus stays where it was"


def test_cause_and_effect_are_on_one_screen(show):
    """At 1366 x 768, below the bar of the book: what is written, all switches and the open box, in a chapter's column."""
    page = show(Translator(), width=ARTICLE + 32)
    figure = page.locator(".cl-tr").bounding_box()
    assert figure["width"] == ARTICLE
    last = max(page.locator(s).last.bounding_box()["y"] + page.locator(s).last.bounding_box()["height"]
               for s in (".cl-tr-cols", "[data-head='cross,2']", ".cl-tr-detail"))
    assert last - figure["y"] <= 700
    for key in page.evaluate("[...document.querySelectorAll('[data-box]')].map(e => e.dataset.box)"):
        page.click(f"[data-box='{key}']")
        box = page.locator(".cl-tr-detail").bounding_box()
        assert box["y"] + box["height"] - figure["y"] <= 700, key


def test_what_is_said_stands_once(show):
    """The line for screen readers repeats what the table shows, and is not seen."""
    page = show(Translator())
    assert page.locator(".cl-live.cl-unseen").count() == 1
    page.click("[data-head='encoder,0']")
    assert page.get_by_text("of 400.", exact=False).filter(visible=True).count() <= 2


def test_a_change_from_python_redraws(from_python):
    got = from_python(Translator(off=[]), ("sentence", "I love hiking"), ("sentence", "we love hiking"))
    assert got[0].startswith("The figure was changed from outside. All heads are on. The network trained as it is writes "
                             "“adoro le escursioni”; right ")
    assert got[1] == got[0]


@pytest.mark.parametrize("theme, width", [
    ("light", 1920), ("dark", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(Translator(), theme, width)
