"""The built site, read from its files: every fault is one line. Each check is tried on a page with that fault."""
from __future__ import annotations

import random

import pytest

from tools.site_check import Site, sent


def test_site_has_no_faults(site):
    found = Site(site).problems()
    assert not found, "\n".join(found)


def test_mathjax_is_part_of_the_site(site):
    """Without it the book was built where no Node and no npm registry could be had, and asks a public server."""
    assert (site / "_static/vendor/mathjax/course-tex-chtml.js").exists(), \
        "MathJax is not part of the site: install Node (with npm), or let pip reach its index, and run make book again"


def test_nothing_strange_is_published(site):
    assert not list(site.rglob("*.pyc")) and not list(site.rglob(".venv*"))
    assert {path.name for path in site.iterdir()} <= {
        "book", "exercises", "solutions", "_static", "_images", "_sources", "_modules", "_downloads", "_sphinx_design_static",
        "index.html", "genindex.html", "py-modindex.html", "search.html", "searchindex.js", "objects.inv",
        ".buildinfo", ".nojekyll", "sitemap.xml", "404.html"}


def test_every_module_of_the_library_has_its_page(site):
    """A module with public names that no API page shows is a gap."""
    from tests.conftest import ROOT

    shown = "".join(page.read_text("utf-8") for page in (site / "book/api").glob("*.html"))
    missing = []
    for file in sorted((ROOT / "course_lib").rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        public = "\ndef " in file.read_text("utf-8") or "\nclass " in file.read_text("utf-8")
        private = any(part.startswith("_") for part in module.split("."))
        if public and not private and f'id="module-{module}"' not in shown:
            missing.append(module)
    assert not missing, f"no API page shows {', '.join(missing)}: add an automodule to book/api"


GOOD = ('<article><h1 id="top-of-it">T</h1><p>Good, at $5.</p><a href="b.html#there">b</a>'
        '<img src="i.png" alt="A line"></article>')
PLANTED = {
    "dead link": '<a href="nowhere.html">x</a>',
    "dead anchor": '<a href="b.html#nowhere">x</a>',
    "a link out of the site": '<a href="../outside.html">x</a>',
    "script asks another server": '<script src="https://cdn.example/m.js"></script>',
    "link asks another server": '<link rel="stylesheet" href="//cdn.example/m.css">',
    "img asks another server": '<img src="https://a.example/i.png" alt="A remote image">',
    "stands 2 times": '<p id="twice"></p><p id="twice"></p>',
    "has no alt text": '<img src="i.png">',
    "file name for alt text": '<img src="i.png" alt="../_images/9dcb789f.png">',
    "raw: '$x_i$'": "<p>the value $x_i$ here</p>",
    "raw: '\\\\frac'": "<p>a \\frac{1}{2}</p>",
    "raw: '{ref}": "<p>see {ref}`there` and</p>",
    "raw: '??'": "<p>see equation ?? there</p>",
    "without its stored state": '<script type="application/vnd.jupyter.widget-view+json">{"model_id": "abc"}</script>',
    "Sphinx wrote": '<span class="problematic">`x`</span>',
}


@pytest.fixture
def small_site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    (tmp_path / "outside.html").write_text("<p>outside</p>")
    (folder / "b.html").write_text('<article><p id="there">B</p></article>')
    (folder / "i.png").write_bytes(b"")
    return folder


def test_good_page_has_no_fault(small_site):
    state = '<script type="application/vnd.jupyter.widget-state+json">{"state": {"abc": {}}}</script>'
    code = "<article><pre>cost = $x_i$</pre><code>\\frac</code></article>"
    view = PLANTED["without its stored state"]
    link = '<link rel="canonical" href="https://book.example/">'
    (small_site / "a.html").write_text(GOOD + code + state + view + link)
    assert Site(small_site).problems() == []


@pytest.mark.parametrize("name", ["a.png", "a.js"])
def test_a_heavy_page_is_found_and_text_counts_as_it_is_sent(small_site, name):
    """Noise stays as it is when it is compressed, a repeated text does not."""
    tag = f'<img src="{name}" alt="Noise">' if name.endswith("png") else f'<script src="{name}"></script>'
    (small_site / "a.html").write_text(GOOD.replace("</article>", tag + "</article>"))
    for data, found in ((random.Random(0).randbytes(1_500_000), 1), (b"x" * 1_500_000, int(name.endswith("png")))):
        (small_site / name).write_bytes(data)
        sent.cache_clear()
        problems = Site(small_site).problems()
        assert len(problems) == found and all("a.html: weighs 1,5" in each for each in problems), problems


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_fault_is_found(small_site, fault):
    (small_site / "a.html").write_text(GOOD.replace("</article>", PLANTED[fault] + "</article>"))
    found = Site(small_site).problems()
    assert len(found) == 1 and found[0].startswith("a.html: ") and fault in found[0], found
