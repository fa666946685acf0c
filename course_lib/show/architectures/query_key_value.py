"""Attention of one word: the scores of its query with all keys, and the weighted mean of the values."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas

# The sentence of the chapter, with its table and its matrices: row 3 of the scores, and of their softmax.
WORDS = ["the", "cat", "chases", "the", "dog"]
SCORES = ["0.95", "0.12", "0.11", "0.95", "−0.38"]
WEIGHTS = [".32", ".14", ".14", ".32", ".08"]
ASKS = 3                                                             # the index of the query


def draw() -> Canvas:
    """Draw self-attention of one query: its scores with all keys, and the weighted mean of the values."""
    c = Canvas(360, 622, "Query, keys and values for one word",
               "The five words of 'the cat chases the dog' are vectors x_1 to x_5 of 8 numbers. The third word makes "
               "a query q_3 = x_3 W^Q of 4 numbers; every word makes a key k_j = x_j W^K of 4 and a value v_j = x_j "
               "W^V of 6, with the same W^K and W^V for all words. The query is multiplied with each key and divided "
               "by the root of d_k: scores 0.95, 0.12, 0.11, 0.95, -0.38. A softmax over j turns them into weights "
               "0.32, 0.14, 0.14, 0.32, 0.08, which sum to one. The sum of the weighted values is y_3, of 6 numbers.")
    columns = [78, 129, 180, 231, 282]
    for x, word in zip(columns, WORDS):
        c.text(x, 18, word, 13)
    xs = [c.tensor(x, 46, 44, 28, f"$x_{j}$") for j, x in enumerate(columns, 1)]
    q_weight, q = c.weight(180, 96, "$W^Q$", 44), c.tensor(180, 140, 44, 28, f"$q_{ASKS}$")
    keys = [c.tensor(x, 204, 44, 28, f"$k_{j}$") for j, x in enumerate(columns, 1)]
    scores = [c.unit(x, 256, score, 20, size=12) for x, score in zip(columns, SCORES)]
    softmax = c.operation(180, 306, 250, 28, "softmax over $j$")
    weights = [c.unit(x, 356, weight, 18) for x, weight in zip(columns, WEIGHTS)]
    values = [c.tensor(x, 408, 44, 28, f"$v_{j}$") for j, x in enumerate(columns, 1)]
    total, y = c.plus(180, 462), c.tensor(180, 504, 44, 28, f"$y_{ASKS}$")

    c.line(xs[ASKS - 1].bottom(), q_weight.top())
    c.line(q_weight.bottom(), q.top())
    for j, (key, score, weight, value) in enumerate(zip(keys, scores, weights, values)):
        c.line(q.bottom((j - 2) * 7), key.top(), kind="attend")
        c.line(key.bottom(), score.top())
        c.line(score.bottom(), (score.x, softmax.y - 14))
        c.line((weight.x, softmax.y + 14), weight.top())
        c.line(weight.bottom(), value.top())
        c.line(value.bottom(), (total.x + (j - 2) * 5, total.y - (10, 11, 10)[abs(j - 2)] + (0, 0, 3)[abs(j - 2)]))
    c.line(total.bottom(), y.top())

    k_weight, v_weight = c.weight(26, 125, "$W^K$", 44, tied=True), c.weight(334, 125, "$W^V$", 44, tied=True)
    c.line(xs[0].left(), (26, 46), k_weight.top())
    c.line(k_weight.bottom(), (26, 204), keys[0].left())
    c.line(xs[4].right(), (334, 46), v_weight.top())
    c.line(v_weight.bottom(), (334, 408), values[4].right())
    c.note(32, 152, "(8, 4)", "start")
    c.note(328, 152, "(8, 6)", "end")
    c.note(208, 96, "(8, 4)", "start")
    c.note(208, 140, "(4)", "start")
    c.note(29, 256, "scores\n$s_{3j}$  (5)")
    c.note(29, 356, "weights\n$α_{3j}$  (5)")
    c.note(52, 226, "$K$ (5, 4)", "end")
    c.note(4, 408, "$V$ (5, 6)", "start")
    c.note(208, 504, "(6)", "start")
    c.note(306, 356, "sum\n1", "start")
    c.text(180, 546, "$s_{ij} = q_i^⊤ k_j / √d_k$,   $α_{ij} = \\rm{softmax}(s_i)_j$", 13)
    c.text(180, 572, "$y_i = ∑_j α_{ij} v_j$", 13)
    c.note(180, 602, "double line: tied, the same matrix for every word")
    return c
