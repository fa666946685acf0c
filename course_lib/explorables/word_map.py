r"""A map of word vectors: nearest neighbors, analogies, and ambiguous words.

The map has V = 391 of the 10,000 words of `english-words`, selected by hand. Each vector of D = 100 numbers is scaled
and rounded to integers from -127 to 127, which changes cosines by at most 0.01. All cosines are computed from these
integers; the map shows two dimensions.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import traitlets
from jaxtyping import Float
from torch import Tensor

from course_lib.explorables.base import Explorable, OneOf, as_base64, script, style
from course_lib.words import WordVectors

CHOSEN = """
he she his her him man woman boy girl king queen prince princess brother sister father mother son daughter husband wife
uncle aunt actor actress lord lady men women boys girls children child baby family friend friends
monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
october november december spring summer autumn winter year month week day night morning evening
two three four five six seven eight nine ten first second third fourth fifth
germany france spain italy russia china japan india egypt turkey greece poland canada england berlin rome moscow tokyo
london paris german french spanish italian russian chinese japanese indian english european america africa europe asia
texas california york washington
river lake sea ocean water beach island coast bank hill mountain forest tree trees snow rain sun sky wind star planet
moon earth red blue green yellow black white brown orange pink
dog cat horse cow bird fish sheep dogs cats horses birds bear mouse fly
good bad better best worse worst great terrible horrible wonderful excellent awful nice happy sad funny boring
big small large larger largest long short high higher highest old young new hot cold warm dry fast slow strong weak
dark bright light
house room door window wall roof floor kitchen table chair bed street road bridge building city town village nail
hammer leg toes hand head face eye foot arm
school teacher student university college doctor nurse hospital patient lawyer judge court police law
bread cheese meat fruit food coffee tea wine beer rice soup lunch dinner
car truck bus train plane bicycle boat ship tank tanks music song piano guitar drums band dance singing concert
film movie story character scene script director tv comedy drama
baseball tennis soccer football hockey cricket golf bat ball player game team match catcher club race
president minister government party election senate congress constitution war army soldier peace battle military
money dollars price market company business trade tax bill loan computer phone email internet software data
go goes went come came comes see saw seen take took give gave make made say said think thought know knew eat ate run
ran walk walked sing write wrote dress shirt hat jacket shoes suit book letter newspaper author novel poem word language
juliet romeo capulet heaven thou thy thee love death heart soul
""".split()
SENSES = {                                                           # a word, and the context of each of its two senses
    "nail": (("hammer", "wall"), ("leg", "foot", "toes", "hand")),
    "bat": (("baseball", "ball", "player"), ("cat", "bird", "mouse", "night")),
    "bank": (("money", "loan", "business", "dollars"), ("river", "lake", "coast", "water")),
    "light": (("bright", "dark", "sun"), ("tank", "tanks", "military")),
    "spring": (("summer", "winter", "autumn", "month"), ("water", "river", "lake")),
    "star": (("film", "actor", "tv", "director"), ("planet", "moon", "sun", "sky")),
    "may": (("april", "june", "july"), ("go", "take", "see", "say")),
    "paris": (("berlin", "london", "rome"), ("romeo", "juliet", "capulet")),
}
QUESTIONS = (("man", "king", "woman"), ("king", "queen", "actor"), ("brother", "sister", "son"),
             ("he", "she", "his"), ("dog", "dogs", "cat"), ("go", "went", "come"), ("germany", "german", "france"),
             ("germany", "berlin", "france"), ("good", "better", "bad"), ("boy", "girl", "man"))
VIEWS = ("neighbours", "analogy", "senses")                          # maps of the three functions of these names
NUM = 8                                                              # words in the list beside the map
LONGEST = 12                                                         # maximum length of a trail


@cache
def rounded() -> WordVectors:
    """Return the words of CHOSEN with their vectors, scaled and rounded to integers from -127 to 127, in float64."""
    from course_lib import hub
    rows = hub.load("english-words")(CHOSEN).double()                # (V, D)
    return WordVectors(CHOSEN, (127 * rows / rows.abs().amax(dim=1, keepdim=True)).round())


@cache
def plane() -> tuple[Float[Tensor, "V 2"], float]:
    """Return the unit vectors in the plane of two principal components, and the fraction of variance explained."""
    unit = rounded().unit()
    centred = unit - unit.mean(dim=0)
    _, s, axes = torch.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * axes[:2].sum(dim=1, keepdim=True).sign()       # the signs of an SVD are arbitrary
    return centred @ axes.T, float(s[:2].square().sum() / s.square().sum())


class Drawn(NamedTuple):
    """The map of one view, and the list of words beside it."""

    points: Float[Tensor, "V 2"]                                     # position (x, y) of each word on the map
    scores: Float[Tensor, " V"]                                      # score of each word: a cosine
    listed: list[int]                                                # indices of the NUM words of largest score, except
                                                                     # the words that are given


def neighbours(word: str) -> Drawn:
    """Return the map of the first two principal components; the score of a word is its cosine with `word`."""
    vectors = rounded()
    cosines = vectors.unit() @ vectors.unit()[vectors.vocabulary.id(word)]
    return Drawn(plane()[0], cosines, _best(cosines, [word]))


def analogy(a: str, b: str, c: str) -> Drawn:
    r"""Return a map of the plane through a, b and c; the score of a word is its cosine with $\hat b - \hat a + \hat c$.

    A hat denotes the unit vector of a word. a is the origin and b is on the first axis, so that a, b, c and the sum
    form a parallelogram.
    """
    unit = rounded().unit()
    u_a, u_b, u_c = (unit[rounded().vocabulary.id(word)] for word in (a, b, c))
    first = torch.nn.functional.normalize(u_b - u_a, dim=0)
    second = torch.nn.functional.normalize(u_c - u_a - first * (first @ (u_c - u_a)), dim=0)
    cosines = unit @ torch.nn.functional.normalize(u_b - u_a + u_c, dim=0)
    return Drawn((unit - u_a) @ torch.stack([first, second], dim=1), cosines, _best(cosines, [a, b, c]))


def senses(word: str) -> Drawn:
    """Return a map whose axes are the cosines with the mean vectors of two contexts, one for each sense of `word`.

    SENSES lists the words of the contexts. The score of a word is the smaller of its two cosines.
    """
    vectors = rounded()
    means = torch.stack([vectors.unit()[[vectors.vocabulary.id(each) for each in side]].mean(dim=0)
                         for side in SENSES[word]], dim=1)           # (D, 2)
    points = vectors.unit() @ torch.nn.functional.normalize(means, dim=0)
    return Drawn(points, points.amin(dim=1), _best(points.amin(dim=1), [each for side in SENSES[word] for each in side]))


def _best(scores: Tensor, without: list[str]) -> list[int]:
    left = scores.clone()
    left[[rounded().vocabulary.id(word) for word in without]] = -torch.inf
    return left.topk(NUM).indices.tolist()


class WordMap(Explorable):
    """391 word vectors on a map, with nearest neighbors, analogies and ambiguous words.

    view      "neighbours", "analogy" or "senses"
    trail     1 to 12 words selected one after another; the view "neighbours" shows the last
    question  three different words a, b and c: a is to b as c is to ...
    sense     the ambiguous word: "nail", "bat", "bank", "light", "spring", "star", "may" or "paris"

    Raises ValueError for other words and views. The weights are those of `hub.load("english-words")`.

    >>> WordMap(view="analogy").text().splitlines()[1].split(", ")[0]
    'man is to king as woman is to queen (0.88)'
    """

    _esm = script("word_map")
    _css = style("word_map")
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.Unicode().tag(sync=True)                        # (V, D) integers of 8 bits, in base64
    plane = traitlets.List().tag(sync=True)                          # (V, 2), principal components
    kept = traitlets.Float().tag(sync=True)                          # fraction of variance that they explain
    pairs = traitlets.Dict().tag(sync=True)
    questions = traitlets.List().tag(sync=True)
    view = OneOf("senses", VIEWS).tag(sync=True)
    trail = traitlets.List(traitlets.Unicode()).tag(sync=True)
    question = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sense = OneOf("nail", SENSES).tag(sync=True)

    def __init__(self, **traits):
        vectors, (places, kept) = rounded(), plane()
        super().__init__(**{
            "words": vectors.words, "rows": as_base64([vectors.table], torch.int8),
            "plane": [[round(v, 7) for v in row] for row in places.tolist()], "kept": kept,
            "pairs": {word: [list(side) for side in sides] for word, sides in SENSES.items()},
            "questions": [list(q) for q in QUESTIONS], "trail": ["nail"], "question": list(QUESTIONS[0]),
            "alt": "A map of 391 words and their cosines", **traits})

    @property
    def result(self) -> Drawn:
        """The positions and scores of the words in the selected view, and the words in its list."""
        return {"neighbours": lambda: neighbours(self.trail[-1]), "analogy": lambda: analogy(*self.question),
                "senses": lambda: senses(self.sense)}[self.view]()

    def text(self) -> str:
        drawn, vectors = self.result, rounded()
        named = [f"{CHOSEN[i]} ({drawn.scores[i]:.2f})" for i in drawn.listed]
        first = f"Interactive figure: {len(vectors)} words and the cosines of their vectors."
        if self.view == "neighbours":
            return f"{first}\nNearest to {self.trail[-1]}: {', '.join(named)}."
        if self.view == "analogy":
            a, b, c = self.question
            free = int(drawn.scores.argmax())
            return (f"{first}\n{a} is to {b} as {c} is to {', '.join(named[:3])}. Nearest of all words: "
                    f"{CHOSEN[free]} ({drawn.scores[free]:.2f}).")
        x, y = drawn.points[vectors.vocabulary.id(self.sense)].tolist()
        one, other = (", ".join(side) for side in SENSES[self.sense])
        return f"{first}\n{self.sense}: cosine {x:.2f} with {one}; {y:.2f} with {other}.\nNear both: {', '.join(named)}."

    @traitlets.validate("trail", "question")
    def _valid_words(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        for word in value:
            if word not in rounded():
                raise ValueError(f"{name} contains {word!r}; expected words on the map, the {len(CHOSEN)} that "
                                 "WordMap().words lists")
        if name == "question" and (len(value) != 3 or len(set(value)) != 3):
            raise ValueError(f"question is {value}; expected three different words")
        if name == "trail" and not 1 <= len(value) <= LONGEST:
            raise ValueError(f"trail has {len(value)} words; expected 1 to {LONGEST}")
        return value
