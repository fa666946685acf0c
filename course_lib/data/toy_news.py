"""One-sentence news with topic, time, subject and object, for prompts and instructions.

An example is "last night , the seawolves won the game ." An instruction names some of the fields topic, time, who (the
subject) and what (the object) in an order, such as "tell topic and time", and the answer has this order: "sports , last
night". There are 4 instructions of one field, 12 of two and 24 of three.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import torch

from course_lib.tokenizers.vocabulary import Vocabulary

TIMES = ("last night", "this morning", "on monday", "on sunday", "in may", "last week")
TOPICS = {                                                           # who, did what, to what
    "sports": (("seawolves", "giants", "runners", "hawks"), ("won", "lost", "played"), ("game", "match", "race")),
    "food": (("cook", "baker", "guests", "waiter"), ("tasted", "baked", "served"), ("soup", "bread", "cake")),
    "music": (("singer", "band", "choir", "pianist"), ("sang", "recorded", "performed"), ("song", "opera", "waltz")),
    "weather": (("storm", "rain", "wind", "snow"), ("hit", "reached", "crossed"), ("coast", "island", "valley")),
}
FIELDS = ("topic", "time", "who", "what")
TELL, OPEN, ASK, END, BOS = "tell", '"', "answer:", "</s>", "<s>"
SLIDE = ("what", "topic", "is", "this", "about", "?")                # the wording of the slide


class News(NamedTuple):
    """The words of a sentence, and its fields {"topic", "time", "who" or "what": text}.

    >>> news = draw_news(1, torch.Generator().manual_seed(0))[0]
    >>> " ".join(news.words), news.fields["topic"]
    ('on sunday , the giants won the match .', 'sports')
    """

    words: tuple[str, ...]
    fields: dict[str, str]


class Instructed(NamedTuple):
    """A prompt, which ends before the answer, and its answer, as words; the answer ends with the end symbol."""

    prompt: tuple[str, ...]
    answer: tuple[str, ...]


def draw_news(num: int, generator: torch.Generator | None = None) -> list[News]:
    """Sample `num` sentences; all choices are uniform."""
    if num < 1:
        raise ValueError(f"num is {num}; expected at least one sentence")

    def draw_option(options: Sequence[str]) -> str:
        return options[int(torch.randint(len(options), (), generator=generator))]

    news = []
    for _ in range(num):
        topic, time = draw_option(list(TOPICS)), draw_option(TIMES)
        who, did, what = (draw_option(words) for words in TOPICS[topic])
        news.append(News((*time.split(), ",", "the", who, did, "the", what, "."),
                          {"topic": topic, "time": time, "who": who, "what": what}))
    return news


def instructions(size: int) -> list[tuple[str, ...]]:
    """All ordered selections of `size` distinct fields of FIELDS."""
    if not 1 <= size <= len(FIELDS):
        raise ValueError(f"size is {size}; expected 1 to {len(FIELDS)}, the number of fields")
    return list(permutations(FIELDS, size))


def instruct(news: News, fields: Sequence[str], slide: bool = False) -> Instructed:
    """Build a prompt, an instruction and the quoted sentence, and its answer, the requested fields.

    fields  the requested fields, some of FIELDS, in the order of the answer
    slide   use the question of the slide instead of an instruction; `fields` must then be the topic only

    >>> news = draw_news(1, torch.Generator().manual_seed(0))[0]
    >>> " ".join(instruct(news, ["topic", "who"]).answer)
    'sports , giants </s>'
    """
    wrong = [field for field in fields if field not in FIELDS]
    if wrong or not fields or slide and tuple(fields) != ("topic",):
        raise ValueError(f"fields is {tuple(fields)} and slide is {slide}; expected fields to contain one or more of "
                         f"{', '.join(map(repr, FIELDS))}, or only 'topic' if slide is True")
    asked = SLIDE if slide else (TELL, *" and ".join(fields).split())
    answer = " , ".join(news.fields[field] for field in fields)
    return Instructed((BOS, *asked, OPEN, *news.words, OPEN, ASK), (*answer.split(), END))


def vocabulary() -> Vocabulary:
    """The vocabulary of sentences, instructions and answers; <s> starts a text, and </s> ends an answer."""
    words = [word for who, did, what in TOPICS.values() for word in (*who, *did, *what)]
    times = [word for time in TIMES for word in time.split()]
    every = [BOS, END, ",", ".", OPEN, ASK, TELL, "and", "the", *FIELDS, *SLIDE, *TOPICS, *times, *words]
    return Vocabulary(list(dict.fromkeys(every)), bos=BOS, eos=END)
