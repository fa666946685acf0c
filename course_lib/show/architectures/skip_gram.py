"""Skip-gram: the vector of a center word, one context vector and negative samples."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw skip-gram with one observed pair and two negative pairs."""
    c = Canvas(360, 420, "Skip-gram with negative sampling: a true pair and two drawn ones",
               "From top to bottom. The centre word, sea, takes its row v of the first table. The word that stands near it, "
               "salt, and two drawn words, loan and wire, take their rows of the second table: u_o, u_1 and u_2. Each of the "
               "three has an inner product with the same v. Through a sigmoid each product is the probability that the pair is "
               "a true one. The targets are 1 for the true pair, 0 for the drawn ones.")
    centre = c.tensor(180, 30, 130, 28, "centre: sea")
    table = c.weight(180, 86, "row of $V$", 110, 30)
    v = c.tensor(180, 142, 60, 28, "$v$")
    c.line(centre.bottom(), table.top())
    c.line(table.bottom(), v.top())
    for x, word, name, target in ((66, "near: salt", "$u_o$", "to 1"), (180, "drawn: loan", "$u_1$", "to 0"),
                                  (294, "drawn: wire", "$u_2$", "to 0")):
        product = c.operation(x, 204, 86, 28, "$σ$ (product)")
        u = c.tensor(x, 260, 60, 28, name)
        row = c.weight(x, 312, "row of $U$", 100, 28)
        own = c.tensor(x, 362, 106, 28, word)
        c.line(own.top(), row.bottom())
        c.line(row.top(), u.bottom())
        c.line(u.top(), product.bottom())
        c.line(v.bottom(), product.top())
        c.text(x + 24, 238, target, 12.5)
    c.note(180, 400, "$v$ and $u$ (B, D): two tables, $V$ and $U$, of (words, D)")
    return c
