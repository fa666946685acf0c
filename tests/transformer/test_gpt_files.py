"""GPT-2 in Hugging Face's files, without its library: names, shapes, what is ignored, what is refused."""
from __future__ import annotations

import pytest
import torch

from course_lib.hub import HubError
from course_lib.transformer import GPT
from tests.support.hugging_face import saved, store
from tests.support.random import rng
from tests.support.tensors import same
from tests.transformer.checks import small

TOKENS = torch.randint(7, (2, 6), generator=rng())


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"activation": "gelu"}, {"bos_id": None, "d_ff": None}])
def test_there_and_back(tmp_path, changes):
    model, _, _ = saved(small(**changes).float(), tmp_path)
    again = GPT.from_pretrained(tmp_path)
    assert again.config == model.config and not again.training
    assert torch.equal(again(TOKENS), model(TOKENS))


def test_names_and_shapes_are_gpt2s(tmp_path):
    _, tensors, config = saved(small().float(), tmp_path)
    block = {"ln_1.weight": (12,), "ln_1.bias": (12,), "attn.c_attn.weight": (12, 36), "attn.c_attn.bias": (36,),
             "attn.c_proj.weight": (12, 12), "attn.c_proj.bias": (12,), "ln_2.weight": (12,), "ln_2.bias": (12,),
             "mlp.c_fc.weight": (12, 20), "mlp.c_fc.bias": (20,), "mlp.c_proj.weight": (20, 12),
             "mlp.c_proj.bias": (12,)}
    want = {f"transformer.h.{i}.{name}": shape for i in range(2) for name, shape in block.items()}
    want |= {"transformer.wte.weight": (7, 12), "transformer.wpe.weight": (10, 12), "transformer.ln_f.weight": (12,),
             "transformer.ln_f.bias": (12,)}
    assert {name: tuple(t.shape) for name, t in tensors.items()} == want
    assert config["model_type"] == "gpt2" and config["activation_function"] == "gelu_new" and config["n_inner"] == 20


def test_public_files_differ_and_are_read(tmp_path):
    """No prefix, buffers with masks, the tied output layer written out."""
    model, tensors, config = saved(small().float(), tmp_path)
    tensors = {name.removeprefix("transformer."): t for name, t in tensors.items()}
    tensors |= {"h.0.attn.bias": torch.ones(1, 1, 10, 10).tril(), "h.1.attn.masked_bias": torch.tensor(-1e4),
                "lm_head.weight": tensors["wte.weight"].clone()}
    store(tmp_path, tensors, config)
    assert torch.equal(GPT.from_pretrained(str(tmp_path))(TOKENS), model(TOKENS))


def test_older_files_are_read(tmp_path):
    model, tensors, _ = saved(small().float(), tmp_path)
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    assert torch.equal(GPT.from_pretrained(tmp_path)(TOKENS), model(TOKENS))


def test_half_precision_is_read_into_single(tmp_path):
    model, tensors, config = saved(small().float(), tmp_path)
    store(tmp_path, {name: t.half() for name, t in tensors.items()}, config)
    again = GPT.from_pretrained(tmp_path)
    assert again.tokens.weight.dtype == torch.float32
    same(again.tokens.weight, model.tokens.weight.half().float(), 0)


H0 = "transformer.h.0.attn.c_attn.weight"


@pytest.mark.parametrize("change, message", [
    (lambda t, c: t.pop(H0), "missing are h.0.attn.c_attn.weight, unexpected are none"),
    (lambda t, c: t.update(extra=torch.zeros(2)), "missing are none, unexpected are extra"),
    (lambda t, c: t.update({"transformer.h.2.ln_1.bias": torch.zeros(12)}), "unexpected are h.2.ln_1.bias"),
    (lambda t, c: t.update({H0: t[H0].T}), r"h.0.attn.c_attn.weight gives .* the shape .* by config.json it is"),
    (lambda t, c: t.update({"lm_head.weight": torch.zeros(7, 12)}), "said to be tied, and differs"),
    (lambda t, c: c.update(tie_word_embeddings=False), "missing are lm_head.weight"),
    (lambda t, c: c.update(n_layer=3), "missing are h.2.attn.c_attn.bias, .* and 4 more, unexpected"),
    (lambda t, c: c.update(n_positions=11), "wpe.weight gives positions.table.weight the shape"),
    (lambda t, c: c.update(n_head=5), "cannot be built: d_model is 12, which 5 heads do not divide"),
    (lambda t, c: c.update(model_type="bert"), "model_type is 'bert'; expected 'gpt2'"),
    (lambda t, c: c.update(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx is True"),
    (lambda t, c: c.update(activation_function="swish"), "activation_function is 'swish'; known are"),
    (lambda t, c: c.update(attn_pdrop=0.5), r"resid_pdrop, embd_pdrop and attn_pdrop are \[0.0, 0.0, 0.5\]"),
    (lambda t, c: c.pop("n_embd"), "config.json lacks 'n_embd'"),
])
def test_another_configuration_is_named(tmp_path, change, message):
    _, tensors, config = saved(small().float(), tmp_path)
    change(tensors, config)
    store(tmp_path, tensors, config)
    with pytest.raises(HubError, match=message):
        GPT.from_pretrained(tmp_path)


def test_damaged_and_missing_files(tmp_path):
    saved(small().float(), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(HubError, match="is damaged"):
        GPT.from_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(HubError, match="lacks model.safetensors"):
        GPT.from_pretrained(tmp_path)
    with pytest.raises(HubError, match="is not a folder, and no id"):
        GPT.from_pretrained(tmp_path / "nothing" / "here")


def test_without_a_network_a_hub_id_says_what_to_do(tmp_path, monkeypatch, no_network):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    with pytest.raises(HubError, match="could not be had .* give a folder with config.json"):
        GPT.from_pretrained("gpt2")
    assert no_network and not list(tmp_path.rglob("*.safetensors"))
