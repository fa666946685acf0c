"""What the chapters show: sources cut by member, rows of images."""


import pytest
import torch

from course_lib import show
from course_lib.density import FVSBN


class Example:
    """A docstring."""

    limit = 3

    def first(self):
        return 1

    # a comment that belongs to second
    @property
    def second(self):
        return 2

    def third(self):
        return 3


def test_source_whole():
    code = show.source(Example).code
    assert code.startswith("class Example:") and code.endswith("return 3")
    compile(code, "example", "exec")


def test_source_members():
    members = ("    ...\n\n    # a comment that belongs to second\n"
               "    @property\n    def second(self):\n        return 2")
    assert show.source(Example, "second").code == "class Example:\n" + members


def test_source_unknown_member():
    with pytest.raises(ValueError, match="members contains 'fourth'; expected methods of Example: first, second, third"):
        show.source(Example, "fourth")


def test_source_mime_bundle():
    shown = show.source(FVSBN, "conditionals")
    assert shown._repr_markdown_() == f"```python\n{shown.code}\n```"
    assert repr(shown) == "source of FVSBN"
    assert "F.linear(x, self.weight * self.earlier, self.bias)" in shown.code


def test_images_rows():
    top, bottom = torch.eye(4).flatten().repeat(3, 1), torch.zeros(2, 16)
    figure = show.images({"three": top, "two": bottom})
    drawn = [ax for ax in figure.axes if ax.images]
    assert len(figure.axes) == 6 and len(drawn) == 5
    assert torch.equal(torch.tensor(drawn[0].images[0].get_array().data), torch.eye(4))
    assert [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")] == ["three", "two"]
    assert drawn[0].images[0].get_clim() == (0.0, 1.0)


class Exampled:
    """A class with an example.

    Source: somewhere.

    >>> Exampled().twice(2)
    4
    """

    def twice(self, x):
        """Two times x.

        >>> Exampled().twice(1)
        2
        """
        return 2 * x


def test_source_without_examples():
    assert show.source(Exampled).code == '''class Exampled:
    """A class with an example.

    Source: somewhere.
    """

    def twice(self, x):
        """Two times x."""
        return 2 * x'''
    assert show.source(Exampled.twice).code == 'def twice(self, x):\n    """Two times x."""\n    return 2 * x'
