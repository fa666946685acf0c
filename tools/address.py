"""The repository's address, in every place that needs it.

    python tools/address.py https://github.com/someone/course [--branch main]     write it
    python tools/address.py                                                       say it, and what does not have it

_config.yml holds it. From there the set-up cells of all notebooks take it (what Colab installs), and the launch badges of
the README. The book's own buttons ask _config.yml when it is built; they leave Colab out where the cells say something else.
"""
from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import chapters, nb, setup_cell  # noqa: E402

FOLDERS = ("book", "exercises", "solutions")
URL = re.compile(r"https://[\w.-]+(:\d+)?(/[\w.~-]+){2,}")
BRANCH = re.compile(r"[\w./-]+")


def public(url: str) -> str:
    """The address as pip and the launchers take it. Raises ValueError for what is no public address of a repository."""
    short = re.sub(r"\.git$", "", url.rstrip("/"))
    if not URL.fullmatch(short):
        raise ValueError(f"URL is {url!r}; expected the public address of a repository, such as https://github.com/someone/course")
    return short


def written(text: str, url: str, branch: str) -> str:
    """The text of _config.yml with this address; all else, comments too, as it was."""
    for key, value in (("url", f'"{url}"'), ("branch", branch)):
        text, found = re.subn(rf"(?m)(^repository:\n(?:  .*\n)*?  {key}: )[^\n]*", lambda m: m[1] + value, text)
        if found != 1:
            raise ValueError(f"_config.yml has {found} lines `  {key}:` below `repository:`; expected 1")
    return text


def stale(root: Path, write: bool = False) -> list[str]:
    """The notebooks and the page whose address is not the one of _config.yml, by name; rewritten if `write`."""
    home, found = setup_cell.repository(root), []
    for path in sorted(path for folder in FOLDERS for path in (root / folder).glob("*.ipynb")):
        old = path.read_text("utf-8")
        new = nb.dumps(nb.normalise(nbformat.reads(old, 4), path.stem, home))
        if new != old:
            found.append(path.relative_to(root).as_posix())
            if write:
                path.write_text(new, "utf-8")
    page = root / chapters.README.name
    old = page.read_text("utf-8")
    new = chapters.between(old, "chapters", chapters.for_readme(chapters.chapters(root / "book" / chapters.LIST.name), home))
    if new != old:
        found.append(page.name)
        if write:
            page.write_text(new, "utf-8")
    return found


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description="The repository's address, in every place that needs it.")
    parser.add_argument("url", nargs="?", metavar="URL", help="such as https://github.com/someone/course")
    parser.add_argument("--branch", default="main", metavar="NAME", help="what Colab and Binder open (main)")
    options = parser.parse_args(arguments)
    config = root / "_config.yml"
    if options.url:
        if not BRANCH.fullmatch(options.branch):
            parser.error(f"--branch is {options.branch!r}; expected the name of a branch")
        try:
            config.write_text(written(config.read_text("utf-8"), public(options.url), options.branch), "utf-8")
        except ValueError as error:
            parser.error(str(error))
        changed = stale(root, write=True)
        print(f"The address is {public(options.url)}, branch {options.branch}: written into _config.yml and {len(changed)} other files.")
        return 0
    home = setup_cell.repository(root)
    print(f"The address is {home['url']}, branch {home.get('branch') or 'main'}." if home.get("url") else
          "There is no address yet: no launch buttons, and the set-up cells say so on Colab.")
    if other := stale(root):
        print(f"Something else stands in {', '.join(other)}: run make address URL={home.get('url') or '...'}", file=sys.stderr)
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
