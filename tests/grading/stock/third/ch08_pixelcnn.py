"""Wrong answers to the exercises on PixelCNN."""
from __future__ import annotations

from tests.grading.stock import wrong

# The mask with colours, right, for the exercise that may call it.
COLOURS = """
import torch

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

"""

STOCK = [
    wrong("pixelcnn_mask",
          "the rows above the centre are cut off at its column: what is above and to the right is 0",
          "third", """
import torch

def pixelcnn_mask(k, kind):
    mid = k // 2
    mask = torch.zeros(k, k)
    mask[:mid, :mid + 1] = 1
    mask[mid, :mid] = 1
    if kind == "B":
        mask[mid, mid] = 1
    return mask
"""),
    wrong("pixelcnn_mask",
          "goes column by column, not row by row: the mask is transposed",
          "third", """
import torch

def pixelcnn_mask(k, kind):
    centre = (k * k) // 2
    last = centre if kind == "B" else centre - 1
    return torch.tensor([[float(k * c + r <= last) for c in range(k)] for r in range(k)])
"""),
    wrong("pixelcnn_rgb_mask",
          "takes the channels as R, G, B, R, G, B and so on, not in three blocks",
          "third", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
    flat = torch.zeros(c_out, c_in, k * k)
    centre = k * k // 2
    flat[..., :centre] = 1
    for o in range(c_out):
        for i in range(c_in):
            if i % 3 < o % 3 or (kind == "B" and i % 3 == o % 3):
                flat[o, i, centre] = 1
    return flat.reshape(c_out, c_in, k, k)
"""),
    wrong("pixelcnn_rgb_mask",
          "kind B at the centre reads the own colour alone, not those before it",
          "third", """
import torch

def pixelcnn_rgb_mask(c_out, c_in, k, kind):
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
"""),
    wrong("find_color_leaks",
          "reports every entry that differs from the right mask, the ones that could be 1 too",
          "third", COLOURS + """
def find_color_leaks(mask, kind):
    right = pixelcnn_rgb_mask(*mask.shape[:3], kind)
    return sorted(tuple(entry) for entry in (mask != right).nonzero().tolist())
"""),
    wrong("find_color_leaks",
          "compares the entries at the centre only; leaks after it are not seen",
          "third", COLOURS + """
def find_color_leaks(mask, kind):
    c_out, c_in, k, _ = mask.shape
    right, mid = pixelcnn_rgb_mask(c_out, c_in, k, kind), k // 2
    return [(o, i, mid, mid) for o in range(c_out) for i in range(c_in)
            if mask[o, i, mid, mid] == 1 and right[o, i, mid, mid] == 0]
"""),
    wrong("blind_spot",
          "takes the field of view for a full rectangle, depth + 1 columns to either side, "
          "also for the rows near the pixel",
          "third", """
def blind_spot(height, width, row, column, depth):
    reach = depth + 1
    unseen = []
    for r in range(height):
        for c in range(width):
            if (r, c) >= (row, column):
                continue
            if row - r > reach or abs(column - c) > reach:
                unseen.append((r, c))
    return unseen
"""),
    wrong("blind_spot",
          "all layers have mask A: a layer under mask B does not hand on its own place",
          "third", """
def blind_spot(height, width, row, column, depth):
    steps = [(-1, -1), (-1, 0), (-1, 1), (0, -1)]
    seen = {(row, column)}
    for _ in range(depth + 1):
        seen = {(r + dr, c + dc) for r, c in seen for dr, dc in steps
                if 0 <= r + dr < height and 0 <= c + dc < width}
    before = [(i // width, i % width) for i in range(row * width + column)]
    return [pixel for pixel in before if pixel not in seen]
"""),
]
