"""The map of words: cosines against the stored vectors, views against literal loops, its size, words, bad input."""
from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from course_lib import hub
from course_lib.explorables import WordMap
from course_lib.explorables.word_map import CHOSEN, NUM, QUESTIONS, SENSES, plane, rounded


@pytest.fixture(scope="module")
def stored():
    return hub.load("english-words")


def cosine(x, y) -> float:
    return sum(a * b for a, b in zip(x, y)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))


def test_rounding_moves_no_cosine_by_more_than_a_hundredth(stored):
    exact = torch.nn.functional.normalize(stored(CHOSEN).double(), dim=1)
    assert (rounded().unit() @ rounded().unit().T - exact @ exact.T).abs().max() < 0.01
    assert len(CHOSEN) == len(set(CHOSEN)) == 391


def test_neighbours_are_the_librarys_on_the_rounded_vectors():
    for word in ("bad", "monday", "bat"):
        drawn = WordMap(view="neighbours", trail=[word]).result
        want = rounded().neighbours(word, NUM)
        assert [CHOSEN[i] for i in drawn.listed] == [name for name, _ in want]
        torch.testing.assert_close(drawn.scores[drawn.listed], torch.tensor([c for _, c in want]).double())
    x, y = rounded()["bad"].tolist(), rounded()["movie"].tolist()
    assert WordMap(view="neighbours", trail=["bad"]).result.scores[CHOSEN.index("movie")] == pytest.approx(cosine(x, y))


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_an_analogy_is_the_librarys_and_a_parallelogram(question):
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


def test_senses_are_cosines_with_the_mean_of_either_side():
    for word, sides in SENSES.items():
        drawn = WordMap(view="senses", sense=word).result
        for axis, side in enumerate(sides):
            units = [[v / math.sqrt(sum(u * u for u in row)) for v in row] for row in rounded()(side).tolist()]
            mean = [sum(column) / len(side) for column in zip(*units)]
            assert drawn.points[CHOSEN.index(word), axis] == pytest.approx(cosine(mean, rounded()[word].tolist()))
        assert not {CHOSEN[i] for i in drawn.listed} & {each for side in sides for each in side}


def test_two_senses_stand_out_and_bat_has_one():
    """What the chapter says: the place of a word by the smaller of its two cosines."""
    def place(word):
        smaller, own = WordMap(view="senses", sense=word).result.points.amin(dim=1), CHOSEN.index(word)
        company = {CHOSEN.index(each) for side in SENSES[word] for each in side}
        return 1 + sum(bool(smaller[i] > smaller[own]) for i in range(len(CHOSEN)) if i not in company)

    found = {word: place(word) for word in SENSES}
    assert max(found[word] for word in ("nail", "bank", "light", "may", "star", "paris")) <= 4
    assert min(found[word] for word in ("bat", "spring")) > 30


def test_the_map_is_the_plane_of_principal_components():
    pca = PCA(n_components=2).fit(rounded().unit().numpy())
    places, kept = plane()
    assert kept == pytest.approx(pca.explained_variance_ratio_.sum()) and round(1 / kept) == 6, "a sixth, the chapter says"
    want = pca.transform(rounded().unit().numpy())
    signs = np.sign((want * places.numpy()).sum(axis=0))
    torch.testing.assert_close(places, torch.tensor(want * signs))


def test_the_page_holds_the_rounded_rows_and_few_bytes():
    w = WordMap()
    sent = np.frombuffer(base64.b64decode(w.rows), "i1").reshape(len(CHOSEN), -1)
    assert np.array_equal(sent, rounded().table.numpy())
    assert len(json.dumps({k: v for k, v in w.get_state().items() if k not in ("_esm", "_css")}).encode()) <= 100_000


def test_it_has_words():
    w = WordMap()
    assert repr(w) == "WordMap()" and "nail: cosine 0.53 with hammer, wall; 0.58 with leg" in w.text()
    w.view, w.trail = "neighbours", ["bad", "movie"]
    assert w.text().splitlines()[1].startswith("Nearest to movie: film (0.")


@pytest.mark.parametrize("traits, message", [
    ({"view": "pca"}, "view is 'pca'; expected one of 'neighbours', 'analogy', 'senses'"),
    ({"sense": "king"}, "sense is 'king'; expected one of 'nail'"),
    ({"trail": []}, "trail has 0 words; expected 1 to 12"),
    ({"trail": ["glove"]}, "trail has 'glove'; expected words of the 391 on the map"),
    ({"question": ["king", "queen"]}, "expected three different words"),
    ({"question": ["king", "queen", "king"]}, "expected three different words"),
])
def test_bad_input_is_named(traits, message):
    with pytest.raises(ValueError, match=message):
        WordMap(**traits)
