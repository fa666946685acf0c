"""Read and write BART's weights in Hugging Face's file format.

The format differs from our model in three ways. Position t is stored in row t + 2 of the position embeddings, because
fairseq stored it in row t + pad_id + 1. Queries, keys and values have separate matrices. The token embeddings are
stored up to four times. In messages, `where` is the path of the file.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import nn

from course_lib.hub import HubError
from course_lib.transformer.hub_files import read
from course_lib.transformer.pretrained import ACTIVATIONS, drop_copies, expect, fill, write

OFFSET = 2                                                           # rows before position 0
AROUND = {"source": "model.shared", "positions": "model.encoder.layernorm_embedding",
          "target_positions": "model.decoder.layernorm_embedding"}
TABLES = {"positions.table.weight": "model.encoder.embed_positions.weight",
          "target_positions.table.weight": "model.decoder.embed_positions.weight"}
PARTS = {"feed_forward.widen": "fc1", "feed_forward.narrow": "fc2", "residual1.norm": "self_attn_layer_norm"}
ENCODER = PARTS | {"residual2.norm": "final_layer_norm"}
DECODER = PARTS | {"residual2.norm": "encoder_attn_layer_norm", "residual3.norm": "final_layer_norm"}
ATTENTION = {"attention": "self_attn", "cross_attention": "encoder_attn"}
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def load(cls: type, name: str | Path) -> nn.Module:
    """Load a BART of the class `cls` from the folder or hub id `name`: see `BART.from_pretrained`. Raises HubError."""
    config, tensors, where = read(name)
    expect(where, config, "model_type", "bart")
    for ours in ("attention_heads", "ffn_dim"):
        both = [config.get(f"{side}_{ours}") for side in ("encoder", "decoder")]
        if both[0] != both[1]:
            raise HubError(f"{where}: encoder_{ours} and decoder_{ours} are {both}; expected the same number for both")
    activation = config.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise HubError(f"{where}: activation_function is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
    try:
        eos = config["eos_token_id"]
        model = cls(dict(
            source=config["vocab_size"], target=config["vocab_size"], pad_id=config["pad_token_id"], eos_id=eos,
            bos_id=config.get("decoder_start_token_id", eos), d_model=config["d_model"],
            heads=config["encoder_attention_heads"], d_ff=config["encoder_ffn_dim"],
            encoder_layers=config["encoder_layers"], decoder_layers=config["decoder_layers"],
            dropout=config.get("dropout", 0.1), window=config["max_position_embeddings"],
            activation=ACTIVATIONS[activation], scale=config.get("scale_embedding", False)))
    except KeyError as error:
        raise HubError(f"{where}: config.json lacks {error}") from None
    except ValueError as error:
        raise HubError(f"{where}: config.json describes a BART that cannot be built: {error}") from error
    tensors = {key if key.startswith(("model.", "lm_head.", "final_")) else f"model.{key}": t for key, t in tensors.items()}
    drop_copies(tensors, dict.fromkeys(COPIES, "model.shared.weight"), where)
    tensors.setdefault("final_logits_bias", torch.zeros(1, config["vocab_size"]))
    names, values = _names(model), {}
    for ours, theirs in names.items():
        if all(part in tensors for part in theirs):
            values[ours] = torch.cat([tensors[part] for part in theirs])
    for ours in TABLES:
        if ours in values:
            values[ours] = values[ours][OFFSET:]
    if "bias" in values:
        values["bias"] = values["bias"][0]
    fill(model, values, where, {ours: " + ".join(theirs) for ours, theirs in names.items()},
         {key: t for key, t in tensors.items() if not any(key in theirs for theirs in names.values())})
    return model.eval()


def save(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors in the format of BartForConditionalGeneration."""
    s = model.config
    config = {
        "architectures": ["BartForConditionalGeneration"], "model_type": "bart", "vocab_size": s.source,
        "max_position_embeddings": s.window, "d_model": s.d_model, "encoder_layers": s.encoder_layers,
        "decoder_layers": s.decoder_layers, "encoder_attention_heads": s.heads, "decoder_attention_heads": s.heads,
        "encoder_ffn_dim": s.d_ff, "decoder_ffn_dim": s.d_ff, "dropout": s.dropout, "attention_dropout": s.dropout,
        "activation_function": {"gelu_tanh": "gelu_new"}.get(s.activation, s.activation), "scale_embedding": s.scale,
        "pad_token_id": s.pad_id, "eos_token_id": s.eos_id, "bos_token_id": s.bos_id, "is_encoder_decoder": True,
        "decoder_start_token_id": s.bos_id, "forced_eos_token_id": None, "tie_word_embeddings": True}
    state, tensors = model.state_dict(), {}
    for ours, theirs in _names(model).items():
        value = state[ours]
        if ours in TABLES:
            value = torch.cat([value.new_zeros(OFFSET, value.shape[1]), value])
        tensors |= dict(zip(theirs, (value[None] if ours == "bias" else value).chunk(len(theirs))))
    write(folder, config, tensors)


def _names(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """Return {name in the state dict: names in the file}; the stacked queries, keys and values have three names."""
    names = {}
    for ours in model.state_dict():
        if ours == "target.weight":                                  # the same as source.weight
            names[ours] = ("model.shared.weight",)
        elif ours == "bias":
            names[ours] = ("final_logits_bias",)
        elif ours in TABLES:
            names[ours] = (TABLES[ours],)
        else:
            names[ours] = _name(ours)
    return names


def _name(ours: str) -> tuple[str, ...]:
    module, kind = ours.rsplit(".", 1)
    kind = {"gamma": "weight", "beta": "bias"}.get(kind, kind)
    inside = re.fullmatch(r"(encoder|decoder)\.(\d+)\.(.+)", module)
    if not inside:
        return (f"{AROUND[module.removesuffix('.norm')]}.{kind}",)
    side, number, part = inside.groups()
    layer, attention = f"model.{side}.layers.{number}", re.fullmatch(r"(attention|cross_attention)\.(qkv|out)", part)
    if not attention:
        return (f"{layer}.{(ENCODER if side == 'encoder' else DECODER)[part]}.{kind}",)
    projections = ("out",) if attention[2] == "out" else ("q", "k", "v")
    return tuple(f"{layer}.{ATTENTION[attention[1]]}.{which}_proj.{kind}" for which in projections)
