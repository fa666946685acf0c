"""Wrong answers to the exercises on filling gaps before transformers."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("permuted_window", "the inverse permutation: block k of the old matrix goes to place order[k], where block order[k] should go to place k", "second", """
import torch

def permuted_window(W, order):
    H, P = W.shape[0], len(order)
    old = W.reshape(H, P, -1)
    new = torch.zeros_like(old)
    for k in range(P):
        new[:, order[k]] = old[:, k]
    return new.reshape(H, -1)
"""),
    wrong("permuted_window", "the columns are cut as (D, P): the numbers of one place are taken to lie P columns apart, not side by side", "second", """
import torch

def permuted_window(W, order):
    P = len(order)
    D = W.shape[1] // P
    blocks = W.view(-1, D, P)
    return blocks[:, :, order].reshape(W.shape)
"""),
    wrong("permuted_window", "the blocks are moved one after another within the copy: what a later block needs has been overwritten", "second", """
import torch

def permuted_window(W, order):
    new = W.clone()
    D = W.shape[1] // len(order)
    for k, place in enumerate(order):
        new[:, k * D:(k + 1) * D] = new[:, place * D:(place + 1) * D]
    return new
"""),
    wrong("words_read", "the whole stretch from the first to the last place reached: the holes of the dilations are not left out", "second", """
def words_read(length, gap, kernels, dilations):
    reach = sum(kernel // 2 * dilation for kernel, dilation in zip(kernels, dilations))
    first, last = max(0, gap - reach), min(length - 1, gap + reach)
    return [place for place in range(first, last + 1) if place != gap]
"""),
    wrong("words_read", "the gap is taken out after every layer: paths that go through the place of the mask in a middle layer are lost", "second", """
def words_read(length, gap, kernels, dilations):
    places = {gap}
    for kernel, dilation in reversed(list(zip(kernels, dilations))):
        k = (kernel - 1) // 2
        reached = set()
        for i in places:
            for step in range(-k, k + 1):
                j = i + step * dilation
                if 0 <= j < length:
                    reached.add(j)
        places = reached - {gap}        # the word there is masked
    return sorted(places)
"""),
    wrong("words_read", "every layer is applied to the gap itself and the results are collected: the layers are not put upon each other, reaches do not add up", "second", """
def words_read(length, gap, kernels, dilations):
    places = set()
    for kernel, d in zip(kernels, dilations):
        k = kernel // 2
        for m in range(-k, k + 1):
            place = gap + m * d
            if m != 0 and 0 <= place < length:
                places.add(place)
    return sorted(places)
"""),
    wrong("gap_states", "the backward states are shifted the same way as the forward ones: place i gets back[i - 1], which has read word i", "second", """
import torch

def gap_states(ahead, back, start, end):
    B, T, H = ahead.shape
    forward = torch.cat([start.expand(B, 1, H), ahead[:, :-1]], dim=1)
    backward = torch.cat([end.expand(B, 1, H), back[:, :-1]], dim=1)
    return torch.cat([forward, backward], dim=-1)
"""),
    wrong("gap_states", "start and end are exchanged: the forward network's first state is `end`, the backward network's last one `start`", "second", """
import torch

def gap_states(ahead, back, start, end):
    result = torch.empty(ahead.shape[0], ahead.shape[1], 2 * ahead.shape[2], dtype=ahead.dtype)
    H = ahead.shape[2]
    result[:, 1:, :H] = ahead[:, :-1]
    result[:, 0, :H] = end
    result[:, :-1, H:] = back[:, 1:]
    result[:, -1, H:] = start
    return result
"""),
    wrong("gap_states", "back is rolled and `end` is not put in: at the last place stands back[:, 0], which has read everything", "second", """
import torch

def gap_states(ahead, back, start, end):
    before = ahead.roll(1, dims=1)
    before[:, 0] = start
    after = back.roll(-1, dims=1)
    return torch.cat([before, after], dim=2)
"""),
    wrong("layer_mixture", "gamma is inside of the softmax: softmax(gamma w), as a temperature, instead of a factor before the sum", "second", """
import torch

def layer_mixture(states, w, gamma):
    weights = torch.softmax(gamma * w, dim=0)
    return torch.einsum("l,lbte->bte", weights, states)
"""),
    wrong("layer_mixture", "w is divided by its sum instead of going through a softmax", "second", """
import torch

def layer_mixture(states, w, gamma):
    weights = w / w.sum()
    return gamma * (weights[:, None, None, None] * states).sum(dim=0)
"""),
    wrong("layer_mixture", "layer 0, the vectors of the words, is left out of the sum", "second", """
import torch

def layer_mixture(states, w, gamma):
    s = w.softmax(dim=0)
    mixed = torch.zeros_like(states[0])
    for layer in range(1, len(states)):
        mixed = mixed + s[layer] * states[layer]
    return gamma * mixed
"""),
]
