"""Read config.json and the tensors of a pretrained model from a folder or from the Hugging Face hub."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import load as read_tensors
from torch import Tensor

from course_lib.data.download import cache
from course_lib.hub import HubError

HUB = "https://huggingface.co"
# Files of weights, in order of preference: one file, or an index that names several.
FORMS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


def read(name: str | Path) -> tuple[dict[str, Any], dict[str, Tensor], str]:
    """Return the entries of config.json, the tensors by name, and the path of the file of tensors, for messages.

    name  a folder, or an id on the Hugging Face hub such as "gpt2", which is downloaded once, by huggingface_hub if it is
          installed. "gpt2@main" names a revision: a branch, a tag or a commit. Branches and tags can change, a commit
          cannot

    Raises HubError if a file is missing or damaged, or if the download fails.
    """
    folder = Path(name)
    if not folder.is_dir():
        folder = _download(str(name))
    config, form = folder / "config.json", next((form for form in FORMS if (folder / form).is_file()), None)
    if not config.is_file() or form is None:
        raise HubError(f"{folder} lacks {FORMS[0] if config.is_file() else 'config.json'}; expected "
                       "config.json and model.safetensors")
    try:
        description = json.loads(config.read_text(encoding="utf-8"))
    except ValueError as error:
        raise HubError(f"{config} is damaged: {error}. Download it again") from error
    if not isinstance(description, dict):
        raise HubError(f"{config} is damaged: it contains a JSON {type(description).__name__}; expected a JSON object")
    tensors: dict[str, Tensor] = {}
    for file in _parts(folder / form):
        if not file.is_file():
            raise HubError(f"{folder} lacks {file.name}, which {form} names. Download all files of the model")
        tensors |= _read_tensors(file)
    return description, tensors, str(folder / form)


def _read_tensors(file: Path) -> dict[str, Tensor]:
    """Load the tensors of one file, by name. torch's error is not shown, because it advises to load the file unsafely."""
    content = file.read_bytes()
    try:
        tensors = read_tensors(content) if file.suffix == ".safetensors" else \
            torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        if all(isinstance(name, str) and isinstance(t, Tensor) for name, t in tensors.items()):
            return tensors
    except Exception:                                        # torch.load can raise any error
        pass
    raise HubError(f"{file} is damaged: it has {len(content)} bytes, begins with {content[:20]!r}, and "
                   "is not a file of tensors. Download it again")


def _parts(file: Path) -> list[Path]:
    """Return the paths of the files of tensors: `file` itself, or the files that it names if it is an index."""
    if file.suffix != ".json":
        return [file]
    try:
        names = sorted(set(json.loads(file.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HubError(f"{file} is damaged: it has no weight_map from tensors to files. Download it again") from error
    suffix = file.name.removesuffix(".index.json").rpartition(".")[2]
    for name in names:                                       # only in the folder of the index
        if not isinstance(name, str) or not re.fullmatch(rf"[\w-][\w.-]*\.{suffix}", name):
            raise HubError(f"{file} names {name!r}; expected names of .{suffix} files beside it")
    return [file.with_name(name) for name in names]


def _download(name: str) -> Path:
    """Download the files of a model on the hub to the cache; return the folder. Raises HubError if that fails."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?(@[\w.-]+)?", name) or ".." in name:
        raise HubError(f"name is {name!r}, which is not a folder; expected a folder, or an id of the Hugging Face "
                       "hub such as 'gpt2'")
    if (package := _hugging_face()) is not None:
        return _by_hugging_face(package, name)
    folder = cache() / "huggingface" / name.replace("/", "--")
    try:
        _find_all_files(lambda file, may_lack: folder / file if _retrieve(name, file, folder, may_lack) else None)
    except HubError:
        with contextlib.suppress(OSError):                   # not empty: the next call resumes
            folder.rmdir()
        raise
    return folder


def _find_all_files(find_file: Callable[[str, bool], Path | None]) -> None:
    """Call `find_file` for config.json, for the weights in the first of FORMS that exists, and for each of their parts.

    find_file  function of (name, may_lack) that returns a path, or None if the file is missing and `may_lack` is True
    """
    find_file("config.json", False)
    weights = next(path for form in FORMS if (path := find_file(form, form != FORMS[-1])) is not None)
    for file in _parts(weights):
        find_file(file.name, False)


def _hugging_face() -> ModuleType | None:
    """Import the package huggingface_hub; return None if it is not installed."""
    try:
        import huggingface_hub.errors
    except ImportError:
        return None
    return huggingface_hub


def _by_hugging_face(package: ModuleType, name: str) -> Path:
    """Download a model by huggingface_hub; return the folder in its cache, which contains complete files only."""
    model, _, revision = name.partition("@")

    def find_file(file: str, may_lack: bool) -> Path | None:
        try:
            return Path(package.hf_hub_download(model, file, revision=revision or None,
                                                endpoint=os.environ.get("HF_ENDPOINT") or None))
        except Exception as error:                                   # also those of httpx or requests
            missing = isinstance(error, package.errors.EntryNotFoundError)
            if may_lack and missing and not isinstance(error, package.errors.LocalEntryNotFoundError):
                return None                                          # the hub has no such file
            raise _download_error(name, f"{file} of {model}", error) from error

    _find_all_files(find_file)
    return find_file("config.json", False).parent


def _download_error(name: str, what: str, error: Exception) -> HubError:
    return HubError(f"{name!r} is not a folder, and {what} could not be downloaded ({error}). Check the name and the network, or "
                    "give a folder with config.json and model.safetensors")


def _retrieve(name: str, file: str, folder: Path, may_lack: bool = False) -> bool:
    """Download `file` of the model `name` to `folder` unless it exists.

    Returns False if the hub has no such file and `may_lack` is True, otherwise True. Raises HubError if that fails.
    """
    import pooch  # slow to import, needed for a download only
    import requests

    model, _, revision = name.partition("@")
    url = f"{HUB}/{model}/resolve/{revision or 'main'}/{file}"
    try:
        pooch.retrieve(url, known_hash=None, fname=file, path=folder, progressbar=not file.endswith(".json"))
    except (requests.RequestException, OSError) as error:
        if may_lack and getattr(getattr(error, "response", None), "status_code", None) == 404:
            return False
        raise _download_error(name, url, error) from error
    return True
