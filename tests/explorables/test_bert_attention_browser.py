"""Attention in a BERT in a browser: links, numbers and sentences against torch, by mouse and by keyboard."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import BertAttention
from course_lib.explorables.bert_attention import largest
from tests.explorables.test_bert_attention import small, tokenizer

CLOSE = {"rtol": 0, "atol": 1e-5}
TEXTS = ["slow lower slowest", "low"]


@pytest.fixture(scope="module")
def english() -> BertAttention:
    return BertAttention()


def made(**traits) -> BertAttention:
    return BertAttention(small(), tokenizer(), TEXTS, **traits)


def tensor(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def shown(page) -> dict:
    return page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f);
      return { pieces: all(".cl-ba-left b", e => e.textContent),
        links: all("[data-link]", e => [...e.dataset.link.split(",").map(Number), +e.dataset.a]),
        on: all("line.cl-ba-on", e => e.dataset.link.split(",").map(Number)),
        numbers: all("[data-word] span", e => e.dataset.a === "" ? null : +e.dataset.a),
        written: all("[data-word] span", e => e.textContent),
        pressed: all("[data-word][aria-pressed='true']", e => e.dataset.word),
        head: all("[data-head][aria-pressed='true']", e => e.dataset.head),
        sharp: all("[data-head]", e => +e.dataset.sharp), worth: all("[data-head]", e => +e.dataset.worth),
        nats: all("[data-nats]", e => +e.dataset.nats), said: all(".cl-ba p, .cl-ba h4", e => e.textContent),
        live: document.querySelector(".cl-live").textContent } }""")


def agrees(page, w: BertAttention) -> None:
    """All links, both columns of numbers, every head and every sentence are what `w` computes."""
    got, map_, pieces = shown(page), w.weights, w.texts[w.sentence]["pieces"]
    own = (lambda i, j: i == w.word) if w.side == "looks" else (lambda i, j: j == w.word)
    T = len(pieces)
    assert got["pieces"] == pieces
    wanted = {(i, j): map_[i, j].item() for i in range(T) for j in range(T) if own(i, j) or map_[i, j] >= 0.05}
    links = {(i, j): a for i, j, a in got["links"]}
    assert set(links) == set(wanted) and {tuple(pair) for pair in got["on"]} == {pair for pair in wanted if own(*pair)}
    torch.testing.assert_close(tensor([links[pair] for pair in wanted]), tensor(list(wanted.values())), **CLOSE)
    line = map_[w.word] if w.side == "looks" else map_[:, w.word]
    left, right = got["numbers"][:T], got["numbers"][T:]
    numbers, none = (right, left) if w.side == "looks" else (left, right)
    torch.testing.assert_close(tensor(numbers), line, **CLOSE)
    assert none == [None] * T
    assert [text for text in got["written"] if text] == [f"{a:.2f}".removeprefix("0") for a in numbers]
    assert got["pressed"] == [f"{w.word},{w.side}"] and got["head"] == [",".join(map(str, w.shown))]
    trained = w._maps[w.sentence][0]
    torch.testing.assert_close(tensor(got["sharp"]), trained.max(dim=-1).values.mean(dim=-1).flatten(), **CLOSE)
    layers, heads = w.size
    worth = [w.cost_of(layer, head) for layer in range(layers) for head in range(heads)]
    torch.testing.assert_close(tensor(got["worth"]), tensor(worth), rtol=0, atol=1e-4)      # costs have four decimals
    with_it, without = w.costs
    most = int((without - with_it).argmax())
    wanted = [with_it.mean(), without.mean(), with_it[most], without[most]]
    torch.testing.assert_close(tensor(got["nats"]), tensor([v.item() for v in wanted]), rtol=0, atol=1e-4)
    found = "; ".join(f"{pieces[i]} looks at {pieces[j]} {a:.2f}" for i, j, a in largest(map_))
    assert f"The three largest: {found}." in got["said"]
    assert any(text.startswith(w.text().splitlines()[2]) for text in got["said"])
    layer, head = w.shown
    assert f"Layer {layer + 1}, head {head + 1}, {'of a twin that has read nothing' if w.untrained else 'trained'}" in got["said"]


def test_every_weight_of_every_head_is_read_as_torch_wrote_it(show, english):
    page = show(english)
    got = page.evaluate("""async ({ texts, size }) => {
      const { unpack } = await import("./bert_attention.js");
      return texts.map(t => ["trained", "untrained"].map(which => unpack(t[which], size, t.pieces.length, 10000)));
    }""", {"texts": english.texts, "size": english.size})
    for found, wanted in zip(got, english._maps, strict=True):
        for js, torch_ in zip(found, wanted, strict=True):
            torch.testing.assert_close(tensor(js), torch_, **CLOSE)
    agrees(page, english)


def test_by_mouse_sentence_head_word_and_twin(show):
    page, w = show(made()), made()
    agrees(page, w)
    page.click("[data-head='2,1']")
    w.shown = [2, 1]
    agrees(page, w)
    got = shown(page)["live"]
    without = (w.costs[1] - w.costs[0]).mean().item()
    assert got.startswith("Layer 3, head 2. The three largest: ")
    sign = "−" if without <= -0.005 else "+"
    assert f"With layer 3, head 2 off, a hidden word of this sentence costs {sign}{abs(without):.2f} nats" in got
    page.click("[data-word='3,looked at']")
    w.word, w.side = 3, "looked at"
    agrees(page, w)
    assert shown(page)["live"].startswith("l is looked at by ")
    page.get_by_role("button", name="show the untrained twin").click()
    w.untrained = True
    agrees(page, w)
    page.get_by_role("button", name="show the trained model").click()
    w.untrained = False
    page.locator("select").select_option("1")
    w.sentence = 1
    agrees(page, w)


def test_by_keyboard_alone(show):
    page, w = show(made()), made()
    here = "(e => e.dataset.head ?? e.dataset.word)(document.activeElement)"
    page.get_by_role("button", name="show the untrained twin").focus()
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.evaluate("!!document.activeElement.dataset.word"):
            break
    assert page.evaluate(here) == "0,looks"
    for key, at in (("ArrowDown", "1,looks"), ("ArrowRight", "1,looked at"), ("ArrowDown", "2,looked at")):
        page.keyboard.press(key)
        assert page.evaluate(here) == at, key
    page.keyboard.press("Enter")
    w.word, w.side = 2, "looked at"
    agrees(page, w)
    page.keyboard.press("Tab")
    assert page.evaluate(here) == "0,0"
    for key, at in (("ArrowRight", "0,1"), ("ArrowDown", "1,1"), ("ArrowDown", "2,1"), ("ArrowLeft", "2,0")):
        page.keyboard.press(key)
        assert page.evaluate(here) == at, key
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    w.shown = [2, 0]
    agrees(page, w)
    assert page.evaluate(here) == "2,0", "the focus stays where it was"


def test_a_change_from_python_redraws_and_ends_with_the_view(from_python):
    said = from_python(made(), ("sentence", 1), ("untrained", True))
    assert said[0].startswith("The figure was changed from outside. The three largest: ") and said[1] == said[0]


def test_it_fits_one_screen(show, english):
    page = show(english, width=1366)
    page.set_viewport_size({"width": 1366, "height": 768})
    assert page.locator(".cl-ba").bounding_box()["height"] <= 660
    assert page.evaluate("document.querySelector('.cl-ba .cl-scroll').scrollWidth") <= 700


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 700), ("light", 390), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, english, theme, width):
    readable(english, theme, width)
