"""The bill of a generation with a cache and without: against what torch counts while the package's GPT really runs."""
from __future__ import annotations

import json

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
                model._logits(model._hidden(x[:, :keys])[:, -1])
            elif state is None:
                state = model.start(1, x[:, :prompt])
            else:
                state = model.update(state, x[:, keys - 1])
        by_kind = {"bmm": 0, "mm": 0, "addmm": 0}
        for kind, count in counter.get_flop_counts()["Global"].items():
            by_kind[str(kind).split(".")[-1]] += count // 2          # a KeyError for any other kind
        stored = sum(cache.kv[:, :, :, :cache.length].numel() for cache in state.caches) if cached else 0
        yield by_kind["bmm"], by_kind["mm"] + by_kind["addmm"], seen.count, stored


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("cached", [True, False], ids=["cached", "not cached"])
def test_every_pass_takes_what_torch_counts(size, cached):
    for prompt in (1, 4):
        stored = 0
        for number, counted in enumerate(really_run(size, prompt, 5, cached), 1):
            expected = of_one_pass(size, prompt, number, cached)
            stored += expected.stored
            assert (expected.attention, expected.weights, expected.exponentials, stored) == counted, (prompt, number)


def test_running_sums_are_those_of_the_real_run():
    size, prompt = SIZES[0], 2
    for cached in (True, False):
        real = list(really_run(size, prompt, 6, cached))
        expected = totals(size, prompt, 6, cached)
        assert expected[:3] == tuple(sum(column) for column in list(zip(*real))[:3]) and expected.stored == real[-1][3]
        assert expected == running(size, prompt, 6 * NUM - 1, cached)
        assert expected.multiplications == expected.attention + expected.weights


def test_the_whole_generation_follows_the_formula():
    """t (t + 1) D and 2 D times the sum of squares, a layer; the others once a token, or once a token and pass."""
    L, D, H, F, V = size = Size(3, 8, 2, 16, 20)
    t, square = 20, 20 * 21 * 41 // 6
    one, two = totals(size, 1, t, True), totals(size, 1, t, False)
    assert one.attention == L * t * (t + 1) * D and two.attention == 2 * L * D * square
    each = L * (4 * D * D + 2 * D * F)
    assert one.weights == each * t + t * V * D and two.weights == each * t * (t + 1) // 2 + t * V * D
    assert one.exponentials == L * H * t * (t + 1) // 2 and two.exponentials == L * H * square
    assert one.stored == 2 * L * D * t and two.stored == 0


def test_totals_fit_the_whole_numbers_of_a_browser():
    most = {name: high for name, (_, high) in BOUNDS.items()}
    size = Size(*(most[name] for name in Size._fields))
    for cached in (True, False):
        assert totals(size, most["prompt"], most["tokens"], cached).multiplications < 2 ** 53


def test_cells_say_what_is_computed_kept_and_read():
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


@pytest.mark.parametrize("cached", [True, False])
def test_computed_cells_are_the_rows_that_are_counted(cached):
    for prompt in range(1, 5):
        for at in range((len(WORDS) - prompt) * NUM):
            number, operation = divmod(at, NUM)
            new, keys = rows(prompt, number + 1, cached)
            table = cells(prompt, at, cached)
            count = sum(row[operation] == "now" for row in table)
            assert len(table) == keys
            assert count == (1 if operation == LOGITS else 0 if operation == APPEND and not cached else new)


def test_presets_are_the_models_they_name():
    from course_lib import hub
    settings = hub.load("gpt-tiny-shakespeare").config
    assert PRESETS[1]["label"] == "gpt-tiny-shakespeare"
    d_ff = settings.d_ff or 4 * settings.d_model
    named = (settings.layers, settings.d_model, settings.heads, d_ff, settings.vocab_size)
    assert tuple(PRESETS[1][name] for name in Size._fields) == named
    small = GPTConfig(50257)
    named = (small.layers, small.d_model, small.heads, 4 * small.d_model, small.vocab_size)
    assert tuple(PRESETS[2][name] for name in Size._fields) == named


def test_what_it_shows():
    w = CacheSteps(prompt=2, at=2 * NUM + SCORES, tokens=100)
    assert w.now[True] == Work(attention=2 * 4 * 8) and w.now[False] == Work(attention=2 * 16 * 8)
    assert w.so_far[True] == running(w.size, 2, w.at, True)
    assert [t for t, _, _ in w.bill] == halvings(100) == [3, 6, 12, 25, 50, 100] and halvings(3) == [1, 3]
    assert w.bill[-1][1:] == (totals(w.size, 2, 100, True), totals(w.size, 2, 100, False))
    w.prompt = 4
    assert w.at == 2 * NUM + SCORES and w.last == 3 * NUM - 1
    w.at = w.last
    w.prompt = 1
    w.at = w.last
    w.prompt = 3
    assert w.at == w.last, "no pass beyond the last word"


def test_what_is_stored_is_small_and_has_words():
    w = CacheSteps()
    assert repr(w) == "CacheSteps()"
    bundle = w._repr_mimebundle_()
    text = (bundle[0] if isinstance(bundle, tuple) else bundle)["text/plain"]
    one, two = totals(w.size, 1, 256, True), totals(w.size, 1, 256, False)
    assert f"{one.multiplications:,}" in text and f"{two.multiplications:,}" in text and f"{one.stored:,}" in text
    state = {k: v for k, v in w.get_state().items() if k not in ("_esm", "_css")}
    assert len(json.dumps(state).encode()) <= 100_000


@pytest.mark.parametrize("make, message", [
    (lambda: CacheSteps(width=7), "heads is 2 and width 7; the heads must divide the width"),
    (lambda: CacheSteps(heads=3), "heads is 3 and width 8; the heads must divide the width"),
    (lambda: CacheSteps(layers=0), "layers is 0; expected 1 to 48"),
    (lambda: CacheSteps(tokens=1025), "tokens is 1025; expected 2 to 1024"),
    (lambda: CacheSteps(prompt=5), "prompt is 5; expected 1 to 4"),
    (lambda: CacheSteps(at=54), "at is 54; after a prompt of 1 there are 0 to 53"),
    (lambda: CacheSteps(at=-1), "at is -1"),
])
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
