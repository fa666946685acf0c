"""Wrong answers to the exercises on filling gaps before transformers."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("permuted_window",
          "puts the blocks into the inverse order",
          "third", """
import torch

def permuted_window(W, order):
    H, P = len(W), len(order)
    blocks = W.reshape(H, P, -1)
    new = torch.empty_like(blocks)
    for k, place in enumerate(order):
        new[:, place] = blocks[:, k]
    return new.reshape(H, -1)
"""),
    wrong("permuted_window",
          "cuts the columns as (D, P), not as (P, D): no block of a place stays together",
          "third", """
import torch

def permuted_window(W, order):
    return W.unflatten(1, (-1, len(order)))[:, :, order].flatten(1)
"""),
    wrong("words_read",
          "forgets the holes: everything between the ends of the reach is read",
          "third", """
def words_read(length, gap, kernels, dilations):
    reach = sum(kernel // 2 * d for kernel, d in zip(kernels, dilations))
    first, last = max(0, gap - reach), min(length - 1, gap + reach)
    return [place for place in range(first, last + 1) if place != gap]
"""),
    wrong("words_read",
          "lets a path leave the text and come back: places outside are dropped at the end only",
          "third", """
def words_read(length, gap, kernels, dilations):
    places = {gap}
    for kernel, d in reversed(list(zip(kernels, dilations))):
        half = kernel // 2
        places = {place + step * d for place in places for step in range(-half, half + 1)}
    places.discard(gap)
    return sorted(place for place in places if 0 <= place < length)
"""),
    wrong("gap_states",
          "shifts the backward states the wrong way, with `end` in front: they have read word i",
          "third", """
import torch

def gap_states(ahead, back, start, end):
    B = len(ahead)
    before = torch.cat([start.expand(B, 1, -1), ahead[:, :-1]], dim=1)
    behind = torch.cat([end.expand(B, 1, -1), back[:, :-1]], dim=1)
    return torch.cat([before, behind], dim=-1)
"""),
    wrong("gap_states",
          "the backward network's state stands first, the forward one's second",
          "third", """
import torch

def gap_states(ahead, back, start, end):
    forward, backward = torch.empty_like(ahead), torch.empty_like(back)
    forward[:, 0], forward[:, 1:] = start, ahead[:, :-1]
    backward[:, -1], backward[:, :-1] = end, back[:, 1:]
    return torch.cat([backward, forward], dim=2)
"""),
    wrong("layer_mixture",
          "gamma stands inside the softmax, softmax(gamma w), and not before the sum",
          "third", """
import torch

def layer_mixture(states, w, gamma):
    return torch.einsum("l,lbte->bte", torch.softmax(gamma * w, dim=0), states)
"""),
    wrong("layer_mixture",
          "leaves out layer 0, the vectors of the words, and spreads the weights over the others",
          "third", """
import torch

def layer_mixture(states, w, gamma):
    share = w[1:].softmax(-1)
    total = torch.zeros_like(states[0])
    for s, layer in zip(share, states[1:]):
        total = total + s * layer
    return gamma * total
"""),
]
