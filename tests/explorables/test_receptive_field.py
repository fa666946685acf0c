"""The figure of the receptive field: its words, its kinds of pixels against what weights react to, bad input."""
from __future__ import annotations

import json

import pytest
import torch

from course_lib.contract.probes import flips
from course_lib.explorables import ReceptiveField
from course_lib.explorables.receptive_field import MARKS, SIDE, field, network
from course_lib.pixels import GatedPixelCNN, PixelCNN, kernel_mask


@pytest.mark.parametrize("kind", [PixelCNN, GatedPixelCNN], ids=lambda k: k.__name__)
@pytest.mark.parametrize("mask", ["A", "B"])
def test_the_sets_are_what_weights_react_to(kind, mask, monkeypatch):
    """On a 3 x 4 x 4 world: every factor's probabilities move for exactly the values in its set, by flipping them."""
    monkeypatch.setattr("course_lib.explorables.receptive_field.SIDE", 4)
    name = "pixelcnn" if kind is PixelCNN else "gated"
    model, found = kind((3, 4, 4), 12, 2, first=3).double().eval(), torch.zeros(48, 48, dtype=torch.bool)
    if mask == "B" and name == "pixelcnn":
        model.first.mask.copy_(kernel_mask(3, "B", 12, 3, 3)[:, :, :2])
    elif mask == "B":
        model.layers[0].horizontal.mask.copy_(kernel_mask(3, "B", 12, 3, 3).repeat(2, 1, 1, 1)[:, :, 1:2])
    generator = torch.Generator().manual_seed(0)
    for _ in range(4):
        model.randomize(generator)
        x = torch.randint(0, 2, (12, 48), generator=generator).double()
        found |= flips(model, x, None, generator) > 1e-12
    want = torch.stack([field(name, 3, 3, 2, 3, mask, i) for i in range(48)])
    assert torch.equal(found, want), (found ^ want).nonzero()[:5].tolist()


def test_the_blind_spot_is_what_the_chapter_says():
    """Two columns to the right in the row above, and a wedge from there; the gated network reads it."""
    w = ReceptiveField()
    rows = w.text().splitlines()[1:1 + SIDE]
    assert rows[6] == "######xxxxx" and rows[7] == "####@......" and rows[2] == "##########x"
    assert w.kinds.count("never") == 5 + 4 + 3 + 2 + 1 and "not yet" not in w.kinds
    w.network = "gated"
    assert "never" not in w.kinds and "There is no blind spot." in w.text()


def test_what_is_not_read_yet_is_told_from_what_never_will_be():
    w = ReceptiveField(depth=2)
    assert w.kinds.count("never") == 15 and w.kinds.count("not yet") > 0
    assert "would be read with more layers" in w.summary
    two = ReceptiveField(network="gated", depth=2)
    assert "never" not in two.kinds and two.kinds.count("not yet") > 0


def test_mask_b_in_the_first_layer_is_a_leak_and_colours_read_each_other_in_order():
    assert "A leak" in ReceptiveField(mask="B").summary and "A leak" not in ReceptiveField().summary
    area, here = SIDE * SIDE, ReceptiveField().pixel
    own_pixel = ["self", "later", "later"], ["reads", "self", "later"], ["reads", "reads", "self"]
    for color, own in enumerate(own_pixel):
        for kind in ("pixelcnn", "gated"):
            kinds = ReceptiveField(network=kind, colors=3, color=color).kinds
            assert [kinds[c * area + here] for c in range(3)] == own
    assert set(ReceptiveField(mask="B").kinds) <= set(MARKS)


def test_the_networks_are_those_of_the_library_under_mask_a():
    for name, kind in (("pixelcnn", PixelCNN), ("gated", GatedPixelCNN)):
        model = network(name, 5, 3, 2, 1, "A")
        assert type(model) is kind and model.config["depth"] == 2 and model.config["first"] == 5


def test_what_is_stored_is_small_and_has_words():
    w = ReceptiveField()
    assert repr(w) == "ReceptiveField()" and len(json.dumps(w.get_state()).encode()) <= 40_000
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()


@pytest.mark.parametrize("make, message", [
    (lambda: ReceptiveField(network="rnn"), "network is 'rnn'; expected one of 'pixelcnn', 'gated'"),
    (lambda: ReceptiveField(first=4), "first is 4; expected one of 3, 5, 7"),
    (lambda: ReceptiveField(kernel=7), "kernel is 7; expected one of 3, 5"),
    (lambda: ReceptiveField(colors=2), "colors is 2; expected one of 1, 3"),
    (lambda: ReceptiveField(mask="C"), "mask is 'C'; expected one of 'A', 'B'"),
    (lambda: ReceptiveField(depth=0), "depth is 0; expected 1 to 14"),
    (lambda: ReceptiveField(pixel=121), "pixel is 121; expected 0 to 120"),
    (lambda: ReceptiveField(color=3), "color is 3; expected 0 to 2"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
