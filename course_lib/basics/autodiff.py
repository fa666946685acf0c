r"""Reverse-mode automatic differentiation on scalars, in about a hundred lines.

A `Value` is a scalar that stores the operation and the values from which it was computed, so that values form a
computation graph. Traversed backward from a result $L$, the graph gives every $\partial L / \partial v$ by the chain
rule,

$$\frac{\partial L}{\partial v} = \sum_{w \text{ uses } v} \frac{\partial L}{\partial w} \frac{\partial w}{\partial v},$$

where the sum is over all values w that were computed directly from v: a value that is used twice gets two
contributions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any

Number = int | float                                                 # jaxtyping does not accept an int as a float

# For each operation: the function on numbers, and the rule that maps the gradient g of the result, the result y and the
# parents to one contribution for each parent. Rules use arithmetic only, so they apply to numbers and to Values; the
# gradients of Values are Values, which can be differentiated again.
OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "+": (lambda a, b: a + b, lambda g, y, a, b: (g, g)),
    "-": (lambda a, b: a - b, lambda g, y, a, b: (g, g * -1.0)),
    "*": (lambda a, b: a * b, lambda g, y, a, b: (g * b, g * a)),
    "/": (lambda a, b: a / b, lambda g, y, a, b: (g / b, g * y / b * -1.0)),
    "exp": (math.exp, lambda g, y, a: (g * y,)),
    "log": (math.log, lambda g, y, a: (g / a,)),
    "tanh": (math.tanh, lambda g, y, a: (g * (1 - y * y),)),
    "sigmoid": (lambda a: 1 / (1 + math.exp(-a)) if a >= 0 else math.exp(a) / (1 + math.exp(a)),
                lambda g, y, a: (g * y * (1 - y),)),
    "relu": (lambda a: max(0.0, a), lambda g, y, a: (g * (1.0 if a > 0 else 0.0),)),   # 0 at 0, as in torch
}


class Value:
    r"""A scalar, its gradient, and the values from which it was computed.

    data                the number
    grad                derivative of a result with respect to this value; None until `backward` is called on the
                        result. Further calls add to it; set it to None to reset it
    label               a name, for drawings and messages
    operation, parents  the operation that computed this value, such as "*", and its arguments; "" and () for an input

    +, -, *, / and ** (with a number as its exponent) create new values, and so do `exp`, `log`, `tanh`, `sigmoid` and
    `relu`. `+=` also creates a new value, so no value is overwritten.

    Slide: "How do frameworks represent these models? Computational graph", $L = (y - \beta x)^2$.

    >>> x, y, beta = Value(2.0, "x"), Value(7.0, "y"), Value(3.0, "beta")
    >>> L = (y - beta * x) ** 2
    >>> L.backward()
    >>> L.data, beta.grad                     # dL/d beta = -2 x (y - beta x)
    (1.0, -4.0)
    >>> slope, = gradients(L, [beta])         # a Value: it can be differentiated again
    >>> gradients(slope, [beta])              # 2 x^2
    [Value(8)]
    """

    __slots__ = ("data", "grad", "label", "operation", "parents", "rule")

    def __init__(self, data: Number, label: str = ""):
        if isinstance(data, bool) or not isinstance(data, Real):
            raise TypeError(f"data is {data!r}, a {type(data).__name__}; expected a number")
        self.data, self.label = float(data), label
        self.grad: float | None = None
        self.operation, self.parents, self.rule = "", (), None

    # forward pass: each operation creates a value with its parents and its rule
    def __add__(self, other: Value | Number) -> Value:
        return _apply("+", self, other)

    def __mul__(self, other: Value | Number) -> Value:
        return _apply("*", self, other)

    def __pow__(self, exponent: Value | Number) -> Value:
        if not isinstance(exponent, Real):
            raise TypeError(f"exponent is a {type(exponent).__name__}; expected a number. "
                            "For a ** b with two values write (b * a.log()).exp()")
        if self.data < 0 and exponent != int(exponent) or self.data == 0 and exponent < 0:
            needed = "an integer exponent" if self.data < 0 else "an exponent of at least 0"
            raise ValueError(f"({self.data:g}) ** {exponent:g} is not a real number; expected a positive base or "
                             f"{needed}")
        return _node(f"** {exponent:g}", self.data ** exponent, (self,), lambda g, y, a: (_power_rule(g, a, exponent),))

    def exp(self) -> Value:
        """The exponential function of this value."""
        return _apply("exp", self)

    def log(self) -> Value:
        """The natural logarithm of this value. Raises ValueError unless the value is positive."""
        if self.data <= 0:
            raise ValueError(f"log of {self.data:g} is not a real number; expected a positive value")
        return _apply("log", self)

    def tanh(self) -> Value:
        """The hyperbolic tangent of this value."""
        return _apply("tanh", self)

    def sigmoid(self) -> Value:
        """The sigmoid 1 / (1 + exp(-z)) of this value z, without overflow for z far from 0."""
        return _apply("sigmoid", self)

    def relu(self) -> Value:
        """max(0, z) of this value z; the derivative at 0 is 0."""
        return _apply("relu", self)

    def __neg__(self) -> Value:
        return self * -1.0

    def __sub__(self, other: Value | Number) -> Value:
        return _apply("-", self, other)

    def __rsub__(self, other: Number) -> Value:
        return _apply("-", other, self)

    def __truediv__(self, other: Value | Number) -> Value:
        return _apply("/", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return _apply("/", other, self)

    __radd__, __rmul__ = __add__, __mul__

    def __gt__(self, other: Value | Number) -> bool:
        return self.data > _number(other)

    def __lt__(self, other: Value | Number) -> bool:
        return self.data < _number(other)

    def __repr__(self) -> str:
        return f"Value({self.data:g}{f', {self.label!r}' if self.label else ''})"

    # backward pass: reverse topological order
    def backward(self) -> None:
        """Add the derivative of this value with respect to v to `v.grad`, for each v of its graph, itself included."""
        for value, gradient in _backward(self, 1.0, lambda value: value.data).values():
            value.grad = gradient if value.grad is None else value.grad + gradient


def gradients(result: Value, inputs: Sequence[Value]) -> list[Value]:
    """Derivatives of `result` with respect to each of `inputs`, as values that can be differentiated again.

    No `grad` is changed. The derivative with respect to an input that is not in the graph of the result is 0.
    """
    nodes = _backward(result, Value(1.0), lambda value: value)
    return [nodes[id(value)][1] if id(value) in nodes else Value(0.0) for value in inputs]


def ordered(result: Value) -> list[Value]:
    """The values of the graph of `result` in topological order: each value comes after its parents."""
    order, seen, stack = [], set(), [(result, False)]
    while stack:
        value, parents_done = stack.pop()
        if parents_done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack += [(parent, False) for parent in reversed(value.parents)]
    return order


def _backward(result: Value, one: Any,
              read: Callable[[Value], Any]) -> dict[int, tuple[Value, Any]]:
    """Return {id(v): (v, derivative of `result` with respect to v)} for each value v of the graph of `result`.

    one   derivative of `result` with respect to itself: the number 1.0, or Value(1.0) if derivatives are to be Values
    read  function that is applied to a Value before it is passed to a rule of OPERATIONS; returns its number, or the
          Value itself
    """
    if not isinstance(result, Value):
        raise TypeError(f"result is a {type(result).__name__}; expected a Value")
    nodes = {id(result): (result, one)}
    for value in reversed(ordered(result)):
        if not value.parents:
            continue
        g = nodes[id(value)][1]  # complete: all values that use it came before
        for parent, part in zip(value.parents,
                                value.rule(g, read(value), *map(read, value.parents)),
                                strict=True):
            before = nodes.get(id(parent))
            nodes[id(parent)] = parent, part if before is None else before[1] + part
    return nodes


def _apply(operation: str, *arguments: Value | Number) -> Value:
    compute, rule = OPERATIONS[operation]
    parents = tuple(each if isinstance(each, Value) else Value(each) for each in arguments)
    if operation == "/" and parents[1].data == 0:
        raise ValueError(f"{parents[0].data:g} / 0 is not a number; expected a denominator other than 0")
    return _node(operation, compute(*(parent.data for parent in parents)), parents, rule)


def _node(operation: str, data: float, parents: Iterable[Value], rule: Callable) -> Value:
    value = Value(data)
    value.operation, value.parents, value.rule = operation, tuple(parents), rule
    return value


def _power_rule(g: Any, a: Any, n: Number) -> Any:
    return g * (n * a ** (n - 1)) if n != 0 else g * 0.0            # also at a = 0, where 0 ** -1 is undefined


def _number(other: Value | Number) -> Number:
    return other.data if isinstance(other, Value) else other
