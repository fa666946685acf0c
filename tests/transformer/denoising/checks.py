"""What right noises, sentinels, orders and objectives do. The tests ask it of the library, the mutants are caught by it."""
from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from course_lib.contract import check_all, check_causal, check_views_agree
from course_lib.transformer import BERT, BERTConfig, PretrainingBatch, mask_tokens
from tests.support.random import normal, redrawn, rng
from tests.support.tensors import same

MASK, END = 0, 9
TEXT = torch.tensor([3, 4, 9, 5, 6, 7, 9, 8, 9, 3, 3, 9, 4, 4])      # five sentences, the last without its end
LONG = torch.arange(1, 41)


# --- BART's noises ---------------------------------------------------------------------------------------------------


def masks_tokens_in_place(m):
    masked = torch.stack([m.token_masking(LONG, MASK, 0.3, rng(seed)) for seed in range(300)])
    assert masked.shape == (300, 40) and ((masked == MASK) | (masked == LONG)).all()
    share = (masked == MASK).double().mean(dim=0)
    assert abs(share.mean() - 0.3) < 0.02 and share.min() > 0.15     # every place, the ends too
    assert torch.equal(m.token_masking(LONG, MASK, 0), LONG) and (m.token_masking(LONG, MASK, 1) == MASK).all()


def deletes_without_a_trace(m):
    lengths = []
    for seed in range(200):
        left = m.token_deletion(LONG, 0.3, rng(seed))
        assert torch.equal(left, left.sort().values) and torch.isin(left, LONG).all()
        lengths.append(len(left))
    assert abs(sum(lengths) / 200 - 28) < 0.8 and len(set(lengths)) > 5
    assert torch.equal(m.token_deletion(LONG, 0), LONG) and len(m.token_deletion(LONG, 1)) == 0


def infills_spans(m):
    """What stays is in its order; the covered share is exact; empty spans add masks; every place is reached."""
    masks, seen, lengths, where = [], torch.zeros(40), Counter(), Counter()
    for seed in range(400):
        read = m.text_infilling(LONG, MASK, 0.3, 3.0, rng(seed))
        kept = read[read != MASK]
        assert torch.equal(kept, kept.sort().values) and len(kept) == 28
        seen += torch.isin(LONG, kept, invert=True)
        masks.append(int((read == MASK).sum()))
        where[int((read == MASK).nonzero()[0])] += 1
        gaps = [list(g) for is_mask, g in itertools.groupby(read.tolist(), key=lambda t: t == MASK) if is_mask]
        lengths.update(map(len, gaps))
    assert (seen[4:-4] / 400 - 0.3).abs().max() < 0.1 and seen.min() > 30   # the edges lie in fewer spans
    assert 4 < sum(masks) / 400 < 5                                  # 12 tokens in spans of 3, the last one cut
    assert where[0] > 20
    empty = [m.text_infilling(LONG, MASK, 0.025, 1e-3, rng(seed)) for seed in range(3)]
    for read in empty:                                               # nearly all spans of length 0, one of length 1
        assert (read == MASK).sum() > 20 and (read != MASK).sum() == 39
    assert torch.equal(m.text_infilling(LONG, MASK, 0), LONG)
    assert set(m.text_infilling(LONG, MASK, 1, generator=rng()).tolist()) == {MASK}


def permutes_sentences(m):
    """What is inside a sentence stays; all orders come, equally often."""
    parts = m.split_sentences(TEXT, END)
    assert [p.tolist() for p in parts] == [[3, 4, 9], [5, 6, 7, 9], [8, 9], [3, 3, 9], [4, 4]]
    first = TEXT[:9]                                                 # three sentences
    found = Counter(tuple(m.sentence_permutation(first, END, rng(seed)).tolist()) for seed in range(900))
    expected = {tuple(torch.cat(order).tolist()) for order in itertools.permutations(m.split_sentences(first, END))}
    assert set(found) == expected and min(found.values()) > 105 and max(found.values()) < 200


def rotates(m):
    found = Counter(tuple(m.document_rotation(LONG[:6], rng(seed)).tolist()) for seed in range(600))
    assert set(found) == {tuple(LONG[:6].roll(-k).tolist()) for k in range(6)}
    assert min(found.values()) > 65


# --- T5's sentinels --------------------------------------------------------------------------------------------------


def gives_the_text_back(m):
    """The pair holds the text, and nothing twice; the sentinels come in order, one more ends the target."""
    marks = list(range(100, 130))
    for seed, length in itertools.product(range(30), (2, 3, 7, 40)):
        text = torch.randint(1, 50, (length,), generator=rng(seed))
        for rate, mean in ((0.15, 3), (0.5, 1), (0.5, 2.5), (0.9, 3), (0, 3), (1, 3)):
            read, target = m.span_corruption(text, marks, rate, mean, rng(seed))
            assert torch.equal(m.restore(read, target, marks), text)
            used = [t for t in read.tolist() if t >= 100]
            assert used == marks[:len(used)] and [t for t in target.tolist() if t >= 100] == marks[:len(used) + 1]
            assert target[-1] == marks[len(used)] and len(read) + len(target) == length + 2 * len(used) + 1
            neighbours = read >= 100
            assert not (neighbours[1:] & neighbours[:-1]).any()


def covers_its_share(m):
    """Spans over the rounded share, of the mean length, at every place of the text alike but for the ends' edges."""
    seen, sizes = torch.zeros(40), Counter()
    for seed in range(600):
        read, target = m.span_corruption(LONG, range(100, 120), 0.15, 3, rng(seed))
        gone = target[target < 100]
        assert len(gone) == 6 and (read >= 100).sum() == 2
        seen[gone - 1] += 1
        sizes[len(m.restore(torch.tensor([100]), target, range(100, 120)))] += 1
    share = seen / 600
    assert abs(share.mean() - 0.15) < 1e-6 and share[0] > 0.02 and share[-1] > 0.02 and share[5:35].min() > 0.09
    assert set(sizes) == {1, 2, 3, 4, 5} and min(sizes.values()) > 80     # every way to write 6 as a sum of two


def refuses_what_is_no_pair(m):
    marks = [100, 101, 102]
    for read, target, said in (([100, 5], [5, 100], "starts with 5"), ([100, 5], [100, 7, 100], "twice"),
                               ([100, 5, 101], [100, 7], "lacks the sentinel 101")):
        with pytest.raises(ValueError, match=said):
            m.restore(torch.tensor(read), torch.tensor(target), marks)
    with pytest.raises(ValueError, match="sentinels has 2 tokens; expected at least 3"):
        m.span_corruption(LONG, [100, 101], 0.15, 3, rng())
    with pytest.raises(ValueError, match="contains 7, which is one of the sentinels"):
        m.span_corruption(LONG, [7, 100, 101], 0.15, 3, rng())
    for rate in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="rate is"):
            m.span_corruption(LONG, marks, rate)


# --- static and dynamic ----------------------------------------------------------------------------------------------


def is_static_or_not(m):
    tokens = torch.randint(5, 30, (20, 12), generator=rng())
    options = dict(mask_id=4, vocab_size=30, special=range(4), rate=0.3)
    rows = torch.tensor([3, 0, 7])
    fixed = m.StaticMasking(tokens, copies=3, generator=rng(1), **options)
    reads = [fixed(rows, epoch) for epoch in range(6)]
    for e in range(3):
        assert torch.equal(reads[e].tokens, reads[e + 3].tokens) and torch.equal(reads[e].chosen, reads[e + 3].chosen)
    assert not torch.equal(reads[0].chosen, reads[1].chosen)
    assert ((reads[0].tokens == tokens[rows]) | reads[0].chosen).all()
    real = torch.ones(20, 12, dtype=torch.bool)
    real[:, 6:] = False
    anew = m.DynamicMasking(tokens, generator=rng(1), mask=real, **options)
    a, b = anew(rows, 0), anew(rows, 0)
    assert not torch.equal(a.chosen, b.chosen) and not a.chosen[:, 6:].any()
    assert ((a.tokens == tokens[rows]) | a.chosen).all()
    assert torch.equal(a.chosen, mask_tokens(tokens[rows], mask=real[rows], generator=rng(1), **options).chosen)


# --- XLNet -----------------------------------------------------------------------------------------------------------


def xlnet(m, order=(2, 0, 3, 1), V=3, layers=2):
    torch.manual_seed(0)
    return m.XLNet(V, len(order), order, d_model=8, layers=layers)


def masks_by_order(m):
    order = [2, 0, 3, 1]                                             # not its own inverse
    content, query = m.order_masks(order)
    for i, j in itertools.product(range(4), repeat=2):
        assert query[i, j] == (order.index(j) < order.index(i)) and content[i, j] == (order.index(j) <= order.index(i))
    content, query = m.order_masks(range(5))
    assert torch.equal(content, torch.ones(5, 5).tril().bool()) and torch.equal(query, torch.ones(5, 5).tril(-1).bool())


def keeps_the_contract(m):
    for order in ((2, 0, 3, 1), (0, 1, 2), (3, 2, 1, 0)):
        check_all(xlnet(m, order))


def sums_to_one_in_every_order(m):
    """The same weights under all 24 orders: each a distribution, no two of them the same."""
    model = redrawn(xlnet(m))
    every = torch.cartesian_prod(*[torch.arange(3)] * 4)
    tables = []
    for order in itertools.permutations(range(4)):
        other = model.reordered(order)
        assert other.tokens.weight is model.tokens.weight and other.order.tolist() == list(order)
        tables.append(other.log_prob(every).exp())
        same(tables[-1].sum(), torch.ones((), dtype=torch.float64), 1e-10)
    assert model.order.tolist() == [2, 0, 3, 1]
    tables = torch.stack(tables).detach()
    assert (torch.cdist(tables, tables) + torch.eye(24) > 1e-4).all()


def equals_masked_passes(m):
    """Each factor by a pass of its own: the words told so far, in their order, and one vector that asks."""
    model = redrawn(xlnet(m, (2, 0, 3, 1), V=5))
    x = torch.randint(5, (3, 4), generator=rng())
    want, order = torch.zeros(3, 4, 5, dtype=torch.float64), model.order.tolist()
    for k, i in enumerate(order):
        told = order[:k]
        rows = torch.cat([model.tokens(x[:, told]) + model.positions.weight[told],
                          (model.asked + model.positions.weight[i]).expand(3, 1, -1)], dim=1)      # (3, k + 1, D)
        mask = torch.ones(k + 1, k + 1).tril().bool()
        mask[k, k] = False                                           # what asks is not read, not even by itself
        for block in model.blocks:
            rows = block(rows, mask)
        want[:, i] = (rows[:, -1] @ model.tokens.weight.T + model.bias).log_softmax(-1)
    same(model.conditionals(x).logits, want, 1e-10)
    parameters = list(model.parameters())
    weight = normal(3, 4, 5, seed=3)
    for got, expected in zip(torch.autograd.grad((weight * model.conditionals(x).logits).sum(), parameters),
                             torch.autograd.grad((weight * want).sum(), parameters)):
        same(got, expected, 1e-9)


def asks_for_the_last(m):
    model = redrawn(xlnet(m, (0, 1, 2, 3), V=5))
    x, order = torch.randint(5, (6, 4), generator=rng()), [3, 1, 0, 2]
    log_p = model.reordered(order).conditionals(x).log_prob(x)
    loss, count = model.loss_in(x, order, last=2)
    same(loss, -log_p[:, [0, 2]].mean(), 1e-10)
    assert count == 12
    same(model.loss_in(x, order)[0], -log_p.mean(), 1e-10)


# --- ELECTRA ---------------------------------------------------------------------------------------------------------


def electra(m):
    torch.manual_seed(0)
    small, large = (BERT(BERTConfig(vocab_size=9, window=8, layers=1, heads=2, d_model=d, dropout=0)) for d in (4, 8))
    model = redrawn(m.ELECTRA(small, large, weight=7.0))
    tokens = torch.randint(5, 9, (40, 6), generator=rng(1))
    mask = torch.ones(40, 6, dtype=torch.bool)
    mask[1::2, 4:] = False
    read = mask_tokens(tokens, 4, 9, range(4), mask, 0.4, generator=rng(2))
    return model, PretrainingBatch(read.tokens, torch.zeros_like(tokens), mask, read.chosen, tokens)


def labels_what_was_put_in(m):
    targets = torch.tensor([[5, 6, 7, 8]])
    chosen, drawn = torch.tensor([[True, True, False, False]]), torch.tensor([[5, 8, 8, 8]])
    found = m.replace(targets, chosen, drawn)
    assert found.tokens.tolist() == [[5, 8, 7, 8]] and found.replaced.tolist() == [[False, True, False, False]]


def asks_at_every_place(m):
    """The loss is the generator's over the gaps and the discriminator's over all real tokens; its gradients likewise."""
    model, batch = electra(m)
    loss, count = model.loss(batch, rng(3))
    asked = model.put_in(batch, rng(3))
    logits = model.head(model.discriminator(asked.tokens, batch.token_types, batch.mask).tokens)
    told, num = 0.0, 0
    for b, t in batch.mask.nonzero().tolist():
        wrong = asked.tokens[b, t] != batch.targets[b, t]
        told, num = told - F.logsigmoid(logits[b, t] if wrong else -logits[b, t]), num + 1
    scores, _ = model.generator.pretraining_logits(batch.tokens, batch.token_types, batch.mask)
    gaps = F.cross_entropy(scores[batch.chosen], batch.targets[batch.chosen])
    want = gaps + 7.0 * told / num
    same(loss, want, 1e-9)
    assert count == num == int(batch.mask.sum())
    parameters = list(model.parameters())
    for got, expected in zip(torch.autograd.grad(loss, parameters, allow_unused=True),
                             torch.autograd.grad(want, parameters, allow_unused=True)):
        assert (got is None) == (expected is None)
        if got is not None:
            same(got, expected, 1e-9)


def draws_from_the_generator(m):
    model, batch = electra(m)
    one = PretrainingBatch(*(part[:1].expand(6000, -1) for part in batch[:5]))
    drawn = model.put_in(one, rng(4)).tokens
    scores, _ = model.generator.pretraining_logits(*(part[:1] for part in (batch.tokens, batch.token_types, batch.mask)))
    for t in range(6):
        if not batch.chosen[0, t]:
            assert (drawn[:, t] == batch.targets[0, t]).all()
            continue
        share = F.one_hot(drawn[:, t], 9).double().mean(dim=0)
        assert (share - scores[0, t].softmax(-1)).abs().max() < 0.025
    assert batch.chosen[0].any()


# --- DeBERTa ---------------------------------------------------------------------------------------------------------


def is_the_sum_of_three(m):
    """Every score written out for one pair of words and one head."""
    torch.manual_seed(0)
    attend = redrawn(m.DisentangledAttention(12, 3, span=3))
    x, K = normal(2, 8, 12), 4
    R = attend.distances.weight
    want = torch.zeros(2, 3, 8, 8, dtype=torch.float64)
    for b, h, i, j in itertools.product(range(2), range(3), range(8), range(8)):
        part = slice(h * K, (h + 1) * K)
        q, k = attend.q(x[b, i])[part], attend.k(x[b, j])[part]
        ij, ji = (min(max(d + 3, 0), 5) for d in (i - j, j - i))
        want[b, h, i, j] = q @ k + q @ attend.k_r(R[ij])[part] + k @ attend.q_r(R[ji])[part]
    alpha = (want / (3 * K) ** 0.5).softmax(-1)
    same(attend.weights(x), alpha, 1e-9)
    v = attend.v(x).view(2, 8, 3, K).transpose(1, 2)
    out = attend.out((alpha @ v).transpose(1, 2).reshape(2, 8, 12))
    same(attend(x), out, 1e-9)
    parameters = list(attend.parameters())
    weight = normal(2, 8, 12, seed=3)
    for got, expected in zip(torch.autograd.grad((weight * attend(x)).sum(), parameters),
                             torch.autograd.grad((weight * out).sum(), parameters)):
        same(got, expected, 1e-8)


def knows_distances_alone(m):
    """The same words three places on are weighed alike; without the terms of distance, in any order."""
    attend = redrawn(m.DisentangledAttention(12, 3, span=3))
    x = normal(1, 5, 12).repeat(1, 2, 1)
    w = attend.weights(x, torch.block_diag(torch.ones(5, 5), torch.ones(5, 5)).bool())
    same(w[:, :, :5, :5], w[:, :, 5:, 5:], 1e-10)
    content = redrawn(m.DisentangledAttention(12, 3, 3, m.TERMS[:1]))
    order = torch.tensor([3, 1, 4, 0, 2])
    same(content(x[:, :5][:, order]), content(x[:, :5])[:, order], 1e-10)
    same(attend.weights(x, torch.zeros(10, 10, dtype=torch.bool)), torch.zeros(1, 3, 10, 10, dtype=torch.float64), 0)


# --- Pegasus ---------------------------------------------------------------------------------------------------------


def is_rouge(m):
    a, b = "the cat sat on the mat".split(), "the the the cat lay on a mat".split()
    one = m.rouge_n(a, b)
    assert (one.precision, one.recall) == (5 / 6, 5 / 8) and abs(one.f1 - 5 / 7) < 1e-12
    two = m.rouge_n(a, b, 2)                                         # "the cat" alone
    assert (two.precision, two.recall) == (1 / 5, 1 / 7)
    common = m.rouge_l(a, b)                                         # the cat on mat
    assert (common.precision, common.recall) == (4 / 6, 4 / 8)
    assert m.rouge_l([], b).f1 == 0 == m.rouge_n(a, ["x"]).f1 and m.rouge_n(a, a).f1 == 1 == m.rouge_l(a, a).f1
    for seed in range(20):                                           # against every subsequence
        x, y = (torch.randint(3, (6,), generator=rng(s)).tolist() for s in (seed, seed + 50))
        subs = [{tuple(t[i] for i in c) for r in range(7) for c in itertools.combinations(range(6), r)} for t in (x, y)]
        assert m.rouge_l(x, y).precision == max(map(len, subs[0] & subs[1])) / 6


def takes_what_says_most(m):
    text = [s.split() for s in ("it was cold", "the boat sank in the cold sea", "nobody swims",
                                "the boat and the sea were old")]
    scores = [m.rouge_n(text[i], [w for j, s in enumerate(text) if j != i for w in s]).f1 for i in range(4)]
    best = sorted(range(4), key=lambda i: -scores[i])
    found = m.gap_sentences(text, 2)
    assert found.chosen == sorted(best[:2]) and found.target == [text[i] for i in found.chosen]
    assert [s == ["[MASK1]"] for s in found.read] == [i in found.chosen for i in range(4)]
    pairs = {p: m.rouge_n(text[p[0]] + text[p[1]], [w for j in range(4) if j not in p for w in text[j]]).f1
             for p in itertools.combinations(range(4), 2)}
    second = max((i for i in range(4) if i != best[0]), key=lambda i: pairs[tuple(sorted((best[0], i)))])
    assert m.gap_sentences(text, 2, "sequential").chosen == sorted((best[0], second)) != found.chosen
    assert m.gap_sentences(text, 2, "lead").chosen == [0, 1]
    drawn = Counter(tuple(m.gap_sentences(text, 2, "random", generator=rng(s)).chosen) for s in range(300))
    assert len(drawn) == 6 and min(drawn.values()) > 25


# --- T5's distances --------------------------------------------------------------------------------------------------


def buckets_distances(m):
    """Exact buckets first, then logarithmic ones, the two directions apart; a decoder sees no future."""
    offsets = torch.arange(-300, 301)
    for buckets, distance in ((32, 128), (8, 20)):
        half, near = buckets // 2, buckets // 4
        got = m.bucket(offsets, buckets, distance)
        for o, b in zip(offsets.tolist(), got.tolist()):
            away, side = abs(o), half if o > 0 else 0
            assert b - side == away if away < near else near <= b - side < half
            if away >= distance:
                assert b - side == half - 1
        past = m.bucket(offsets, buckets, distance, both=False)
        assert (past[offsets >= 0] == 0).all() and past[300 - half + 1:301].tolist() == list(range(half))[::-1]
        assert (past[:301].diff() <= 0).all() and past.max() == buckets - 1


def t5_steps(m):
    torch.manual_seed(0)
    c = m.T5Config(source=5, target=5, pad_id=0, bos_id=0, eos_id=1, d_model=8, heads=2, d_kv=3, d_ff=12,
                   encoder_layers=2, decoder_layers=2, dropout=0.0, buckets=4, distance=5)
    model, source = m.T5(c), torch.tensor([[3, 4, 2, 1, 0], [4, 1, 0, 0, 0]])
    check_causal(model, length=4, context=source[:1])
    check_views_agree(model, length=5, context=source)
