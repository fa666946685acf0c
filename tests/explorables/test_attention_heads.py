"""Attention head by head: its numbers against the library's layers one by one."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from course_lib.data import toy_agreement
from course_lib.explorables import AttentionHeads, NadePixels
from course_lib.explorables.attention_heads import EXAMPLES, moved, pack, run
from course_lib.transformer import GPT, GPTConfig, attention_weights, causal_mask
from course_lib.transformer.heads import switched_off
from tests.explorables.figure import CLOSE, Figure, choose, click, close, keys

LETTERS = ["^", "a", "b", "c", "d"]


def small(**changes) -> GPT:
    torch.manual_seed(3)
    model = GPT(GPTConfig(**{"vocab_size": 5, "window": 6, "layers": 3, "heads": 3, "d_model": 12, "d_ff": 20, "bos_id": 0,
                             "eps": 1e-3, **changes}))
    model.randomize(torch.Generator().manual_seed(5))
    return model


def rounded(model: GPT) -> GPT:
    return model.half().double().eval()


@pytest.mark.parametrize("off", [[], [[0, 1]], [[0, 0], [2, 2]], [[1, h] for h in range(3)]])
def test_run_layer_by_layer(off):
    """The stack written out, with the output of each head set to zero by hand."""
    model, words = rounded(small()), [1, 4, 2, 2, 3]
    found = run(model, words, off)
    x = model.tokens.weight[[0, *words]] + model.positions.table.weight
    for layer, block in enumerate(model.blocks):
        q, k, v = block.attention.qkv(block.residual1.norm(x)).view(6, 3, 3, 4).permute(1, 2, 0, 3)       # (H, T, K)
        a = attention_weights(q, k, causal_mask(6))
        torch.testing.assert_close(found.weights[layer], a, rtol=0, atol=1e-12)
        y = (a @ v).transpose(0, 1)
        for _, h in (pair for pair in off if pair[0] == layer):
            y[:, h] = 0
        x = x + block.attention.out(y.flatten(1))
        x = x + block.feed_forward(block.residual2.norm(x))
    p = (model.norm(x) @ model.tokens.weight.T).softmax(-1)
    torch.testing.assert_close(found.p, p, rtol=0, atol=1e-12)
    by_hand = [-sum(w * np.log(w) for w in row if w > 0) for row in found.weights[2, 1].tolist()]
    assert found.entropy[2, 1].tolist() == pytest.approx(by_hand, abs=1e-12)


# --- in the browser ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, small()], ids=["gpt-agreement", "three layers of three heads"])
def test_javascript_equals_torch(modules, model):
    """All layers, heads and logits, with heads switched off, for many texts."""
    w, generator, cases = AttentionHeads(model, model and LETTERS), torch.Generator().manual_seed(4), []
    c = w._model.config
    heads = [[layer, head] for layer in range(c.layers) for head in range(c.heads)]
    for k in range(16):
        words = torch.randint(1, c.vocab_size, (1 + k % (c.window - 1),), generator=generator).tolist()
        off = [pair for pair in heads if k % 4 and torch.rand((), generator=generator) < (k % 4) / 4]
        cases.append({"words": words, "off": off})
    cases += [{"words": cases[-1]["words"], "off": [pair]} for pair in heads] + [{"words": [1, 2], "off": heads}]
    got = modules.evaluate("""async ({ cases, weights, sizes, vocabulary }) => {
      const { moved, run, unpack } = await import("./attention_heads.js"), m = unpack(weights, sizes, vocabulary);
      return cases.map(({ words, off }) => { const r = run(m, words, off), full = run(m, words);
        return { ...r, moved: r.p.map((p, t) => moved(p, full.p[t])) } });
    }""", {"cases": cases, "weights": pack(w._model), "sizes": w.sizes, "vocabulary": c.vocab_size})
    for case, js in zip(cases, got, strict=True):
        want = run(w._model, **case)
        for name in ("weights", "entropy", "p"):
            close(js[name], getattr(want, name), msg=f"{name} of {case}")
        with torch.no_grad(), switched_off(w._model, case["off"]):
            close(js["logits"], w._model(torch.tensor([[0, *case["words"]]]))[0], msg=str(case))
        close(js["moved"], moved(want.p, run(w._model, case["words"]).p))


def agrees(page, w) -> None:
    got = page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), on = e => e.getAttribute("aria-pressed") === "true";
      return { words: all("[data-word]:not([hidden])", e => e.selectedOptions[0].textContent),
        small: all("[data-head]", e => [...e.querySelectorAll("rect")].map(r => +r.getAttribute("fill-opacity"))),
        squares: all("[data-head] rect", r => [+r.getAttribute("y"), +r.getAttribute("x")]),
        means: all("[data-head]", e => +e.dataset.entropy), on: all("[data-switch]", e => e.checked),
        pressed: all("[data-head]", on), large: all("[data-pair]", e => [e.dataset.pair, +e.dataset.a, e.textContent]),
        entropy: all("td[data-entropy]", e => +e.dataset.entropy), moved: all("[data-moved]", e => +e.dataset.moved),
        top: all("[data-top]", e => JSON.parse(e.dataset.top)), full: all("[data-full]", e => JSON.parse(e.dataset.full)),
        predicted: all("[data-top]", e => e.textContent) } }""")
    want, (layer, head), T = w.result, w.shown, len(w.text_ids) + 1
    lower = torch.ones(T, T).tril().bool()
    assert got["words"] == [w.words[i] for i in w.text_ids]
    close(got["small"], want.weights.flatten(0, 1)[:, lower])
    assert got["squares"] == lower.nonzero().tolist() * len(got["small"])
    close(got["means"], want.entropy.mean(-1).flatten())
    assert [pair for pair, *_ in got["large"]] == [f"{i},{j}" for i, j in lower.nonzero().tolist()]
    close([a for _, a, _ in got["large"]], want.weights[layer, head][lower])
    assert all(text == f"{a:.2f}".replace("0.", ".") for _, a, text in got["large"])
    close(got["entropy"], want.entropy[layer, head])
    close(got["moved"], w.moved)
    for top, p in ((got["top"], want.p), (got["full"], run(w._model, w.text_ids).p)):
        values = p.topk(3).values
        close([[q for _, q in row] for row in top], values)
        torch.testing.assert_close(p.gather(1, torch.tensor([[v for v, _ in row] for row in top])), values, **CLOSE)
    assert got["predicted"] == [", ".join(f"{w.words[v]} {q:.2f}" for v, q in row if q >= 0.005) for row in got["top"]]
    heads = [[a, b] for a in range(w.sizes["layers"]) for b in range(w.sizes["heads"])]
    assert got["on"] == [pair not in w.off for pair in heads] and got["pressed"] == [pair == w.shown for pair in heads]


def with_word(place: int, word: str):
    return lambda w: {"text_ids": [w.words.index(word) if i == place else v for i, v in enumerate(w.text_ids)]}


def one_more(w) -> dict:
    return {"text_ids": [*w.text_ids, int(w.result.p[-1, 1:].argmax()) + 1]}


def example(number: int):
    return lambda w: {"text_ids": [w.words.index(word) for word in EXAMPLES[number].split()]}


BAD = [
    (lambda: AttentionHeads(small()), "model and words belong together"),
    (lambda: AttentionHeads(NadePixels, LETTERS), "expected a GPT"),
    (lambda: AttentionHeads(small(tied=False), LETTERS), "tied False"),
    (lambda: AttentionHeads(small(bos_id=None), LETTERS), "bos_id None"),
    (lambda: AttentionHeads(small(activation="relu"), LETTERS), "activation 'relu'"),
    (lambda: AttentionHeads(small(), LETTERS[1:]), "words has 4 names; expected 5"),
    (lambda: AttentionHeads(small(d_model=60, d_ff=200), LETTERS), "model takes 315,200 characters; expected at most 90,000"),
    (lambda: AttentionHeads(small(), LETTERS, ["a e"]), "the text has 'e'; expected words of"),
    (lambda: AttentionHeads(small(), LETTERS, text_ids=[1] * 6), "the text has 6 words; expected 1 to 5"),
    (lambda: AttentionHeads(small(), LETTERS, text_ids=[0]), "without 0, the start symbol"),
    (lambda: AttentionHeads(small(), LETTERS, text_ids=[5]), "expected 0 to 4"),
    ({"off": [[0, 4]]}, r"off contains \[0, 4\]; expected layers 0 to 1"),
    ({"shown": [2, 0]}, r"shown contains \[2, 0\]"),
]
FIGURE = Figure(AttentionHeads, agrees, bad=BAD, change={"text_ids": [1, 8, 30]}, rich={"off": [[0, 3]], "shown": [0, 3]},
                says=("sees", "All heads are on."), moves=[
    (keys("g", at="[data-word='2']"), with_word(2, "girl")),         # one key: a slow machine forgets the letter before
    (keys("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowRight", "Enter", at="[data-head='0,0']"), {"shown": [1, 1]}),
    (keys("Tab", "Space"), {"off": [[1, 1]]}),
    *((choose(".cl-top select", number), example(number)) for number in reversed(range(len(EXAMPLES)))),
    (click("[data-head='0,3']"), {"shown": [0, 3]}),
    (click("[data-switch='0,0']"), {"off": [[0, 0], [1, 1]]}),
    (click("[data-switch='1,1']"), {"off": [[0, 0]]}),
    (click("switch all heads on"), {"off": []}),
    (click("remove the last word", times=30), lambda w: {"text_ids": w.text_ids[:1]}),
    *[(click("add the most likely word"), one_more)] * (toy_agreement.LONGEST - 2),
    (click("add the most likely word"), {}),                         # no room for another
    (click("remove the last word"), lambda w: {"text_ids": w.text_ids[:-1]}),
])
