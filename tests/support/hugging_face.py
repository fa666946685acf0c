"""Models in Hugging Face's files: config.json and model.safetensors in a folder."""
from __future__ import annotations

import json

from safetensors.torch import load_file, save_file


def saved(model, folder):
    """The model as it was stored there: itself, the tensors and the configuration of the files."""
    model.save_pretrained(folder)
    return model, load_file(folder / "model.safetensors"), json.loads((folder / "config.json").read_text())


def store(folder, tensors, config):
    """Files with these tensors and this configuration, right or wrong."""
    save_file({k: t.contiguous() for k, t in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
