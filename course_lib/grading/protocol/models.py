"""A learner's class behind one function, which is called with the name of a method and plain data, as the functions of exercises are:
serve("log_prob", config, weights, x) of a new object, cls(**config), with these parameters; serve("make", config, weights) -> 0 stores one,
serve("predict", 0, None, state) calls it. States have numbers too; a distribution is sent as its parameters, a generator as a seed."""
import copy
from collections.abc import Callable
from itertools import count
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Distribution

from course_lib.autoregressive import AutoregressiveModel
from course_lib.grading.protocol.calls import differentiate

BASE = AutoregressiveModel.log_prob                     # which takes conditionals to return a distribution
CAPACITY = 64                   # models, and states, that are stored; of more the oldest are dropped
PARAMETERS = {                  # what is sent of a distribution, by the name of its class
    "Bernoulli": ("logits",),
    "Categorical": ("logits",),
    "MixtureSameFamily": ("mixture_distribution.logits", "component_distribution.loc", "component_distribution.scale"),
}


class ModelServer:
    """`cls` as one function: the methods of its class, and for an AutoregressiveModel those of its contract."""

    def __init__(self, cls: Callable[..., nn.Module]):
        self.cls, self.models, self.states = cls, ObjectStore(), ObjectStore()
        self.__wrapped__ = cls                           # whose lines an error is looked for in

    def __call__(self, what: str, config: dict[str, Any] | int, weights: dict[str, Tensor] | None = None, *args: Any) -> Any:
        model = self.models[config] if isinstance(config, int) else load_parameters(self.create(config), weights)
        if own := getattr(self, f"_{what}", None):
            return own(model, *args)
        if what == "log_prob" and isinstance(model, AutoregressiveModel) and type(model).log_prob is BASE:
            serialize_distribution(model.conditionals(*args), f"{type(model).__name__}.conditionals")
        method = getattr(model, what, None)
        if not callable(method):
            raise AttributeError(f"{type(model).__name__} has no method {what}")
        return method(*args)

    def create(self, config: dict[str, Any]) -> nn.Module:
        """cls(**config), with the same random start each time."""
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(0)       # torch.manual_seed walks over every kind of device, for 1 ms
            return self.cls(**config)

    def _make(self, model: nn.Module) -> int:
        return self.models.add(model)

    def _copy(self, model: nn.Module) -> int:
        return self.models.add(copy.deepcopy(model).double().eval())

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
        return {name: parameter.grad for name, parameter in model.named_parameters()}

    def _randomize(self, model: AutoregressiveModel, seed: int) -> None:
        model.randomize(torch.Generator().manual_seed(seed))

    def _conditionals(self, model: AutoregressiveModel, x: Tensor, context: Any = None) -> dict[str, Any]:
        return serialize_distribution(model.conditionals(x, context), f"{type(model).__name__}.conditionals")

    @torch.enable_grad()                                 # in this process it is called during a backward
    def _vjp(self, model: AutoregressiveModel, x: Tensor, weights: list[Tensor]) -> Tensor:
        """The gradient by x of the factors' parameters, weighted and summed."""
        x = x.detach().requires_grad_()
        parts = serialize_distribution(model.conditionals(x), f"{type(model).__name__}.conditionals")["parameters"]
        return differentiate(sum((weight * part).sum() for weight, part in zip(weights, parts, strict=True)), [x])[0]

    def _slopes(self, model: nn.Module, method: str, weight: Tensor, *args: Any) -> dict[str, Tensor]:
        """The gradients of sum(weight * method(*args)), by the model's parameters and by the arguments, "0" the first."""
        args = [arg.detach().clone().requires_grad_() if isinstance(arg, Tensor) and arg.is_floating_point() else arg for arg in args]
        value = getattr(model, method)(*args)
        leaves = dict(model.named_parameters()) | {str(i): arg for i, arg in enumerate(args)
                                                   if isinstance(arg, Tensor) and arg.requires_grad}
        if not isinstance(value, Tensor) or value.shape != weight.shape:
            raise TypeError(f"{type(model).__name__}.{method} returns {value if value is None else type(value).__name__}; "
                            f"expected a tensor of shape {tuple(weight.shape)}")
        return dict(zip(leaves, differentiate(value, list(leaves.values()), weight), strict=True))

    def _start(self, model: AutoregressiveModel, batch: int, context: Any = None) -> int:
        return self.states.add(model.start(batch, context))

    def _predict(self, model: AutoregressiveModel, state: int) -> dict[str, Any]:
        return serialize_distribution(model.predict(self.states[state]), f"{type(model).__name__}.predict")

    def _update(self, model: AutoregressiveModel, state: int, x_i: Tensor) -> int:
        return self.states.add(model.update(self.states[state], x_i))

    def _select(self, model: AutoregressiveModel, state: int, rows: Tensor) -> int:
        return self.states.add(model.select(self.states[state], rows))

    def _path(self, model: AutoregressiveModel, x: Tensor) -> Tensor:
        """Of states (k, a): a before and after each update, (n + 1, B, ...), as returned, so that writing into an old one shows."""
        state, tensors = model.start(len(x)), []
        for k in range(x.shape[1] + 1):
            after = f"after {k} update{'s' * (k != 1)}" if k else "that start returns"
            if not isinstance(state, tuple) or len(state) != 2 or not isinstance(state[1], Tensor):
                held = f"a tuple of {len(state)}" if isinstance(state, tuple) else type(state).__name__
                raise TypeError(f"the state {after} is {held}; expected a pair (k, a), a number and a tensor")
            if state[0] != k:
                raise ValueError(f"the state {after} says that {state[0]} variables are known; expected {k}")
            if tensors and state[1].shape != tensors[0].shape:
                raise ValueError(f"the tensor of the state {after} has shape {tuple(state[1].shape)}; that of start has "
                                 f"{tuple(tensors[0].shape)}")
            tensors.append(state[1])
            state = model.update(state, x[:, model.variable_at(k)]) if k < x.shape[1] else state
        return torch.stack(tensors)

    def _sample(self, model: AutoregressiveModel, num: int, given: Tensor | None, known: Tensor | None, context: Any,
                seed: int, length: int | None) -> Tensor:
        return model.sample(num, given, known, context, torch.Generator().manual_seed(seed), length)


class ObjectStore(dict):
    """Objects by number; of more than CAPACITY the oldest are dropped."""

    def __init__(self):
        self.numbers = count()

    def add(self, value: Any) -> int:
        """Store an object; returns its number."""
        number = next(self.numbers)
        self[number] = value
        self.pop(number - CAPACITY, None)
        return number


def load_parameters(model: nn.Module, weights: dict[str, Tensor] | None) -> nn.Module:
    """The module with these parameters, those that it has and no others; None leaves them as they were made."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"{type(model).__name__} is not a module of torch's: let its class inherit from nn.Module, or from "
                        "AutoregressiveModel where the exercise says so")
    if weights is None:
        return model
    own = dict(model.named_parameters())
    for name in sorted({*weights, *own}):
        if name not in own:
            raise AttributeError(f"{type(model).__name__} has no parameter {name}; its parameters are {', '.join(own) or 'none'}")
        if name not in weights:
            raise AttributeError(f"{type(model).__name__} has a parameter {name}, which is not one of those asked for: "
                                 f"{', '.join(weights)}")
        if own[name].shape != weights[name].shape:
            raise ValueError(f"the parameter {name} has shape {tuple(own[name].shape)}; expected {tuple(weights[name].shape)}")
        own[name].data.copy_(weights[name])
    return model


def serialize_distribution(distribution: Distribution, source: str) -> dict[str, Any]:
    """A distribution as plain data: the name of its class and its parameters."""
    name = type(distribution).__name__
    if not isinstance(distribution, Distribution):
        raise TypeError(f"{source} returns {'None' if distribution is None else 'a ' + name}; expected a distribution, "
                        "self.conditional(raw)")
    if name not in PARAMETERS:
        raise TypeError(f"{source} returns a distribution {name}; expected that of its family, self.conditional(raw)")
    return {"kind": name, "parameters": [attrgetter(path)(distribution) for path in PARAMETERS[name]]}
