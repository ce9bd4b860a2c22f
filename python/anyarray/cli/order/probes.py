# SPDX-License-Identifier: Apache-2.0
"""Probe objects: each protocol that one offers leads to other data, so what comes out tells which was taken.

A probe is described by a state for each protocol; `STATES` lists them. Its name is made of these and never changes:
"buffer=offered,dlpack=call:BufferError". Probes keep a log of what was read and called.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from . import abi

#: Value of all elements of what a protocol leads to; the order is that of names.
VALUES: dict[str, float] = {
    "buffer": 1.0,
    "dlpack_exchange": 2.0,
    "dlpack": 3.0,
    "array_struct": 4.0,
    "array_interface": 5.0,
    "array_method": 6.0,
    "cuda_array_interface": 7.0,
    "sycl_usm_array_interface": 8.0,
    "arrow_array": 9.0,
}

ATTRIBUTES = {
    "dlpack_exchange": "__dlpack_c_exchange_api__",
    "dlpack": "__dlpack__",
    "array_struct": "__array_struct__",
    "array_interface": "__array_interface__",
    "array_method": "__array__",
    "cuda_array_interface": "__cuda_array_interface__",
    "sycl_usm_array_interface": "__sycl_usm_array_interface__",
    "arrow_array": "__arrow_c_array__",
}

#: What probes raise; the last stands for all others.
ERRORS: dict[str, type[Exception]] = {
    error.__name__: error
    for error in (AttributeError, TypeError, BufferError, RuntimeError, ValueError, NotImplementedError, KeyError)
}

_READ = [f"read:{name}" for name in ERRORS]
_CALL = [f"call:{name}" for name in ERRORS]
_DICT = ["offered", "none", *_READ, "instance", "readonly", "wrong:type", "wrong:typestr", "wrong:empty"]

#: What a protocol of a probe may be; "absent" goes without saying. Those that begin with "wrong" give what the
#: protocol doesn't allow, "instance" is a member of the object and not of its type, and `__dlpack_device__` has
#: states of its own while `__dlpack__` works. Those that begin with "old" are producers that know no versions: two that
#: take `stream` alone and nothing at all, and one that takes all and pays no attention.
STATES: dict[str, list[str]] = {
    "buffer": ["offered", *_CALL, "readonly", "wrong:format"],
    "dlpack_exchange": ["offered", "none", *_CALL, "instance", "readonly", "wrong:type", "wrong:name"],
    "dlpack": [
        *("offered", "none", *_READ, *_CALL, "instance", "readonly"),
        *("old:stream", "old:bare", "old:capsule"),
        *(
            "wrong:type",
            "wrong:name",
            "wrong:dtype",
            "device:absent",
            "device:none",
            "device:wrong:type",
            "device:only",
        ),
        *(f"device:{state}" for state in (*_READ, *_CALL)),
    ],
    "array_struct": [
        *("offered", "none", *_READ, "instance", "readonly", "wrong:type", "wrong:name", "wrong:two", "wrong:kind"),
    ],
    "array_interface": _DICT,
    "array_method": [
        *("offered", "none", *_READ, *_CALL, "instance", "readonly", "wrong:type"),
    ],
    "cuda_array_interface": _DICT,
    "sycl_usm_array_interface": _DICT,
    "arrow_array": [
        *("offered", "none", *_READ, *_CALL, "instance", "wrong:type"),
        *("wrong:name", "wrong:format"),
    ],
}

#: Members of `__sycl_usm_array_interface__` that stand for the probes' own: who has SYCL says here where in its memory
#: a copy of the data is, because no SYCL library takes other memory.
USM: dict[str, object] = {}

States = Mapping[str, str]


def _attribute(name: str, get: Callable[[Any], object]) -> property:
    """A member of the type that is worked out anew each time an instance is asked for it."""

    def read(probe: Probe) -> object:
        probe.probe_log.append(f"read {name}")
        return get(probe)

    return property(read)


class Probe:
    """Base of all probes. `probe_log` says what was read and called, in order; of an exchange table, what it gave."""

    probe_name: str
    probe_states: States

    def __init__(self) -> None:
        self.probe_log: list[str] = []
        self.probe_kept: list[object] = []


def name_of(states: States) -> str:
    """The probe's name; protocols stand in the order of `VALUES`."""
    return ",".join(f"{row}={states[row]}" for row in VALUES if states.get(row, "absent") != "absent") or "nothing"


def states_of(name: str) -> dict[str, str]:
    """What `name_of` names."""
    return {} if name == "nothing" else dict(part.split("=", 1) for part in name.split(","))


def _fail(state: str, name: str) -> None:
    """Raises what a state of the form "…:SomeError" says."""
    error = ERRORS.get(state.rpartition(":")[2])
    if error is not None:
        raise error(f"the probe's {name}")


def _dlpack(state: str, max_version: tuple[int, int] | None) -> Any:
    value, code = VALUES["dlpack"], 99 if state == "wrong:dtype" else 2
    if state.startswith("call:"):
        _fail(state, "__dlpack__")
    if state == "wrong:type":
        return 3
    if max_version is not None and max_version[0] >= 1 and state != "old:capsule":
        flags = abi.READ_ONLY if state == "readonly" else 0
        name = "something_else" if state == "wrong:name" else "dltensor_versioned"
        return abi.capsule(abi.versioned(value, flags, code), name)
    if state == "readonly":
        raise BufferError("the probe is read-only, and a legacy capsule can't say so")
    return abi.capsule(abi.legacy(value, code), "something_else" if state == "wrong:name" else "dltensor")


def _dlpack_method(state: str) -> Callable[..., object]:
    def __dlpack__(  # noqa: N807
        probe: Probe,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: object = None,
        copy: object = None,
    ) -> object:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        words = ", ".join(f"{word}={value}" for word, value in given.items() if value is not None)
        probe.probe_log.append(f"call __dlpack__({words})")
        return _dlpack(state, max_version)

    def stream_only(probe: Probe, *, stream: object = None) -> object:
        probe.probe_log.append(f"call __dlpack__({'' if stream is None else f'stream={stream}'})")
        return _dlpack(state, None)

    def bare(probe: Probe) -> object:
        probe.probe_log.append("call __dlpack__()")
        return _dlpack(state, None)

    return {"old:stream": stream_only, "old:bare": bare}.get(state, __dlpack__)


def _dlpack_device_method(state: str) -> Callable[..., object]:
    def __dlpack_device__(probe: Probe) -> object:  # noqa: N807
        probe.probe_log.append("call __dlpack_device__()")
        _fail(state, "__dlpack_device__")
        return "cpu" if state == "wrong:type" else (1, 0)

    return __dlpack_device__


def _array_method(state: str) -> Callable[..., object]:
    def __array__(probe: Probe, dtype: Any = None, copy: bool | None = None) -> object:  # noqa: N807, ARG001
        probe.probe_log.append("call __array__")
        _fail(state, "__array__")
        if state == "wrong:type":
            return 3
        import numpy as np

        made: Any = np.full(abi.COUNT, VALUES["array_method"], np.float32)
        made.flags.writeable = state != "readonly"
        return made

    return __array__


def _arrow_method(state: str) -> Callable[..., object]:
    def __arrow_c_array__(probe: Probe, requested_schema: object = None) -> object:  # noqa: N807, ARG001
        probe.probe_log.append("call __arrow_c_array__")
        _fail(state, "__arrow_c_array__")
        if state == "wrong:type":
            return 3
        structs = abi.arrow(VALUES["arrow_array"], "something else" if state == "wrong:format" else "f")
        probe.probe_kept.append(structs)
        names = ("something_else",) * 2 if state == "wrong:name" else ("arrow_schema", "arrow_array")
        return tuple(abi.capsule(ctypes.addressof(made), name) for made, name in zip(structs, names, strict=True))

    return __arrow_c_array__


def _interface(row: str, state: str, _: Probe) -> object:
    """The dict of any of the dict interfaces."""
    _fail(state, ATTRIBUTES[row])
    if state == "wrong:type":
        return 3
    if state == "wrong:empty":
        return {}
    typestr = "something else" if state == "wrong:typestr" else "<f4"
    made: dict[str, Any] = {"shape": (abi.COUNT,), "typestr": typestr, "version": 3, "strides": None}
    made["data"] = (abi.memory(VALUES[row]), state == "readonly")
    if row == "cuda_array_interface":
        made["stream"] = None
    elif row == "sycl_usm_array_interface":
        made.update(version=1, offset=0, syclobj="opencl:cpu:0")
        made.update(USM)
        made["data"] = (made["data"][0], state == "readonly")
    return made


def _array_struct(row: str, state: str, probe: Probe) -> object:
    _fail(state, ATTRIBUTES[row])
    if state == "wrong:type":
        return 3
    kind = b"?" if state == "wrong:kind" else b"f"
    made = abi.array_struct(VALUES[row], state == "readonly", 1 if state == "wrong:two" else 2, kind)
    probe.probe_kept.append(made)
    return abi.capsule(ctypes.addressof(made), "something_else" if state == "wrong:name" else None)


def _exchange_table(state: str) -> object:
    if state == "wrong:type":
        return 3
    return abi.capsule(abi.exchange_table(), "something_else" if state == "wrong:name" else "dlpack_exchange_api")


def _delete_item(buffer: str, table: str) -> Callable[[Any, Any], None]:
    """What `abi` calls where a buffer (a slice) or a tensor of the exchange table (an int) is wanted."""

    def __delitem__(probe: Probe, where: Any) -> None:  # noqa: N807
        abi.clear_error()
        if isinstance(where, slice):
            probe.probe_log.append("call buffer")
            _fail(buffer, "buffer")
            format_ = "something else" if buffer == "wrong:format" else "f"
            flags = where.stop & 0xFFFFFFFF
            abi.fill_view(probe, where.start, flags, VALUES["buffer"], buffer == "readonly", format_)
        else:
            probe.probe_log.append("call exchange table")
            _fail(table, "exchange table")
            made = abi.versioned(VALUES["dlpack_exchange"], abi.READ_ONLY if table == "readonly" else 0)
            ctypes.c_void_p.from_address(where).value = made

    return __delitem__


_METHODS: dict[str, Callable[[str], Callable[..., object]]] = {
    "dlpack": _dlpack_method,
    "array_method": _array_method,
    "arrow_array": _arrow_method,
}


def _member(name: str, state: str, make: Callable[[str], Callable[..., object]]) -> object:
    """A method in this state, as a member of the type."""
    if state == "none":
        return None
    if state.startswith("read:"):
        return _attribute(name, lambda _: _fail(state, name))
    return make(state)


def _members(states: States) -> tuple[dict[str, object], dict[str, Callable[[Probe], object]]]:
    """What stands on the type, and what is worked out for the instance."""
    on_type: dict[str, object] = {}
    on_instance: dict[str, Callable[[Probe], object]] = {}
    for row, state in states.items():
        if row == "buffer":
            continue
        name = ATTRIBUTES[row]
        if row == "dlpack_exchange":
            if state == "instance":
                on_instance[name] = lambda _: _exchange_table("offered")
            else:
                on_type[name] = None if state == "none" else _exchange_table(state)
        elif row in _METHODS:
            on_device, own = (state[7:], "offered") if state.startswith("device:") else ("offered", state)
            if state == "instance":
                on_instance[name] = _METHODS[row](state).__get__
            elif on_device != "only":
                on_type[name] = _member(name, own, _METHODS[row])
            if row == "dlpack" and state == "instance":
                on_instance["__dlpack_device__"] = _dlpack_device_method(state).__get__
            elif row == "dlpack" and on_device != "absent":
                hidden = state == "none" or state.startswith("read:")
                on_device = state if hidden else on_device
                on_type["__dlpack_device__"] = _member("__dlpack_device__", on_device, _dlpack_device_method)
        else:
            make = partial(_array_struct if row == "array_struct" else _interface, row, state)
            if state == "instance":
                on_instance[name] = make
            else:
                on_type[name] = None if state == "none" else _attribute(name, make)
    return on_type, on_instance


def build(states: States, extra: Mapping[str, object] | None = None) -> Probe:
    """A fresh probe of a class of its own. `extra` is further members of that class, for who looks at these first.

    Raises
    ------
    ValueError
        There is no such protocol or state.
    """
    states = {row: state for row, state in states.items() if state != "absent"}
    for row, state in states.items():
        if state not in STATES.get(row, ()):
            raise ValueError(f"{row}={state}: no such state of a probe")
    on_type, on_instance = _members(states)
    body = {"probe_name": name_of(states), "probe_states": states, **on_type, **(extra or {})}
    if "buffer" in states or "dlpack_exchange" in states:
        body["__delitem__"] = _delete_item(states.get("buffer", ""), states.get("dlpack_exchange", ""))
    cls = type("Probe", (Probe,), body)
    if "buffer" in states:
        abi.give_buffer_slot(cls)
    probe: Probe = cls()
    for name, make in on_instance.items():
        probe.__dict__[name] = make(probe)
    return probe


def _every(known: Sequence[str], rows: Sequence[str]) -> Iterator[dict[str, str]]:
    yield {}
    for row in rows:
        for state in STATES[row]:
            yield {row: state}
    for row in rows:
        for state in STATES[row]:
            for other in rows:
                if other != row:
                    yield {row: state, other: "offered"}
            yield {**dict.fromkeys(known, "offered"), row: state}
    everything = dict.fromkeys(rows, "offered")
    yield everything
    for row in rows:
        yield {other: "offered" for other in everything if other != row}
        for state in STATES[row]:
            yield {**everything, row: state}
    for count in range(len(known) + 1):
        for chosen in itertools.combinations(known, count):
            yield dict.fromkeys(chosen, "offered")


def descriptions(known: Sequence[str], rows: Sequence[str] = tuple(VALUES)) -> Iterator[dict[str, str]]:
    """All probes for a consumer that knows the protocols `known`, each once.

    Every state of every protocol of `rows` alone, beside each other protocol, beside all that the consumer knows, and
    beside all; all of them, all but one; and every combination of those known.
    """
    seen: set[str] = set()
    for states in _every(known, rows):
        name = name_of(states)
        if name not in seen:
            seen.add(name)
            yield states
