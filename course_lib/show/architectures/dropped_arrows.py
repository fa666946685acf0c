"""Four pixels as a graphical model: all edges of the chain rule, and three subsets of them."""

from __future__ import annotations

from math import hypot

from course_lib.show.architectures._canvas import Canvas

PLACES = [(0, 0), (104, 0), (0, 96), (104, 96)]                      # x_1 x_2 above x_3 x_4, a block of 2 x 2 pixels
RADIUS = 16
GRAPHS = {"all arrows": [[], [0], [0, 1], [0, 1, 2]], "the slide's": [[], [0], [1], [0]],
          "the pixel above": [[], [0], [0], [1]], "none": [[], [], [], []]}            # parents of each factor


def draw() -> Canvas:
    """Draw four dependency graphs of four pixels, each with the number of parameters of its conditional tables."""
    c = Canvas(360, 500, "Four graphs on the same four pixels",
               "Four small graphs of the pixels x_1 and x_2 above x_3 and x_4. With all arrows, every earlier pixel has an "
               "arrow to every later one, six in all, and the tables have 15 parameters. The slide's graph keeps x_1 to x_2, "
               "x_2 to x_3 and x_1 to x_4: 7 parameters. The graph of the pixel above keeps x_1 to x_2, x_1 to x_3 and x_2 to "
               "x_4: 7 parameters too. The last keeps none: 4 parameters. A dropped arrow is dotted and crossed out.")
    for k, (name, parents) in enumerate(GRAPHS.items()):
        left, top = 38 + 180 * (k % 2), 78 + 222 * (k // 2)
        parameters = sum(2 ** len(kept) for kept in parents)
        c.text(left + 52, top - 48, name, 14)
        c.note(left + 52, top - 30, f"{parameters} parameters")
        units = [c.unit(left + x, top + y + 12, f"$x_{i + 1}$", RADIUS) for i, (x, y) in enumerate(PLACES)]
        for child, kept in enumerate(parents):
            for parent in range(child):
                a, b = units[parent], units[child]
                away = hypot(b.x - a.x, b.y - a.y)
                dx, dy = (b.x - a.x) / away * RADIUS, (b.y - a.y) / away * RADIUS
                ends = (a.x + dx, a.y + dy), (b.x - dx, b.y - dy)
                if parent in kept:
                    c.line(*ends)
                else:
                    c.line(*ends, kind="cut", head=False, cut=0.32)
    c.note(180, 462, "an arrow: the factor of the pixel at its head")
    c.note(180, 480, "reads the pixel at its tail; × is a dropped one")
    return c
