"""Read and write T5's weights in Hugging Face's file format.

The relative biases are stored in the first block of each stack. In version 1 source, target and output layer share one
table of embeddings, and the input of the output layer is scaled. Version 1.1 has a separate output layer without
scaling. config.json states the scaling; older files call it tie_word_embeddings.
"""

from __future__ import annotations

import re
from pathlib import Path

import torch
from torch import nn

from course_lib.hub import HubError
from course_lib.transformer.hub_files import read
from course_lib.transformer.pretrained import drop_copies, expect, fill, write

NETWORKS = {"relu": ("relu", False), "gated-gelu": ("gelu_tanh", True), "gated-relu": ("relu", True)}
BIAS = "{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
AROUND = {"source.weight": "shared.weight", "target.weight": "shared.weight", "head.weight": "lm_head.weight",
          "encoder_norm.gamma": "encoder.final_layer_norm.weight", "decoder_norm.gamma": "decoder.final_layer_norm.weight",
          "encoder_bias.table.weight": BIAS.format(side="encoder"), "decoder_bias.table.weight": BIAS.format(side="decoder")}
ATTENTION = {"attention": "0.SelfAttention", "cross_attention": "1.EncDecAttention"}
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"      # in old files, unused


def load(cls: type, name: str | Path) -> nn.Module:
    """Load a T5 of the class `cls` from the folder or hub id `name`: see `T5.from_pretrained`. Raises HubError."""
    config, tensors, where = read(name)
    expect(where, config, "model_type", "t5")
    network = config.get("feed_forward_proj", "relu")
    if network not in NETWORKS:
        raise HubError(f"{where}: feed_forward_proj is {network!r}; expected one of {', '.join(NETWORKS)}")
    head, words = tensors.get("lm_head.weight"), tensors.get("shared.weight")
    tied = head is None or words is not None and torch.equal(head, words)               # config.json has no reliable entry
    try:
        activation, gated = NETWORKS[network]
        model = cls(dict(
            source=config["vocab_size"], target=config["vocab_size"], pad_id=config["pad_token_id"],
            eos_id=config["eos_token_id"], bos_id=config.get("decoder_start_token_id", config["pad_token_id"]),
            d_model=config["d_model"], heads=config["num_heads"], d_ff=config["d_ff"], d_kv=config["d_kv"],
            encoder_layers=config["num_layers"], decoder_layers=config.get("num_decoder_layers") or config["num_layers"],
            dropout=config.get("dropout_rate", 0.1), tied="all" if tied else "none", activation=activation, gated=gated,
            scale=config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True)),
            buckets=config.get("relative_attention_num_buckets", 32), eps=config.get("layer_norm_epsilon", 1e-6),
            distance=config.get("relative_attention_max_distance", 128)))
    except KeyError as error:
        raise HubError(f"{where}: config.json lacks {error}") from None
    except ValueError as error:
        raise HubError(f"{where}: config.json describes a T5 that cannot be built: {error}") from error
    tensors.pop(UNUSED, None)
    drop_copies(tensors, dict.fromkeys(COPIES + (("lm_head.weight",) if tied else ()), "shared.weight"), where)
    names = _names(model)
    values = {ours: tensors[theirs] for ours, theirs in names.items() if theirs in tensors}
    fill(model, values, where, names, {key: t for key, t in tensors.items() if key not in names.values()})
    return model.eval()


def save(model: nn.Module, folder: str | Path) -> None:
    """Write config.json and model.safetensors in the format of T5ForConditionalGeneration."""
    s = model.config
    network = next((name for name, kind in NETWORKS.items() if kind == (s.activation, s.gated)), None)
    if network is None:
        raise ValueError(f"activation is {s.activation!r} and gated is {s.gated}; expected (activation, gated) to be one of "
                         f"{', '.join(map(str, NETWORKS.values()))}, which the file format has")
    config = {
        "architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "vocab_size": s.source, "d_model": s.d_model,
        "d_kv": s.d_kv, "d_ff": s.d_ff, "num_layers": s.encoder_layers, "num_decoder_layers": s.decoder_layers,
        "num_heads": s.heads, "relative_attention_num_buckets": s.buckets, "relative_attention_max_distance": s.distance,
        "dropout_rate": s.dropout, "layer_norm_epsilon": s.eps, "feed_forward_proj": network, "pad_token_id": s.pad_id,
        "eos_token_id": s.eos_id, "decoder_start_token_id": s.bos_id, "is_encoder_decoder": True,
        "tie_word_embeddings": s.scale, "scale_decoder_outputs": s.scale}              # the format uses either
    state = model.state_dict()
    write(folder, config, {theirs: state[ours] for ours, theirs in _names(model).items()})


def _names(model: nn.Module) -> dict[str, str]:
    """Return {name in the state dict: name in the file}."""
    gated, names = model.config.gated, {}
    for ours in model.state_dict():
        inside = re.fullmatch(r"(encoder|decoder)\.(\d+)\.(.+)\.(weight|gamma)", ours)
        if not inside:
            names[ours] = AROUND[ours]
            continue
        side, number, part, _ = inside.groups()
        last = 2 if side == "decoder" else 1                         # sublayer of the feed-forward network
        module, _, which = part.partition(".")
        if module in ATTENTION:
            place = f"{ATTENTION[module]}.{'o' if which == 'out' else which}"
        elif module == "feed_forward":
            place = f"{last}.DenseReluDense." + {"narrow": "wo", "gate": "wi_1", "widen": "wi_0" if gated else "wi"}[which]
        else:
            place = {"norm": "0.layer_norm", "cross_norm": "1.layer_norm", "last_norm": f"{last}.layer_norm"}[module]
        names[ours] = f"{side}.block.{number}.layer.{place}.weight"
    return names
