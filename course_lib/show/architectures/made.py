"""MADE: the network of the slide for three variables, with masked and unmasked connections."""

from __future__ import annotations

from math import hypot
from typing import Iterator, NamedTuple

from course_lib.show.architectures._canvas import Canvas

# MADE(3, (4, 4), order=[1, 2, 0], seed=2) of the chapter: degrees of the inputs, of the hidden layers, of the outputs.
DEGREES = [[3, 1, 2], [1, 2, 2, 1], [1, 2, 1, 2], [3, 1, 2]]
OUTPUT = 2                                                           # the paths of p(x_3 | x_2) are highlighted
RIM = 18                                                             # radius of a unit with its margin


class Connection(NamedTuple):
    """A connection from a unit to a unit of the layer above, that is, closer to the output."""

    layer: int                                                       # index of the lower layer, 0 for the inputs
    source: int                                                      # index of the unit in the lower layer
    target: int                                                      # index of the unit in the upper layer
    is_open: bool                                                    # not masked, by equation (8.4)
    leads: bool                                                      # on an open path from an input to OUTPUT


def connections() -> Iterator[Connection]:
    """Yield all connections of the network, layer by layer."""
    last = len(DEGREES) - 2

    def is_open(layer: int, j: int, k: int) -> bool:
        below, above = DEGREES[layer][j], DEGREES[layer + 1][k]
        return above > below if layer == last else above >= below

    reads = [set() for _ in DEGREES[:-1]] + [{OUTPUT}]               # units from which an open path leads to OUTPUT
    for layer in reversed(range(last + 1)):
        reads[layer] = {j for j in range(len(DEGREES[layer])) if any(is_open(layer, j, k) for k in reads[layer + 1])}
    for layer in range(last + 1):
        for j in range(len(DEGREES[layer])):
            for k in range(len(DEGREES[layer + 1])):
                yield Connection(layer, j, k, is_open(layer, j, k), is_open(layer, j, k) and k in reads[layer + 1])


def draw() -> Canvas:
    """Draw MADE: an autoencoder with the degrees of its units and the unmasked connections."""
    c = Canvas(360, 550, "MADE with three variables: masks as cut paths",
               "Inputs x_1, x_2, x_3 above, two hidden layers of four units, outputs below. The order is x_2, x_3, "
               "x_1, so x_1 has degree 3, x_2 degree 1, x_3 degree 2; the hidden units have degrees 1, 2, 2, 1 and "
               "1, 2, 1, 2. A connection is open if the unit it enters has no smaller degree than the unit it "
               "leaves, into an output only if it has a larger one; all others are dotted and crossed out. Thick: "
               "the open paths to p(x_3 | x_2), all of which start at x_2. Nothing leaves x_1, the last variable, "
               "and nothing enters p(x_2), the first factor.")
    rows, columns = [62, 176, 290, 404], {3: [116, 212, 308], 4: [98, 174, 250, 326]}
    places = [[(x, y) for x in columns[len(degrees)]] for y, degrees in zip(rows, DEGREES)]
    lines = list(connections())
    ends = [_ends(places[line.layer][line.source], places[line.layer + 1][line.target]) for line in lines]
    crosses = _crosses([(line, end) for line, end in zip(lines, ends)])
    for kind in ("cut", "flow", "attend"):                           # the most important lines on top
        for line, (start, end) in zip(lines, ends):
            if kind == ("cut" if not line.is_open else "attend" if line.leads else "flow"):
                c.line(start, end, kind=kind, head=kind != "cut", cut=crosses.get(line))
    for y, name, shape in zip(rows, ("input", "hidden", "hidden", "output"), ("(B, 3)", "(B, 4)", "(B, 4)", "(B, 3)")):
        c.note(10, y - 8, name, "start")
        c.note(10, y + 8, shape, "start")
    for k, (above, below) in enumerate(zip(rows, rows[1:])):
        c.note(10, (above + below) / 2, f"$M^{k + 1}$ {('(4, 3)', '(4, 4)', '(3, 4)')[k]}", "start")
    for layer, degrees in enumerate(DEGREES):
        for k, ((x, y), degree) in enumerate(zip(places[layer], degrees)):
            if layer in (1, 2):
                c.unit(x, y, str(degree), 17, learned=True)
            else:
                c.unit(x, y, (rf"$\hat x_{k + 1}$" if layer else f"$x_{k + 1}$"), 17)
                c.place(x + 20, y + (15 if layer else -15), degree)
    for (x, y), factor in zip(places[3], ("$p(x_1 | x_2, x_3)$", "$p(x_2)$", "$p(x_3 | x_2)$")):
        c.text(x, y + 38, factor, 13)
    c.note(10, 20, "in a unit: its degree;  in a disc: place in the order", "start")
    for y, kind, text in ((474, "attend", "open, and leads to $p(x_3 | x_2)$"),
                          (500, "flow", "open:  $m(k) ≥ m(j)$;  to the output  $m(i) > m(j)$"),
                          (526, "cut", "cut: the mask multiplies the weight by 0")):
        c.line((12, y), (44, y), kind=kind, head=kind != "cut", cut=0.5 if kind == "cut" else None)
        c.text(54, y, text, 12, anchor="start")
    return c


def _ends(source: tuple, target: tuple) -> tuple:
    """Return the ends (x, y) of a line between two units of radius RIM with the centers `source` and `target`."""
    (x, y), (u, v) = source, target
    share = RIM / hypot(u - x, v - y)
    return (x + (u - x) * share, y + (v - y) * share), (u - (u - x) * share, v - (v - y) * share)


def _crosses(lines: list) -> dict:
    """Return {masked connection: position of × on its line, from 0 to 1}, as far as possible from other lines.

    lines  (connection, (start, end)) of each line
    """
    found, taken = {}, []
    for line, (start, end) in lines:
        if line.is_open:
            continue
        best = None
        for k in range(16, 71):
            share = k / 100
            x, y = start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share
            free = [_distance((x, y), *other) for neighbour, other in lines
                    if neighbour is not line and neighbour.layer == line.layer]
            free += [hypot(x - u, y - v) - 7 for u, v in taken]
            if best is None or min(free) > best[0]:
                best = min(free), share, (x, y)
        found[line] = best[1]
        taken.append(best[2])
    return found


def _distance(point: tuple, start: tuple, end: tuple) -> float:
    """Return the distance from a point (x, y) to the line segment from `start` to `end`."""
    (x, y), (u, v), (s, t) = point, start, end
    along = ((x - u) * (s - u) + (y - v) * (t - v)) / ((s - u) ** 2 + (t - v) ** 2)
    along = min(1, max(0, along))
    return hypot(x - u - (s - u) * along, y - v - (t - v) * along)
