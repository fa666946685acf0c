"""A model of clothes, asked about digits: how images are made small, what is measured, and what chapter 9 says of it."""
from __future__ import annotations

import math
import zlib

import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import nn

from benchmarks.reproduce import clothes
from benchmarks.reproduce.recipes import free_parameters
from course_lib import records


def test_small_images_are_means_of_four_pixels_in_sixteen_levels():
    x = torch.randint(256, (3, 784), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    x[2] = 255
    small = clothes.halved(x)
    want = F.avg_pool2d(x.double().view(3, 1, 28, 28), 2).flatten(1).div(16).floor()
    assert torch.equal(small.double(), want) and small.dtype == torch.uint8 and set(small[2].tolist()) == {15}


def test_strangers_of_the_course_are_what_they_are_called():
    blank, noise = clothes.strangers("blank"), clothes.strangers("noise")
    assert blank.shape == (1, 196) and not blank.any()
    assert set(noise.unique().tolist()) == set(range(16)) and abs(noise.double().mean().item() - 7.5) < 0.05


class Brightness(nn.Module):
    """A score that is easily known: log p is minus the sum of the levels, times a number."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def log_prob(self, x):
        return -self.factor * x.double().sum(dim=1)


def test_strangeness_is_scikit_learns_auc_of_three_scores_for_each_seed():
    g = torch.Generator().manual_seed(0)
    own, images, reference = (torch.randint(high, (40, 9), generator=g, dtype=torch.uint8) for high in (16, 9, 16))
    got = clothes.strangeness(clothes.Asked(nn.ModuleList([Brightness(1.0), Brightness(0.5)]), images, reference), own)
    truth = [0] * 40 + [1] * 40

    def bits(row):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        return 8 * len(deflate.compress(bytes(row)) + deflate.flush())

    for seed, factor in enumerate((1.0, 0.5)):
        nats = [factor * sum(row) for row in (*own.tolist(), *images.tolist())]
        mean = factor * sum(map(sum, reference.tolist())) / 40
        short = [v / math.log(2) - bits(row) for v, row in zip(nats, (*own.tolist(), *images.tolist()))]
        for name, scores in (("likelihood", nats), ("typicality", [abs(v - mean) for v in nats]), ("complexity", short)):
            assert got["auc"][name][seed] == pytest.approx(roc_auc_score(truth, scores), abs=1e-4), name
        assert got["seeds"][seed] == pytest.approx(sum(nats[40:]) / 40, abs=1e-3)
    assert free_parameters(clothes.Asked([nn.Linear(3, 2)] * 3, images, reference)) == 8, "of one model"
    assert got["mean"] == pytest.approx(sum(got["seeds"]) / 2, abs=1e-3) and got["over"] == 40


@pytest.mark.data
def test_the_parts_do_not_overlap():
    splits = clothes.draw()
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [8000, 1000, 1000]
    assert splits.info["comparable_with_papers"] is False and splits.train.max() == 15
    digits, turned = clothes.strangers("digits"), clothes.strangers("upside down")
    assert torch.equal(turned.view(-1, 14, 14), digits.view(-1, 14, 14).flip(1, 2)) and len(digits) == 2000


def test_what_chapter_9_says_of_the_record_holds_for_every_seed():
    own, digits, turned, blank, noise = (row["test"] for row in records.read("clothes-and-digits")["rows"])
    for strangers in (digits, turned):
        assert max(strangers["seeds"]) < min(own["seeds"])
        assert all(value < 0.5 for name in ("likelihood", "typicality") for value in strangers["auc"][name])
        assert all(value > 0.9 for value in strangers["auc"]["complexity"])
    assert set(blank["auc"]["likelihood"]) == {0.0} and min(blank["auc"]["typicality"]) > 0.98
    assert all(set(each) == {1.0} for each in noise["auc"].values()) and len(own["seeds"]) == 3
