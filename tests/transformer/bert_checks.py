"""What a right BERT does, and what is right about the text it is given. Asked of the library, and of its mutants."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from course_lib.transformer.bert import BERT, PretrainingBatch
from tests.support.random import redrawn, rng
from tests.support.tensors import same

TOKENS = torch.randint(2, 11, (3, 8), generator=rng())
TYPES = (torch.arange(8) >= torch.tensor([3, 5, 2])[:, None]).long()
MASK = torch.arange(8) < torch.tensor([8, 6, 4])[:, None]


def small_bert(module=None, **changes):
    cls = BERT if module is None else module.BERT
    sizes = {"vocab_size": 11, "window": 10, "layers": 2, "heads": 3, "d_model": 12, "d_ff": 20, "dropout": 0.1}
    return redrawn(cls({**sizes, **changes}), scale=2.0)


def reads_both_sides_and_no_padding(module):
    model = small_bert(module)
    embedded = model.tokens(TOKENS).detach().requires_grad_()
    hook = model.tokens.register_forward_hook(lambda *_: embedded)
    hidden = model(TOKENS, TYPES, MASK).tokens
    for t in range(4):
        g, = torch.autograd.grad(hidden[:, t].square().sum(), embedded, retain_graph=True)
        reads = g.abs().amax(dim=-1)
        assert (reads[~MASK] == 0).all() and (reads[MASK] > 1e-9).all()
    hook.remove()


def padding_changes_nothing(module):
    model = small_bert(module)
    together = model.pretraining_logits(TOKENS, TYPES, MASK)
    for b, n in enumerate((8, 6, 4)):
        alone = model.pretraining_logits(TOKENS[b:b + 1, :n], TYPES[b:b + 1, :n])
        same(together[0][b, :n], alone[0][0])
        same(together[1][b], alone[1][0])


def loss_is_on_the_chosen(module):
    """The kept ones included; no position that was not chosen; 0 says "next"."""
    model = small_bert(module)
    chosen = (torch.rand(3, 8, generator=rng(5)) < 0.4) & MASK
    read = TOKENS.clone()
    read[0, 1] = 1
    follows = torch.tensor([True, False, True])
    tokens, sentence = model.pretraining_logits(read, TYPES, MASK)
    want = F.cross_entropy(tokens[chosen], TOKENS[chosen])
    loss, count = model.loss(PretrainingBatch(read, TYPES, MASK, chosen, TOKENS))
    same(loss, want)
    assert count == chosen.sum()
    log_p = sentence.log_softmax(-1)
    both, _ = model.loss(PretrainingBatch(read, TYPES, MASK, chosen, TOKENS, follows))
    same(both - loss, -(log_p[0, 0] + log_p[1, 1] + log_p[2, 0]) / 3)
    transformed = model.mlm.norm(F.gelu(model.mlm.transform(model(read, TYPES, MASK).tokens)))
    same(tokens, transformed @ model.tokens.weight.T + model.mlm.bias)


def masks_as_the_paper(mask_tokens, rows=400):
    """Shares within four standard errors; specials and padding untouched. 500 tokens per row."""
    V, special = 1000, [0, 1, 2]
    tokens = torch.randint(V, (rows, 500), generator=rng())
    mask = torch.arange(500) < torch.randint(100, 501, (rows, 1), generator=rng(1))
    read, chosen = mask_tokens(tokens, 3, V, special, mask, generator=rng(2))
    ordinary = mask & (tokens > 3)
    assert not (chosen & ~ordinary).any() and torch.equal(read[~chosen], tokens[~chosen])
    close(chosen.sum(), ordinary.sum(), 0.15)
    hidden, other = chosen & (read == 3), chosen & (read != 3) & (read != tokens)
    close(hidden.sum(), chosen.sum(), 0.8)
    close(other.sum(), chosen.sum(), 0.1 * (1 - 1 / 996))            # a random token may be the same
    new = read[other]
    assert not torch.isin(new, torch.tensor([0, 1, 2, 3])).any()
    counts = torch.bincount(new, minlength=V)[4:].double()
    statistic = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert abs(statistic - 995) < 5 * (2 * 995) ** 0.5, "replacements are spread evenly"
    columns = chosen[:, :100].double().sum(0) / ordinary[:, :100].double().sum(0)
    assert (columns - 0.15).abs().max() < 5 * (0.15 * 0.85 / rows) ** 0.5, "everywhere alike"


def close(seen, total, share):
    seen, total = float(seen), float(total)
    assert abs(seen / total - share) < 4 * (share * (1 - share) / total) ** 0.5, f"{seen / total:.4f}, not {share}"


def pairs_as_the_paper(sentence_pairs, count=400, words=2):
    """Half follow; the others are of another document, each sentence of all others as likely as the next.

    `count` documents of 1 to 11 sentences; a sentence's first two words say which document and where in it.
    """
    sizes = torch.randint(1, 12, (count,), generator=rng()).tolist()
    docs = [[torch.tensor([d, i] + [0] * (words - 2)) for i in range(n)] for d, n in enumerate(sizes)]
    pairs = sentence_pairs(docs, rng(1))
    assert len(pairs) == sum(n - 1 for n in sizes)
    assert sorted(tuple(p.first[:2].tolist()) for p in pairs) == [(d, i) for d, n in enumerate(sizes) for i in range(n - 1)]
    close(sum(p.next for p in pairs), len(pairs), 0.5)
    for a, b, follows in pairs:
        if follows:
            assert a[0] == b[0] and b[1] == a[1] + 1
        else:
            assert a[0] != b[0]
    second = torch.stack([p.second for p in pairs if not p.next])
    close_to_the_middle = 4 * count / (12 * len(second)) ** 0.5
    assert abs(second[:, 0].double().mean() - (count - 1) / 2) < close_to_the_middle and (second[:, 1] == 0).any()
    few = [[torch.tensor([0, i]) for i in range(300)], [torch.tensor([1, 0])], [torch.tensor([2, 0])]]
    few = sentence_pairs(few, rng())
    strangers = torch.tensor([int(p.second[0]) for p in few if not p.next])
    close((strangers == 1).sum(), len(strangers), 0.5)
