"""Data between judge and worker: what arrives is what was sent, and what is no message is refused."""
import json
import math
import random
import socket
import struct
import threading
import time

import pytest
import torch

from course_lib.grading.protocol import wire
from course_lib.grading.protocol.calls import OutOfTime, time_limit
from course_lib.grading.protocol.wire import Broken, Channel, Endpoint, TooSlow


@pytest.fixture
def ends():
    mine, theirs = socket.socketpair()
    yield mine, theirs
    mine.close()
    theirs.close()


def endpoint():
    return Endpoint(Channel(socket.socketpair()[0]))


def there_and_back(value):
    tensors = []
    tree = json.loads(json.dumps(endpoint().pack(value, tensors)))
    return endpoint().unpack(tree, [bytearray(one) for one in tensors])


@pytest.mark.parametrize("value", [
    None, True, 0, -2**63, 1.5, math.inf, math.nan, "käse \ud800 \0", [], (), {}, [1, [2.0, ("a", None)]],
    {"a": [1], 2: (3,), None: {}, (1, "b"): 4}, {"tensor": 0, "dtype": "float32", "shape": [2]}])
def test_values_round_trip(value):
    found = there_and_back(value)
    assert type(found) is type(value) and (found == value or found != found and value != value)


@pytest.mark.parametrize("dtype", sorted(wire.DTYPES))
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 5)])
def test_tensors_round_trip(dtype, shape):
    raw = torch.randint(0, 2 if dtype == "bool" else 100, shape).to(wire.DTYPES[dtype])
    found = there_and_back(raw)
    assert found.dtype == raw.dtype and found.shape == raw.shape and torch.equal(found, raw)


def test_pack_refuses_objects():
    for value in (object(), 1j, b"x", {1, 2}, torch.eye(2).to_sparse()):
        with pytest.raises((TypeError, RuntimeError)):
            there_and_back(value)


def message(tree, *tensors):
    data = json.dumps(tree).encode() if not isinstance(tree, bytes) else tree
    return struct.pack(f"!II{len(tensors)}Q", len(data), len(tensors), *map(len, tensors)) + data + b"".join(tensors)


DEEP = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("data", [
    struct.pack("!II", 2**31, 0), struct.pack("!II", 10, 2**31), struct.pack("!IIQ", 2, 1, 2**60) + b"{}",
    message(b"no json"), message(b"[]"), message(b"\xff\xff"), message(b"1" * 5000), message(DEEP), b"\0" * 4])
def test_receive_refuses_invalid_frames(ends, data):
    ends[1].sendall(data)
    ends[1].shutdown(socket.SHUT_WR)
    with pytest.raises(Broken):
        Channel(ends[0]).receive(time.monotonic() + 5)


@pytest.mark.parametrize("tree", [
    {"tensor": 0, "dtype": "float32", "shape": [3]}, {"tensor": 1, "dtype": "float32", "shape": [2]},
    {"tensor": -1, "dtype": "float32", "shape": [2]}, {"tensor": 0, "dtype": "object", "shape": [2]},
    {"tensor": 0, "dtype": "float32", "shape": [-2]}, {"tensor": 0, "dtype": "float32", "shape": 2},
    {"tensor": 0, "dtype": "float32", "shape": [2**62, 2**62]}, {"tensor": 0, "dtype": "float32", "shape": [1] * 40 + [2]},
    {"tensor": 0}, {"tensor": True, "dtype": "float32", "shape": [2]}, {"list": 3}, {"list": [[1]]}, [1], {}, {"pickle": "x"},
    {"dict": [[{"list": []}, 1]]}, {"dict": [[1]]}, {"dict": 3}, {"yours": 0}, {"yours": -1}, {"function": -1},
    {"list": [{"tensor": 0, "dtype": "bool", "shape": [8]}] * 2}, {"function": "os.system"}, 2**63, {"list": [10**30]}])
def test_unpack_refuses_invalid_data(tree):
    with pytest.raises(Broken):
        endpoint().unpack(tree, [bytearray(8)])


def test_receive_has_deadline(ends):
    def drip():
        for byte in message({"reply": 1, "data": None}):
            try:
                ends[1].send(bytes([byte]))
            except OSError:
                return
            time.sleep(0.05)

    with pytest.raises(TooSlow):
        Channel(ends[0]).receive(time.monotonic() + 0.05)
    threading.Thread(target=drip, daemon=True).start()
    began = time.monotonic()
    with pytest.raises(TooSlow):
        Channel(ends[0]).receive(time.monotonic() + 0.2)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("size", [0, 1000, 3_000_000])
def test_timeout_leaves_no_message_half_read(ends, size):
    """The rest of it would be taken for the start of another."""
    data, here = message({"reply": 1, "data": None}, bytes(size)), Channel(ends[0])

    def halves():
        ends[1].sendall(data[:4])
        time.sleep(0.3)
        ends[1].sendall(data[4:] + message({"reply": 2}))

    thread = threading.Thread(target=halves, daemon=True)
    with pytest.raises(OutOfTime), time_limit(0.1):
        thread.start()
        here.receive(soon())
        while True:
            time.sleep(0.01)
    while here.receive(soon())[0]["reply"] != 2:
        pass


def serving(sock, **answers):
    """An end that answers on a thread."""
    other = Endpoint(Channel(sock), answers)

    def serve():
        try:
            other.serve()
        except (Broken, OSError):
            pass

    threading.Thread(target=serve, daemon=True).start()
    return other


def soon():
    return time.monotonic() + 5


def test_functions_are_called_remotely(ends):
    seen = []
    serving(ends[1], use=lambda f: f(torch.ones(2), scale=3), give=lambda _: lambda x: x + 1)
    here = Endpoint(Channel(ends[0]))

    def mine(x, scale):
        seen.append(scale)
        return x * scale

    assert here.ask("use", mine, soon()).tolist() == [3, 3] and seen == [3]
    assert here.ask("give", None, soon())(torch.zeros(2)).tolist() == [1, 1]


def test_remote_error_is_raised(ends):
    def use(f):
        try:
            f()
        except RuntimeError as problem:
            return str(problem)

    serving(ends[1], use=use)
    assert Endpoint(Channel(ends[0])).ask("use", lambda: 1 / 0, soon()) == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("question", [
    {"ask": "anything", "number": 1}, {"ask": ["x"], "number": 1}, {"ask": "apply", "number": 1, "data": {"list": [0, 1]}},
    {"ask": "apply", "number": 1, "data": {"list": [5, {"list": []}, {"dict": []}]}}, {"ask": "apply", "number": "x"}])
def test_serve_refuses_unknown_questions(ends, question):
    ends[1].sendall(message(question))
    with pytest.raises(Broken):
        Endpoint(Channel(ends[0])).ask("x", None, soon())


def test_ask_drops_stale_replies(ends):
    stale = message({"reply": 99, "data": None})
    ends[1].sendall(stale + message({"reply": 1, "data": 7}))
    assert Endpoint(Channel(ends[0])).ask("x", None, soon()) == 7
    threading.Thread(target=lambda: [ends[1].sendall(stale) for _ in range(wire.STALE + 2)], daemon=True).start()
    with pytest.raises(Broken, match="replies to nothing"):
        Endpoint(Channel(ends[0])).ask("x", None, soon())


def test_generator_round_trip(ends):
    def draws(data):
        torchs, pythons = data
        return torch.rand(3, generator=torchs), pythons.random(), pythons.gauss(0, 1)

    other = serving(ends[1], draw=draws)
    other.generators = True
    here, torchs, pythons = Endpoint(Channel(ends[0])), torch.Generator().manual_seed(7), random.Random(7)
    torch.rand(5, generator=torchs)
    pythons.gauss(0, 1)                                      # leaves a second draw in the state
    first = here.ask("draw", [torchs, pythons], soon())
    again = here.ask("draw", [torchs, pythons], soon())      # what was drawn there is not gone here
    assert torch.equal(first[0], again[0]) and first[1:] == again[1:]
    expected = draws([torchs, pythons])
    assert torch.equal(first[0], expected[0]) and first[1:] == expected[1:]
