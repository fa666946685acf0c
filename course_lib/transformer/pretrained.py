"""Read and write GPT-2's weights in Hugging Face's file format; functions that other models' formats share.

A public file is not a state dict of our model: GPT-2's file contains mask buffers, lacks the tied output layer, and may
prefix names with "transformer.". After these differences are removed, names and shapes of the tensors must match
exactly, or nothing is loaded. Throughout, `where` is the path of the file, for messages.
"""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any, Iterable

import torch
from safetensors.torch import save as write_tensors
from torch import Tensor, nn

from course_lib.files import write_atomically
from course_lib.hub import HubError
from course_lib.transformer.hub_files import read

ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "gelu_python": "gelu",
               "relu": "relu"}

# ours -> Hugging Face's, in a block; GPT-2 stores linear layers transposed, (in, out)
GPT_BLOCK = {
    "residual1.norm.gamma": "ln_1.weight", "residual1.norm.beta": "ln_1.bias",
    "attention.qkv.weight": "attn.c_attn.weight", "attention.qkv.bias": "attn.c_attn.bias",
    "attention.out.weight": "attn.c_proj.weight", "attention.out.bias": "attn.c_proj.bias",
    "residual2.norm.gamma": "ln_2.weight", "residual2.norm.beta": "ln_2.bias",
    "feed_forward.widen.weight": "mlp.c_fc.weight", "feed_forward.widen.bias": "mlp.c_fc.bias",
    "feed_forward.narrow.weight": "mlp.c_proj.weight", "feed_forward.narrow.bias": "mlp.c_proj.bias",
}
GPT_AROUND = {"tokens.weight": "wte.weight", "positions.table.weight": "wpe.weight", "norm.gamma": "ln_f.weight",
              "norm.beta": "ln_f.bias", "head.weight": "lm_head.weight"}
GPT_CLASSIFIER = "GPT2ForSequenceClassification"
GPT_BUFFERS = re.compile(r"h\.\d+\.attn\.(bias|masked_bias)")


# --- GPT-2 -----------------------------------------------------------------------------------------------------------


def load_gpt(cls: type, name: str | Path) -> nn.Module:
    """Load a GPT-2 of the class `cls` from the folder or hub id `name`: see `GPT.from_pretrained`. Raises HubError."""
    return _gpt(cls, *read(name)).eval()


def load_gpt_classifier(cls: type, gpt: type, name: str | Path) -> nn.Module:
    """Load a GPT-2 fine-tuned for classification, of the class `cls` around a model of the class `gpt`: see
    `GPTClassifier.from_pretrained`. Raises HubError."""
    config, tensors, where = read(name)
    kinds = config.get("architectures") or [GPT_CLASSIFIER]
    if GPT_CLASSIFIER not in kinds:
        raise HubError(f"{where}: architectures is {kinds}; expected {GPT_CLASSIFIER}, for a {cls.__name__}")
    score = tensors.pop("score.weight", None)
    if score is None:
        raise HubError(f"{where} lacks score.weight; expected the file of a {GPT_CLASSIFIER}")
    body = _gpt(gpt, config | {"tie_word_embeddings": True}, tensors, where)       # the file has no output layer
    pad = config.get("pad_token_id")
    try:
        model = cls(body, len(score), pad)
    except ValueError as error:
        raise HubError(f"{where}: config.json describes a {cls.__name__} that cannot be built: {error}") from error
    fill(model.head, {"weight": score}, where, {"weight": "score.weight"}, {})
    return model.eval()


def _gpt(cls: type, config: dict[str, Any], tensors: dict[str, Tensor], where: str) -> nn.Module:
    """Build a GPT of the class `cls` from the entries of config.json and the tensors of a file. Raises HubError."""
    expect(where, config, "model_type", "gpt2")
    for key, value in (("scale_attn_weights", True), ("scale_attn_by_inverse_layer_idx", False),
                       ("add_cross_attention", False)):
        expect(where, {key: value} | config, key, value)
    activation = config.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise HubError(f"{where}: activation_function is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
    try:
        settings = dict(
            vocab_size=config["vocab_size"], window=config["n_positions"], layers=config["n_layer"],
            heads=config["n_head"], d_model=config["n_embd"], d_ff=config.get("n_inner"),
            dropout=one_dropout(where, config, "resid_pdrop", "embd_pdrop", "attn_pdrop"),
            activation=ACTIVATIONS[activation], eps=config.get("layer_norm_epsilon", 1e-5),
            tied=config.get("tie_word_embeddings", True), bos_id=_bos(where, config))
        model = cls(settings)
    except KeyError as error:
        raise HubError(f"{where}: config.json lacks {error}") from None
    except ValueError as error:
        raise HubError(f"{where}: config.json describes a GPT that cannot be built: {error}") from error
    tensors = {key.removeprefix("transformer."): t for key, t in tensors.items()}
    tensors = {key: t for key, t in tensors.items() if not GPT_BUFFERS.fullmatch(key)}
    if settings["tied"] and "lm_head.weight" in tensors:
        if not torch.equal(tensors.pop("lm_head.weight"), tensors.get("wte.weight", torch.empty(0))):
            raise HubError(f"{where}: lm_head.weight differs from wte.weight; expected equal tensors, because "
                           "config.json ties them (tie_word_embeddings is not false)")
    names = _gpt_names(model)
    fill(model, {ours: _transpose_linear(theirs, tensors.pop(theirs)) for ours, theirs in names.items() if theirs in tensors},
         where, names, unexpected=tensors)
    return model


def save_gpt(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors in the format of GPT2LMHeadModel."""
    write(folder, _gpt_config(model, "GPT2LMHeadModel"), _gpt_tensors(model))


def save_gpt_classifier(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors in the format of GPT2ForSequenceClassification."""
    config = _gpt_config(model.gpt, GPT_CLASSIFIER) | labels(model.head.out_features)
    tensors = {name: t for name, t in _gpt_tensors(model.gpt).items() if name != "lm_head.weight"}
    write(folder, config | {"pad_token_id": model.pad_id}, tensors | {"score.weight": model.head.weight})


def labels(classes: int) -> dict[str, dict[str, Any]]:
    """Return the entries id2label and label2id of config.json for classes without names: "LABEL_0", "LABEL_1", ..."""
    names = {str(k): f"LABEL_{k}" for k in range(classes)}
    return {"id2label": names, "label2id": {name: int(k) for k, name in names.items()}}


def _gpt_config(model: nn.Module, kind: str) -> dict[str, Any]:
    """Return the entries of config.json for a GPT; `kind` is the name of the Hugging Face class that reads the file."""
    s = model.config
    return {
        "architectures": [kind], "model_type": "gpt2", "vocab_size": s.vocab_size,
        "n_positions": s.window, "n_ctx": s.window, "n_embd": s.d_model, "n_layer": s.layers, "n_head": s.heads,
        "n_inner": s.d_ff, "activation_function": {"gelu_tanh": "gelu_new"}.get(s.activation, s.activation),
        "resid_pdrop": s.dropout, "embd_pdrop": s.dropout, "attn_pdrop": s.dropout, "layer_norm_epsilon": s.eps,
        "tie_word_embeddings": s.tied, "bos_token_id": s.bos_id, "eos_token_id": s.bos_id}


def _gpt_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a GPT as they are stored, {name in the file: tensor}."""
    state = model.state_dict()
    return {theirs if theirs == "lm_head.weight" else f"transformer.{theirs}": _transpose_linear(theirs, state[ours])
            for ours, theirs in _gpt_names(model).items()}


def _bos(where: str, config: dict[str, Any]) -> int | None:
    """Return the id of the bos token, or None, with a warning, if it is outside the vocabulary.

    GPT2Config of transformers writes 50256 for every vocabulary.
    """
    bos, size = config.get("bos_token_id"), config["vocab_size"]
    if bos is None or 0 <= bos < size:
        return bos
    warnings.warn(f"{where}: bos_token_id is {bos}; expected 0 to {size - 1}. This GPT has no bos token, so sampling needs a "
                  "prompt", stacklevel=5)
    return None


def _gpt_names(model: nn.Module) -> dict[str, str]:
    """Return {name in the state dict: name in the file}, without the prefix "transformer."."""
    names = dict(GPT_AROUND)
    for i in range(len(model.blocks)):
        names |= {f"blocks.{i}.{ours}": f"h.{i}.{theirs}" for ours, theirs in GPT_BLOCK.items()}
    return {ours: names[ours] for ours in model.state_dict()}


def _transpose_linear(theirs: str, t: Tensor) -> Tensor:
    return t.T if ".c_" in theirs and t.dim() == 2 else t


# --- all models ------------------------------------------------------------------------------------------------------


@torch.no_grad()
def fill(model: nn.Module, tensors: dict[str, Tensor], where: str, names: dict[str, str],
         unexpected: dict[str, Tensor]) -> None:
    """Copy all tensors into the model. Raises HubError if a tensor is missing, unexpected or of a wrong shape.

    tensors     {name in the state dict: tensor}
    names       {name in the state dict: name in the file}, for messages
    unexpected  tensors of the file that the model does not have; must be empty
    """
    state = model.state_dict()
    missing = [names[ours] for ours in state if ours not in tensors]
    if missing or unexpected:
        raise HubError(f"{where} does not fit {type(model).__name__}: missing are {join_names(missing)}, "
                       f"unexpected are {join_names(unexpected)}; expected exactly the tensors of the model")
    for ours, mine in state.items():
        if mine.shape != tensors[ours].shape:
            raise HubError(f"{where}: {names[ours]} gives {ours} the shape {tuple(tensors[ours].shape)}; expected "
                           f"{tuple(mine.shape)}, by config.json")
    for ours, mine in state.items():
        mine.copy_(tensors[ours])


def drop_copies(tensors: dict[str, Tensor], copies: dict[str, str], where: str) -> None:
    """Remove from `tensors`, in place, the copies of tensors that a file stores twice. Raises HubError if they differ.

    copies  {name of the copy: name of the original}; a copy without an original takes its name
    """
    for copy, original in copies.items():
        if copy in tensors:
            value = tensors.pop(copy)
            if not torch.equal(value, tensors.setdefault(original, value)):
                raise HubError(f"{where}: {copy} differs from {original}; expected equal tensors, because they are tied")


def write(folder: str | Path, config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Write `tensors` to model.safetensors and `config` to config.json in `folder`, each file atomically."""
    tensors = {key: t.detach().cpu().contiguous() for key, t in tensors.items()}
    write_atomically(Path(folder) / "model.safetensors", write_tensors(tensors, metadata={"format": "pt"}))
    write_atomically(Path(folder) / "config.json", json.dumps(config, indent=2).encode())


def one_dropout(where: str, config: dict[str, Any], first: str, *others: str) -> float:
    """Return the dropout probability config[first], which our model uses everywhere (0.1 if the entry is missing).

    Warns if one of the entries `others` of config.json differs from it.
    """
    drops = {key: config.get(key, 0.1) for key in (first, *others)}
    if len(set(drops.values())) > 1:
        text = ", ".join(f"{key} {value}" for key, value in drops.items())
        warnings.warn(f"{where}: {text}; this model has a single dropout probability and uses {drops[first]}. Outputs in eval "
                      "mode are not affected", stacklevel=5)
    return drops[first]


def join_names(names: Iterable[str]) -> str:
    """Join the sorted names by commas for a message; after eight names, only the number of further names is given."""
    names = sorted(names)
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "none") + more


def expect(where: str, config: dict[str, Any], key: str, value: Any) -> None:
    """Raise HubError unless config[key] equals `value`; model_type may be absent, as in older files."""
    if config.get(key) != value and not (key == "model_type" and key not in config):
        raise HubError(f"{where}: {key} is {config.get(key)!r}; expected {value!r}")
