# SPDX-License-Identifier: Apache-2.0
"""Arrow structs made by hand: every field can lie, and every release is counted.

What is made lives until the process ends, so that a consumer that uses something after its release reads memory that
is still there, and is caught by the counts.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .capsules import new_capsule

I64 = ctypes.c_int64
P = ctypes.c_void_p


class Released(ctypes.Structure):
    """What the three structs have in common: a callback, null once it was called or the struct was moved."""

    release: int | None


class Schema(Released):
    _fields_ = [("format", P), ("name", P), ("metadata", P), ("flags", I64), ("n_children", I64), ("children", P),
                ("dictionary", P), ("release", P), ("private_data", P)]  # fmt: skip


class Array(Released):
    _fields_ = [("length", I64), ("null_count", I64), ("offset", I64), ("n_buffers", I64), ("n_children", I64),
                ("buffers", P), ("children", P), ("dictionary", P), ("release", P), ("private_data", P)]  # fmt: skip


class Stream(Released):
    _fields_ = [("get_schema", P), ("get_next", P), ("get_last_error", P), ("release", P), ("private_data", P)]


_kept: list[Any] = []

Release = ctypes.CFUNCTYPE(None, P)
Fill = ctypes.CFUNCTYPE(ctypes.c_int, P, P)
LastError = ctypes.CFUNCTYPE(P, P)


def keep(thing: Any) -> Any:
    _kept.append(thing)
    return thing


def address(function: Any) -> int:
    value = ctypes.cast(keep(function), P).value
    assert value is not None
    return value


def text(value: bytes | None) -> int | None:
    """The address of bytes, which end in a NUL."""
    return None if value is None else ctypes.cast(keep(ctypes.create_string_buffer(value, len(value) + 1)), P).value


def pointers(values: Sequence[int | None]) -> int:
    return ctypes.addressof(keep((P * max(len(values), 1))(*values)))


def metadata(pairs: dict[bytes, bytes]) -> int | None:
    out = [len(pairs).to_bytes(4, "little")]
    for pair in pairs.items():
        out += [part for word in pair for part in (len(word).to_bytes(4, "little"), word)]
    return text(b"".join(out))


class Log:
    """What was made and released. `then` runs inside of each release, as code of a producer may."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.released: list[str] = []
        self.then: Callable[[], object] = lambda: None

    def release(self, struct: type[Released], name: str) -> int:
        self.made.append(name)

        def run(at: int) -> None:
            self.released.append(name)
            struct.from_address(at).release = None
            self.then()

        return address(Release(run))

    def is_balanced(self) -> bool:
        return sorted(self.made) == sorted(self.released)

    def schema(self, format: bytes | None = b"i", children: Sequence[Schema] = (), /, **fields: Any) -> Schema:
        """A schema. Its children have callbacks that nobody may call."""
        s = keep(Schema())
        s.format, s.name, s.n_children = text(format), text(b""), len(children)
        s.children = pointers([ctypes.addressof(child) for child in children])
        for child in children:
            if child.release:
                child.release = address(Release(lambda at: self.released.append("child")))
                self.made.remove("schema")
        s.release = self.release(Schema, "schema")
        for name, value in fields.items():
            setattr(s, name, value)
        return s

    def array(
        self, length: int = 3, buffers: Sequence[int | None] = (), children: Sequence[Array] = (), /, **fields: Any
    ) -> Array:
        a = keep(Array())
        a.length, a.n_buffers, a.n_children = length, len(buffers), len(children)
        a.buffers, a.children = pointers(buffers), pointers([ctypes.addressof(child) for child in children])
        for child in children:
            if child.release:
                child.release = address(Release(lambda at: self.released.append("child")))
                self.made.remove("array")
        a.release = self.release(Array, "array")
        for name, value in fields.items():
            setattr(a, name, value)
        return a

    def stream(self, schema: Schema | int, chunks: Iterator[Array | int], **fields: Any) -> Stream:
        """A stream that gives `schema` (or an errno) and `chunks` (or errnos), moved as they are."""
        s = keep(Stream())

        def move(source: ctypes.Structure | int, out: int) -> int:
            if isinstance(source, int):
                return source
            ctypes.memmove(out, ctypes.addressof(source), ctypes.sizeof(source))
            return 0

        def get_next(_: int, out: int) -> int:
            chunk = next(chunks, None)
            if chunk is not None:
                return move(chunk, out)
            ctypes.memset(out, 0, ctypes.sizeof(Array))
            return 0

        s.get_schema = address(Fill(lambda _, out: move(schema, out)))
        s.get_next = address(Fill(get_next))
        s.get_last_error = address(LastError(lambda _: text(b"the disk is full")))
        s.release = self.release(Stream, "stream")
        for name, value in fields.items():
            setattr(s, name, value)
        return s


def capsule(struct: Released, name: bytes | None, *, destroys: bool = True) -> Any:
    """A capsule whose destructor releases the struct, unless that was done or the struct was moved."""

    def destroy(_: int) -> None:
        if struct.release:
            Release(struct.release)(ctypes.addressof(struct))

    return new_capsule(ctypes.addressof(struct), text(name), address(Release(destroy)) if destroys else None)


class _Answers:
    """Asked for its method, it gives the answer."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def _give(self, requested_schema: Any = None) -> Any:
        assert requested_schema is None
        return self.answer()


class Arrays(_Answers):
    """Offers `__arrow_c_array__`."""

    __arrow_c_array__ = _Answers._give


class Streams(_Answers):
    """Offers `__arrow_c_stream__`."""

    __arrow_c_stream__ = _Answers._give


def offer(schema: Schema, array: Array) -> Arrays:
    return Arrays(lambda: (capsule(schema, b"arrow_schema"), capsule(array, b"arrow_array")))


def offer_stream(log: Log, schema: Schema | int, chunks: Sequence[Array | int], **fields: Any) -> Streams:
    """As a stream, made when it is asked for."""
    return Streams(lambda: capsule(log.stream(schema, iter(chunks), **fields), b"arrow_array_stream"))


NO_SPACE = errno.ENOSPC
