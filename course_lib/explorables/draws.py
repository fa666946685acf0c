"""Pseudorandom numbers that Python and the JavaScript of the figures compute alike."""

from __future__ import annotations


def uniforms(seed: int, num: int) -> list[float]:
    """Return `num` pseudorandom numbers, uniform in (0, 1), by 32-bit xorshift (Marsaglia 2003) from `seed`."""
    state = (seed * 2654435769) % 2**32 or 1                         # spreads small seeds; 0 is a fixed point
    out = []
    for _ in range(num):
        state ^= (state << 13) % 2**32
        state ^= state >> 17
        state ^= (state << 5) % 2**32
        out.append(state / 2**32)
    return out
