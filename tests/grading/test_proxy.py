"""A model behind the border is judged as it would be on this side: right ones keep the contract, each fault is told alike."""
from __future__ import annotations

import re

import pytest
import torch
from torch import nn

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import Categorical, MixtureOfGaussians
from course_lib.contract import ContractError, check_all
from course_lib.density import FVSBN, MADE, NADE
from course_lib.grading.checks import Stop
from course_lib.grading.protocol.calls import Local
from course_lib.grading.protocol.models import CAPACITY, ModelServer
from course_lib.grading.proxy import Proxy
from course_lib.grading.sandbox.remote import Remote
from course_lib.grading.sandbox.sandbox import Limits, Worker
from course_lib.grading.submissions import notebook as notebook_module
from tests.grading.sample_submissions import notebook, save


def asked(call):
    """As a property's judge asks: Stop where there is no value."""
    def run(*args):
        outcome = call(args)
        if outcome.kind != "value":
            raise Stop(outcome, args)
        return outcome.value
    return run


def proxy(cls, length=None, **config):
    run = asked(Local(ModelServer(cls)).call)
    return Proxy(run, run("make", config, None), length)


def plainly(said):
    """Without the numbers that depend on the parameters, which are drawn on the other side."""
    return re.sub(r"1e-\d+|chi-square \d+ on \d+|difference [\d.e-]+|sum .*? = \d\.\d+|by [\d.e-]+", "...", str(said))


class Sequence(AutoregressiveModel):
    """Symbols of three kinds, of any length: each depends on all before."""

    def __init__(self):
        super().__init__(None, Categorical(3))
        self.weight = nn.Parameter(torch.zeros(3, 3))

    def conditionals(self, x, context=None):
        seen = self.conditional.encode(x, self.weight.dtype).cumsum(1).roll(1, 1)
        return self.conditional(torch.cat([seen[:, :1] * 0, seen[:, 1:]], 1) @ self.weight)


@pytest.mark.parametrize("cls, config, length", [
    (FVSBN, {"n": 4, "order": [2, 0, 3, 1]}, None),
    (MADE, {"n": 5, "hidden": [16]}, None),
    (Sequence, {}, 4),
])
def test_check_all_on_proxy(cls, config, length):
    assert plainly(check_all(proxy(cls, length, **config), length=length)) == plainly(check_all(cls(**config), length=length))


class Leak(FVSBN):
    def conditionals(self, x, context=None):
        return self.conditional(x @ self.weight.tril(0).T)


class Deaf(FVSBN):
    def parents(self, i):
        return list(range(i))

    def conditionals(self, x, context=None):
        return self.conditional(x @ self.weight.tril(-2).T)


class Apart(FVSBN):
    def predict(self, state):
        return self.conditional(0.9 * state.logits[:, self.variable_at(state.k)])


class Sums(FVSBN):
    def log_prob(self, x, context=None):
        return super().log_prob(x) / 2


class Draws(FVSBN):
    def draw_all(self, u, given=None, known=None, context=None):
        return (u[..., 0] < 0.5).double()


class Continuous(AutoregressiveModel):
    def __init__(self):
        super().__init__(2, MixtureOfGaussians(1))
        self.weight = nn.Parameter(torch.ones(2, 2))

    def conditionals(self, x, context=None):
        mean = x @ self.weight.T
        return self.conditional(torch.stack([mean, mean, 0 * mean], -1)[..., None])


@pytest.mark.parametrize("cls, config", [(Leak, {"n": 4}), (Deaf, {"n": 4}), (Apart, {"n": 4}), (Sums, {"n": 4}),
                                         (Draws, {"n": 4}), (Continuous, {})])
def test_contract_errors_are_same(cls, config):
    with pytest.raises(ContractError) as here:
        check_all(cls(**config))
    with pytest.raises(ContractError) as there:
        check_all(proxy(cls, **config))
    assert plainly(here.value) == plainly(there.value)


@pytest.mark.parametrize("change, said", [
    (lambda facts: facts | {"family": "Cauchy"}, "family"),
    (lambda facts: facts | {"of": {"k": -3}, "family": "Categorical"}, "family"),
    (lambda facts: facts | {"of": {"k": 10 ** 9}, "family": "MixtureOfGaussians"}, "family"),
    (lambda facts: facts | {"n": "many"}, "whole numbers"),
    (lambda facts: facts | {"order": [0, 0, 1]}, "order"),
    (lambda facts: facts | {"parents": [[0.5]]}, "whole numbers"),
    (lambda facts: 3, "family"),
])
def test_invalid_facts_stop_check(change, said):
    run = asked(Local(ModelServer(FVSBN)).call)

    def lying(what, *args):
        return change(run(what, *args)) if what == "facts" else run(what, *args)

    with pytest.raises(Stop) as stop:
        Proxy(lying, run("make", {"n": 3}, None))
    assert said in stop.value.outcome.detail


def test_object_store_is_bounded():
    ask = ModelServer(FVSBN)
    numbers = [ask("make", {"n": 2}) for _ in range(CAPACITY + 3)]
    assert numbers == list(range(CAPACITY + 3)) and len(ask.models) == CAPACITY


def test_path_follows_order():
    ask, x = ModelServer(NADE), torch.tensor([[1.0, 0.0, 1.0]])
    number = ask("make", {"n": 3, "hidden": 2, "order": [1, 2, 0]})
    W, c = (ask("parameters", number)[name] for name in ("W", "c"))
    assert torch.allclose(ask("path", number, None, x)[:, 0], torch.stack([c, c, c + W[2, 0], c + W[2, 0] + W[0, 0]]))


def test_proxy_in_sandbox(tmp_path):
    source = """
        import torch
        from torch import nn
        from course_lib import AutoregressiveModel

        class Mine(AutoregressiveModel):
            def __init__(self, n):
                super().__init__(n)
                self.weight = nn.Parameter(torch.zeros(n, n))
            def conditionals(self, x, context=None):
                return self.conditional(x @ self.weight.tril({cut}).T)
    """
    said = []
    with Worker() as worker:
        for cut in (-1, 0):
            path = save(tmp_path / "a.ipynb", notebook("\n".join(line[8:] for line in source.format(cut=cut).splitlines())))
            statements = notebook_module.read(path.read_bytes(), str(path)).needed("Mine")
            with Remote(worker, statements, "Mine", 10.0, Limits(), {}, float("inf"), build=True) as remote:
                run = asked(remote.call)
                model = Proxy(run, run("make", {"n": 4}, None))
                try:
                    said.append(str(check_all(model)))
                except ContractError as broken:
                    said.append(str(broken))
    assert said[0].startswith("causal, normalized") and said[1].startswith("factor 0 depends on x_0")
