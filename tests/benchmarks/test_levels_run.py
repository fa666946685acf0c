"""Levels as a softmax, as bells and as a spread density: the patches, the figures, and what chapter 05 says of the records."""
from __future__ import annotations

import math

import pytest
import torch
from sklearn.datasets import load_sample_image
from torch import nn

from benchmarks import store
from benchmarks.reproduce import levels
from benchmarks.reproduce.recipes import Job, Repeats
from course_lib import records
from course_lib.conditional import Categorical
from course_lib.data import load_data


class Slope(nn.Module):
    """log p(x) = -factor * sum(x), of whole numbers or of what lies between them."""

    def __init__(self, factor: float, spread: bool = False):
        super().__init__()
        self.factor, self.spread = factor, spread

    def log_prob(self, x):
        return -self.factor * (levels.spread(x) if self.spread else x.double()).sum(dim=1)


def test_patches_are_those_of_the_photograph_and_the_parts_do_not_overlap():
    green, splits = load_sample_image("flower.jpg")[..., 1], levels.draw()
    order = torch.randperm(106 * 160, generator=torch.Generator().manual_seed(0))
    for part, start, num in ((splits.train, 0, 1500), (splits.valid, 2000, 1000), (splits.test, 3000, 1000)):
        assert part.shape == (num, 16) and part.dtype == torch.uint8
        row, column = divmod(order[start + 7].item(), 160)
        want = green[4 * row:4 * row + 4, 4 * column:4 * column + 4].reshape(-1)
        assert part[7].tolist() == want.tolist()


def test_bits_are_nats_of_a_pixel_over_ln_2_on_both_parts():
    part = torch.full((40, 16), 3, dtype=torch.uint8)
    got = levels.bits_a_pixel(Repeats([Slope(math.log(2)), Slope(2 * math.log(2))]), part)
    assert got["seeds"] == [3, 6] and got["mean"] == 4.5 and got["over"] == 40
    mean = levels.draw().train.double().mean().item()
    assert got["trained"] == pytest.approx([mean, 2 * mean], abs=1e-3)


def test_draws_are_averaged_inside_the_logarithm():
    """Of p = e^-x on one variable, the area of the step at v is e^-v (1 - 1/e)."""
    part, area = torch.full((400, 1), 2.0), math.exp(-2) * (1 - math.exp(-1))
    one, many = (levels.nats_of_draws(Repeats([Slope(1.0, True)]), part, draws) for draws in (1, 2000))
    assert many["mean"] == pytest.approx(-math.log(area), abs=0.01) and many["over"] == 400
    assert one["mean"] == pytest.approx(2.5, abs=0.1) and one["mean"] > many["mean"]


def test_every_model_has_the_same_width_and_a_softmax_the_levels_that_there_are():
    for run in levels.RUNS.values():
        for row in run.rows:
            model = row.model(**row.arguments)
            nade = model.density if isinstance(model, levels.SpreadNADE) else model
            assert nade.hidden == levels.WIDTH
            if isinstance(nade.conditional, Categorical):
                assert nade.conditional.config["k"] == (17 if run.data == "digits" else 256)


@pytest.mark.slow
def test_the_recipe_in_small_beats_histograms(tmp_path):
    splits, run = load_data("digits", **levels.GREY), levels.RUNS["levels-digits"]
    job = Job(splits, 0, torch.device("cpu"), tmp_path)
    bells, spread, more = (next(row for row in run.rows if row.label == label)
                           for label in ("discretised logistics", levels.DENSITY, "RNADE, 16 draws"))
    trained = bells.recipe(job, bells, {**bells.settings, "lr": 0.02, "epochs": 4, "seeds": 1}, "bells").model
    family = Categorical(17)
    alone = -family(family.marginal(splits.train)).log_prob(splits.test).sum(dim=1).mean().item()
    assert bells.measure(trained, splits.test)["mean"] < alone - 5
    job.models[levels.DENSITY] = spread.recipe(job, spread, {**spread.settings, "lr": 0.01, "epochs": 1, "seeds": 1}, "spread").model
    assert more.recipe(job, more, {}, "more").model is job.models[levels.DENSITY]
    one, many = (row.measure(job.models[levels.DENSITY], splits.test)["mean"] for row in (spread, more))
    assert many < one


def test_what_chapter_05_says_of_the_digits_holds_for_every_seed():
    softmax, bells, one, many = (row["test"]["seeds"] for row in records.read("levels-digits")["rows"])
    assert {len(each) for each in (softmax, bells, one, many)} == {3}
    assert max(bells) + 5 < min(softmax), "some six nats ahead"
    assert max(softmax) < min(one) < min(softmax) + 1.5, "with one draw a little above the softmax"
    assert max(many) < min(softmax) < min(many) + 2.5, "with sixteen a little below"
    assert max(bells) < min(many), "the logistics ahead of both"


def test_what_chapter_05_says_of_the_patches_holds_for_every_seed():
    softmax, bells = (row["test"] for row in records.read("levels-patches")["rows"])
    assert len(softmax["seeds"]) == len(bells["seeds"]) == 3
    assert max(softmax["trained"]) + 0.4 < min(bells["trained"]), "far ahead on patches that it has seen"
    assert max(bells["seeds"]) + 0.4 < min(softmax["seeds"]), "behind on new ones"
    assert max(new - old for new, old in zip(bells["seeds"], bells["trained"])) < 0.1, "next to no gap"
    assert min(new - old for new, old in zip(softmax["seeds"], softmax["trained"])) > 1


def test_chapter_05_trains_at_the_rates_that_were_chosen():
    chosen = [(name, row["model"], row["settings"].get("lr"), row["settings"].get("epochs"))
              for name in levels.RUNS for row in store.read()[name]["rows"] if row["settings"]]
    assert chosen == [("levels-digits", "softmax", 0.01, 12), ("levels-digits", "discretised logistics", 0.02, 12),
                      ("levels-digits", levels.DENSITY, 0.5 / levels.WIDTH, 12),
                      ("levels-patches", "softmax", 2 / levels.WIDTH, 6),
                      ("levels-patches", "discretised logistics", 0.02, 10)]
