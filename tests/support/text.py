"""What the tests of the models of text share."""
from __future__ import annotations

import random

SCHEMES = {"none": {}, "add": {"alpha": 0.3}, "interpolated": {"buckets": 3}, "kneser-ney": {}}


def some_text(vocabulary=5, length=200, seed=0, without=None):
    """A text with habits: each symbol prefers a few successors, so that counts are uneven and some windows unseen."""
    rng = random.Random(seed)
    symbols = [v for v in range(vocabulary) if v != without]
    text = [rng.choice(symbols)]
    while len(text) < length:
        text.append(symbols[(text[-1] * 3 + rng.choice([0, 0, 0, 1, 1, 2, rng.randrange(vocabulary)])) % len(symbols)])
    return text
