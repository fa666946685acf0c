"""Sixteen passages for retrieval, written for the course, each with a literal and a paraphrased question.

The facts are invented, so the answers occur in the passages only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WORD = re.compile(r"[a-z0-9]+")
SMALL = frozenset("a an and are as at be been by did do does for from had has have how in is it its many much of on or that the "
                  "their there they this to was were what when where which who whose why will with".split())


class Passage(NamedTuple):
    """A passage with two questions that have the same answer."""

    text: str                                                        # the passage
    quoting: str                                                     # a question in the words of the passage
    paraphrase: str                                                  # a question without content words of the passage
    answer: str                                                      # the answer, a substring of the passage


PASSAGES = tuple(Passage(*row) for row in (
    ("The old lighthouse of Marrow Point was built in 1873. Its lamp burned oil, and the keeper lit it every evening.",
     "When was the lighthouse of Marrow Point built?", "What year did the tower with the light go up?", "1873"),
    ("Anna Verhoeven bakes the bread of the village. She rises at three and sells her loaves from a green cart.",
     "Who bakes the bread of the village?", "Which woman makes food from flour here?", "Anna Verhoeven"),
    ("The night train to Lisk leaves from platform nine. It crosses the border before dawn and carries mail as well.",
     "Which platform does the night train to Lisk leave from?", "Where can I start a journey by railway?", "nine"),
    ("In winter the lake freezes for eleven weeks. Children skate on it, and fishermen cut holes through the ice.",
     "How many weeks does the lake freeze in winter?", "How long is the water cold and hard?", "eleven"),
    ("The school choir sang an opera by Tomas Reil in the town hall. Two hundred parents came to hear it.",
     "By whom was the opera that the school choir sang?", "Whose music did the pupils perform?", "Tomas Reil"),
    ("Doctor Ilse Brandt opened the first hospital of the island. It had twelve beds and a single nurse.",
     "Who opened the first hospital of the island?", "Which physician started a place for sick people?", "Ilse Brandt"),
    ("The football club of Orsted lost the final by two goals. Its captain had broken a leg the week before.",
     "By how many goals did the football club of Orsted lose the final?", "How badly was the team beaten in that match?", "two"),
    ("A storm took the roof of the theatre in 1921. The actors went on playing under the open sky until spring.",
     "When did the storm take the roof of the theatre?", "What year did bad weather damage the stage?", "1921"),
    ("The bank of Halden lends money to farmers at four percent. They pay it back after the harvest.",
     "At what rate does the bank of Halden lend money to farmers?", "What interest is paid on such a loan?", "four percent"),
    ("The king gave the castle to his daughter Matilda. She sold its silver to buy grain for the poor.",
     "To whom did the king give the castle?", "Which princess received the palace of her father?", "Matilda"),
    ("Copper is dug from the hills near Senn. The mine employs four hundred men and a few horses.",
     "What is dug from the hills near Senn?", "Which metal do the workers find under the mountains?", "Copper"),
    ("The library of the monks holds nine thousand books. The oldest was written on calf skin and is kept in a box.",
     "How many books does the library of the monks hold?", "What number of volumes can the priests read?", "nine thousand"),
    ("The ship Aurora sank off the coast of Brenn with a cargo of tea. Her crew was saved by a fishing boat.",
     "What was the cargo of the ship Aurora?", "What drink went down with the vessel in the sea?", "tea"),
    ("Professor Lund counts the stars from a tower in the desert. His telescope was a gift from a brewer.",
     "From where does Professor Lund count the stars?", "In what kind of land does the scientist study the sky?", "desert"),
    ("The army camped for a month at the river Tarn. There the general waited for bread, boots and orders.",
     "At which river did the army camp?", "Near what water did the soldiers rest?", "Tarn"),
    ("The new law forbids cars in the centre of Velm on Sundays. Bicycles and trams may still pass.",
     "On what days does the new law forbid cars in the centre of Velm?", "When must people not drive in the city?", "Sundays"),
))


def content_words(text: str) -> list[str]:
    """The words of a text in lower case and in order, without stop words.

    >>> content_words("Who bakes the bread?")
    ['bakes', 'bread']
    """
    return [word for word in WORD.findall(text.lower()) if word not in SMALL]
