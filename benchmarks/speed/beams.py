"""Beam search beside Hugging Face's, for GPT and for the encoder-decoder."""

from __future__ import annotations

import torch

from benchmarks.speed.comparison import Comparison
from benchmarks.speed.transformers import LENGTH, PAD, PEER, gpts, marian, numbers, ours_for_translation, pairs
from course_lib.decoding import beam_search

BEAMS, BATCH, NEW = 4, 8, 100                                        # beams a row, rows, tokens


def gpt_beams() -> Comparison:
    """Six layers, six heads, width 192: the same weights, the same tokens."""
    theirs, ours = (model.eval() for model in gpts())
    prompt = numbers(0, 64, BATCH, 16)
    attended = torch.ones_like(prompt)
    options = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "num_beams": BEAMS, "pad_token_id": 64,
               "eos_token_id": None, "early_stopping": False, "length_penalty": 1.0}
    calls = {"course_lib": lambda: beam_search(ours, NEW, context=prompt, beams=BEAMS).tokens[:, 0],
             PEER: lambda: theirs.generate(prompt, attention_mask=attended, **options)[:, 16:]}
    if not torch.equal(*(call() for call in calls.values())):
        raise AssertionError("the two write different tokens: there is nothing to compare")
    return Comparison(
        f"GPT, 6 layers, width 192: {BEAMS} beams, {NEW} tokens, batch {BATCH}",
        "With a cache of keys and values, after 16 tokens. Same weights, same tokens.",
        calls, fast="course_lib", slow=PEER)


def translation_beams() -> Comparison:
    torch.manual_seed(0)
    source = pairs()[0]
    theirs, ours = marian(), ours_for_translation().eval()
    options = {"max_new_tokens": LENGTH, "min_new_tokens": LENGTH, "do_sample": False, "num_beams": BEAMS,
               "early_stopping": False}
    calls = {"course_lib": lambda: beam_search(ours, LENGTH, context=source, beams=BEAMS).tokens,
             f"Marian, {PEER}": lambda: theirs.generate(source, attention_mask=(source != PAD).long(), **options)}
    return Comparison(
        f"Encoder and decoder, 3 + 3 layers, width 256: {BEAMS} beams",
        f"{len(source)} sources, {LENGTH} words each, with what is kept of the past. Networks of the same sizes, each with "
        "weights of its own.", calls, fast="course_lib", slow=f"Marian, {PEER}")


COMPARISONS = {"speed-gpt-beams": gpt_beams, "speed-translation-beams": translation_beams}
