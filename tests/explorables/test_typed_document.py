"""The typed document: its numbers by hand, against scikit-learn, in the browser by typing and by keyboard."""
from __future__ import annotations

import math

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from course_lib.explorables import TypedDocument
from course_lib.explorables.typed_document import DOCUMENTS, START, weighed, words_of

TEXTS = (START, "", "moon", "The sea! the SEA?", "bread " * 30, "'(' - a a, of; queen", "the evening on a boat in the sea")


def test_the_weights_of_the_start_are_counted_by_hand():
    w = weighed(START, DOCUMENTS)
    df = {word: sum(word in doc.split() for doc in DOCUMENTS) for word in ("the", "bread", "and", "sea")}
    assert w.words == [*df, "moon"] and w.counts.tolist() == [4, 2, 2, 1, 1] and w.df.tolist() == [*df.values(), 0]
    want = [n / 10 * (math.log(7 / (df[word] + 1)) + 1) for word, n in zip(df, (4, 2, 2, 1))]
    torch.testing.assert_close(w.weights[:4], torch.tensor(want).double())
    assert w.idf[4].isnan() and w.weights[4].isnan()


@pytest.mark.parametrize("text", TEXTS)
def test_cosines_are_scikit_learns(text):
    """Its rows are ours, scaled; so their inner products are our cosines."""
    learner = TfidfVectorizer(token_pattern=r"[^\s]+", smooth_idf=True).fit(DOCUMENTS)
    want = (learner.transform(DOCUMENTS) @ learner.transform([" ".join(words_of(text))]).T).toarray()[:, 0]
    torch.testing.assert_close(weighed(text, DOCUMENTS).cosines, torch.tensor(want))


def test_without_the_added_one_a_word_of_every_document_weighs_nothing():
    assert weighed("the the the", DOCUMENTS, added=0).weights.tolist() == [0]
    assert weighed("the the the", DOCUMENTS).weights.tolist() == [1]


def test_it_has_words():
    lines = TypedDocument().text().splitlines()
    assert repr(TypedDocument()) == "TypedDocument()" and lines[1].startswith("the: count 4") and len(lines) == 7
    assert lines[5] == "moon: count 1, tf 0.100, in 0 of 6 documents, so it has no column"
    assert len(TypedDocument(typed="").text().splitlines()) == 1


@pytest.mark.parametrize("traits, message", [
    ({"typed": "a" * 201}, "typed has 201 characters; expected at most 200"),
    ({"added": 2}, "added is 2; expected 0 or 1")])
def test_bad_input_is_named(traits, message):
    with pytest.raises(ValueError, match=message):
        TypedDocument(**traits)


def test_the_page_computes_what_the_package_computes(show):
    page = show(TypedDocument())
    got = page.evaluate("""async ([texts, documents]) => {
      const { weighed } = await import("./typed_document.js");
      const plain = v => Number.isNaN(v) ? null : v;
      return texts.flatMap(text => [0, 1].map(added => {
        const { words, cosines } = weighed(text, documents, added);
        return { cosines, words: words.map(w => [w.word, w.count, w.tf, w.df, plain(w.idf), plain(w.weight)]) };
      }));
    }""", [list(TEXTS), list(DOCUMENTS)])
    for (text, added), js in zip([(text, added) for text in TEXTS for added in (0, 1)], got, strict=True):
        want = weighed(text, DOCUMENTS, added)
        assert [row[0] for row in js["words"]] == want.words
        numbers = torch.tensor([[math.nan if v is None else v for v in row[1:]] for row in js["words"]]).double()
        table = torch.stack([want.counts, want.tf, want.df, want.idf, want.weights], dim=1)
        torch.testing.assert_close(numbers.view(-1, 5), table, rtol=0, atol=1e-5, equal_nan=True)
        torch.testing.assert_close(torch.tensor(js["cosines"]).double(), want.cosines, rtol=0, atol=1e-5)


def test_by_typing_and_by_keyboard(show):
    page, w = show(TypedDocument()), TypedDocument()

    def agrees() -> str:
        shown = page.evaluate("""() => ({ weights: [...document.querySelectorAll("[data-weight]")].map(e => e.dataset.weight),
          cosines: [...document.querySelectorAll("[data-cosine]")].map(e => +e.dataset.cosine),
          live: document.querySelector(".cl-live").textContent })""")
        want = w.result
        sorted_weights = [v for v in want.weights.sort(descending=True).values.tolist() if v == v]
        assert [float(v) for v in shown["weights"] if v != "NaN"] == pytest.approx(sorted_weights, abs=1e-5)
        assert shown["cosines"] == pytest.approx(want.cosines.tolist(), abs=1e-5)
        return shown["live"]

    assert "Most weight: the, 0.400 · 1.000 = 0.400, though every document has it." in agrees()
    assert "No column in the table: moon." in agrees()
    page.get_by_label("the added 1").focus()
    page.keyboard.press("Space")
    w.added = 0
    assert "Most weight: bread" in agrees()
    page.get_by_label("Your document").fill("a queen of the film")
    w.typed = "a queen of the film"
    assert "Nearest document: 2" in agrees()
    page.get_by_label("Your document").fill("the")
    w.typed = "the"
    assert "No word has a weight: every document has what is typed." in agrees()
    page.get_by_label("Your document").fill(" ")
    w.typed = " "
    assert "No word of the six documents is typed" in agrees()


def test_a_change_from_python_redraws(from_python):
    got = from_python(TypedDocument(), ("typed", "bread"), ("typed", "sea"))
    assert got[0].startswith("The figure was changed from outside. Most weight: bread, 1.000") and got[1] == got[0]


@pytest.mark.parametrize("theme, width", [("light", 1000), ("dark", 390)])
def test_readable_in_both_themes_on_a_phone_and_wide(readable, theme, width):
    readable(TypedDocument(), theme, width)
