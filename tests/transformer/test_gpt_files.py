"""GPT-2 in Hugging Face's files, without its library: what is read, downloaded, refused."""
from __future__ import annotations

import functools
import http.server
import json
import pickle
import threading
import traceback

import pytest
import torch
from safetensors.torch import load_file, save_file

from course_lib.hub import HubError
from course_lib.transformer import GPT, hub_files
from tests.support.hugging_face import saved, store
from tests.support.random import rng
from tests.transformer.checks import small

TOKENS = torch.randint(7, (2, 6), generator=rng())


@pytest.mark.parametrize("changes", [{}, {"tied": False}, {"activation": "gelu"}, {"bos_id": None, "d_ff": None}])
def test_round_trip(tmp_path, changes):
    model, _, _ = saved(small(**changes).float(), tmp_path)
    again = GPT.from_pretrained(tmp_path)
    assert again.config == model.config and not again.training
    assert torch.equal(again(TOKENS), model(TOKENS))


def test_public_files(tmp_path):
    """No prefix, buffers with masks, the tied output layer written out."""
    model, tensors, config = saved(small().float(), tmp_path)
    tensors = {name.removeprefix("transformer."): t for name, t in tensors.items()}
    tensors |= {"h.0.attn.bias": torch.ones(1, 1, 10, 10).tril(), "h.1.attn.masked_bias": torch.tensor(-1e4),
                "lm_head.weight": tensors["wte.weight"].clone()}
    store(tmp_path, tensors, config)
    assert torch.equal(GPT.from_pretrained(str(tmp_path))(TOKENS), model(TOKENS))


def test_pickled_files(tmp_path):
    model, tensors, _ = saved(small().float(), tmp_path)
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    assert torch.equal(GPT.from_pretrained(tmp_path)(TOKENS), model(TOKENS))


def test_bos_outside_vocabulary(tmp_path):
    model, tensors, config = saved(small(bos_id=None).float(), tmp_path)
    store(tmp_path, tensors, config | {"bos_token_id": 50256})
    with pytest.warns(UserWarning, match=r"bos_token_id is 50256; expected 0 to 6"):
        again = GPT.from_pretrained(tmp_path)
    assert again.config.bos_id is None and torch.equal(again(TOKENS), model(TOKENS))


# --- several files, and the hub ----------------------------------------------------------------------------------------


def split(folder, suffix: str = "safetensors") -> dict[str, str]:
    """The folder's tensors in two files and an index, as large models are stored."""
    tensors = load_file(folder / "model.safetensors")
    stem = "model" if suffix == "safetensors" else "pytorch_model"
    where = {name: f"{stem}-0000{1 + i % 2}-of-00002.{suffix}" for i, name in enumerate(sorted(tensors))}
    for file in set(where.values()):
        part = {name: t for name, t in tensors.items() if where[name] == file}
        save_file(part, folder / file) if suffix == "safetensors" else torch.save(part, folder / file)
    (folder / f"{stem}.{suffix}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": where}))
    (folder / "model.safetensors").unlink()
    return where


@pytest.mark.parametrize("suffix", ["safetensors", "bin"])
def test_sharded_files(tmp_path, suffix):
    model, _, _ = saved(small().float(), tmp_path)
    where = split(tmp_path, suffix)
    assert torch.equal(GPT.from_pretrained(tmp_path)(TOKENS), model(TOKENS))
    gone = sorted(set(where.values()))[1]
    (tmp_path / gone).unlink()
    with pytest.raises(HubError, match=f"lacks {gone}, which .*index.json names"):
        GPT.from_pretrained(tmp_path)


@pytest.mark.parametrize("index, message", [
    ("{", "has no weight_map"), ("[]", "has no weight_map"), ('{"weight_map": 3}', "has no weight_map"),
    ('{"weight_map": {"a": "../secret.safetensors"}}', "expected names of .safetensors files beside it"),
    ('{"weight_map": {"a": "/etc/secret.safetensors"}}', "expected names of .safetensors files beside it"),
    ('{"weight_map": {"a": "model.bin"}}', "expected names of .safetensors files beside it"),
])
def test_index_refused(tmp_path, index, message):
    saved(small().float(), tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(HubError, match=message):
        GPT.from_pretrained(tmp_path)


class Hub(http.server.SimpleHTTPRequestHandler):
    """A hub with one model: /someone/small/resolve/main/FILE."""

    def translate_path(self, path):
        prefix = "/someone/small/resolve/main/"
        self.server.asked.append(path.removeprefix(prefix))
        return str(self.server.folder / path.removeprefix(prefix)) if path.startswith(prefix) else "/nowhere"

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.folder, server.asked = tmp_path / "served", []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(hub_files, "HUB", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(hub_files, "_hugging_face", lambda: None)       # its way is tested in test_hub_download.py
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    yield server
    server.shutdown()
    server.server_close()


def as_bin(folder):
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


@pytest.mark.parametrize("form", [lambda folder: None, as_bin, split, functools.partial(split, suffix="bin")],
                         ids=["safetensors", "bin", "several safetensors", "several bin"])
def test_download_once(hub, form):
    model, _, _ = saved(small().float(), hub.folder)
    form(hub.folder)
    for _ in range(2):
        assert torch.equal(GPT.from_pretrained("someone/small")(TOKENS), model(TOKENS))
    got = [name for name in hub.asked if (hub.folder / name).is_file()]
    assert sorted(got) == sorted(path.name for path in hub.folder.iterdir())          # each once, and nothing twice


def test_download_failure(hub, tmp_path):
    model, _, _ = saved(small().float(), hub.folder)
    gone = sorted(set(split(hub.folder).values()))[1]
    kept = (hub.folder / gone).read_bytes()
    (hub.folder / gone).unlink()
    with pytest.raises(HubError, match="'someone/other' is not a folder, and .*config.json could not be downloaded"):
        GPT.from_pretrained("someone/other")
    with pytest.raises(HubError, match=f"{gone} could not be downloaded"):
        GPT.from_pretrained("someone/small")
    folders = tmp_path / "cache" / "huggingface"
    assert [path.name for path in folders.iterdir()] == ["someone--small"] and not (folders / "someone--small" / gone).exists()
    (hub.folder / gone).write_bytes(kept)
    assert torch.equal(GPT.from_pretrained("someone/small")(TOKENS), model(TOKENS))


H0 = "transformer.h.0.attn.c_attn.weight"


@pytest.mark.parametrize("change, message", [
    (lambda t, c: t.pop(H0), "missing are h.0.attn.c_attn.weight, unexpected are none"),
    (lambda t, c: t.update(extra=torch.zeros(2)), "missing are none, unexpected are extra"),
    (lambda t, c: t.update({"transformer.h.2.ln_1.bias": torch.zeros(12)}), "unexpected are h.2.ln_1.bias"),
    (lambda t, c: t.update({H0: t[H0].T}), r"h.0.attn.c_attn.weight gives .* the shape .* expected .*, by config.json"),
    (lambda t, c: t.update({"lm_head.weight": torch.zeros(7, 12)}), "lm_head.weight differs from wte.weight"),
    (lambda t, c: c.update(tie_word_embeddings=False), "missing are lm_head.weight"),
    (lambda t, c: c.update(n_layer=3), "missing are h.2.attn.c_attn.bias, .* and 4 more, unexpected"),
    (lambda t, c: c.update(n_positions=11), "wpe.weight gives positions.table.weight the shape"),
    (lambda t, c: c.update(n_head=5), "cannot be built: d_model is 12; expected a multiple of heads, 5"),
    (lambda t, c: c.update(model_type="bert"), "model_type is 'bert'; expected 'gpt2'"),
    (lambda t, c: c.update(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx is True"),
    (lambda t, c: c.update(activation_function="swish"), "activation_function is 'swish'; expected one of"),
    (lambda t, c: c.pop("n_embd"), "config.json lacks 'n_embd'"),
])
def test_configuration_refused(tmp_path, change, message):
    _, tensors, config = saved(small().float(), tmp_path)
    change(tensors, config)
    store(tmp_path, tensors, config)
    with pytest.raises(HubError, match=message):
        GPT.from_pretrained(tmp_path)


def test_files_damaged_or_missing(tmp_path):
    saved(small().float(), tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(HubError, match="is damaged"):
        GPT.from_pretrained(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(HubError, match="lacks model.safetensors"):
        GPT.from_pretrained(tmp_path)
    with pytest.raises(HubError, match="is not a folder; expected a folder, or an id"):
        GPT.from_pretrained(tmp_path / "nothing" / "here")


@pytest.mark.parametrize("content", [
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 548118077\n", b"<!DOCTYPE html><html></html>", b"",
    b"PK\x03\x04 cut", pickle.dumps(print), pickle.dumps({"wte.weight": torch.ones(2)}), pickle.dumps([1, 2]), "cut", "list", "names"],
    ids=["pointer", "page", "empty", "zip", "code", "unsafe", "pickle", "cut", "list", "names"])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol 4")
def test_pytorch_file_damaged(tmp_path, content):
    """What is not a file of tensors is refused in words, and never with the advice to load it unsafely."""
    saved(small().float(), tmp_path)
    (tmp_path / "model.safetensors").unlink()
    file = tmp_path / "pytorch_model.bin"
    torch.save({"list": [torch.ones(2)], "names": {1: "a"}}.get(content, {"wte.weight": torch.ones(200)}), file)
    if content == "cut":
        file.write_bytes(file.read_bytes()[:-100])
    elif isinstance(content, bytes):
        file.write_bytes(content)
    with pytest.raises(HubError, match="pytorch_model.bin .*is not a file of tensors") as caught:
        GPT.from_pretrained(tmp_path)
    text = "".join(traceback.format_exception(caught.value))
    assert "weights_only" not in text and "safe_globals" not in text


def test_download_without_network(tmp_path, monkeypatch, no_network):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path))
    monkeypatch.setattr(hub_files, "_hugging_face", lambda: None)
    with pytest.raises(HubError, match="could not be downloaded .* give a folder with config.json"):
        GPT.from_pretrained("gpt2")
    assert no_network and not list(tmp_path.rglob("*.safetensors"))
