"""Answers to the exercises of chapter fill-the-gap."""
from __future__ import annotations

import torch

from tests.exercises.answers.register import right, wrong


@right("permuted_window: a block at a time")
def _(W, order):
    D = W.shape[1] // len(order)
    return torch.cat([W[:, place * D:(place + 1) * D] for place in order], dim=1)


@right("permuted_window: by a list of columns")
def _(W, order):
    D = W.shape[1] // len(order)
    return W[:, [place * D + d for place in order for d in range(D)]].clone()


@wrong("permuted_window: zeros")
def _(W, order):
    return torch.zeros_like(W)


@wrong("permuted_window: one block for all")
def _(W, order):
    D = W.shape[1] // len(order)
    return W[:, order[0] * D:(order[0] + 1) * D].repeat(1, len(order))


@wrong("permuted_window: a sign lost")
def _(W, order):
    return W.reshape(len(W), len(order), -1)[:, order].reshape(len(W), -1).abs()


@wrong("permuted_window: blocks moved in place", called="written_over")
def _(W, order):
    W = W.clone()
    blocks = W.view(len(W), len(order), -1)
    for k in range(len(order)):
        blocks[:, k] = blocks[:, order[k]]
    return W


@right("words_read: forward from every word")
def _(length, gap, kernels, dilations):
    places = []
    for start in range(length):
        reached = {start} - {gap}
        for kernel, d in zip(kernels, dilations):
            reached = {i for i in range(length) if any(i + j * d in reached for j in range(-(kernel // 2), kernel // 2 + 1))}
        if gap in reached:
            places.append(start)
    return places


@right("words_read: by gradients of real layers")
def _(length, gap, kernels, dilations):
    x = torch.ones(1, 1, length, dtype=torch.double, requires_grad=True)
    h = x
    for kernel, d in zip(kernels, dilations):
        weights = torch.ones(1, 1, kernel, dtype=torch.double)
        h = torch.nn.functional.conv1d(h, weights, padding=kernel // 2 * d, dilation=d)
    (slope,) = torch.autograd.grad(h[0, 0, gap], x)
    return [place for place in slope[0, 0].nonzero()[:, 0].tolist() if place != gap]


@wrong("words_read: nothing is read")
def _(length, gap, kernels, dilations):
    return []


@wrong("words_read: all within the sum of the reaches", called="all_between")
def _(length, gap, kernels, dilations):
    reach = sum(kernel // 2 * d for kernel, d in zip(kernels, dilations))
    return [i for i in range(max(0, gap - reach), min(length, gap + reach + 1)) if i != gap]


@wrong("words_read: each layer reads the words themselves", called="each_alone")
def _(length, gap, kernels, dilations):
    read = {gap + j * d for kernel, d in zip(kernels, dilations) for j in range(-(kernel // 2), kernel // 2 + 1)}
    return sorted(i for i in read if 0 <= i < length and i != gap)


@wrong("words_read: places counted from 1", called="from_one")
def _(length, gap, kernels, dilations):
    read = {gap}
    for kernel, d in reversed(list(zip(kernels, dilations))):
        read = {i + j * d for i in read for j in range(-(kernel // 2), kernel // 2 + 1) if 0 <= i + j * d < length}
    return sorted(i + 1 for i in read if i != gap)


@right("gap_states: a place at a time")
def _(ahead, back, start, end):
    B, T, H = ahead.shape
    rows = [torch.cat([ahead[:, i - 1] if i else start.expand(B, H), back[:, i + 1] if i + 1 < T else end.expand(B, H)], dim=1)
            for i in range(T)]
    return torch.stack(rows, dim=1)


@right("gap_states: by rolling, the edges written in")
def _(ahead, back, start, end):
    before, after = ahead.roll(1, dims=1), back.roll(-1, dims=1)
    before[:, 0], after[:, -1] = start, end
    return torch.cat([before, after], dim=2)


@wrong("gap_states: zeros")
def _(ahead, back, start, end):
    return torch.zeros(*ahead.shape[:2], 2 * ahead.shape[2])


@wrong("gap_states: the sum of both")
def _(ahead, back, start, end):
    B, T, H = ahead.shape
    before = torch.cat([start.expand(B, 1, H), ahead[:, :-1]], dim=1)
    after = torch.cat([back[:, 1:], end.expand(B, 1, H)], dim=1)
    return torch.cat([before + after, before + after], dim=-1)


@wrong("gap_states: the forward state twice")
def _(ahead, back, start, end):
    before = torch.cat([start.expand(len(ahead), 1, -1), ahead[:, :-1]], dim=1)
    return torch.cat([before, before], dim=-1)


@wrong("gap_states: the backward states rolled, end forgotten", called="end_wraps")
def _(ahead, back, start, end):
    before = torch.cat([start.repeat(len(ahead), 1, 1), ahead[:, :-1]], dim=1)
    return torch.cat([before, back.roll(-1, 1)], dim=-1)


@wrong("gap_states: the forward states rolled, start forgotten", called="start_wraps")
def _(ahead, back, start, end):
    after = back.roll(-1, 1)
    after[:, -1] = end
    return torch.cat([ahead.roll(1, 1), after], dim=-1)


@right("layer_mixture: by einsum")
def _(states, w, gamma):
    return gamma * torch.einsum("l,lbte->bte", w.softmax(0), states)


@right("layer_mixture: the exponentials by hand")
def _(states, w, gamma):
    e = torch.exp(w - w.max())
    return sum(gamma * e[j] / e.sum() * states[j] for j in range(len(w)))


@wrong("layer_mixture: zeros")
def _(states, w, gamma):
    return torch.zeros_like(states[0])


@wrong("layer_mixture: the mean of the weighted layers", called="averaged")
def _(states, w, gamma):
    return gamma * (w.softmax(0)[:, None, None, None] * states).mean(0)


@wrong("layer_mixture: the weights squared")
def _(states, w, gamma):
    return gamma * torch.einsum("l,lbte->bte", w.softmax(0) ** 2, states)


@wrong("layer_mixture: the largest weight takes all")
def _(states, w, gamma):
    return gamma * states[int(w.argmax())]


@wrong("gap_states: a batch of one loses its axis")
def _(ahead, back, start, end):
    before = torch.cat([start.expand(len(ahead), 1, -1), ahead[:, :-1]], dim=1)
    return torch.cat([before, torch.cat([back[:, 1:], end.expand(len(back), 1, -1)], dim=1)], dim=2).squeeze(0)


@wrong("layer_mixture: weights along the batch where it is as large as there are layers")
def _(states, w, gamma):
    s = w.softmax(0)[:, None, None]
    return gamma * ((s if states.shape[0] == states.shape[1] else s[..., None]) * states).sum(0)


@wrong("layer_mixture: a single layer is returned as it is")
def _(states, w, gamma):
    return states[0] if len(w) == 1 else gamma * torch.einsum("l,lbte->bte", w.softmax(0), states)


@wrong("permuted_window: the numbers of a place apart where there are as many as places")
def _(W, order):
    blocks, P = W.unflatten(1, (len(order), -1)), len(order)
    return (blocks.mT[:, order].mT if blocks.shape[2] == P else blocks[:, order]).flatten(1)


@wrong("words_read: a kernel of 1 reads its neighbors")
def _(length, gap, kernels, dilations):
    places = {gap}
    for kernel, d in list(zip(kernels, dilations))[::-1]:
        k = max(1, kernel // 2)
        places = {place + j * d for place in places for j in range(-k, k + 1)} & {*range(length)}
    return sorted(places - {gap})
