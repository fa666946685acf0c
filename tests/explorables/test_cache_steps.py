"""The bill of a generation with a cache and without: against what torch counts while the package's GPT really runs."""
from __future__ import annotations

import math
import random

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_lib.explorables import CacheSteps
from course_lib.explorables.cache_steps import (
    APPEND,
    BOUNDS,
    LOGITS,
    OPERATIONS,
    PRESETS,
    SCORES,
    SUM,
    WORDS,
    Size,
    Work,
    cells,
    halvings,
    rows,
    running,
    totals,
    work,
)
from course_lib.transformer import GPT, GPTConfig
from tests.explorables.figure import Figure, choose, click, fill, keys, refused

NUM = len(OPERATIONS)
SIZES = [Size(2, 8, 2, 32, 50), Size(1, 6, 3, 7, 11), Size(3, 12, 1, 20, 5), Size(2, 4, 4, 9, 13)]


def of_one_pass(size: Size, prompt: int, number: int, cached: bool) -> Work:
    total = Work()
    for operation in range(NUM):
        total = total.plus(work(size, operation, *rows(prompt, number, cached), cached))
    return total


class Softmaxes(torch.overrides.TorchFunctionMode):
    """Counts the weights of every attention that is called: its queries, in all heads, times its keys."""

    count = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.scaled_dot_product_attention:
            q, k = args[:2]
            self.count += q.shape[:-1].numel() * k.shape[-2]
        return function(*args, **(kwargs or {}))


def really_run(size: Size, prompt: int, passes: int, cached: bool):
    """(attention, weights, exponentials, numbers in the cache so far) of each pass of the real GPT, as torch counts.

    Torch counts twice each multiplication of mm and addmm, which are products with weights, and of bmm, which are
    attention once its fused kernel is taken apart.
    """
    L, D, H, F, V = size
    model = GPT(GPTConfig(V, 16, L, H, D, F)).eval()
    x = torch.randint(V, (1, prompt + passes), generator=torch.Generator().manual_seed(0))
    state = None
    for number in range(1, passes + 1):
        keys = prompt + number - 1
        counter, seen = FlopCounterMode(display=False), Softmaxes()
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter, seen:
            if not cached:
                model.logits(model.hidden(x[:, :keys])[:, -1])
            elif state is None:
                state = model.start(1, x[:, :prompt])
            else:
                state = model.update(state, x[:, keys - 1])
        by_kind = {"bmm": 0, "mm": 0, "addmm": 0}
        for kind, count in counter.get_flop_counts()["Global"].items():
            by_kind[str(kind).split(".")[-1]] += count // 2          # a KeyError for any other kind
        stored = sum(part[:, :, :cache.length].numel() for cache in state.caches for part in cache.kv) if cached else 0
        yield by_kind["bmm"], by_kind["mm"] + by_kind["addmm"], seen.count, stored


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("cached", [True, False], ids=["cached", "not cached"])
def test_work_equals_torch_flops(size, cached):
    for prompt in (1, 4):
        stored = 0
        for number, counted in enumerate(really_run(size, prompt, 5, cached), 1):
            expected = of_one_pass(size, prompt, number, cached)
            stored += expected.stored
            assert (expected.attention, expected.weights, expected.exponentials, stored) == counted, (prompt, number)


def test_cells_of_passes():
    first = [cells(2, o, True) for o in range(NUM)]
    assert first[0] == [["now", *[""] * 8]] * 2, "the prompt is read whole"
    assert first[SCORES][0] == ["done", "done", "read", "now", *[""] * 5]
    assert first[LOGITS] == [["done", "done", "kept", *["done"] * 5, last] for last in ("", "now")]
    later = cells(2, 2 * NUM + SUM, True)
    assert later[:3] == [["", "", "read", *[""] * 6]] * 3, "of the past nothing but keys and values"
    assert later[3] == ["done", "done", "read", "done", "done", "now", "", "", ""]
    assert cells(2, 2 * NUM, True)[:3] == [["", "", "kept", *[""] * 6]] * 3
    assert cells(2, 2 * NUM + APPEND, True)[3][APPEND] == "now"
    again = cells(2, 2 * NUM + SUM, False)
    assert again == [["done", "done", "", "done", "done", "now", "", "", ""]] * 4, "everything, for every position"
    assert [row[LOGITS] for row in cells(2, 3 * NUM - 1, False)] == ["", "", "", "now"], "logits of the last alone"


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_package(modules):
    """All operations of all passes, and sizes from the smallest to the largest, to the last digit."""
    draw = random.Random(0)
    names = (*Size._fields, "tokens")
    cases = [[{name: BOUNDS[name][end] for name in names}, prompt] for end in (0, 1) for prompt in (1, 4)]
    for _ in range(30):
        heads = draw.randint(1, 16)
        size = {"layers": draw.randint(1, 48), "width": heads * draw.randint(1, 4096 // heads), "heads": heads,
                "feed_forward": draw.randint(1, 16384), "vocabulary": draw.randint(2, 100_000), "tokens": draw.randint(2, 300)}
        cases.append([size, draw.randint(1, 4)])
    got = modules.evaluate("""async ([cases, names]) => {
      const m = await import("./cache_steps.js");
      const out = cases.map(([s, prompt]) => [true, false].map(c => ({
        totals: m.totals(names.slice(0, 5).map(k => s[k]), prompt, s.tokens, c),
        running: [0, 7, 20, 35].map(at => m.running(names.slice(0, 5).map(k => s[k]), prompt, at, c)) })));
      const tables = [1, 2, 3, 4].map(p => [...Array((7 - p) * 9).keys()].map(at => [true, false].map(c => m.cells(p, at, c))));
      return { out, tables, halvings: [2, 3, 31, 32, 1000, 1024].map(m.halvings) };
    }""", [cases, list(names)])
    for (s, prompt), js in zip(cases, got["out"], strict=True):
        size = Size(*(s[name] for name in Size._fields))
        for cached, found in zip((True, False), js):
            assert Work(**found["totals"]) == totals(size, prompt, s["tokens"], cached)
            assert [Work(**one) for one in found["running"]] == [running(size, prompt, at, cached) for at in (0, 7, 20, 35)]
    assert got["tables"] == [[[cells(p, at, c) for c in (True, False)] for at in range((7 - p) * NUM)] for p in range(1, 5)]
    assert got["halvings"] == [halvings(t) for t in (2, 3, 31, 32, 1000, 1024)]


def agrees(page, w) -> None:
    got = page.evaluate("""() => {
      const all = (s, f) => [...document.querySelectorAll(s)].map(f), text = s => document.querySelector(s).textContent;
      return { cells: all(".cl-cs-grid", t =>
          [...t.tBodies[0].rows].map(r => [...r.querySelectorAll("td")].map(e => e.dataset.cell))),
        blank: all(".cl-cs-grid td", e => e.dataset.cell === "" === (e.textContent === "not computed")),
        counts: all("[data-counts]", e => ({ numbers: JSON.parse(e.dataset.counts), title: e.textContent,
          texts: [...e.closest("table").tBodies[0].rows].map(r => r.cells[e.cellIndex].textContent) })),
        bill: all("[data-bill]", e => [...JSON.parse(e.dataset.bill), [...e.children].map(c => c.textContent)]),
        place: text("[data-place]"), notes: [text("[data-with]"), text("[data-without]")], growth: text("[data-growth]") } }""")
    number, operation = divmod(w.at, NUM)
    for which, cached in enumerate((True, False)):
        assert got["cells"][which] == cells(w.prompt, w.at, cached) and all(got["blank"])
        for title, work_ in (("now", w.now[cached]), ("so far", w.so_far[cached])):
            name = f"{title}, {'with' if cached else 'without'}"
            shown = next(counts for counts in got["counts"] if counts["title"] == name)
            assert shown["numbers"] == work_._asdict()
            assert shown["texts"] == [f"{v:,}" for v in [*work_[:2], work_.multiplications, *work_[2:]]]
        said, now = got["notes"][which].partition(" = ")[2], w.now[cached]
        factors = [int(factor.replace(",", "")) for factor in said.split(" × ")] if said else [0]
        assert math.prod(factors) == now.multiplications + now.exponentials + now.stored, "the formula that is shown"
    bill = w.bill
    for (t, one, two, cells_), (want, a, b) in zip(got["bill"], bill, strict=True):
        assert (t, one, two) == (want, a._asdict(), b._asdict())
        numbers = [a.attention, b.attention, a.weights, b.weights, a.multiplications, b.multiplications]
        assert cells_ == [f"{v:,}" for v in (t, *numbers)] + [f"{b.multiplications / a.multiplications:.1f}", f"{a.stored:,}"]
    (_, a0, b0), (_, a1, b1) = bill[-2:]
    assert all(f"{x / y:.2f}" in got["growth"] for x, y in ((a1.attention, a0.attention), (b1.attention, b0.attention),
                                                            (a1.weights, a0.weights), (b1.weights, b0.weights)))
    assert OPERATIONS[operation] in got["place"] and f"“{WORDS[w.prompt + number]}”" in got["place"]


def size_of(number: int) -> dict:
    return {k: v for k, v in PRESETS[number].items() if k != "label"}


BAD = [
    (lambda: CacheSteps(width=7), "heads is 2 and width is 7; expected heads that divide the width"),
    ({"layers": 0}, "layers is 0; expected 1 to 48"),
    ({"tokens": 1025}, "tokens is 1025; expected 2 to 1024"),
    ({"prompt": 5}, "prompt is 5; expected 1 to 4"),
    ({"at": 54}, "at is 54; expected 0 to 53 after a prompt of 1"),
    ({"at": -1}, "at is -1"),
]
FIGURE = Figure(CacheSteps, agrees, bad=BAD, change={"at": 20}, rich={"at": 3 * NUM + 3, **size_of(2)},
                says=tuple(f"{v:,}" for work_ in CacheSteps().bill[-1][1:] for v in (work_.multiplications, work_.stored)),
                moves=[
    (keys("Enter", at="step back"), {}),                               # this is the first operation
    *((click("next operation"), {"at": at}) for at in range(1, 11)),
    (click("step back"), {"at": 9}),
    (keys("ArrowRight", at="[type=range]"), {"at": 10}),
    (keys("End"), lambda w: {"at": w.last}),
    (keys("Enter", at="next operation"), {}),
    (keys("Enter", at="from the start"), {"at": 0}),
    (click("next word"), {"at": 9}),
    (choose("Words given", 4), {"at": 0, "prompt": 4}),
    *((choose("Size", k), size_of(k)) for k in (2, 1, 0)),
    (fill("[type=text] >> nth=2", 4), {"heads": 4}),
    (fill("[type=text] >> nth=1", 12), {"width": 12}),
    (refused("[type=text] >> nth=1", 13, "x", 0), {}),
    (fill("[type=text] >> nth=1", 16), {"width": 16}),
    (fill("[type=text] >> nth=5", 100), {"tokens": 100}),
    (refused("[type=text] >> nth=5", 1025), {}),
])
