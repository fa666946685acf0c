"""Wrong answers to the exercises of chapter fill-the-gap, written without knowing its checks."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import blind


@blind("permuted_window: puts the blocks into the inverse order")
def _(W, order):
    H, P = len(W), len(order)
    blocks = W.reshape(H, P, -1)
    new = torch.empty_like(blocks)
    for k, place in enumerate(order):
        new[:, place] = blocks[:, k]
    return new.reshape(H, -1)


@blind("permuted_window: cuts the columns as (D, P), not as (P, D): no block of a place stays together")
def _(W, order):
    return W.unflatten(1, (-1, len(order)))[:, :, order].flatten(1)


@blind("words_read: lets a path leave the text and come back: places outside are dropped at the end only")
def _(length, gap, kernels, dilations):
    places = {gap}
    for kernel, d in reversed(list(zip(kernels, dilations))):
        half = kernel // 2
        places = {place + step * d for place in places for step in range(-half, half + 1)}
    places.discard(gap)
    return sorted(place for place in places if 0 <= place < length)


@blind("words_read: the gap is taken out after every layer: paths that go through the place of the mask in "
       "a middle layer are lost")
def _(length, gap, kernels, dilations):
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


@blind("gap_states: the backward network's state stands first, the forward one's second")
def _(ahead, back, start, end):
    forward, backward = torch.empty_like(ahead), torch.empty_like(back)
    forward[:, 0], forward[:, 1:] = start, ahead[:, :-1]
    backward[:, -1], backward[:, :-1] = end, back[:, 1:]
    return torch.cat([backward, forward], dim=2)


@blind("gap_states: the backward states are shifted the same way as the forward ones: place i gets back[i - "
       "1], which has read word i")
def _(ahead, back, start, end):
    B, T, H = ahead.shape
    forward = torch.cat([start.expand(B, 1, H), ahead[:, :-1]], dim=1)
    backward = torch.cat([end.expand(B, 1, H), back[:, :-1]], dim=1)
    return torch.cat([forward, backward], dim=-1)


@blind("gap_states: start and end are exchanged: the forward network's first state is `end`, the backward "
       "network's last one `start`")
def _(ahead, back, start, end):
    result = torch.empty(ahead.shape[0], ahead.shape[1], 2 * ahead.shape[2], dtype=ahead.dtype)
    H = ahead.shape[2]
    result[:, 1:, :H] = ahead[:, :-1]
    result[:, 0, :H] = end
    result[:, :-1, H:] = back[:, 1:]
    result[:, -1, H:] = start
    return result


@blind("layer_mixture: gamma stands inside the softmax, softmax(gamma w), and not before the sum")
def _(states, w, gamma):
    return torch.einsum("l,lbte->bte", torch.softmax(gamma * w, dim=0), states)


@blind("layer_mixture: leaves out layer 0, the vectors of the words, and spreads the weights over the others")
def _(states, w, gamma):
    share = w[1:].softmax(-1)
    total = torch.zeros_like(states[0])
    for s, layer in zip(share, states[1:]):
        total = total + s * layer
    return gamma * total


@blind("layer_mixture: w is divided by its sum instead of going through a softmax")
def _(states, w, gamma):
    weights = w / w.sum()
    return gamma * (weights[:, None, None, None] * states).sum(dim=0)


@blind("layer_mixture: layer 0, the vectors of the words, is left out of the sum")
def _(states, w, gamma):
    s = w.softmax(dim=0)
    mixed = torch.zeros_like(states[0])
    for layer in range(1, len(states)):
        mixed = mixed + s[layer] * states[layer]
    return gamma * mixed
