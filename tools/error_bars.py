"""A drawing of a record that compares ways to train at several numbers of labels: a line a way, a bar a standard error.

Its rows are called "WAY, NUMBER labels". The drawing is SVG, the same bytes for the same record.
"""
from __future__ import annotations

import math
from html import escape
from typing import Any

DRAWN = ("bert-sst2",)                                               # records that the results page draws
COLOURS, INK, GRID = ("#b3541e", "#1b6ca8"), "#1f2933", "#d5dae0"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 320, 62, 18, 44, 52


def series(record: dict[str, Any]) -> tuple[list[str], dict[str, list[tuple[float, float]]]]:
    """The numbers of labels, and for each way its mean and standard error at each of them."""
    ways: dict[str, list[tuple[float, float]]] = {}
    labels: list[str] = []
    for row in record["rows"]:
        way, _, many = row["model"].partition(", ")
        ways.setdefault(way, []).append((row["test"]["mean"], row["test"]["standard_error"]))
        if many.removesuffix(" labels") not in labels:
            labels.append(many.removesuffix(" labels"))
    if any(len(points) != len(labels) for points in ways.values()):
        raise ValueError(f"{record['name']} has rows for {', '.join(ways)} at {', '.join(labels)} labels, and not every one of them")
    return labels, ways


def alternative(record: dict[str, Any]) -> str:
    """The figures in words."""
    labels, ways = series(record)
    each = "; ".join(f"{way} {', '.join(f'{mean:.1f} ± {error:.1f}' for mean, error in points)}" for way, points in ways.items())
    return f"{record['unit']} at {', '.join(labels[:-1])} and {labels[-1]} labels, with bars of one standard error: {each}."


def drawing(record: dict[str, Any]) -> str:
    labels, ways = series(record)
    ends = [mean + sign * error for points in ways.values() for mean, error in points for sign in (-1, 1)]
    step = next(s for s in (1, 2, 5, 10, 20, 50) if (max(ends) - min(ends)) / s <= 6)
    low, high = step * math.floor(min(ends) / step), step * math.ceil(max(ends) / step)
    high += step * (high == low)

    def x(place: int, shift: float = 0.0) -> float:
        return LEFT + (place + 0.5) * (WIDTH - LEFT - RIGHT) / len(labels) + shift

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'font-family="sans-serif" font-size="13" fill="{INK}">',
           f"<title>{escape(alternative(record))}</title>", f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    for value in range(low, high + 1, step):
        out.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value}</text>')
    for place, many in enumerate(labels):
        out.append(f'<text x="{x(place):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{escape(many)}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">labelled sentences</text>')
    out.append(f'<text transform="translate(16 {(TOP + HEIGHT - BOTTOM) / 2:.1f}) rotate(-90)" text-anchor="middle">'
               f"{escape(record['unit'])}</text>")
    for k, (way, points) in enumerate(ways.items()):
        colour, shift = COLOURS[k], 8 * k - 4                        # side by side, so that no bar hides another
        dash = ' stroke-dasharray="6 4"' * k
        line = " ".join(f"{x(i, shift):.1f},{y(mean):.1f}" for i, (mean, _) in enumerate(points))
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for i, (mean, error) in enumerate(points):
            at, top, bottom = x(i, shift), y(mean + error), y(mean - error)
            out.append(f'<path d="M{at:.1f} {top:.1f}V{bottom:.1f}M{at - 5:.1f} {top:.1f}h10M{at - 5:.1f} {bottom:.1f}h10" '
                       f'stroke="{colour}" stroke-width="1.5" fill="none"/>')
            out.append(f'<circle cx="{at:.1f}" cy="{y(mean):.1f}" r="4.5" fill="{colour}"/>' if k == 0 else
                       f'<rect x="{at - 4:.1f}" y="{y(mean) - 4:.1f}" width="8" height="8" fill="{colour}"/>')
        out.append(f'<path d="M{LEFT + 170 * k} 22h28" stroke="{colour}" stroke-width="2"{dash}/>')
        out.append(f'<text x="{LEFT + 170 * k + 36}" y="26">{escape(way)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
