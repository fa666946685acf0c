"""Latent Dirichlet allocation: the generative process of a document."""

from __future__ import annotations

from course_lib.show.architectures._canvas import Canvas


def draw() -> Canvas:
    """Draw LDA as a plate diagram: words within documents, and the topics beside them."""
    c = Canvas(360, 440, "Latent Dirichlet allocation: how a document comes about",
               "From top to bottom. The number alpha decides how mixed documents are. For each of N documents a mixture of topics, "
               "theta, is drawn from a Dirichlet distribution. Then, for each word of the document, a topic z is drawn from theta, "
               "and the word w is drawn from the distribution phi_z of that topic. The frame around z and w stands within the frame "
               "around theta: theta is drawn once a document, z and w once a word. On the right stand the K topics, each a "
               "distribution phi_k over the vocabulary; all documents share them. Of all that is drawn only w is seen.")
    alpha = c.weight(110, 28, "$α$", 60, 28)
    mixed = c.draw(110, 86)
    theta = c.tensor(110, 138, 150, 30, "$θ$: (0.7, 0.2, 0.1)")
    topic = c.draw(110, 206)
    z = c.tensor(110, 256, 110, 30, "$z$: topic 1")
    word = c.draw(110, 314)
    w = c.tensor(110, 364, 110, 30, "$w$: oven")
    phi = c.weight(285, 256, "$φ_k$", 76, 30)
    c.frame(110, 238, 204, 356)
    c.frame(110, 290, 168, 212)
    c.frame(285, 264, 110, 96)
    for start, end in ((alpha, mixed), (mixed, theta), (theta, topic), (topic, z), (z, word), (word, w)):
        c.line(start.bottom(), end.top())
    c.line(phi.bottom(), (285, 314), word.right())
    c.note(130, 86, "once a\ndocument", "start")
    c.note(130, 206, "once a\nword", "start")
    c.note(285, 202, "K topics")
    c.note(285, 328, "the words of topic $z$")
    c.note(110, 427, "N documents; only $w$ is seen")
    return c
