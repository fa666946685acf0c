"""Answers to the exercises of chapter pixelcnn."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from tests.exercises.answers.register import right, wrong


@right("pixelcnn_mask: by the number of each entry")
def _(k, kind):
    place = torch.arange(k * k).view(k, k)
    centre = k * k // 2
    return ((place <= centre) if kind == "B" else (place < centre)).float()


@right("pixelcnn_mask: entry by entry, as a list")
def _(k, kind):
    c = k // 2
    return torch.tensor([[1.0 if (r, j) < (c, c) or (r, j) == (c, c) and kind == "B" else 0.0 for j in range(k)]
                         for r in range(k)])


@wrong("pixelcnn_mask: whole numbers", called=("not_floats", None))
def _(k, kind):
    place = torch.arange(k * k).view(k, k)
    return ((place <= k * k // 2) if kind == "B" else (place < k * k // 2)).int()


@wrong("pixelcnn_mask: everything")
def _(k, kind):
    return torch.ones(k, k)


@wrong("pixelcnn_mask: the lower triangle of the matrix", called="triangle")
def _(k, kind):
    return torch.ones(k, k).tril(0 if kind == "B" else -1)


def colors(n):
    return torch.arange(3).repeat_interleave(n // 3)


@right("pixelcnn_rgb_mask: blocks by hand")
def _(c_out, c_in, k, kind):
    mask, a, b = torch.zeros(c_out, c_in, k, k), c_out // 3, c_in // 3
    mask[:, :, :k // 2] = 1
    mask[:, :, k // 2, :k // 2] = 1
    for o in range(3):
        for i in range(o if kind == "A" else o + 1):
            mask[o * a:(o + 1) * a, i * b:(i + 1) * b, k // 2, k // 2] = 1
    return mask


@right("pixelcnn_rgb_mask: by repeated colours")
def by_colors(c_out, c_in, k, kind):
    out, into = colors(c_out), colors(c_in)
    flat = torch.ones(c_out, c_in, k * k)
    flat[:, :, k * k // 2:] = 0
    flat[:, :, k * k // 2] = (out[:, None] > into if kind == "A" else out[:, None] >= into).float()
    return flat.view(c_out, c_in, k, k)


@wrong("pixelcnn_rgb_mask: ones everywhere")
def _(c_out, c_in, k, kind):
    return torch.ones(c_out, c_in, k, k)


@wrong("pixelcnn_rgb_mask: every colour by itself")
def _(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    same = (colors(c_out)[:, None] == colors(c_in)).float()
    mask[:, :, :k // 2] = 1
    mask[:, :, k // 2, :k // 2] = 1
    mask[:, :, k // 2, k // 2] = same
    return mask


@wrong("pixelcnn_rgb_mask: the outputs cut as the inputs are", called="third_of_inputs")
def _(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k * k)
    mask[:, :, :k * k // 2] = 1
    for o in range(c_out):
        for i in range(c_in):
            own, other = o // (c_in // 3), i // (c_in // 3)
            mask[o, i, k * k // 2] = float(other < own or kind == "B" and other == own)
    return mask.view(c_out, c_in, k, k)


@right("find_color_leaks: four loops")
def _(mask, kind):
    c_out, c_in, k, _ = mask.shape
    found = []
    for o in range(c_out):
        for i in range(c_in):
            for r in range(k):
                for c in range(k):
                    here, centre = (r, c), (k // 2, k // 2)
                    later = 3 * i // c_in > 3 * o // c_out or kind == "A" and 3 * i // c_in == 3 * o // c_out
                    if mask[o, i, r, c] == 1 and (here > centre or here == centre and later):
                        found.append((o, i, r, c))
    return found


@right("find_color_leaks: the difference of two masks")
def _(mask, kind):
    return sorted(map(tuple, ((mask - by_colors(*mask.shape[:3], kind)) > 0).nonzero().tolist()))


@wrong("find_color_leaks: one width of blocks for both axes", called="blocks_of_the_output")
def _(mask, kind):
    c_out, _, k, _ = mask.shape
    width, centre = c_out // 3, (k // 2, k // 2)
    return [(o, i, r, c) for o, i, r, c in map(tuple, mask.nonzero().tolist())
            if (r, c) > centre or (r, c) == centre and (i // width > o // width or kind == "A" and i // width == o // width)]


@wrong("find_color_leaks: channels for colours")
def _(mask, kind):
    c_out, c_in, k, _ = mask.shape
    return [(o, i, r, c) for o, i, r, c in map(tuple, mask.nonzero().tolist())
            if (r, c) > (k // 2, k // 2) or (r, c) == (k // 2, k // 2) and (i > o or kind == "A" and i == o)]


@wrong("find_color_leaks: nothing found")
def _(mask, kind):
    return []


def walk(height, width, row, column, depth, kinds):
    seen = {(row, column)}
    for kind in kinds:
        taps = [(-1, -1), (-1, 0), (-1, 1), (0, -1)] + [(0, 0)] * (kind == "B")
        seen = {(r + a, c + b) for r, c in seen for a, b in taps if 0 <= r + a and 0 <= c + b < width}
    return [(r, c) for r in range(height) for c in range(width) if (r, c) < (row, column) and (r, c) not in seen]


@right("blind_spot: a walk from the pixel")
def _(height, width, row, column, depth):
    return walk(height, width, row, column, depth, "B" * depth + "A")


@right("blind_spot: forward from every pixel")
def _(height, width, row, column, depth):
    taps = [(1, 1), (1, 0), (1, -1), (0, 1)]
    missed = []
    for start in [(r, c) for r in range(height) for c in range(width)]:
        reached = {(start[0] + a, start[1] + b) for a, b in taps if 0 <= start[1] + b < width}
        for _ in range(depth):
            reached |= {(r + a, c + b) for r, c in reached for a, b in taps if 0 <= c + b < width}
        if start < (row, column) and (row, column) not in reached:
            missed.append(start)
    return missed


@wrong("blind_spot: mask A in every layer", called="always_a")
def _(height, width, row, column, depth):
    return walk(height, width, row, column, depth, "A" * (depth + 1))


@wrong("blind_spot: nothing is missed")
def _(height, width, row, column, depth):
    return []


@wrong("blind_spot: the pixel itself stands there too", called="itself")
def _(height, width, row, column, depth):
    return walk(height, width, row, column, depth, "B" * depth + "A") + [(row, column)]


@right("OwnPixelCNN: the places of a kernel counted, the loss of all rows at once")
class Masked(AutoregressiveModel):
    """What the answers share that is right."""

    def __init__(self, height, width, k, channels, depth):
        super().__init__(height * width)
        self.sides = height, width
        self.first, self.out = nn.Conv2d(1, channels, k), nn.Conv2d(channels, 1, 1)
        self.layers = nn.ModuleList([nn.Conv2d(channels, channels, 3) for _ in range(depth)])
        for name, size, kind in (("a", k, "A"), ("b", 3, "B")):
            places = torch.arange(size * size).view(size, size)
            self.register_buffer(name, (places < size * size // 2 + (kind == "B")).float())

    def layer(self, layer, mask, h):
        return F.conv2d(h, layer.weight * mask, layer.bias, padding=len(mask) // 2)

    def logits(self, x):
        h = self.layer(self.first, self.a, x.view(-1, 1, *self.sides))
        for layer in self.layers:
            h = h + self.layer(layer, self.b, torch.relu(h))
        return self.out(torch.relu(h)).flatten(1)

    def conditionals(self, x, context=None):
        return self.conditional(self.logits(x))

    @torch.no_grad()
    def complete(self, x, start, u):
        x = x.clone()
        for i in range(start, x.shape[1]):
            x[:, i] = (u[:, i] < torch.sigmoid(self.logits(x)[:, i])).float()
        return x

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        for _ in range(150):
            loss = F.binary_cross_entropy_with_logits(self.logits(x), x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@right("OwnPixelCNN: kernels without the rows below, images in batches")
class Cropped(Masked):
    def layer(self, layer, mask, h):
        k = len(mask)
        above = F.pad(h, (k // 2, k // 2, k // 2, 0))
        return F.conv2d(above, (layer.weight * mask)[:, :, :k // 2 + 1], layer.bias)

    def complete(self, x, start, u):
        return self.draw_all(1 - u[:, :, None], given=x, known=torch.arange(self.n).expand_as(x) < start)

    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=0.01)
        for _ in range(12):
            for rows in torch.randperm(len(x)).split(100):
                loss = -self.log_prob(x[rows]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()


@wrong("OwnPixelCNN: masks turned on their side")
class OnTheSide(Masked):
    def layer(self, layer, mask, h):
        return super().layer(layer, mask.T, h)


@wrong("OwnPixelCNN: a ReLU is added to")
class OfTheReLU(Masked):
    def logits(self, x):
        h = self.layer(self.first, self.a, x.view(-1, 1, *self.sides))
        for layer in self.layers:
            h = torch.relu(h) + self.layer(layer, self.b, torch.relu(h))
        return self.out(torch.relu(h)).flatten(1)


@wrong("OwnPixelCNN: around the image are ones")
class AmongOnes(Masked):
    def layer(self, layer, mask, h):
        pad = len(mask) // 2
        return F.conv2d(F.pad(h, (pad,) * 4, value=1), layer.weight * mask, layer.bias)


@wrong("OwnPixelCNN: a probability joins instead of the draw")
class Expected(Masked):
    @torch.no_grad()
    def complete(self, x, start, u):
        x = x.clone()
        for i in range(start, x.shape[1]):
            x[:, i] = torch.sigmoid(self.logits(x)[:, i])
        return torch.where(torch.arange(x.shape[1]) < start, x, (u < x).float())


@wrong("OwnPixelCNN: the mask is lost in training")
class Unmasked(Masked):
    def fit(self, x):
        self.a.fill_(1)
        super().fit(x)


@wrong("OwnPixelCNN: a rate a thousand times too small")
class TooSlow(Masked):
    def fit(self, x):
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-5)
        for _ in range(50):
            optimizer.zero_grad()
            (-self.log_prob(x).mean()).backward()
            optimizer.step()


@wrong("find_color_leaks: places relative to the center", called="from_center")
def _(mask, kind):
    sound, c = by_colors(*mask.shape[:3], kind), mask.shape[-1] // 2
    return [(o, i, r - c, s - c) for o, i, r, s in ((mask - sound) > 0).nonzero().tolist()]


@wrong("blind_spot: depth counts the layer under mask A, if there are more", called="one_layer_less")
def _(height, width, row, column, depth):
    return walk(height, width, row, column, depth, "B" * max(depth - 1, 0) + "A")


@wrong("blind_spot: depth counts the layer under mask A", called="depth_layers")
def _(height, width, row, column, depth):
    return walk(height, width, row, column, depth, ("A" + "B" * depth)[:depth][::-1])
