"""Retrieval-augmented generation: passages are retrieved for a question; both form the prompt of a frozen model."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw retrieval and generation: the question selects passages, and the prompt joins both."""
    c = Canvas(360, 562, "Retrieval-augmented answering",
               "From top to bottom. The question is weighed, a row of counts, or encoded, a vector. Every passage was weighed or "
               "encoded in the same way, once, before a question came: the rows of the collection. The question's row is "
               "multiplied with them. The scores of all passages go through top k, which "
               "keeps the best. The kept passages, numbered, and the question itself are joined to the prompt, which ends in "
               "the word answer and a colon. A language model whose weights are frozen continues the prompt: the answer. "
               "Nothing in the drawing is trained while it answers.")
    question = c.tensor(96, 34, 128, 28, "question")
    encode = c.operation(96, 96, 128, 28, "weigh or encode")
    passages = c.tensor(272, 34, 128, 28, "N passages")
    before = c.operation(272, 96, 128, 28, "the same, once")
    rows = c.weight(272, 158, "rows of passages", 146, 30)
    product = c.operation(184, 222, 110, 28, "product")
    top = c.operation(184, 284, 110, 28, "top k")
    found = c.tensor(184, 346, 150, 28, "[1] ... [2] ...")
    prompt = c.operation(184, 408, 150, 28, "join: prompt")
    model = c.layer(184, 470, 190, 30, "language model, frozen")
    answer = c.tensor(184, 526, 100, 28, "answer")
    for a, b in ((question, encode), (passages, before), (before, rows), (encode, product), (rows, product),
                 (product, top), (top, found), (found, prompt), (prompt, model), (model, answer)):
        c.line(a.bottom(), b.top())
    c.line((32, 34), (18, 34), (18, 408), prompt.left())
    c.note(306, 193, "(N, D)")
    c.note(290, 222, "(B, N) scores")
    c.note(292, 284, "k of N")
    return c
