"""What a right search or sampler does. The mutants are caught by it."""
from __future__ import annotations

import math
from itertools import product

import torch
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.decoding import exhaustive, greedy, reshape
from course_lib.density import FVSBN, Tabular
from course_lib.transformer import left_pad
from tests.support.random import redrawn, rng
from tests.support.tensors import same
from tests.transformer.checks import small

F64 = torch.float64


class Tree(AutoregressiveModel):
    """Next-token probabilities written down for every beginning: {(): [...], (0,): [...]}; uniform elsewhere."""

    def __init__(self, V, table):
        super().__init__(None, Categorical(V))
        self.V, self.table = V, table
        self.anchor = nn.Parameter(torch.zeros(1, dtype=F64))

    def conditionals(self, x, context=None):
        p = [[self.table.get(tuple(row[:t]), [1 / self.V] * self.V) for t in range(len(row))] for row in x.tolist()]
        return self.conditional(torch.tensor(p, dtype=F64).log())


def models():
    """Of several kinds: sequences with an end, and a fixed number of variables in an order of their own."""
    return [(small(vocab_size=3), 4), (small(vocab_size=4, bos_id=2), 3),
            (redrawn(FVSBN(5, order=[2, 0, 3, 4, 1])), None), (random_table(), None)]


def random_table():
    model = Tabular(4, order=[1, 3, 0, 2]).double()
    model.randomize(rng(2))
    return model


def wide_beam_is_exhaustive(beam_search):
    """With room for all sequences: the same ones in the same order with the same scores, for every exponent."""
    for model, length in models():
        for end in (None, 1) if length else (None,):
            for exponent in (0.0, 0.6, 1.0):
                V, n = model.conditional.num_values, length or model.n
                count = V ** n if end is None else sum((V - 1) ** t for t in range(n)) + (V - 1) ** n
                best = min(5, count)
                want = exhaustive(model, length, eos_id=end, num_return=best, length_penalty=exponent)
                got = beam_search(model, length, beams=V ** n, num_return=best, length_penalty=exponent, eos_id=end)
                same(got.score, want.score)
                T = want.tokens.shape[-1]
                assert got.tokens[..., :T].tolist() == want.tokens.tolist()
                assert got.length.tolist() == want.length.tolist()
                for tokens, size, log_p in zip(got.tokens[0], got.length[0], got.log_prob[0]):
                    x = tokens[None, :size] if end is not None else tokens[None]
                    same(model.log_prob(x)[0], log_p, 1e-8)


def narrow_beam_is_the_plain_loop(beam_search):
    """Against a beam search in plain Python, hypotheses in a list: several trees, widths and exponents."""
    for seed in range(6):
        tree = random_tree(seed)
        for beams in (1, 2, 3):
            for exponent in (0.0, 0.6, 1.0, 2.0):
                want = beams_in_a_list(tree, 5, beams, exponent, end=1)
                got = beam_search(tree, 5, beams=beams, num_return=len(want), length_penalty=exponent, eos_id=1)
                assert [t[:n] for t, n in zip(got.tokens[0].tolist(), got.length[0].tolist())] == [w[1] for w in want]
                same(got.score[0], torch.tensor([w[0] for w in want], dtype=F64))


def random_tree(seed, V=4, depth=5):
    """Every distribution after every beginning drawn anew; some sharp, some flat."""
    generator, table = rng(seed), {}
    for t in range(depth):
        for prefix in product(range(V), repeat=t):
            table[prefix] = (1.5 * torch.randn(V, generator=generator, dtype=F64)).softmax(-1).tolist()
    return Tree(V, table)


def beams_in_a_list(tree, length, beams, exponent, end):
    """The finished hypotheses, best first: (score, tokens)."""
    running, finished = [(0.0, [])], []
    for t in range(1, length + 1):
        every = []
        for log_p, tokens in running:
            every += [(log_p + math.log(p), [*tokens, v]) for v, p in enumerate(tree.table[tuple(tokens)])]
        every = sorted(every, reverse=True)[:2 * beams]
        over = [h[1][-1] == end or t == length for h in every]
        finished += [(p / t ** exponent, tokens) for (p, tokens), o in zip(every[:beams], over) if o]
        finished = sorted(finished, reverse=True)[:beams]
        running = [h for h, o in zip(every, over) if not o][:beams]
        if not running or len(finished) == beams and running[0][0] / t ** exponent <= finished[-1][0]:
            break
    return finished


def width_one_is_greedy(beam_search):
    for model, length in models():
        one, plain = beam_search(model, length, beams=1), greedy(model, length)
        assert one.tokens[:, 0].tolist() == plain.tokens.tolist()
        same(one.log_prob[:, 0], plain.log_prob)


def rows_of_a_batch_are_alone(decode):
    """Prompts of unequal lengths: each row gets what it gets by itself."""
    model = redrawn(small(vocab_size=5, bos_id=None), seed=2, scale=4.0)           # some of its rows end early on a 2
    prompts = [[1, 2, 3], [4], [2, 0], [3, 3, 3, 3]]
    together = decode(model, 8, left_pad(prompts))
    assert together.length.unique().numel() > 1, "a test of unequal lengths"
    for b, prompt in enumerate(prompts):
        alone = decode(model, 8, torch.tensor([prompt]))
        T = alone.tokens.shape[-1]
        assert together.tokens[b:b + 1, ..., :T].tolist() == alone.tokens.tolist()
        assert together.length[b:b + 1].tolist() == alone.length.tolist()
        same(together.score[b:b + 1], alone.score)


def takes_the_best_step(greedy):
    """The slide's tree: greedy writes yes, yes, and misses ok, ok, which is likelier."""
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8], (1, 1): [1, 0, 0],
                    (2, 2): [1, 0, 0]})
    found = greedy(tree, 5, eos_id=0)
    assert found.tokens.tolist() == [[1, 1, 0]] and found.length.tolist() == [3]
    same(found.log_prob, torch.tensor([0.5 * 0.4], dtype=F64).log())
    assert greedy(Tree(3, {(): [0.6, 0.3, 0.1]}), 4, eos_id=0, batch=2).tokens.tolist() == [[0], [0]]


def keeps_top_k(keep_top_k):
    log_p = torch.tensor([0.4, 0.1, 0.1, 0.3, 0.1]).log()
    assert keep_top_k(log_p, 1).tolist() == [1, 0, 0, 0, 0]
    assert keep_top_k(log_p, 3).tolist() == [1, 1, 1, 1, 1], "all that tie with the third stay"
    assert keep_top_k(log_p, 2).tolist() == [1, 0, 0, 1, 0]
    assert keep_top_k(log_p, 99).all()


def keeps_top_p(keep_top_p):
    log_p = torch.tensor([[0.125, 0.5, 0.25, 0.125], [0.25, 0.25, 0.25, 0.25]]).log()
    for p, want in ((0.5, [0, 1, 0, 0]), (0.51, [0, 1, 1, 0]), (0.75, [0, 1, 1, 0]), (0.76, [0, 1, 1, 1]),
                    (1.0, [1, 1, 1, 1]), (1e-9, [0, 1, 0, 0])):
        assert keep_top_p(log_p, p)[0].tolist() == want, f"p = {p}"
    assert keep_top_p(log_p, 0.5)[1].sum() == 2 and keep_top_p(log_p, 1e-9)[1].sum() == 1


def reshapes(reshape):
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=F64)
    same(reshape(p.log(), 0.5).exp(), p ** 2 / (p ** 2).sum())
    same(reshape(p.log(), 2.0).exp(), p.sqrt() / p.sqrt().sum())
    assert reshape(p.log(), 0.0).exp().tolist() == [1, 0, 0, 0]
    assert reshape(torch.tensor([0.2, 0.4, 0.4]).log(), 0.0).exp().tolist() == [0, 1, 0]           # one of a tie
    same(reshape(p.log(), 1.0, 2).exp(), torch.tensor([0.625, 0.375, 0, 0], dtype=F64))
    same(reshape(p.log(), 1.0, None, 0.79).exp(), torch.tensor([0.625, 0.375, 0, 0], dtype=F64))
    same(reshape(p.log(), 1.0, 3, 0.9).exp(), torch.tensor([0.5, 0.3, 0.15, 0], dtype=F64) / 0.95)   # of 3, not of 4
    flat = reshape(p.log(), 4.0, None, 0.5).exp()                    # temperature comes first: then two do not do
    assert (flat > 0).sum() == 2 and (reshape(p.log(), 0.1, None, 0.9) > -torch.inf).sum() == 1


def frequencies_fit(decoded, expected):
    """Chi-square of the rows seen against expected probabilities {tokens: p}."""
    num = len(decoded)
    seen = {key: 0 for key in expected}
    for row in decoded:
        seen[tuple(row)] += 1                                        # KeyError: what was drawn is impossible
    statistic = sum((seen[key] - num * p) ** 2 / (num * p) for key, p in expected.items())
    freedom = len(expected) - 1
    tail = torch.special.gammaincc(torch.tensor(freedom / 2).double(), torch.tensor(statistic / 2).double()).item()
    assert tail > 1e-4, f"chi-square {statistic:.0f} on {freedom}"


def draws_what_it_says(sample):
    """Frequencies of whole sequences, with an end, under temperature, top-k and top-p; variables in an order."""
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8]})
    for options in ({}, {"temperature": 0.5}, {"top_k": 2}, {"temperature": 2.0, "top_p": 0.8}):
        changed = Tree(3, {key: reshape(torch.tensor(p, dtype=F64).log(), **options).exp().tolist()
                           for key, p in tree.table.items()})
        law = exhaustive(changed, 2, eos_id=0, num_return=99)
        law = {tuple(t): p for t, p in zip(law.tokens[0].tolist(), law.log_prob[0].exp().tolist()) if p > 0}
        got = sample(tree, 2, batch=3000, eos_id=0, generator=rng(), **options)
        frequencies_fit(got.tokens.tolist(), law)
        same(got.score.exp(), torch.tensor([law[tuple(t)] for t in got.tokens.tolist()]).double(), 1e-6)
    model = random_table()
    got = sample(model, batch=4000, generator=rng(1))
    same(got.log_prob, model.log_prob(got.tokens), 1e-8)
    law = {tuple(s): p for s, p in zip(*all_of(model))}
    frequencies_fit(got.tokens.tolist(), law)


def all_of(model):
    states = torch.cartesian_prod(*[torch.arange(2)] * model.n)
    return states.tolist(), model.log_prob(states).exp().tolist()


def draws_the_same_first_rows(sample):
    model = small(vocab_size=5)
    many = sample(model, 6, batch=9, generator=rng(5), top_k=4)
    for num in (1, 4):
        assert torch.equal(sample(model, 6, batch=num, generator=rng(5), top_k=4).tokens, many.tokens[:num])


def draws_without_replacement(stochastic_beam):
    """All different; the first is a draw from p, the second one from p without the first."""
    tree = Tree(3, {(): [0.2, 0.5, 0.3], (1,): [0.3, 0.4, 0.3], (2,): [0.1, 0.1, 0.8]})
    p = {(0, 0): 0.2, (1, 0): 0.15, (1, 1): 0.2, (1, 2): 0.15, (2, 0): 0.03, (2, 1): 0.03, (2, 2): 0.24}
    pairs = {(*a, *b): p[a] * p[b] / (1 - p[a]) for a in p for b in p if a != b}
    got = stochastic_beam(tree, 2, batch=4000, eos_id=0, beams=2, generator=rng())
    frequencies_fit([a + b for a, b in got.tokens.tolist()], pairs)
    assert (got.score.diff(dim=1) <= 0).all()
    every = stochastic_beam(tree, 2, batch=3, eos_id=0, beams=9, generator=rng())
    for tokens, log_p in zip(every.tokens.tolist(), every.log_prob):
        assert {tuple(t) for t in tokens[:7]} == set(p), "seven sequences exist: all are found"
        same(log_p[:7].exp(), torch.tensor([p[tuple(t)] for t in tokens[:7]]).double(), 1e-6)
        assert (log_p[7:] == -torch.inf).all()
    model = random_table()
    one = stochastic_beam(model, batch=4000, beams=1, generator=rng(2)).tokens[:, 0]
    frequencies_fit(one.tolist(), {tuple(s): q for s, q in zip(*all_of(model))})
