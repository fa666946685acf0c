"""Models by name through huggingface_hub, from a server on this machine: cache, token, mirror, revision, what fails."""
from __future__ import annotations

import http.server
import sys
import threading

import pytest
import torch

from course_lib.hub import HubError
from course_lib.transformer import GPT, hub_files
from tests.support.hugging_face import saved
from tests.transformer.checks import small
from tests.transformer.test_gpt_files import TOKENS, split

constants = pytest.importorskip("huggingface_hub.constants")
COMMITS = {"main": "a" * 40, "older": "b" * 40}


class Hub(http.server.BaseHTTPRequestHandler):
    """A hub with someone/small in two revisions, a folder each."""

    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body: bool):
        self.server.asked.append((self.command, self.path, self.headers.get("Authorization")))
        _, owner, name, _, revision, file = (self.path + "/////").split("/")[:6]
        folder, code = self.server.folder / revision, ""
        if (owner, name) != ("someone", "small") or revision not in (*COMMITS, *COMMITS.values()):
            code = "RepoNotFound" if name != "small" else "RevisionNotFound"
        elif not ((folder := self.server.folder / next(r for r, c in COMMITS.items() if revision in (r, c))) / file).is_file():
            code = "EntryNotFound"
        data = b"" if code else (folder / file).read_bytes()
        self.send_response(404 if code else 200)
        if code:
            self.send_header("X-Error-Code", code)
        else:
            self.send_header("ETag", f'"{folder.name}-{file}"')
            self.send_header("X-Repo-Commit", COMMITS[folder.name])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            cut = file in self.server.cut
            self.wfile.write(data[:len(data) // 2] if cut else data)
            self.close_connection = cut

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.folder, server.asked, server.cut, server.cache = tmp_path / "served", [], set(), tmp_path / "cache"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(server.cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)          # the tests are, but for this server
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "ours"))
    monkeypatch.setenv("HF_TOKEN", "hf_of_a_reader")
    yield server
    server.shutdown()
    server.server_close()


def weights(server) -> list[str]:
    """What could be read as the weights of a model."""
    return [path.name for path in (server.cache).rglob("*.safetensors")]


def test_download_once_with_token(hub, tmp_path):
    model, _, _ = saved(small().float(), hub.folder / "main")
    for _ in range(2):
        assert torch.equal(GPT.from_pretrained("someone/small")(TOKENS), model(TOKENS))
    got = [path.rpartition("/")[2] for command, path, _ in hub.asked if command == "GET" and "resolve" in path]
    assert sorted(got) == ["config.json", "model.safetensors"]
    assert {token for _, path, token in hub.asked if "resolve" in path} == {"Bearer hf_of_a_reader"}
    assert (hub.cache / "models--someone--small" / "snapshots" / COMMITS["main"] / "config.json").is_file()
    assert not (tmp_path / "ours").exists()


def test_download_revision(hub):
    now, _, _ = saved(small().float(), hub.folder / "main")
    torch.manual_seed(5)
    before, _, _ = saved(GPT(now.config), hub.folder / "older")
    split(hub.folder / "older")                                      # in parts
    for name, model in (("someone/small@older", before), ("someone/small", now)):
        assert torch.equal(GPT.from_pretrained(name)(TOKENS), model(TOKENS))
    with pytest.raises(HubError, match="'someone/small@never' is not a folder, and config.json of someone/small could not be"):
        GPT.from_pretrained("someone/small@never")


def test_download_failure(hub, monkeypatch):
    model, _, _ = saved(small().float(), hub.folder / "main")
    with pytest.raises(HubError, match="'someone/other' is not a folder, and config.json of someone/other could not be downloaded"):
        GPT.from_pretrained("someone/other")
    assert not [path for path in hub.cache.rglob("*") if path.is_file()]
    monkeypatch.setattr("time.sleep", lambda _: None)                # it waits before it tries again
    hub.cut.add("model.safetensors")                                 # half of it arrives, and the line is dead
    with pytest.raises(HubError, match="model.safetensors of someone/small could not be downloaded"):
        GPT.from_pretrained("someone/small")
    assert weights(hub) == []
    hub.cut.clear()
    assert torch.equal(GPT.from_pretrained("someone/small")(TOKENS), model(TOKENS))


def test_without_huggingface_hub(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert hub_files._hugging_face() is None
