"""Colours of small images: what each network sees, how bits are counted, and what chapter 8 says of the record."""
from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical

from benchmarks import store
from benchmarks.reproduce import colours
from benchmarks.reproduce.recipes import Repeats, free_parameters
from course_lib import hub, records
from course_lib.contract import ContractError, check_causal
from course_lib.training import evaluate

SIDE, PIXELS = colours.SIDE, colours.SIDE ** 2
SIZE = {"width": 24, "depth": 1, "first": 3}
MAKE = {"network": lambda sees: colours.network(sees, **SIZE), "linear": colours.linear}


@pytest.fixture(scope="module")
def images():
    g = torch.Generator().manual_seed(0)
    return torch.randint(256, (40, 3 * PIXELS), generator=g, dtype=torch.uint8)


@torch.no_grad()
def readers(model, place, x):
    """Which (colour, pixel) have another distribution when the colours of the pixel `place` change, for each colour."""
    found = []
    for colour in range(3):
        other = x.clone()
        other[:, colour * PIXELS + place] = 255 - other[:, colour * PIXELS + place]
        raw, changed = (model.raw(model.image(each), None).view(len(x), 3, -1, PIXELS) for each in (x, other))
        found.append({(c, p) for c, p in (raw != changed).any(dim=(0, 2)).nonzero().tolist()})
    return found


@pytest.mark.parametrize("kind", MAKE)
def test_who_reads_which_colour(kind, images):
    """By changing one value at a time, at a pixel in the middle: in no case what comes before it, or itself."""
    place, later = 27, {28, 34, 35, 36}                              # its four neighbours that come after it
    for sees in colours.SEES:
        torch.manual_seed(0)
        for colour, found in enumerate(readers(MAKE[kind](sees), place, images[:4])):
            assert {p for c, p in found} <= set(range(place, PIXELS)) and (colour, place) not in found
            own = {c for c, p in found if p == place}                # of the same pixel
            assert own == (set(range(colour + 1, 3)) if sees == "all" else set())
            near = {(c, p) for c in range(3) if sees != "own" or c == colour for p in later}
            assert near <= found and (sees != "own" or {c for c, _ in found} == {colour})


def test_whole_networks_pass_the_contract_and_the_blinded_ones_miss_what_they_should():
    class Small(colours.Linear):
        def __init__(self):
            super().__init__((3, 2, 2), colours.DiscretizedLogisticMixture(1, 4))

    assert str(check_causal(Small())) == "causal"
    for sees in ("own", "before"):
        with pytest.raises(ContractError, match=r"factor \d+ never reads x_\d+, which is one of its parents"):
            check_causal(colours.blinded(Small(), sees))
    with pytest.raises(ValueError, match="sees is 'red'; expected one of 'own', 'before', 'all'"):
        colours.linear("red")


def test_weights_that_no_colour_reads_are_not_counted():
    counted = {sees: free_parameters(colours.network(sees, **SIZE)) for sees in colours.SEES}
    assert counted["own"] < counted["before"] < counted["all"]
    assert counted["all"] - counted["before"] == 3 * 8               # eight channels a colour: G reads R; B reads R and G


def test_a_histogram_is_its_counts(images):
    model = colours.Histogram().double().fit_counts(images, alpha=0.5)
    planes = images.view(40, 3, PIXELS).transpose(0, 1).flatten(1)
    want = torch.zeros(40, dtype=torch.float64)
    for c in range(3):
        counts = torch.tensor([(planes[c] == level).sum() + 0.5 for level in range(256)], dtype=torch.float64)
        want += Categorical(counts).log_prob(images.view(40, 3, PIXELS)[:, c].long()).sum(dim=1)
    torch.testing.assert_close(model.log_prob(images), want)
    assert free_parameters(model) == 768


def test_bits_per_dimension(images):
    torch.manual_seed(0)
    models = Repeats([colours.linear("all"), colours.linear("all")])
    got = colours.bits(models, images)
    want = [evaluate(model, images)[0] / 192 / math.log(2) for model in models]
    assert got["seeds"] == pytest.approx(want, abs=2e-4) and got["mean"] == pytest.approx(sum(want) / 2, abs=2e-4)
    assert colours.bits(models[0], images)["mean"] == pytest.approx(want[0], abs=2e-4) and got["over"] == 40
    assert got["standard_error"] == pytest.approx(evaluate(models[0], images)[1] / 192 / math.log(2), abs=2e-4)


def test_what_chapter_8_says_of_the_record_holds_for_every_seed():
    rows = {row["model"]: row for row in records.read("colours-cifar10")["rows"]}
    line, alone, earlier, groups, chain = (rows[name]["test"]["seeds"] for name in (
        "linear, colours in order", "PixelCNN, each colour alone", "PixelCNN, colours of earlier pixels",
        "PixelCNN, colours in order", "PixelCNN, a chain of colours"))
    assert all(len(each) == 3 for each in (line, alone, earlier, groups, chain))
    assert all(0 < a - b < 0.1 for a, b in zip(alone, earlier)), "less than a tenth"
    assert all(0.95 < a - b < 1.1 for a, b in zip(earlier, groups)), "a whole bit"
    assert max(line) < min(earlier + alone) - 0.5 and rows["linear, colours in order"]["parameters"] == 126
    assert max(chain) < min(groups), "a little better under each seed"
    counted = [rows[f"PixelCNN, {name}"]["parameters"] for name in ("each colour alone", "colours in order", "a chain of colours")]
    assert 2 * counted[0] < counted[1] < counted[2]
    stored = [row for row in store.read()["colours-cifar10"]["rows"] if row["recipe"] == "by_seeds" and "PixelCNN" in row["model"]]
    assert len(stored) == 4 and all(row["best_epoch"] == row["epochs"] == 8 for row in stored)


@torch.no_grad()
def test_colours_of_the_stored_draws_go_together_and_those_of_other_draws_do_not():
    """What the chapter's picture shows: how red, green and blue differ within a pixel, in the draws and put together anew."""
    drawn = hub.load("pixelcnn-cifar10-small").sample(10, generator=torch.Generator().manual_seed(0)).view(10, 3, 8, 8)
    apart = torch.stack([drawn[:, c].roll(c, dims=0) for c in range(3)], dim=1)
    spread, mixed = (x.double().std(dim=1).mean() for x in (drawn, apart))
    assert mixed > 2 * spread
