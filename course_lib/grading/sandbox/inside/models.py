"""A learner's class, asked as a function is: by name, with plain data, so that it is judged as functions are.

    ask("log_prob", config, weights, x)     of a new object, cls(**config)
    ask("make", config, weights) -> 0       one that is kept, by number
    ask("predict", 0, None, state)          of that one; states have numbers too

The first form gives the same answer each time: the object is made anew, with these parameters.
A distribution crosses as its parameters, in the order of `PARAMETERS`; a random generator as a seed.
"""
from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel

BASE = AutoregressiveModel.log_prob                     # which takes conditionals to return a distribution
KEPT = 64                       # models, and states of each, that are kept; of more the oldest go
PARAMETERS = {                  # what crosses of a distribution, by the name of its class
    "Bernoulli": ("logits",),
    "Categorical": ("logits",),
    "MixtureSameFamily": ("mixture_distribution.logits", "component_distribution.loc", "component_distribution.scale"),
}


class Ask:
    """`cls` as one function. An AutoregressiveModel is asked for what its contract has, and any module for the methods
    that its class writes."""

    def __init__(self, cls: Callable[..., nn.Module]):
        self.cls, self.models, self.states = cls, Kept(), Kept()
        self.__wrapped__ = cls                           # whose lines an error is looked for in

    def __call__(self, what: str, config: dict[str, Any] | int, weights: dict[str, Tensor] | None = None, *args: Any) -> Any:
        model = self.models[config] if isinstance(config, int) else filled(self.made(config), weights)
        own = getattr(self, f"_{what}", None)
        if own is not None:
            return own(model, *args)
        if what == "log_prob" and isinstance(model, AutoregressiveModel) and type(model).log_prob is BASE:
            crossing(model.conditionals(*args), f"{type(model).__name__}.conditionals")
        method = getattr(model, what, None)
        if not callable(method):
            raise AttributeError(f"{type(model).__name__} has no method {what}")
        return method(*args)

    def made(self, config: dict[str, Any]) -> nn.Module:
        """cls(**config), with the same random start each time."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)       # torch.manual_seed walks over every kind of device, for 1 ms
            return self.cls(**config)

    # what is kept

    def _make(self, model: nn.Module) -> int:
        return self.models.add(model)

    def _copy(self, model: nn.Module) -> int:
        return self.models.add(copy.deepcopy(model).double().eval())

    # what a model is

    def _facts(self, model: AutoregressiveModel, length: int) -> dict[str, Any]:
        """n and the order as the model has them, the family and its numbers, the parents of each of `length` variables."""
        if not isinstance(model, AutoregressiveModel):
            raise TypeError(f"{type(model).__name__} is not an AutoregressiveModel: let its class inherit from it")
        if not hasattr(model, "conditional"):
            raise TypeError(f"{type(model).__name__} has no conditional: call super().__init__(n) in its constructor")
        return {"n": model.n, "order": None if model.order is None else model.order.tolist(),
                "family": type(model.conditional).__name__, "of": model.conditional.config,
                "parents": [list(map(int, model.parents(i))) for i in range(length)]}

    def _parameters(self, model: nn.Module) -> dict[str, Tensor]:
        return dict(model.named_parameters())

    def _grads(self, model: nn.Module) -> dict[str, Tensor | None]:
        return {name: one.grad for name, one in model.named_parameters()}

    def _randomize(self, model: AutoregressiveModel, seed: int) -> None:
        model.randomize(torch.Generator().manual_seed(seed))

    # every factor at once

    def _conditionals(self, model: AutoregressiveModel, x: Tensor, context: Any = None) -> dict[str, Any]:
        return crossing(model.conditionals(x, context), f"{type(model).__name__}.conditionals")

    @torch.enable_grad()                                 # in this process it is asked during a backward
    def _pulled(self, model: AutoregressiveModel, x: Tensor, weights: list[Tensor]) -> Tensor:
        """The gradient by x of the factors' parameters, weighted and summed."""
        x = x.detach().requires_grad_()
        parts = crossing(model.conditionals(x), f"{type(model).__name__}.conditionals")["parameters"]
        total = sum((weight * part).sum() for weight, part in zip(weights, parts, strict=True))
        if not isinstance(total, Tensor) or not total.requires_grad:
            return torch.zeros_like(x)
        [found] = torch.autograd.grad(total, [x], allow_unused=True)
        return torch.zeros_like(x) if found is None else found

    def _slopes(self, model: nn.Module, method: str, weight: Tensor, *args: Any) -> dict[str, Tensor]:
        """The gradients of sum(weight * method(*args)), by the model's parameters and by the arguments, "0" the first."""
        args = [one.detach().clone().requires_grad_() if isinstance(one, Tensor) and one.is_floating_point() else one
                for one in args]
        value = getattr(model, method)(*args)
        by = dict(model.named_parameters()) | {str(i): one for i, one in enumerate(args)
                                               if isinstance(one, Tensor) and one.requires_grad}
        if not isinstance(value, Tensor) or value.shape != weight.shape:
            raise TypeError(f"{type(model).__name__}.{method} returns {value if value is None else type(value).__name__}; "
                            f"expected a tensor of shape {tuple(weight.shape)}")
        if not value.requires_grad:
            return {name: torch.zeros_like(one) for name, one in by.items()}
        grads = torch.autograd.grad((weight.to(value) * value).sum(), list(by.values()), allow_unused=True)
        return {name: torch.zeros_like(one) if grad is None else grad
                for (name, one), grad in zip(by.items(), grads, strict=True)}

    # one variable at a time

    def _start(self, model: AutoregressiveModel, batch: int, context: Any = None) -> int:
        return self.states.add(model.start(batch, context))

    def _predict(self, model: AutoregressiveModel, state: int) -> dict[str, Any]:
        return crossing(model.predict(self.states[state]), f"{type(model).__name__}.predict")

    def _update(self, model: AutoregressiveModel, state: int, x_i: Tensor) -> int:
        return self.states.add(model.update(self.states[state], x_i))

    def _select(self, model: AutoregressiveModel, state: int, rows: Tensor) -> int:
        return self.states.add(model.select(self.states[state], rows))

    def _path(self, model: AutoregressiveModel, x: Tensor) -> Tensor:
        """Of states that are pairs (k, a): a with nothing of x (B, n) known, and after each update in drawing order,
        (n + 1, B, ...). They are kept as they are handed out: who writes into an old one is seen."""
        state, found = model.start(len(x)), []
        for k in range(x.shape[1] + 1):
            after = f"after {k} update{'s' * (k != 1)}" if k else "that start returns"
            if not isinstance(state, tuple) or len(state) != 2 or not isinstance(state[1], Tensor):
                held = f"a tuple of {len(state)}" if isinstance(state, tuple) else type(state).__name__
                raise TypeError(f"the state {after} is {held}; expected a pair (k, a), a number and a tensor")
            if state[0] != k:
                raise ValueError(f"the state {after} says that {state[0]} variables are known; expected {k}")
            if found and state[1].shape != found[0].shape:
                raise ValueError(f"the tensor of the state {after} has shape {tuple(state[1].shape)}; that of start has "
                                 f"{tuple(found[0].shape)}")
            found.append(state[1])
            state = model.update(state, x[:, model.variable_at(k)]) if k < x.shape[1] else state
        return torch.stack(found)

    def _sample(self, model: AutoregressiveModel, num: int, given: Tensor | None, known: Tensor | None, context: Any,
                seed: int, length: int | None) -> Tensor:
        return model.sample(num, given, known, context, torch.Generator().manual_seed(seed), length)


class Kept:
    """Things by number; of more than KEPT the oldest are forgotten."""

    def __init__(self):
        self.held, self.count = OrderedDict(), 0

    def add(self, value: Any) -> int:
        """Keep it; returns its number."""
        self.held[self.count] = value
        if len(self.held) > KEPT:
            self.held.popitem(last=False)
        self.count += 1
        return self.count - 1

    def __getitem__(self, number: int) -> Any:
        return self.held[number]


def filled(model: nn.Module, weights: dict[str, Tensor] | None) -> nn.Module:
    """The module with these parameters, those that it has and no others; None leaves them as they were made."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"{type(model).__name__} is not a module of torch's: let its class inherit from nn.Module, or from "
                        "AutoregressiveModel where the exercise says so")
    if weights is None:
        return model
    mine = dict(model.named_parameters())
    for name in sorted({*weights, *mine}):
        if name not in mine:
            raise AttributeError(f"{type(model).__name__} has no parameter {name}; its parameters are "
                                 f"{', '.join(mine) or 'none'}")
        if name not in weights:
            raise AttributeError(f"{type(model).__name__} has a parameter {name}, which is not one of those asked for: "
                                 f"{', '.join(weights)}")
        if mine[name].shape != weights[name].shape:
            raise ValueError(f"the parameter {name} has shape {tuple(mine[name].shape)}; expected "
                             f"{tuple(weights[name].shape)}")
        mine[name].data.copy_(weights[name])
    return model


def crossing(found: Distribution, who: str) -> dict[str, Any]:
    """A distribution as plain data: the name of its class and its parameters."""
    name = type(found).__name__
    if not isinstance(found, Distribution):
        raise TypeError(f"{who} returns {'None' if found is None else 'a ' + name}; expected a distribution, "
                        "self.conditional(raw)")
    if name not in PARAMETERS:
        raise TypeError(f"{who} returns a distribution {name}; expected that of its family, self.conditional(raw)")
    parts = []
    for path in PARAMETERS[name]:
        part = found
        for step in path.split("."):
            part = getattr(part, step)
        parts.append(part)
    return {"kind": name, "parameters": parts}
