"""The LSTM that reads letters: its numbers against torch's LSTM, gates that are held, bad input."""
from __future__ import annotations

import torch

from course_lib.explorables import LstmLetters
from course_lib.explorables.lstm_letters import HELD, lstm_of, run
from tests.explorables.figure import Figure, choose, click, close, data, fill, keys, pressed, refused, texts


def by_torch(model, ids):
    """h of every letter, c of the last, and logits, by torch.nn.LSTM with these weights."""
    ours, H = lstm_of(model), lstm_of(model).hidden
    theirs = torch.nn.LSTM(ours.inputs, H, batch_first=True).double()
    rows = torch.cat([torch.arange(k * H, (k + 1) * H) for k in (0, 1, 3, 2)])                 # torch has i, f, g, o
    with torch.no_grad():
        theirs.weight_ih_l0.copy_(ours.W_x[rows])
        theirs.weight_hh_l0.copy_(ours.W_h[rows])
        theirs.bias_ih_l0.copy_(ours.b[rows])
        theirs.bias_hh_l0.zero_()
        h, (_, c) = theirs(torch.nn.functional.one_hot(torch.tensor([ids]), model.vocab_size).double())
        return h[0], c[0, 0], torch.nn.functional.linear(h[0], model.head.weight, model.head.bias)


def test_result_equals_torch():
    w = LstmLetters()
    h, c, logits = by_torch(w._model, w.ids)
    torch.testing.assert_close(w.result.h, h, rtol=0, atol=1e-9)
    torch.testing.assert_close(w.result.c[-1], c, rtol=0, atol=1e-9)
    torch.testing.assert_close(w.result.logits, logits, rtol=0, atol=1e-9)
    with torch.no_grad():
        torch.testing.assert_close(w.result.logits, w._model(torch.tensor([w.ids]))[0], rtol=0, atol=1e-9)


def test_run_held_gate():
    w = LstmLetters(cell=22)
    free = run(w._model, w.ids)
    for number, gate in enumerate("ifo"):
        for value in (0, 1):
            held = run(w._model, w.ids, 22, f"{gate}={value}")
            assert (held.gates[:, number, 22] == value).all()
            assert torch.equal(held.gates[0, :, :22], free.gates[0, :, :22]), "the first letter's other gates are free"
    closed = run(w._model, w.ids, 22, "i=0")
    assert (closed.c[:, 22] == 0).all() and not torch.equal(closed.logits, free.logits)


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    w = LstmLetters()
    texts_ = [w.typed, "", "KING:\nto be\n\nor not", "zzzQ3&$-j" * 10, "A" * 160]
    cases = [{"typed": text, "cell": 7 * k % 48, "held": held} for text in texts_ for k, held in enumerate(HELD)]
    got = modules.evaluate("""async ([cases, weights, symbols]) => {
      const { run, unpack } = await import("./lstm_letters.js"), m = unpack(weights, symbols.length, 48);
      return cases.map(c => run(m, [..."\\n\\n" + c.typed].map(v => symbols.indexOf(v)), c.cell, c.held));
    }""", [cases, w.weights, w.symbols])
    for case, js in zip(cases, got, strict=True):
        w.typed = case["typed"]
        want = run(w._model, w.ids, case["cell"], case["held"])
        for name in ("gates", "c", "h", "logits"):
            close([now[name] for now in js], getattr(want, name), msg=f"{name}: {case}")


def agrees(page, w) -> None:
    """All cells at the letter looked at, the five likeliest letters."""
    want, t = w.result, min(w.letter, len(w.typed) + 1)
    close(data(page, "c"), want.c[t])
    best = want.logits[t].softmax(dim=0).topk(5)
    close(data(page, "p"), best.values)
    assert texts(page, ".cl-ll-likely button") == [{"\n": "↵", " ": "␣"}.get(w.symbols[v], w.symbols[v]) for v in best.indices]
    assert "".join(texts(page, ".cl-ll-letter")) == ("\n\n" + w.typed).replace("\n", "↵").replace(" ", "␣")
    assert page.locator("textarea[aria-invalid=true]").count() or page.locator("textarea").input_value() == w.typed
    assert page.locator(".cl-ll-gate").count() == 3 * (len(w.typed) + 2) and pressed(page, ".cl-ll-cells button") == [w.cell]
    assert f"{want.c[t, w.cell]:.2f}".replace("-", "−") in page.locator(".cl-live").text_content() or page.locator(
        "textarea[aria-invalid=true]").count() or len(w.typed) == 160
    assert page.locator(".cl-ll-held").count() == (len(w.typed) + 2 if w.held else 0)


def typed(text: str) -> dict:
    return {"typed": text, "letter": len(text) + 1}


def likely(rank: int):
    """The text goes on, after the letter that is looked at, with the letter of this rank."""
    def traits(w) -> dict:
        t = min(w.letter, len(w.typed) + 1)
        return typed(w.typed[:max(0, t - 1)] + w.symbols[w.result.logits[t].argsort(descending=True)[rank]])
    return traits


BAD = [
    ({"typed": "caf\u00e9"}, "typed contains '\u00e9'; expected only characters of"),
    ({"typed": "a" * 161}, "typed has 161 characters; expected at most 160"),
    ({"cell": 48}, "cell is 48; expected 0 to 47"),
    ({"letter": -1}, "letter is -1; expected 0 to 161"),
    ({"held": "g=1"}, "held is 'g=1'; expected one of '', 'i=0'"),
]
FIGURE = Figure(LstmLetters, agrees, bad=BAD, change={"typed": "Hm"}, rich={"held": "f=1"}, height=600,
                says=("line end", "Most likely next: "), moves=[
    (keys("Tab", "ArrowDown", "ArrowRight", "Enter", at="textarea >> nth=0"), {"cell": 35}),
    (keys("Tab", "ArrowDown"), {"held": "i=0"}),
    (keys("Tab", "Home"), {"letter": 0}),
    (keys("ArrowRight"), {"letter": 1}),
    (keys("Control+End", "O", "h", "Enter", at="textarea >> nth=0"), lambda w: typed(w.typed + "Oh\n")),
    (refused("textarea >> nth=0", "Oh #"), {}),
    (fill("textarea >> nth=0", "Oh, no"), typed("Oh, no")),
    (click(".cl-ll-cells button >> nth=4"), {"cell": 4}),
    (choose("Gates of this cell", "f=1"), {"held": "f=1"}),
    (lambda page: page.locator(".cl-ll-chart").click(position={"x": 11 * 5 + 5, "y": 60}), {"letter": 5}),
    (fill("[type=range]", 7), {"letter": 7}),
    (click(".cl-ll-likely button >> nth=1"), likely(1)),
    (keys("Enter", at=".cl-ll-likely button"), likely(0)),
    (keys("Enter"), likely(0)),
    (fill("[type=range]", 4), {"letter": 4}),
    (click(".cl-ll-likely button"), likely(0)),                      # what followed goes
    (fill("[type=range]", 0), {"letter": 0}),
    (click(".cl-ll-likely button"), likely(0)),
    (fill("textarea >> nth=0", "a" * 160), typed("a" * 160)),
    (click(".cl-ll-likely button"), {}),                             # no room for another
    (fill("textarea >> nth=0", ""), typed("")),
])
