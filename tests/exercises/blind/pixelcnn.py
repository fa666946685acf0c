"""Wrong answers to the exercises of chapter pixelcnn, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("pixelcnn_mask: goes column by column, not row by row: the mask is transposed")
def _(k, kind):
    centre = (k * k) // 2
    last = centre if kind == "B" else centre - 1
    return torch.tensor([[float(k * c + r <= last) for c in range(k)] for r in range(k)])


@blind("pixelcnn_mask: only above and left of the centre: what lies above and to the right is left out")
def _(k, kind):
    c = k // 2
    mask = torch.zeros(k, k)
    mask[:c + 1, :c + 1] = 1
    if kind == "A":
        mask[c, c] = 0
    return mask


@blind("pixelcnn_rgb_mask: takes the channels as R, G, B, R, G, B and so on, not in three blocks")
def _(c_out, c_in, k, kind):
    flat = torch.zeros(c_out, c_in, k * k)
    centre = k * k // 2
    flat[..., :centre] = 1
    for o in range(c_out):
        for i in range(c_in):
            if i % 3 < o % 3 or (kind == "B" and i % 3 == o % 3):
                flat[o, i, centre] = 1
    return flat.reshape(c_out, c_in, k, k)


@blind("pixelcnn_rgb_mask: kind B at the centre reads the own colour alone, not those before it")
def _(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    mid = k // 2
    mask[:, :, :mid, :] = 1
    mask[:, :, mid, :mid] = 1
    out = torch.arange(3).repeat_interleave(c_out // 3)
    inp = torch.arange(3).repeat_interleave(c_in // 3)
    if kind == "A":
        mask[:, :, mid, mid] = (inp[None] < out[:, None]).float()
    else:
        mask[:, :, mid, mid] = (inp[None] == out[:, None]).float()
    return mask


@blind("pixelcnn_rgb_mask: the rule of the colours is applied everywhere, also to earlier pixels, of which "
       "all colours may be read")
def _(c_out, c_in, k, kind):
    before = torch.zeros(k * k)
    before[:k * k // 2 + 1] = 1                        # up to the centre
    out_color = torch.arange(c_out) * 3 // c_out
    in_color = torch.arange(c_in) * 3 // c_in
    if kind == "A":
        colors = in_color[None, :] < out_color[:, None]
    else:
        colors = in_color[None, :] <= out_color[:, None]
    return colors.float()[:, :, None, None] * before.view(k, k)


def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    mid = k // 2
    mask[:, :, :mid] = 1
    mask[:, :, mid, :mid] = 1
    colour_out = torch.arange(c_out)[:, None] * 3 // c_out
    colour_in = torch.arange(c_in)[None, :] * 3 // c_in
    reads = colour_in < colour_out if kind == "A" else colour_in <= colour_out
    mask[:, :, mid, mid] = reads.float()
    return mask


@blind("find_color_leaks: reports every entry that differs from the right mask, the ones that could be 1 too")
def _(mask, kind):
    right = pixelcnn_rgb_mask(*mask.shape[:3], kind)
    return sorted(tuple(entry) for entry in (mask != right).nonzero().tolist())


@blind("find_color_leaks: compares the entries at the centre only; leaks after it are not seen")
def _(mask, kind):
    c_out, c_in, k, _ = mask.shape
    right, mid = pixelcnn_rgb_mask(c_out, c_in, k, kind), k // 2
    return [(o, i, mid, mid) for o in range(c_out) for i in range(c_in)
            if mask[o, i, mid, mid] == 1 and right[o, i, mid, mid] == 0]


@blind("find_color_leaks: only the centre and what lies right of it in its own row are looked at: leaks in "
       "the rows below are missed")
def _(mask, kind):
    c_out, c_in, k, _ = mask.shape
    c = k // 2
    leaks = []
    for o in range(c_out):
        for i in range(c_in):
            own, read = o // (c_out // 3), i // (c_in // 3)
            allowed = read < own or (kind == "B" and read == own)
            if mask[o, i, c, c] == 1 and not allowed:
                leaks.append((o, i, c, c))
            for column in range(c + 1, k):
                if mask[o, i, c, column] == 1:
                    leaks.append((o, i, c, column))
    return sorted(leaks)


@blind("find_color_leaks: kind is ignored: a colour that reads itself at the centre is called a leak in a "
       "layer of kind B too")
def _(mask, kind):
    c_out, c_in, k, _ = mask.shape
    sound = torch.zeros(c_out, c_in, k * k)
    sound[:, :, :k * k // 2] = 1
    for o in range(c_out):
        for i in range(c_in):
            if 3 * i // c_in < 3 * o // c_out:
                sound[o, i, k * k // 2] = 1
    leaks = (mask == 1) & (sound.view(c_out, c_in, k, k) == 0)
    return [tuple(entry) for entry in leaks.nonzero().tolist()]


@blind("find_color_leaks: the leaks are sorted by place first, (row, column, output, input), instead of as "
       "the tuples stand")
def _(mask, kind):
    c_out, c_in, height, width = mask.shape
    middle = (height // 2, width // 2)
    leaks = []
    for row in range(height):
        for column in range(width):
            if (row, column) < middle:
                continue
            for o in range(c_out):
                for i in range(c_in):
                    if not mask[o, i, row, column]:
                        continue
                    if (row, column) == middle:
                        color_o, color_i = o * 3 // c_out, i * 3 // c_in
                        if color_i < color_o or (color_i == color_o and kind == "B"):
                            continue
                    leaks.append((o, i, row, column))
    return leaks


@blind("blind_spot: takes the field of view for a full rectangle, depth + 1 columns to either side, also "
       "for the rows near the pixel")
def _(height, width, row, column, depth):
    reach = depth + 1
    unseen = []
    for r in range(height):
        for c in range(width):
            if (r, c) >= (row, column):
                continue
            if row - r > reach or abs(column - c) > reach:
                unseen.append((r, c))
    return unseen


@blind("blind_spot: the number of layers does not come in: only the triangle above on the right is called "
       "blind, as if the network were as deep as you like")
def _(height, width, row, column, depth):
    blind = []
    for r in range(row):
        for c in range(width):
            # each row up gives one more column on the right
            if c - column > row - r:
                blind.append((r, c))
    return blind
