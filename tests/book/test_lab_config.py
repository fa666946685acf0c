"""JupyterLab's settings: a saved notebook does not differ from the stored one by the version of Python."""
from types import SimpleNamespace

from tests.conftest import ROOT


def test_a_saved_notebook_has_no_python_version():
    settings = SimpleNamespace(FileContentsManager=SimpleNamespace())
    exec((ROOT / "book" / "_tools" / "lab_config.py").read_text("utf-8"), {"get_config": lambda: settings})
    model = {"type": "notebook", "content": {"cells": [], "metadata": {"language_info": {"name": "python", "version": "3.13.0"}}}}
    settings.FileContentsManager.pre_save_hook(model=model, path="book/04-fvsbn.ipynb", contents_manager=None)
    assert model["content"] == {"cells": [], "metadata": {"language_info": {"name": "python"}}}
    settings.FileContentsManager.pre_save_hook(model={"type": "file", "content": "text"})
