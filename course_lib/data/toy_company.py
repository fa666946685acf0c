"""A toy corpus of gendered roles, countries and capitals, and ambiguous words.

Its co-occurrences are known, and therefore the nearest neighbors of each word and the analogies that word vectors
should give.
"""

from __future__ import annotations

from itertools import permutations

import torch

ROLES = {                                                            # (man, woman): words of their context
    ("king", "queen"): ("crown", "throne", "palace"),
    ("actor", "actress"): ("stage", "film", "script"),
    ("prince", "princess"): ("castle", "horse", "tower"),
    ("waiter", "waitress"): ("menu", "tray", "kitchen"),
    ("uncle", "aunt"): ("nephew", "cousin", "family"),
    ("boy", "girl"): ("toy", "school", "kite"),
}
COUNTRIES = {                                                        # (country, capital): words of their context
    ("france", "paris"): ("french", "cheese"),
    ("italy", "rome"): ("italian", "pasta"),
    ("japan", "tokyo"): ("japanese", "rice"),
    ("germany", "berlin"): ("german", "sausage"),
    ("russia", "moscow"): ("russian", "soup"),
    ("egypt", "cairo"): ("arabic", "beans"),
}
SENSES = {                                                           # a word: the context of each of its two senses
    "bat": (("ball", "cricket", "player", "glove"), ("cave", "owl", "wing", "night")),
    "bank": (("money", "loan", "clerk", "account"), ("river", "water", "fish", "mud")),
    "bark": (("dog", "puppy", "growl", "fence"), ("tree", "branch", "leaf", "root")),
    "spring": (("summer", "winter", "autumn", "month"), ("metal", "coil", "wire", "steel")),
}
OF_MEN, OF_WOMEN = ("he", "his", "man", "beard"), ("she", "her", "woman", "dress")
OF_COUNTRIES, OF_CAPITALS = ("country", "border", "army", "flag"), ("city", "street", "mayor", "station")
FILLERS = ("the", "a", "and", "with", "near", "saw", "has", "of", "in", "is")


def draw_sentences(num: int, generator: torch.Generator) -> list[list[str]]:
    """Sample `num` sentences of 7 words, on roles, on countries or on ambiguous words, each with probability 1/3.

    >>> for sentence in draw_sentences(2, torch.Generator().manual_seed(0)):
    ...     print(*sentence)
    steel a wire has spring has metal
    ball a player is cricket is player
    """
    if num < 1:
        raise ValueError(f"num is {num}; expected at least one sentence")

    def draw_option(options):
        return options[int(torch.randint(len(options), (), generator=generator))]

    def shuffled(words):
        return [words[i] for i in torch.randperm(len(words), generator=generator).tolist()]

    sentences = []
    for _ in range(num):
        kind = draw_option("RCS")
        if kind == "S":
            word = draw_option(list(SENSES))
            company = shuffled(draw_option(SENSES[word]))[:3]
            content = shuffled([draw_option((word, word, company[0])), *company])
        else:
            table, marks = ((ROLES, (OF_MEN, OF_WOMEN)), (COUNTRIES, (OF_COUNTRIES, OF_CAPITALS)))[kind == "C"]
            pair, which = draw_option(list(table)), draw_option((0, 1))
            content = shuffled([pair[which], draw_option(table[pair]), *shuffled(marks[which])[:2]])
        filled = [word for content_word in content for word in (content_word, draw_option(FILLERS))]
        sentences.append(filled[:7] if draw_option((True, False)) else filled[1:])
    return sentences


def analogies() -> dict[str, list[tuple[str, str, str, str]]]:
    """Analogies (a, b, c, d), "a is to b as c is to d": 60 under the key "roles" and 60 under the key "capitals".

    >>> analogies()["roles"][0]
    ('king', 'queen', 'actor', 'actress')
    """
    return {name: [question for (a, b), (c, d) in permutations(table, 2) for question in ((a, b, c, d), (b, a, d, c))]
            for name, table in (("roles", ROLES), ("capitals", COUNTRIES))}
