"""The trees of `DecodingTree`: two given by tables, and one from a trained model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Integer
from torch import Tensor, nn

from course_lib import hub
from course_lib.decoding import log_probs
from course_lib.decoding.prefix_tree import PrefixTree, yes_or_ok
from course_lib.tokenizers.characters import CharTokenizer

SPACE = "\N{OPEN BOX}"                                               # a visible space
PROMPT = "to be a "


class Offer(NamedTuple):
    """A search tree that can be selected in the figure, with its name and description."""

    label: str                                                       # name in the list of trees
    note: str                                                        # description, shown below the tree
    tree: PrefixTree


def rain() -> PrefixTree:
    """Return a tree whose most probable sequence is empty, so that a wider beam finds shorter sequences.

    With a length exponent of 0, beams of width 1, 2 and 3 find "it is raining now", "raining" and the empty sequence.
    With a wide beam, larger exponents lead to "it is cold" and to the longest sequence.
    """
    return PrefixTree(["it", "is", "raining", "cold", "now", "</s>"], {
        "": [0.47, 0.0, 0.3, 0.0, 0.0, 0.23],
        "raining": [0.0, 0.0, 0.0, 0.0, 0.34, 0.66],
        "raining now": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        "it": [0.0, 0.71, 0.0, 0.0, 0.0, 0.29],
        "it is": [0.0, 0.0, 0.58, 0.42, 0.0, 0.0],
        "it is raining": [0.0, 0.0, 0.0, 0.0, 0.56, 0.44],
        "it is cold": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        "it is raining now": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    })


@torch.no_grad()
def cut(model: nn.Module, prompt: Integer[Tensor, " P"], names: Sequence[str], end: int, length: int = 4,
        keep: int = 2, digits: int = 4) -> tuple[PrefixTree, float]:
    r"""Return the most probable continuations of a prompt as a tree, and the smallest mass of probability that is kept.

    model   language model
    prompt  ids of the prompt (P,)
    names   text of each token id of the model
    end     id of the token that ends a sequence
    length  maximum length of a sequence
    keep    number of tokens kept at each prefix; their probabilities are divided by their sum, the mass that is kept
    digits  decimal places of the probabilities

    Raises ValueError for arguments out of range.
    """
    if not 0 <= end < len(names):
        raise ValueError(f"end is {end}; expected 0 to {len(names) - 1}, the id of one of the {len(names)} names")
    if length < 1 or not 1 <= keep <= len(names):
        raise ValueError(f"length is {length} and keep is {keep}; expected length >= 1 and 1 <= keep <= {len(names)}, "
                         "the number of names")
    rows: dict[tuple[int, ...], dict[int, float]] = {}
    front, least = [()], 1.0
    while front and len(front[0]) < length:                          # all prefixes of one length
        context = torch.stack([torch.cat([prompt, prompt.new_tensor(prefix)]) for prefix in front])
        p = log_probs(model, model.predict(model.start(len(front), context))).double().exp()
        top = p.topk(keep, dim=-1)
        least = min(least, top.values.sum(dim=-1).min().item())
        share = (top.values / top.values.sum(dim=-1, keepdim=True)).tolist()
        for prefix, ids, q in zip(front, top.indices.tolist(), share):
            q = [round(v, digits) for v in q[1:]]
            rows[prefix] = dict(zip(ids, [round(1 - sum(q), digits), *q]))         # so that they sum to one
        front = [(*b, v) for b in front for v in rows[b] if v != end]
    used = [*sorted({v for row in rows.values() for v in row} - {end}), end]
    table = {" ".join(names[v] for v in b): [row.get(v, 0.0) for v in used] for b, row in rows.items()}
    return PrefixTree([names[v] for v in used], table), least


@lru_cache(maxsize=1)
def next_characters() -> tuple[PrefixTree, float]:
    """Return the tree and the smallest kept mass of `cut` for the character GPT and the prompt "to be a ".

    A space ends a sequence.
    """
    gpt = hub.load("gpt-tiny-shakespeare").eval()
    tokenizer = CharTokenizer.from_config(hub.card("gpt-tiny-shakespeare").training["tokenizer"])
    symbols = [tokenizer.decode(torch.tensor([v])) for v in range(len(tokenizer.vocabulary))]
    names = [{" ": SPACE, "\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}"}.get(symbol, symbol) for symbol in symbols]
    return cut(gpt, tokenizer.encode(PROMPT), names, symbols.index(" "))


def offers() -> list[Offer]:
    """Return the trees of the figure: of the chapter (yes or ok), of `rain` and of `next_characters`."""
    characters, mass = next_characters()
    return [
        Offer("yes or ok", "The tree of this chapter.", yes_or_ok()),
        Offer("rain", "Written so that the likeliest sequence is the empty one.", rain()),
        Offer("next characters", f"From the trained gpt-tiny-shakespeare, after “{PROMPT.strip()}” and a space: at "
              "each prefix its two likeliest characters, their probabilities divided by their sum and rounded to "
              f"four places. The other characters are cut; the two held at least {mass:.0%} of the mass. A space, "
              f"{SPACE}, ends the sequence, and so does a fourth character.", characters),
    ]
