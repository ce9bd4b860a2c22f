# SPDX-License-Identifier: Apache-2.0
"""The DLPack C exchange table that Arrays carry on their types: every function, called as a consumer in C calls it."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa

from .capsules import Capsule, pointer_in
from .conftest import environment, needs

np = needs("numpy")

VOID = ctypes.c_void_p
CPU, CUDA = 1, 2


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", VOID), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Managed(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", VOID),
        ("deleter", ctypes.CFUNCTYPE(None, VOID)), ("flags", ctypes.c_uint64), ("tensor", DLTensor),
    ]  # fmt: skip


SET_ERROR = ctypes.CFUNCTYPE(None, VOID, ctypes.c_char_p, ctypes.c_char_p)
TENSOR, MANAGED = ctypes.POINTER(DLTensor), ctypes.POINTER(Managed)


class Table(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("prev_api", VOID),
        ("allocate", ctypes.CFUNCTYPE(ctypes.c_int, TENSOR, ctypes.POINTER(MANAGED), VOID, SET_ERROR)),
        ("export", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(MANAGED))),
        ("adopt", ctypes.PYFUNCTYPE(ctypes.c_int, MANAGED, ctypes.POINTER(VOID))),
        ("lend", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))),
        ("stream", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(VOID))),
    ]  # fmt: skip


def table_of(kind: Any) -> Table:
    return Table.from_address(pointer_in(kind.__dlpack_c_exchange_api__, b"dlpack_exchange_api"))


TABLE = table_of(type(aa.view(b"")))


def lend(obj: Any) -> DLTensor:
    t = DLTensor()
    TABLE.lend(obj, ctypes.byref(t))
    return t


def export(obj: Any) -> Any:
    out = MANAGED()
    TABLE.export(obj, ctypes.byref(out))
    return out


def adopt(managed: Any) -> Any:
    out = VOID()
    TABLE.adopt(managed, ctypes.byref(out))
    made = ctypes.cast(out, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(made))
    return made


def told(t: DLTensor) -> tuple[Any, ...]:
    return (t.data, (t.device_type, t.device_id), (t.code, t.bits, t.lanes), t.shape[: t.ndim], t.strides[: t.ndim])


def test_header_and_one_table_for_all_types(liar: Any) -> None:
    assert ctypes.sizeof(Table) == 56
    assert (TABLE.major, TABLE.minor) == (1, 3) and TABLE.prev_api is None
    kinds = [type(aa.view(np.zeros(2))), type(aa.view(Capsule(liar.dlpack(device=(2, 0)))))]
    addresses = {ctypes.addressof(table_of(kind)) for kind in kinds}
    assert addresses == {ctypes.addressof(TABLE)}
    assert aa.view(np.zeros(2)).__dlpack_c_exchange_api__ is kinds[0].__dlpack_c_exchange_api__


@pytest.mark.parametrize("ndim", [0, 1, 2, 3, 8, 9, 40])
def test_borrowed(ndim: int) -> None:
    a = np.zeros((2, 3, *(1,) * (ndim - 2))[:ndim], "i4").T
    v = aa.view(a)
    for _ in range(2):
        t = lend(v)
        assert told(t) == (a.ctypes.data, (1, 0), (0, 32, 1), list(a.shape), [s // 4 for s in a.strides])
        assert t.byte_offset == 0


def test_borrowed_extents_live_as_long_as_the_array() -> None:
    a = np.arange(24.0).reshape(2, 3, 4)
    v = aa.view(a)
    t = lend(v)
    others = [lend(aa.view(np.zeros((k, k)))) for k in range(1, 50)]
    copies = [np.from_dlpack(v) for _ in range(10)]
    assert t.shape[:3] == [2, 3, 4] and t.strides[:3] == [12, 4, 1] and len(others) + len(copies) == 59


def test_borrowed_negative_zero_and_empty() -> None:
    a = np.arange(6, dtype="f4").reshape(2, 3)
    assert lend(aa.view(a[::-1, ::-1])).strides[:2] == [-3, -1]
    w = np.lib.stride_tricks.as_strided(a, (4, 3), (0, 4))
    assert lend(aa.view(w)).strides[:2] == [0, 1]
    assert lend(aa.view(np.zeros((0, 3)))).data is None


def test_borrowed_from_a_device(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(device=(2, 1), code=4, bits=16, shape=(2, 2))))
    assert told(lend(v)) == (v.ptr, (2, 1), (4, 16, 1), [2, 2], [2, 1])


def test_owned() -> None:
    a = np.arange(6, dtype="f4").reshape(2, 3).T
    before = sys.getrefcount(a)
    v = aa.view(a)
    m = export(v)
    assert (m.contents.major, m.contents.minor, m.contents.flags) == (1, 3, 0)
    assert told(m.contents.tensor) == (a.ctypes.data, (1, 0), (2, 32, 1), [3, 2], [1, 3])
    v.release()
    del v
    assert m.contents.tensor.shape[:2] == [3, 2] and sys.getrefcount(a) == before + 1
    m.contents.deleter(ctypes.addressof(m.contents))
    assert sys.getrefcount(a) == before


def test_read_only_only_where_it_can_be_said() -> None:
    v = aa.view(b"abc")
    for _ in range(2):
        with pytest.raises(BufferError, match="read-only"):
            lend(v)
    m = export(v)
    assert m.contents.flags == 1
    w = adopt(m)
    assert w.readonly and w.tolist() == [97, 98, 99]


def test_padded_elements_only_where_they_can_be_said() -> None:
    ml = needs("ml_dtypes")
    v = aa.view(np.arange(4).astype(ml.int4))
    with pytest.raises(BufferError, match="padded"):
        lend(v)
    m = export(v)
    assert m.contents.flags == 4
    assert adopt(m).tolist() == [0, 1, 2, 3]


def test_strides_that_no_element_stride_can_say() -> None:
    a = np.zeros(4, {"names": ["x"], "formats": ["f4"], "offsets": [1], "itemsize": 7})["x"]
    v = aa.view(a)
    for way in (lend, export):
        with pytest.raises(BufferError, match="7 bytes"):
            way(v)


@pytest.mark.parametrize("obj", [3, b"abc", np.zeros(3), None, aa.Array, aa.DType("int8")])
def test_other_objects_are_refused(obj: Any) -> None:
    for way in (lend, export):
        with pytest.raises(TypeError, match="exchange table"):
            way(obj)


def test_arrays_without_dlpack_are_refused() -> None:
    for dtype in (">f4", "M8[s]", "S3", "i4,i4"):
        v = aa.view(np.zeros(2, dtype))
        assert not hasattr(v, "__dlpack_c_exchange_api__")
        for way in (lend, export):
            with pytest.raises(BufferError):
                way(v)


def test_released_arrays_are_refused() -> None:
    v = aa.view(bytearray(3))
    lend(v)
    v.release()
    for way in (lend, export):
        with pytest.raises(BufferError, match="released"):
            way(v)


def test_import_takes_over(liar: Any) -> None:
    before = liar.counts()["deleted"]
    v = aa.view(Capsule(liar.dlpack(shape=(2, 2))))
    w = adopt(export(v))
    assert w.ptr == v.ptr and w.shape == (2, 2) and w.protocol == "dlpack" and not w.readonly
    v.release()
    del v
    assert liar.counts()["deleted"] == before
    w.release()
    assert liar.counts()["deleted"] == before + 1


def test_import_that_fails_leaves_the_tensor() -> None:
    v = aa.view(bytearray(4))
    m = export(v)
    m.contents.major = 2
    with pytest.raises(aa.ExchangeError, match=r"2\.3"):
        adopt(m)
    m.contents.major = 1
    m.contents.tensor.lanes = 0
    with pytest.raises(aa.ExchangeError, match="lanes"):
        adopt(m)
    m.contents.tensor.lanes = 1
    assert adopt(m).tolist() == [0] * 4
    with pytest.raises(ValueError):
        adopt(MANAGED())


def test_import_follows_no_default_policy() -> None:
    v = aa.view(bytearray(4))
    with aa.default_policy(["buffer"]):
        assert adopt(export(v)).tolist() == [0] * 4


def allocate(device: tuple[int, int] = (1, 0), **fields: Any) -> tuple[int, Any, list[Any]]:
    shape = fields.pop("shape", (2, 3))
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    like = DLTensor(None, *device, len(shape), 2, 32, 1, ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64)))
    for name, value in fields.items():
        setattr(like, name, value)
    said: list[Any] = []
    out = MANAGED()
    note = SET_ERROR(lambda context, kind, message: said.append((context, kind.decode(), message.decode())))
    result = TABLE.allocate(ctypes.byref(like), ctypes.byref(out), 77, note)
    return result, out, said


@pytest.mark.parametrize("shape", [(2, 3), (5,), (), (0, 3), (1,) * 20])
def test_allocator(shape: tuple[int, ...]) -> None:
    result, out, said = allocate(shape=shape)
    assert result == 0 and not said
    t = out.contents.tensor
    assert t.shape[: t.ndim] == list(shape) and (t.data is None) == (0 in shape) and (t.data or 0) % 64 == 0
    v = adopt(out)
    assert v.shape == shape and v.c_contiguous and not v.readonly and v.dtype == "float32"
    np.asarray(v)[...] = 1.5
    assert np.asarray(v).sum() == 1.5 * v.size


def test_allocator_of_packed_elements() -> None:
    result, out, _ = allocate(shape=(3,), code=17, bits=4)
    assert result == 0
    v = adopt(out)
    assert v.strides is None and v.nbytes == 2


@pytest.mark.parametrize(
    ("fields", "kind"),
    [({"device": (2, 0)}, "BufferError"), ({"bits": 7}, "BufferError"), ({"shape": (1 << 40, 1 << 40)}, "BufferError"),
     ({"shape": (-1,)}, "BufferError"), ({"ndim": 100}, "BufferError"),
     pytest.param({"shape": (1 << 45,)}, "MemoryError", marks=pytest.mark.skipif(
         "ANYARRAY_SANITIZED" in os.environ, reason="AddressSanitizer ends the process where malloc gives null"))],
)  # fmt: skip
def test_allocator_says_why_not(fields: dict[str, Any], kind: str) -> None:
    result, out, said = allocate(**fields)
    assert result == -1 and not out
    ((context, named, message),) = said
    assert context == 77 and named == kind and message


def test_allocator_without_the_gil_and_on_another_thread() -> None:
    results: list[Any] = []  # a CFUNCTYPE gives the GIL up
    t = threading.Thread(target=lambda: results.append(allocate()))
    t.start()
    t.join()
    ((result, out, _),) = results
    assert result == 0
    out.contents.deleter(ctypes.addressof(out.contents))


def test_stream() -> None:
    for kind in (1, 2, 3, 10, 13, 14):
        out = VOID(5)
        assert TABLE.stream(kind, 0, ctypes.byref(out)) == 0 and out.value is None
    with pytest.raises(BufferError, match="99"):
        TABLE.stream(99, 0, ctypes.byref(VOID()))


def test_nothing_leaks() -> None:
    a = np.arange(4.0)
    before = sys.getrefcount(a)
    for _ in range(1000):
        v = aa.view(a)
        lend(v)
        m = export(v)
        m.contents.deleter(ctypes.addressof(m.contents))
        adopt(export(v))
    w = weakref.ref(v)
    del v
    assert w() is None and sys.getrefcount(a) == before
    gc.collect()


@pytest.mark.parametrize("how", ["here", "thread", "foreign"])
def test_deleter_anywhere(how: str) -> None:
    b = bytearray(8)
    v = aa.view(b)
    m = export(v)
    v.release()
    with pytest.raises(BufferError):
        b.append(1)
    address = ctypes.addressof(m.contents)
    deleter = m.contents.deleter
    if how == "here":
        deleter(address)
    elif how == "thread":
        t = threading.Thread(target=deleter, args=(address,))
        t.start()
        t.join()
    else:
        libc = ctypes.CDLL(None)
        thread = ctypes.c_ulong()
        start = ctypes.cast(deleter, VOID)
        assert libc.pthread_create(ctypes.byref(thread), None, start, VOID(address)) == 0
        assert libc.pthread_join(thread, None) == 0
    b.append(1)


def test_deleter_after_the_end_of_python() -> None:
    code = """
import ctypes, anyarray as aa
from tests.python.test_exchange_table import export, VOID, allocate
libc = ctypes.CDLL(None)
for m in (export(aa.view(bytearray(8))), allocate()[1]):
    pointer = ctypes.cast(m.contents.deleter, VOID)
    libc.__cxa_atexit(pointer, VOID(ctypes.addressof(m.contents)), None)
"""
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(), cwd=Path(__file__).parents[2])


def test_tvm_ffi_takes_arguments_by_the_table() -> None:
    tvm = needs("tvm_ffi")
    a = np.arange(6, dtype="f4").reshape(2, 3)
    v = aa.view(a)
    echo = tvm.get_global_func("testing.echo")
    t = echo(v)
    assert tuple(t.shape) == (2, 3) and np.from_dlpack(t).ctypes.data == a.ctypes.data
    del v
    assert np.from_dlpack(t).tolist() == a.tolist()
