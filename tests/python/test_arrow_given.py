# SPDX-License-Identifier: Apache-2.0
"""`__arrow_c_array__` and `__arrow_c_schema__` of Arrays: values, addresses and lifetimes with the consumers that there
are, what is copied, what is refused, and that everything is released once, from whichever thread."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyarray as aa
from anyarray import typing as aat

from . import arrow_forge as forge
from .capsules import pointer_in
from .conftest import needs

np = needs("numpy")
pa = needs("pyarrow")

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "S3", "M8[s]", "M8[ms]", "M8[us]", "M8[ns]",
          "m8[s]", "m8[ms]", "m8[us]", "m8[ns]"]  # fmt: skip


def struct(capsule: Any, kind: Any) -> Any:
    return kind.from_address(pointer_in(capsule, b"arrow_schema" if kind is forge.Schema else b"arrow_array"))


def leaf(array: Any) -> Any:
    """The innermost values of a pyarrow array."""
    while isinstance(array, (pa.ExtensionArray, pa.FixedSizeListArray)):
        array = array.storage if isinstance(array, pa.ExtensionArray) else array.flatten()
    return array


def address(array: Any) -> int:
    values = leaf(array)
    return int(values.buffers()[1].address)


def numbers(shape: tuple[int, ...], dtype: str) -> Any:
    return np.arange(int(np.prod(shape))).astype("i8").reshape(shape).astype(dtype)


# ------------------------------------------------------------------ what is given


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_dimension_is_a_plain_array(dtype: str) -> None:
    a = numbers((7,), dtype)
    v = aa.view(a)
    p = pa.array(v)
    p.validate(full=True)
    assert p.type == (pa.binary(3) if dtype == "S3" else pa.array(a).type)
    assert address(p) == v.ptr and p.null_count == 0 and p.buffers()[0] is None
    back = aa.view(p)
    assert (back.ptr, back.dtype, back.shape) == (v.ptr, v.dtype, v.shape)
    assert np.asarray(back).tobytes() == a.tobytes()


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1), (0, 3), (3, 0), (2, 0, 3), (1, 2, 1, 3)])
def test_row_major_is_nested_lists(shape: tuple[int, ...]) -> None:
    a = numbers(shape, "f4")
    p = pa.array(aa.view(a))
    p.validate(full=True)
    expected = pa.float32()
    for n in reversed(shape[1:]):
        expected = pa.list_(expected, n)
    assert p.type == expected
    assert p.to_pylist() == a.tolist()
    assert a.size == 0 or address(p) == a.ctypes.data


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_layouts(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4)))
    a = numbers(shape, data.draw(st.sampled_from(DTYPES)))
    a = a.transpose(data.draw(st.permutations(range(a.ndim))))
    a = a[tuple(slice(None, None, data.draw(st.sampled_from([1, 1, 2, -1]))) for _ in shape)]
    v = aa.view(a)
    p = pa.array(v)
    p.validate(full=True)
    back = aa.view(p)
    assert back.shape == a.shape and back.dtype == v.dtype and back.readonly
    assert np.array_equal(np.asarray(back), a)
    inner = sorted((s, n) for s, n in zip(a.strides[1:], a.shape[1:], strict=True) if n > 1)
    step, dense = a.itemsize, True
    for stride, n in inner:
        dense, step = dense and stride == step, step * n
    dense = dense and (a.shape[0] <= 1 or a.strides[0] == step)
    if a.size:
        assert (back.ptr == v.ptr) is dense
    assert isinstance(p, pa.FixedShapeTensorArray) is bool(a.size and dense and not a.flags.c_contiguous)


def test_tensors_say_the_order_of_their_elements() -> None:
    a = numbers((2, 4, 3), "f4").transpose(0, 2, 1)  # an array of two column-major matrices
    p = pa.array(aa.view(a))
    assert p.type == pa.fixed_shape_tensor(pa.float32(), (4, 3), permutation=[1, 0])
    assert np.array_equal(p.to_numpy_ndarray(), a) and address(p) == a.ctypes.data
    assert p.to_numpy_ndarray().strides == a.strides


def test_column_major_matrices_are_copied() -> None:
    a = np.asfortranarray(numbers((2, 3), "i4"))
    p = pa.array(aa.view(a))
    assert p.to_pylist() == a.tolist() and p.type == pa.list_(pa.int32(), 3)
    assert address(p) != a.ctypes.data
    one = a[:1]
    assert address(pa.array(aa.view(one))) != a.ctypes.data  # its elements don't lie one after the other


def test_values_that_are_not_aligned_are_copied() -> None:
    memory = bytearray(33)
    a = np.frombuffer(memory, "f8", count=4, offset=1)
    p = pa.array(aa.view(a))
    assert address(p) % 8 == 0 and p.to_pylist() == a.tolist()


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 1001])
def test_bools_are_packed(n: int) -> None:
    memory = bytearray(np.random.default_rng(n).integers(0, 2, 2 * n).astype("u1") * 255)
    a = np.frombuffer(memory, "?")
    for part in (a, a[::2], a[::-1], a.reshape(2, n), a.reshape(2, n).T):
        p = pa.array(aa.view(part))
        p.validate(full=True)
        assert p.to_pylist() == [bool(x) for x in part] if part.ndim == 1 else p.to_pylist() == part.tolist()


def test_nat_becomes_null() -> None:
    a = np.array(["2020", "NaT", "1970", "NaT"], "M8[us]")
    p = pa.array(aa.view(a))
    p.validate(full=True)
    assert p.null_count == 2 and p.to_pylist() == a.tolist() and address(p) == a.ctypes.data
    with pytest.raises(aa.ExchangeError, match="2 nulls"):
        aa.view(p)
    q = pa.array(aa.view(a.reshape(2, 2)))
    q.validate(full=True)
    assert q.null_count == 0 and q.to_pylist() == a.reshape(2, 2).tolist()
    assert pa.array(aa.view(a.astype("m8[us]")[::2])).null_count == 0


def test_read_only_is_natural() -> None:
    a = numbers((3, 2), "i4")
    a.flags.writeable = False
    p = pa.array(aa.view(a))
    assert address(p) == a.ctypes.data and not leaf(p).buffers()[1].is_mutable


def test_arrays_made_of_pointers() -> None:
    block = (ctypes.c_int16 * 6)(*range(6))
    v = aa.from_pointer(ctypes.addressof(block), (2, 3), "int16", owner=block)
    assert address(pa.array(v)) == ctypes.addressof(block)
    for device in ("cuda_host", "cuda_managed"):
        assert pa.array(aa.from_pointer(ctypes.addressof(block), 6, "int16", device=device, owner=block)).to_pylist()
    assert not hasattr(aa.from_pointer(64, 6, "int16", device="cuda", owner=None), "__arrow_c_array__")


# ------------------------------------------------------------------ what was asked for


def given_as(v: Any, asked: Any) -> Any:
    schema, array = v.__arrow_c_array__(requested_schema=asked.__arrow_c_schema__())
    return pa.Array._import_from_c_capsule(schema, array)


def test_requested_schema() -> None:
    lists = pa.list_(pa.list_(pa.float32(), 4), 3)
    tensors = pa.fixed_shape_tensor(pa.float32(), (3, 4))
    rows = numbers((2, 3, 4), "f4")
    columns = numbers((2, 4, 3), "f4").transpose(0, 2, 1)
    permuted = pa.array(aa.view(columns)).type
    for a in (rows, columns):
        p = given_as(aa.view(a), lists)
        assert p.type == lists and p.to_pylist() == a.tolist() and (address(p) == a.ctypes.data) is (a is rows)
    assert given_as(aa.view(rows), tensors).type == tensors
    assert address(given_as(aa.view(rows), tensors)) == rows.ctypes.data
    assert given_as(aa.view(columns), tensors).type == permuted  # as it lies: another order would be a copy
    assert given_as(aa.view(columns), permuted).type == permuted
    for other in (pa.string(), pa.float64(), pa.list_(pa.float32(), 4), pa.timestamp("s", "UTC")):
        assert given_as(aa.view(rows), other).type == lists  # no cast is tried


@pytest.mark.parametrize("wrong", [1, "arrow_schema", object()])
def test_requests_that_are_none(wrong: Any) -> None:
    v = aa.view(numbers((2,), "i4"))
    with pytest.raises(TypeError, match="requested_schema is a capsule"):
        v.__arrow_c_array__(wrong)
    with pytest.raises(TypeError, match="another capsule"):
        v.__arrow_c_array__(v.__dlpack__())
    with pytest.raises(TypeError):
        v.__arrow_c_array__(stream=None)
    with pytest.raises(TypeError):
        v.__arrow_c_array__(None, None)
    with pytest.raises(TypeError):
        v.__arrow_c_schema__(None)


# ------------------------------------------------------------------ what is refused, and hidden


def test_no_dimensions() -> None:
    for method in ("__arrow_c_array__", "__arrow_c_schema__"):
        with pytest.raises(BufferError, match=r"no dimensions.*\(1,\)"):
            getattr(aa.view(np.array(3.0)), method)()


def test_lists_that_are_too_long() -> None:
    v = aa.view(np.broadcast_to(np.zeros(1, "i1"), (2, 2**31)))
    with pytest.raises(BufferError, match="dimension 1 has 2147483648 elements"):
        v.__arrow_c_array__()


def test_released() -> None:
    v = aa.view(numbers((2,), "i4"))
    v.release()
    for method in ("__arrow_c_array__", "__arrow_c_schema__"):
        with pytest.raises(BufferError, match="released"):
            getattr(v, method)()


@pytest.mark.parametrize("dtype", [*DTYPES, "?"])
def test_offered(dtype: str) -> None:
    assert isinstance(aa.view(np.zeros(2, dtype)), aat.SupportsArrowArray)


@pytest.mark.parametrize("dtype", [">f8", ">M8[s]", "c8", "c16", "g", "G", "U2", "V3", "M8[D]", "m8[h]", "M8[ps]",
                                   "M8[25us]", "M8", [("a", "i4")]])  # fmt: skip
def test_hidden(dtype: Any) -> None:
    v = aa.view(np.zeros(2, dtype))
    assert not isinstance(v, aat.SupportsArrowArray)
    for name in ("__arrow_c_array__", "__arrow_c_schema__"):
        assert not hasattr(v, name) and name not in dir(v) and not hasattr(type(v), name)


# ------------------------------------------------------------------ lifetimes


class Kept:
    """Memory that tells when it was let go."""

    def __init__(self, gone: list[str]) -> None:
        self.memory = (ctypes.c_double * 6)(*range(6))
        self.gone = gone

    def view(self, shape: tuple[int, ...] = (2, 3), strides: tuple[int, ...] | None = None) -> Any:
        return aa.from_pointer(ctypes.addressof(self.memory), shape, "float64", strides=strides, owner=self)

    def __del__(self) -> None:
        self.gone.append("gone")


@pytest.mark.parametrize("shape", [(6,), (2, 3), (1, 2, 3)])
def test_consumers_hold_a_share(shape: tuple[int, ...]) -> None:
    gone: list[str] = []
    v = Kept(gone).view(shape)
    p = pa.array(v)
    v.release()
    del v
    values = leaf(p)
    del p
    gc.collect()
    assert gone == [] and values.to_pylist() == [0, 1, 2, 3, 4, 5]
    del values
    assert gone == ["gone"]


def test_what_nobody_took_is_released() -> None:
    gone: list[str] = []
    v = Kept(gone).view()
    for _ in range(3):
        schema, array = v.__arrow_c_array__()
        del schema, array
    capsules = v.__arrow_c_array__()
    del v
    assert gone == []
    del capsules
    assert gone == ["gone"]


def test_copies_hold_nothing() -> None:
    gone: list[str] = []
    p = pa.array(Kept(gone).view((3, 2), (8, 24)))
    assert gone == ["gone"] and p.to_pylist() == [[0, 3], [1, 4], [2, 5]]


def test_capsules_are_taken_once() -> None:
    v = aa.view(numbers((2, 3), "i4"))
    schema, array = v.__arrow_c_array__()
    pa.Array._import_from_c_capsule(schema, array)
    with pytest.raises(pa.ArrowInvalid, match="released"):
        pa.Array._import_from_c_capsule(schema, array)


@pytest.mark.parametrize("child_first", [False, True])
def test_children_move_out_and_are_released_on_a_thread(child_first: bool) -> None:
    gone: list[str] = []
    capsules: list[Any] = list(Kept(gone).view().__arrow_c_array__())
    parts = []
    for capsule, kind in zip(capsules, (forge.Schema, forge.Array), strict=True):
        levels = []
        top = struct(capsule, kind)
        inside = kind.from_address(ctypes.c_void_p.from_address(top.children).value)
        for source in (top, inside):
            moved = kind()
            ctypes.memmove(ctypes.addressof(moved), ctypes.addressof(source), ctypes.sizeof(kind))
            source.release = None
            levels.append(moved)
        parts += levels[::-1] if child_first else levels
    capsules.clear()
    assert gone == [] and sorted(part.length for part in parts[2:]) == [2, 6]
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # ctypes gives up the GIL around the call
    for part in parts:
        thread = threading.Thread(target=lambda p=part: release(p.release)(ctypes.addressof(p)))
        assert gone == []
        thread.start()
        thread.join()
        assert part.release is None
    assert gone == ["gone"]


def test_shares_of_many_threads() -> None:
    gone: list[str] = []
    v = Kept(gone).view()
    failures: list[BaseException] = []

    def work(v: Any) -> None:
        try:
            for _ in range(200):
                assert pa.array(v).to_pylist() == [[0, 1, 2], [3, 4, 5]]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(v,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and gone == []
    del v
    gc.collect()
    assert gone == ["gone"]


def test_destructors_keep_an_exception() -> None:
    gone: list[str] = []

    def fail() -> None:
        held = Kept(gone).view().__arrow_c_array__()
        raise ValueError(len(held))

    with pytest.raises(ValueError, match="2"):
        fail()
    gc.collect()
    assert gone == ["gone"]


def test_nothing_leaks() -> None:
    views = [
        aa.view(a)
        for a in (
            numbers((50, 20), "f8"),
            numbers((20, 50), "f8").T,
            numbers((5, 4, 50), "f4").transpose(0, 2, 1),
            np.zeros(5000, "?"),
            np.full(1000, "NaT", "M8[s]"),
        )
    ]

    def resident() -> int:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1])

    def rounds(n: int) -> None:
        for _ in range(n):
            for v in views:
                v.__arrow_c_array__()
                v.__arrow_c_schema__()

    rounds(200)
    before = resident()
    references = [sys.getrefcount(v) for v in views]
    rounds(2000)  # of which each leak would be 8 KB or more, 16 MB in all
    if "ANYARRAY_SANITIZED" not in os.environ:  # AddressSanitizer keeps freed memory apart
        assert (resident() - before) * 4096 < 4 << 20
    assert [sys.getrefcount(v) for v in views] == references
    tracemalloc.start()
    rounds(5)
    start = tracemalloc.get_traced_memory()[0]
    rounds(100)
    grown = tracemalloc.get_traced_memory()[0] - start
    tracemalloc.stop()
    assert grown < 2000


# ------------------------------------------------------------------ other consumers


def test_nanoarrow() -> None:
    na = needs("nanoarrow")
    a = numbers((2, 3), "i4")
    taken = na.Array(aa.view(a))
    assert taken.to_pylist() == a.tolist()
    assert na.c_schema(aa.view(a)).format == "+w:3"
    assert na.c_array(aa.view(a[0])).view().buffer(1).size_bytes == 12
    assert np.asarray(na.c_array(aa.view(a[0])).view().buffer(1)).ctypes.data == a.ctypes.data


def test_polars() -> None:
    pl = needs("polars")
    a = numbers((5,), "f8")
    s = pl.Series("x", aa.view(a))
    assert s.dtype == pl.Float64 and s.to_list() == a.tolist() and s.to_numpy().ctypes.data == a.ctypes.data
    m = numbers((3, 2), "i2")
    s = pl.Series(aa.view(m))
    assert s.dtype == pl.Array(pl.Int16, 2) and s.to_list() == m.tolist()
    nat = np.array(["2020", "NaT"], "M8[us]")
    assert pl.Series(aa.view(nat)).to_list() == nat.tolist()
    assert pl.Series(aa.view(np.array([True, False, True]))).to_list() == [True, False, True]


def test_pandas() -> None:
    pd = needs("pandas")
    a = numbers((5,), "i4")
    assert pd.Series.from_arrow(aa.view(a)).to_list() == a.tolist()
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.array(aa.view(a))))
    assert column.to_list() == a.tolist() and str(column.dtype) == "int32[pyarrow]"


def test_duckdb() -> None:
    duckdb = needs("duckdb")
    a, m = numbers((3,), "i8"), numbers((3, 2), "f8")
    table = pa.table({"a": pa.array(aa.view(a)), "m": pa.array(aa.view(m))})
    rows = duckdb.connect().from_arrow(table).fetchall()
    assert rows == [(int(x), tuple(y)) for x, y in zip(a, m.tolist(), strict=True)]


def test_exchange_classes_give_arrow() -> None:
    @aa.exchange
    class Mine:
        def __init__(self, dtype: str) -> None:
            self.memory = np.arange(4).astype(dtype)

        def __anyarray__(self) -> Any:
            return aa.view(self.memory)

    mine = Mine("i4")
    assert address(pa.array(mine)) == mine.memory.ctypes.data
    assert not hasattr(Mine("c8"), "__arrow_c_array__")
