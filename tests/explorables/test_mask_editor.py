"""The mask editor: its weights against the library's attention, its reach against gradients through two layers."""
from __future__ import annotations

import pytest
import torch

from course_lib.explorables.mask_editor import SCORES, MaskEditor, first_layer, masked_weights, presets, verdict
from course_lib.transformer import MultiHeadAttention, attention_weights
from tests.explorables.figure import Figure, choose, click, close, data, keys, texts


def masks(n: int, num: int = 30) -> list[torch.Tensor]:
    """The presets, then random ones, some with an empty row."""
    generator = torch.Generator().manual_seed(n)
    drawn = [torch.rand(n, n, generator=generator) < 0.5 for _ in range(num)]
    drawn[0][1] = False
    return [torch.tensor(m) for m in presets(n).values()] + drawn


def by_the_library(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The package's attention with queries and keys that have these scores."""
    n = len(scores)
    return attention_weights(scores * n ** 0.5, torch.eye(n, dtype=scores.dtype), mask)


@pytest.mark.parametrize("n", [2, 5, 8])
def test_weights_equal_library(n):
    scores = 3 * torch.randn(n, n, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for mask in masks(n):
        torch.testing.assert_close(masked_weights(scores, mask), by_the_library(scores, mask), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [2, 5])
def test_reach_equals_gradients(n):
    torch.manual_seed(0)
    layers = [MultiHeadAttention(8, 2).double() for _ in range(2)]
    x = torch.randn(n, 8, dtype=torch.float64)
    for mask in masks(n, 6):
        found = torch.zeros(n, n, dtype=torch.long)
        for count in (2, 1):
            def stack(t):
                for layer in layers[:count]:
                    t = t + layer(t[None], mask=mask)[0]
                return t
            jacobian = torch.autograd.functional.jacobian(stack, x).abs().sum((1, 3))
            found[jacobian > 1e-12] = count
        assert torch.equal(first_layer(mask), found)


@pytest.mark.parametrize("mask, causal", [
    ([[0, 0, 0], [0, 0, 0], [0, 0, 0]], True), ([[1, 0, 0], [1, 1, 0], [0, 1, 1]], True),
    ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], True), ([[1, 0, 0], [1, 1, 1], [1, 1, 1]], False),
    ([[0, 0, 1], [0, 0, 0], [0, 0, 0]], False)])
def test_verdict_causal(mask, causal):
    assert verdict(["a", "b", "c"], torch.tensor(mask).bool()).startswith("Causal") is causal


# --- in the browser ----------------------------------------------------------------------------------------------------


def test_javascript_equals_library(modules):
    cases = []
    for n in (2, 5, 8):
        scores = 4 * torch.randn(n, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        cases += [(scores, mask, [f"w{i}" for i in range(n)]) for mask in masks(n)]
    got = modules.evaluate("""async cases => {
      const m = await import("./mask_editor.js");
      return cases.map(([scores, mask, words]) =>
        ({ weights: m.maskedWeights(scores, mask), first: m.firstLayer(mask), verdict: m.verdict(words, mask) }));
    }""", [[s.tolist(), m.tolist(), words] for s, m, words in cases])
    for (scores, mask, words), js in zip(cases, got, strict=True):
        close(js["weights"], by_the_library(scores, mask))
        assert js["first"] == first_layer(mask).tolist() and js["verdict"] == verdict(words, mask)


def agrees(page, w) -> None:
    got = page.evaluate("""[...document.querySelectorAll("[data-pair]")].map(e => [e.getAttribute("aria-pressed") === "true",
      e.textContent, e.getAttribute("aria-label")])""")
    expected = by_the_library(torch.tensor(w.scores, dtype=torch.float64), torch.tensor(w.mask)).flatten().tolist()
    close(data(page, "a"), expected)
    for (pressed, text, label), a, may in zip(got, expected, (may for row in w.mask for may in row), strict=True):
        assert pressed == may and text == (f"{a:.2f}" if may else "–") and (not may or label.endswith(f"{a:.2f}"))
    assert data(page, "first") == w.reach.flatten().tolist() and texts(page, "[data-verdict]") == [w.verdict]
    assert [text[0] for text in texts(page, "[data-reach]")] == ["·12"[r] for r in w.reach.flatten().tolist()]


def toggled(*cells):
    return lambda w: {"mask": [[may ^ ((i, j) in cells) for j, may in enumerate(row)] for i, row in enumerate(w.mask)]}


BAD = [
    (lambda: MaskEditor(["a", "b"]), "words and scores belong together"),
    (lambda: MaskEditor(["a"], [[0.0]]), "words has 1 words; expected 2 to 8 words"),
    (lambda: MaskEditor(["a", "b"], torch.zeros(3, 3)), r"scores has shape \(3, 3\); expected \(2, 2\)"),
    (lambda: MaskEditor(["a", "b"], [[0.0, float("nan")], [0, 0]]), "scores contains an infinity or NaN"),
    ({"mask": [[True] * 5] * 4}, r"mask has rows of \[5, 5, 5, 5\]; expected 5 rows of 5"),
    (lambda: MaskEditor().apply("causale"), "name is 'causale'; expected one of 'none: every word sees"),
]
FIGURE = Figure(MaskEditor, agrees, bad=BAD, change={"mask": [[True] * 5] * 5}, rich={"mask": presets(5)["off by one"]},
                says=(f"{torch.tensor(SCORES[1][:2]).softmax(0)[0]:.2f}", MaskEditor().verdict), moves=[
    (keys("ArrowUp", "ArrowRight", "ArrowRight", "Space", at="[data-pair='0,0']"), toggled((0, 2))),
    (keys("Space"), toggled((0, 2))),
    (keys("ArrowLeft", "ArrowLeft", "Enter"), toggled((0, 0))),      # an empty row
    (keys("Tab", "Shift+Tab", "Enter"), toggled((0, 0))),            # one stop, which remembers its cell
    *((choose("select >> nth=0", number), {"mask": mask}) for number, mask in reversed([*enumerate(presets(5).values())])),
    (click("[data-pair='2,0']"), toggled((2, 0))),
    (keys("ArrowDown", at="select >> nth=0"), {"mask": [[True] * 5] * 5}),
])
