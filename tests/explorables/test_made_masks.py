"""The figure of MADE's masks: connections against the model, degrees as MADE draws them, state that may not be."""
from __future__ import annotations

import itertools
import json

import pytest
import torch

from course_lib.contract import ContractError, check_causal
from course_lib.density import MADE
from course_lib.explorables.made_masks import MadeMasks, draw, masks_of, reach, used


@pytest.mark.parametrize("order, hidden", [([1, 2, 0], (4, 4)), ([2, 0, 3, 1], (5,)), ([3, 1, 4, 0, 2], (6, 3))])
def test_the_masks_are_those_of_the_model(order, hidden):
    for seed in range(5):
        model = MADE(len(order), hidden, order=order, seed=seed)
        w = MadeMasks(order=order, degrees=[m.tolist() for m in model.degrees[1:]], output=0)
        for mask, layer in zip(w.masks, model.layers, strict=True):
            assert torch.equal(mask, layer.mask.bool())
        assert [row.nonzero().flatten().tolist() for row in w.reads] == [sorted(model.parents(i)) for i in range(len(order))]


def is_dead(masks, layer: int, unit: int) -> bool:
    """By walking every path from every input to every output: none goes through this unit."""
    widths = [masks[0].shape[1], *[len(mask) for mask in masks]]
    for path in itertools.product(*map(range, widths)):
        if path[layer + 1] == unit and all(mask[b, a] for mask, a, b in zip(masks, path, path[1:])):
            return False
    return True


def test_dead_units_are_those_without_a_path():
    """Degrees from 1 to n, n included, so that some are dead; every unit is looked at."""
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        n = 3 + seed % 3
        degrees = [torch.randint(1, n + 1, (4,), generator=generator).tolist() for _ in range(1 + seed % 2)]
        w = MadeMasks(order=torch.randperm(n, generator=generator).tolist(), degrees=degrees, output=-1)
        want = [[k for k in range(4) if is_dead(w.masks, layer, k)] for layer in range(len(degrees))]
        assert w.dead == want
        for i in range(n):
            lit = used(w.masks, i)
            assert lit[0].tolist() == reach(w.masks)[i].tolist()


def test_a_unit_of_degree_n_and_a_unit_without_input_are_dead():
    w = MadeMasks(order=[1, 2, 0], degrees=[[2, 3], [1, 2]])
    assert w.dead == [[1], [0]]
    assert "Layer 1 has dead units: 2." in w.text() and "Layer 2 has dead units: 1." in w.text()


def test_the_slides_network_in_words():
    text = MadeMasks().text()
    assert "Order of drawing: x2, x3, x1." in text
    assert "The factor of x1 reads x2, x3." in text and "The factor of x2 reads nothing." in text
    assert "The factor of x3 reads x2." in text and "dead" not in text


@pytest.mark.parametrize("order, degrees", [([1, 2, 0], [[1, 2, 2, 1], [1, 2, 1, 2]]), ([2, 0, 3, 1], [[1, 2, 3, 3]]),
                                            ([0, 1, 2], [[1, 1]])])
def test_with_a_leak_the_contract_says_what_the_figure_says(order, degrees):
    """A MADE with these masks, asked by the library's own contract."""
    w = MadeMasks(order=order, degrees=degrees, leak=True)
    model = MADE(len(order), [len(row) for row in degrees], order=order)
    model._connect([torch.tensor(row) for row in degrees])
    model.layers[-1].mask.copy_(w.masks[-1])
    assert all(torch.equal(mask, layer.mask.bool()) for mask, layer in zip(w.masks, model.layers, strict=True))
    with pytest.raises(ContractError) as said:
        check_causal(model)
    assert w.verdict.removeprefix("The contract, which counts from 0: ").rstrip(".") == str(said.value).split(":")[0]
    assert w.verdict in w.text() and "contract" not in MadeMasks(order=order, degrees=degrees).text()


def test_degrees_are_drawn_as_made_draws_them():
    seen = set()
    for seed in range(200):
        first, second = draw(seed, 5, [4, 6])
        assert all(1 <= m <= 4 for m in first + second) and min(second) >= min(first)
        seen |= set(first)
    assert seen == {1, 2, 3, 4} and draw(7, 4, [5]) == draw(7, 4, [5]) != draw(8, 4, [5])


def test_an_order_and_its_inverse_have_other_masks():
    order = [1, 2, 3, 0]
    inverse = torch.tensor(order).argsort().tolist()
    assert not torch.equal(masks_of(order, [[1, 2, 3]])[0], masks_of(inverse, [[1, 2, 3]])[0])


def test_what_is_stored_is_small_and_has_words():
    w = MadeMasks()
    assert repr(w) == "MadeMasks()" and len(json.dumps(w.get_state()).encode()) <= 100_000
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()


def test_the_page_may_change_everything_at_once():
    w = MadeMasks()
    w.set_state({"order": [4, 3, 2, 1, 0], "degrees": [[1, 4, 2]], "output": 4, "seed": 3})
    assert w.reads.shape == (5, 5) and len(w.masks) == 2
    w.set_state({"order": [0, 1, 2], "degrees": [[1, 2]], "output": -1})
    assert w.reads.shape == (3, 3)


@pytest.mark.parametrize("make, message", [
    (lambda: MadeMasks(order=[1, 2, 3]), r"order is \[1, 2, 3\]; expected a permutation of 0 to n - 1"),
    (lambda: MadeMasks(order=[0, 1]), r"order is \[0, 1\]; .* n from 3 to 5"),
    (lambda: MadeMasks(degrees=[[1, 4]]), "degrees holds 4; with 3 variables a degree lies between 1 and 3"),
    (lambda: MadeMasks(degrees=[[0]]), "degrees holds 0"),
    (lambda: MadeMasks(degrees=[[1]] * 3), "expected one or two layers"),
    (lambda: MadeMasks(degrees=[[1] * 7]), "expected one or two layers of 1 to 6 units"),
    (lambda: MadeMasks(output=3), "output is 3; there are 3 outputs"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
