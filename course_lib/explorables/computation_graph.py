r"""Backpropagation in a computation graph, step by step.

`steps` computes values and gradients with the library's `Value`. A forward step computes one node. The first backward
step sets the gradient of the result to 1, and each later step adds the contribution of one edge to the gradient of a
parent. A further backward pass adds to the gradients of the earlier passes, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import traitlets

from course_lib.basics import Value
from course_lib.explorables.base import Explorable, OneOf, Whole, script, style


class Graph(NamedTuple):
    """A computation graph. A node is (name, operation, indices of its parents); the operation of an input is ""."""

    nodes: tuple[tuple[str, str, tuple[int, ...]], ...]              # in the order of computation, the result last
    start: tuple[float, ...]                                         # default values of the inputs, in their order

    @property
    def inputs(self) -> list[int]:
        """Indices of the inputs in `nodes`."""
        return [k for k, (_, operation, _) in enumerate(self.nodes) if not operation]

    @property
    def edges(self) -> list[tuple[int, int]]:
        """(index of a node, index of its parent), in the order of the backward pass."""
        return [(k, parent) for k in reversed(range(len(self.nodes))) for parent in self.nodes[k][2]]

    @property
    def length(self) -> int:
        """The number of steps of one forward pass and one backward pass together."""
        return len(self.nodes) - len(self.inputs) + 1 + len(self.edges)


GRAPHS = {
    "loss": Graph((("β", "", ()), ("x", "", ()), ("βx", "*", (0, 1)), ("y", "", ()), ("y − βx", "-", (3, 2)),
                   ("L", "square", (4,))), (3.0, 2.0, 7.0)),
    "twice": Graph((("a", "", ()), ("b", "", ()), ("ab", "*", (0, 1)), ("c", "", ()), ("ab + c", "+", (2, 3)),
                    ("y", "*", (4, 0))), (2.0, -3.0, 10.0)),
}
OPERATIONS = {"*": lambda a, b: a * b, "-": lambda a, b: a - b, "+": lambda a, b: a + b, "square": lambda a: a ** 2}
MOST = 3                                                             # maximum number of backward passes
LARGEST = 10                                                         # largest absolute value of an input


class Steps(NamedTuple):
    """The state of a graph after some steps; entry k belongs to node k and is None if not yet computed."""

    values: list[float | None]                                       # values of the nodes
    gradients: list[float | None]                                    # derivatives of the result by the nodes, summed
                                                                     # over backward passes


def steps(graph: Graph, inputs: Sequence[float], step: int, passes: int = 1) -> Steps:
    """Return the values and gradients of all nodes after `step` steps, the forward steps first.

    inputs  values of the inputs of `graph`, in the order of `graph.inputs`
    passes  number of the current backward pass, from 1; all earlier passes are complete, and gradients accumulate
    """
    values: list[Value] = []
    numbers = iter(inputs)
    for name, operation, parents in graph.nodes:
        values.append(OPERATIONS[operation](*(values[k] for k in parents)) if operation else Value(next(numbers), name))
    forward, shown, done = len(graph.nodes) - len(graph.inputs), set(graph.inputs), 0
    for k, (_, operation, _) in enumerate(graph.nodes):
        if operation and done < step:
            shown.add(k)
            done += 1
    for _ in range(passes - 1):
        values[-1].backward()
    before = [value.grad for value in values]
    found: dict[int, float] = {}
    if step > forward:
        found[len(values) - 1] = 1.0
    for k, parent in graph.edges[:max(0, step - forward - 1)]:
        rule = values[k].rule(found[k], values[k].data, *(p.data for p in values[k].parents))
        part = rule[[id(p) for p in values[k].parents].index(id(values[parent]))]
        found[parent] = found.get(parent, 0.0) + part
    gradients = [old if k not in found else found[k] + (old or 0.0) for k, old in enumerate(before)]
    return Steps([v.data if k in shown else None for k, v in enumerate(values)], gradients)


class ComputationGraph(Explorable):
    """Forward and backward pass through a graph of six values, one step at a time.

    graph   "loss", L = (y - beta x)^2, or "twice", y = (a b + c) a, in which a is used twice
    inputs  values of the three inputs, -10 to 10; None for the values of the chapter
    step    number of completed steps, the forward steps first
    passes  number of the current backward pass, 1 to 3; the gradients of earlier passes accumulate

    Raises ValueError for values out of range.

    >>> print(ComputationGraph().text().splitlines()[1])
    β: value 3, gradient -4
    """

    _esm = script("computation_graph")
    _css = style("computation_graph")
    graph = OneOf("loss", GRAPHS).tag(sync=True)
    inputs = traitlets.List(traitlets.Float()).tag(sync=True)
    step = Whole(0, 0, max(each.length for each in GRAPHS.values())).tag(sync=True)
    passes = Whole(1, 1, MOST).tag(sync=True)

    def __init__(self, graph: str = "loss", inputs=None, **traits):
        if graph not in GRAPHS:
            raise ValueError(f"graph is {graph!r}; expected one of {', '.join(map(repr, GRAPHS))}")
        super().__init__(**{"graph": graph, "inputs": list(GRAPHS[graph].start) if inputs is None else inputs,
                            "step": GRAPHS[graph].length - 1, "alt": "A computation graph, forward and backward",
                            **traits})

    @property
    def result(self) -> Steps:
        """The values and gradients of all nodes after `step` steps."""
        return steps(GRAPHS[self.graph], self.inputs, self.step, self.passes)

    def text(self) -> str:
        nodes, shown = GRAPHS[self.graph].nodes, self.result
        last = GRAPHS[self.graph].length
        lines = [f"Interactive figure: a computation graph, step {self.step} of {last}."]
        for (name, *_), value, gradient in zip(nodes, shown.values, shown.gradients):
            lines.append(f"{name}: value {'not yet' if value is None else f'{value:g}'}, gradient "
                         f"{'none yet' if gradient is None else f'{gradient:g}'}")
        return "\n".join(lines)

    @traitlets.validate("inputs")
    def _valid_inputs(self, proposal):
        value = proposal["value"]
        if len(value) != 3 or not all(abs(v) <= LARGEST for v in value):
            raise ValueError(f"inputs is {value}; expected three numbers from -{LARGEST} to {LARGEST}")
        return value
