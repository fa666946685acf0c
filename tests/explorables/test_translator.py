"""The transformer in the page: its numbers against the library's layers, bad input."""
from __future__ import annotations

from contextlib import ExitStack

import pytest
import torch

from course_lib import hub
from course_lib.data.toy_translation import draw_pairs, to_text, vocabularies
from course_lib.decoding import greedy
from course_lib.explorables import Translator
from course_lib.explorables.base import STATIC
from course_lib.explorables.translator import (
    BOXES,
    HEADS,
    LONGEST,
    NETWORKS,
    STEPS,
    attention_of,
    heads_off,
    run,
    translated,
)
from tests.explorables.figure import Figure, choose, click, close, data, keys, texts

SENTENCES = ("the small dog does not see the red house", "I love hiking", "they do not paint the old street")
OFF = ([], [("cross", 1)], [("encoder", 0), ("decoder", 2), ("cross", 0)], list(HEADS))
CLOSE = {"rtol": 0, "atol": 1e-9}


def models():
    return [hub.load(STATIC / "weights" / name).double().eval() for name in NETWORKS]


def ids(sentence: str) -> list[int]:
    return [vocabularies()[0].id(word) for word in sentence.split()]


def by_the_library(model, source, read, off) -> dict[str, torch.Tensor]:
    """What passes through the library's own modules in one pass, by the names of the boxes."""
    (reads,), (writes,), found = model.encoder, model.decoder, {}
    named = {"encoder.normed": reads.residual1.norm, "ffn1.normed": reads.residual2.norm, "ffn1.out": reads.feed_forward,
             "encoder.mixed": reads.attention, "ffn1.sum": reads, "encoder.m": model.encoder_norm,
             "decoder.normed": writes.residual1.norm, "cross.normed": writes.residual2.norm,
             "ffn2.normed": writes.residual3.norm, "decoder.mixed": writes.attention,
             "cross.mixed": writes.cross_attention, "ffn2.out": writes.feed_forward, "ffn2.sum": writes,
             "decoder.last": model.decoder_norm, "encoder.sum": reads.residual1, "decoder.sum": writes.residual1,
             "cross.sum": writes.residual2}
    with ExitStack() as stack, torch.no_grad():
        stack.enter_context(heads_off(model, off))
        for name, module in named.items():
            stack.callback(module.register_forward_hook(
                lambda _, args, out, name=name: found.__setitem__(name, out[0])).remove)
        for part, layer in attention_of(model).items():
            stack.callback(layer.out.register_forward_pre_hook(
                lambda _, args, part=part: found.update({f"{part}.{h}.out": each for h, each in
                                                         enumerate(args[0][0].chunk(3, dim=-1))})).remove)
        target = torch.tensor([[*read[1:], model.eos_id]])
        found["log p"] = model.conditionals(target, context=torch.tensor([source])).logits.log_softmax(-1)[0]
        found["cross weights"] = model.attention_weights(torch.tensor([source]), target)[0][0]
    return found


@pytest.mark.parametrize("network", [0, pytest.param(1, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("off", OFF, ids=len)
def test_run_equals_modules(network, off):
    model = models()[network]
    for sentence in SENTENCES:
        source = ids(sentence)
        read, _ = translated(model, source, off)
        got, want = run(model, source, read, off), by_the_library(model, source, read, off)
        assert set(got) == set(BOXES)
        torch.testing.assert_close(got["decoder.p"].log(), want.pop("log p"), **CLOSE)
        torch.testing.assert_close(got["decoder.logits"].softmax(-1), got["decoder.p"], **CLOSE)
        for h, weights in enumerate(want.pop("cross weights")):
            torch.testing.assert_close(got[f"cross.{h}.weights"], weights, **CLOSE)
        assert len(want) == 26                                       # 17 modules and nine heads
        for name, value in want.items():
            torch.testing.assert_close(got[name], value, msg=name, **CLOSE)
        for part, h in HEADS:                                        # what no module puts out, from what one does
            q, k, v, scores, weights, out = (got[f"{part}.{h}.{step}"] for step in
                                             ("q", "k", "v", "scores", "weights", "out"))
            layer, y = attention_of(model)[part], got[f"{part}.normed"]
            memory = got["encoder.m"] if part == "cross" else y
            projected = [layer._split(layer.qkv(each[None]))[:, 0, h] for each in (y, memory)]
            torch.testing.assert_close(q, projected[0][0], **CLOSE)
            torch.testing.assert_close(torch.stack([k, v]), projected[1][1:], **CLOSE)
            torch.testing.assert_close(weights.log(), scores.log_softmax(-1), **CLOSE)
            assert torch.equal(scores == -torch.inf, (torch.ones_like(scores).triu(1) == 1) & (part == "decoder"))
            torch.testing.assert_close(out, 0 * v[:1].expand_as(out) if (part, h) in off else weights @ v, **CLOSE)


@pytest.mark.thorough
def test_translated_equals_greedy():
    for model in models():
        for off in OFF:
            for sentence in SENTENCES:
                with heads_off(model, off):
                    want = greedy(model, length=LONGEST, context=torch.tensor([ids(sentence)]), eos_id=2).tokens[0]
                written = translated(model, ids(sentence), off)[1]
                assert to_text(torch.tensor(written)) == to_text(want)


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    """All boxes of both networks for three sentences, heads on and off; and every number is the sum it is shown as."""
    cases = [{"network": k, "source": ids(s), "off": [list(p) for p in off]} for k in (0, 1) for s in SENTENCES for off in OFF]
    w, pairs = Translator(), draw_pairs(500, torch.Generator().manual_seed(5))
    got, grammar = modules.evaluate("""async ([cases, weights, sizes, g, sentences]) => {
      const { compose, italian, parse, terms, total, translated, unpack } = await import("./translator_model.js");
      const nets = weights.map(text => unpack(text, sizes));
      return [cases.map(({ network, source, off }) => {
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
      }), sentences.map(text => { const s = parse(g, text); return [compose(g, s), italian(g, s)]; })];
    }""", [cases, w.weights, w.sizes, w.grammar, [" ".join(pair.source) for pair in pairs]])
    nets = models()
    for case, js in zip(cases, got, strict=True):
        model = nets[case["network"]]
        assert (js["read"], js["written"]) == translated(model, case["source"], case["off"])
        assert js["apart"] < 1e-9
        want = run(model, case["source"], js["read"], case["off"])
        assert set(js["values"]) == set(want)
        for name, value in want.items():
            close([[float(v) for v in row] for row in js["values"][name]], value, msg=f"{name}: {case}")
    assert grammar == [[" ".join(pair.source), " ".join(pair.target)] for pair in pairs]


def agrees(page, w) -> None:
    value = w.result[w.shown]
    i, j = min(w.place[0], value.shape[0] - 1), min(w.place[1], value.shape[1] - 1)
    says = [" ".join(text.replace("(missing)", "").split()) for text in texts(page, "[data-says]")]
    assert says == [w.says(network, w.off) for network in (0, 1)]
    assert texts(page, "[data-right]") == [f"{w.right(network, w.off)} of 400" for network in (0, 1)]
    checked = "s => [...document.querySelectorAll(s)].map(e => e.checked)"
    assert page.evaluate(checked, "[data-head]") == [list(pair) not in w.off for pair in HEADS]
    assert page.evaluate(checked, "[data-network]").index(True) == w.network
    assert list(map(int, texts(page, ".cl-tr-without"))) == [w.right(w.network, [pair]) for pair in HEADS]
    assert texts(page, ".cl-tr-words")[0] == w.sentence
    assert page.locator("[data-box][aria-pressed=true]").count() == 1
    close(data(page, "v"), value[i])
    head = w.shown.split(".")[1] if w.shown.startswith("cross.") and w.shown[6].isdigit() else "2"
    written = w.says(w.network, w.off).split()
    assert texts(page, "[data-written]") == written
    at = min(w.place[0], len(written) - 1)
    assert page.locator("[data-written][aria-pressed=true]").get_attribute("data-written") == str(at)
    close(data(page, "weight"), w.result[f"cross.{head}.weights"][at])
    assert data(page, "total")[0] == pytest.approx(value[i, j].item(), abs=1e-5)
    figure, detail = (page.locator(s).bounding_box() for s in (".cl-tr-inside", ".cl-tr-detail"))
    assert detail["y"] + detail["height"] - figure["y"] <= 700, "the open box is on the same screen"


def sentence(text: str) -> dict:
    return {"sentence": text}


CROSS = [["cross", h] for h in range(3)]
BAD = [
    ({"sentence": "the dog eats the house"}, "sentence is 'the dog eats the house'; expected word 3 to be a verb of"),
    ({"network": 2}, "network is 2; expected 0 or 1"),
    ({"off": [["cross", 3]]}, r"off contains \['cross', 3\]; expected \[part, head\] with a part of 'encoder', 'decoder', 'cross'"),
    ({"shown": "cross.1"}, "shown is 'cross.1'; expected one of encoder.x"),
    ({"place": [1]}, r"place is \[1\]; expected a row and a column"),
    ({"place": [0, -1]}, r"place is \[0, -1\]"),
]
FIGURE = Figure(Translator, agrees, bad=BAD, change={"sentence": "I love hiking"},
                says=("English: the red car sees the white cat",
                      "trained as it is: la macchina rossa vede il gatto bianco (right "), moves=[
    (click("[data-written='5']"), {"place": [5, 6]}),
    (click(".cl-tr-only input"), {"off": [["cross", 2]]}),
    (click(".cl-tr-only input"), {"off": []}),
    (keys("Space", at="[data-head='cross,2']"), {"off": [["cross", 2]]}),
    (keys("Space", at="[data-head='cross,2']"), {"off": []}),
    (keys("Enter", at="[data-box='ffn2.hidden']"), {"shown": "ffn2.hidden"}),
    (keys("End", "Enter", at="[data-row][tabindex='0']"), lambda w: {"place": [w.result["ffn2.hidden"].shape[0] - 1, w.place[1]]}),
    (keys("Tab", "ArrowRight", "ArrowRight", "Enter"), lambda w: {"place": [w.place[0], w.place[1] + 2]}),
    (choose("affirmed or denied", "true"), sentence("the red car does not see the white cat")),
    (choose("subject", "we"), sentence("we do not see the white cat")),
    (choose("affirmed or denied", "false"), sentence("we see the white cat")),
    (choose("object", "hiking"), sentence("we see hiking")),
    (choose("subject", "girl"), sentence("the girl sees hiking")),
    (choose("adjective of the subject", "old"), sentence("the old girl sees hiking")),
    (choose("verb", "paint"), sentence("the old girl paints hiking")),
    (choose("object", "car"), sentence("the old girl paints the car")),
    (choose("adjective of the object", "new"), sentence("the old girl paints the new car")),
    (click("all cross heads off"), {"off": CROSS}),
    (choose("subject", "I"), sentence("I paint the new car")),
    (click("trained with heads dropped"), {"network": 1}),
    (click("[data-head='encoder,2']"), {"off": [["encoder", 2], *CROSS]}),
    (click("[data-head='cross,0']"), {"off": [["encoder", 2], *CROSS[1:]]}),
    *((click(f"[data-box='{box}']"), {"shown": box}) for box in (
        "encoder.x", "encoder.normed", "encoder.sum", "ffn1.out", "encoder.m", "decoder.last", "decoder.logits", "decoder.p",
        "cross.mixed", "decoder.1.weights")),
    *((click(f".cl-tr-steps button >> nth={k}"), {"shown": f"decoder.1.{step}"}) for k, step in enumerate(STEPS)),
    (click("[data-row='3']"), lambda w: {"place": [3, w.place[1]]}),
    (click("[data-column='5']"), {"place": [3, 5]}),
    (click("all heads on"), {"off": []}),
])
