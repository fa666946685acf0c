"""What the tests of all figures need to know of one: how to make it, how to read it off a page, how a reader operates it."""
from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

CLOSE = {"rtol": 0, "atol": 1e-5}


@dataclass
class Figure:
    """`moves` are pairs (what the reader does, which traits that sets), the latter perhaps as a function of the widget."""

    make: Callable                       # make(**traits) -> the widget
    agrees: Callable                     # agrees(page, widget) asserts that the page shows what the widget computes
    says: tuple[str, ...]                # what stands in its text alternative
    moves: list[tuple]
    change: dict                         # traits that Python sets while the figure is shown
    bad: list[tuple]                     # (traits to be set, or a function without arguments; what the ValueError says)
    rich: dict = field(default_factory=dict)        # traits under which the most can be seen, for contrast and width
    height: int | None = None            # the most that it may have at a width of 800


def tensor(values) -> torch.Tensor:
    """Numbers of a page; null is NaN."""
    return torch.tensor([torch.nan if v is None else v for v in values] if not values or not isinstance(values[0], list)
                        else values, dtype=torch.float64)


def close(values, want, **options) -> None:
    """Numbers of a page are those of torch, to 1e-5."""
    torch.testing.assert_close(tensor(values), torch.as_tensor(want, dtype=torch.float64), **CLOSE, **options)


def data(page, name: str, within: str = "") -> list[float | None]:
    """The numbers that all elements with this data attribute carry, in their order; null where one is empty or NaN."""
    return page.evaluate("""([s, name]) => [...document.querySelectorAll(s)].map(e => e.dataset[name])
      .map(v => v === "" || v === "NaN" ? null : +v)""", [f"{within} [data-{name}]", _camel(name)])


def texts(page, selector: str) -> list[str]:
    return page.evaluate("s => [...document.querySelectorAll(s)].map(e => e.textContent)", selector)


def marks(page, selector: str, name: str) -> list[str]:
    """A data attribute of the elements, as text."""
    return page.evaluate("([s, n]) => [...document.querySelectorAll(s)].map(e => e.dataset[n])", [selector, _camel(name)])


def pressed(page, selector: str) -> list[int]:
    """The places of the pressed buttons among these."""
    return page.evaluate("""s => [...document.querySelectorAll(s)].flatMap((e, i) =>
      e.getAttribute("aria-pressed") === "true" ? [i] : [])""", selector)


def _camel(name: str) -> str:
    first, *rest = name.split("-")
    return first + "".join(part.capitalize() for part in rest)


# The focus is an outline, or in a drawing a thick line.
SEEN = """() => { const e = document.activeElement, style = getComputedStyle;
  return style(e).outlineStyle === "solid" || [e, ...e.children].some(c => parseFloat(style(c).strokeWidth) >= 5) }"""
# --- what a reader does ----------------------------------------------------------------------------------------------


def find(page, name: str, *roles: str):
    """An element by its accessible name, or by a selector, which begins with a period or has a [ or > in it."""
    if re.search(r"^[.]|[\[>]", name):
        return page.locator(name).first
    found = page.get_by_role(roles[0], name=name, exact=True)
    for role in roles[1:]:
        found = found.or_(page.get_by_role(role, name=name, exact=True))
    return found.first


def click(name: str, times: int = 1):
    def act(page):
        for _ in range(times):
            find(page, name, "button", "checkbox", "radio").click()
    return act


def choose(name: str, value: object):
    return lambda page: find(page, name, "combobox").select_option(value=str(value))


def fill(name: str, value: object):
    """A slider is set; a field is filled and Enter pressed."""
    def act(page):
        node = find(page, name, "textbox", "slider", "spinbutton")
        node.fill(str(value))
        if node.get_attribute("type") != "range":
            node.press("Enter" if node.evaluate("e => e.tagName") != "TEXTAREA" else "Shift")
    return act


def refused(name: str, *values: object):
    """What cannot be is typed: the field is marked, and the figure says why. The caller sees that nothing changes."""
    def act(page):
        for value in values:
            fill(name, value)(page)
            assert find(page, name, "textbox", "spinbutton").get_attribute("aria-invalid") == "true", value
            assert page.locator(".cl-live").text_content().strip()
    return act


def keys(*pressed: str, at: str | None = None):
    """By keyboard alone, from the element `at` if it is named. The focus can be seen, and is not lost."""
    def act(page):
        if at:
            find(page, at, "button", "combobox", "slider", "textbox", "checkbox", "spinbutton").focus()
        for key in pressed:
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement !== document.body"), "the focus is lost"
        assert page.evaluate(SEEN), "the focus is not seen"
    return act
