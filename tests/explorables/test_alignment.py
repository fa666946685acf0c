"""Two translators side by side: their steps against the library's parallel view, bad input."""
from __future__ import annotations

import pytest
import torch

from course_lib.data import toy_translation as language
from course_lib.data.toy_translation import draw_pairs, translate
from course_lib.explorables import Alignment
from course_lib.explorables.alignment import START
from tests.explorables.figure import Figure, choose, click, close, data, keys, pressed

SENTENCES = (START, "I love music", "they do not paint the quiet street", "the old girl sees the car")


@pytest.fixture(scope="module")
def drawn():
    return Alignment()


@pytest.mark.parametrize("sentence", SENTENCES)
def test_result_parallel_view(drawn, sentence):
    """All factors in one pass, teacher-forced with what was written: the same probabilities and the same weights."""
    drawn.sentence = sentence
    source = torch.tensor([drawn.ids])
    for model, w in zip(drawn._models, drawn.result, strict=True):
        target = torch.tensor([w.ids])
        with torch.no_grad():
            torch.testing.assert_close(w.p, model.conditionals(target, source).probs[0])
        torch.testing.assert_close(w.weights, model.attention_weights(source, target)[0])
        assert w.ids == w.p.argmax(dim=1).tolist() and w.ids[-1] == model.eos_id
    torch.testing.assert_close(drawn.result[1].weights.sum(dim=1), torch.ones(len(drawn.result[1].ids)).double())


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    w, sources = Alignment(), []
    pairs = [translate(START), *draw_pairs(6, torch.Generator().manual_seed(5))]
    for pair in pairs:
        w.sentence = " ".join(pair.source)
        sources.append(w.ids)
    got = modules.evaluate("""async ([weights, sizes, sources, sentences, g]) => {
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
            close(mine["p"], want.p)
            close(mine["weights"], want.weights)


def agrees(page, w) -> None:
    want = w.result[1]
    close(data(page, "alpha"), want.weights.flatten())
    close(data(page, "p"), want.p[w.place].topk(3).values)
    assert pressed(page, ".cl-al-table button") == [w.place]
    places = translate(w.sentence).alignment
    assert page.locator(".cl-al-now .cl-al-known").count() == (len(places[w.place]) if w.place < len(places) else 0)
    wrong = any(a != b for a, b in zip(w.result[0].ids, want.ids))
    assert (page.locator(".cl-al-said tr").first.locator("u").count() > 0) == wrong, "what is wrong is underlined"


BAD = [
    ({"sentence": "the dog sleeps"}, "sentence is 'the dog sleeps'"),
    ({"place": -1}, "place is -1; expected 0 or more, the index of a token"),
]
FIGURE = Figure(Alignment, agrees, bad=BAD, change={"place": 1},
                says=(f"English: {START}", " ".join(language.translate(START).target), "one vector: ", "attention: "), moves=[
    (click("next word →"), {"place": 1}),
    (keys("ArrowDown", "Enter", at=".cl-al-table button[aria-pressed=true]"), {"place": 2}),
    (click("word before"), {"place": 1}),
    (choose("subject", "they"), {"sentence": START.replace("the small dog does", "they do"), "place": 0}),
    (choose("affirmed or denied", "false"), {"sentence": "they find the white mountain"}),
    (choose("object", "music"), {"sentence": "they find music"}),
])
