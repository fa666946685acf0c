"""Read and write BERT's weights in Hugging Face's file format.

Public files differ: older files name the parameters of norms gamma and beta, omit the output layer that is tied to the
embeddings, contain a buffer of positions, or lack the pooler or the heads. Throughout, `where` is the path of the file,
for messages.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from course_lib.hub import HubError
from course_lib.transformer.hub_files import read
from course_lib.transformer.pretrained import (
    ACTIVATIONS,
    drop_copies,
    expect,
    fill,
    join_names,
    labels,
    one_dropout,
    write,
)

# ours -> Hugging Face's
BLOCK = {
    "attention.out": "attention.output.dense", "residual1.norm": "attention.output.LayerNorm",
    "feed_forward.widen": "intermediate.dense", "feed_forward.narrow": "output.dense",
    "residual2.norm": "output.LayerNorm",
}
AROUND = {"tokens": "bert.embeddings.word_embeddings", "positions.table": "bert.embeddings.position_embeddings",
          "types": "bert.embeddings.token_type_embeddings", "norm": "bert.embeddings.LayerNorm",
          "pooler": "bert.pooler.dense", "mlm.transform": "cls.predictions.transform.dense",
          "mlm.norm": "cls.predictions.transform.LayerNorm", "mlm.table": "cls.predictions.decoder",
          "mlm": "cls.predictions", "nsp": "cls.seq_relationship"}
PROJECTIONS = ("query", "key", "value")                              # stacked in ours
HEADS = ("pooler.", "mlm.", "nsp.")                                  # optional in a file
COPIES = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
          "cls.predictions.decoder.bias": "cls.predictions.bias"}    # tied; stored by some files
UNTIED = {"cls.predictions.bias": "cls.predictions.decoder.bias"}     # if untied, Hugging Face ignores the first


def load(cls: type, name: str | Path) -> nn.Module:
    """Load a BERT of the class `cls` from the folder or hub id `name`: see `BERT.from_pretrained`. Raises HubError."""
    config, tensors, where = read(name)
    model, absent = _built(cls, config, tensors, where)
    if absent:
        warnings.warn(f"{where} lacks {join_names(names[0] for names in absent.values())}: {join_names(absent)} are initialized "
                      "at random", stacklevel=3)
    return model.eval()


def load_head(cls: type, bert: type, name: str | Path) -> nn.Module:
    """Load a BERT fine-tuned for a task: a `TaskHead` of the class `cls` around a model of the class `bert`. Raises
    HubError."""
    config, tensors, where = read(name)
    kind, layer = cls.files
    kinds = config.get("architectures") or [kind]
    if kind not in kinds:
        raise HubError(f"{where}: architectures is {kinds}; expected {kind}, for a {cls.__name__}")
    head = {part: tensors.pop(f"{layer}.{part}", None) for part in ("weight", "bias")}
    if missing := [f"{layer}.{part}" for part, t in head.items() if t is None]:
        raise HubError(f"{where} lacks {join_names(missing)}; expected the file of a {kind}")
    encoder, absent = _built(bert, config, tensors, where)
    absent = {ours: names for ours, names in absent.items() if ours.startswith("pooler.") and cls.pooled}
    if absent:
        raise HubError(f"{where} lacks {join_names(names[0] for names in absent.values())}, which a {cls.__name__} needs")
    model = cls(encoder) if cls.classes is not None else cls(encoder, len(head["bias"]))
    fill(model.head, head, where, {part: f"{layer}.{part}" for part in head}, {})
    return model.eval()


def _built(cls: type, config: dict, tensors: dict[str, Tensor], where: str) -> tuple[nn.Module, dict[str, tuple[str, ...]]]:
    """Build a BERT of the class `cls` from the entries of config.json and the tensors of a file. Raises HubError.

    Returns the model, and the optional tensors that the file lacks, {name in the state dict: names in the file}.
    """
    expect(where, config, "model_type", "bert")
    for key, value in (("position_embedding_type", "absolute"), ("is_decoder", False), ("add_cross_attention", False)):
        expect(where, {key: value} | config, key, value)
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise HubError(f"{where}: hidden_act is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
    try:
        model = cls(dict(
            vocab_size=config["vocab_size"], window=config["max_position_embeddings"],
            layers=config["num_hidden_layers"], heads=config["num_attention_heads"], d_model=config["hidden_size"],
            d_ff=config["intermediate_size"], token_types=config.get("type_vocab_size", 2),
            dropout=one_dropout(where, config, "hidden_dropout_prob", "attention_probs_dropout_prob"),
            activation=ACTIVATIONS[activation], eps=config.get("layer_norm_eps", 1e-12),
            tied=config.get("tie_word_embeddings", True)))
    except KeyError as error:
        raise HubError(f"{where}: config.json lacks {error}") from None
    except ValueError as error:
        raise HubError(f"{where}: config.json describes a BERT that cannot be built: {error}") from error
    tensors = {_rename_legacy(key): t for key, t in tensors.items() if not key.endswith("embeddings.position_ids")}
    if model.config.tied:
        drop_copies(tensors, COPIES, where)
    else:
        for unread, read_one in UNTIED.items():
            if read_one in tensors:
                tensors[unread] = tensors.pop(read_one)
    names = _names(model)
    values = {}
    for ours, theirs in names.items():
        if all(part in tensors for part in theirs):
            values[ours] = torch.cat([tensors.pop(part) for part in theirs])
    whole = [head for head in HEADS if not any(ours.startswith(head) for ours in values)]     # absent entirely
    absent = [ours for ours in names if ours.startswith(tuple(whole))]
    state = model.state_dict()
    fill(model, values | {ours: state[ours] for ours in absent}, where,
         {ours: theirs[0] if len(theirs) == 1 else " + ".join(theirs) for ours, theirs in names.items()}, tensors)
    return model, {ours: names[ours] for ours in absent}


def save(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors in the format of BertForPreTraining."""
    write(folder, _config(model, "BertForPreTraining"), _tensors(model))


def save_head(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors of a `TaskHead` in the format of the Hugging Face class of its task."""
    kind, layer = model.files
    tensors = {name: t for name, t in _tensors(model.bert).items()
               if name.startswith("bert.") and (model.pooled or not name.startswith("bert.pooler."))}
    tensors |= {f"{layer}.{part}": t for part, t in model.head.state_dict().items()}
    write(folder, _config(model.bert, kind) | labels(model.head.out_features), tensors)


def _config(model: nn.Module, kind: str) -> dict:
    """Return the entries of config.json for a BERT; `kind` is the name of the Hugging Face class that reads it."""
    s = model.config
    return {
        "architectures": [kind], "model_type": "bert", "vocab_size": s.vocab_size,
        "max_position_embeddings": s.window, "num_hidden_layers": s.layers, "num_attention_heads": s.heads,
        "hidden_size": s.d_model, "intermediate_size": s.d_ff or 4 * s.d_model, "type_vocab_size": s.token_types,
        "hidden_act": {"gelu_tanh": "gelu_new"}.get(s.activation, s.activation), "hidden_dropout_prob": s.dropout,
        "attention_probs_dropout_prob": s.dropout, "layer_norm_eps": s.eps, "tie_word_embeddings": s.tied}


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Return the tensors of a BERT as they are stored, {name in the file: tensor}."""
    state, tensors = model.state_dict(), {}
    for ours, theirs in _names(model).items():
        tensors |= dict(zip(theirs, state[ours].chunk(len(theirs))))
    if not model.config.tied:
        tensors |= {read_one: tensors[unread].clone() for unread, read_one in UNTIED.items()}     # files share no memory
    return tensors


def _names(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """Return {name in the state dict: names in the file}; the stacked queries, keys and values have three names."""
    names = {}
    for ours in model.state_dict():
        module, kind = ours.rsplit(".", 1)
        kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
        inside = re.fullmatch(r"blocks\.(\d+)\.(.+)", module)
        if not inside:
            names[ours] = (f"{AROUND[module]}.{kind}",)
            continue
        layer = f"bert.encoder.layer.{inside[1]}"
        if inside[2] == "attention.qkv":
            names[ours] = tuple(f"{layer}.attention.self.{part}.{kind}" for part in PROJECTIONS)
        else:
            names[ours] = (f"{layer}.{BLOCK[inside[2]]}.{kind}",)
    return names


def _rename_legacy(name: str) -> str:
    """Return the name of a tensor in a current file for its name in an older file, or in a file of a bare encoder.

    The prefix "bert." is added, and gamma and beta of a norm, TensorFlow's names, become weight and bias.
    """
    name = name if name.startswith(("bert.", "cls.")) or not name.startswith(("embeddings.", "encoder.", "pooler.")) \
        else f"bert.{name}"
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
