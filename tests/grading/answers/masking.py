"""Answers to the exercises of chapter 18: tokens hidden, and maskers that break the rule."""
from __future__ import annotations

import torch

from tests.grading.answers.register import right, wrong


@right("mlm_mask: one draw decides all")
def _(tokens, special, vocab_size, mask_id, g):
    u = torch.rand(tokens.shape, generator=g).masked_fill(special, 1.0)
    inputs = tokens.clone()
    inputs[u < 0.12] = mask_id
    replaced = (u >= 0.12) & (u < 0.135)
    inputs[replaced] = torch.randint(vocab_size, (int(replaced.sum()),), generator=g)
    return inputs, tokens.masked_fill(u >= 0.15, -100)


@right("mlm_mask: three Bernoulli draws, as Hugging Face's collator")
def _(tokens, special, vocab_size, mask_id, g):
    def coin(p):
        return torch.bernoulli(torch.full(tokens.shape, p), generator=g).bool()

    chosen = coin(0.15) & ~special
    hidden = coin(0.8) & chosen
    replaced = coin(0.5) & chosen & ~hidden
    inputs = tokens.masked_fill(hidden, mask_id)
    inputs[replaced] = torch.randint(5, vocab_size, tokens.shape, generator=g)[replaced]
    return inputs, torch.where(chosen, tokens, -100)


@wrong("mlm_mask: twenty in a hundred")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.2) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.9), torch.randint(vocab_size, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.8), mask_id, inputs), torch.where(chosen, tokens, -100)


@wrong("mlm_mask: 70, 15, 15")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.85), torch.randint(vocab_size, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.7), mask_id, inputs), torch.where(chosen, tokens, -100)


@wrong("mlm_mask: replacements from the lower half")
def _(tokens, special, vocab_size, mask_id, g):
    chosen = (torch.rand(tokens.shape, generator=g) < 0.15) & ~special
    fate = torch.rand(tokens.shape, generator=g)
    inputs = torch.where(chosen & (fate < 0.9), torch.randint(vocab_size // 2, tokens.shape, generator=g), tokens)
    return torch.where(chosen & (fate < 0.8), mask_id, inputs), torch.where(chosen, tokens, -100)


@right("find_masker_fault: counted in a loop")
def _(masker, tokens, special, mask_id):
    ordinary = ~sum((tokens == s for s in special), torch.zeros_like(tokens)).bool()
    total = chosen_total = hidden = kept = 0
    for seed in range(100, 140):
        inputs, labels = masker(tokens, seed)
        chosen = labels >= 0
        if chosen[~ordinary].any():
            return "special"
        if not torch.equal(labels[chosen], tokens[chosen]):
            return "labels"
        total, chosen_total = total + int(ordinary.sum()), chosen_total + int(chosen.sum())
        hidden, kept = hidden + int((inputs[chosen] == mask_id).sum()), kept + int((inputs == tokens)[chosen].sum())
    if not 0.14 < chosen_total / total < 0.16:
        return "rate"
    return "none" if 0.77 < hidden / chosen_total < 0.83 and 0.08 < kept / chosen_total < 0.12 else "shares"


@right("find_masker_fault: one long text")
def _(masker, tokens, special, mask_id):
    x = tokens.repeat(30, 1)
    inputs, labels = masker(x, 7)
    chosen, ordinary = labels != -100, torch.tensor([t not in special for t in x.flatten().tolist()]).reshape(x.shape)
    shares = torch.tensor([(inputs == mask_id)[chosen].sum(), (inputs == x)[chosen].sum()]) / chosen.sum()
    verdicts = {"special": bool((chosen & ~ordinary).any()), "labels": bool((labels[chosen] != x[chosen]).any()),
                "rate": abs(float(chosen.sum() / ordinary.sum()) - 0.15) > 0.01,
                "shares": bool((shares - torch.tensor([0.8, 0.1])).abs().max() > 0.025)}
    return next((name for name, broken in verdicts.items() if broken), "none")


@wrong("find_masker_fault: always the shares")
def _(masker, tokens, special, mask_id):
    return "shares"


@wrong("find_masker_fault: never the rate")
def _(masker, tokens, special, mask_id):
    inputs, labels = masker(tokens.repeat(30, 1), 7)
    x, chosen = tokens.repeat(30, 1), labels != -100
    if (chosen & torch.isin(x, torch.tensor(special))).any():
        return "special"
    if (labels != x)[chosen].any():
        return "labels"
    hidden, kept = ((part & chosen).sum() / chosen.sum() for part in (inputs == mask_id, inputs == x))
    return "none" if abs(hidden - 0.8) < 0.02 and abs(kept - 0.1) < 0.02 else "shares"


@wrong("find_masker_fault: special after the rest")
def _(masker, tokens, special, mask_id):
    x = tokens.repeat(30, 1)
    inputs, labels = masker(x, 7)
    rate = (labels != -100).sum() / (~torch.isin(x, torch.tensor(special))).sum()
    return "rate" if abs(rate - 0.15) > 0.002 else "none"
