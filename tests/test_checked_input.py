"""Input is checked once, in the base class, whoever wrote what is called."""
from __future__ import annotations

import threading
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical
from course_lib.contract import check_all
from course_lib.counting import ClassNGram, MarkovChain, NGram
from course_lib.decoding.prefix_tree import yes_or_ok
from course_lib.density import FVSBN, MADE, NADE, Tabular
from course_lib.transformer import GPT, Transformer

TEXT = [0, 1, 2, 0, 2, 1, 1, 0, 2, 2]


class Plain(AutoregressiveModel):
    """What a reader writes first: `conditionals` alone, and in it nothing but the equation."""

    def __init__(self, n=4):
        super().__init__(n)
        self.weight, self.bias = nn.Parameter(torch.zeros(n, n)), nn.Parameter(torch.zeros(n))

    def conditionals(self, x, context=None):
        return self.conditional(F.linear(x, self.weight.tril(-1), self.bias))


class Conditioned(Plain):
    """The same after a context (B, 2)."""

    def __init__(self, n=4):
        super().__init__(n)
        self.from_context = nn.Parameter(torch.zeros(n, 2))

    def conditionals(self, x, context=None):
        return self.conditional(super().conditionals(x).logits + context @ self.from_context.T)

    def check_context(self, context, batch):
        if tuple(context.shape) != (batch, 2):
            raise ValueError(f"context has shape {tuple(context.shape)}; expected ({batch}, 2)")


class Softmax(AutoregressiveModel):
    """Categorical variables, `conditionals` alone: it encodes what it is given."""

    def __init__(self, n=3, k=4):
        super().__init__(n, Categorical(k))
        self.weight = nn.Parameter(torch.zeros(n, n, k, k))

    def conditionals(self, x, context=None):
        assert x.dtype == torch.int64
        hot = self.conditional.encode(x, self.weight.dtype)
        earlier = torch.ones(self.n, self.n, dtype=hot.dtype).tril(-1)
        return self.conditional(torch.einsum("ij,bjk,ijkl->bil", earlier, hot, self.weight))


def gpt():
    return GPT({"vocab_size": 4, "window": 6, "layers": 1, "heads": 1, "d_model": 4, "bos_id": 3}).double()


def translator():
    return Transformer({"source": 5, "target": 5, "pad_id": 0, "bos_id": 3, "eos_id": 4, "d_model": 4, "heads": 1,
                        "d_ff": 4, "encoder_layers": 1, "decoder_layers": 1}).double()


BITS = torch.tensor([[0, 1, 1, 0], [1, 0, 1, 1]])
WORDS = torch.tensor([[0, 2, 1], [1, 1, 2]])
MODELS = {                                                           # a model, rows for it, a context if it needs one
    "conditionals alone": lambda: (Plain(), BITS, None),
    "categorical, conditionals alone": lambda: (Softmax(), WORDS, None),
    "with a context": lambda: (Conditioned(), BITS, torch.zeros(2, 2)),
    "FVSBN": lambda: (FVSBN(4), BITS, None),
    "table": lambda: (Tabular(4), BITS, None),
    "NADE": lambda: (NADE(4, 3), BITS, None),
    "softmax NADE": lambda: (NADE(3, 3, Categorical(4)), WORDS, None),
    "MADE": lambda: (MADE(4, 5), BITS, None),
    "Markov chain": lambda: (MarkovChain(3), WORDS, None),
    "Markov chain after a prompt": lambda: (MarkovChain(3), WORDS, WORDS),
    "n-gram": lambda: (NGram(n=2, vocab_size=3).fit_counts(TEXT), WORDS, WORDS),
    "class n-gram": lambda: (ClassNGram([0, 1, 1]).fit_counts(TEXT), WORDS, WORDS),
    "prefix tree": lambda: (yes_or_ok(), torch.tensor([[0, 1, 2], [1, 1, 2]]), None),
    "GPT": lambda: (gpt(), WORDS, None),
    "GPT after a prompt": lambda: (gpt(), WORDS, WORDS),
    "Transformer": lambda: (translator(), WORDS, WORDS),
}


@pytest.fixture
def counted(monkeypatch):
    """How often each check was called, by name and by model."""
    counts = Counter()

    def count(name):
        real = getattr(AutoregressiveModel, name)

        def call(self, *args, **kwargs):
            counts[name, id(self)] += 1
            return real(self, *args, **kwargs)

        monkeypatch.setattr(AutoregressiveModel, name, call)

    for name in ("check_input", "check_given"):
        count(name)
    return counts


@pytest.mark.parametrize("name", MODELS)
def test_public_calls_check_once(name, counted):
    model, x, context = MODELS[name]()
    model.eval()
    contexts, real = [], model.check_context
    model.check_context = lambda *args: contexts.append(args) or real(*args)
    length = None if model.n else x.shape[1]
    given = context is not None
    for call, looks in ((lambda: model.log_prob(x, context), 1), (lambda: model.conditionals(x, context), 1),
                        (lambda: model.start(len(x), context), 0),
                        (lambda: model.sample(len(x), context=context, length=length), 0)):
        counted.clear()
        contexts.clear()
        call()
        assert counted["check_input", id(model)] == looks
        if not isinstance(model, Transformer):                       # `encode` is public too, and looks at its source
            assert len(contexts) == given
    assert counted["check_given", id(model)] == 1


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64])
def test_conditionals_receives_dtype(dtype):
    """A reader's model never meets bytes, and integers only where they are classes."""
    for model in (Plain(), Plain().double()):
        want = model.weight.dtype
        assert model.conditionals(BITS.to(dtype)).probs.dtype == model.log_prob(BITS.to(dtype)).dtype == want
    if dtype != torch.bool:
        assert Softmax().log_prob(WORDS.to(dtype)).shape == (2,)
    assert Softmax().sample(3).dtype == torch.int64                  # in the loop of `sample` too


@pytest.mark.parametrize("method", ["conditionals", "log_prob"])
def test_plain_model_refuses_bad_input(method):
    with pytest.raises(ValueError, match=r"^x contains 2 at \[1, 3\]; a Bernoulli variable takes 0 or 1$"):
        getattr(Plain(), method)(torch.tensor([[0, 1, 1, 0], [0, 0, 1, 2]]))
    with pytest.raises(ValueError, match="^x has 3 variables; this model has 4$"):
        getattr(Plain(), method)(BITS[:, :3])
    with pytest.raises(ValueError, match="^context is given; expected None, because Plain is unconditional$"):
        getattr(Plain(), method)(BITS, torch.zeros(2, 1))
    with pytest.raises(ValueError, match=r"^context has shape \(1, 2\); expected \(2, 2\)$"):
        getattr(Conditioned(), method)(BITS, context=torch.zeros(1, 2))


def test_update_refuses_bad_value():
    """A value is not rounded to a class that was never drawn."""
    for model, value, message in ((Softmax(), 1.5, r"^x_i contains 1.5 at \[0\]; a categorical variable with 4 values"),
                                  (Plain(), 2.0, r"^x_i contains 2 at \[0\]; a Bernoulli variable takes 0 or 1$")):
        with pytest.raises(ValueError, match=message):
            model.update(model.start(1), torch.tensor([value]))
        assert model.update(model.start(1), torch.tensor([1.0])).x[0, 0] == 1


# --- whatever a reader overrides, and however ------------------------------------------------------------------------


def coins(self, x, context=None):
    """Every factor a coin that shows 1 with probability 0.9."""
    return self.conditional(torch.full_like(x, 0.9).logit())


class Subclass(FVSBN):
    conditionals = coins
    start, predict, update, draw_all = (getattr(AutoregressiveModel, name) for name in
                                        ("start", "predict", "update", "draw_all"))


def assigned_to_the_class():
    class Later(Plain):
        pass
    Later.conditionals = coins
    return Later()


def assigned_to_the_model():
    model = Plain()
    model.conditionals = lambda x, context=None: coins(model, x)
    return model


class OldStyle(Plain):
    """Checks its input itself, beside the base class."""

    def conditionals(self, x, context=None):
        return coins(self, self.check_input(x, context))


class Further(Subclass):
    """`super()` reaches the method above, not the base class."""

    def conditionals(self, x, context=None):
        return self.conditional(super().conditionals(x).logits)


@pytest.mark.parametrize("make", [lambda: Subclass(4), assigned_to_the_class, assigned_to_the_model, OldStyle,
                                  lambda: Further(4)])
def test_overridden_conditionals_all_views(make):
    model = make()
    p = torch.tensor([0.1, 0.9]).log()
    torch.testing.assert_close(model.log_prob(BITS), p[BITS].sum(1), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model.predict(model.start(1)).probs, torch.tensor([0.9]))
    assert model.sample(200, generator=torch.Generator().manual_seed(0)).mean() > 0.85


def test_plain_models_contract():
    assert str(check_all(Plain())).startswith("causal, normalized (sum of p over 16 states")
    assert str(check_all(Softmax())).startswith("causal, normalized (sum of p over 64 states")
    check_all(Conditioned(), context=torch.tensor([0.3, -1.0]).double())


# --- one check does not stand for another ----------------------------------------------------------------------------


def test_check_after_error():
    class Stops(Plain):
        def conditionals(self, x, context=None):
            raise RuntimeError("stop")

    model = Stops()
    for call in (lambda: model.log_prob(BITS), lambda: model.conditionals(BITS), lambda: model.sample(2)):
        with pytest.raises(RuntimeError, match="stop"):
            call()
        with pytest.raises(ValueError, match="x contains 3"):
            model.log_prob(3 * BITS)


def test_check_other_thread():
    """While one thread is inside a call, another thread's bad input is refused."""
    inside, go = threading.Event(), threading.Event()

    class Waits(Plain):
        def conditionals(self, x, context=None):
            inside.set()
            assert go.wait(20)
            return super().conditionals(x)

    model = Waits()
    worker = threading.Thread(target=model.log_prob, args=(BITS,))
    worker.start()
    try:
        assert inside.wait(20)
        with pytest.raises(ValueError, match="x contains 3"):
            model.log_prob(3 * BITS)
    finally:
        go.set()
        worker.join()


# --- what models borrow from each other has a name -------------------------------------------------------------------


def test_draw_all_override():
    """The extension point: a model that overrides it is asked in eval mode, with what `sample` has checked."""
    seen = {}

    class Fast(Plain):
        def draw_all(self, u, given=None, known=None, context=None):
            seen.update(u=u, given=given, known=known, training=self.training, grad=torch.is_grad_enabled())
            return torch.ones(u.shape[:2])

    model = Fast().double().train()
    assert torch.equal(model.sample(2, BITS, BITS == 1), torch.ones(2, 4)) and model.training
    assert seen["u"].shape == (2, 4, 1) and seen["given"].dtype == torch.float64
    assert not seen["training"] and not seen["grad"]
