"""JupyterLab's settings for `make lab`: a notebook that is opened and saved unchanged stays as git has it."""
c = get_config()  # noqa: F821                                         defined where Jupyter reads this file


def without_python_version(model, **_):
    """Store the name of the language alone: JupyterLab adds the version of the kernel's Python."""
    if model["type"] == "notebook":
        model["content"]["metadata"]["language_info"] = {"name": "python"}


c.FileContentsManager.pre_save_hook = without_python_version
