"""Who may read whom when the words are told in a given order."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import integer
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "masks_of_order", chapter="19", place=4, title="The masks of an order",
    contract="order is a list, a permutation of 0..n - 1: the word at place order[0] is told first, that at order[1] next. Return "
             "(content, query), two bool tensors (n, n), entry [i, j] True where the word at place i may read the word at place j. A "
             "content reads every word told before it, and itself; a query reads every word told before it.",
    points=["xlnet"], difficulty=3, minutes=20)


@exercise.reference(
    inverse="You take order[i] for the turn of the word at place i. order[k] is the place of the word told k-th: the turn of place i is "
            "the k with order[k] == i.",
    transposed="Your words read those that are told after them, or rows and columns are exchanged: row i says what the word at place i "
               "may read, and that is what came before it.",
    columns_alone="The columns of your masks are back at the words' places, and the rows are not: row k is what the word told k-th may "
                  "read. Put the rows back too.",
    rows_alone="The rows of your masks are back at the words' places, and the columns are not: column k is the word told k-th. Put the "
               "columns back too.",
    exchanged="The two masks are exchanged: the contents' comes first.",
    strict="Your contents do not read themselves. A word that is known is read by its own content.",
    loose="Your queries read themselves. They are asked for that word: the answer would stand in front of them.",
    left_to_right="Your masks are those from left to right, whatever the order. The words stay at their places; who reads whom follows "
                  "the order.",
)
def masks_of_order_reference(order, bugs=frozenset()):
    n = len(order)
    turn = [order.index(i) for i in range(n)]
    if "inverse" in bugs:
        turn = list(order)
    if "left_to_right" in bugs:
        turn = list(range(n))
    turn = torch.tensor(turn)
    readers, told = (torch.arange(n) if bug in bugs else turn for bug in ("columns_alone", "rows_alone"))
    query = told[None, :] < readers[:, None]
    itself = told[None, :] == readers[:, None]
    content = query | itself
    if "transposed" in bugs:
        content, query = content.T.clone(), query.T.clone()
    if "strict" in bugs:
        content = query.clone()
    if "loose" in bugs:
        query = content.clone()
    return (query, content) if "exchanged" in bugs else (content, query)


def orders(generator):
    """Permutations that are not their own inverse; and a single word."""
    found = []
    while len(found) < 3:
        n = integer(generator, 4, 7)
        order = torch.randperm(n, generator=generator).tolist()
        if [order.index(k) for k in range(n)] != order:
            found.append((order,))
    return [*found, ([1, 2, 0],), ([0],)]


exercise.compare("values", orders, points=4)
exercise.unchanged(orders)
exercise.hint(
    "You do not know how to compare two words.",
    "Find the turn of each place first: turn[order[k]] = k. Then j is told before i where turn[j] < turn[i].")
exercise.hint(
    "Your masks are right for some orders only.",
    "Try [1, 2, 0]. The list and its inverse differ there. Word 1 is told first: its query reads nothing.")
