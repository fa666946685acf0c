"""Decoding: against exhaustive search, plain loops and the law; for tables, n-grams and GPT alike."""
from __future__ import annotations

import pytest
import torch

from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.counting import NGram
from course_lib.decoding import (
    beam_search,
    exhaustive,
    greedy,
    reshape,
    sample,
    stochastic_beam,
)
from course_lib.density import FVSBN, Mixture
from tests.contract.models import AnyLength, Linear
from tests.decoding import checks as check
from tests.decoding.checks import Tree, random_table, random_tree
from tests.support.random import redrawn, rng
from tests.support.tensors import same
from tests.transformer.checks import small


@pytest.mark.parametrize("draw", [greedy, sample])
def test_tokens_trainable(draw):
    """Decoding runs in inference mode; what comes out are ordinary tensors, and the model is as it was."""
    model = small()
    found = draw(model, 5, batch=2, eos_id=2)
    assert not any(part.is_inference() for part in found)
    model.train().loss(found.tokens)[0].backward()
    assert model.tokens.weight.grad.abs().sum() > 0


DECODERS = {"greedy": lambda model, n, context: greedy(model, n, context, eos_id=2),
            "beam search": lambda model, n, context: beam_search(model, n, context, eos_id=2, beams=3, num_return=2)}


@pytest.mark.parametrize("name", DECODERS)
def test_batch_rows_independent(name):
    check.rows_of_a_batch_are_alone(DECODERS[name])


def test_exhaustive():
    tree = random_tree(1, V=3, depth=3)
    found = exhaustive(tree, 3, eos_id=2, num_return=99)
    assert found.tokens.shape[1] == 1 + 2 + 4 * 3 and (found.score.diff() <= 0).all()
    same(found.log_prob.exp().sum(), torch.tensor(1.0).double())
    rows = {tuple(t[:n]) for t, n in zip(found.tokens[0].tolist(), found.length[0].tolist())}
    assert len(rows) == 15 and all((2 not in row[:-1]) and (row[-1] == 2 or len(row) == 3) for row in rows)
    normalized = exhaustive(tree, 3, eos_id=2, num_return=99, length_penalty=0.7)
    same(normalized.score, normalized.log_prob / normalized.length ** 0.7, 1e-6)


def test_fewer_sequences_than_beams():
    found = beam_search(Tree(2, {(): [0.5, 0.5]}), 1, beams=4, num_return=4)
    assert found.score.isfinite().tolist() == [[True, True, False, False]]
    certain = beam_search(Tree(3, {(): [0, 0, 1]}), 2, eos_id=2, beams=3, num_return=3)
    assert certain.tokens[0, 0].tolist()[:1] == [2] and certain.score[0].tolist() == [0, -torch.inf, -torch.inf]


# --- drawing ---------------------------------------------------------------------------------------------------------


def test_sample_equals_model_sample():
    for model, n in ((random_table(), None), (small(vocab_size=5), 6)):
        ours = sample(model, n, batch=20, generator=rng(3)).tokens
        assert torch.equal(ours, model.sample(20, length=n, generator=rng(3)).long())


def test_sample_temperature_zero():
    model = small(vocab_size=5)
    for options in ({"temperature": 0}, {"top_k": 1}, {"top_p": 1e-6}):
        found = sample(model, 6, batch=2, generator=rng(), **options)
        assert torch.equal(found.tokens, greedy(model, 6, batch=2).tokens)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [1e-3, 1e-5, 1e-40, 5e-324])
def test_small_temperatures(dtype, temperature):
    log_p = torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.0, 0.0, 1.0, 0.0]]).log().to(dtype)
    torch.testing.assert_close(reshape(log_p, temperature).exp(), reshape(log_p, 0).exp())
    tied = reshape(torch.tensor([0.4, 0.4, 0.2]).log().to(dtype), temperature).exp()
    assert tied.tolist() == pytest.approx([0.5, 0.5, 0], abs=1e-3)
    drawn = sample(small(vocab_size=5).to(torch.float32), 6, batch=2, temperature=temperature, generator=rng())
    assert torch.equal(drawn.tokens, greedy(small(vocab_size=5), 6, batch=2).tokens)


# --- any model -------------------------------------------------------------------------------------------------------


def some_ngram():
    return NGram(n=3, vocab_size=5, bos_id=0, smoothing="add").fit_counts([1, 2, 3, 1, 2, 4, 1, 1, 3, 2, 1, 2, 3, 4])


@pytest.mark.parametrize("make, length", [
    (lambda: redrawn(FVSBN(5, order=[2, 0, 3, 4, 1])), None), (random_table, None), (some_ngram, 4),
    (lambda: small(vocab_size=4), 4), (lambda: redrawn(Linear(3, Categorical(5), order=[1, 2, 0])), None),
    (lambda: redrawn(Linear(2, DiscretizedLogisticMixture(3, 16), order=[1, 0])), None),
    (lambda: redrawn(AnyLength(Categorical(3))), 4),
])
def test_log_prob_of_found(make, length):
    """Whatever is found has the log-probability that the model itself gives it, its columns in their places."""
    model = make()
    modes = [m.training for m in model.modules()]
    found = [greedy(model, length, batch=2), sample(model, length, batch=3, generator=rng(), top_k=3)]
    several = [beam_search(model, length, beams=3, num_return=3), stochastic_beam(model, length, beams=3, generator=rng()),
               exhaustive(model, length, num_return=4)]
    for decoded in found + [type(d)(*(part[0] for part in d)) for d in several]:
        same(decoded.log_prob, model.log_prob(decoded.tokens).double(), 1e-5)
    assert several[2].score[0, 0] >= several[0].score[0, 0] * decoded.tokens.shape[-1] - 1e-9
    assert [m.training for m in model.modules()] == modes


def test_no_impossible_tokens():
    """The start symbol of an n-gram has probability zero; wide beams, high temperatures and ties do not bring it in."""
    model = some_ngram()
    for found in (beam_search(model, 2, beams=20, num_return=16), stochastic_beam(model, 2, beams=16, generator=rng()),
                  sample(model, 6, batch=500, temperature=50.0, top_k=5, generator=rng())):
        assert not (found.tokens == 0).any()


GPT5 = small(vocab_size=5)


@pytest.mark.parametrize("make, message", [
    (lambda: greedy(GPT5), "length is None; expected at least 1, because GPT has no fixed number of variables"),
    (lambda: greedy(GPT5, 0), "length is 0"),
    (lambda: greedy(GPT5, 3, eos_id=5), "eos_id is 5; expected 0 to 4"),
    (lambda: greedy(random_table(), eos_id=1), "eos_id is 1; expected None, because Tabular has a fixed number of variables"),
    (lambda: greedy(GPT5, 3, batch=0), "batch is 0; expected at least 1"),
    (lambda: greedy(GPT5, 3, torch.zeros(2, 1).long(), batch=3), "batch is 3; expected 2, as in context"),
    (lambda: sample(GPT5, 3, temperature=-1.0), "temperature is -1.0; expected a finite number"),
    (lambda: sample(GPT5, 3, temperature=float("nan")), "temperature is nan"),
    (lambda: sample(GPT5, 3, top_k=0), "top_k is 0; expected at least 1, or None for all values"),
    (lambda: sample(GPT5, 3, top_p=0.0), r"top_p is 0\.0; expected 0 < top_p <= 1, or None for all values"),
    (lambda: beam_search(GPT5, 3, beams=0, num_return=0), "num_return is 0 and beams is 0"),
    (lambda: beam_search(GPT5, 3, length_penalty=float("inf")), "length_penalty is inf"),
    (lambda: stochastic_beam(GPT5, 3, beams=0), "beams is 0; expected at least 1"),
    (lambda: exhaustive(GPT5, 8), "the model has 78125 prefixes of 7 values; expected at most"),
    (lambda: exhaustive(GPT5, 3, torch.zeros(2, 1).long()), "context has 2 rows; expected one"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("decode", [greedy, sample, beam_search, stochastic_beam, exhaustive])
def test_continuous_variables(decode):
    with pytest.raises(TypeError, match=r"Linear models continuous variables; expected a model of discrete variables \(its sample works"):
        decode(Linear(2, MixtureOfGaussians(2)))


def test_mixture_refused():
    with pytest.raises(TypeError, match="model is a Mixture, which has no method predict"):
        greedy(Mixture([FVSBN(3)]))
