"""The book's own Sphinx extension: the repository's address, MathJax from this site, each script once, docstrings."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

log = logging.getLogger(__name__)

MATHJAX = "vendor/mathjax/tex-mml-chtml.js"
BUTTONS = ("use_repository_button", "use_issues_button", "use_edit_page_button", "use_source_button")


def public_address(url: str) -> str:
    """git@host:org/repo.git -> https://host/org/repo, without credentials; empty for a folder or a file."""
    if match := re.match(r"(?:ssh://)?git@([^:/]+)[:/](.+)$", url):
        url = f"https://{match[1]}/{match[2]}"
    if not re.match(r"https?://", url):
        return ""
    url = re.sub(r"^(https?://)[^@/]*@", r"\1", url)
    return re.sub(r"\.git/?$", "", url).rstrip("/")


def git_remote(folder) -> str:
    command = ["git", "remote", "get-url", "origin"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def address(configured: str, folder) -> str:
    """The repository's public address: from the environment, else as configured, else the git remote's; or empty."""
    if "executablebooks/jupyter-book" in configured:           # what Jupyter Book puts where nothing is said
        configured = ""
    candidates = (os.environ.get("BOOK_REPOSITORY_URL", ""), configured, git_remote(folder))
    return next(filter(None, map(public_address, candidates)), "")


def repository(app, config) -> None:
    """The launch buttons lead to the repository's address; where there is none, there are no buttons."""
    options = config.html_theme_options
    url = address(options.get("repository_url") or "", app.srcdir)
    if url:
        branch = os.environ.get("BOOK_REPOSITORY_BRANCH") or options.get("repository_branch") or "main"
        options.update(repository_url=url, repository_branch=branch)
        return
    log.info("The repository has no public address: no launch buttons.")
    for name in ("launch_buttons", "repository_url"):
        options.pop(name, None)
    options.update(dict.fromkeys(BUTTONS, False))


def local_mathjax(app, config) -> None:
    """MathJax from this site where the build fetched it; else from a public server, which the site's tests report."""
    static = Path(app.srcdir) / "build" / "static"
    if (static / MATHJAX).exists():
        config.html_static_path.append(str(static))
        config.mathjax_path = MATHJAX


def scripts_once(app, pagename, templatename, context, doctree) -> None:
    """Sphinx 7.4 writes inline scripts twice, and the second declares the first one's constants again."""
    seen, kept = set(), []
    for script in context.get("script_files", []):
        body = getattr(script, "attributes", {}).get("body")
        if body is None or body not in seen:
            kept.append(script)
        seen.add(body)
    context["script_files"] = kept


def own_sources_only(app):
    """The index of sources lists the modules whose pages exist, not the names that stand in for torch."""
    modules = getattr(app.env, "_viewcode_modules", {})
    for name in [name for name, entry in modules.items() if not entry]:
        del modules[name]
    return ()


def one_target_or_none(app) -> None:
    """A short name in a signature that several modules define (State) is no link, rather than a link to any of them."""
    from sphinx.domains.python import PythonDomain

    find = PythonDomain.find_obj

    def find_one(self, *args, **kwargs):
        matches = find(self, *args, **kwargs)
        return matches if len(matches) < 2 else []

    PythonDomain.find_obj = find_one


INLINE = re.compile(r"(?<![\\`:\w])`(?!`)([^`]+)`(?![`_])|(?<![\\$\w])\$([^$\n]+)\$(?!\d)")
DISPLAY = re.compile(r"^([ \t]*)\$\$(.+?)\$\$[ \t]*$", re.M | re.S)
BULLET = re.compile(r"\s*(?:[-*]|\d+\.)\s")


def docstring_to_rst(app, what, name, obj, options, lines) -> None:
    """The library's docstrings are plain text with `code` and $maths$; Sphinx reads reStructuredText."""
    def role(match):
        return f"``{match[1]}``" if match[1] else f":math:`{match[2].strip()}`"

    def block(match):
        inside = " ".join(match[2].split())
        return f"\n{match[1]}.. math:: {inside}\n"

    lines[:] = separated([line if line.lstrip().startswith(".. math::") else INLINE.sub(role, line)
                          for line in DISPLAY.sub(block, "\n".join(lines)).split("\n")])


def separated(lines: list[str]) -> list[str]:
    """A blank line wherever the indentation changes, so that an indented block needs no ceremony."""
    result: list[str] = []
    for line in lines:
        before = result[-1] if result else ""
        if line.strip() and before.strip():
            deeper = len(line) - len(line.lstrip()) - (len(before) - len(before.lstrip()))
            opens = deeper > 0 and not BULLET.match(before)
            ends_list = deeper == 0 and BULLET.match(before) and not BULLET.match(line)
            if deeper < 0 or opens or ends_list:
                result.append("")
        result.append(line)
    return result


def stand_ins_join() -> None:
    """`Tensor | None` is evaluated where the library names a type; the name that stands in for Tensor must bear it."""
    from sphinx.ext.autodoc.mock import _MockObject

    _MockObject.__or__ = _MockObject.__ror__ = lambda self, other: self


def sound_lists(app, pagename, templatename, context, doctree):
    """Mend two things that screen readers stumble over: a role that is no more, and lists directly within lists."""
    body = context.get("body") or ""
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    if pagename == "_modules/index":                           # viewcode nests its lists without items
        depth, parts = 0, re.split(r"(<ul>|</ul>)", body)
        for k, part in enumerate(parts):
            if part == "<ul>":
                depth += 1
                parts[k] = "<li><ul>" if depth > 1 else part
            elif part == "</ul>":
                parts[k] = "</ul></li>" if depth > 1 else part
                depth -= 1
        body = "".join(parts)
    if "body" in context:
        context["body"] = body


def tags_beside_line_breaks(app, doctree) -> None:
    r"""A formula with a number, `\tag`, and a line break, as between the rows of a matrix, is passed on as it stands.

    Sphinx would put it into an environment `split`, in which no number may stand.
    """
    for node in doctree.findall(nodes.math_block):
        text = node.astext()
        if "\\\\" in text and "\\tag" in text:
            node["nowrap"] = node["no-wrap"] = True
            node.children = [nodes.Text(f"\\[{text}\\]")]


def setup(app):
    stand_ins_join()
    app.connect("autodoc-process-docstring", docstring_to_rst, priority=400)      # before napoleon's 500
    sys.path.insert(0, str(app.srcdir))                        # the API pages read course_lib from the work tree
    app.connect("builder-inited", one_target_or_none)
    app.connect("doctree-read", tags_beside_line_breaks)
    app.connect("config-inited", repository, priority=10)
    app.connect("config-inited", local_mathjax, priority=10)
    app.connect("html-collect-pages", own_sources_only, priority=400)              # before viewcode's 500
    app.connect("html-page-context", scripts_once, priority=999)
    app.connect("html-page-context", sound_lists, priority=998)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
