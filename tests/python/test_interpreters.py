# SPDX-License-Identifier: Apache-2.0
"""Several interpreters: each has its own state, and what one exports may be given back on another's thread.

Each test runs in a process of its own: PyGILState_Check() isn't to be relied on any more in one that had several
interpreters (up to CPython 3.11), and torch relies on it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import anyarray as aa

from .conftest import environment, needs
from .test_produce import Managed

interpreters = needs("_interpreters") if sys.version_info >= (3, 13) else needs("_xxsubinterpreters")


def run(identifier: int, code: str) -> None:
    paths = [str(Path(aa.__file__).parents[1]), str(Path(__file__).parents[2]), *sys.path]
    whole = f"import sys\nsys.path[:0] = {paths!r}\n{code}"
    if sys.version_info >= (3, 13):
        failure = interpreters.exec(identifier, whole)
        assert failure is None, failure
    else:
        interpreters.run_string(identifier, whole)


WORK = """
import gc
import anyarray as aa
assert aa._core._live() == 0
b = bytearray(8)
v = aa.view(b)
assert v.tolist() == [0] * 8 and str(v.dtype) == "uint8" and v.device == "cpu" and type(v).__module__ == "anyarray"
m = memoryview(v)
capsule = v.__dlpack__()
w = aa.view(v, policy=["dlpack"])
try:
    aa.view([1])
except aa.NotAnArrayError as e:
    assert "list" in str(e)
else:
    raise AssertionError
m.release()
v.release(); w.release()
del capsule, v, w
b.append(1)
assert aa._core._live() == 0
"""


LEFT_BEHIND = "keep = aa.view(b)\nmore = keep.__dlpack__()\nsys.keep = (keep, more)"


EXPORT = """
import ctypes, anyarray as aa
get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
used = b"used_dltensor"
b = bytearray(8)
capsule = aa.view(b).__dlpack__()
address = get(capsule, b"dltensor")
rename(capsule, used)
del capsule
import os
os.write({pipe}, address.to_bytes(8, "little"))
"""


def own_state(left_behind: str) -> None:
    here = aa.view(bytearray(3))
    live = aa._core._live()
    for _ in range(3):
        identifier = interpreters.create()
        run(identifier, WORK + left_behind)
        interpreters.destroy(identifier)
    assert aa._core._live() == live and here.tolist() == [0, 0, 0]


def two_at_once() -> None:
    first, second = interpreters.create(), interpreters.create()
    run(first, WORK)
    run(second, WORK)
    run(first, WORK)
    interpreters.destroy(first)
    interpreters.destroy(second)


def delete_elsewhere() -> None:
    read, write = os.pipe()
    identifier = interpreters.create()
    run(identifier, EXPORT.format(pipe=write))
    address = int.from_bytes(os.read(read, 8), "little")
    Managed.from_address(address).deleter(address)
    run(identifier, "b.append(1)\nassert aa._core._live() == 0")
    interpreters.destroy(identifier)


def memory() -> int:
    """Of this process, in KiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def nothing_kept() -> None:
    def one() -> None:
        identifier = interpreters.create()
        run(identifier, WORK)
        interpreters.destroy(identifier)

    for _ in range(5):
        one()
    before = memory()
    for _ in range(40):
        one()
    assert memory() - before < 2048  # 50 an interpreter; a state that isn't freed keeps 150 or more


def in_a_process(call: str) -> None:
    code = f"from tests.python import test_interpreters as t; t.{call}"
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=120, env=environment(), cwd=Path(__file__).parents[2]
    )


def test_own_state() -> None:
    in_a_process("own_state('')")


def test_objects_that_stay_to_the_end() -> None:
    in_a_process("own_state(t.LEFT_BEHIND)")


def test_two_at_once() -> None:
    in_a_process("two_at_once()")


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="from 3.12 on, interpreters keep megabytes by themselves")
@pytest.mark.skipif("ANYARRAY_SANITIZED" in os.environ, reason="a sanitizer keeps what is freed for a while")
def test_nothing_is_kept_of_those_that_ended() -> None:
    in_a_process("nothing_kept()")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="ctypes has one state for all interpreters before 3.12")
def test_deleter_on_a_thread_of_another_interpreter() -> None:
    in_a_process("delete_elsewhere()")
