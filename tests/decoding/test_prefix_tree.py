"""The model that is a tree: the contract, the slide's caption, its sum over sequences, and its picture."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib import show
from course_lib.contract import check_all
from course_lib.decoding import beam_search, exhaustive, greedy
from course_lib.decoding.prefix_tree import PrefixTree, yes_or_ok


def test_contract():
    assert "causal" in str(check_all(yes_or_ok(), length=3))


def test_yes_or_ok():
    """Greedy search writes yes yes; the likeliest sequence is ok ok, and a beam of two finds it."""
    tree = yes_or_ok()
    options = {"length": 3, "eos_id": tree.eos_id}
    assert tree.symbols == ["yes", "ok", "</s>"]
    found = greedy(tree, **options)
    best = exhaustive(tree, **options)
    assert tree.write(found.tokens[0]) == "yes yes </s>" and tree.write(best.tokens[0, 0]) == "ok ok </s>"
    assert found.log_prob.exp().item() == pytest.approx(0.5 * 0.4) and best.log_prob.exp().item() == pytest.approx(0.28)
    assert torch.equal(beam_search(tree, beams=2, length_penalty=0, **options).tokens, best.tokens)


def test_log_prob_is_product_of_entries():
    """Against a product of table entries, over all sequences of three symbols; the order of symbols matters."""
    table = {"a": [0.1, 0.2, 0.7], "": [0.5, 0.3, 0.2], "b": [0.25, 0.35, 0.4], "a b": [0.6, 0.3, 0.1],
             "b a": [0.15, 0.05, 0.8]}
    tree = PrefixTree(["a", "b", "."], table)
    total = 0.0
    for x in itertools.product(range(3), repeat=3):
        p = 1.0
        for t in range(3):
            before = " ".join(tree.symbols[v] for v in x[:t])
            p *= table.get(before, [0, 0, 1])[x[t]]
        assert tree.log_prob(torch.tensor([x])).exp().item() == pytest.approx(p)
        assert x[2] == 2 or show.trees.probability(tree, x) == pytest.approx(p)
        total += p
    assert total == pytest.approx(1)


@pytest.mark.parametrize("table, message", [
    ({"a": [0.5, 0.5]}, 'table has no row for ""'),
    ({"": [0.5, 0.6]}, r"table\[''\] is \[0.5, 0.6\]; expected 2 probabilities that sum to 1"),
    ({"": [0.5, 0.5], "a a": [0.5, 0.5]}, "table contains 'a a', which is unreachable; expected rows for"),
    ({"": [0.5, 0.5], "c": [0.5, 0.5]}, r"table contains the symbol 'c'; expected one of a, \."),
])
def test_bad_tables(table, message):
    with pytest.raises(ValueError, match=message):
        PrefixTree(["a", "."], table)


def test_tree_picture():
    tree = yes_or_ok()
    at = show.trees.place(tree)
    leaves = [b for b in at if tree.eos_id in b]
    assert len(leaves) == 7 and len({at[b][1] for b in leaves}) == 7
    figure = show.trees.tree(tree, {"greedy": [0, 0, 2], "best": [1, 1, 2]})
    texts = [t.get_text() for t in figure.axes[0].texts]
    assert sum(t.startswith("p = ") for t in texts) == 7 and "p = 0.28" in texts and "p = 0.2" in texts
    drawn = [line.get_xdata().tolist() for line in figure.axes[0].lines if line.get_label() in ("greedy", "best")]
    assert drawn == [[0, 1, 2, 3]] * 2
    with pytest.raises(ValueError, match="ways has 4"):
        show.trees.tree(tree, dict.fromkeys("abcd", [2]))
