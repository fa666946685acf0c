"""The rule of the masked language model in a browser: functions and page against Python, by mouse and by keyboard."""
from __future__ import annotations

import math

import pytest
import torch

from course_lib.explorables import MaskingForBert
from course_lib.explorables.bert_masking import DONE, SENTENCES, VOCABULARY, reshare, uniforms
from tests.explorables.test_bert_masking import OWN, RULES


def shown(page) -> dict:
    """What the page shows: a row for each token, the counts, its sentences."""
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      return { fate: all("[data-fate]", e => +e.dataset.fate), u: all("[data-fate]", e => +e.dataset.u),
               f: all("[data-fate]", e => +e.dataset.f), r: all("[data-fate]", e => +e.dataset.r),
               read: all("[data-fate]", e => e.dataset.read),
               cells: all("[data-fate]", e => [...e.children].map(c => c.textContent)),
               pressed: all("[data-token]", e => e.getAttribute("aria-pressed") === "true"),
               counts: all("[data-count]", e => ["count", "of", "expected", "error"].map(k => +e.dataset[k])),
               tally: all("[data-count]", e => [...e.children].map(c => c.textContent)),
               step: text("[data-step]"), reads: text("[data-reads]"), asks: text("[data-asks]"),
               live: text(".cl-live") } }""")


def same_counts(js, rows) -> None:
    for got, row in zip(js, rows, strict=True):
        assert got[:2] == [row.count, row.of]
        assert got[2:] == pytest.approx([row.expected, row.error], abs=1e-12, nan_ok=True)


def agrees(page, w) -> dict:
    """The page shows what `w` computes, as far as its step has got."""
    got, T = shown(page), len(w.tokens)
    assert got["fate"] == w.fate.tolist() and got["read"] == w.reads
    assert [got["u"], got["f"], got["r"]] == w.numbers.tolist()
    assert got["pressed"] == [k > 0 for k, is_word in zip(got["fate"], w.ordinary.tolist()) if is_word]
    same_counts(got["counts"], w.counts)
    for i in range(T):
        k, by_hand = got["fate"][i], ", by hand" if w.hand[i] >= 0 else ""
        said = ("yes" if k else "no") + by_hand if w.ordinary[i] else "never"
        assert got["cells"][i] == [
            w.tokens[i], f"{got['u'][i]:.4f}", said, f"{got['f'][i]:.4f}" if k and w.step > 1 else "",
            DONE[k] if w.step > 1 else "", w.reads[i] if w.step > 2 else "", w.tokens[i] if k and w.step > 3 else ""]
    assert got["step"].startswith(f"Step {w.step} of 4. ")
    assert got["reads"] == (f"The model reads: {' '.join(w.reads)}" if w.step > 2 else "")
    asked = [f"{token} (position {i})" for i, token in enumerate(w.tokens) if got["fate"][i]]
    asked = ", ".join(asked) or "nothing; this draw gives no loss"
    assert got["asks"] == (f"It must predict: {asked}." if w.step > 3 else "")
    for cells, row in zip(got["tally"], w.counts, strict=True):
        share = f"{100 * row.count / row.of:.2f}\u00a0%" if row.of else "–"
        error = f"{100 * row.error:.2f}\u00a0%" if row.of else "–"
        off = (row.count / row.of - row.expected) / row.error if row.of and row.error else math.nan
        off = "–" if math.isnan(off) else f"{'−' if off < 0 else '+'}{abs(off):.1f} s.e."
        expected = f"{100 * row.expected:.2f}\u00a0%"
        assert cells == [row.label, f"{row.count:,} of {row.of:,}", share, expected, error, off]
    return got


def option(page, name: str) -> str:
    return page.get_by_role("combobox", name=name).evaluate("s => s.selectedOptions[0].textContent")


def test_every_function_of_the_page_agrees_with_the_package(show):
    page, cases = show(MaskingForBert()), []
    for n, sentence in enumerate([*SENTENCES, OWN]):
        for k, (rate, shares) in enumerate(RULES):
            w = MaskingForBert(sentence, rate=rate, shares=shares, seed=[0, 1, 999_999, 4711][(n + k) % 4],
                               draws=[1, 100][k % 2])
            if k % 2:
                w.hand = [(7 * i + n) % 3 - 1 for i in range(len(w.tokens))]
            cases.append(w)
    cases.append(MaskingForBert(draws=10_000, seed=12))
    got = page.evaluate("""async cases => {
      const m = await import("./bert_masking.js");
      return cases.map(c => {
        const tokens = m.drawn(c);
        return { tokens, counts: m.counts(tokens.map(t => t.ordinary), c.rate, c.shares, c.seed, c.draws)
          .map(row => [row.count, row.of, row.expected, row.error]), labels: m.counts([true], 15, [80, 10, 10], 1, 1)
          .map(row => row.label), uniforms: [...m.uniforms(c.seed, 100)],
          others: m.candidates(c.words, c.vocabulary, c.special) };
      });
    }""", [{k: getattr(w, k) for k in ("words", "vocabulary", "special", "rate", "shares", "seed", "hand", "draws")}
           for w in cases])
    for w, js in zip(cases, got, strict=True):
        assert js["uniforms"] == uniforms(w.seed, 100).tolist(), "to the last bit"
        assert [[t[k] for t in js["tokens"]] for k in "ufr"] == w.numbers.tolist()
        assert [t["fate"] for t in js["tokens"]] == w.fate.tolist() and [t["read"] for t in js["tokens"]] == w.reads
        counted = [[math.nan if v is None else v for v in row] for row in js["counts"]]
        same_counts(counted, w.counts)
        assert js["labels"] == [row.label for row in w.counts]
        assert js["others"] == [*VOCABULARY, *(["zebra"] if "zebra" in w.words else [])]


def test_shares_are_shared_anew_as_in_python(show):
    cases = [([a, b, 100 - a - b], i, v) for a in range(0, 101, 20) for b in range(0, 101 - a, 20) for i in range(3)
             for v in range(0, 101, 10)]
    got = show(MaskingForBert()).evaluate("""async cases => {
      const { reshare } = await import("./bert_masking.js");
      return cases.map(c => reshare(...c));
    }""", cases)
    assert got == [reshare(*case) for case in cases]


def test_by_mouse_steps_draws_rules_sentences_and_counts(show):
    page, w = show(MaskingForBert()), MaskingForBert()
    agrees(page, w)
    for w.step in (2, 3, 4):
        page.get_by_role("button", name="next step").click()
        assert agrees(page, w)["live"].startswith(f"Step {w.step} of 4.")
    page.get_by_role("button", name="next step").press("Enter")
    assert agrees(page, w)["live"] == "This is the last step."
    for w.seed in (2, 3, 4):
        page.get_by_role("button", name="new draw").click()
        assert agrees(page, w)["live"].startswith(f"Draw of seed {w.seed}. Chosen: ")
    page.get_by_role("combobox", name="Draws").select_option(label="10,000")
    w.draws = 10_000
    said = agrees(page, w)["live"]
    assert said.startswith("10,000 draws: tokens chosen ")
    assert ", where 15.00\u00a0% are expected; of these [MASK]" in said
    page.get_by_role("combobox", name="Rule").select_option(label="never [MASK]")
    w.shares = [0, 50, 50]
    assert "0 % [MASK], 50 % random, 50 % unchanged" in agrees(page, w)["live"]
    page.get_by_role("combobox", name="Sentence").select_option(label=SENTENCES[1])
    w.words = SENTENCES[1].split()
    assert "The sentence has 13 words." in agrees(page, w)["live"]
    page.get_by_role("combobox", name="Draws").select_option(label="1")
    w.draws = 1
    agrees(page, w)
    typed = page.get_by_label("or your own")
    typed.fill(OWN)
    typed.press("Enter")
    w.words = OWN.split()
    agrees(page, w)
    assert option(page, "Sentence") == "your own words"
    typed.fill("word " * 21)
    typed.press("Enter")
    assert agrees(page, w)["live"].startswith("At most 20 words") and typed.get_attribute("aria-invalid") == "true"
    typed.fill("[SEP] [SEP]")
    typed.press("Enter")
    agrees(page, w)
    typed.fill("back again")
    typed.press("Enter")
    w.words = ["back", "again"]
    agrees(page, w)
    assert typed.get_attribute("aria-invalid") == "false"


def test_by_keyboard_alone(show):
    """One tab leads to the tokens; arrows move; a space chooses; sliders and the seed by keys; the focus stays."""
    page, w = show(MaskingForBert(step=4)), MaskingForBert(step=4)
    w.step, at = 4, "document.activeElement.dataset.token"
    page.get_by_role("button", name="take back").focus()
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate(at):
            break
    assert page.evaluate(at) == "1"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    for key in ("ArrowUp", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate(at) == "3"
    page.keyboard.press("Space")
    w.hand = [-1, -1, -1, 1, -1, -1, -1, -1, -1]
    assert agrees(page, w)["live"].startswith("“kitten” is chosen, by hand. Chosen: kitten (random: ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    w.hand = [-1, -1, -1, 1, 0, -1, -1, -1, -1]
    assert agrees(page, w)["live"].startswith("“deftly” is not chosen, by hand.") and page.evaluate(at) == "4"
    page.keyboard.press("Enter")
    w.hand = [-1, -1, -1, 1, -1, -1, -1, -1, -1]
    assert agrees(page, w)["live"].startswith("“deftly” is chosen, as drawn.")
    page.keyboard.press("End")
    assert page.evaluate(at) == "7"
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate(at) == "7", "the tokens are one stop, and remember their place"
    page.get_by_role("button", name="take back").press("Enter")
    w.hand = [-1] * 9
    assert agrees(page, w)["live"].startswith("As drawn.")
    page.get_by_label("chosen", exact=True).press("ArrowRight")
    w.rate = 16
    assert agrees(page, w)["live"].startswith("The rule: 16 % chosen;")
    page.get_by_label("[MASK]", exact=True).press("End")
    w.shares = [100, 0, 0]
    agrees(page, w)
    page.get_by_label("unchanged", exact=True).press("PageUp")
    w.shares = [90, 0, 10]
    agrees(page, w)
    assert option(page, "Rule") == "your own rule"
    seed = page.get_by_label("Seed")
    seed.fill("-3")
    seed.press("Enter")
    assert agrees(page, w)["live"] == "A seed is a whole number from 0 to 999999."
    assert seed.get_attribute("aria-invalid") == "true" and seed.input_value() == "-3"
    seed.fill("999999")
    seed.press("Enter")
    w.seed = 999_999
    agrees(page, w)
    page.get_by_role("button", name="new draw").press("Space")
    w.seed = 0
    agrees(page, w)
    page.get_by_role("button", name="step back").press("Enter")
    w.step = 3
    assert agrees(page, w)["live"].endswith(f"The model reads: {' '.join(w.reads)}")


def test_a_change_from_python_redraws_and_ends_with_the_view(show):
    page = show(MaskingForBert())
    state = {k: v for k, v in MaskingForBert().get_state().items() if not k.startswith("_")}
    got = page.evaluate("""async state => {
      const { default: widget } = await import("./bert_masking.js"), heard = {}, saved = [];
      const el = document.createElement("div"), out = [];
      const model = { get: k => state[k], set(k, v) { state[k] = v; (heard["change:" + k] || []).forEach(f => f()); },
        on(k, f) { (heard[k] ||= []).push(f); }, off(k, f) { heard[k] = heard[k].filter(g => g !== f); },
        save_changes() { saved.push(structuredClone({ hand: state.hand, seed: state.seed })); } };
      document.body.append(el);
      const end = widget.render({ model, el }), rows = () => el.querySelectorAll("[data-fate]").length;
      model.set("seed", 2);
      out.push(el.querySelector("[data-fate='1'] button").textContent, el.querySelector(".cl-live").textContent,
        saved.length);
      model.set("words", ["one", "two"]);
      model.set("hand", [-1, -1, -1, -1]);
      out.push(rows());
      el.querySelector("[data-token='1']").click();
      out.push(saved.length, saved[0].hand);
      end();
      model.set("words", ["one", "two", "three"]);
      model.set("hand", [-1, -1, -1, -1, -1]);
      out.push(rows());
      el.remove();
      return out;
    }""", state)
    assert got[:3] == ["the", "The figure was changed from outside. Chosen: the.", 0]
    assert got[3] == 4 and got[4] == 1 and got[5] in ([-1, 1, -1, -1], [-1, 0, -1, -1])
    assert got[6] == 4, "a view that has ended listens no more"


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(show, accessible, theme, width):
    page = show(MaskingForBert(SENTENCES[1], step=4, draws=10_000, hand=[-1, 1, -1, 0] + [-1] * 11), theme=theme,
                width=width)
    assert accessible(page) == ""
    for narrower in (width, width - 70):
        page.set_viewport_size({"width": narrower, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= narrower


def test_no_column_is_hidden_at_the_widths_of_a_book_on_a_desk(show):
    """Tokens and counts stand whole in their boxes, with the longest counts that the figure makes."""
    page = show(MaskingForBert(rate=100, shares=[34, 33, 33], step=4, draws=10_000))
    boxes = """() => [...document.querySelectorAll(".cl-scroll, fieldset")].map(e => [e.scrollWidth, e.clientWidth])"""
    for width in (640, 760, 860, 920, 950, 1000, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        found = page.evaluate(boxes)
        assert len(found) == 4 and all(inside <= box for inside, box in found), (width, found)


def test_the_browser_and_torch_choose_the_same_for_every_seed(show):
    """Fates of 500 seeds at once, as torch has them."""
    got = show(MaskingForBert()).evaluate("""async ([state, seeds]) => {
      const { drawn } = await import("./bert_masking.js");
      return Array.from({ length: seeds }, (_, seed) => drawn({ ...state, seed }).map(t => t.fate));
    }""", [{k: v for k, v in MaskingForBert().get_state().items() if not k.startswith("_")}, 500])
    w, expected = MaskingForBert(), []
    for w.seed in range(500):
        expected.append(w.fate.tolist())
    assert torch.equal(torch.tensor(got), torch.tensor(expected))
