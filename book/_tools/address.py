"""The repository's address, and whose course it is, in every place that needs them.

    python book/_tools/address.py https://github.com/someone/course [--ref main]        write it
    python book/_tools/address.py                                                       say it, and what does not have it

_config.yml holds both: `repository`, and `author`, names with commas between them. From there the set-up cells of all
notebooks take the address (what Colab installs), the launch badges of the README, CITATION.cff and pyproject.toml, the last
two with the names. What is empty is left out. The book's own buttons ask _config.yml when it is built; they leave Colab out where the cells say something else.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from book._tools import chapters, nb, setup_cell  # noqa: E402

FOLDERS = ("book", "exercises", "solutions")
URL = re.compile(r"https://[\w.-]+(:\d+)?(/[\w.~-]+){2,}")
REF = re.compile(r"[\w./-]+")


def public(url: str) -> str:
    """The address as pip and the launchers take it. Raises ValueError for what is no public address of a repository."""
    short = re.sub(r"\.git$", "", url.rstrip("/"))
    if not URL.fullmatch(short):
        raise ValueError(f"URL is {url!r}; expected the public address of a repository, such as https://github.com/someone/course")
    return short


def written(text: str, url: str, ref: str) -> str:
    """The text of _config.yml with this address; all else, comments too, as it was."""
    for key, value in (("url", f'"{url}"'), ("branch", ref)):
        text, found = re.subn(rf"(?m)(^repository:\n(?:  .*\n)*?  {key}: )[^\n]*", lambda m: m[1] + value, text)
        if found != 1:
            raise ValueError(f"_config.yml has {found} lines `  {key}:` below `repository:`; expected 1")
    return text


def people(root: Path) -> list[str]:
    """Whose course it is, by _config.yml: none where nobody is named."""
    named = yaml.safe_load((root / "_config.yml").read_text("utf-8")).get("author") or ""
    return [name.strip() for name in named.split(",") if name.strip()]


def citation(text: str, url: str, names: list[str]) -> str:
    """The text of CITATION.cff with these names and this address. The format asks for an author: without a name the course."""
    title = re.search(r'(?m)^title: "([^":]*)', text)[1]
    authors = "".join(f"  - name: {json.dumps(name, ensure_ascii=False)}\n" for name in names or [title])
    text = re.sub(r"(?m)^authors:\n(?:  .*\n)+", lambda _: f"authors:\n{authors}", text)
    text = re.sub(r"(?m)^repository-code: .*\n", "", text)
    return text + (f'repository-code: "{url}"\n' if url else "")


def package(text: str, url: str, names: list[str]) -> str:
    """The text of pyproject.toml with these names and this address, without a line for what is empty."""
    text = re.sub(r"(?m)^authors = .*\n", "", text)
    text = re.sub(r"(?m)^\[project\.urls\]\nRepository = .*\n\n", "", text)
    if names:
        listed = ", ".join(f"{{ name = {json.dumps(name, ensure_ascii=False)} }}" for name in names)
        text = re.sub(r"(?m)^license = .*\n", lambda m: f"{m[0]}authors = [{listed}]\n", text, count=1)
    section = f'[project.urls]\nRepository = "{url}"\n\n' if url else ""
    return text.replace("[project.optional-dependencies]\n", f"{section}[project.optional-dependencies]\n", 1)


def stale(root: Path, write: bool = False) -> list[str]:
    """The files whose address or names are not those of _config.yml; rewritten if `write`."""
    home, found = setup_cell.repository(root), []
    for name, as_it_should_be in (("CITATION.cff", citation), ("pyproject.toml", package)):
        path = root / name
        old = path.read_text("utf-8")
        new = as_it_should_be(old, home.get("url") or "", people(root))
        if new != old:
            found.append(name)
            if write:
                path.write_text(new, "utf-8")
    for path in sorted(path for folder in FOLDERS for path in (root / folder).glob("*.ipynb")):
        old = path.read_text("utf-8")
        new = nb.dumps(nb.normalize(nbformat.reads(old, 4), path.stem, home))
        if new != old:
            found.append(path.relative_to(root).as_posix())
            if write:
                path.write_text(new, "utf-8")
    page = root / chapters.README.name
    old = page.read_text("utf-8")
    new = chapters.between(old, "chapters", chapters.for_readme(chapters.chapters(root / chapters.LIST.relative_to(ROOT)), home))
    if new != old:
        found.append(page.name)
        if write:
            page.write_text(new, "utf-8")
    return found


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="The repository's address, in every place that needs it.")
    parser.add_argument("url", nargs="?", metavar="URL", help="such as https://github.com/someone/course")
    parser.add_argument("--ref", default="main", metavar="NAME", help="the branch or tag that Colab and Binder open and install (main)")
    options = parser.parse_args(arguments)
    config = root / "_config.yml"
    if options.url:
        if not REF.fullmatch(options.ref):
            parser.error(f"--ref is {options.ref!r}; expected the name of a branch or of a tag")
        try:
            config.write_text(written(config.read_text("utf-8"), public(options.url), options.ref), "utf-8")
        except ValueError as error:
            parser.error(str(error))
        changed = stale(root, write=True)
        print(f"The address is {public(options.url)}, branch or tag {options.ref}: written into _config.yml and {len(changed)} other files.")
        return 0
    home = setup_cell.repository(root)
    print(f"The address is {home['url']}, branch or tag {home.get('branch') or 'main'}." if home.get("url") else
          "There is no address yet: no launch buttons, and the set-up cells say so on Colab.")
    if other := stale(root):
        print(f"Something else stands in {', '.join(other)}: run make address URL={home.get('url') or '...'}", file=sys.stderr)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
