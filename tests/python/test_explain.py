# SPDX-License-Identifier: Apache-2.0
"""explain(): the account of a view that was or wasn't."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any
from unittest import mock

import pytest

import anyarray as aa

from .conftest import environment, needs
from .test_errors import Failing


def test_of_success() -> None:
    np = needs("numpy")
    e = aa.explain(np.zeros((2, 3), "f4"))
    assert e.ok and e.protocol == "numpy" and e.status == "ok" and e.error == ""
    assert (e.shape, e.dtype, e.device, e.readonly) == ((2, 3), "float32", "cpu", False)
    assert "(2, 3)" in e.facts and "float32" in e.facts and "cpu" in e.facts and "writable" in e.facts
    by_name = {a.protocol: a for a in e.attempts}
    assert by_name["numpy"].status == "ok" and by_name["numpy"].ns > 0
    assert by_name["dlpack"].status == "not tried" and by_name["cuda_array_interface"].status == "not offered"
    assert set(by_name) == set(aa.presets()["default"][0].order)


def test_of_failure() -> None:
    e = aa.explain(Failing())
    assert e.shape is e.dtype is e.device is e.readonly is None
    assert not e.ok and e.protocol is None and e.facts == "" and "first words" in e.error
    by_name = {a.protocol: a for a in e.attempts}
    assert by_name["dlpack"].status == "failed" and isinstance(by_name["dlpack"].exception, BufferError)
    assert by_name["buffer"].status == "not offered"
    assert len(e.attempts) == len(by_name) == len(aa.protocols())


def test_of_a_request() -> None:
    e = aa.explain(b"abc", dtype="float32")
    assert e.status == "mismatch" and e.request == "dtype=float32" and "float32" in e.error and not e.ok


def test_of_a_policy() -> None:
    np = needs("numpy")
    e = aa.explain(np.zeros(3), policy=["dlpack", "buffer"])
    assert [a.protocol for a in e.attempts] == ["dlpack", "buffer"] and e.protocol == "dlpack"
    assert e.policy == repr(aa.Policy(["dlpack", "buffer"]))


def test_text_is_a_table() -> None:
    text = str(aa.explain(Failing()))
    lines = text.splitlines()
    for row in aa.protocols():
        assert any(row[0] in line for line in lines)
    assert "first words" in text and "not offered" in text
    widths = {len(line) for line in lines if line.startswith("│")}
    assert len(widths) == 1
    assert repr(aa.explain(Failing())).count("\n") == 0 and "Failing" in repr(aa.explain(Failing()))
    assert "served by" in repr(aa.explain(b"abc"))


def test_holds_nothing() -> None:
    b = bytearray(3)
    e = aa.explain(b)
    b.append(1)
    assert e.ok


class Everything:
    def __getattr__(self, name: str) -> Any:
        return lambda *a, **k: self


class Hostile:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("touched")


# Made in the test: collecting looks at parameters.
STRANGE = [lambda: None, lambda: 1, list, dict, object, lambda: int, lambda: type, Everything, Hostile, mock.Mock,
           mock.MagicMock, lambda: Failing, lambda: iter([]), lambda: len, lambda: ..., lambda: ZeroDivisionError("x"),
           lambda: sys, lambda: (i for i in ())]  # fmt: skip


@pytest.mark.parametrize("make", STRANGE)
def test_never_raises(make: Any) -> None:
    e = aa.explain(make())
    assert not e.ok and e.error
    assert str(e) and repr(e)


def test_rich_markup_in_words_is_text() -> None:
    class Marked:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("[bold]x[/nothing]")

    assert "[bold]x[/nothing]" in str(aa.explain(Marked()))


def test_rich_is_loaded_late() -> None:
    code = "import anyarray, sys; anyarray.view(b'a'); assert 'rich' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def test_accounts_are_loaded_late() -> None:
    code = (
        "import anyarray, sys; anyarray.view(b'a');"
        "assert not {'anyarray.explanation', 'anyarray._convert'} & sys.modules.keys();"
        "assert set(anyarray.__all__) <= set(dir(anyarray));"
        "assert all(hasattr(anyarray, name) for name in anyarray.__all__) and not hasattr(anyarray, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


def test_account_keeps_no_array_alive() -> None:
    np = needs("numpy")
    import weakref

    class Sub(np.ndarray):
        pass

    a = np.zeros(3).view(Sub)
    e = aa.explain(a)
    w = weakref.ref(a)
    del a
    gc.collect()
    assert w() is None and e.ok
