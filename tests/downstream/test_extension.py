# SPDX-License-Identifier: Apache-2.0
"""An extension in C++, both ways: with the table of the package that is installed, and with the engine built in.

Imports no anyarray: test_built_in.py runs the second way where there is none.
"""

from __future__ import annotations

import gc
import itertools
import sys

import numpy as np
import pytest
from projects import Way


def test_extension_takes_any_array(way: Way) -> None:
    norm = way.extension("norm")
    assert norm.norm(memoryview(bytearray(6 * 8)).cast("d", (2, 3))) == 0.0
    with pytest.raises(way.errors("norm").ExchangeError, match="float64") as wrong:
        norm.norm(memoryview(bytearray(6 * 4)).cast("f", (2, 3)))
    assert [attempt.status for attempt in wrong.value.attempts].count("mismatch") == 1
    with pytest.raises(way.errors("norm").NotAnArrayError):
        norm.norm(object())

    matrix = np.arange(12.0).reshape(3, 4)
    for view in (matrix, matrix.T, matrix[::-1, ::2]):
        assert norm.norm(view) == pytest.approx(float(np.linalg.norm(view)))


def test_extension_leaks_nothing(way: Way) -> None:
    norm = way.extension("norm")
    memory = bytearray(32)
    view = memoryview(memory).cast("d", (2, 2))
    count = sys.getrefcount(view)
    for _ in range(100):
        norm.norm(view)
    assert sys.getrefcount(view) == count
    view.release()
    memory.extend(b"x")  # BufferError if an export were left


DTYPES = ["f4", ">i8", "c16", "?", "M8[ms]", "U3", "S5", "V7", [("a", "i4"), ("b", "f8", (2, 3))], "g", "e"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_function_of_the_table(way: Way, dtype: object) -> None:
    table = way.extension("table")
    live = way.live("table")
    for x in (a := np.zeros((3, 4), dtype), a.T, a[::2, ::-1], a[:0], np.zeros((1,) * 20, dtype)):
        facts = table.facts(x)
        assert facts["ptr"] == x.ctypes.data
        assert (facts["shape"], facts["strides"]) == (x.shape, x.strides)
        assert (facts["size"], facts["itemsize"], facts["nbytes"]) == (x.size, x.itemsize, x.nbytes)
        assert facts["c_contiguous"] == x.flags.c_contiguous
        assert facts["f_contiguous"] == x.flags.f_contiguous
        assert not facts["readonly"]
        array = table.array(x, "default")
        assert (array.ptr, array.shape, array.owner is x) == (x.ctypes.data, x.shape, True)
        assert table.explain(x).protocol == "numpy"
    del array
    assert way.live("table") == live


def test_statuses_without_exceptions(way: Way) -> None:
    table = way.extension("table")
    masked = np.ma.masked_array(np.zeros(3), [0, 1, 0])
    assert table.facts(masked) == "guarded"
    assert table.facts(masked, 1)["size"] == 3  # waive_mask
    assert table.facts([1, 2]) == "not offered"
    assert table.facts(np.zeros(2, object)) == "unsupported"
    with pytest.raises(ValueError, match="no preset"):
        table.array(masked, "nobody")
    with pytest.raises(way.errors("table").ExchangeError, match="mask"):
        table.array(masked, "numpy")

    class Interrupted:
        def __dlpack__(self, **keywords: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.facts(Interrupted())


def test_arrays_made_by_an_extension(way: Way) -> None:
    table = way.extension("table")
    live = way.live("table")
    before = table.release_count()[0]
    array = table.made(5)
    assert (type(array).__name__, array.tolist(), array.owner) == ("HostArray", [0.0, 1.0, 2.0, 3.0, 4.0], None)
    capsule_of = np.from_dlpack(array)
    del array
    assert capsule_of.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert table.release_count()[0] == before
    del capsule_of
    assert table.release_count() == (before + 1, True)
    assert table.made(0).size == 0
    assert table.made(3, 12).device == "ext_dev:0"
    assert table.release_count()[0] == before + 3
    for arguments, words in (((-2,), "negative"), ((2, 1, 1), "aligned for float32"), ((2, 99), "isn't a device")):
        with pytest.raises(ValueError, match=words):
            table.made(*arguments)
    assert table.release_count()[0] == before + 3  # what was refused wasn't taken over

    owner = bytearray(b"owner")
    count = sys.getrefcount(owner)
    array = table.lent(owner)
    assert (array.tolist(), array.readonly, array.owner is owner) == ([[1, 3], [2, 4]], True, True)
    assert sys.getrefcount(owner) == count + 1
    del array
    assert sys.getrefcount(owner) == count
    assert way.live("table") == live


def test_arrays_kept_by_an_extension(way: Way) -> None:
    table = way.extension("table")
    live = way.live("table")
    memory = bytearray(8)
    assert table.keep(memory)["size"] == 8
    with pytest.raises(BufferError):
        memory.extend(b"locked")
    shown = table.keep()
    assert (shown.owner is memory, shown.nbytes, shown.protocol) == (True, 8, None)
    table.let_go()
    with pytest.raises(BufferError):
        memory.extend(b"still locked by what was shown")
    del shown
    memory.extend(b"free")
    table.keep(memory)
    table.keep(bytes(3))  # takes the place of the first
    memory.extend(b"free again")
    table.let_go()
    with pytest.raises(way.errors("table").NotAnArrayError):
        table.keep([1])
    assert way.live("table") == live


def test_extension_with_the_core_linked(way: Way) -> None:
    linked = way.extension("linked")
    live = way.live("linked")
    array = linked.array()
    assert (array.tolist(), array.readonly, array.owner) == ([1, 2, 3], True, None)
    assert way.live("linked") == live + 1
    with pytest.raises(ValueError, match="aligned for int16"):
        linked.array(1)
    assert linked.release_count() == 0
    del array
    assert linked.release_count() == 1
    linked.shared()
    assert linked.release_count() == 2
    assert way.live("linked") == live


def test_nothing_is_left_behind(way: Way) -> None:
    table = way.extension("table")
    matrix = np.zeros((3, 4), "f4").T

    def refuse(x: object) -> None:
        try:
            table.array(x, "numpy")
        except BufferError:
            return
        raise AssertionError

    def work() -> None:
        refuse([1])
        refuse(np.zeros(2, object))
        array = table.array(matrix, "default")
        assert (str(array.dtype), str(array.device), array.tolist()) == ("float32", "cpu", matrix.tolist())
        assert table.explain(matrix).ok and not table.explain(None).ok
        assert np.from_dlpack(table.made(3)).tolist() == [0, 1, 2]
        table.keep(matrix)
        table.let_go()

    live = way.live("table")
    blocks = []
    for _ in range(5):  # the interpreter keeps some for code that runs often, once: a leak would be in every round
        for _ in range(500):
            work()
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert min(after - before for before, after in itertools.pairwise(blocks)) < 100 and way.live("table") == live
