"""Training of the two translators of the figure that runs a whole transformer, and ablation of their heads.

    python -m benchmarks.translators train      three seeds of each kind, the best of each on the validation part:
                                                minutes
    python -m benchmarks.translators heads      all subsets of their nine heads ablated: minutes

Both have one encoder block and one decoder block of three heads, on the grammar of chapter transformer. The first is trained
without dropout of heads; in the second the output of each head is 0 with probability 0.15 per sentence during training.
Test and validation sentences do not occur in training, and all figures are of the rounded weights, in float64.
"""
from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from benchmarks import steps
from course_lib import hub
from course_lib.data.toy_translation import (
    ADJECTIVES,
    VERBS,
    Pair,
    draw_pairs,
    to_ids,
    to_text,
    vocabularies,
)
from course_lib.decoding import greedy
from course_lib.explorables.base import STATIC
from course_lib.explorables.translator import HEADS, LONGEST, MEASURED, NETWORKS, attention_of, heads_off
from course_lib.files import write_atomically
from course_lib.training import fit
from course_lib.transformer import Transformer, TransformerConfig

FOLDER = STATIC / "weights"
SIZE = {"d_model": 24, "heads": 3, "d_ff": 48, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0, "norm": "pre"}
PAIRS, HELD, SEEDS = 8000, 400, (0, 1, 2)
TRAINING = {"epochs": 25, "batch_size": 100, "lr": 0.01, "schedule": "cosine", "warmup": 100, "clip": 1.0}
DROPPED = 0.15


# --- training --------------------------------------------------------------------------------------------------------


def parts() -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Training, validation and test pairs; the parts are disjoint, and the last two have no duplicates."""
    held: dict[tuple[str, ...], Pair] = {}
    drawn = iter(draw_pairs(4 * HELD, torch.Generator().manual_seed(1)))
    while len(held) < 2 * HELD:
        pair = next(drawn)
        held.setdefault(pair.source, pair)
    train = [pair for pair in draw_pairs(2 * PAIRS, torch.Generator().manual_seed(0)) if pair.source not in held]
    both = list(held.values())
    return train[:PAIRS], both[:HELD], both[HELD:]


@contextmanager
def heads_dropped(model: Transformer, p: float):
    """During training, the output of each head is 0 with probability p, sentence by sentence."""
    def hook(_, arguments):
        heads = rearrange(arguments[0], "B T (H K) -> B T H K", H=model.config.heads)
        kept = torch.rand(len(heads), 1, model.config.heads, 1) >= p
        return (rearrange(heads * kept, "B T H K -> B T (H K)"),) if model.training else None

    with ExitStack() as stack:
        for attention in attention_of(model).values():
            stack.callback(attention.out.register_forward_pre_hook(hook).remove)
        yield


def trained(seed: int, dropped: float, train: Sequence[Pair]) -> Transformer:
    """A translator, its weights rounded to half precision, in float64."""
    english, italian = vocabularies()
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(len(english), len(italian), pad_id=0, bos_id=1, eos_id=2, **SIZE))
    with heads_dropped(model, dropped):
        fit(model, to_ids(train), seed=seed, progress=False, **TRAINING)
    return model.half().double().eval()


def train(folder: Path = FOLDER) -> None:
    """The best of three seeds of each kind on the validation set; of equal ones the first. All six are on the cards."""
    train, valid, test = parts()
    for name, dropped in zip(NETWORKS, (0.0, DROPPED)):
        models, rows = [], []
        for seed in SEEDS:
            began = time.process_time()
            models.append(trained(seed, dropped, train))
            seconds = time.process_time() - began
            alone = {f"{part} {head + 1}": right(models[-1], test, [(part, head)]) for part, head in HEADS}
            rows.append({"seed": seed, "valid": right(models[-1], valid), "test": right(models[-1], test),
                         "one head off": alone})
            print(name, rows[-1], f"{seconds:.0f} s", flush=True)
        best = max(range(len(rows)), key=lambda k: rows[k]["valid"])
        save(models[best], folder, name, dropped, rows, best)


def save(model: Transformer, folder: Path, name: str, dropped: float, rows: list[dict], best: int) -> None:
    """Store the weights in half precision, with a card of the measurements of every seed."""
    hub.save(model.float(), folder, name, hub.Card(
        f"encoder-decoder, 1 + 1 layers of 3 heads, width 24, {'heads dropped in training' if dropped else 'plain'}: "
        f"Transformer, {sum(p.numel() for p in model.parameters()):,} parameters",
        "toy_translation", "MIT, as the code that draws it", "a grammar of this course, course_lib.data.toy_translation",
        {**TRAINING, "pairs": PAIRS, "heads dropped": dropped, "seed": rows[best]["seed"]}, {f"right of {HELD}": rows},
        "For the figure that runs a whole transformer. Half precision. Made by `python -m benchmarks.translators train`."),
        dtype=torch.float16)


# --- measuring -------------------------------------------------------------------------------------------------------


def written(model: Transformer, pairs: Sequence[Pair], off: Sequence = ()) -> list[str]:
    """Greedy translations with these heads ablated."""
    (sources, _), words = to_ids(pairs), vocabularies()[1]
    with heads_off(model, off):
        return [to_text(row, words) for row in greedy(model, length=LONGEST, context=sources, eos_id=2).tokens]


def right(model: Transformer, pairs: Sequence[Pair], off: Sequence = ()) -> int:
    """Number of sentences whose translation equals that of the grammar."""
    return sum(text == " ".join(pair.target) for text, pair in zip(written(model, pairs, off), pairs))


GENDER = [{"il", "la", "le"}, *(set(pair) for pair in ADJECTIVES.values())]
FORMS = [set(forms) for forms in VERBS.values()]
KINDS = ("gender", "form of the verb", "not", "place", "end", "another word")


def kind(text: str, pair: Pair) -> str:
    """Kind of the first wrong word, see KINDS; "place" is a word of the correct translation at another position."""
    said, wanted = [*text.split(), ""], [*pair.target, ""]
    t = next(t for t, (a, b) in enumerate(zip(said, wanted)) if a != b)
    a, b = said[t], wanted[t]
    if any({a, b} <= one for one in GENDER):
        return "gender"
    if any({a, b} <= one for one in FORMS):
        return "form of the verb"
    if "non" in (a, b):
        return "not"
    if "" in (a, b):
        return "end"
    return "place" if a in pair.target else "another word"


def maps(model: Transformer, pairs: Sequence[Pair]) -> Float[Tensor, "H n"]:
    """Cross-attention weights of each head on the correct translations, without padding, concatenated."""
    sources, targets = to_ids(pairs)
    weights = model.attention_weights(sources, targets)[0]           # (B, H, T, S)
    return torch.cat([w[:, :len(pair.target) + 1, :len(pair.source)].flatten(1) for w, pair in zip(weights, pairs)], 1)


def matched(models: Sequence[Transformer], pairs: Sequence[Pair]) -> dict[str, object]:
    """Best one-to-one assignment of the cross-attention heads of two networks, by the correlations of their weights."""
    a, b = (maps(model, pairs) for model in models)
    both = torch.corrcoef(torch.cat([a, b]))[:3, 3:]                 # (H, H)
    best = max(permutations(range(3)), key=lambda order: sum(both[h, order[h]].item() for h in range(3)))
    return {"order": list(best), "correlations": [round(both[h, best[h]].item(), 2) for h in range(3)]}


def right_of_all(model: Transformer, pairs: Sequence[Pair], many: int = 32) -> list[int]:
    """`right` for every subset of heads, in the order of `setting`; the model gets `many` subsets at a time."""
    sources, targets = to_ids(pairs)
    wanted, found = F.pad(targets, (0, LONGEST - targets.shape[1])), []                    # (B, LONGEST)
    for first in range(0, 1 << len(HEADS), many):
        choices = torch.arange(first, first + many)
        kept = ~(choices[:, None] >> torch.arange(len(HEADS)) & 1).bool().repeat_interleave(len(pairs), dim=0)
        with ExitStack() as stack:
            for layer, mine in zip(attention_of(model).values(), kept.chunk(3, dim=1)):
                stack.callback(layer.out.register_forward_pre_hook(lambda _, arguments, mine=mine: (
                    (arguments[0].unflatten(2, (3, -1)) * mine[:, None, :, None]).flatten(2),)).remove)
            said = greedy(model, length=LONGEST, context=sources.repeat(many, 1), eos_id=2).tokens
        said = F.pad(said, (0, LONGEST - said.shape[1]))
        ended = (said == 2).cumsum(dim=1) - (said == 2).int() > 0                         # after the end token
        equal = said.masked_fill(ended, 0) == wanted.repeat(many, 1)
        found += equal.all(dim=1).view(many, -1).sum(dim=1).tolist()
    return found


def measured(model: Transformer, test: Sequence[Pair]) -> dict[str, object]:
    """Of a network: correct sentences for each subset of heads, by `setting`; kinds of errors, in the order of HEADS.
    """
    counts, kinds = right_of_all(model, test), []
    for pair in HEADS:
        wrong = Counter(kind(text, each) for text, each in zip(written(model, test, [pair]), test)
                        if text != " ".join(each.target))
        kinds.append({name: wrong[name] for name in KINDS if wrong[name]})
    blind = written(model, test, [pair for pair in HEADS if pair[0] == "cross"])
    print([counts[0], *(counts[1 << k] for k in range(len(HEADS)))], kinds, blind[0], flush=True)
    return {"right": counts, "first wrong word": kinds, "sentences without cross-attention": len(set(blind))}


def heads(folder: Path = FOLDER) -> None:
    """All 512 subsets of heads in both networks: correct sentences; with one head ablated, the kinds of the first wrong
    word."""
    _, _, test = parts()
    models = [hub.load(folder / name).double().eval() for name in NETWORKS]
    networks = [measured(model, test) for model in models]
    found = {"sentences": HELD, "networks": networks, "maps": matched(models, test)}
    print(found["maps"])
    write_atomically(folder / MEASURED.name, (json.dumps(found) + "\n").encode())


STEPS = {"train": train, "heads": heads}
if __name__ == "__main__":
    steps.run("benchmarks.translators", __doc__, STEPS)
