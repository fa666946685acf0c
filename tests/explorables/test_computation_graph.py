"""The computation graph: complete passes are torch's, bad input."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables import ComputationGraph
from course_lib.explorables.computation_graph import GRAPHS, OPERATIONS, steps
from tests.explorables.figure import Figure, choose, click, data, fill, keys, refused


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
def test_steps_equal_torch(name, passes):
    graph, generator = GRAPHS[name], torch.Generator().manual_seed(passes)
    for _ in range(20):
        inputs = (20 * torch.rand(3, generator=generator, dtype=torch.float64) - 10).tolist()
        got, want = steps(graph, inputs, graph.length, passes), by_torch(graph, inputs, passes)
        assert got.values == pytest.approx(want[0], abs=1e-9) and got.gradients == pytest.approx(want[1], abs=1e-9)


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_torch(modules):
    generator, cases = torch.Generator().manual_seed(0), []
    for name, graph in GRAPHS.items():
        for passes in (1, 2, 3):
            inputs = (20 * torch.rand(3, generator=generator, dtype=torch.float64) - 10).tolist()
            low = 0 if passes == 1 else graph.length - len(graph.edges)
            cases += [(name, inputs, k, passes) for k in range(low, graph.length + 1)]
    got = modules.evaluate("""async cases => {
      const { GRAPHS, steps, length } = await import("./computation_graph.js");
      return cases.map(([name, ...c]) => ({ ...steps(GRAPHS[name], ...c), length: length(GRAPHS[name]) }));
    }""", cases)
    for (name, inputs, step, passes), js in zip(cases, got, strict=True):
        want = steps(GRAPHS[name], inputs, step, passes)
        assert (js["values"], js["gradients"]) == (pytest.approx(want.values, abs=1e-9), pytest.approx(want.gradients, abs=1e-9))
        assert js["length"] == GRAPHS[name].length
        if step == js["length"]:
            values, gradients = by_torch(GRAPHS[name], inputs, passes)
            assert (js["values"], js["gradients"]) == (pytest.approx(values, abs=1e-5), pytest.approx(gradients, abs=1e-5))


def agrees(page, w) -> None:
    assert data(page, "value") == pytest.approx(w.result.values, abs=1e-9)
    assert data(page, "gradient") == pytest.approx(w.result.gradients, abs=1e-9)


BAD = [
    (lambda: ComputationGraph("square"), "graph is 'square'; expected one of 'loss', 'twice'"),
    ({"inputs": [1.0, 2.0]}, r"inputs is \[1.0, 2.0\]; expected three numbers from -10 to 10"),
    ({"inputs": [1.0, 2.0, 11.0]}, "expected three numbers"),
    ({"step": 11}, "step is 11; expected 0 to 10"),
    ({"passes": 4}, "passes is 4; expected 1 to 3"),
]
FIGURE = Figure(ComputationGraph, agrees, bad=BAD, change={"step": 1}, rich={"graph": "twice"}, height=600,
                says=("x: value 2, gradient none yet",), moves=[
    (click("step"), {"step": 9}),
    (keys("Enter", at="step"), {}),                                  # it is off, and keeps the focus
    (click("backward once more, without clearing"), {"step": 4, "passes": 2}),
    (click("to the end"), {"step": 9}),
    (choose("Graph", "twice"), {"graph": "twice", "inputs": list(GRAPHS["twice"].start), "step": 0, "passes": 1}),
    *((keys("Enter", at="step"), {"step": k}) for k in range(1, 9)),
    (fill("[type=text] >> nth=1", "-1.5"), {"inputs": [2.0, -1.5, 10.0]}),
    (refused("[type=text] >> nth=1", "eleven"), {}),
    (keys("Tab", "Space", at="step"), {"step": 7}),
    (click("begin again"), {"step": 0}),
])
