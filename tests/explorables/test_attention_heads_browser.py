"""Attention head by head in a browser: the whole model in the page against torch, by mouse and by keyboard."""
from __future__ import annotations

import json

import pytest
import torch

from course_lib import hub
from course_lib.data import toy_agreement
from course_lib.explorables import AttentionHeads
from course_lib.explorables.attention_heads import EXAMPLES, moved, pack, run
from course_lib.transformer.heads import switched_off
from tests.explorables.test_attention_heads import LETTERS, small

CLOSE = {"rtol": 0, "atol": 1e-5}


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def shown(page) -> dict:
    """What the page shows: the words, all small matrices, the large one, the predictions, its sentences."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      return { words: all("[data-word]:not([hidden])", e => e.selectedOptions[0].textContent),
        small: all("[data-head]", e => [...e.querySelectorAll("rect")].map(r => +r.getAttribute("fill-opacity"))),
        squares: all("[data-head] rect", r => [+r.getAttribute("y"), +r.getAttribute("x")]),
        pairs: all("[data-pair]", e => e.dataset.pair.split(",").map(Number)),
        means: all("[data-head]", e => +e.dataset.entropy), on: all("[data-switch]", e => e.checked),
        pressed: all("[data-head]", e => e.getAttribute("aria-pressed") === "true"),
        large: all("[data-pair]", e => +e.dataset.a), numbers: all("[data-pair]", e => e.textContent),
        entropy: all("td[data-entropy]", e => +e.dataset.entropy), moved: all("[data-moved]", e => +e.dataset.moved),
        top: all("[data-top]", e => JSON.parse(e.dataset.top)), full: all("[data-full]", e => JSON.parse(e.dataset.full)),
        predicted: all("[data-top]", e => e.textContent), live: text(".cl-live") } }""")


def agrees(page, w) -> None:
    """Everything the page shows is what `w` computes; every head is looked at."""
    got, want, (layer, head) = shown(page), w.result, w.shown
    T = len(w.text_ids) + 1
    lower = torch.ones(T, T).tril().bool()
    assert got["words"] == [w.words[i] for i in w.text_ids]
    torch.testing.assert_close(tensor(got["small"]), want.weights.flatten(0, 1)[:, lower], **CLOSE)
    assert got["squares"] == lower.nonzero().tolist() * len(got["small"]) and got["pairs"] == lower.nonzero().tolist()
    torch.testing.assert_close(tensor(got["means"]), want.entropy.mean(-1).flatten(), **CLOSE)
    torch.testing.assert_close(tensor(got["large"]), want.weights[layer, head][lower], **CLOSE)
    assert got["numbers"] == [f"{a:.2f}".replace("0.", ".") for a in got["large"]]
    torch.testing.assert_close(tensor(got["entropy"]), want.entropy[layer, head], **CLOSE)
    torch.testing.assert_close(tensor(got["moved"]), w.moved, **CLOSE)
    plain = run(w._model, w.text_ids).p
    for shown_top, p in ((got["top"], want.p), (got["full"], plain)):
        values = p.topk(3).values
        torch.testing.assert_close(tensor([[q for _, q in row] for row in shown_top]), values, **CLOSE)
        ids = torch.tensor([[v for v, _ in row] for row in shown_top])
        torch.testing.assert_close(p.gather(1, ids), values, **CLOSE)
    assert got["predicted"] == [", ".join(f"{w.words[v]} {q:.2f}" for v, q in row if q >= 0.005) for row in got["top"]]
    assert got["on"] == [[a, b] not in w.off for a in range(w.sizes["layers"]) for b in range(w.sizes["heads"])]
    assert got["pressed"] == [[a, b] == w.shown for a in range(w.sizes["layers"]) for b in range(w.sizes["heads"])]


@pytest.mark.parametrize("model", [None, small()], ids=["gpt-agreement", "three layers of three heads"])
def test_the_model_in_the_page_is_the_model_in_torch(show, model):
    """All layers, heads and logits, with heads switched off, for many texts; half precision is read bit by bit."""
    w, generator, cases = AttentionHeads(model, model and LETTERS), torch.Generator().manual_seed(4), []
    c = w._model.config
    heads = [[layer, head] for layer in range(c.layers) for head in range(c.heads)]
    for k in range(16):
        words = torch.randint(1, c.vocab_size, (1 + k % (c.window - 1),), generator=generator).tolist()
        off = [pair for pair in heads if k % 4 and torch.rand((), generator=generator) < (k % 4) / 4]
        cases.append({"words": words, "off": off})
    cases += [{"words": cases[-1]["words"], "off": [pair]} for pair in heads] + [{"words": [1, 2], "off": heads}]
    page = show(w)
    got = page.evaluate("""async ({ cases, weights, sizes, vocabulary }) => {
      const { moved, run, unpack } = await import("./attention_heads.js"), m = unpack(weights, sizes, vocabulary);
      return cases.map(({ words, off }) => { const r = run(m, words, off), full = run(m, words);
        return { ...r, moved: r.p.map((p, t) => moved(p, full.p[t])) } });
    }""", {"cases": cases, "weights": pack(w._model), "sizes": w.sizes, "vocabulary": c.vocab_size})
    for case, js in zip(cases, got, strict=True):
        want = run(w._model, **case)
        for name in ("weights", "entropy", "p"):
            torch.testing.assert_close(tensor(js[name]), getattr(want, name), msg=f"{name} of {case}", **CLOSE)
        with torch.no_grad(), switched_off(w._model, case["off"]):
            logits = w._model(torch.tensor([[0, *case["words"]]]))[0]
        torch.testing.assert_close(tensor(js["logits"]), logits, msg=str(case), **CLOSE)
        torch.testing.assert_close(tensor(js["moved"]), moved(want.p, run(w._model, case["words"]).p), **CLOSE)
    if model is None:                                                # the numbers are those of the weights that ship
        logits = hub.load("gpt-agreement").double()(torch.tensor([[0, *cases[0]["words"]]]))[0]
        torch.testing.assert_close(tensor(got[0]["logits"]), logits.detach(), **CLOSE)


def test_half_precision_is_read_as_numpy_reads_it(show):
    page = show(AttentionHeads(small(), LETTERS))
    model = small()
    bits = torch.tensor([0, 1, 1023, 1024, 0x3555, -32768, -31745, 31743], dtype=torch.int16)      # zeros, subnormals, largest
    model.tokens.weight.data.flatten()[:8] = bits.view(torch.float16).float()
    got = page.evaluate("""async ({ weights, sizes }) =>
      [...(await import("./attention_heads.js")).unpack(weights, sizes, 5).tokens.slice(0, 8)]""",
                        {"weights": pack(model), "sizes": AttentionHeads(small(), LETTERS).sizes})
    assert got == bits.view(torch.float16).double().tolist()


def test_by_mouse_texts_words_heads_and_switches(show):
    page, w = show(AttentionHeads()), AttentionHeads()
    agrees(page, w)
    texts = page.locator(".cl-top select")
    for number, text in enumerate(EXAMPLES):
        texts.select_option(str(number))
        w.read(text)
        agrees(page, w)
    page.get_by_label("word 3", exact=True).select_option(label="boys")
    w.text_ids = [w.words.index("boys") if i == 2 else v for i, v in enumerate(w.text_ids)]
    agrees(page, w)
    assert shown(page)["live"].startswith("Word 3 is “boys”. Most likely next: ")
    assert texts.evaluate("s => s.selectedOptions[0].textContent") == "your own words"
    page.click("[data-head='1,1']")
    w.shown = [1, 1]
    agrees(page, w)
    for layer, head in ((0, 3), (1, 1), (0, 0)):
        page.click(f"[data-switch='{layer},{head}']")
        w.off = sorted([*w.off, [layer, head]])
        agrees(page, w)
    at = int(w.moved.argmax())
    assert shown(page)["live"] == (
        "Switched off: layer 1, head 1; layer 1, head 4; layer 2, head 2. The prediction moves most at place "
        f"{at + 1} of {len(w.text_ids) + 1}, after “{['<s>', *shown(page)['words']][at]}”: {w.moved[at]:.2f} of the probability.")
    page.click("[data-switch='1,1']")
    w.off = [[0, 0], [0, 3]]
    agrees(page, w)
    page.get_by_role("button", name="switch all heads on").click()
    w.off = []
    agrees(page, w)
    assert shown(page)["live"] == "All heads are on." and not any(shown(page)["moved"])


def test_what_moves_stands_once_and_the_help_stays(show):
    page = show(AttentionHeads())
    for step in ("[data-switch='0,3']", "[data-head='0,3']", "[data-switch='0,3']"):
        page.click(step)
        said = "All heads are on." if page.locator("[data-switch='0,3']").is_checked() else "Switched off: layer 1, head 4."
        assert page.locator("p").filter(has_text=said, visible=True).count() == 1
        assert page.get_by_text("switch a head off and watch the predictions").is_visible()


def test_a_text_grows_by_what_is_likely_and_shrinks_within_its_bounds(show):
    page, w = show(AttentionHeads(text_ids=[1])), AttentionHeads(text_ids=[1])
    longer, shorter = (page.get_by_role("button", name=name)
                       for name in ("add the most likely word", "remove the last word"))
    shorter.click()
    agrees(page, w)
    assert shown(page)["live"] == "A text has one word at least."
    for _ in range(toy_agreement.LONGEST - 2):
        longer.click()
        w.text_ids = [*w.text_ids, int(w.result.p[-1, 1:].argmax()) + 1]
    agrees(page, w)
    longer.click()
    agrees(page, w)
    assert shown(page)["live"] == "A text has 16 words at most."
    shorter.click()
    w.text_ids = w.text_ids[:-1]
    agrees(page, w)


def test_by_keyboard_alone(show):
    """Tab to a word and change it, to the heads and move among them, to the switches and press one."""
    page, w = show(AttentionHeads()), AttentionHeads()
    here = """(e => e.dataset.head ?? e.dataset.switch ?? e.dataset.word ?? e.textContent)(document.activeElement)"""
    page.locator(".cl-top select").focus()
    for i in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate(here) == "2"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("g")                                         # one key: a slow machine forgets the letter before
    w.text_ids = [w.words.index("girl") if i == 2 else v for i, v in enumerate(w.text_ids)]
    agrees(page, w)
    assert page.evaluate(here) == "2", "the focus stays where it was"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("!!document.activeElement.dataset.head"):
            break
    assert page.evaluate(here) == "0,0"
    for key, at in (("ArrowUp", "0,0"), ("ArrowRight", "0,1"), ("ArrowDown", "1,1"), ("ArrowDown", "1,1"),
                    ("ArrowLeft", "1,0"), ("ArrowLeft", "1,0"), ("ArrowRight", "1,1")):
        page.keyboard.press(key)
        assert page.evaluate(here) == at, key
    page.keyboard.press("Enter")
    w.shown = [1, 1]
    agrees(page, w)
    assert page.evaluate(here) == "1,1" and shown(page)["live"].startswith("Large: layer 2, head 2. Mean entropy of its rows: ")
    page.keyboard.press("Tab")
    assert page.evaluate(here) == "1,1" and page.evaluate("document.activeElement.type") == "checkbox"
    page.keyboard.press("Space")
    w.off = [[1, 1]]
    agrees(page, w)
    assert shown(page)["live"].startswith("Switched off: layer 2, head 2. The prediction moves most")
    label = page.locator("[data-head='1,1']").get_attribute("aria-label")
    assert label == f"layer 2, head 2, off, mean entropy {w.result.entropy[1, 1].mean():.2f} nats: show large"


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(AttentionHeads())
    state = {k: v for k, v in AttentionHeads().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./attention_heads.js"), heard = {}, saved = [];
      const el = document.createElement("div");
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(JSON.stringify(state.off)); } };
      document.body.append(el);
      const end = widget.render({ model, el }), out = [], words = () => el.querySelectorAll("[data-word]:not([hidden])").length;
      model.set("text_ids", [1, 8, 30]);
      out.push(words(), el.querySelector(".cl-live").textContent, saved.length);
      el.querySelector("[data-switch='0,2']").click();
      out.push(saved);
      end();
      model.set("text_ids", [1]);
      out.push(words());
      el.remove();
      return out;
    }""", state)
    assert got[0] == 3 and got[1].startswith("The figure was changed from outside. Most likely next: the ") and got[2] == 0
    assert [json.loads(saved) for saved in got[3]] == [[[0, 2]]]
    assert got[4] == 3, "a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(AttentionHeads(off=[[0, 3]], shown=[0, 3]), theme=theme, width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower
