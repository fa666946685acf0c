r"""The receptive field and the blind spot of a pixel in a masked convolutional network.

`field` computes the receptive field by `ImageModel.receptive_field`. Pixels, rows and columns are counted from 0 here,
from 1 in the figure. A value is one color of one pixel.
"""

from __future__ import annotations

import torch
import traitlets
from jaxtyping import Bool
from torch import Tensor

from course_lib.explorables.base import Explorable, OneOf, Whole, script, style
from course_lib.pixels import GatedPixelCNN, ImageModel, PixelCNN

SIDE, DEEPEST, EVER = 11, 14, 2 * 11                                 # side in pixels, largest depth; more layers than
                                                                     # EVER do not enlarge the receptive field
KINDS = {"pixelcnn": PixelCNN, "gated": GatedPixelCNN}
# characters of `ReceptiveField.text` for `kinds`
MARKS = {"self": "@", "reads": "#", "not yet": "o", "never": "x", "later": ".", "leak": "!"}


class _ShowsItself:
    """Mixin that uses mask B in every layer, also in the first, so that a pixel depends on itself."""

    def field_of(self, seen, layer, kind):
        return super().field_of(seen, layer, "B")


class _OpenPixelCNN(_ShowsItself, PixelCNN):
    pass


class _OpenGated(_ShowsItself, GatedPixelCNN):
    pass


def network(kind: str, first: int, kernel: int, depth: int, colors: int, mask: str) -> ImageModel:
    """Return an untrained network for images of SIDE x SIDE pixels.

    kind  "pixelcnn" or "gated"; the other arguments are described in `ReceptiveField`
    """
    classes = KINDS if mask == "A" else {"pixelcnn": _OpenPixelCNN, "gated": _OpenGated}
    return classes[kind]((colors, SIDE, SIDE), 2 * colors, depth, first, kernel)


def field(kind: str, first: int, kernel: int, depth: int, colors: int, mask: str, variable: int) -> Bool[Tensor, " n"]:
    """Return True for each value on which the factor of the value with index `variable` depends.

    Index c SIDE^2 + p is color c of pixel p. `kind` is "pixelcnn" or "gated"; the other arguments are described in
    `ReceptiveField`.
    """
    return network(kind, first, kernel, depth, colors, mask).receptive_field[variable]


class ReceptiveField(Explorable):
    """Interactive figure of the receptive field of a pixel for given masks, kernels, depth and colors.

    network  "pixelcnn", with one stack of layers, or "gated", with two
    first    size of the first kernel: 3, 5 or 7
    kernel   size of the other kernels: 3 or 5
    depth    number of blocks after the first layer of PixelCNN, or of all layers of the gated network; 1 to 14
    colors   1 or 3; with 3 every layer has a group of channels per color
    mask     mask of the first layer: "A", or "B", which is an error
    pixel    index of the selected pixel, from 0, row by row
    color    index of the selected color, from 0

    Raises ValueError for values other than these.

    >>> print(ReceptiveField().text().splitlines()[-1])
    Reads 66 of the 81 pixels before it. 15 are in the blind spot: no depth reaches them.
    """

    _esm = script("receptive_field")
    _css = style("receptive_field")
    alt = traitlets.Unicode("The receptive field of a pixel under masked convolutions").tag(sync=True)
    side = traitlets.Int(SIDE).tag(sync=True)
    network = OneOf("pixelcnn", KINDS).tag(sync=True)
    first = OneOf(3, (3, 5, 7)).tag(sync=True)
    kernel = OneOf(3, (3, 5)).tag(sync=True)
    depth = Whole(10, 1, DEEPEST).tag(sync=True)
    colors = OneOf(1, (1, 3)).tag(sync=True)
    mask = OneOf("A", ("A", "B")).tag(sync=True)
    pixel = Whole(7 * SIDE + 4, 0, SIDE * SIDE - 1).tag(sync=True)
    color = Whole(0, 0, 2).tag(sync=True)

    @property
    def kinds(self) -> list[str]:
        """The relation of each value to the selected value, as a string, color by color and row by row.

        "self"     the selected value
        "reads"    in the receptive field
        "not yet"  in the receptive field of a deeper network
        "never"    before the selected value, but in the blind spot
        "later"    after the selected value in the order
        "leak"     in the receptive field, although not before the selected value
        """
        settings = self.network, self.first, self.kernel
        area, color = SIDE * SIDE, min(self.color, self.colors - 1)
        chosen = color * area + self.pixel
        now = field(*settings, self.depth, self.colors, self.mask, chosen)
        ever = field(*settings, EVER, self.colors, self.mask, chosen)
        place = {int(i): k for k, i in enumerate(torch.arange(self.colors * area).view(self.colors, area).T.flatten())}
        found = []
        for i in range(self.colors * area):
            before = place[i] < place[chosen]
            found.append("leak" if now[i] and not before else "self" if i == chosen else "later" if not before
                         else "reads" if now[i] else "not yet" if ever[i] else "never")
        return found

    @property
    def summary(self) -> str:
        """Sentences that count the values in the receptive field and in the blind spot, and name a leak."""
        kinds, things = self.kinds, "pixels" if self.colors == 1 else "values"
        count = {kind: kinds.count(kind) for kind in MARKS}
        before = count["reads"] + count["not yet"] + count["never"]
        parts = [f"Reads {count['reads']} of the {before} {things} before it."]
        if count["not yet"]:
            parts.append(f"{count['not yet']} more would be read with more layers.")
        parts.append(f"{count['never']} {'is' if count['never'] == 1 else 'are'} in the blind spot: no depth reaches "
                     f"{'it' if count['never'] == 1 else 'them'}." if count["never"] else "There is no blind spot.")
        if count["leak"]:
            parts.append("A leak: it reads what it has to predict.")
        return " ".join(parts)

    def text(self) -> str:
        kinds, area = self.kinds, SIDE * SIDE
        name = {"pixelcnn": "PixelCNN", "gated": "gated PixelCNN"}[self.network]
        shown = kinds[min(self.color, self.colors - 1) * area:][:area]          # the selected color
        lines = [f"Interactive figure: what one pixel of a {name} sees. First kernel {self.first} x {self.first}, "
                 f"mask {self.mask}; then {self.kernel} x {self.kernel}, depth {self.depth}. "
                 "@ the pixel, # read, o with more layers, x never, . comes later."]
        lines += ["".join(MARKS[kind] for kind in shown[r * SIDE:(r + 1) * SIDE]) for r in range(SIDE)]
        return "\n".join([*lines, self.summary])
