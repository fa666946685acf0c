"""A file server on 127.0.0.1 that can misbehave, and an empty cache for each test."""
from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from course_lib.data.registry import File


class Server:
    """serve(path, body, how) answers GET /path; `asked` lists the paths asked for and
    `encodings` what compression the client takes; addresses come from url(path).

    how: "whole"; "cut" states the full length, sends half and closes; "short" sends half and states no length;
    "stall" sends half and then nothing; "silent" never answers; "paired" sends the second half when two have asked for
    it; an int is a status with no body.
    """

    def __init__(self):
        self.answers, self.asked, self.encodings = {}, [], []
        self.over, self.pair = threading.Event(), threading.Barrier(2)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                owner.asked.append(self.path[1:])
                owner.encodings.append(self.headers["Accept-Encoding"])
                owner.answer(self, *owner.answers.get(self.path[1:], (b"", 404)))

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def serve(self, path: str, body: bytes, how: str | int = "whole") -> str:
        self.answers[path] = (body, how)
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.http.server_port}/{path}"

    def answer(self, to, body: bytes, how: str | int):
        if how == "silent":
            self.over.wait()
            return
        to.send_response(how if isinstance(how, int) else 200)
        if how != "short":
            to.send_header("Content-Length", "0" if isinstance(how, int) else str(len(body)))
        to.end_headers()
        if not isinstance(how, int):
            to.wfile.write(body if how == "whole" else body[: len(body) // 2])
            to.wfile.flush()
        if how == "stall":
            self.over.wait()
        if how == "paired":
            self.pair.wait(timeout=120)
            to.wfile.write(body[len(body) // 2 :])

    def close(self):
        self.over.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache, no COURSE_DATA, no proxy. It does not exist yet, as on a new machine."""
    for name in ("COURSE_DATA", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path, monkeypatch, cache) -> Path:
    """An empty folder that COURSE_DATA names."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("COURSE_DATA", str(folder))
    return folder


@pytest.fixture
def row():
    """row(path, body, *urls) -> the table's row for a file with that content."""

    def row(path: str, body: bytes, *urls: str) -> File:
        return File(path, len(body), "sha256:" + hashlib.sha256(body).hexdigest(), urls)

    return row
