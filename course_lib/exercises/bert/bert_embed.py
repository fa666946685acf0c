"""The three embeddings that BERT adds."""
from __future__ import annotations

import torch

from course_lib.exercises.draws import normal, uneven
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "bert_embed", chapter="bert", place=2, title="Three embeddings",
    contract="tok, seg (B, T) long; E_tok (V, D), E_seg (2, D), E_pos (n_max, D) with n_max >= T. Return (B, T, D): at each "
             "place the sum of the embeddings of its token, its segment and its position, positions from 0.",
    points=["bert"], difficulty=2, minutes=10)


@exercise.step
def token_vectors(tok, E_tok):
    return E_tok[tok]


@exercise.step
def segment_vectors(seg, E_seg):
    return E_seg[seg]


@exercise.step
def positions(seg):
    return torch.arange(seg.shape[1]).expand_as(seg)


@exercise.step
def position_vectors(seg, E_pos):
    return E_pos[positions(seg)]


@exercise.reference()
@exercise.step
def bert_embed_reference(tok, seg, E_tok, E_seg, E_pos):
    return token_vectors(tok, E_tok) + segment_vectors(seg, E_seg) + position_vectors(seg, E_pos)


@exercise.misconception(
    segment_vectors,
    "The segment does not matter in your result. Its embedding is part of the sum.")
def no_segments(seg, E_seg):
    return 0


@exercise.misconception(
    position_vectors,
    "The position does not matter in your result. Its embedding is part of the sum.")
def no_positions(seg, E_pos):
    return 0


@exercise.misconception(segment_vectors, "You give segment 0 the second row of E_seg, and segment 1 the first.")
def exchanged(seg, E_seg):
    return E_seg[1 - seg]


@exercise.misconception(
    segment_vectors,
    "Your segment 0 adds nothing: the first row of E_seg is never used. Each of the two segments has a learned embedding, row 0 or row 1 "
    "of E_seg.")
def second_row_only(seg, E_seg):
    return seg[..., None] * E_seg[1]


@exercise.misconception(
    bert_embed_reference,
    "You choose the rows of E_pos by the token. They are chosen by its position; otherwise a token has the same vector wherever it stands "
    "in a segment.")
def position_of_token(tok, seg, E_tok, E_seg, E_pos):
    return token_vectors(tok, E_tok) + segment_vectors(seg, E_seg) + E_pos[tok % len(E_pos)]


@exercise.misconception(positions, "Your first token has position 1. Positions begin at 0.")
def from_one(seg):
    return positions.original(seg) + 1


@exercise.misconception(
    positions,
    "Your positions start again where the second segment begins. They continue to the end.")
def restarted(seg):
    return positions.original(seg) - seg * (seg == 0).sum(1, keepdim=True)


@exercise.misconception(
    token_vectors,
    "You multiply the token's embedding by the square root of D. BERT adds it as it is.")
def scaled(tok, E_tok):
    return E_tok[tok] * E_tok.shape[1] ** 0.5


@exercise.misconception(
    bert_embed_reference,
    "You normalize the sum. BERT does that afterwards, and trains a gain and a bias for it; here the sum itself is asked for.")
def normalized(tok, seg, E_tok, E_seg, E_pos):
    return torch.nn.functional.layer_norm(bert_embed_reference.original(tok, seg, E_tok, E_seg, E_pos), E_tok.shape[1:])


@exercise.misconception(
    token_vectors,
    "The gradient with respect to row 0 of E_tok is 0, because you treat token 0 as padding (padding_idx=0). Every row of E_tok is learned, row 0 too.")
def zero_is_padding(tok, E_tok):
    return torch.nn.functional.embedding(tok, E_tok, padding_idx=0)


def embed_cases(generator):
    """Uneven sizes; as many texts as tokens; one text of one segment."""
    cases = []
    for _ in range(2):
        B, T, D, V = uneven(generator, (2, 3), (5, 7), (4, 6), (9, 12))
        first = torch.randint(2, T - 1, (B, 1), generator=generator)            # tokens of the first segment
        cases.append((torch.randint(V, (B, T), generator=generator), (torch.arange(T) >= first).long(),
                      normal(generator, V, D), normal(generator, 2, D), normal(generator, T + 3, D)))
    tok = torch.randint(5, (3, 3), generator=generator)
    tables = normal(generator, 5, 4), normal(generator, 2, 4), normal(generator, 4, 4)
    return [*cases, (tok, tok % 2, *tables), (tok[:1], torch.zeros_like(tok[:1]), *tables)]


exercise.compare("values", embed_cases, points=3)
exercise.gradient("gradient", embed_cases, wrt=(2, 3, 4), points=1)
exercise.unchanged(embed_cases)
exercise.hint(
    "How to look up a whole batch.",
    "A table indexed by a tensor of numbers gives a tensor with one more axis: E_tok[tok] is (B, T, D).")
exercise.hint(
    "Adding the positions fails.",
    "All rows of the batch have the same positions: the first T rows of E_pos, (T, D), broadcast over the batch.")
