# SPDX-License-Identifier: Apache-2.0
"""Rows `arrow_array` and `arrow_stream`: what they read of real producers, what they refuse and in which words, and
that everything is released exactly once, whatever a producer does."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyarray as aa

from . import arrow_forge as forge
from .conftest import needs

ARRAY = ["arrow_array"]
STREAM = ["arrow_stream"]
VALUES = (ctypes.c_int32 * 64)(*range(64))
MEMORY = ctypes.addressof(VALUES)


@pytest.fixture
def log() -> Iterator[forge.Log]:
    """After the test everything that was made must have been released once, and no child by itself."""
    made = forge.Log()
    yield made
    gc.collect()
    assert made.is_balanced(), (made.made, made.released)


def refused(obj: Any, status: str, *words: str, policy: Any = None) -> Any:
    before = aa._core._live()
    with pytest.raises(aa.ExchangeError) as info:
        aa.view(obj, policy=policy)
    attempt = next(a for a in info.value.attempts if a.protocol.startswith("arrow"))
    assert attempt.status == status, attempt
    for word in words:
        assert word in attempt.reason, attempt.reason
    assert aa._core._live() == before
    return attempt


# ------------------------------------------------------------------ where the rows stand


def test_the_rows_stand_before_the_last_resort() -> None:
    rows = [row[0] for row in aa.protocols()]
    at = rows.index("arrow_array")
    assert rows[at : at + 3] == ["arrow_array", "arrow_stream", "array_method"]
    assert rows.index("cuda_array_interface") < at


def test_both_offered_and_the_first_fails(log: forge.Log) -> None:
    class Both(forge.Streams):
        def __arrow_c_array__(self) -> Any:
            raise BufferError("not today")

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("the stream served")

    array = log.array(3, [None, MEMORY])
    obj = Both(lambda: forge.capsule(log.stream(log.schema(), iter([array])), b"arrow_array_stream"))
    view = aa.view(obj)
    assert (view.protocol, view.tolist()) == ("arrow_stream", [0, 1, 2])
    attempts = {a.protocol: a for a in aa.explain(forge.offer(log.schema(), log.array(1, [None, MEMORY]))).attempts}
    assert attempts["arrow_array"].status == "ok"
    assert attempts["arrow_stream"].status == "not tried"


def test_a_host_mirror_of_a_device_is_skipped(log: forge.Log) -> None:
    class OnDevice(forge.Arrays):
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("no")

        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    refused(OnDevice(lambda: pytest.fail("was asked")), "skipped", "__dlpack_device__")


# ------------------------------------------------------------------ pyarrow


def pa_address(x: Any) -> int:
    """Of the first element, by pyarrow's own account."""
    return int(x.buffers()[-1].address) + x.offset * x.type.bit_width // 8


@pytest.mark.parametrize("kind", ["int", "uint"])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_pyarrow_integers(kind: str, bits: int) -> None:
    pa = needs("pyarrow")
    x = pa.array(range(10), f"{kind}{bits}")
    for part in (x, x[2:], x[2:7], x[3:3]):
        view = aa.view(part, policy=ARRAY)
        assert (view.protocol, str(view.dtype)) == ("arrow_array", f"{kind}{bits}")
        assert (view.shape, view.strides) == ((len(part),), (bits // 8,))
        assert view.tolist() == part.to_pylist()
        assert view.ptr == (pa_address(part) if len(part) else 0)
        assert (view.readonly, view.copied, view.device) == (True, None, "cpu")


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_pyarrow_floats(name: str) -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    x = pa.array(np.array([1.5, -2.0, np.inf, 0.25], name))
    view = aa.view(x[1:], policy=ARRAY)
    assert (str(view.dtype), view.tolist(), view.ptr) == (name, [-2.0, float("inf"), 0.25], pa_address(x[1:]))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_pyarrow_times(unit: str) -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    for of, name in ((pa.timestamp(unit), "datetime64"), (pa.duration(unit), "timedelta64")):
        x = pa.array([0, 1, -(2**40)], of)
        view = aa.view(x)
        assert (view.protocol, str(view.dtype), view.ptr) == ("arrow_array", f"{name}[{unit}]", pa_address(x))
        assert np.array_equal(np.asarray(view), x.to_numpy(zero_copy_only=False))
    date = aa.view(pa.array([86_400_000], pa.date64()))
    assert (str(date.dtype), np.asarray(date)[0]) == ("datetime64[ms]", np.datetime64("1970-01-02"))
    zoned = pa.array([0], pa.timestamp(unit, "Europe/Paris"))
    attempt = refused(zoned, "guarded", "'Europe/Paris'", "cast them to a timestamp without a zone")
    assert attempt.protocol == "arrow_array"
    assert aa.view(zoned.cast(pa.timestamp(unit))).shape == (1,)  # the way on


def test_pyarrow_fixed_size_binary() -> None:
    pa = needs("pyarrow")
    x = pa.array([b"abc", b"d\0e", b"xyz"], pa.binary(3))
    view = aa.view(x[1:])
    assert (str(view.dtype), view.tolist()) == ("S3", [b"d\0e", b"xyz"])
    assert view.ptr == x.buffers()[1].address + 3


def test_pyarrow_nested_lists_with_offsets() -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    flat = pa.array(np.arange(100, dtype="i4"))
    inner = pa.FixedSizeListArray.from_arrays(flat[4:], 3)[2:]
    outer = pa.FixedSizeListArray.from_arrays(inner, 2)
    for x in (outer, outer[2:], outer[2:5], outer[1:].slice(3, 2), outer[:0]):
        view = aa.view(x)
        assert view.protocol == "arrow_array"
        assert (view.shape, view.strides) == ((len(x), 2, 3), (24, 12, 4))
        assert view.tolist() == x.to_pylist()
        if len(x):
            assert view.ptr == flat.buffers()[1].address + 4 * x.to_pylist()[0][0][0]


@pytest.mark.parametrize("order", [None, *itertools.permutations(range(3))])
def test_pyarrow_tensors(order: tuple[int, ...] | None) -> None:
    """The permutation becomes strides: dimension i is the physical dimension order[i]. No element moves."""
    pa, np = needs("pyarrow"), needs("numpy")
    values = pa.array(np.arange(120, dtype="i2"))
    of = pa.fixed_shape_tensor(pa.int16(), [2, 3, 4], dim_names=['a"', "ü", "}"], permutation=order)
    x = pa.ExtensionArray.from_storage(of, pa.FixedSizeListArray.from_arrays(values, 24))
    data = np.arange(120, dtype="i2").reshape(5, 2, 3, 4).transpose(0, *(i + 1 for i in order or range(3)))
    for part, want in ((x, data), (x[2:], data[2:]), (x[1:3], data[1:3])):
        view = aa.view(part)
        assert (view.protocol, view.shape, view.strides) == ("arrow_array", want.shape, want.strides)
        assert view.tolist() == want.tolist()
        assert view.ptr == values.buffers()[1].address + part.offset * 48


def test_pyarrow_nulls() -> None:
    pa = needs("pyarrow")
    x = pa.array([1, None, 3, None, 5])
    refused(x, "guarded", "2 nulls", "fill_null()")
    refused(x[1:2], "guarded", "1 null,")
    assert aa.view(x[2:3]).tolist() == [3]  # the bitmap is there, but says nothing
    assert aa.view(x.fill_null(0)).tolist() == [1, 0, 3, 0, 5]
    lists = pa.FixedSizeListArray.from_arrays(pa.array([None, 1, 2, 3, 4, 5]), 2)
    refused(lists, "guarded", "1 null,")
    assert aa.view(lists[1:]).tolist() == [[2, 3], [4, 5]]  # not within reach
    refused(pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)), "guarded", "1 null,")


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "bool": (lambda pa: pa.array([True]), "cast them to uint8"),
    "null type": (lambda pa: pa.nulls(3), "null type"),
    "string": (lambda pa: pa.array(["a"]), "strings"),
    "large string": (lambda pa: pa.array(["a"], pa.large_string()), "strings"),
    "string view": (lambda pa: pa.array(["a"], pa.string_view()), "string views"),
    "binary": (lambda pa: pa.array([b"a"]), "binary"),
    "large binary": (lambda pa: pa.array([b"a"], pa.large_binary()), "binary"),
    "binary view": (lambda pa: pa.array([b"a"], pa.binary_view()), "binary views"),
    "decimal": (lambda pa: pa.array([1], pa.decimal128(5, 2)), "decimals"),
    "date32": (lambda pa: pa.array([1], pa.date32()), "cast it to date64"),
    "time32": (lambda pa: pa.array([1], pa.time32("s")), "time of day"),
    "time64": (lambda pa: pa.array([1], pa.time64("ns")), "time of day"),
    "interval": (lambda pa: pa.array([(1, 2, 3)], pa.month_day_nano_interval()), "interval"),
    "list": (lambda pa: pa.array([[1], [2, 3]]), "flatten"),
    "large list": (lambda pa: pa.array([[1]], pa.large_list(pa.int8())), "flatten"),
    "list view": (lambda pa: pa.array([[1]], pa.list_view(pa.int8())), "flatten"),
    "map": (lambda pa: pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())), "map"),
    "struct": (lambda pa: pa.array([{"a": 1}]), "one column"),
    "record batch": (lambda pa: pa.record_batch({"a": [1]}), "one column"),
    "table": (lambda pa: pa.table({"a": [1]}), "one column"),
    "union": (lambda pa: pa.UnionArray.from_sparse(pa.array([0], "i1"), [pa.array([1])]), "union"),
    "dictionary": (lambda pa: pa.array(["a"]).dictionary_encode(), "dictionary"),
    "run ends": (lambda pa: pa.RunEndEncodedArray.from_arrays([2], [1]), "run-end"),
    "uuid": (lambda pa: pa.array([b"0" * 16], pa.uuid()), "'arrow.uuid'"),
    "bool8": (lambda pa: pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], "i1")), "'arrow.bool8'"),
    "lists of bools": (lambda pa: pa.array([[True]], pa.list_(pa.bool_(), 1)), "cast them to uint8"),
    "lists of strings": (lambda pa: pa.array([["a"]], pa.list_(pa.string(), 1)), "strings"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_pyarrow_types_that_are_no_view(what: str) -> None:
    make, words = REFUSED[what]
    x = make(needs("pyarrow"))
    rows = [*ARRAY, *STREAM]
    refused(x, "unsupported", words, policy=rows)


def test_pyarrow_chunks() -> None:
    pa = needs("pyarrow")
    one = pa.chunked_array([[1.5, 2.5, 3.5]])
    view = aa.view(one)
    assert (view.protocol, view.tolist(), view.ptr) == ("arrow_stream", [1.5, 2.5, 3.5], pa_address(one.chunk(0)))
    assert (view.readonly, view.copied) == (True, None)
    part = one[1:]
    assert aa.view(part).ptr == pa_address(one.chunk(0)) + 8
    empty = aa.view(pa.chunked_array([], pa.list_(pa.int16(), 4)))
    assert (empty.shape, str(empty.dtype), empty.tolist(), empty.readonly) == ((0, 4), "int16", [], True)
    for n, words in ((2, "has 2 chunks"), (7, "has 7 chunks"), (100, "has 100 chunks"), (101, "more than 100 chunks")):
        many = pa.chunked_array([[i] for i in range(n)])
        refused(many, "unsupported", words, "combine_chunks()")
        assert aa.view(many.combine_chunks()).shape == (n,)
    refused(pa.chunked_array([[1, None]]), "guarded", "1 null,")


def test_a_reader_that_is_refused_is_not_read() -> None:
    pa = needs("pyarrow")
    batches = [pa.record_batch({"a": [1, 2]}), pa.record_batch({"a": [3]})]
    asked = []

    def give() -> Iterator[Any]:
        for batch in batches:
            asked.append(batch)
            yield batch

    refused(pa.RecordBatchReader.from_batches(batches[0].schema, give()), "unsupported", "one column")
    assert not asked


def test_a_producer_that_raises_within_the_stream() -> None:
    pa = needs("pyarrow")
    schema = pa.schema([("a", pa.int8())])

    class Inner:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise OSError("no such reader")

    attempt = refused(Inner(), "failed", "no such reader")
    assert isinstance(attempt.exception, OSError)
    refused(pa.RecordBatchReader.from_batches(schema, iter(())), "unsupported", "one column")


def test_the_memory_lives_as_long_as_the_view() -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    data = np.arange(1000).astype("M8[us]")
    gone = weakref.ref(data)
    x = pa.chunked_array([pa.array(data)])
    views = [aa.view(x), aa.view(x.chunk(0), policy=ARRAY)]
    arrays = [np.asarray(view) for view in views]
    assert all(a.ctypes.data == data.ctypes.data and not a.flags.writeable for a in arrays)
    want = data.tolist()
    del data, x
    gc.collect()
    assert [view.tolist() for view in views] == [want, want]
    del views
    gc.collect()
    assert gone() is not None
    assert arrays[0].tolist() == want
    del arrays
    gc.collect()
    assert gone() is None


def test_nothing_leaks_in_pyarrow() -> None:
    pa = needs("pyarrow")
    x = pa.array(range(1000), pa.duration("s"))
    bad = pa.array([True, None])
    before = (pa.total_allocated_bytes(), sys.getrefcount(x), sys.getrefcount(bad))
    for _ in range(100):
        aa.view(x).release()
        aa.view(pa.chunked_array([x])).release()
        for obj in (bad, pa.chunked_array([x, x]), pa.chunked_array([bad])):
            refused(obj, "unsupported")
    gc.collect()
    assert (pa.total_allocated_bytes(), sys.getrefcount(x), sys.getrefcount(bad)) == before


def test_released_in_another_thread() -> None:
    pa = needs("pyarrow")
    views = [aa.view(pa.array([1, 2], pa.duration("s"))) for _ in range(50)]
    threads = [threading.Thread(target=view.release) for view in views]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(view.released for view in views)


# ------------------------------------------------------------------ others


def test_nanoarrow() -> None:
    na, np = needs("nanoarrow"), needs("numpy")
    x = na.Array([1, 2, 3], na.int32())
    for obj in (x, na.c_array([1, 2, 3], na.int32())):
        view = aa.view(obj)
        assert (view.protocol, view.tolist(), str(view.dtype)) == ("arrow_array", [1, 2, 3], "int32")
        assert view.ptr == np.asarray(na.Array(obj).buffers[1]).ctypes.data
    assert aa.view(x, policy=STREAM).ptr == aa.view(x).ptr
    refused(na.Array([1, None], na.int32()), "guarded", "1 null,")
    refused(na.Array(["a"], na.string()), "unsupported", "strings")


def test_polars() -> None:
    pl = needs("polars")
    s = pl.Series([1.5, 2.5, 3.5])
    for x in (s, s[1:]):
        view = aa.view(x)
        assert (view.protocol, view.tolist(), view.readonly) == ("arrow_stream", x.to_list(), True)
        assert view.ptr == x.to_numpy(allow_copy=False).ctypes.data
    when = aa.view(pl.Series([0, 1], dtype=pl.Datetime("us")))
    assert (when.protocol, str(when.dtype)) == ("arrow_stream", "datetime64[us]")
    nested = aa.view(pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int16, 2))[1:])
    assert (nested.protocol, nested.tolist()) == ("arrow_stream", [[3, 4], [5, 6]])
    refused(pl.Series([1, None]), "guarded", "1 null,")
    refused(pl.Series([0], dtype=pl.Datetime("ms", "UTC")), "guarded", "'UTC'")
    refused(pl.Series([True]), "unsupported", policy=STREAM)
    refused(pl.concat([s, s], rechunk=False), "unsupported", "2 chunks", "rechunk()", policy=STREAM)
    refused(pl.Series(["a"]), "unsupported", policy=STREAM)


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_pandas_with_the_memory_of_arrow(unit: str) -> None:
    pd, pa = needs("pandas"), needs("pyarrow")
    for data in (pa.array([1, 2, 3]), pa.array([1, 2, 3], pa.timestamp(unit))):
        s = pd.Series(pd.arrays.ArrowExtensionArray(data))
        view = aa.view(s)
        assert (view.protocol, view.ptr, view.readonly) == ("arrow_stream", pa_address(data), True)
    refused(pd.Series([1, None], dtype="int64[pyarrow]"), "guarded", "1 null,")


# ------------------------------------------------------------------ producers that lie


def test_released_once_whatever_comes_of_it(log: forge.Log) -> None:
    array = log.array(3, [None, MEMORY])
    view = aa.view(forge.offer(log.schema(), array))
    assert log.released == ["schema"]
    assert not array.release  # it was moved: whoever has the capsule can't release it any more
    assert (view.ptr, view.tolist()) == (MEMORY, [0, 1, 2])
    view.release()
    view.release()
    assert log.released == ["schema", "array"]
    refused(forge.offer(log.schema(b"b"), log.array(3, [None, MEMORY])), "unsupported")
    refused(forge.offer(log.schema(), log.array(-1, [None, MEMORY])), "invalid", "-1")
    assert log.is_balanced()


def test_a_capsule_that_was_taken_before(log: forge.Log) -> None:
    schema, array = log.schema(), log.array(3, [None, MEMORY])
    obj = forge.offer(schema, array)
    same = obj.answer()
    obj.answer = lambda: same
    view = aa.view(obj)
    refused(obj, "invalid", "released or moved")
    assert view.tolist() == [0, 1, 2]
    view.release()
    stream = forge.capsule(log.stream(log.schema(), iter([log.array(2, [None, MEMORY])])), b"arrow_array_stream")
    streams = forge.Streams(lambda: stream)
    assert aa.view(streams).tolist() == [0, 1]
    refused(streams, "invalid", "taken before")


def test_what_is_no_pair_of_capsules(log: forge.Log) -> None:
    def pair() -> list[Any]:
        array = log.array(3, [None, MEMORY])
        return [forge.capsule(log.schema(), b"arrow_schema"), forge.capsule(array, b"arrow_array")]

    answers: list[tuple[Callable[[], Any], str]] = [
        (lambda: None, "NoneType"),
        (lambda: 7, "int"),
        (lambda: pair(), "list"),
        (lambda: tuple(pair()[:1]), "another length"),
        (lambda: (*pair(), None), "another length"),
        (lambda: (), "another length"),
        (lambda: tuple(reversed(pair())), 'named "arrow_array", not one named "arrow_schema"'),
        (lambda: (pair()[0], pair()[0]), 'not one named "arrow_array"'),
        (lambda: (pair()[0], 5), "int"),
        (lambda: (None, pair()[1]), "NoneType"),
        (lambda: pair()[1], "PyCapsule"),
        (lambda: (pair()[0], forge.capsule(log.array(), None)), "without a name"),
        (lambda: (pair()[0], forge.capsule(log.array(), b"arrow_array_stream")), "arrow_array_stream"),
        (lambda: (pair()[0], forge.capsule(log.array(), b"used_arrow_array" * 20)), "used_arrow_array"),
    ]
    for answer, words in answers:
        refused(forge.Arrays(answer), "invalid", "__arrow_c_array__", words)
    for answer in (lambda: None, lambda: (1, 2), lambda: pair()[1], lambda: tuple(pair())):
        refused(forge.Streams(answer), "invalid", "__arrow_c_stream__", "arrow_array_stream")


def test_attributes_that_are_none_or_raise() -> None:
    for name in ("__arrow_c_array__", "__arrow_c_stream__"):
        with pytest.raises(aa.NotAnArrayError):
            aa.view(type("Hidden", (), {name: None})())

        def absent(self: Any) -> Any:
            raise AttributeError("hidden")

        def broken(self: Any) -> Any:
            raise ValueError("apples")

        with pytest.raises(aa.NotAnArrayError):
            aa.view(type("Hidden", (), {name: property(absent)})())
        refused(type("Broken", (), {name: property(broken)})(), "failed", "apples")
        refused(type("Broken", (), {name: 7})(), "failed", "not callable")
        refused(type("Needs", (), {name: lambda self, schema: None})(), "failed", "schema")
        for error in (KeyboardInterrupt, MemoryError, RecursionError):

            def raises(self: Any, error: Any = error) -> Any:
                raise error

            with pytest.raises(error):
                aa.view(type("Raises", (), {name: raises})())


def test_offered_by_an_instance_alone(log: forge.Log) -> None:
    class Some:
        pass

    one, two, none = Some(), Some(), Some()
    one.__arrow_c_array__ = forge.offer(log.schema(), log.array(2, [None, MEMORY])).__arrow_c_array__  # type: ignore[attr-defined]
    two.__arrow_c_stream__ = forge.offer_stream(log, log.schema(), [log.array(1, [None, MEMORY])]).__arrow_c_stream__  # type: ignore[attr-defined]
    assert aa.view(one).tolist() == [0, 1]
    assert aa.view(two).tolist() == [0]
    with pytest.raises(aa.NotAnArrayError):
        aa.view(none)


LIES: list[tuple[dict[str, Any], str]] = [
    ({"length": -1}, "length -1"),
    ({"offset": -3}, "offset -3"),
    ({"offset": 2**63 - 1}, "64 bits"),
    ({"length": 2**63 - 1}, "64 bits"),
    ({"null_count": 1}, "no validity bitmap"),
    ({"null_count": 9}, "9 of its 3"),
    ({"null_count": -2}, "-2"),
    ({"n_buffers": 0}, "0 buffers"),
    ({"n_buffers": 3}, "3 buffers"),
    ({"n_buffers": -1}, "-1 buffers"),
    ({"n_buffers": 2**62}, "buffers"),
    ({"buffers": None}, "null"),
    ({"n_children": 1}, "1 children"),
    ({"n_children": -(2**63)}, "children"),
    ({"dictionary": MEMORY}, "dictionary"),
    ({"release": None}, "released"),
]


@pytest.mark.parametrize(("fields", "words"), LIES)
def test_lies_of_an_array(fields: dict[str, Any], words: str) -> None:
    log = forge.Log()
    refused(forge.offer(log.schema(), log.array(3, [None, MEMORY], **fields)), "invalid", words)
    chunk = log.array(3, [None, MEMORY], **fields)
    if "release" in fields:  # in a stream that is its end
        assert aa.view(forge.offer_stream(log, log.schema(), [chunk])).shape == (0,)
        log.made = [name for name in log.made if name != "array"]  # there was nothing to release
    else:
        refused(forge.offer_stream(log, log.schema(), [chunk]), "invalid", words)
    gc.collect()
    assert log.is_balanced()


@pytest.mark.parametrize(("fields", "words"), LIES)
def test_lies_of_a_child(fields: dict[str, Any], words: str, log: forge.Log) -> None:
    def nested() -> tuple[Any, Any]:
        child = log.array(6, [None, MEMORY])
        array = log.array(3, [None], [child])
        for name, value in fields.items():
            setattr(child, name, value)
        return log.schema(b"+w:2", [log.schema()]), array

    if fields == {"length": 2**63 - 1}:  # a child may be as long as it likes
        assert aa.view(forge.offer(*nested())).shape == (3, 2)
    else:
        refused(forge.offer(*nested()), "invalid")


def test_lies_of_a_schema(log: forge.Log) -> None:
    def with_schema(*args: Any, **fields: Any) -> Any:
        return forge.offer(log.schema(*args, **fields), log.array(3, [None, MEMORY]))

    refused(with_schema(None), "invalid", "no format")
    refused(with_schema(b"\xff\xfe"), "invalid")
    refused(with_schema(b"i" * 5000), "invalid")
    refused(with_schema(n_children=1), "invalid", "no children")
    refused(with_schema(b"+w:2"), "invalid", "one child")
    refused(with_schema(b"+w:2", n_children=1, children=None), "invalid", "null")
    refused(with_schema(dictionary=MEMORY), "unsupported", "dictionary")
    refused(with_schema(metadata=forge.text(b"\xff\xff\xff\xff")), "invalid", "-1 pairs")
    refused(with_schema(metadata=forge.text(b"\1\0\0\0\xff\xff\xff\x7f")), "invalid", "2147483647 bytes")
    name, content = b"ARROW:extension:name", b"ARROW:extension:metadata"
    refused(with_schema(metadata=forge.metadata({name: b"x\0y\xff"})), "unsupported", "extension")
    for json in (
        b"",
        b"{",
        b'{"shape":[2]',
        b'{"shape":[3]}',
        b'{"shape":[-2]}',
        b'{"shape":[1,2],"permutation":[2,0]}',
    ):
        meta = forge.metadata({name: b"arrow.fixed_shape_tensor", content: json})
        child = log.schema()
        array = log.array(3, [None], [log.array(6, [None, MEMORY])])
        refused(forge.offer(log.schema(b"+w:2", [child], metadata=meta), array), "invalid", "fixed_shape_tensor")
    gone = log.schema()
    released, gone.release = gone.release, None
    refused(forge.offer(gone, log.array(3, [None, MEMORY])), "invalid", "released")
    forge.Release(released)(ctypes.addressof(gone))


def test_a_null_buffer(log: forge.Log) -> None:
    refused(forge.offer(log.schema(), log.array(3, [None, None])), "invalid", "null")
    assert aa.view(forge.offer(log.schema(), log.array(0, [None, None], offset=5))).shape == (0,)
    assert aa.view(forge.offer(log.schema(), log.array(0, [MEMORY, 8]))).tolist() == []


def test_nulls_are_counted_where_nobody_did(log: forge.Log) -> None:
    bits = forge.keep((ctypes.c_uint8 * 4)(0b10110111, 0xFF, 0xFF, 0xFF))
    at = ctypes.addressof(bits)
    refused(forge.offer(log.schema(), log.array(20, [at, MEMORY], null_count=-1)), "guarded", "2 nulls")
    refused(forge.offer(log.schema(), log.array(3, [at, MEMORY], null_count=-1, offset=4)), "guarded", "1 null,")
    refused(forge.offer(log.schema(), log.array(20, [at, MEMORY], null_count=0)), "invalid", "bitmap marks 2")
    assert aa.view(forge.offer(log.schema(), log.array(10, [at, MEMORY], null_count=-1, offset=7))).ptr == MEMORY + 28
    array = log.array(2, [None], [log.array(12, [at, MEMORY], null_count=-1)], offset=1)
    refused(forge.offer(log.schema(b"+w:4", [log.schema()]), array), "guarded", "1 null,")


def test_errors_of_a_stream(log: forge.Log) -> None:
    words = ("28", "the disk is full")
    refused(forge.offer_stream(log, forge.NO_SPACE, []), "failed", "get_schema", *words)
    refused(forge.offer_stream(log, log.schema(), [forge.NO_SPACE]), "failed", "get_next", *words)
    array = log.array(3, [None, MEMORY])
    refused(forge.offer_stream(log, log.schema(), [array, forge.NO_SPACE]), "failed", "get_next", *words)
    more = [log.array(3, [None, MEMORY]) for _ in range(3)]
    refused(forge.offer_stream(log, log.schema(), [*more, forge.NO_SPACE]), "failed", "get_next", *words)
    silent = forge.address(forge.LastError(lambda _: None))
    for last in (None, silent):
        refused(forge.offer_stream(log, forge.NO_SPACE, [], get_last_error=last), "failed", "errno 28")
    for name in ("get_schema", "get_next"):
        refused(forge.offer_stream(log, log.schema(), [], **{name: None}), "invalid", f"no {name}")
        log.made.remove("schema")  # which nobody was given
    empty = forge.Schema()
    refused(forge.offer_stream(log, empty, []), "invalid", "released")


def test_a_stream_without_end(log: forge.Log) -> None:
    def forever() -> Iterator[Any]:
        while True:
            yield log.array(1, [None, MEMORY])

    obj = forge.Streams(lambda: forge.capsule(log.stream(log.schema(), forever()), b"arrow_array_stream"))
    refused(obj, "unsupported", "more than 100 chunks")


def test_one_chunk_is_one_memory_even_if_others_are_empty(log: forge.Log) -> None:
    chunks = [log.array(0, [None, None]), log.array(3, [None, MEMORY])]
    refused(forge.offer_stream(log, log.schema(), chunks), "unsupported", "2 chunks")


def test_a_stream_whose_capsule_is_taken_in_the_middle(log: forge.Log) -> None:
    """The stream was moved out before its functions run: nobody else can release it meanwhile."""
    found: list[str] = []

    def chunks() -> Iterator[Any]:
        with pytest.raises(aa.ExchangeError) as info:
            aa.view(obj)
        found.append(str(info.value))
        yield log.array(3, [None, MEMORY])

    capsule = forge.capsule(log.stream(log.schema(), chunks()), b"arrow_array_stream")
    obj = forge.Streams(lambda: capsule)
    assert aa.view(obj).tolist() == [0, 1, 2]
    assert "taken before" in found[0]


def test_releases_that_run_code_of_others(log: forge.Log) -> None:
    """It may ask for the next view, or leave an exception behind, which goes where those of destructors go."""
    data = bytearray(8)
    log.then = lambda: aa.view(data).release()
    aa.view(forge.offer(log.schema(), log.array(3, [None, MEMORY]))).release()
    refused(forge.offer(log.schema(), log.array(-3, [None, MEMORY])), "invalid")
    refused(forge.offer_stream(log, log.schema(), [log.array(1, [None, MEMORY]) for _ in range(4)]), "unsupported")
    with contextlib.suppress(aa.ExchangeError):
        aa.view(forge.offer(log.schema(b"b"), log.array(3, [None, MEMORY])))
    data.append(1)


words = st.sampled_from([-(2**63), -1, 0, 1, 2, 3, 4, 6, 7, 2**31, 2**62, 2**63 - 1])
formats = st.sampled_from([b"i", b"b", b"+w:2", b"+w:0", b"+w:9223372036854775807", b"tsu:", b"w:3", b"+s", b"", b"g"])


@settings(deadline=None, max_examples=400)
@given(
    outer=formats,
    inner=formats,
    lengths=st.tuples(st.integers(0, 3), st.integers(0, 6)),
    lies=st.lists(
        st.tuples(st.booleans(), st.sampled_from(["length", "offset", "null_count", "n_buffers", "n_children"]), words),
        max_size=3,
    ),
    null=st.booleans(),
)
def test_anything_in_the_fields(outer: bytes, inner: bytes, lengths: Any, lies: Any, null: bool) -> None:
    """A view or the one error; everything is released."""
    log = forge.Log()
    child = log.array(lengths[1], [None, None if null else MEMORY])
    array = log.array(lengths[0], [None], [child])
    for of_child, name, value in lies:
        setattr(child if of_child else array, name, value)
    schema = log.schema(outer, [log.schema(inner)])
    before = aa._core._live()
    with contextlib.suppress(aa.ExchangeError):
        aa.view(forge.offer(schema, array)).release()
    assert aa._core._live() == before
    assert log.is_balanced()
