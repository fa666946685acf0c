"""The map of words: views against literal loops and the library, bad input."""
from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from course_lib import hub
from course_lib.explorables import WordMap
from course_lib.explorables.word_map import CHOSEN, NUM, QUESTIONS, SENSES, plane, rounded
from tests.explorables.figure import Figure, choose, click, close, data, keys, texts


@pytest.fixture(scope="module")
def stored():
    return hub.load("english-words")


def cosine(x, y) -> float:
    return sum(a * b for a, b in zip(x, y)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))


def test_neighbors_equal_library():
    for word in ("bad", "monday", "bat"):
        drawn = WordMap(view="neighbours", trail=[word]).result
        want = rounded().neighbours(word, NUM)
        assert [CHOSEN[i] for i in drawn.listed] == [name for name, _ in want]
        torch.testing.assert_close(drawn.scores[drawn.listed], torch.tensor([c for _, c in want]).double())
    x, y = rounded()["bad"].tolist(), rounded()["movie"].tolist()
    assert WordMap(view="neighbours", trail=["bad"]).result.scores[CHOSEN.index("movie")] == pytest.approx(cosine(x, y))


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_analogy_equals_library(question):
    drawn = WordMap(view="analogy", question=list(question)).result
    want = rounded().analogy(*question, NUM)
    assert [CHOSEN[i] for i in drawn.listed] == [name for name, _ in want]
    assert not set(question) & {CHOSEN[i] for i in drawn.listed}
    a, b, c = drawn.points[[CHOSEN.index(word) for word in question]]
    unit = rounded().unit()
    u_a, u_b, u_c = (unit[CHOSEN.index(word)] for word in question)
    torch.testing.assert_close(a, torch.zeros(2).double())
    assert b[1].abs() < 1e-12 and b[0].item() == pytest.approx((u_b - u_a).norm().item())
    assert (c - b).norm().item() == pytest.approx((u_c - u_b).norm().item()), "the plane keeps their distances"


def test_senses_cosines_with_means():
    for word, sides in SENSES.items():
        drawn = WordMap(view="senses", sense=word).result
        for axis, side in enumerate(sides):
            units = [[v / math.sqrt(sum(u * u for u in row)) for v in row] for row in rounded()(side).tolist()]
            mean = [sum(column) / len(side) for column in zip(*units)]
            assert drawn.points[CHOSEN.index(word), axis] == pytest.approx(cosine(mean, rounded()[word].tolist()))
        assert not {CHOSEN[i] for i in drawn.listed} & {each for side in sides for each in side}


def test_plane_equals_pca():
    pca = PCA(n_components=2).fit(rounded().unit().numpy())
    places, kept = plane()
    assert kept == pytest.approx(pca.explained_variance_ratio_.sum()) and round(1 / kept) == 6, "a sixth, the chapter says"
    want = pca.transform(rounded().unit().numpy())
    signs = np.sign((want * places.numpy()).sum(axis=0))
    torch.testing.assert_close(places, torch.tensor(want * signs))


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    w = WordMap()
    cases = [("neighbours", [word]) for word in ("nail", "capulet")]
    cases += [("analogy", list(q)) for q in QUESTIONS[::3]] + [("senses", [word]) for word in SENSES]
    got = modules.evaluate("""async ([cases, words, rows, plane, pairs]) => {
      const m = await import("./word_map.js"), unit = m.unpack(rows, words.length), at = w => words.indexOf(w);
      return cases.map(([view, [a, b, c]]) => view === "neighbours" ? m.neighbours(unit, plane, at(a))
        : view === "analogy" ? m.analogy(unit, [at(a), at(b), at(c)])
        : m.senses(unit, pairs[a].map(side => side.map(at))));
    }""", [cases, w.words, w.rows, w.plane, w.pairs])
    for (view, words), js in zip(cases, got, strict=True):
        trait = {"neighbours": "trail", "analogy": "question", "senses": "sense"}[view]
        want = WordMap(**{"view": view, trait: words[0] if view == "senses" else words}).result
        assert js["listed"] == want.listed, (view, words)
        close(js["scores"], want.scores)
        close(js["points"], want.points)
        if view == "analogy":
            a, b, c = (want.points[CHOSEN.index(word)] for word in words)
            close(js["goal"], b + c - a)


def agrees(page, w) -> None:
    drawn = w.result
    assert texts(page, ".cl-wm-line span:first-child") == [CHOSEN[i] for i in drawn.listed]
    close(data(page, "score"), drawn.scores[drawn.listed])
    assert page.locator(".cl-wm-arrow").count() == (2 if w.view == "analogy" else 0)
    assert page.locator(".cl-wm-trail").count() == (len(w.trail) - 1 if w.view == "neighbours" else 0)


def best(place: int):
    """One step to the word at this place of the list."""
    return lambda w: {"view": "neighbours", "trail": [*w.trail, CHOSEN[w.result.listed[place]]]}


BAD = [
    ({"view": "pca"}, "view is 'pca'; expected one of 'neighbours', 'analogy', 'senses'"),
    ({"sense": "king"}, "sense is 'king'; expected one of 'nail'"),
    ({"trail": []}, "trail has 0 words; expected 1 to 12"),
    ({"trail": ["glove"]}, "trail has 'glove'; expected words of the 391 on the map"),
    ({"question": ["king", "queen"]}, "expected three different words"),
]
FIGURE = Figure(WordMap, agrees, bad=BAD, change={"sense": "light"},
                says=("nail: cosine 0.53 with hammer, wall; 0.58 with leg",), moves=[
    (choose("Word of two senses", "bat"), {"sense": "bat"}),
    (choose("What to look at", "analogy"), {"view": "analogy"}),
    (choose("is to", "brother"), {"question": ["man", "brother", "woman"]}),
    (choose("Question", 2), {"question": list(QUESTIONS[2])}),
    (click(".cl-wm-list button"), best(0)),
    (keys("ArrowDown", "Enter", at=".cl-wm-list button"), best(1)),
    (click("one word back"), lambda w: {"trail": w.trail[:-1]}),
])
