"""Skip-gram and CBOW: batches, subsampling, training."""
from __future__ import annotations

from collections import Counter

import pytest
import torch

from course_lib.tokenizers import Vocabulary
from course_lib.words import CBOW, Corpus, NoiseSampler, SkipGram
from course_lib.words.word2vec import kept_in_subsampling, train, words_around
from tests.support.random import rng
from tests.words import checks as check


def test_noise_sampler_two_words():
    drawn = NoiseSampler(torch.tensor([10**9, 1, 0])).draw(torch.tensor([0, 1]), 4, rng())
    assert drawn.tolist() == [[1] * 4, [0] * 4]


def test_skip_gram_loss():
    torch.manual_seed(0)
    model = SkipGram(5, 3)
    torch.nn.init.normal_(model.context.weight)
    centre, context, negatives = torch.tensor([0, 4]), torch.tensor([1, 1]), torch.tensor([[2, 3, 3], [0, 2, 3]])
    v, u = model.centre.weight, model.context.weight
    torch.testing.assert_close(model.loss(centre, context, negatives), check.loss_by_loops(v[centre], u[context], u[negatives]))
    torch.testing.assert_close(model(centre, context), torch.stack([v[0] @ u[1], v[4] @ u[1]]))


def test_words_around_equals_loop():
    text, sentences = check.corpus(seed=4)
    reach = torch.randint(1, 4, text.tokens.shape, generator=rng(1))
    around, there = words_around(text, 3, reach)
    place = 0
    for words in sentences:
        for i in range(len(words)):
            wanted = [check.WORDS.index(words[i + d]) if 0 <= i + d < len(words) and abs(d) <= reach[place] else -1
                      for d in (-3, -2, -1, 1, 2, 3)]
            assert around[place].tolist() == wanted and there[place].tolist() == [w >= 0 for w in wanted]
            place += 1
    assert place == len(text.tokens)


def test_skip_gram_batches():
    text, sentences = check.corpus(3000, seed=1)
    got = Counter()
    for centre, context in SkipGram(7, 2).batches(text, 3, 500, rng(0)):
        got.update(zip(centre.tolist(), context.tolist()))
    wanted = Counter()
    for (centre, context, d), count in check.pairs_by_loops(sentences, 3).items():
        wanted[centre, context] += count * (4 - d) / 3               # a window of 1, 2 or 3, each as often
    for pair, count in wanted.items():
        assert abs(got[pair] - count) < 6 * count**0.5, pair


def test_subsampling_formula():
    counts = torch.tensor([900, 90, 9, 1])
    kept = kept_in_subsampling(counts, 0.01)
    share = counts / 1000
    wanted = ((0.01 / share) ** 0.5 + 0.01 / share).clamp(max=1)
    torch.testing.assert_close(kept.float(), wanted)
    assert kept[2] == 1 and kept[0] < 0.13


@pytest.mark.parametrize("kind", [SkipGram, CBOW])
def test_train_separates_topics(kind):
    g = rng(0)
    words = [[f"{topic}{i}" for i in range(5)] for topic in "xyz"]
    sentences = [[words[t][i] for i in torch.randint(5, (5,), generator=g).tolist()] for t in (0, 1, 2) * 80]
    text = Corpus.of(sentences, Vocabulary([word for topic in words for word in topic]))
    for seed in (0, 1, 2):
        torch.manual_seed(seed)
        model = kind(15, 8)
        losses = train(model, text, epochs=5, window=2, negatives=4, batch_size=200, lr=0.05, seed=seed, threshold=0.5)
        assert losses[-1] < 0.8 * losses[0]
        unit = torch.nn.functional.normalize(model.centre.weight.detach(), dim=1)
        cosines = (unit @ unit.T).fill_diagonal_(-1)
        assert (cosines.argmax(dim=1) // 5 == torch.arange(15) // 5).all()


TEXT, _ = check.corpus()


@pytest.mark.parametrize("call, said", [
    (lambda: SkipGram(1, 3), "num_words is 1 and width is 3; expected at least 2 words"),
    (lambda: NoiseSampler(torch.tensor([5, 0])), r"counts has shape \(2,\) and 1 entries above 0"),
    (lambda: NoiseSampler(torch.ones(3)).draw(torch.tensor([0]), 0), "k is 0; expected at least 1"),
    (lambda: train(SkipGram(5, 2), TEXT, epochs=1), "model has 5 words; expected 7, as in corpus"),
    (lambda: train(SkipGram(7, 2), TEXT, epochs=0), "epochs is 0 and batch_size is 16384; expected at least 1 each"),
    (lambda: train(SkipGram(7, 2), TEXT, epochs=1, window=0), "window is 0; expected at least 1"),
    (lambda: train(SkipGram(7, 2), Corpus.of([["a"], ["b"]], Vocabulary(check.WORDS)), epochs=1),
     "corpus has no pair of words within a window; expected sentences"),
    (lambda: kept_in_subsampling(torch.ones(2), 0.0), r"threshold is 0\.0; expected a frequency above 0, such as"),
])
def test_bad_input(call, said):
    with pytest.raises(ValueError, match=said):
        call()
