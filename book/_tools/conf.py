"""The way out of Jupyter Book: the same _config.yml and _toc.yml, built by plain Sphinx.

    python -m sphinx -c book/_tools -b html . _build/sphinx

Tried by a job that may fail, so that a newer Sphinx can be taken when Jupyter Book 1 no longer installs.
"""
import sys
from pathlib import Path

import yaml

_root = Path(__file__).resolve().parents[2]
_book = yaml.safe_load((_root / "_config.yml").read_text("utf-8"))
_sphinx = _book["sphinx"]
sys.path[:0] = [str(_root / folder) for folder in _sphinx["local_extensions"].values()]

project = html_title = _book["title"]
author, copyright = _book["author"], _book["copyright"]
extensions = [
    "sphinx_togglebutton", "sphinx_copybutton", "myst_nb", "sphinx_external_toc", "sphinx_design", "sphinx_book_theme",
    "sphinxcontrib.bibtex", *_sphinx["extra_extensions"], *_sphinx["local_extensions"]]
external_toc_path = str(_root / "_toc.yml")
external_toc_exclude_missing = _book["only_build_toc_files"]
exclude_patterns = ["_build", *_book["exclude_patterns"]]
bibtex_bibfiles = [str(_root / file) for file in _book["bibtex_bibfiles"]]
nb_execution_mode = _book["execute"]["execute_notebooks"]
nb_output_stderr = _book["execute"]["stderr_output"]
myst_enable_extensions = _book["parse"]["myst_enable_extensions"]
suppress_warnings = ["myst.domains"]
html_theme = "sphinx_book_theme"
html_favicon = str(_root / _book["html"]["favicon"])
html_sourcelink_suffix = ""
html_baseurl = _book["html"]["baseurl"]
_options = {**_sphinx["config"]}
_repository = _book["repository"]
html_theme_options = {
    "launch_buttons": _book["launch_buttons"], "repository_url": _repository["url"],
    "repository_branch": _repository["branch"], "path_to_docs": _repository["path_to_book"],
    **_options.pop("html_theme_options")}
html_static_path = [str(_root / folder) for folder in _options.pop("html_static_path")]
globals().update(_options)
