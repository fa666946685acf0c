"""The next word after two beginnings: its numbers are the library's."""
from __future__ import annotations

import json
import math
from itertools import product

import pytest
import torch

from course_lib.conditional import Categorical
from course_lib.counting import NGram
from course_lib.decoding import reshape, sample
from course_lib.explorables.decoding_tree import stated_uniforms
from course_lib.explorables.next_word import CONTEXTS, NextWord, Setting, after, prose_model, ranked
from course_lib.tokenizers import CharTokenizer
from tests.explorables.conftest import state_of
from tests.explorables.figure import Figure, choose, click, fill, keys


def test_log_p_equals_model():
    """Every symbol is there, the start symbol alone has no probability, and float32 costs less than 1e-5."""
    w, (model, words) = NextWord(), prose_model()
    assert len(w.symbols) == 1230 and w.contexts == list(CONTEXTS)
    for i, text in enumerate(CONTEXTS):
        want = model.predict(model.start(1, words.encode(text)[None])).probs[0].double()
        torch.testing.assert_close(w.log_p(i).exp(), want, rtol=0, atol=1e-5)
        assert (w.log_p(i) == -math.inf).nonzero().tolist() == [[words.vocabulary.bos_id]]
        assert w.log_p(i).exp().sum().item() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("cut", ["none", "top-k", "top-p", "both"])
@pytest.mark.parametrize("tau, k, p", [(1, 5, 0.6), (0.5, 20, 0.9), (2, 1, 0.3), (0, 7, 0.5), (1.3, 1230, 1.0)])
def test_after_equals_library(cut, tau, k, p):
    log_p = NextWord().log_p(2)
    options = {"top_k": k if cut in ("top-k", "both") else None, "top_p": p if cut in ("top-p", "both") else None}
    got, want = after(log_p, Setting(cut, tau, k, p)), reshape(log_p, tau, **options)
    assert torch.equal(got.log_p, want) and torch.equal(got.kept, want > -torch.inf)
    assert got.mass == pytest.approx(reshape(log_p, tau).exp()[got.kept].sum().item())
    late, first = after(log_p, Setting(cut, tau, k, p, late=True)), reshape(log_p, 1, **options)
    assert torch.equal(late.log_p, reshape(first, tau)) and torch.equal(late.kept, first > -torch.inf)
    assert late.mass == pytest.approx(log_p.softmax(0)[late.kept].sum().item())


def test_own_model():
    words = CharTokenizer.fit("to be or not to be")
    model = NGram(n=2, vocab_size=len(words.vocabulary), smoothing="add")
    model.fit_counts(words.encode("to be or not to be"))
    w = NextWord(["t", "b"], model, words, cut="top-p", top_p=0.3)
    assert w.symbols == words.vocabulary.symbols and "after “b”: keeps 1 of" in w.text()
    torch.testing.assert_close(w.after(0).log_p, reshape(w.log_p(0), top_p=0.3))
    assert sample(model, 1, words.encode("b")[None], top_p=0.3).tokens.item() in w.after(1).kept.nonzero()


def test_own_vocabulary_too_large():
    words = CharTokenizer.fit("".join(map(chr, range(0x4E00, 0x4E00 + 2001))))
    model = NGram(n=2, vocab_size=len(words.vocabulary), smoothing="add")
    with pytest.raises(ValueError, match="words has 2001 symbols; expected at most 2000"):
        NextWord([chr(0x4E00), chr(0x4E01)], model, words)


# --- in the browser ----------------------------------------------------------------------------------------------------


SETTINGS = [Setting(cut, tau, k, p, late) for (cut, late), (tau, k, p) in product(
    (("none", False), ("top-k", False), ("top-p", False), ("both", False), ("top-p", True), ("both", True)),
    ((1, 5, 0.6), (0.5, 20, 0.9), (2, 300, 0.3), (0, 7, 0.5), (0.05, 40, 0.99), (1.35, 1, 1.0)))]


def test_javascript_equals_library(modules):
    """All beginnings under many settings, and rows with ties: what is kept, each ln p, the mass, the order, the draws."""
    w = NextWord()
    ties = torch.tensor([0.3, 0.1, 0.1, 0.3, 0.1, 0.0, 0.1]).double().log()
    rows = [w.log_p(i) for i in range(len(w.contexts))]
    got = json.loads(modules.evaluate("""async ({ tables, ties, settings }) => {
      const m = await import("./next_word.js");
      const rows = [...tables.map(m.logProbs), ties.map(v => v ?? -Infinity)];
      return JSON.stringify(rows.map(row => ({ row, ranked: m.ranked(row), of: settings.map(s => {
        const { logP, kept, mass } = m.after(row, s);
        return { logP, kept, mass, drawn: m.draws(logP, 7, 30) };
      }) })));
    }""", {"tables": w.tables, "ties": [None if v == -math.inf else v for v in ties.tolist()],
           "settings": [s._asdict() for s in SETTINGS]}))
    u = torch.tensor(stated_uniforms(7, 30), dtype=torch.float64)[:, None]

    def numbers(values):
        return torch.tensor([-math.inf if v is None else v for v in values], dtype=torch.float64)

    for log_p, js in zip([*rows, ties], got, strict=True):
        assert torch.equal(numbers(js["row"]), log_p)
        assert js["ranked"] == [v for v in ranked(log_p) if log_p[v] > -math.inf]
        for s, page_has in zip(SETTINGS, js["of"], strict=True):
            want, family = after(log_p, s), Categorical(len(log_p))
            assert page_has["kept"] == want.kept.tolist(), s
            torch.testing.assert_close(numbers(page_has["logP"]), want.log_p, rtol=0, atol=1e-5, msg=str(s))
            assert page_has["mass"] == pytest.approx(want.mass, abs=1e-5)
            assert page_has["drawn"] == family.draw(family(want.log_p.expand(30, -1)), u).tolist(), s


def agrees(page, w) -> None:
    """Every number of the page is that of the widget in Python, in its data and in its text."""
    shown = page.evaluate("""() => {
      const all = (s, root = document) => [...root.querySelectorAll(s)];
      return { cut: all("[data-cut][aria-pressed=true]").map(b => b.dataset.cut),
        compare: all("[data-cell]").map(e => [e.dataset.cell, +e.dataset.count, +e.dataset.share]),
        sides: all("[data-side]").map(side => ({ kept: +side.dataset.kept, mass: +side.dataset.mass,
          drawn: JSON.parse(side.querySelector("[data-drawn]").dataset.drawn),
          rows: all("tbody tr", side).map(tr => ({ from: +tr.dataset.from, p: +tr.dataset.p, q: +tr.dataset.q,
            stay: +tr.dataset.stay, cells: all("th, td", tr).map(e => e.textContent),
            bars: all(".cl-bar", tr).map(e => e.hidden ? 0 : e.getBoundingClientRect().width) })) })) } }""")
    assert shown["cut"] == [w.cut]
    widths = []
    for side, i in zip(shown["sides"], w.shown, strict=True):
        found, p = w.after(i), w.log_p(i).exp()
        order = [v for v in ranked(w.log_p(i)) if p[v] > 0]
        assert side["kept"] == int(found.kept.sum()) and side["mass"] == pytest.approx(found.mass, abs=1e-5)
        assert side["drawn"] == w.drawn(i)
        ends = [row["from"] for row in side["rows"]] + [len(order)]
        assert sum(row["p"] for row in side["rows"]) == pytest.approx(1, abs=1e-5)
        for row, start, stop in zip(side["rows"], ends, ends[1:]):
            inside = torch.tensor(order[start:stop])
            P, Q, stay = p[inside].sum().item(), found.log_p[inside].exp().sum().item(), int(found.kept[inside].sum())
            assert [row["p"], row["q"], row["stay"]] == pytest.approx([P, Q, stay], abs=1e-5)
            assert float(row["cells"][1]) == pytest.approx(P, abs=6e-4)
            assert not stay or float(row["cells"][2]) == pytest.approx(Q, abs=6e-4)
            widths += [(P, row["bars"][0]), (Q, row["bars"][1])]
    scale = max(width for _, width in widths) / max(value for value, _ in widths)
    assert all(abs(width - scale * value) <= 2 for value, width in widths), "one scale for both sides"
    for (cut, count, share), (want, i) in zip(shown["compare"], product(("top-k", "top-p", "both"), w.shown), strict=True):
        alone = after(w.log_p(i), w.setting._replace(cut=want))
        assert (cut, count) == (want, int(alone.kept.sum())) and share == pytest.approx(alone.mass, abs=1e-5)


BAD = [
    (lambda: NextWord("in the"), "contexts is 'in the'; expected a list of 2 to 8 texts"),
    (lambda: NextWord(["in the"]), "expected a list of 2 to 8 texts"),
    (lambda: NextWord(["in the", ""]), "contexts contains ''; expected at least one symbol"),
    (lambda: NextWord(model=prose_model()[0]), "model and words belong together"),
    ({"left": 6}, "left is 6; expected a number from 0 to 5"),
    ({"right": -1}, "right is -1"),
    ({"cut": "min-p"}, "cut is 'min-p'; expected 'none' or 'top-k' or 'top-p' or 'both'"),
    ({"temperature": 2.1}, "temperature is 2.1; expected a number from 0 to 2"),
    ({"top_k": 0}, "top_k is 0; expected a number from 1 to 1230"),
    ({"top_p": 0}, "top_p is 0"),
    ({"draws": 41}, "draws is 41; expected a number from 0 to 40"),
    (lambda: setattr(NextWord(), "seed", -1), "seed is -1"),
]
FIGURE = Figure(NextWord, agrees, bad=BAD, change={"cut": "top-p"}, rich={"cut": "none", "draws": 40},
                says=("after “in the”: keeps 5 of 1,229 words, which hold 0.136 of the mass",
                      "  town 0.031 becomes 0.226, ", "“.” 0.009 becomes"), moves=[
    (keys("Tab", "Enter", at="[data-cut='top-k']"), {"cut": "top-p"}),
    (keys("Tab", "Tab", "Space"), {"late": True}),
    (keys("Tab", "ArrowRight"), {"temperature": 1.05}),
    (keys("Tab", "ArrowLeft"), {"top_k": 4}),
    (keys("Tab", "End"), {"top_p": 1.0}),
    (keys("Tab", "ArrowDown"), {"left": 1}),
    (choose("[data-side=left] select", 5), {"left": 5}),
    (choose("[data-side=right] select", 3), {"right": 3}),
    (click("[data-cut='both']"), {"cut": "both"}),
    (fill("[data-setting=temperature]", 0.5), {"temperature": 0.5}),
    (fill("[data-setting=top_k]", 12), {"top_k": 60}),
    (fill("[data-setting=top_p]", 0.4), {"top_p": 0.4}),
    (click("clear"), {"draws": 0}),
    (click("draw ten"), {"draws": 10}),
    (click("no cut"), {"cut": "none"}),
    (click("other numbers"), {"seed": 2}),
    (click("draw a word"), {"draws": 11}),
    (click("draw ten", times=3), {"draws": 40}),
    (click("as at first"), lambda w: state_of(NextWord())),
])
