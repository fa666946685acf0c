"""Chapter 18: what BERT reads, the pairs it judges, and the sum of three embeddings."""
from __future__ import annotations

import random

import torch

from course_lib.grading.bank.draws import integer, normal, uneven
from course_lib.grading.checks import Fault
from course_lib.grading.exercise import Exercise

# [CLS] A [SEP] B [SEP]

bert_segments = Exercise(
    "bert_segments", chapter="18", title="Segments and positions",
    contract="A pair of a_len and b_len tokens is read as [CLS] A [SEP] B [SEP]. Return (segment_ids, position_ids), each "
             "of shape (a_len + b_len + 3,) and dtype long; the first [SEP] belongs to A, positions begin at 0.",
    points=["bert"], difficulty=1, minutes=10)


@bert_segments.reference(
    no_last_sep="Your sequence ends with B. A second [SEP] closes it.",
    no_cls="Your sequence begins with A. [CLS] comes first.",
    sep_to_b="The first [SEP] has segment 1 in your result. It closes A, and has A's segment, 0.",
    last_sep_zero="The last [SEP] has segment 0 in your result. It closes B, and has B's segment, 1.",
    one_two="Your segments are 1 and 2. They are 0 and 1.",
    restarted="Your positions start again at B. They run on to the end of the pair.",
    from_one="Your positions begin at 1. [CLS] stands at position 0.",
    exchanged="You return the positions first. The segments come first.",
)
def bert_segments_reference(a_len, b_len, bugs=frozenset()):
    first = a_len + 2 - ("no_cls" in bugs) - ("sep_to_b" in bugs)
    second = b_len + 1 + ("sep_to_b" in bugs) - ("no_last_sep" in bugs)
    segments = torch.cat([torch.zeros(first), torch.ones(second)]).long()
    if "last_sep_zero" in bugs:
        segments[-1] = 0
    positions = torch.arange(len(segments)) + ("from_one" in bugs)
    if "restarted" in bugs:
        positions = torch.cat([torch.arange(first), torch.arange(second)])
    segments = segments + ("one_two" in bugs)
    return (positions, segments) if "exchanged" in bugs else (segments, positions)


def length_cases(generator):
    return [tuple(uneven(generator, (1, 9), (1, 9))) for _ in range(4)] + [(1, 1)]


bert_segments.compare("values", length_cases, points=3)
bert_segments.hint(
    "Your result is too short.",
    "Count the signs that are added: [CLS] in front, [SEP] after A, [SEP] after B. Three.")
bert_segments.hint(
    "You do not know to which segment a sign belongs.",
    "[CLS] and the [SEP] after A count as A, the [SEP] after B as B. So there are a_len + 2 zeros and b_len + 1 ones.")

# three embeddings

bert_embed = Exercise(
    "bert_embed", chapter="18", title="Three embeddings",
    contract="tok, seg (B, T) long; E_tok (V, D), E_seg (2, D), E_pos (n_max, D) with n_max >= T. Return (B, T, D): at each "
             "place the sum of the embeddings of its token, its segment and its position, positions from 0.",
    points=["bert"], difficulty=2, minutes=10)


@bert_embed.reference(
    no_segments="The segment does not matter in your result. Its embedding is part of the sum.",
    no_positions="The position does not matter in your result. Its embedding is part of the sum.",
    exchanged="You give segment 0 the second row of E_seg, and segment 1 the first.",
    by_row="Your position is the row of the batch. It is the place in the sequence.",
    from_one="Your first token has position 1. Positions begin at 0.",
    restarted="Your positions start again where the second segment begins. They run on to the end.",
    by_token="You look positions up by the token's number. The place in the sequence decides.",
    averaged="You return the mean of the three embeddings. BERT adds them up.",
    scaled="You multiply the token's embedding by the square root of D. BERT adds it as it is.",
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
    return sum(parts) / (3 if "averaged" in bugs else 1)


def embed_cases(generator):
    found = []
    for _ in range(2):
        B, T, D, V = uneven(generator, (2, 3), (5, 7), (4, 6), (9, 12))
        first = torch.randint(2, T - 1, (B, 1), generator=generator)            # tokens of the first segment
        found.append((torch.randint(V, (B, T), generator=generator), (torch.arange(T) >= first).long(),
                      normal(generator, V, D), normal(generator, 2, D), normal(generator, T + 3, D)))
    return found


bert_embed.compare("values", embed_cases, points=3)
bert_embed.gradient("gradient", embed_cases, wrt=(2, 3, 4), points=1)
bert_embed.unchanged(embed_cases)
bert_embed.hint(
    "You do not know how to look up a whole batch.",
    "A table indexed by a tensor of numbers gives a tensor with one more axis: E_tok[tok] is (B, T, D).")
bert_embed.hint(
    "Adding the positions fails.",
    "All rows of the batch have the same positions: the first T rows of E_pos, (T, D), broadcast over the batch.")

# a pair of sentences

nsp_pair = Exercise(
    "nsp_pair", chapter="18", title="Next sentence, or not",
    contract="docs is a list of documents, each a list of sentences; rng a random.Random. A is docs[d][i]. With is_next, B "
             "is the sentence after it (there is one) and the label 0; otherwise B is drawn by rng from the sentences of "
             "the other documents, each of which may come, and the label is 1. Return (A, B, label).",
    points=["nsp"], difficulty=2, minutes=15)


@nsp_pair.reference(
    labels="Your labels are exchanged: 0 says that B is the next sentence, 1 that it is not.",
    previous="Your B is the sentence before A. It is to be the one after it.",
    order="You return B before A. A comes first.",
    coin="You toss a coin of your own. is_next has decided already.",
    same_document="Your random sentence is sometimes one of A's own document, where it may even be the next one. Leave "
                  "that document out.",
    first_sentence="Your random sentence is always the first of its document. Any of them may come, or the model learns "
                   "what first sentences look like.",
    neighbour="Your random sentence is always of the same document. All others may come.",
    unmoved="Your random sentence is the same whatever the state of rng. Draw from rng, and do not seed it.",
    own_dice="Two calls with rng in the same state give different sentences: something else than rng is drawn from, such "
             "as the module random itself. With rng alone, a run can be repeated.",
)
def nsp_pair_reference(docs, d, i, is_next, rng, bugs=frozenset()):
    if "coin" in bugs:
        is_next = rng.random() < 0.5
    if is_next:
        b = docs[d][i - 1] if "previous" in bugs else docs[d][i + 1]
    else:
        rng = random.Random(0) if "unmoved" in bugs else random.Random() if "own_dice" in bugs else rng
        others = [k for k in range(len(docs)) if k != d or "same_document" in bugs]
        if "neighbour" in bugs:
            others = [(d + 1) % len(docs)]
        pool = [s for k in others for s in (docs[k][:1] if "first_sentence" in bugs else docs[k])]
        b = pool[rng.randrange(len(pool))]
    label = int(is_next if "labels" in bugs else not is_next)
    return (b, docs[d][i], label) if "order" in bugs else (docs[d][i], b, label)


def documents(generator) -> list[list[str]]:
    """Four documents of 2 to 4 sentences, each sentence with a name of its own."""
    sizes = [integer(generator, 2, 4) for _ in range(4)]
    names = torch.randperm(900, generator=generator).tolist()
    return [[f"sentence {names.pop() + 100}" for _ in range(n)] for n in sizes]


def own_rng(generator) -> random.Random:
    return random.Random(integer(generator, 0, 2**31))


def next_cases(generator):
    found = []
    for _ in range(8):
        docs = documents(generator)
        d = integer(generator, 0, 3)
        found.append((docs, d, integer(generator, 0, len(docs[d]) - 2), True, own_rng(generator)))
    return found


nsp_pair.compare("the next sentence", next_cases, points=2)


@nsp_pair.property("a sentence of another document", points=3)
def strangers(run, generator, solve):
    docs = documents(generator)
    d = integer(generator, 1, 2)
    others = {sentence: k for k, document in enumerate(docs) for sentence in document if k != d}
    seen = set()
    for _ in range(200):
        result = run(docs, d, 0, False, own_rng(generator))
        if not isinstance(result, list | tuple) or len(result) != 3:
            return Fault("Your function should return three things: A, B and the label.", None, "wrong_shape")
        a, b, label = result
        if label != 1 or isinstance(label, torch.Tensor):
            return Fault("The label should be the number 1 when is_next is False.", "coin" if label == 0 else None)
        if a != docs[d][0]:
            return Fault("A should be docs[d][i] in any case.")
        if b in docs[d]:
            return Fault("B is of A's own document.", "same_document")
        if b not in others:
            return Fault("B is no sentence of the documents.")
        seen.add(b)
    for _ in range(12):
        seed = integer(generator, 0, 2**31)
        if run(docs, d, 0, False, random.Random(seed))[1] != run(docs, d, 0, False, random.Random(seed))[1]:
            return Fault("Two calls with rng in the same state give different sentences.", "own_dice")
    missing = len(others) - len(seen)
    if not missing:
        return None
    if len(seen) == 1:
        return Fault("B never changes.", "unmoved")
    if len({others[b] for b in seen}) == 1 and len(seen) == len(docs[others[min(seen)]]):
        return Fault("B is of one document.", "neighbour")
    if seen == {document[0] for k, document in enumerate(docs) if k != d}:
        return Fault("B is always a first sentence.", "first_sentence")
    return Fault(f"In 200 draws, {missing} of the {len(others)} sentences of other documents never came.")


nsp_pair.hint(
    "Your random sentence is sometimes the next one.",
    "Take the documents other than number d first: [doc for k, doc in enumerate(docs) if k != d]. Then draw.")
nsp_pair.hint(
    "Some sentences never come.",
    "Put the sentences of all the other documents in one list and use rng.choice, or draw a document and then one of its "
    "sentences. Both are accepted.")

EXERCISES = [bert_segments, bert_embed, nsp_pair]
