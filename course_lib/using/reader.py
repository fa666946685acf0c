r"""Extractive question answering: a log-linear model over the short spans of a passage.

It is the baseline of SQuAD (Rajpurkar et al. 2016). Experiments on retrieval use it in place of a language model,
because it answers thousands of questions in seconds.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.using.metrics import normalized

TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")
END = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
ASKING = ("how many", "how much", "how long", "how", "what", "who", "whom", "whose", "when", "where", "which", "why")
SMALL = frozenset("a an the of in on at to for by with from and or is are was were be been has have had do does did that this "
                  "it its as not".split())


class Span(NamedTuple):
    """A candidate answer: its position in the passage, and its text."""

    start: int                                                       # index of its first character in the passage
    end: int                                                         # index after its last character
    text: str                                                        # passage[start:end]


class Token(NamedTuple):
    """A word, number or punctuation mark, with its position in the text."""

    start: int                                                       # index of its first character in the text
    end: int                                                         # index after its last character
    text: str                                                        # its characters


def tokens_in(text: str, offset: int = 0) -> list[Token]:
    """Split a text into words, numbers and punctuation marks; `offset` is added to their positions."""
    return [Token(match.start() + offset, match.end() + offset, match.group()) for match in TOKEN.finditer(text)]


def sentences_in(passage: str) -> list[tuple[int, str]]:
    """Split a passage into sentences; return for each a pair (index of its first character, text)."""
    places = [0, *(match.end() for match in END.finditer(passage)), len(passage)]
    return [(a, passage[a:b]) for a, b in zip(places, places[1:]) if passage[a:b].strip()]


class SpanReader(nn.Module):
    r"""Log-linear model of the answer to a question q, a span s of a passage d:
    $p(s \mid q, d) = \frac{\exp(w \cdot \phi(s, q, d))}{\sum_{s'} \exp(w \cdot \phi(s', q, d))}$.

    idf        {word: inverse document frequency}; words that are not in it have the largest idf
    longest    maximum number of tokens of a span
    sentences  number of sentences of the passage, the most similar to the question, whose spans are candidates
    buckets    number of hashed features $\phi$, each with a weight in w

    The features combine the question word with the shape of the span, the neighbors of the span, and its distance to words
    of the question. `fit_reader` trains the model.

    >>> reader = SpanReader({"Paris": 2.0})
    >>> len(reader.candidates("Where is it?", "It is in Paris."))
    1
    """

    def __init__(self, idf: dict[str, float], longest: int = 7, sentences: int = 3, buckets: int = 2**18):
        super().__init__()
        if min(longest, sentences, buckets) < 1:
            raise ValueError(f"longest is {longest}, sentences is {sentences} and buckets is {buckets}; expected at "
                             "least 1 each")
        self.idf = {word.lower(): value for word, value in idf.items()}
        self.rarest = max(self.idf.values(), default=1.0)
        self.longest, self.sentences, self.buckets = longest, sentences, buckets
        self.w = nn.EmbeddingBag(buckets, 1, mode="sum")
        nn.init.zeros_(self.w.weight)

    # --- candidates --------------------------------------------------------------------------------------------------

    def candidates(self, question: str, passage: str) -> list[Span]:
        """Return the candidate answers, spans of the sentences that are most similar to the question.

        A candidate lies within a sentence, and neither begins nor ends with punctuation or a stop word.
        """
        return [span for span, _ in self._candidates(question, passage, features=False)]

    def _candidates(self, question: str, passage: str, features: bool = True) -> list[tuple[Span, list[int]]]:
        asked = {token.text.lower() for token in tokens_in(question)} - SMALL - set(" ".join(ASKING).split())
        kind, head = self._kind(question)
        scored = []
        for offset, sentence in sentences_in(passage):
            tokens = tokens_in(sentence, offset)
            scored.append((sum(self._idf(word) for word in asked & {t.text.lower() for t in tokens}), tokens))
        best = sorted(scored, key=lambda each: -each[0])[:self.sentences]
        spans = []
        for place, (_, tokens) in enumerate(best):
            hit = [token.text.lower() in asked for token in tokens]
            for i in range(len(tokens)):
                for j in range(i, min(i + self.longest, len(tokens))):
                    if self._edge(tokens[i]) and self._edge(tokens[j]):
                        span = Span(tokens[i].start, tokens[j].end, passage[tokens[i].start:tokens[j].end])
                        spans.append((span, self._features(kind, head, place, tokens, hit, i, j) if features else []))
        return spans

    @staticmethod
    def _edge(token: Token) -> bool:
        return token.text[0].isalnum() and token.text.lower() not in SMALL

    def _idf(self, word: str) -> float:
        return self.idf.get(word, self.rarest)

    @staticmethod
    def _kind(question: str) -> tuple[str, str]:
        """Return the question word, or "other", and the next word that is no stop word, such as ("which", "city")."""
        words = [token.text.lower() for token in tokens_in(question)]
        text = " ".join(words)
        places = [(text.find(f"{word} ") if text.startswith(word) else text.find(f" {word} "), word) for word in ASKING]
        places = [(place, -len(word), word) for place, word in places if place >= 0]
        if not places:
            return "other", ""
        kind = min(places)[2]
        after = words[words.index(kind.split()[-1]) + 1:]
        return kind, next((word for word in after if word not in SMALL), "")

    # --- features ----------------------------------------------------------------------------------------------------

    def _features(self, kind: str, head: str, place: int, tokens: list[Token], hit: list[bool], i: int, j: int) -> list[int]:
        words = [token.text for token in tokens]
        span = words[i:j + 1]
        shape = "".join(shape_of(word) for word in span)
        short = re.sub(r"(.)\1+", r"\1+", shape)
        before = words[i - 1].lower() if i else "<s>"
        before2 = words[i - 2].lower() if i > 1 else "<s>"
        after = words[j + 1].lower() if j + 1 < len(words) else "</s>"
        near = [min((abs(k - edge) for k in range(len(words)) if hit[k] and not i <= k <= j), default=99) for edge in (i, j)]
        around = sum(self._idf(words[k].lower()) for k in range(max(0, i - 6), min(len(words), j + 7))
                     if hit[k] and not i <= k <= j)
        inside = sum(hit[i:j + 1])
        whole = (shape_of(words[i - 1]) != "A" if i else True, shape_of(words[j + 1]) != "A" if j + 1 < len(words) else True)
        named = [f"place {place}", f"place {place} {kind}", f"length {len(span)}", f"length {len(span)} {kind}",
                 f"shape {short}", f"shape {short} {kind}", f"shape {short} {head}", f"form {shape} {kind}",
                 f"before {before}", f"before {before} {kind}", f"before {before2} {before}", f"after {after}",
                 f"after {after} {kind}", f"inside {min(inside, 3)}", f"all asked {inside == len(span)}",
                 f"near {min(near[0], 8)} {min(near[1], 8)}", f"left near {min(near[0], 10)}", f"right near {min(near[1], 10)}",
                 f"around {min(int(around / 2), 15)}", f"around {min(int(around / 2), 15)} {kind}",
                 f"whole {whole} {shape_of(span[0])}{shape_of(span[-1])}", f"first {span[0].lower()}",
                 f"last {span[-1].lower()}", f"last {span[-1].lower()} {kind}", f"last {span[-1].lower()} {head}",
                 f"end {span[-1][-3:].lower()} {kind}", f"end {span[-1][-2:].lower()} {head}",
                 f"comma inside {',' in span}", f"brackets {before in '(' and after in ')'}",
                 f"touches {before} {after}", f"sign around {not before[0].isalnum()} {not after[0].isalnum()} {kind}"]
        return [zlib.crc32(name.encode()) % self.buckets for name in named]

    # --- reading -----------------------------------------------------------------------------------------------------

    def forward(self, features: Int[Tensor, "S F"]) -> Float[Tensor, "S"]:
        """Return the scores (S,) of S candidates: for each, the sum of the weights of its F hashed features (S, F)."""
        return self.w(features)[:, 0]

    @torch.no_grad()
    def answer(self, question: str, passage: str) -> str:
        """Return the text of the most probable span of the passage, or "" if there is no candidate."""
        spans = self._candidates(question, passage)
        if not spans:
            return ""
        scores = self(torch.tensor([features for _, features in spans]))
        return spans[int(scores.argmax())][0].text


def shape_of(word: str) -> str:
    """Return the shape of a token: "Y" for a year, 1000 to 2999; otherwise by its first character, "9" for a digit, "A"
    for a capital letter, "a" for a lower-case letter, and any other character itself, such as ",".
    """
    if word.isdigit() and len(word) == 4 and word[0] in "12":
        return "Y"
    return "9" if word[0].isdigit() else "A" if word[0].isupper() else "a" if word[0].isalpha() else word[0]


def fit_reader(reader: SpanReader, asked: Sequence[tuple[str, str, Sequence[str]]], epochs: int = 8, lr: float = 0.03,
               weight_decay: float = 1e-4, seed: int = 0) -> float:
    r"""Train `reader` with Adam: maximize the log-probability of a correct answer, $\ln \sum_{s \text{ correct}}
    p(s \mid q, d)$.

    asked                     triples (question, passage, correct answers)
    epochs, lr, weight_decay  epochs, learning rate, and factor of the squared norm of the weights in the loss
    seed                      seed of the order of the questions

    Questions without a correct candidate are omitted. Returns the fraction of questions that remain; raises ValueError
    if no question remains.
    """
    examples = []
    for question, passage, truths in asked:
        truths_normalized = {normalized(truth) for truth in truths}
        spans = reader._candidates(question, passage)
        right = torch.tensor([normalized(span.text) in truths_normalized for span, _ in spans], dtype=torch.bool)
        if right.any():
            examples.append((torch.tensor([features for _, features in spans]), right))
    if not examples:
        raise ValueError(f"asked has {len(asked)} questions, none of which has its answer among its candidates; "
                         "expected at least one question whose answer is a short span of its passage")
    optimizer = torch.optim.Adam(reader.parameters(), lr=lr)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for rows in torch.randperm(len(examples), generator=generator).split(16):
            loss = weight_decay * reader.w.weight.square().sum()
            for features, right in (examples[row] for row in rows.tolist()):
                scores = reader(features)
                loss = loss + (scores.logsumexp(0) - scores[right].logsumexp(0)) / len(rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return len(examples) / len(asked)
