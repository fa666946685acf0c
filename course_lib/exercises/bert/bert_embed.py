"""The three embeddings that BERT adds."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bert_embed", chapter="18", place=2, title="Three embeddings",
    contract="tok, seg (B, T) long; E_tok (V, D), E_seg (2, D), E_pos (n_max, D) with n_max >= T. Return (B, T, D): at each "
             "place the sum of the embeddings of its token, its segment and its position, positions from 0.",
    points=["bert"], difficulty=2, minutes=10)


@exercise.reference(
    no_segments="The segment does not matter in your result. Its embedding is part of the sum.",
    no_positions="The position does not matter in your result. Its embedding is part of the sum.",
    exchanged="You give segment 0 the second row of E_seg, and segment 1 the first.",
    by_row="Your position is the row of the batch. It is the place in the sequence.",
    from_one="Your first token has position 1. Positions begin at 0.",
    restarted="Your positions start again where the second segment begins. They run on to the end.",
    by_token="You look positions up by the token's number. The place in the sequence decides.",
    averaged="You return the mean of the three embeddings. BERT adds them up.",
    scaled="You multiply the token's embedding by the square root of D. BERT adds it as it is.",
    normalised="You normalise the sum. BERT does that afterwards, and trains a gain and a bias for it; here the sum itself is "
               "asked for.",
    beside="You put the three embeddings side by side, 3 D wide. BERT adds them up.",
)
def bert_embed_reference(tok, seg, E_tok, E_seg, E_pos, bugs=frozenset()):
    T = tok.shape[1]
    place = torch.arange(T).expand_as(tok) + ("from_one" in bugs)
    if "by_row" in bugs:
        place = torch.arange(len(tok))[:, None].expand_as(tok)
    if "by_token" in bugs:
        place = tok % len(E_pos)
    if "restarted" in bugs:
        place = torch.where(seg == 1, place - (seg == 0).sum(1, keepdim=True), place)
    parts = [E_tok[tok] * (E_tok.shape[1] ** 0.5 if "scaled" in bugs else 1), E_seg[1 - seg if "exchanged" in bugs else seg],
             E_pos[place]]
    if "no_segments" in bugs:
        parts = [parts[0], parts[2]]
    if "no_positions" in bugs:
        parts = parts[:2]
    if "beside" in bugs:
        return torch.cat(parts, dim=-1)
    if "normalised" in bugs:
        return torch.nn.functional.layer_norm(sum(parts), E_tok.shape[1:])
    return sum(parts) / (3 if "averaged" in bugs else 1)


def embed_cases(generator):
    found = []
    for _ in range(2):
        B, T, D, V = uneven(generator, (2, 3), (5, 7), (4, 6), (9, 12))
        first = torch.randint(2, T - 1, (B, 1), generator=generator)            # tokens of the first segment
        found.append((torch.randint(V, (B, T), generator=generator), (torch.arange(T) >= first).long(),
                      normal(generator, V, D), normal(generator, 2, D), normal(generator, T + 3, D)))
    return found


exercise.compare("values", embed_cases, points=3)
exercise.gradient("gradient", embed_cases, wrt=(2, 3, 4), points=1)
exercise.unchanged(embed_cases)
exercise.hint(
    "How to look up a whole batch.",
    "A table indexed by a tensor of numbers gives a tensor with one more axis: E_tok[tok] is (B, T, D).")
exercise.hint(
    "Adding the positions fails.",
    "All rows of the batch have the same positions: the first T rows of E_pos, (T, D), broadcast over the batch.")
