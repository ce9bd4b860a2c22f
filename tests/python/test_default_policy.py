# SPDX-License-Identifier: Apache-2.0
"""The policy that holds where none is named: of the interpreter, of a thread, of a task."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import anyarray as aa

from .capsules import pointer_in

DEFAULT = aa.presets()["default"][0]


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    yield
    aa.set_default_policy(None)
    assert aa.get_default_policy() == DEFAULT


def row(obj: Any = b"abc", **request: Any) -> str:
    with aa.view(obj, **request) as v:
        return v.protocol


def test_of_the_interpreter() -> None:
    assert row() == "builtin"
    assert aa.set_default_policy(["buffer"]) == DEFAULT
    assert (row(), aa.get_default_policy()) == ("buffer", aa.Policy(["buffer"]))
    assert aa.set_default_policy("default") == aa.Policy(["buffer"])
    assert row() == "builtin"


def test_a_named_policy_goes_before() -> None:
    aa.set_default_policy(["buffer"])
    assert row(policy="default") == "builtin" and row(policy=["builtin"]) == "builtin"
    with aa.default_policy("default"):
        assert row() == "builtin" and row(policy=["buffer"]) == "buffer"
    assert row() == "buffer" and row(policy=None) == "buffer" and row(ndim=1) == "buffer"


def test_the_account_names_it() -> None:
    with aa.default_policy(["dlpack", "array_interface"]):
        with pytest.raises(aa.ExchangeError) as error:
            aa.view(b"abc")
        assert "dlpack" in str(error.value) and "array_interface" in str(error.value)
        assert "dlpack" in str(aa.explain(b"abc"))
        assert {a.protocol for a in aa.explain(b"abc").attempts} == {"dlpack", "array_interface"}


def test_blocks_nest_and_end_with_an_error() -> None:
    with aa.default_policy(["buffer"]) as outer:
        assert outer == aa.Policy(["buffer"]) == aa.get_default_policy()
        with pytest.raises(KeyError), aa.default_policy(["builtin"]):
            assert row() == "builtin"
            raise KeyError
        assert row() == "buffer"
        same = aa.default_policy(["builtin"])
        with same, same:
            assert row() == "builtin"
        assert row() == "buffer"
    assert row() == "builtin"


def test_as_a_decorator() -> None:
    @aa.default_policy(["buffer"])
    def inside(depth: int) -> list[str]:
        return [row(), *(inside(depth - 1) if depth else [])]

    assert inside(2) == ["buffer"] * 3 and row() == "builtin"


def test_no_decorator_of_what_runs_later() -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def both() -> Any:
        yield 1

    for function in (coroutine, generator, both):
        with pytest.raises(TypeError, match=f"decorate .*{function.__name__}.*with block"):
            aa.default_policy(["buffer"])(function)
    assert row() == "builtin"


def test_threads_have_their_own() -> None:
    seen: dict[str, str] = {}
    ready = threading.Barrier(2)

    def work(name: str) -> None:
        ready.wait()
        with aa.default_policy([name]):
            ready.wait()
            seen[name] = row()
            ready.wait()
        seen[f"after {name}"] = row()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("buffer", "builtin")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert seen == {"buffer": "buffer", "builtin": "builtin", "after buffer": "builtin", "after builtin": "builtin"}


def test_tasks_have_their_own_and_inherit() -> None:
    shared = aa.default_policy(["buffer"])

    async def inside(policy: aa.default_policy | None) -> list[str]:
        if policy is None:
            return [row()]
        with policy:
            await asyncio.sleep(0)
            first = row()
            child = asyncio.create_task(inside(None))
            await asyncio.sleep(0)
        return [first, *(await child), row()]

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(inside(shared), inside(None), inside(shared)))

    assert asyncio.run(main()) == [["buffer", "buffer", "builtin"], ["builtin"], ["buffer", "buffer", "builtin"]]


def test_a_copied_context_keeps_it() -> None:
    with aa.default_policy(["buffer"]):
        kept = contextvars.copy_context()
    assert row() == "builtin" and kept.run(row) == "buffer"


def test_left_where_it_was_not_entered() -> None:
    scope = aa.default_policy(["buffer"])
    elsewhere = contextvars.copy_context()
    elsewhere.run(scope.__enter__)
    with pytest.raises(RuntimeError, match="another context"):
        scope.__exit__(None, None, None)
    assert row() == "builtin" and elsewhere.run(row) == "buffer"
    for _ in range(2):
        elsewhere.run(scope.__exit__, None, None, None)
        assert elsewhere.run(row) == "builtin"
        with pytest.raises(RuntimeError, match="isn't open any more"):
            elsewhere.run(scope.__exit__, None, None, None)
        elsewhere.run(scope.__enter__)


@pytest.mark.parametrize("bad", ["nonsense", [], ["buffer", "buffer"], ["nope"]])
def test_bad_policies(bad: Any) -> None:
    for set_it in (aa.set_default_policy, lambda p: aa.default_policy(p).__enter__()):
        with pytest.raises(ValueError, match=r"there are|name at least one|there may|may stand"):
            set_it(bad)
    for wrong in (7, 1.5, object(), {"buffer"}):
        with pytest.raises(TypeError):
            aa.set_default_policy(wrong)  # type: ignore[arg-type]
    assert aa.get_default_policy() == DEFAULT


class Table(ctypes.Structure):
    """The start of the C function table (anyarray/c_api.h)."""

    _fields_: ClassVar = [
        *((name, ctypes.c_uint32) for name in ("size", "major", "minor", "reserved")),
        *((name, ctypes.c_void_p) for name in ("context", "borrow", "borrow_or_raise", "release", "to_array")),
    ]


def row_in_c(obj: Any) -> str:
    """The protocol that serves a C caller that passes no request."""
    table = Table.from_address(pointer_in(aa._core._C_API, b"anyarray._core._C_API"))
    place = ctypes.create_string_buffer(1024)
    borrow = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
    assert borrow(table.borrow)(table.context, obj, None, ctypes.addressof(place)) == 0
    to_array = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)
    with to_array(table.to_array)(table.context, ctypes.addressof(place)) as array:
        return str(array.protocol)


def test_for_extensions_too() -> None:
    assert row_in_c(b"abc") == "builtin"
    with aa.default_policy(["buffer"]):
        assert row_in_c(b"abc") == "buffer"
    assert row_in_c(b"abc") == "builtin"
    aa.set_default_policy(["buffer"])
    assert row_in_c(b"abc") == "buffer"


AT_THE_END = """
import anyarray as aa
aa.set_default_policy(["buffer"])
scope = aa.default_policy(["builtin"])
scope.__enter__()
class Late:
    def __del__(self):
        print(aa.view(b"x").protocol if aa.view else "gone")
late = Late()
"""


def test_at_the_end_of_the_interpreter() -> None:
    run = subprocess.run([sys.executable, "-c", AT_THE_END], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stderr == "", run.stderr
