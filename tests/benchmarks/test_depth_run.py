"""The run on depth: what a stack is without its sums, and the recipe on few texts."""
from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from benchmarks.reproduce import depth
from benchmarks.reproduce.agreement import Parts
from benchmarks.reproduce.recipes import Job, free_parameters
from course_lib.data import toy_agreement
from course_lib.transformer import sinusoidal


@pytest.mark.parametrize("norm, sums", [*depth.ARMS.values(), ("pre", True)])
def test_a_stack_is_its_equation_layer_by_layer(norm, sums):
    """Against torch's kernel and layer norm, written out."""
    torch.manual_seed(0)
    model, tokens = depth.Stack(2, norm, sums).double(), torch.randint(40, (3, 7))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn_like(p))
        x = model.embed.weight[tokens] + sinusoidal(7, 32, dtype=torch.float64)
        for block in model.blocks:
            for part, f in ((block.residual1, lambda y: by_torch(block.attention, y)), (block.residual2, lambda y: block.feed_forward(y))):
                def ln(y):
                    return F.layer_norm(y, (32,), part.norm.gamma, part.norm.beta)
                x = x + f(ln(x)) if norm == "pre" else ln(x + f(x) if sums else f(x))
        logits = model.tell(F.layer_norm(x, (32,), model.norm.gamma, model.norm.beta))
        torch.testing.assert_close(model(tokens), logits)


def by_torch(layer, x):
    q, k, v = layer.qkv(x).unflatten(-1, (3, 4, 8)).permute(2, 0, 3, 1, 4)
    return layer.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


def test_the_sum_is_the_only_difference_of_the_arms():
    rows = depth.RUNS["residual-depth"].rows
    assert len(rows) == 1 + 2 * len(depth.DEPTHS) and len({row.label for row in rows}) == len(rows)
    for blocks in depth.DEPTHS:
        with_, without = (depth.Stack(blocks, "post", sums) for sums in (True, False))
        assert {name: p.shape for name, p in with_.named_parameters()} == {name: p.shape for name, p in without.named_parameters()}
        own = [row for row in rows if row.arguments["blocks"] == blocks]
        assert len({free_parameters(row.model(**row.arguments)) for row in own}) == 1 and len(own) == 2
        assert all(row.settings == depth.SETTINGS and row.candidates == depth.RATES for row in own)


def test_the_recipe_watches_the_loss_fall(tmp_path):
    g = torch.Generator().manual_seed(0)
    train, valid = (toy_agreement.to_ids(toy_agreement.texts(num, g)) for num in (320, 50))
    few = Parts(train, valid, valid, {})
    row = next(row for row in depth.RUNS["residual-depth"].rows if row.label == "LN(x + f(x)): 1")
    settings = {**row.settings, "updates": 2 * depth.WATCHED, "warmup": 5, "seeds": 2, "lr": 0.01}
    trained = row.recipe(Job(few, 0, torch.device("cpu"), tmp_path), row, settings, "few")
    assert len(trained.model) == len(trained.curve) == 2 and trained.curve[0] != trained.curve[1]
    assert all(len(one) == 2 and one[1] < one[0] - 0.5 for one in trained.curve)
    torch.manual_seed(0)
    before = depth.nats_of_seeds(depth.Repeats([row.model(**row.arguments)]), few.valid)
    after = depth.nats_of_seeds(trained.model, few.valid)
    assert after["mean"] < before["mean"] - 10 and len(after["seeds"]) == 2 and after["over"] == 50
