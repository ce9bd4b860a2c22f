# SPDX-License-Identifier: Apache-2.0
"""The probes of ``anyarray.cli.order``: each says the truth about itself, and the comparison with the libraries works.

What the installed libraries decide is compared with their presets in ``test_order.py``.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa
from anyarray.cli.cases import BufferView
from anyarray.cli.order import check, natives, probes
from anyarray.cli.order.check import Row
from anyarray.cli.order.natives import NATIVES, Native, Outcome

from .conftest import needs

SERVED = [row for row in probes.VALUES if row in {name for name, *_ in aa.protocols()}]
EVERY_STATE = [(row, state) for row in probes.VALUES for state in probes.STATES[row]]
CALLED = {"dlpack", "array_method", "arrow_array"}


def read(row: str, probe: Any) -> Any:
    """Uses a protocol in the plainest way."""
    if row == "array_method":
        needs("numpy")
    if row == "buffer":
        return memoryview(probe)
    if row == "dlpack_exchange":
        view = aa.view(probe, policy=[row])
        return view
    got = getattr(probe, probes.ATTRIBUTES[row])
    return got() if row in CALLED else got


# ------------------------------------------------------------------ each protocol leads to its own data


@pytest.mark.parametrize("state", ["offered", "readonly", "instance"])
@pytest.mark.parametrize("row", SERVED)
def test_lone_protocol_gives_its_data(row: str, state: str) -> None:
    if state not in probes.STATES[row]:
        assert row in ("buffer", "arrow_array"), "a buffer is of the type, and Arrow knows no read-only data"
        return
    if row == "array_method":
        needs("numpy")
    probe = probes.build({row: state})
    if (row, state) == ("dlpack_exchange", "instance"):
        with pytest.raises(aa.NotAnArrayError):
            aa.view(probe, policy=[row])
        return
    array = aa.view(probe, policy=[row])
    assert (array.protocol, array.shape, str(array.dtype)) == (row, (4,), "float32")
    assert array.readonly is (state == "readonly" or row == "arrow_array")
    if row in ("cuda_array_interface", "sycl_usm_array_interface"):  # not for the host to read, and yet it is
        values = list((ctypes.c_float * 4).from_address(array.ptr))
    else:
        values = array.tolist()
    assert values == [probes.VALUES[row]] * 4


@pytest.mark.parametrize("row", SERVED)
def test_of_all_that_are_offered_the_one_that_is_asked_for_is_taken(row: str) -> None:
    if row == "array_method":
        needs("numpy")
    probe = probes.build(dict.fromkeys(probes.VALUES, "offered"))
    assert aa.view(probe, policy=[row]).protocol == row
    word = {"buffer": "buffer", "dlpack_exchange": "exchange table"}.get(row) or probes.ATTRIBUTES[row]
    used = [line.partition(" ")[2] for line in probe.probe_log]
    assert used and all(line.startswith((word, "__dlpack_device__()")) for line in used)


def test_values_tell_protocols_apart_as_bytes_too() -> None:
    assert len(set(probes.VALUES.values())) == len(probes.VALUES)
    assert [natives.row_of(value) for value in probes.VALUES.values()] == list(probes.VALUES)
    for value in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="no protocol"):
            natives.row_of(value)


# ------------------------------------------------------------------ states


@pytest.mark.parametrize(("row", "state"), [(r, s) for r, s in EVERY_STATE if s.startswith(("read:", "call:"))])
def test_failing_states_raise_what_they_say(row: str, state: str) -> None:
    kind, name = state.split(":")
    probe = probes.build({row: state})
    error = probes.ERRORS[name]
    if row == "dlpack_exchange":
        with pytest.raises(aa.ExchangeError) as caught:
            aa.view(probe, policy=[row])
        assert type(caught.value.attempts[0].exception) is error
        return
    with pytest.raises(error, match="the probe's"):
        read(row, probe)
    if kind == "call" and row != "buffer":
        getattr(probe, probes.ATTRIBUTES[row])
    if name == "AttributeError" and kind == "read":
        assert not hasattr(probe, probes.ATTRIBUTES[row])


@pytest.mark.parametrize("state", [s for s in probes.STATES["dlpack"] if s.startswith("device:")])
def test_states_of_the_device_leave_the_rest_alone(state: str) -> None:
    probe: Any = probes.build({"dlpack": state})
    assert hasattr(probe, "__dlpack__") is (state != "device:only")
    if state == "device:absent":
        assert not hasattr(probe, "__dlpack_device__")
    elif state == "device:none":
        assert probe.__dlpack_device__ is None
    elif state == "device:only":
        assert probe.__dlpack_device__() == (1, 0)
    elif state == "device:wrong:type":
        assert probe.__dlpack_device__() == "cpu"
    else:
        with pytest.raises(probes.ERRORS[state.rpartition(":")[2]]):
            probe.__dlpack_device__()


@pytest.mark.parametrize("row", [row for row in probes.VALUES if "instance" in probes.STATES[row]])
def test_instance_only_protocols_arent_on_the_type(row: str) -> None:
    probe = probes.build({row: "instance"})
    names = {probes.ATTRIBUTES[row]} | ({"__dlpack_device__"} if row == "dlpack" else set())
    assert names <= set(vars(probe))
    assert not any(hasattr(type(probe), name) for name in names)


@pytest.mark.parametrize("row", [row for row in probes.VALUES if "none" in probes.STATES[row]])
def test_none_is_on_the_type(row: str) -> None:
    assert vars(type(probes.build({row: "none"})))[probes.ATTRIBUTES[row]] is None


@pytest.mark.parametrize(("row", "state"), [(r, s) for r, s in EVERY_STATE if s.startswith("wrong:") and r in SERVED])
def test_wrong_data_is_refused_and_named(row: str, state: str) -> None:
    if row == "array_method":
        needs("numpy")
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(probes.build({row: state}), policy=[row])
    assert caught.value.attempts[0].status in ("invalid", "unsupported", "failed")


@pytest.mark.parametrize(
    ("state", "words"), [("old:stream", {"stream": None}), ("old:bare", {}), ("old:capsule", {"max_version": (1, 0)})]
)
def test_old_producers_know_no_versions(state: str, words: dict[str, Any]) -> None:
    probe: Any = probes.build({"dlpack": state})
    assert '"dltensor"' in repr(probe.__dlpack__(**words))
    if state != "old:capsule":
        with pytest.raises(TypeError):
            probe.__dlpack__(max_version=(1, 0))
    assert aa.view(probe, policy=["dlpack"]).tolist() == [probes.VALUES["dlpack"]] * 4


def test_read_only_producer_gives_no_legacy_capsule() -> None:
    probe: Any = probes.build({"dlpack": "readonly"})
    with pytest.raises(BufferError):
        probe.__dlpack__()
    assert '"dltensor_versioned"' in repr(probe.__dlpack__(max_version=(1, 0)))


@pytest.mark.parametrize("states", [{"buffer": "none"}, {"dlpack": "gone"}, {"dlpak": "offered"}])
def test_unknown_states_are_refused(states: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no such state"):
        probes.build(states)


# ------------------------------------------------------------------ the buffer slot


def test_buffer_slot_is_of_one_class_and_counts() -> None:
    probe = probes.build({"buffer": "offered"})
    before = sys.getrefcount(probe)
    view = memoryview(probe)
    assert (view.format, view.shape, view.strides, view.readonly, view.obj) == ("f", (4,), (4,), False, probe)
    assert sys.getrefcount(probe) > before
    view.release()
    del view
    assert sys.getrefcount(probe) == before
    assert not hasattr(probe, "__buffer__"), "the slot is the only offer"
    with pytest.raises(TypeError):
        memoryview(probes.build({}))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        memoryview(probes.Probe())  # type: ignore[arg-type]


def request(probe: object, flags: int) -> BufferView:
    """What a consumer in C is given for these flags; given back at once."""
    python = ctypes.PyDLL(None)
    view = BufferView()
    python.PyObject_GetBuffer(ctypes.py_object(probe), ctypes.byref(view), flags)
    python.PyBuffer_Release(ctypes.byref(view))
    return view


def test_buffer_is_as_much_as_was_asked_for() -> None:
    probe = probes.build({"buffer": "offered"})
    simple, strided, full = (request(probe, flags) for flags in (0x0, 0x18, 0x11C))
    assert (simple.format, simple.shape, simple.strides, simple.len, simple.ndim) == (None, None, None, 16, 1)
    assert (strided.format, bool(strided.shape), bool(strided.strides)) == (None, True, True)
    assert (full.format, bool(full.shape), bool(full.strides), full.suboffsets) == (b"f", True, True, None)
    assert request(probe, 0x1).readonly == 0


def test_read_only_buffer_refuses_writers() -> None:
    probe = probes.build({"buffer": "readonly"})
    assert request(probe, 0x0).readonly == 1
    with pytest.raises(BufferError, match="read-only"):
        request(probe, 0x1)
    request(probe, 0x0)  # and is none the worse for it


def test_classes_of_probes_go_away() -> None:
    gc.collect()
    before = len(probes.Probe.__subclasses__())
    made = [probes.build(states) for states in probes.descriptions(["buffer"], ["buffer", "dlpack_exchange"])]
    assert len(probes.Probe.__subclasses__()) == before + len(made)
    made.clear()
    gc.collect()
    assert len(probes.Probe.__subclasses__()) == before


# ------------------------------------------------------------------ names


def test_names_are_systematic_and_say_all() -> None:
    assert probes.name_of({}) == "nothing"
    assert probes.name_of({"dlpack": "absent"}) == "nothing"
    assert probes.name_of({"dlpack": "call:BufferError", "buffer": "offered"}) == (
        "buffer=offered,dlpack=call:BufferError"
    )
    made = list(probes.descriptions(["buffer", "dlpack", "cuda_array_interface"]))
    names = [probes.name_of(states) for states in made]
    assert len(set(names)) == len(names)
    assert [probes.states_of(name) for name in names] == made
    assert all(probes.build(states).probe_name == name for states, name in zip(made[:50], names, strict=False))


def test_descriptions_hold_everything_that_was_promised() -> None:
    known = ["buffer", "dlpack", "array_interface"]
    names = {probes.name_of(states) for states in probes.descriptions(known)}
    assert "nothing" in names
    for row, state in EVERY_STATE:
        assert probes.name_of({row: state}) in names
        for other in probes.VALUES:
            if other != row:
                assert probes.name_of({row: state, other: "offered"}) in names
        rest = {other: "offered" for other in probes.VALUES if other != row}
        assert {probes.name_of(rest), probes.name_of({**rest, row: state})} <= names
    for chosen in range(8):
        states = {row: "offered" for bit, row in enumerate(known) if chosen >> bit & 1}
        assert probes.name_of(states) in names


# ------------------------------------------------------------------ comparing


def native(knows: tuple[str, ...] = ("buffer", "dlpack")) -> Native:
    return Native("library", "preset", "sys", "library", knows, lambda: lambda probe: 0.0)


def compare(rows: list[Row], ours: check.Ours, knows: tuple[str, ...] = ("buffer", "dlpack")) -> check.Agreement:
    return check.compare(native(knows), iter(rows), ours, lambda done: None)


def test_agreement_is_the_same_row_or_both_refuse() -> None:
    rows = [
        Row("buffer=offered", Outcome("buffer")),
        Row("dlpack=none", Outcome(None, "TypeError: no")),
        Row("buffer=offered,dlpack=offered", Outcome("dlpack")),
        Row("dlpack=offered", Outcome(None, "BufferError: never")),
    ]
    result = compare(rows, check.imitate(["buffer", "dlpack"]))
    assert (result.probes, result.agreed, result.failed) == (4, 2, True)
    assert [(d.probe, d.native, d.native_detail, d.ours) for d in result.disagreements] == [
        ("buffer=offered,dlpack=offered", "dlpack", "", "buffer"),
        ("dlpack=offered", None, "BufferError: never", "dlpack"),
    ]
    assert json.loads(json.dumps(result.as_dict()))["disagreements"][1]["probe"] == "dlpack=offered"


def test_crashes_and_rows_that_arent_served_are_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Row("dlpack=offered", Outcome(None, "killed"), crashed="killed"),
        Row("usm=offered", Outcome("usm")),
        Row("buffer=offered", Outcome("buffer")),
    ]
    ours = check.imitate(["buffer"])
    monkeypatch.setitem(probes.STATES, "usm", ["offered"])
    result = compare(rows, ours, ("buffer", "usm"))
    assert (result.agreed, result.crashed, result.out_of_scope) == (1, [], {"usm": 1})
    assert [(d.probe, d.native, d.native_detail, d.ours) for d in result.disagreements] == [
        ("dlpack=offered", None, "killed", None)
    ], "both refuse, but who refuses doesn't end the process"
    assert result.failed
    monkeypatch.setattr(check, "CRASHES", (check.Known("library", "dlpack", ("offered",), "can't stand it"),))
    result = compare(rows, ours, ("buffer", "usm"))
    assert (result.agreed, result.crashed, result.out_of_scope) == (1, ["dlpack=offered"], {"usm": 1})
    assert not result.failed


def test_known_differences_are_counted_by_reason_and_told_when_they_have_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    known = check.Known("library", "dlpack", ("none", "readonly"), "likes None")
    monkeypatch.setattr(check, "KNOWN", (known, check.Known("other", "buffer", ("offered",), "of another")))
    ours = check.imitate(["buffer", "dlpack"])
    same = Row("buffer=offered", Outcome("buffer"))
    result = compare([same, Row("dlpack=none", Outcome("dlpack"))], ours)
    assert (result.known, result.stale, result.disagreements, result.failed) == ({"likes None": 1}, [], [], False)
    result = compare([same, Row("dlpack=none", Outcome(None))], ours)
    assert (result.agreed, result.known, result.stale, result.failed) == (
        2,
        {},
        ["dlpack=none|readonly: likes None"],
        True,
    )


def test_known_differences_name_what_there_is() -> None:
    for known in (*check.KNOWN, *check.CRASHES):
        assert known.row in NATIVES[known.consumer].knows
        assert set(known.states) <= set(probes.STATES[known.row])


def test_what_cant_be_run_is_named() -> None:
    with pytest.raises(KeyError):
        check.check("nosuch")
    NATIVES["library"] = Native("library", "nosuch", "no_such_module", "no-such-thing", ("buffer",), lambda: float)
    try:
        result = check.check("library")
        assert (result.status, result.reason, result.failed) == ("no preset", "there is no preset 'nosuch'", False)
        result = check.check("library", check.imitate("numpy"))
        assert (result.status, result.reason) == ("not installed", "pip install no-such-thing")
    finally:
        del NATIVES["library"]


def test_policy_that_isnt_one_shows_in_the_outcome() -> None:
    outcome = check.imitate("nosuch")(probes.build({"buffer": "offered"}))
    assert outcome.row is None and outcome.detail.startswith("ValueError: ")


# ------------------------------------------------------------------ the process of a library


def interpreter(folder: Path, script: str) -> str:
    """A program that stands for the interpreter in which a library is installed."""
    path = folder / "python"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\nskip = int(sys.argv[-1].partition('=')[2])\n"
                    f"def say(**event): print(json.dumps(event), flush=True)\n{script}")  # fmt: skip
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def run(folder: Path, script: str) -> Iterator[Row]:
    return check.NativeRun(native(), interpreter(folder, script)).rows()


@pytest.mark.skipif("ANYARRAY_SANITIZED" in os.environ, reason="AddressSanitizer gives crashes a status of its own")
def test_process_that_ends_costs_its_probe_alone(tmp_path: Path) -> None:
    script = """
say(event="start", version="7", cases=4)
for index in range(skip, 4):
    say(event="case", index=index, probe=f"p{index}")
    if index in (1, 2):
        os.kill(os.getpid(), 6 if index == 1 else 11)
    say(event="row", index=index, probe=f"p{index}", row="buffer", detail="", log=["call buffer"])
say(event="end")
"""
    rows = list(run(tmp_path, script))
    assert [row.probe for row in rows] == ["p0", "p1", "p2", "p3"]
    assert [row.outcome.row for row in rows] == ["buffer", None, None, "buffer"]
    assert ["SIGABRT" in rows[1].crashed, "SIGSEGV" in rows[2].crashed, rows[3].crashed] == [True, True, ""]
    assert rows[0].log == ("call buffer",)


@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("say(event='unusable', version='7', reason='ImportError: no')", "unusable", "ImportError: no"),
        ("sys.exit(3)", "crashed", "status 3"),
        ("print('{\"event')", "crashed", "status 0"),
        ("say(event='case', index=skip, probe='p'); os.kill(os.getpid(), 9)", "crashed", "given up"),
    ],
)
def test_process_that_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, status: str, words: str
) -> None:
    monkeypatch.setattr(check, "MAX_RESTARTS", 2)
    with pytest.raises(check.UnusableError, match=words) as caught:
        list(run(tmp_path, script))
    assert caught.value.status == status


def test_process_that_hangs_in_a_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "PROBE_TIMEOUT", 0.5)
    script = """
import time
say(event="start", version="7", cases=2)
if skip == 0:
    say(event="case", index=0, probe="p0")
    time.sleep(60)
say(event="case", index=1, probe="p1")
say(event="row", index=1, probe="p1", row=None, detail="TypeError: no", log=[])
say(event="end")
"""
    rows = list(run(tmp_path, script))
    assert [(row.probe, "no sign" in row.crashed) for row in rows] == [("p0", True), ("p1", False)]


def test_presets_of_all_ways_in_are_there() -> None:
    assert {one.preset for one in NATIVES.values()} <= set(aa.presets())
