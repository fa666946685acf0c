"""Bad input: an error that names the argument, what was got and what is needed."""
from __future__ import annotations

import re

import pytest
import torch

from course_lib.conditional import Categorical, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.density import CPT, FVSBN, Factorized, Logistic, Mixture, Neural, Tabular
from tests.contract.models import AnyLength, Linear

NAN, INF = float("nan"), float("inf")
LEVELS = DiscretizedLogisticMixture(2, 16)
BINARY = {"FVSBN": lambda: FVSBN(4), "table": lambda: Tabular(4), "mixture": lambda: Mixture([FVSBN(4), FVSBN(4)]),
          "factors": lambda: Factorized([CPT(0), Logistic(1), Neural(2, 3), CPT(3)]), "base class": lambda: Linear(4)}


def zeros(*shape):
    return torch.zeros(shape)


def with_one(value, row=1, column=2, num=3, n=4, dtype=torch.float32):
    x = torch.zeros(num, n, dtype=dtype)
    x[row, column] = value
    return x


# --- x ---------------------------------------------------------------------------------------------------------------

ROWS = [
    ("a value of 2", with_one(2), "x contains 2 at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("minus one", with_one(-1, dtype=torch.long), "x contains -1 at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("NaN", with_one(NAN), "x contains nan at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("infinity", with_one(INF), "x contains inf at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("five variables", zeros(3, 5), "x has 5 variables; this model has 4"),
    ("an empty batch", zeros(0, 4), "x is an empty batch; expected at least one row"),
    ("one row without a batch", zeros(4),
     "x has shape (4,); expected (B, n): flatten images, write one row as x[None]"),
]


@pytest.mark.parametrize("model", BINARY)
@pytest.mark.parametrize("x, message", [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_x(model, x, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        BINARY[model]().log_prob(x)


def test_x_image_width():
    message = "x has 81 variables; this model has 64 (an 8 x 8 image, flattened)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        FVSBN(64).log_prob(zeros(2, 81))
    with pytest.raises(ValueError, match=re.escape("this model has 784 (a 28 x 28 image, flattened)")):
        FVSBN(784).log_prob(zeros(2, 783))
    with pytest.raises(ValueError, match="x has 3 variables; this model has 17$"):
        FVSBN(17).log_prob(zeros(2, 3))


@pytest.mark.parametrize("family, value, message", [
    (Categorical(5), 5, "x contains 5 at [1, 0]; a categorical variable with 5 values takes 0 to 4"),
    (Categorical(5), -1, "x contains -1 at [1, 0]; a categorical variable with 5 values takes 0 to 4"),
    (Categorical(5), NAN, "x contains nan at [1, 0]; a categorical variable with 5 values takes 0 to 4"),
    (Categorical(5), INF, "x contains inf at [1, 0]; a categorical variable with 5 values takes 0 to 4"),
    (LEVELS, 16, "x contains 16 at [1, 0]; a discretized variable with 16 values takes 0 to 15"),
    (LEVELS, NAN, "x contains nan at [1, 0]; a discretized variable with 16 values takes 0 to 15"),
    (MixtureOfGaussians(2), NAN, "x contains nan at [1, 0]; a continuous variable takes finite numbers"),
    (MixtureOfGaussians(2), -INF, "x contains -inf at [1, 0]; a continuous variable takes finite numbers"),
])
def test_x_out_of_support(family, value, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Linear(2, family).log_prob(with_one(value, 1, 0, n=2))


# --- sample ----------------------------------------------------------------------------------------------------------

YES = torch.ones(3, 4, dtype=torch.bool)
CALLS = [
    ("no samples", (0,), {}, "num is 0; expected at least 1"),
    ("minus one sample", (-1,), {}, "num is -1; expected at least 1"),
    ("given alone", (3,), {"given": zeros(3, 4)},
     "known is None; expected given and known together, or neither of them"),
    ("known alone", (3,), {"known": YES}, "given is None; expected given and known together, or neither of them"),
    ("given for two rows", (3,), {"given": zeros(2, 4), "known": YES},
     "given has shape (2, 4); expected (num, n) = (3, 4)"),
    ("known too wide", (3,), {"given": zeros(3, 4), "known": torch.ones(3, 5, dtype=torch.bool)},
     "known has shape (3, 5); expected (num, n) = (3, 4)"),
    ("known of floats", (3,), {"given": zeros(3, 4), "known": zeros(3, 4)},
     "known has dtype torch.float32; expected torch.bool, True where given is kept"),
    ("known of integers", (3,), {"given": zeros(3, 4), "known": YES.long()},
     "known has dtype torch.int64; expected torch.bool, True where given is kept"),
    ("given out of support", (3,), {"given": with_one(0.5), "known": YES},
     "given contains 0.5 at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("given NaN", (3,), {"given": with_one(NAN), "known": YES},
     "given contains nan at [1, 2]; a Bernoulli variable takes 0 or 1"),
    ("another length", (3,), {"length": 5}, "length is 5; expected None or 4, the number of variables of this model"),
]


@pytest.mark.parametrize("model", BINARY)
@pytest.mark.parametrize("args, kwargs, message", [row[1:] for row in CALLS], ids=[row[0] for row in CALLS])
def test_sample(model, args, kwargs, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        BINARY[model]().sample(*args, **kwargs)


@pytest.mark.parametrize("model", BINARY)
def test_sample_unknown_values(model):
    BINARY[model]().sample(3, with_one(NAN), ~YES)


@pytest.mark.parametrize("length", [None, 0, -2])
@pytest.mark.parametrize("make", [AnyLength, lambda: Mixture([AnyLength(), AnyLength()])], ids=["alone", "mixture"])
def test_sample_length(make, length):
    with pytest.raises(ValueError, match=f"^length is {length}; expected at least 1, because AnyLength has "
                                         "no fixed number of variables$"):
        make().sample(2, length=length)


# --- context ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["log_prob", "sample", "start", "predict"])
@pytest.mark.parametrize("model, name", [("FVSBN", "FVSBN"), ("table", "Tabular"), ("mixture", "FVSBN"),
                                         ("factors", "Factorized"), ("base class", "Linear")])
def test_context_not_taken(model, name, call):
    model, context = BINARY[model](), zeros(3, 2)
    if isinstance(model, Mixture) and call in ("start", "predict"):
        return
    with pytest.raises(ValueError, match=f"^context is given; expected None, because {name} is unconditional$"):
        {"log_prob": lambda: model.log_prob(zeros(3, 4), context), "sample": lambda: model.sample(3, context=context),
         "start": lambda: model.start(3, context), "predict": lambda: model.predict(model.start(3, context))}[call]()


def test_context_shape():
    with pytest.raises(ValueError, match=re.escape("context has shape (2, 3); expected (3, 3)")):
        Linear(4, context=3).log_prob(zeros(3, 4), zeros(2, 3))


# --- constructors ----------------------------------------------------------------------------------------------------

LONG = list(range(1, 11))
MADE = [
    ("no variables", lambda: FVSBN(0), "n is 0; expected at least 1"),
    ("minus one variable", lambda: Linear(-1), "n is -1; expected at least 1"),
    ("an order with a repetition", lambda: FVSBN(3, [0, 1, 1]), "order is [0, 1, 1]; expected a permutation of 0 to 2"),
    ("a fractional order", lambda: FVSBN(2, torch.tensor([0.5, 1.0])),
     "order is [0.5, 1.0]; expected a permutation of 0 to 1"),
    ("a long wrong order", lambda: FVSBN(10, LONG),
     "order is [1, 2, 3, 4, 5, 6]... (10 entries); expected a permutation of 0 to 9"),
    ("one category", lambda: Categorical(1), "k is 1; expected at least 2"),
    ("no component", lambda: MixtureOfGaussians(0), "k is 0 and min_sigma is 0.001; expected k >= 1 and min_sigma > 0"),
    ("a floor that is NaN", lambda: MixtureOfGaussians(2, NAN),
     "k is 2 and min_sigma is nan; expected k >= 1 and min_sigma > 0"),
    ("one level", lambda: DiscretizedLogisticMixture(2, 1), "k is 2 and levels is 1; expected k >= 1 and levels >= 2"),
    ("a table too large", lambda: Tabular(40),
     "n is 40; expected at most 21 if parents is None, because the last table has 2^39 rows: give parents, "
     "at most 20 for each variable, or use FVSBN"),
    ("a factor too large", lambda: CPT(21), "m is 21; expected 0 to 20 parents, because a table has 2^m rows"),
    ("a factor of minus one", lambda: CPT(-1), "m is -1; expected 0 to 20 parents, because a table has 2^m rows"),
    ("no hidden unit", lambda: Neural(2, 0), "hidden is 0; expected at least 1"),
    ("a factor for other parents", lambda: Factorized([CPT(0), Logistic(2)]),
     "factors[1] takes 2 parents; expected 1, because the parents of variable 1 are [0]"),
    ("too few lists of parents", lambda: Tabular(3, parents=[[], [0]]),
     "parents has 2 lists; expected 3, one for each variable"),
    ("too few lists for factors", lambda: Factorized([CPT(0), CPT(1)], parents=[[]]),
     "parents has 1 lists; expected 2, one for each variable"),
    ("a later parent", lambda: Tabular(3, parents=[[], [2], []]),
     "parents[1] is [2]; expected distinct variables from [0], which come before variable 1 in the order"),
    ("itself", lambda: Tabular(2, parents=[[0], []]),
     "parents[0] is [0]; expected distinct variables from [], which come before variable 0 in the order"),
    ("a parent twice", lambda: Tabular(2, parents=[[], [0, 0]]),
     "parents[1] is [0, 0]; expected distinct variables from [0], which come before variable 1 in the order"),
    ("a parent later in the order", lambda: Tabular(2, parents=[[], [0]], order=[1, 0]),
     "parents[1] is [0]; expected distinct variables from [], which come before variable 1 in the order"),
    ("a mixture of none", lambda: Mixture([]), "models is empty; expected at least one model"),
    ("a mixture of sizes", lambda: Mixture([FVSBN(3), FVSBN(4)]),
     "models contains models of [3, 4] variables; expected the same number n in all models"),
    ("a mixture of families", lambda: Mixture([Linear(2), Linear(2, Categorical(3))]),
     "models contains models of the families ['Bernoulli()', 'Categorical(3)']; expected the same family in all models"),
    ("a joint that sums to two", lambda: Tabular.from_joint(torch.full((2, 2), 0.5)),
     "joint sums to 2 with minimum 0.5; expected probabilities of at least 0 that sum to 1"),
    ("a negative joint", lambda: Tabular.from_joint(torch.tensor([1.5, -0.5])),
     "joint sums to 1 with minimum -0.5; expected probabilities of at least 0 that sum to 1"),
    ("a joint with NaN", lambda: Tabular.from_joint(torch.tensor([NAN, 1.0])),
     "joint sums to nan with minimum nan; expected probabilities of at least 0 that sum to 1"),
    ("a joint of three values", lambda: Tabular.from_joint(torch.full((3, 3), 1 / 9)),
     "joint has shape (3, 3); expected (2, 2, ..., 2), one axis per variable"),
    ("negative smoothing", lambda: Tabular(2).fit_counts(zeros(3, 2), alpha=-1.0),
     "alpha is -1.0; expected 0 or more"),
    ("weights of another length", lambda: Tabular(2).fit_counts(zeros(3, 2), weights=torch.ones(2)),
     "weights has shape (2,); expected one for each row of x, (3,)"),
    ("counting grey values", lambda: Tabular(2).fit_counts(torch.tensor([[0.5, 0.0]])),
     "x contains 0.5 at [0, 0]; a Bernoulli variable takes 0 or 1"),
    ("counting nothing", lambda: Tabular(2).fit_counts(zeros(0, 2)), "x is an empty batch; expected at least one row"),
]


@pytest.mark.parametrize("make, message", [row[1:] for row in MADE], ids=[row[0] for row in MADE])
def test_constructors(make, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()
