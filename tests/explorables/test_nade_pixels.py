"""NADE pixel by pixel: its numbers against the library's own passes, its weights against the model's, its words."""
from __future__ import annotations

import base64
import json
import math

import numpy as np
import pytest
import torch

from course_lib import hub
from course_lib.conditional import Categorical
from course_lib.data import load_data
from course_lib.density import FVSBN, NADE
from course_lib.explorables import NadePixels
from course_lib.explorables.draws import uniforms
from course_lib.explorables.nade_pixels import OPEN, halves, run

SPIRAL = [4, 8, 0, 5, 2, 7, 1, 3, 6]                                 # not its own inverse


def small(order=SPIRAL, seed=0):
    model = NADE(9, 5, order=order)
    model.randomize(torch.Generator().manual_seed(seed))
    return model


def test_a_finished_image_has_the_probabilities_and_the_likelihood_of_one_full_pass():
    w = NadePixels(steps=64, seed=3)
    model, shown = hub.load("nade-digits").double(), w.result
    x = shown.x[None]
    assert shown.known == 64 and 5 < x.sum() < 50
    torch.testing.assert_close(shown.p, model.conditionals(x).probs[0].detach(), rtol=0, atol=1e-9)
    assert shown.log_prob == pytest.approx(model.log_prob(x).item(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_drawn_is_what_the_library_draws_from_the_same_uniforms(seed, monkeypatch):
    """The k-th variable drawn uses the k-th uniform, in an order that is not its own inverse, with pixels given."""
    model, given = small(seed=seed).double(), [OPEN] * 9
    given[4], given[1] = 1, 0
    monkeypatch.setattr("course_lib.autoregressive.uniforms", lambda num, n, *rest: torch.tensor(
        uniforms(seed, n), dtype=torch.float64).reshape(num, n, 1))
    known = torch.tensor([given]) != OPEN
    drawn = model.sample(1, given=torch.tensor([given]).clamp(min=0), known=known)[0]
    assert run(model, given, 9, seed).x.tolist() == drawn.long().tolist()


def test_a_step_draws_one_pixel_of_the_order_and_the_run_passes_over_given_ones():
    model, given = small(), [OPEN] * 9
    given[8] = 1                                                     # the second of the order
    for steps, known in ((0, 0), (1, 2), (2, 2), (3, 3), (9, 9)):
        shown = run(model, given, steps, 1)
        assert shown.known == known, steps
        assert {i for i in range(9) if shown.x[i] != OPEN} == {*SPIRAL[:known], 8}
        predicted = {i for i in range(9) if not math.isnan(shown.p[i])}
        assert predicted == set(SPIRAL[:known + 1]), "the next pixel's probability is known, those after it are not"


def test_samples_follow_the_model_and_completions_the_true_conditional_where_given_come_first():
    """Chi-square over the last two pixels of the order with the first seven given."""
    model, given = small().double(), [OPEN] * 9
    for i, value in zip(SPIRAL[:7], (1, 0, 1, 1, 0, 0, 1)):
        given[i] = value
    states = torch.tensor([[a, b] for a in (0, 1) for b in (0, 1)])
    x = torch.tensor(given).repeat(4, 1)
    x[:, SPIRAL[7:]] = states
    p = model.log_prob(x).exp().detach()
    p = p / p.sum()
    counts = torch.zeros(4)
    for seed in range(1, 401):
        drawn = run(model, given, 9, seed).x[SPIRAL[7:]]
        counts[2 * drawn[0] + drawn[1]] += 1
    assert ((counts - 400 * p) ** 2 / (400 * p)).sum() < 16.3        # 99.9 % of chi-square with 3 degrees


def test_whether_the_given_come_first_is_said():
    w = NadePixels(small())
    assert w.exact
    for given, exact in (({4}, True), ({4, 8}, True), ({8}, False), ({4, 0}, False), (set(range(9)), True)):
        w.given = [1 if i in given else OPEN for i in range(9)]
        assert w.exact is exact, given
        assert ("no draw from p(open | given)" in w.text()) is not exact


def test_the_weights_are_those_of_the_model_as_float32_and_fit_a_page():
    w, model = NadePixels(), hub.load("nade-digits")
    sent = np.frombuffer(base64.b64decode(w.weights), "<f4")
    want = torch.cat([p.detach().flatten() for p in (model.W, model.c, model.V, model.b)]).numpy()
    assert np.array_equal(sent, want) and w.hidden == 100
    assert len(json.dumps({k: v for k, v in w.get_state().items() if k not in ("_esm", "_css")}).encode()) <= 100_000


def test_an_eight_takes_an_n():
    assert halves(torch.zeros(1, 4), torch.tensor([8]))[0]["label"] == "the upper half of an 8"


def test_the_starts_are_halves_of_test_digits_and_say_which():
    starts, data = NadePixels().starts, load_data("digits")
    digits, classes = data.test, data.labels["test"][[2, 9]].tolist()
    assert 8 not in classes, "an eight takes an n before it"
    assert [s["label"] for s in starts] == [f"the {place} half of a {k}" for place in ("upper", "lower") for k in classes]
    given = torch.tensor([s["given"] for s in starts])
    assert (given[:2, 32:] == OPEN).all() and (given[2:, :32] == OPEN).all()
    assert torch.equal(torch.cat([given[:2, :32], given[2:, 32:]], 1), digits[[2, 9]].long())


def test_it_has_words_a_short_name_and_takes_state_from_the_page():
    w = NadePixels()
    assert repr(w) == "NadePixels()"
    w.set_state({"given": w.starts[0]["given"], "steps": 40, "seed": 2})
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"].splitlines()
    assert len(text) == 11 and all(set(line) <= set("#.?") for line in text[1:9]) and text[8] == "????????"
    assert text[9].startswith("pixels known in the order: 40 of 64, log-probability -")
    assert text[10].startswith("next: row 6, column 1, probability of ink 0.")
    assert w.seed == 2 and w.result.known == 40


@pytest.mark.parametrize("make, message", [
    (lambda: NadePixels(FVSBN(9)), "model is a FVSBN with .* needs a NADE with Bernoulli"),
    (lambda: NadePixels(NADE(9, 4, Categorical(3))), r"NADE with Categorical\(3\); the figure needs"),
    (lambda: NadePixels(NADE(8, 4)), "model has 8 variables; the figure needs a square image"),
    (lambda: NadePixels(NADE(64, 300)), "155,056 bytes of weights; a page carries at most 100,000"),
    (lambda: NadePixels(small(), given=[1, 0]), "given has 2 entries; this model has 9 pixels"),
    (lambda: NadePixels(small(), given=[2] * 9), "given holds 2; a pixel is 1"),
    (lambda: NadePixels(small(), steps=10), "steps is 10; the order has 9 steps"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
