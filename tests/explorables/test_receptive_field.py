"""The figure of the receptive field: its kinds of pixels against what weights react to, bad input."""
from __future__ import annotations

import itertools

import pytest
import torch

from course_lib.contract.probes import flips
from course_lib.explorables import ReceptiveField
from course_lib.explorables.receptive_field import DEEPEST, SIDE, field, network
from course_lib.pixels import GatedPixelCNN, PixelCNN, kernel_mask
from tests.explorables.figure import Figure, choose, click, fill, keys, pressed


@pytest.mark.parametrize("kind", [PixelCNN, GatedPixelCNN], ids=lambda k: k.__name__)
@pytest.mark.parametrize("mask", ["A", "B"])
def test_field_equals_flips(kind, mask, monkeypatch):
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


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_networks(modules):
    """Every pixel and color, all kinds, kernels, masks, several depths: the whole matrix of who depends on whom."""
    for kind, first, kernel, depth, colors, mask in itertools.chain(
            itertools.product(("pixelcnn", "gated"), (3, 5, 7), (3, 5), (1, 3, DEEPEST), (1,), "AB"),
            itertools.product(("pixelcnn", "gated"), (3, 7), (3,), (2,), (3,), "AB")):
        settings = {"network": kind, "first": first, "kernel": kernel, "depth": depth, "colors": colors, "mask": mask}
        got = modules.evaluate("""async ([s, side]) => {
          const { field } = await import("./receptive_field.js"), out = [];
          for (let color = 0; color < s.colors; color++) {
            for (let i = 0; i < side * side; i++) out.push(field(s, side, i, color).flat().map(v => v ? "1" : "0").join(""));
          }
          return out;
        }""", [settings, SIDE])
        want = network(kind, first, kernel, depth, colors, mask).receptive_field
        assert got == ["".join("01"[v] for v in row) for row in want.int().tolist()], settings


def agrees(page, w) -> None:
    kinds = page.locator(".cl-rf-grid button").evaluate_all("all => all.map(e => e.dataset.kinds.split(','))")
    assert [kind for plane in zip(*kinds) for kind in plane] == w.kinds
    assert pressed(page, ".cl-rf-grid button") == [w.pixel] and page.locator(".cl-live").text_content().endswith(w.summary)
    assert page.get_by_role("combobox", name="Predicted").is_visible() == (w.colors == 3)


BAD = [
    ({"network": "rnn"}, "network is 'rnn'; expected one of 'pixelcnn', 'gated'"),
    ({"first": 4}, "first is 4; expected one of 3, 5, 7"),
    ({"kernel": 7}, "kernel is 7; expected one of 3, 5"),
    ({"colors": 2}, "colors is 2; expected one of 1, 3"),
    ({"mask": "C"}, "mask is 'C'; expected one of 'A', 'B'"),
    ({"depth": 0}, "depth is 0; expected 1 to 14"),
    ({"pixel": 121}, "pixel is 121; expected 0 to 120"),
    ({"color": 3}, "color is 3; expected 0 to 2"),
]
FIGURE = Figure(ReceptiveField, agrees, bad=BAD, change={"network": "gated"},
                rich={"colors": 3, "color": 1, "depth": 2, "mask": "B"}, height=600,
                says=("######xxxxx", "15 are in the blind spot"), moves=[
    (keys("Tab", "ArrowLeft", at="Network"), {"depth": 9}),
    (keys("Tab", "ArrowUp", "ArrowRight", "ArrowRight"), {}),
    (keys("Enter"), {"pixel": 6 * SIDE + 6}),
    (click(".cl-rf-grid button >> nth=30"), {"pixel": 30}),
    (fill("[type=range]", 2), {"depth": 2}),
    (choose("Network", "gated"), {"network": "gated"}),
    (choose("First kernel", 7), {"first": 7}),
    (choose("Other kernels", 5), {"kernel": 5}),
    (choose("Colours", 3), {"colors": 3, "color": 2}),
    (choose("Predicted", 1), {"color": 1}),
    (choose("its mask", "B"), {"mask": "B"}),
    (choose("Colours", 1), {"colors": 1, "color": 0}),
])
