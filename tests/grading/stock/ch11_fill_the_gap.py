"""Wrong answers to the exercises on masked words before transformers."""
from __future__ import annotations

from tests.grading.stock import wrong

STOCK = [
    wrong("permuted_window", "the other permutation: block k goes to place order[k]", "open", """
import torch

def permuted_window(W, order):
    D = W.shape[1] // len(order)
    new = torch.empty_like(W)
    for k, j in enumerate(order):
        new[:, j * D:(j + 1) * D] = W[:, k * D:(k + 1) * D]
    return new
"""),
    wrong("permuted_window", "single columns are permuted, not blocks of D", "sealed", """
def permuted_window(W, order):
    D = W.shape[1] // len(order)
    columns = [d * len(order) + k for d in range(D) for k in order]
    return W[:, columns]
"""),
    wrong("words_read", "the kernel's reach is taken as kernel, not kernel // 2", "open", """
def words_read(length, gap, kernels, dilations):
    read = {gap}
    for kernel, d in zip(reversed(kernels), reversed(dilations)):
        read = {i + j * d for i in read for j in range(-kernel, kernel + 1) if 0 <= i + j * d < length}
    return sorted(read - {gap})
"""),
    wrong("words_read", "only the farthest places of each layer are followed, the middle of the kernel is left out", "sealed", """
def words_read(length, gap, kernels, dilations):
    read = {gap}
    for kernel, d in zip(reversed(kernels), reversed(dilations)):
        k = kernel // 2
        read = {i + j * d for i in read for j in range(-k, k + 1) if j != 0 and 0 <= i + j * d < length}
    return sorted(read - {gap})
"""),
    wrong("gap_states", "at the left edge the forward state is that after word 0", "open", """
import torch

def gap_states(ahead, back, start, end):
    before = torch.cat([ahead[:, :1], ahead[:, :-1]], dim=1)
    after = torch.cat([back[:, 1:], end.expand(len(back), 1, -1)], dim=1)
    return torch.cat([before, after], dim=-1)
"""),
    wrong("gap_states", "the two halves are added in place of being joined", "sealed", """
import torch

def gap_states(ahead, back, start, end):
    before = torch.cat([start.expand(len(ahead), 1, -1), ahead[:, :-1]], dim=1)
    after = torch.cat([back[:, 1:], end.expand(len(back), 1, -1)], dim=1)
    return before + after
"""),
    wrong("layer_mixture", "the softmax runs over the numbers of a vector", "open", """
import torch

def layer_mixture(states, w, gamma):
    return gamma * (w[:, None, None, None] * states).softmax(dim=-1).sum(dim=0)
"""),
    wrong("layer_mixture", "the mean over the layers is taken after they are weighted", "sealed", """
def layer_mixture(states, w, gamma):
    s = w.softmax(dim=0)
    return gamma * (s.view(-1, 1, 1, 1) * states).mean(dim=0)
"""),
]
