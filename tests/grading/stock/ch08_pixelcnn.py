"""Wrong answers to the exercises on PixelCNN."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("pixelcnn_mask", "the centre is 1 for kind A too: the pixel reads itself", "open", """
import torch

def pixelcnn_mask(k, kind):
    mask = torch.ones(k, k)
    mask[k // 2, k // 2 + 1:] = 0
    mask[k // 2 + 1:] = 0
    return mask
"""),
    wrong("pixelcnn_mask", "the kinds are exchanged: A shows the centre", "sealed", """
import torch

def pixelcnn_mask(k, kind):
    mask = torch.zeros(k * k)
    mask[:k * k // 2] = 1
    if kind == "A":
        mask[k * k // 2] = 1
    return mask.view(k, k)
"""),
    wrong("pixelcnn_mask", "the pixels to the left in the own row are missing", "open", """
import torch

def pixelcnn_mask(k, kind):
    mask = torch.zeros(k, k)
    mask[:k // 2, :] = 1
    mask[k // 2, k // 2] = float(kind == "B")
    return mask
"""),
    wrong("pixelcnn_mask", "column by column: the mask is transposed", "sealed", """
import torch

def pixelcnn_mask(k, kind):
    c = k // 2
    mask = torch.zeros(k, k)
    mask[:, :c] = 1
    mask[:c, c] = 1
    if kind == "B":
        mask[c, c] = 1
    return mask
"""),
    wrong("pixelcnn_rgb_mask", "the colours alternate instead of coming in blocks", "open", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    mask[:, :, :k // 2] = 1
    mask[:, :, k // 2, :k // 2] = 1
    for o in range(c_out):
        for i in range(c_in):
            if i % 3 < o % 3 or (kind == "B" and i % 3 == o % 3):
                mask[o, i, k // 2, k // 2] = 1
    return mask
"""),
    wrong("pixelcnn_rgb_mask", "the order of the colours is applied to the whole kernel, earlier pixels too", "sealed", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    out = torch.arange(c_out)[:, None] // (c_out // 3)
    into = torch.arange(c_in)[None] // (c_in // 3)
    may = (out >= into) if kind == "B" else (out > into)
    spatial = torch.zeros(k * k)
    spatial[:k * k // 2 + 1] = 1
    return may.float()[:, :, None, None] * spatial.view(k, k)
"""),
    wrong("pixelcnn_rgb_mask", "kind A: a colour reads itself at the centre", "open", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    mask[:, :, :k // 2] = 1
    mask[:, :, k // 2, :k // 2] = 1
    out = torch.arange(c_out)[:, None] // (c_out // 3)
    into = torch.arange(c_in)[None] // (c_in // 3)
    mask[:, :, k // 2, k // 2] = (out >= into).float()
    return mask
"""),
    wrong("pixelcnn_rgb_mask", "the centre goes backwards: red reads green and blue", "sealed", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    mask = torch.zeros(c_out, c_in, k, k)
    mask[:, :, :k // 2] = 1
    mask[:, :, k // 2, :k // 2] = 1
    for o in range(3):
        for i in range(3):
            if i > o or (i == o and kind == "B"):
                rows = slice(o * c_out // 3, (o + 1) * c_out // 3)
                mask[rows, i * c_in // 3:(i + 1) * c_in // 3, k // 2, k // 2] = 1
    return mask
"""),
    wrong("find_color_leaks", "only the centre is looked at, entries after it are missed", "open", """
import torch

def find_color_leaks(mask, kind):
    c_out, c_in, k, _ = mask.shape
    c, found = k // 2, []
    for o in range(c_out):
        for i in range(c_in):
            a, b = o // (c_out // 3), i // (c_in // 3)
            if mask[o, i, c, c] == 1 and (b > a or b == a and kind == "A"):
                found.append((o, i, c, c))
    return found
"""),
    wrong("find_color_leaks", "a colour that reads itself is a leak in every layer, for kind B too", "sealed", """
import torch

def find_color_leaks(mask, kind):
    c_out, c_in, k, _ = mask.shape
    found = []
    for o, i, r, c in mask.nonzero().tolist():
        later = r * k + c > k * k // 2
        centre = r * k + c == k * k // 2
        if later or centre and i // (c_in // 3) >= o // (c_out // 3):
            found.append((o, i, r, c))
    return found
"""),
    wrong("blind_spot", "lists the pixels that are seen instead of those that are not", "open", """
def blind_spot(height, width, row, column, depth):
    seen = {(row, column)}
    for kind in "B" * depth + "A":
        new = set()
        for r, c in seen:
            for a, b in [(-1, -1), (-1, 0), (-1, 1), (0, -1)] + ([(0, 0)] if kind == "B" else []):
                if r + a >= 0 and 0 <= c + b < width:
                    new.add((r + a, c + b))
        seen = new
    return sorted(seen)
"""),
    wrong("blind_spot", "one layer too few: depth layers in all, the first one included", "sealed", """
def blind_spot(height, width, row, column, depth):
    seen, edge = set(), {(row, column)}
    for _ in range(depth):
        edge = {(r + a, c + b) for r, c in edge for a, b in [(-1, -1), (-1, 0), (-1, 1), (0, -1)]
                if r + a >= 0 and 0 <= c + b < width}
        seen |= edge
    return [(r, c) for r in range(row + 1) for c in range(width) if (r, c) < (row, column) and (r, c) not in seen]
"""),
]
