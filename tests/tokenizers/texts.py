"""Texts of every kind of character, for tokenizers that must lose nothing."""
from __future__ import annotations

import random

ODD = "ab Z9_'\t\n\r  .,!?²½Ⅷ①é́ñçßİıΣς你好ー한각あア\u3000\u00a0\u200b\u200d\ufeff\x1c\x00\ufffd𝔘🙂👍🏽—…«»$^`|~¦ªº٣५"
WRITTEN = ["Hello world! I'm  here\n\n  now, it's 2024²½ ¾… naïve café 你好 \u3000x __init__ 12ab'll 'S", "   lead", "tail   ",
           "a_b", "𝔘𝔫𝔦 ①② Ⅷ", "don't DON'T we'll're", "", " ", "\n"]


def odd_texts(num=400):
    """Texts of every kind of character, the same each time."""
    r = random.Random(0)
    ranges = [(32, 0x500), (0x2000, 0x2200), (0x3000, 0x3100), (0x1F300, 0x1F700)]
    mixed = ["".join(r.choice(ODD) for _ in range(r.randrange(1, 30))) for _ in range(num)]
    far = ["".join(chr(r.randrange(*r.choice(ranges))) for _ in range(r.randrange(1, 20))) for _ in range(num)]
    return WRITTEN + mixed + far
