"""The chain rule's figure: its numbers against enumeration and torch, its state against what may not be."""
from __future__ import annotations

import itertools
import math

import pytest
import torch

from course_lib.explorables import ChainRule
from course_lib.explorables.chain_rule import (
    ORDERS,
    conditionals_in_order,
    costs,
    joint_from_conditionals,
    kl,
    project,
    sample,
)
from course_lib.explorables.draws import uniforms
from tests.explorables.figure import Figure, choose, click, close, data, fill, keys, marks, refused, texts

STATES = list(itertools.product((0, 1), repeat=3))
PAIRS = [(0, 1), (0, 2), (1, 2)]
SUBSETS = [list(s) for r in range(4) for s in itertools.combinations(PAIRS, r)]


def random_conditionals(seed: int) -> torch.Tensor:
    return torch.rand(7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def enumerated(joint, i, fixed) -> float:
    """p(x_i = 1 | fixed) by adding up rows."""
    rows = [x for x in STATES if all(x[j] == v for j, v in fixed.items())]
    whole = sum(joint[x] for x in rows)
    return float(sum(joint[x] for x in rows if x[i] == 1) / whole)


@pytest.mark.parametrize("order", ORDERS)
def test_conditionals_enumeration(order):
    joint = joint_from_conditionals(random_conditionals(3), (1, 2, 0))
    c = conditionals_in_order(joint, order)
    table = {x: joint[x].item() for x in STATES}
    expected = [enumerated(table, order[k], dict(zip(order, before)))
                for k in range(3) for before in itertools.product((0, 1), repeat=k)]
    torch.testing.assert_close(c, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(joint_from_conditionals(c, order), joint, rtol=0, atol=1e-15)
    assert abs(joint.sum().item() - 1) < 1e-14


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dropped", SUBSETS, ids=str)
def test_project_enumeration(order, dropped):
    c = random_conditionals(7)
    joint, q = joint_from_conditionals(c, order), project(c, order, dropped)
    table, slots = {x: joint[x].item() for x in STATES}, iter(q.tolist())
    for k in range(3):
        for before in itertools.product((0, 1), repeat=k):
            kept = {j: v for j, v in zip(order, before) if tuple(sorted((j, order[k]))) not in dropped}
            assert next(slots) == pytest.approx(enumerated(table, order[k], kept), abs=1e-14)
    cost = kl(joint, joint_from_conditionals(q, order)).item()
    torch_kl = torch.nn.functional.kl_div(joint_from_conditionals(q, order).log(), joint, reduction="sum").item()
    by_hand = sum(p * math.log(p / joint_from_conditionals(q, order)[x].item()) for x, p in table.items())
    assert cost == pytest.approx(torch_kl, abs=1e-12) == pytest.approx(by_hand, abs=1e-12)
    assert costs(c, order, dropped).sum().item() == pytest.approx(cost, abs=1e-12)


def test_sample_library_inverse_cdf():
    from course_lib.conditional import Bernoulli

    family, u = Bernoulli(), torch.tensor(uniforms(5, 3000), dtype=torch.float64).reshape(-1, 3)
    c = random_conditionals(1)
    x = sample(c, (0, 1, 2), 1000, seed=5)
    slots = torch.stack([torch.zeros(1000, dtype=torch.long), 1 + x[:, 0], 3 + 2 * x[:, 0] + x[:, 1]], dim=1)
    drawn = family.draw(family(torch.logit(c[slots])), u[..., None])
    assert torch.equal(drawn.long(), x)


def test_uniforms_published_xorshift():
    """Marsaglia's first numbers from his seed 2463534242, by the triple 13, 17, 5."""
    seed = 2463534242 * pow(2654435769, -1, 2**32) % 2**32
    assert [round(u * 2**32) for u in uniforms(seed, 3)] == [723471715, 2497366906, 2064144800]
    assert uniforms(0, 5) == uniforms(0, 5) and 0 < min(uniforms(0, 999)) and max(uniforms(0, 999)) < 1


def test_state_keeps_joint():
    w = ChainRule()
    before, order = w.joint, [2, 0, 1]
    w.set_state({"order": order, "conditionals": conditionals_in_order(before, order).tolist()})
    torch.testing.assert_close(w.joint, before, rtol=0, atol=1e-12)
    w.reorder((1, 0, 2))
    torch.testing.assert_close(w.joint, before, rtol=0, atol=1e-12)
    assert w.order == [1, 0, 2] and w.conditionals[0] == pytest.approx(before.sum((0, 2))[1].item())


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    generator, cases = torch.Generator().manual_seed(2), []
    for i in range(240):                                             # some conditionals 0 or 1
        c = torch.rand(7, generator=generator, dtype=torch.float64)
        if i % 3 == 0:
            c = torch.where(torch.rand(7, generator=generator) < 0.3, c.round(), c)
        cases.append({"c": c.tolist(), "dropped": SUBSETS[i % 8], "order": list(ORDERS[i % 6]), "next": list(ORDERS[i % 5])})
    got = modules.evaluate("""async cases => {
      const m = await import("./chain_rule.js");
      return cases.map(({ c, order, dropped, next }) => {
        const joint = m.jointFromConditionals(c, order), q = m.project(c, order, dropped);
        return { joint, q, next: m.conditionalsInOrder(joint, next), costs: m.costs(c, order, dropped),
                 kl: m.kl(joint, m.jointFromConditionals(q, order)), counts: m.counts(q, order, 7, 60).n };
      });
    }""", cases)
    for case, js in zip(cases, got, strict=True):
        c, order, dropped = torch.tensor(case["c"], dtype=torch.float64), case["order"], case["dropped"]
        joint, q = joint_from_conditionals(c, order), project(c, order, dropped)
        expected = {"joint": joint.flatten(), "q": q, "next": conditionals_in_order(joint, case["next"]),
                    "costs": costs(c, order, dropped)}
        for name, value in expected.items():
            close(js[name], value, msg=f"{name}: {case}")
        assert js["kl"] == pytest.approx(kl(joint, joint_from_conditionals(q, order)).item(), abs=1e-5)
        assert js["counts"] == torch.bincount(sample(q, order, 60, seed=7) @ torch.tensor([4, 2, 1]), minlength=8).tolist()


def agrees(page, w) -> None:
    q = w.model.flatten()
    close(data(page, "q"), q)
    close([float(text) for text in texts(page, "[data-q]")], q)
    if w.dropped:
        close([float(text) for text in texts(page, "[data-joint]")], w.joint.flatten())
    assert float(texts(page, "[data-sum]")[0]) == 1 and data(page, "kl")[0] == pytest.approx(w.cost, abs=1e-5)
    assert f"{abs(w.cost):.4f}" in texts(page, "[data-kl]")[0]
    best = project(torch.tensor(w.conditionals, dtype=torch.float64), w.order, w.dropped).tolist()
    for slot, p in zip(marks(page, "[data-slot]:not([type=range])", "slot"), marks(page, "[data-slot]:not([type=range])", "p")):
        assert float(p) == pytest.approx(best[int(slot)], abs=1e-5)
    assert data(page, "count") == torch.bincount(w.samples @ torch.tensor([4, 2, 1]), minlength=8).tolist()
    assert math.prod(float(f) for f in texts(page, ".cl-product")[5].split(" × ")) == pytest.approx(q[5].item(), abs=3e-4)
    arrows = page.evaluate("""() => [...document.querySelectorAll(".cl-graph [data-arrow]")].map(g => [g.dataset.arrow,
      getComputedStyle(g.querySelector("path")).strokeDasharray !== "none"])""")
    pairs = [(w.order[j], w.order[k]) for j, k in PAIRS]
    assert dict(arrows) == {f"{a + 1}-{b + 1}": sorted((a, b)) in map(list, w.dropped) for a, b in pairs}, "dots if dropped"
    assert texts(page, ".cl-graph text") == [f"x{i + 1}" for i in w.order]


def reordered(order: list[int]):
    def traits(w) -> dict:
        return {"order": order, "drawn": 0, "conditionals": conditionals_in_order(w.joint, order).tolist()}
    return traits


def slot(at: int, p: float):
    return lambda w: {"conditionals": [p if i == at else v for i, v in enumerate(w.conditionals)], "drawn": 0}


def preset(number: int):
    return lambda w: {"conditionals": conditionals_in_order(torch.tensor(w.presets[number]["joint"], dtype=torch.float64)
                                                            .reshape(2, 2, 2), w.order).tolist(), "drawn": 0}


BAD = [
    (lambda: ChainRule(joint=[0.5, 0.5]), r"joint has shape \(2,\); expected \(2, 2, 2\) or \(8,\)"),
    (lambda: ChainRule(joint=[0.2] * 8), "joint sums to 1.600000; expected 1"),
    (lambda: ChainRule(joint=[-0.5, 1.5, 0, 0, 0, 0, 0, 0]), "joint contains -0.5"),
    (lambda: ChainRule(joint=[math.nan] * 8), "joint contains nan"),
    ({"order": [1, 2, 3]}, r"order is \[1, 2, 3\]; expected a permutation of 0, 1, 2"),
    ({"conditionals": [0.5] * 6}, "conditionals has 6 numbers; expected 7"),
    ({"conditionals": [0.5] * 6 + [1.5]}, "conditionals contains 1.5"),
    ({"conditionals": [0.5] * 6 + [math.nan]}, "conditionals contains nan"),
    ({"dropped": [[0, 0]]}, r"dropped contains \[0, 0\]"),
    ({"drawn": 10_001}, "drawn is 10001"),
    (lambda: ChainRule().reorder([0, 1]), r"order is \[0, 1\]"),
]
FIGURE = Figure(ChainRule, agrees, bad=BAD, change={"conditionals": [0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]},
                rich={"dropped": [[0, 2]], "drawn": 250},
                says=(" 1  1  1  0.268225", "sum       1.000000", "Arrows: x1 to x2, x1 to x3, x2 to x3."), moves=[
    (choose("select >> nth=0", 1), preset(1)),
    (keys("ArrowRight", at="[type=range] >> nth=0"), lambda w: slot(0, round(w.conditionals[0], 2) + 0.01)(w)),
    (keys("Tab", "0", ",", "2", "Tab"), slot(0, 0.2)),               # Tab selects the text; a comma is understood
    *((fill(f"input[type=text][data-slot='{at}']", p), slot(at, p)) for at, p in enumerate((0.3, 0.9, 0.15, 0.6, 0.05, 1, 0.7))),
    (refused("[type=text] >> nth=0", "1.5", "-0.1", "abc", ""), {}),
    (fill("[type=text] >> nth=0", 0.4), slot(0, 0.4)),
    (keys("Space", at="x2 reads x1"), {"dropped": [[0, 1]]}),
    (choose("select >> nth=1", "201"), reordered([2, 0, 1])),
    (click("x1 reads x3"), {"dropped": [[0, 1], [0, 2]]}),
    (click("draw 100 samples"), {"drawn": 100}),
    (keys("Shift+Tab", "Enter"), {"drawn": 101}),
    (click("x2 reads x1"), {"dropped": [[0, 2]], "drawn": 0}),
    (click("draw 1 sample", times=2), {"drawn": 2}),
    (keys("Enter", at="clear"), {"drawn": 0}),
    (keys("Enter"), {"drawn": 0}),                                   # with nothing to do it keeps the focus
])
