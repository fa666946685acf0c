"""The computation graph: complete passes are torch's, every step adds one thing, bad input."""
from __future__ import annotations

import json

import pytest
import torch

from course_lib.explorables import ComputationGraph
from course_lib.explorables.computation_graph import GRAPHS, OPERATIONS, steps


def by_torch(graph, inputs, passes=1):
    """Values and gradients of all nodes, after so many backward passes."""
    numbers, nodes = iter(inputs), []
    for _, operation, parents in graph.nodes:
        node = (OPERATIONS[operation](*(nodes[k] for k in parents)) if operation
                else torch.tensor(next(numbers), dtype=torch.float64, requires_grad=True))
        node.retain_grad()
        nodes.append(node)
    for _ in range(passes):
        nodes[-1].backward(retain_graph=True)
    return [node.item() for node in nodes], [node.grad.item() for node in nodes]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_complete_passes_are_those_of_torch(name, passes):
    graph, generator = GRAPHS[name], torch.Generator().manual_seed(passes)
    for _ in range(20):
        inputs = (20 * torch.rand(3, generator=generator, dtype=torch.float64) - 10).tolist()
        got, want = steps(graph, inputs, graph.length, passes), by_torch(graph, inputs, passes)
        assert got.values == pytest.approx(want[0], abs=1e-9) and got.gradients == pytest.approx(want[1], abs=1e-9)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_step_changes_one_thing(name):
    graph = GRAPHS[name]
    assert steps(graph, graph.start, 0).gradients == [None] * 6
    for k in range(graph.length):
        one, two = (steps(graph, graph.start, step) for step in (k, k + 1))
        assert sum(a != b for part in range(2) for a, b in zip(one[part], two[part])) == 1


def test_the_slides_example_and_a_value_that_is_used_twice():
    loss = ComputationGraph(step=9).result
    assert loss.values == [3, 2, 6, 7, 1, 1] and loss.gradients == [-4, -6, -2, 2, 2, 1]
    seen = [steps(GRAPHS["twice"], (2.0, -3.0, 10.0), k).gradients[0] for k in range(11)]
    assert seen == [None] * 6 + [4] * 3 + [-2] * 2, "first by the last product, then the sum"


def test_the_graph_opens_before_its_last_gradient_and_in_words():
    w = ComputationGraph()
    assert w.text().splitlines()[2] == "x: value 2, gradient none yet" and repr(w) == "ComputationGraph()"
    assert len(json.dumps(w.get_state()).encode()) <= 60_000
    bundle = w._repr_mimebundle_()
    assert (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"] == w.text()


@pytest.mark.parametrize("make, message", [
    (lambda: ComputationGraph("square"), "graph is 'square'; expected one of 'loss', 'twice'"),
    (lambda: ComputationGraph(inputs=[1.0, 2.0]), r"inputs is \[1.0, 2.0\]; expected three numbers from -10 to 10"),
    (lambda: ComputationGraph(inputs=[1.0, 2.0, 11.0]), "expected three numbers"),
    (lambda: ComputationGraph(step=11), "step is 11; expected 0 to 10"),
    (lambda: ComputationGraph(passes=4), "passes is 4; expected 1 to 3"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
