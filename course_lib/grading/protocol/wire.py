"""Messages of plain data between grader and worker: two numbers (length of the header, number of tensors), the length of each tensor, the
header in JSON, the bytes of the tensors. Of a function its number is sent. Each end limits and validates what it accepts."""
import json
import math
import random
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lib.grading.protocol.calls import BrokenRule, defer_timeout, plain

HEADER = 8_000_000              # bytes
TENSORS = 10_000
BYTES = 64_000_000              # of all tensors of one message
DEPTH = 24
STALE = 1_000                   # replies to older questions, dropped
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in (
    torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.bool, torch.complex64, torch.complex128)}


class Broken(Exception):
    """The other end closed, or sent something that is not a message."""


class TooSlow(Exception):
    """No message in time."""


class TooLarge(ValueError):
    """A value that does not fit in a message."""


class Channel:
    """Frames over a stream socket. `until` is a time of `time.monotonic`, or None to wait for ever."""

    def __init__(self, sock: socket.socket):
        self.sock = sock

    def send(self, header: dict, tensors: list[bytes], until: float | None = None) -> None:
        """Send one message. Raises TooLarge, and TooSlow after `until`."""
        data = json.dumps(header).encode()
        if len(data) > HEADER or len(tensors) > TENSORS or sum(map(len, tensors)) > BYTES:
            raise TooLarge("more data than a message may hold")
        lengths = struct.pack(f"!II{len(tensors)}Q", len(data), len(tensors), *map(len, tensors))
        try:
            self.sock.settimeout(seconds_left(until))
            with defer_timeout():
                self.sock.sendall(b"".join([lengths, data, *tensors]))
        except TimeoutError:
            raise TooSlow from None
        except OSError as problem:
            raise Broken("the connection is closed") from problem

    def receive(self, until: float | None = None) -> tuple[dict, list[bytearray]]:
        """The next message. Raises Broken for one that breaks a bound, TooSlow after `until`."""
        self.read_some(lambda: self.sock.recv(1, socket.MSG_PEEK), until)         # only the wait for it may be interrupted
        with defer_timeout():
            size, count = struct.unpack("!II", self.read_exactly(8, until))
            if size > HEADER or count > TENSORS:
                raise Broken("a header that is too large")
            lengths = struct.unpack(f"!{count}Q", self.read_exactly(8 * count, until))
            if sum(lengths) > BYTES:
                raise Broken("tensors that are too large")
            try:
                header = json.loads(self.read_exactly(size, until))
            except (ValueError, RecursionError, MemoryError):
                raise Broken("a header that is not JSON") from None
            if not isinstance(header, dict):
                raise Broken("a header that is not an object")
            return header, [self.read_exactly(length, until) for length in lengths]

    def read_exactly(self, count: int, until: float | None) -> bytearray:
        data, at = bytearray(count), 0
        while at < count:
            at += self.read_some(lambda: self.sock.recv_into(memoryview(data)[at:]), until)
        return data

    def read_some(self, read: Callable, until: float | None) -> Any:
        """What `read` has from the socket. Raises Broken if that is nothing."""
        try:
            self.sock.settimeout(seconds_left(until))
            got = read()
        except TimeoutError:
            raise TooSlow from None
        except OSError as problem:
            raise Broken("the connection is closed") from problem
        if not got:
            raise Broken("the connection is closed")
        return got


def seconds_left(until: float | None) -> float | None:
    """Seconds until then, for a socket. Raises TooSlow if there are none."""
    if until is None:
        return None
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TooSlow
    return seconds


class RemoteFunction:
    """A function or module of the other end; calling it asks there."""

    def __init__(self, endpoint: "Endpoint", number: int):
        self._endpoint, self._number = endpoint, number
        self.__name__ = self.__qualname__ = "function"

    def __call__(self, *args, **kwargs):
        return self._endpoint.apply(self._number, args, kwargs)


class Endpoint:
    """One end of a conversation: `answers` by the kind of question; `run` replies to a call of one of this end's functions. The grader accepts
    no `generators`, since code below Python reads their states."""

    def __init__(self, channel: Channel, answers: dict[str, Callable[[Any], Any]] | None = None,
                 run: Callable[[Callable, list, dict], dict] | None = None, generators: bool = False):
        self.channel, self.until, self.run, self.generators = channel, None, run or run_function, generators
        self.answers = {"apply": self.answer_apply, **(answers or {})}
        self.functions: list[Callable] = []
        self.count = 0

    def ask(self, kind: str, data: Any, until: float | None = None) -> Any:
        """The other end's answer. Its own questions are answered meanwhile."""
        before, self.until = self.until, until if until is not None else self.until
        self.count += 1
        number = self.count
        try:
            self.put({"ask": kind, "number": number}, data)
            stale = 0
            while True:
                header, tensors = self.channel.receive(self.until)
                if "ask" in header:
                    self.answer(header, tensors)
                elif header.get("reply") == number:
                    return self.unpack(header.get("data"), tensors)
                elif (stale := stale + 1) > STALE:
                    raise Broken("replies to nothing")
        finally:
            self.until = before

    def serve(self) -> None:
        """Answer until the other end closes."""
        while True:
            header, tensors = self.channel.receive()
            if "ask" in header:
                self.answer(header, tensors)

    def answer(self, header: dict, tensors: list[bytearray]) -> None:
        kind, number = header["ask"], header.get("number")
        if not isinstance(kind, str) or kind not in self.answers or not isinstance(number, int):
            raise Broken("a question that may not be asked")
        result = self.answers[kind](self.unpack(header.get("data"), tensors))
        try:
            self.put({"reply": number}, result)
        except (TooLarge, TypeError, ValueError, RecursionError, RuntimeError) as problem:
            self.put({"reply": number}, {"kind": "error", "detail": f"its answer cannot be sent: {problem}"[:500]})

    def put(self, header: dict, data: Any) -> None:
        tensors: list[bytes] = []
        header["data"] = self.pack(data, tensors)
        self.channel.send(header, tensors, self.until)

    def apply(self, number: int, args: tuple, kwargs: dict) -> Any:
        """Call the other end's function; raises RuntimeError with what went wrong there."""
        reply = self.ask("apply", [number, plain(list(args)), plain(kwargs)])
        if not isinstance(reply, dict) or reply.get("kind") != "value":
            detail = str(reply.get("detail") if isinstance(reply, dict) else "no answer")[:500]
            raise BrokenRule(detail) if isinstance(reply, dict) and reply.get("rule") else RuntimeError(detail)
        return reply.get("value")

    def answer_apply(self, data: Any) -> dict:
        try:
            number, args, kwargs = data
            function = self.functions[natural_number(number)]
        except (IndexError, TypeError, ValueError):
            raise Broken("a call of no function") from None
        return self.run(function, args, kwargs)

    def pack(self, value: Any, tensors: list[bytes], depth: int = 0) -> Any:
        """`value` as JSON; the bytes of its tensors are appended to `tensors`."""
        if depth > DEPTH:
            raise TooLarge("lists within lists, too deep for a message")
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, Tensor):
            dense = value.detach().cpu().resolve_conj().resolve_neg().contiguous().as_subclass(Tensor)
            name = str(dense.dtype).removeprefix("torch.")
            if name not in DTYPES:
                raise TypeError(f"a tensor of {name}")
            tensors.append(dense.reshape(-1).view(torch.uint8).numpy().tobytes())
            return {"tensor": len(tensors) - 1, "dtype": name, "shape": list(dense.shape)}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.pack(part, tensors, depth + 1) for part in value]}
        if type(value) is dict:
            return {"dict": [[self.pack(part, tensors, depth + 1) for part in item] for item in value.items()]}
        if isinstance(value, torch.Generator):
            return {"generator": self.pack(value.get_state(), tensors, depth + 1)}
        if isinstance(value, random.Random):
            version, numbers, following = value.getstate()
            return {"random": self.pack([version, list(numbers), following], tensors, depth + 1)}
        if isinstance(value, RemoteFunction) and value._endpoint is self:
            return {"yours": value._number}
        if callable(value):
            self.functions.append(value)
            return {"function": len(self.functions) - 1}
        raise TypeError(f"an object of type {type(value).__name__}")

    def unpack(self, tree: Any, tensors: list[bytearray], depth: int = 0) -> Any:
        """What `pack` packed. Raises Broken for anything else."""
        if depth > DEPTH:
            raise Broken("data that are nested too deeply")
        if tree is None or type(tree) in (bool, float, str) or type(tree) is int and -2**63 <= tree < 2**63:
            return tree
        if type(tree) is not dict or not tree:
            raise Broken("data of no known kind")
        kind = next(iter(tree))
        part = tree[kind]
        try:
            if kind == "tensor":                             # each once: what a message unpacks to is bounded by its size
                data, tensors[part] = tensors[natural_number(part)], None
                return restore_tensor(data, tree["dtype"], tree["shape"])
            if kind == "list":
                return [self.unpack(item, tensors, depth + 1) for item in part]
            if kind == "tuple":
                return tuple(self.unpack(item, tensors, depth + 1) for item in part)
            if kind == "dict":
                return {self.unpack(key, tensors, depth + 1): self.unpack(item, tensors, depth + 1) for key, item in part}
            if kind == "function":
                return RemoteFunction(self, natural_number(part))
            if kind in ("generator", "random") and self.generators:
                return restore_generator(kind, self.unpack(part, tensors, depth + 1))
            if kind == "yours":
                return self.functions[natural_number(part)]
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as problem:
            raise Broken("data that do not hold together") from problem
        raise Broken("data of no known kind")


def run_function(function: Callable, args: list, kwargs: dict) -> dict:
    """The reply to a call of one of this end's functions."""
    try:
        return {"kind": "value", "value": plain(function(*args, **kwargs))}
    except (Broken, TooSlow):
        raise
    except BrokenRule as problem:
        return {"kind": "error", "detail": str(problem), "rule": True}
    except Exception as problem:
        return {"kind": "error", "detail": f"{type(problem).__name__}: {problem}"[:500]}


def restore_generator(kind: str, state: Any) -> torch.Generator | random.Random:
    """The generator in this state."""
    if kind == "generator":
        return torch.Generator().set_state(state)
    version, numbers, following = state
    generator = random.Random()
    generator.setstate((version, tuple(numbers), following))
    return generator


def natural_number(value: Any) -> int:
    """An integer from 0 to 2^31 - 1 that came over the wire, or a ValueError."""
    if type(value) is not int or not 0 <= value < 2**31:
        raise ValueError("not a natural number")
    return value


def restore_tensor(data: bytearray, dtype: str, shape: list[int]) -> Tensor:
    """The tensor with these bytes."""
    kind, shape = DTYPES[dtype], [natural_number(size) for size in shape]
    if len(shape) > 32 or math.prod(shape) * kind.itemsize != len(data):
        raise ValueError("bytes that do not fill the shape")
    if not data:
        return torch.empty(shape, dtype=kind)
    if kind is torch.bool:                               # a byte of a boolean is 0 or 1, whatever was sent
        return (torch.frombuffer(data, dtype=torch.uint8) != 0).reshape(shape)
    return torch.frombuffer(data, dtype=kind).reshape(shape)
