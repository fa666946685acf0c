"""What the contract says of a model that it cannot ask: a sentence with what to add, no error from inside."""
from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Bernoulli, Categorical
from course_lib.contract import (
    check_all,
)
from course_lib.contract.probes import require
from course_lib.density import FVSBN


class Own(AutoregressiveModel):
    """A reader's model of three binary variables; a subclass plants something in `conditionals`."""

    def __init__(self, conditional=None):
        super().__init__(3, conditional)
        self.weight = nn.Parameter(torch.zeros(3, 3))

    def raw(self, x):
        return F.linear(x, self.weight.tril(-1))

    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x))


class AlmostAModel(nn.Module):
    """A module of one's own that has the method, and nothing else of the contract."""

    def conditionals(self, x, context=None):
        return Bernoulli()(x)


class MultipliesClasses(Own):
    """Values of a categorical variable multiplied as they are."""

    def __init__(self):
        super().__init__(Categorical(4))

    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x)[..., None].expand(-1, -1, 4))


class LooseMask(Own):
    """A mask that is no buffer."""

    def __init__(self):
        super().__init__()
        self.mask = torch.ones(3, 3).tril(-1)

    def conditionals(self, x, context=None):
        return self.conditional(F.linear(self.mask @ x.T, self.weight).T)


class AfterAContext(Own):
    """Conditioned on (B, 2)."""

    def __init__(self):
        super().__init__()
        self.from_context = nn.Parameter(torch.zeros(2, 3))

    def check_context(self, context, batch):
        assert context.shape == (batch, 2)

    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x) + context @ self.from_context)


class ReturnsLogits(Own):
    def conditionals(self, x, context=None):
        return self.raw(x)


class OneAxisTooMany(Own):
    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x)[..., None])


class WithoutContext(Own):
    def conditionals(self, x):
        return self.conditional(self.raw(x))


class Forgot(Own):
    def conditionals(self, x, context=None):
        return self.conditional(self.raw(x) + self.offset)


class PredictsLogits(FVSBN):
    def predict(self, state):
        return state.logits[:, 0]


class NotInitialized(Own):
    def __init__(self):
        nn.Module.__init__(self)


FLOATS = "fails on x (32, 3) of torch.float64: "
CAST = ("; the contract converts parameters and buffers to float64, but no other tensors: use register_buffer, and x.long() "
        "for an index")
SENTENCES = [                                                        # "...": torch's words
    (lambda: nn.Linear(3, 3),
     "Linear has no conditionals; let its class inherit from AutoregressiveModel, call super().__init__(n) in its "
     "constructor, write conditionals(x, context)"),
    (AlmostAModel,
     "AlmostAModel has no n, conditional, log_prob, randomize, order and parents; let its class inherit from "
     "AutoregressiveModel, call super().__init__(n) in its constructor"),
    (NotInitialized,
     "NotInitialized has no n, conditional and order; call super().__init__(n) in its constructor"),
    (MultipliesClasses,
     "MultipliesClasses.conditionals fails on x (32, 3) of torch.int64: RuntimeError: ...; values of Categorical(4) are "
     "integers: self.conditional.encode(x, dtype) converts them to inputs of a layer"),
    (LooseMask, f"LooseMask.conditionals {FLOATS}RuntimeError: ...{CAST}"),
    (AfterAContext,
     f"AfterAContext.conditionals {FLOATS}TypeError: ...; context is None: pass context= to a conditional "
     "model"),
    (ReturnsLogits,
     "ReturnsLogits.conditionals returns a tensor of shape (32, 3); expected a distribution of batch shape (32, 3), such "
     "as self.conditional(raw)"),
    (OneAxisTooMany,
     "OneAxisTooMany.conditionals returns a distribution of batch shape (32, 3, 1); expected (32, 3), one for each row "
     "and variable"),
    (WithoutContext,
     "WithoutContext fails: TypeError: ...; expected the signatures conditionals(x, context), start(batch, context), "
     "predict(state), update(state, x_i)"),
    (Forgot, f"Forgot.conditionals {FLOATS}AttributeError: 'Forgot' object has no attribute 'offset'"),
    (lambda: PredictsLogits(3),
     "PredictsLogits.predict returns a tensor of shape (4,); expected a distribution of batch shape (4,), such as "
     "self.conditional(raw)"),
]


def pattern(sentence):
    return "^" + ".+".join(map(re.escape, sentence.split("..."))) + "$"


@pytest.mark.parametrize("make, sentence", SENTENCES, ids=[s[1].split(" ")[0] for s in SENTENCES])
def test_check_all_malformed_model(make, sentence):
    with pytest.raises(TypeError, match=pattern(sentence)):
        check_all(make())


@pytest.mark.parametrize("model, sentence", [(FVSBN, "model is the class FVSBN; expected a model, FVSBN(...)"),
                                             ([FVSBN(3)], "model is of type list; expected an AutoregressiveModel")])
def test_require_no_model(model, sentence):
    with pytest.raises(TypeError, match=f"^{re.escape(sentence)}$"):
        require(model)


def test_cause_kept():
    """The sentence is for the reader; the traceback still leads to the line."""
    with pytest.raises(TypeError) as error:
        check_all(Forgot())
    assert isinstance(error.value.__cause__, AttributeError) and "offset" in str(error.value.__cause__)


def test_own_errors_pass():
    class Empty(AutoregressiveModel):
        pass

    with pytest.raises(NotImplementedError, match=r"^Empty does not define conditionals\(x\)$"):
        check_all(Empty(3))
    with pytest.raises(ValueError, match="^length is 4; expected 3, the number of variables of Own, or None$"):
        check_all(Own(), length=4)
    with pytest.raises(ValueError, match="^context is given; expected None, because Own is unconditional$"):
        check_all(Own(), context=torch.zeros(2))
    with pytest.raises(TypeError, match="unexpected keyword argument 'sede'"):
        check_all(Own(), sede=1)


@pytest.mark.parametrize("context", [torch.tensor([0.5, -1.0]), torch.tensor([[0.5, -1.0], [2.0, 0.0]]).double()])
def test_context_cast(context):
    assert str(check_all(AfterAContext(), context=context)).startswith("causal, normalized")
