"""The figure of MADE's masks: connections against the model, dead units and leaks, bad input."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.contract import ContractError, check_causal
from course_lib.density import MADE
from course_lib.explorables.made_masks import MadeMasks, draw, masks_of, reach, used
from course_lib.show.masks import idle
from tests.explorables.figure import Figure, choose, click, keys, marks, texts


@pytest.mark.parametrize("order, hidden", [([1, 2, 0], (4, 4)), ([2, 0, 3, 1], (5,)), ([3, 1, 4, 0, 2], (6, 3))])
def test_masks_equal_made(order, hidden):
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


def test_dead_units_enumeration():
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


@pytest.mark.parametrize("order, degrees", [([1, 2, 0], [[1, 2, 2, 1], [1, 2, 1, 2]]), ([2, 0, 3, 1], [[1, 2, 3, 3]]),
                                            ([0, 1, 2], [[1, 1]])])
def test_leak_verdict_of_contract(order, degrees):
    """A MADE with these masks, asked by the library's own contract."""
    w = MadeMasks(order=order, degrees=degrees, leak=True)
    model = MADE(len(order), [len(row) for row in degrees], order=order)
    model.set_degrees([torch.tensor(row) for row in degrees])
    model.layers[-1].mask.copy_(w.masks[-1])
    assert all(torch.equal(mask, layer.mask.bool()) for mask, layer in zip(w.masks, model.layers, strict=True))
    with pytest.raises(ContractError) as said:
        check_causal(model)
    assert w.verdict.removeprefix("The contract, which counts from 0: ").rstrip(".") == str(said.value).split(":")[0]
    assert w.verdict in w.text() and "contract" not in MadeMasks(order=order, degrees=degrees).text()


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_made(modules):
    generator, cases = torch.Generator().manual_seed(4), []
    for k in range(120):
        n = 3 + k % 3
        degrees = [torch.randint(1, n + 1, (2 + (k + j) % 4,), generator=generator).tolist() for j in range(1 + k % 2)]
        cases.append({"order": torch.randperm(n, generator=generator).tolist(), "degrees": degrees, "output": k % n})
    got = modules.evaluate("""async cases => {
      const m = await import("./made_masks.js");
      return cases.map(({ order, degrees, output }, seed) => {
        const masks = m.masksOf(order, degrees);
        return { masks, reach: m.reach(masks), used: m.used(masks, output), idle: m.idle(masks),
                 positions: m.positions(order), drawn: m.draw(seed, order.length, degrees.map(r => r.length)) };
      });
    }""", cases)
    for seed, (case, js) in enumerate(zip(cases, got, strict=True)):
        n, masks = len(case["order"]), masks_of(case["order"], case["degrees"])
        model = MADE(n, [len(row) for row in case["degrees"]], order=case["order"])
        model.set_degrees([torch.tensor(row) for row in case["degrees"]])
        assert js["positions"] == model.degrees[0].tolist()
        for mask, layer, mine in zip(js["masks"], model.layers, masks, strict=True):
            assert torch.equal(torch.tensor(mask), layer.mask.bool()) and torch.equal(mine, layer.mask.bool()), case
        assert js["reach"] == reach(masks).tolist()
        assert js["used"] == [row.tolist() for row in used(masks, case["output"])]
        assert js["idle"] == [row.tolist() for row in idle(masks)]
        assert js["drawn"] == draw(seed, n, [len(row) for row in case["degrees"]])


def agrees(page, w) -> None:
    """Lines, those that are lit, the pattern of the Jacobian with what is lost and what leaks, dead units, degrees."""
    masks, order = w.masks, w.order
    edges = {f"{layer} {k} {j}" for layer, mask in enumerate(masks) for k, j in mask.nonzero().tolist()}
    units = [*used(masks, w.output), torch.arange(len(order)) == w.output] if w.output >= 0 else None
    lit = {e for e in edges if units and units[int(e.split()[0]) + 1][int(e.split()[1])]}
    reads = {f"{i} {j}" for i, j in w.reads.nonzero().tolist()}
    allowed, own = {f"{i} {j}" for k, i in enumerate(order) for j in order[:k]}, {f"{i} {i}" for i in order}
    for selector, name, want in (("line", "edge", edges), ("line.cl-mm-lit", "edge", lit),
                                 ("[data-kind=reads]", "cell", reads - own), ("[data-kind=lost]", "cell", allowed - reads),
                                 ("[data-kind=leak]", "cell", reads & own)):
        assert sorted(marks(page, selector, name)) == sorted(want), selector
    assert page.locator(".cl-mm-dead").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))") == [
        f"degree of unit {k + 1}, hidden layer {layer}" for layer, row in enumerate(w.dead, 1) for k in row]
    assert [int(text) for text in texts(page, ".cl-mm-hidden text")] == [m for row in w.degrees for m in row]
    assert len(texts(page, "[data-factor]")) == len(order) and (not w.leak or w.verdict in page.locator(".cl-live").text_content())


BAD = [
    ({"order": [1, 2, 3]}, r"order is \[1, 2, 3\]; expected a permutation of 0 to n - 1"),
    ({"degrees": [[1, 4]]}, "degrees contains 4; expected degrees from 1 to 3"),
    ({"degrees": [[1]] * 3}, "expected one or two layers"),
    ({"output": 3}, "output is 3; expected 0 to 2"),
]
FIGURE = Figure(MadeMasks, agrees, bad=BAD, change={"degrees": [[1, 1]]},
                rich={"order": [3, 1, 4, 0, 2], "degrees": [[1, 5, 2, 4, 3, 2], [2, 3, 4, 1, 2, 4]]},
                says=("Order of drawing: x2, x3, x1.", "The factor of x1 reads x2, x3.", "The factor of x2 reads nothing."), moves=[
    (click(".cl-mm-hidden >> nth=0"), {"degrees": [[2, 2, 2, 1], [1, 2, 1, 2]]}),
    (click(".cl-mm-hidden >> nth=1"), {"degrees": [[2, 3, 2, 1], [1, 2, 1, 2]]}),
    (lambda page: (page.locator(".cl-mm-output").first.hover(), page.mouse.move(0, 0)), {"output": 0}),
    (keys("Enter", at="exchange x2 and x3"), {"order": [2, 1, 0]}),
    (keys("Tab", "Tab", "ArrowUp", "ArrowUp"), {"degrees": [[3, 3, 2, 1], [1, 2, 1, 2]]}),
    (keys("1"), {"degrees": [[1, 3, 2, 1], [1, 2, 1, 2]]}),
    (choose("Variables", 5), {"order": [1, 2, 3, 4, 0], "degrees": draw(1, 5, [4, 4])}),
    (choose("Hidden layers", 1), {"degrees": draw(1, 5, [4])}),
    (choose("Units in a layer", 6), {"degrees": draw(1, 5, [6])}),
    (click("draw the degrees anew"), {"degrees": draw(2, 5, [6]), "seed": 2}),
    (click("list in the order of drawing"), {}),
    (choose("Variables", 3), {"order": [1, 2, 0], "degrees": draw(2, 3, [6])}),
])
