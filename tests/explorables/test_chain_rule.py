"""The chain rule's figure: its numbers against enumeration and torch, its state against what may not be."""
from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import pytest
import torch

from course_lib.density import Tabular
from course_lib.explorables import ChainRule, chain_rule
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


def test_the_product_of_the_conditionals_is_written_out():
    """p(0, 1, 1) in the order x3, x1, x2, by exact fractions."""
    c = torch.tensor([0.25, 0.5, 0.75, 0.125, 0.25, 0.375, 0.625], dtype=torch.float64)
    joint = joint_from_conditionals(c, (2, 0, 1))
    # x3 = 1, then x1 = 0 given x3 = 1, then x2 = 1 given (x3, x1) = (1, 0): slot 3 + 2 * 1 + 0
    expected = Fraction(1, 4) * Fraction(1, 4) * Fraction(3, 8)
    assert joint[0, 1, 1].item() == float(expected)


@pytest.mark.parametrize("order", ORDERS)
def test_conditionals_agree_with_enumeration_and_give_the_joint_back(order):
    joint = joint_from_conditionals(random_conditionals(3), (1, 2, 0))
    c = conditionals_in_order(joint, order)
    table = {x: joint[x].item() for x in STATES}
    expected = [enumerated(table, order[k], dict(zip(order, before)))
                for k in range(3) for before in itertools.product((0, 1), repeat=k)]
    torch.testing.assert_close(c, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-14)
    torch.testing.assert_close(joint_from_conditionals(c, order), joint, rtol=0, atol=1e-15)
    assert abs(joint.sum().item() - 1) < 1e-14


def test_the_table_of_the_library_has_the_same_probabilities():
    """The same seven numbers in the library's own table of conditionals."""
    tabular = Tabular(3).double()
    tabular.randomize(torch.Generator().manual_seed(0))
    joint = torch.tensor([tabular.log_prob(torch.tensor([x])).exp().item() for x in STATES], dtype=torch.float64)
    c = conditionals_in_order(joint.reshape(2, 2, 2))
    conditionals = tabular.conditionals(torch.tensor(STATES)).probs.double()         # (8, 3)
    slots = torch.tensor([[0, 1 + a, 3 + 2 * a + b] for a, b, _ in STATES])
    assert conditionals.std() > 0.05
    torch.testing.assert_close(c[slots], conditionals, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dropped", SUBSETS, ids=str)
def test_projection_keeps_the_conditionals_of_the_joint(order, dropped):
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


@pytest.mark.parametrize("dropped", SUBSETS[1:], ids=str)
def test_no_other_model_without_these_arrows_is_nearer(dropped):
    """Twenty steps away from the projection, within the model, and none lowers the cost."""
    order, c = (2, 0, 1), random_conditionals(11)
    joint, best = joint_from_conditionals(c, order), project(c, order, dropped)
    lowest = kl(joint, joint_from_conditionals(best, order)).item()
    for seed in range(20):
        step = 0.02 * torch.randn(7, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        tied = {}                                              # rows that are one conditional move together
        for at, value in enumerate(best.tolist()):
            factor = 0 if at == 0 else 1 if at < 3 else 2
            step[at] = step[tied.setdefault((factor, round(value, 12)), at)]
        moved = (best + step).clamp(1e-6, 1 - 1e-6)
        assert kl(joint, joint_from_conditionals(moved, order)).item() > lowest - 1e-12


def test_what_never_happens_has_no_conditional():
    """x1 is always 1: the rows given x1 = 0 are 1/2, and no number is NaN."""
    joint = joint_from_conditionals(torch.tensor([1, 0.3, 0.7, 0, 1, 0.2, 0.9], dtype=torch.float64))
    c = conditionals_in_order(joint)
    assert c[[1, 3, 4]].tolist() == [0.5, 0.5, 0.5]
    for order, dropped in itertools.product(ORDERS, SUBSETS):
        q = project(conditionals_in_order(joint, order), order, dropped)
        assert torch.isfinite(q).all() and q.min() >= 0 and q.max() <= 1
        assert torch.isfinite(kl(joint, joint_from_conditionals(q, order)))


def test_exclusive_or_costs_log_2_for_either_arrow_of_x3_and_nothing_for_the_other():
    w = ChainRule(joint=chain_rule._presets()[2]["joint"])
    for dropped, cost in (([0, 1], 0.0), ([0, 2], math.log(2)), ([1, 2], math.log(2))):
        w.dropped = [dropped]
        assert w.cost == pytest.approx(cost, abs=1e-12)


def test_the_copy_chain_needs_no_long_arrow_in_its_own_order_and_needs_it_in_another():
    w = ChainRule(joint=chain_rule._presets()[3]["joint"], dropped=[[0, 2]])
    assert w.cost == pytest.approx(0, abs=1e-12)
    w.reorder([0, 2, 1])
    assert w.cost > 0.1


def test_samples_follow_the_model_and_not_the_joint():
    """Chi-square of 10,000 samples against q, in an order that is not its own inverse."""
    w = ChainRule(order=[1, 2, 0], dropped=[[0, 1]], drawn=10_000)
    counts = torch.bincount(w.samples @ torch.tensor([4, 2, 1]), minlength=8).double()
    expected = w.model.flatten() * 10_000
    assert ((counts - expected) ** 2 / expected).sum() < 24.3          # 99.9 % of chi-square with 7 degrees: 24.32
    off = w.joint.flatten() * 10_000
    assert ((counts - off) ** 2 / off).sum() > 100


def test_samples_are_drawn_by_the_inverse_cdf_of_the_library():
    from course_lib.conditional import Bernoulli

    family, u = Bernoulli(), torch.tensor(uniforms(5, 3000), dtype=torch.float64).reshape(-1, 3)
    c = random_conditionals(1)
    x = sample(c, (0, 1, 2), 1000, seed=5)
    slots = torch.stack([torch.zeros(1000, dtype=torch.long), 1 + x[:, 0], 3 + 2 * x[:, 0] + x[:, 1]], dim=1)
    drawn = family.draw(family(torch.logit(c[slots])), u[..., None])
    assert torch.equal(drawn.long(), x)


def test_uniforms_are_the_published_xorshift():
    """Marsaglia's first numbers from his seed 2463534242, by the triple 13, 17, 5."""
    seed = 2463534242 * pow(2654435769, -1, 2**32) % 2**32
    assert [round(u * 2**32) for u in uniforms(seed, 3)] == [723471715, 2497366906, 2064144800]
    assert uniforms(0, 5) == uniforms(0, 5) and 0 < min(uniforms(0, 999)) and max(uniforms(0, 999)) < 1


def test_the_default_joint_is_counted_from_the_digits():
    from sklearn.datasets import load_digits

    images = load_digits().images
    expected = sum(im[3, 2] >= 8 and im[3, 3] < 8 and im[3, 4] >= 8 for im in images) / len(images)
    assert ChainRule().joint[1, 0, 1].item() == pytest.approx(expected, abs=1e-15)


def test_state_from_the_page_keeps_the_joint_and_python_reads_it():
    w = ChainRule()
    before, order = w.joint, [2, 0, 1]
    w.set_state({"order": order, "conditionals": conditionals_in_order(before, order).tolist()})
    torch.testing.assert_close(w.joint, before, rtol=0, atol=1e-12)
    w.reorder((1, 0, 2))
    torch.testing.assert_close(w.joint, before, rtol=0, atol=1e-12)
    assert w.order == [1, 0, 2] and w.conditionals[0] == pytest.approx(before.sum((0, 2))[1].item())


def test_what_is_stored_is_small_stable_and_has_words():
    w = ChainRule()
    assert repr(w) == "ChainRule()"
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    assert " 1  1  1  0.268225" in text and "sum       1.000000" in text
    assert len(json.dumps(w.get_state()).encode()) <= 100_000
    assert "Arrows: x1 to x2, x1 to x3, x2 to x3." in text
    w.dropped = [[0, 2]]
    assert "0.0976 nats" in w.text() and "Arrows: x1 to x2, x1 to x3 dropped, x2 to x3." in w.text()
    w.order = [2, 0, 1]
    assert "Arrows: x3 to x1 dropped, x3 to x2, x1 to x2." in w.text()


@pytest.mark.parametrize("make, message", [
    (lambda: ChainRule(joint=[0.5, 0.5]), r"joint has shape \(2,\); .* need \(2, 2, 2\)"),
    (lambda: ChainRule(joint=[0.2] * 8), "joint sums to 1.600000; it must sum to 1"),
    (lambda: ChainRule(joint=[-0.5, 1.5, 0, 0, 0, 0, 0, 0]), "joint holds -0.5"),
    (lambda: ChainRule(joint=[math.nan] * 8), "joint holds nan"),
    (lambda: ChainRule(order=[1, 2, 3]), r"order is \[1, 2, 3\]; expected a permutation of 0, 1, 2"),
    (lambda: ChainRule(conditionals=[0.5] * 6), "conditionals has 6 numbers; three binary variables need 7"),
    (lambda: ChainRule(conditionals=[0.5] * 6 + [1.5]), "conditionals holds 1.5"),
    (lambda: ChainRule(conditionals=[0.5] * 6 + [math.nan]), "conditionals holds nan"),
    (lambda: ChainRule(dropped=[[0, 0]]), r"dropped holds \[0, 0\]"),
    (lambda: ChainRule(drawn=10_001), "drawn is 10001"),
    (lambda: ChainRule().reorder([0, 1]), r"order is \[0, 1\]"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
