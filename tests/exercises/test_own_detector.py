"""`OwnDetector` asks for what a likelihood alone cannot do, and its p-values keep what the chapter promises."""
from __future__ import annotations

import pytest
import torch

from course_lib.exercises.likelihood.anomaly_scores import digits
from course_lib.exercises.likelihood.own_detector import (
    CALIBRATION,
    LEVELS,
    P_VALUES,
    SCORE,
    Asked,
    named,
    own_detector,
)
from course_lib.grading import EXERCISES, evaluate
from course_lib.grading.protocol.models import ModelServer
from course_lib.pixels import auc, rank_p_values

SEEDS = range(3)


def asked(bugs: set[str], seed: int) -> Asked:
    return Asked(ModelServer(own_detector(frozenset(bugs))), torch.Generator().manual_seed(seed))


def areas(detector: Asked, method: str, sign: float = 1.0) -> dict[str, float]:
    clean = sign * detector.values(method, detector.new)
    return {name: auc(clean, sign * detector.values(method, x)) for name, x in detector.kinds(detector.new).items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_likelihood_alone_is_turned_round_on_one_kind_and_typicality_is_not(seed):
    detector = asked(set(), seed)
    alone, typical = areas(detector, "log_prob", -1.0), areas(detector, "score")
    assert alone["washed out"] < 0.05 and min(alone["ink moved"], alone["out of place"]) > SCORE
    assert min(typical.values()) > SCORE + 0.03


@pytest.mark.parametrize("seed", SEEDS)
def test_pixels_alone_do_not_see_moved_ink(seed):
    assert areas(asked({"pixels_alone"}, seed), "score")["ink moved"] < 0.65


@pytest.mark.parametrize("seed", SEEDS)
def test_the_p_values_are_the_librarys_and_never_below_one_in_n_plus_one(seed):
    detector = asked(set(), seed)
    detector.run("calibrate", detector.number, None, detector.calibration)
    p, s, c = (detector.values(*each) for each in (("p_values", detector.new), ("score", detector.new), ("score", detector.calibration)))
    torch.testing.assert_close(p, rank_p_values(-s, -c).double())    # the library's are small for low scores
    assert p.min() >= 1 / (CALIBRATION + 1) - 1e-9
    far = detector.values("p_values", torch.full((1, 64), LEVELS - 1))
    assert float(far) == pytest.approx(1 / (CALIBRATION + 1))


def shares(bugs: set[str], seeds: range) -> list[float]:
    """How many of all clean images have a p-value of at most 0.1, 0.3, 0.5, over many splits."""
    found = []
    for seed in seeds:
        detector = asked(bugs, seed)
        detector.run("calibrate", detector.number, None, detector.calibration)
        found.append(detector.values("p_values", detector.new))
    return [float((torch.cat(found) <= share).double().mean()) for share in (0.1, 0.3, 0.5)]


def test_p_values_of_clean_images_are_even_and_among_the_training_images_they_are_not():
    assert shares(set(), range(60)) == pytest.approx([0.1, 0.3, 0.5], abs=0.015)
    assert shares({"on_training", "likelihood_alone"}, range(10))[2] > 0.53


def test_each_way_to_a_p_value_is_another_one():
    generator = torch.Generator().manual_seed(0)
    s, c, t = (torch.randint(40, (n,), generator=generator).double() for n in (30, 25, 50))
    ways = {name: [of(s, c, t)] for name, of in P_VALUES.items()}
    for name, p in ways.items():
        assert named(p, ways) == (None if name == "right" else name)
    assert named([torch.rand(30, generator=generator).double()], ways) is None


def test_the_three_sets_have_no_image_in_common_by_place():
    detector = asked(set(), 5)
    assert [len(part) for part in (detector.train, detector.calibration, detector.new)] == [900, CALIBRATION, 547]
    assert sorted(torch.cat([detector.train, detector.calibration, detector.new]).tolist()) == sorted(digits().tolist())


@pytest.mark.parametrize("bug, earned", [("minus_log", 0), ("of_the_batch", 2), ("refits", 2), ("ties_left_out", 6),
                                         ("likelihood_alone", 9), ("turned_score", 9)])
@pytest.mark.thorough
def test_a_part_that_is_right_keeps_its_points(bug, earned):
    report = evaluate("OwnDetector", own_detector(frozenset({bug})), 1)
    assert (report.earned, report.possible, report.misconception) == (earned, 13, bug)
    assert report.message == EXERCISES["OwnDetector"].misconceptions[bug]


def test_a_score_of_another_shape_or_kind_is_told():
    class Short(own_detector(frozenset())):
        def score(self, x):
            return super().score(x)[:-1]

    class Holes(own_detector(frozenset())):
        def score(self, x):
            return super().score(x).log() * torch.nan

    assert "score returned shape (546,); expected a tensor (547,)" in evaluate("OwnDetector", Short, 0).message
    assert "that score returns are NaN or infinite" in evaluate("OwnDetector", Holes, 0).message
