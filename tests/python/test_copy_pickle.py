# SPDX-License-Identifier: Apache-2.0
"""copy.copy, copy.deepcopy and pickles of Arrays: what is shared, what is new, what is refused."""

from __future__ import annotations

import copy
import gc
import io
import multiprocessing
import pickle
import sys
import weakref
from typing import Any

import pytest

import anyarray as aa

from .capsules import Capsule
from .conftest import needs
from .test_array import DeviceArray

np = needs("numpy")

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "g", ">i4", ">c8", "S5", "U3", "V7", "M8[us]",
          "m8[3D]", "i4,f8", "(2,3)i4,S2", "S0"]  # fmt: skip
LAYOUTS = {
    "c": lambda a: a,
    "f": lambda a: np.asfortranarray(a),
    "steps": lambda a: a[::2, ::-1],
    "spread": lambda a: np.broadcast_to(a[:1], a.shape),
    "zero": lambda a: a[:0],
    "scalar": lambda a: a[0, 0, ...],
    "ones": lambda a: a[:1, :1],
}


def sample(dtype: str, layout: str = "c") -> Any:
    a = np.zeros((4, 6), dtype)
    raw = a.view("u1") if a.itemsize else a
    raw[...] = (np.arange(raw.size) % 2 if dtype == "?" else np.arange(raw.size) % 50).reshape(raw.shape)
    if dtype == "g":  # any bytes may be no number there
        a[...] = np.arange(24).reshape(a.shape)
    if dtype[0] == "U":
        a[...] = "xy"
    return LAYOUTS[layout](a)


def through(v: Any, protocol: int, out_of_band: bool = False) -> Any:
    if not out_of_band:
        return pickle.loads(pickle.dumps(v, protocol))
    buffers: list[Any] = []
    data = pickle.dumps(v, protocol, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


def same(w: Any, v: Any, f: bool) -> None:
    assert w.dtype == v.dtype and w.shape == v.shape and w.tolist() == v.tolist()
    assert w.f_contiguous if f else w.c_contiguous


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout_comes_back(dtype: str, layout: str, readonly: bool) -> None:
    a = sample(dtype, layout)
    readonly = readonly or not a.flags.writeable
    a.flags.writeable = not readonly
    v = aa.view(a)
    f = v.f_contiguous and not v.c_contiguous
    for protocol in PROTOCOLS:
        w = through(v, protocol)
        same(w, v, f)
        assert w.readonly is readonly and (w.size == 0 or w.nbytes == 0 or w.ptr != v.ptr)
        assert w.device == "cpu" and w.protocol == "buffer"
    w = through(v, 5, out_of_band=True)
    same(w, v, f)
    assert w.readonly is readonly
    if v.size and v.nbytes:
        assert (w.ptr == v.ptr) is (v.c_contiguous or v.f_contiguous)


ML = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"]


@pytest.mark.parametrize("name", ML)
def test_dtypes_without_a_buffer_format(name: str) -> None:
    ml = needs("ml_dtypes")
    a = np.arange(24).reshape(4, 6).astype("u1").view(getattr(ml, name)) if "16" not in name else None
    a = a if a is not None else np.arange(24).reshape(4, 6).astype(ml.bfloat16)
    for array in (a, a.T, a[::2, ::2]):
        v = aa.view(array)
        for w in (through(v, 2), through(v, 5), through(v, 5, out_of_band=True), copy.deepcopy(v)):
            assert w.dtype == v.dtype and w.shape == v.shape
            assert np.ascontiguousarray(w).view("u1").tolist() == np.ascontiguousarray(array).view("u1").tolist()


def test_packed_elements(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(code=17, bits=4, shape=(3, 5))))
    for w in (through(v, 2), through(v, 5), through(v, 5, out_of_band=True), copy.deepcopy(v)):
        assert w.dtype == v.dtype and w.strides is None and w.nbytes == 8 and w.tolist() == v.tolist()


def test_lanes_and_half_complex(liar: Any) -> None:
    for fields in ({"lanes": 4, "shape": (2,)}, {"code": 5, "bits": 32, "shape": (2,)}):
        v = aa.view(Capsule(liar.dlpack(**fields)))
        w = through(v, 5)
        assert w.dtype == v.dtype and w.tolist() == v.tolist()


def test_out_of_band_is_zero_copy_both_ways() -> None:
    a = np.arange(1000, dtype="f8")
    v = aa.view(a)
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(v, 5, buffer_callback=buffers.append)
    assert len(data) < 300 and len(buffers) == 1 and buffers[0].raw().nbytes == 8000
    w = pickle.loads(data, buffers=buffers)
    np.asarray(w)[3] = -1
    assert a[3] == -1
    with pytest.raises(BufferError, match="in use"):
        v.release()
    del w, buffers
    gc.collect()
    v.release()


def test_buffers_that_a_transport_made() -> None:
    v = aa.view(np.arange(6, dtype="i2").reshape(2, 3))
    buffers: list[Any] = []
    data = pickle.dumps(v, 5, buffer_callback=buffers.append)
    whole = bytes(buffers[0])
    for carried, readonly in ((whole, True), (bytearray(whole), False), (memoryview(whole), True),
                              (np.frombuffer(whole, "i4"), True)):  # fmt: skip
        w = pickle.loads(data, buffers=[carried])
        assert w.tolist() == v.tolist() and w.readonly is readonly and w.owner is carried
    locked = bytearray(whole)
    w = pickle.loads(data, buffers=[locked])
    with pytest.raises(BufferError):
        locked.append(1)
    w.release()
    locked.append(1)


def test_wrong_buffers_are_refused() -> None:
    v = aa.view(np.arange(6, dtype="i2"))
    data = pickle.dumps(v, 5, buffer_callback=lambda _: None)
    for carried in (b"", b"x" * 11, b"x" * 13):
        with pytest.raises(ValueError, match="bytes"):
            pickle.loads(data, buffers=[carried])
    with pytest.raises(TypeError):
        pickle.loads(data, buffers=[3])
    make = aa._core._from_bytes
    kind = aa.DType("int16")
    for shape in ((-2,), (1 << 62, 1 << 62), (1 << 62,)):
        with pytest.raises(ValueError, match="shape"):
            make(b"xxxx", kind, shape, "C", True)
    half = aa.from_pointer(0, 0, "float4_e2m1fn", owner=None).dtype
    for n in (1 << 60, 1 << 61, 1 << 62, (1 << 63) - 1):
        with pytest.raises(ValueError, match="shape"):
            make(b"", half, (n,), "C", True)
    for wrong in ((3,), (b"", kind, [2], "C", True), (b"", kind, (0,), 3, True), (b"", kind, ("a",), "C", True),
                  (b"", kind, (0,) * 65, "C", True)):  # fmt: skip
        with pytest.raises(TypeError):
            make(*wrong)


def test_identity_inside_one_pickle() -> None:
    v = aa.view(np.arange(3))
    a, b = pickle.loads(pickle.dumps([v, v], 5))
    assert a is b
    x, y = copy.deepcopy([v, v])
    assert x is y and x.ptr != v.ptr


def test_python_pickler_does_the_same() -> None:
    v = aa.view(np.arange(3))
    out = io.BytesIO()
    pickle._Pickler(out, 5).dump(v)
    assert pickle.loads(out.getvalue()).tolist() == [0, 1, 2]


def _double(v: Any) -> Any:
    np.asarray(v)[...] *= 2
    return v


def test_through_a_process_pool() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        w = pool.apply(_double, (aa.view(np.arange(4.0)),))
    assert w.tolist() == [0.0, 2.0, 4.0, 6.0] and not w.readonly


def test_device_arrays_refuse(liar: Any) -> None:
    arrays = [aa.view(DeviceArray()), aa.view(Capsule(liar.dlpack(device=(10, 0)))),
              aa.view(Capsule(liar.dlpack(device=(14, 0))))]  # fmt: skip
    for v in arrays:
        for how in (pickle.dumps, lambda x: pickle.dumps(x, 5), lambda x: pickle.dumps(x, 0), copy.deepcopy):
            with pytest.raises(TypeError, match="host can't read"):
                how(v)


def test_pinned_arrays_can(liar: Any) -> None:
    for device in ((3, 0), (13, 0)):
        v = aa.view(Capsule(liar.dlpack(device=device, shape=(2,))))
        for w in (through(v, 5), copy.deepcopy(v)):
            assert w.device == "cpu" and w.tolist() == v.tolist()


def test_released_arrays_refuse() -> None:
    v = aa.view(bytearray(3))
    v.release()
    for how in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ValueError, match="released"):
            how(v)


# ------------------------------------------------------------------ copy.copy


def test_copy_is_another_array_of_the_same_memory() -> None:
    a = np.arange(24, dtype="f4").reshape(2, 3, 4)[:, ::-1]
    v = aa.view(a)
    w = copy.copy(v)
    assert w is not v and type(w) is type(v)
    for name in ("ptr", "shape", "strides", "dtype", "device", "readonly", "copied", "protocol", "device_verified"):
        assert getattr(w, name) == getattr(v, name), name
    assert w.owner is a
    np.asarray(w)[0, 0, 0] = 99
    assert a[0, 0, 0] == 99


def test_copies_are_released_on_their_own() -> None:
    b = bytearray(4)
    v = aa.view(b)
    w = copy.copy(v)
    x = copy.copy(w)
    v.release()
    assert w.tolist() == [0] * 4
    w.release()
    del v, w
    with pytest.raises(BufferError):
        b.append(1)
    assert x.tolist() == [0] * 4
    x.release()
    b.append(1)


def test_copy_keeps_what_the_array_kept() -> None:
    a = np.arange(3)
    before = sys.getrefcount(a)
    w = copy.copy(aa.view(a))
    gc.collect()
    assert w.tolist() == [0, 1, 2]
    del w
    assert sys.getrefcount(a) == before


def test_copy_of_device_arrays(liar: Any) -> None:
    for v in (aa.view(DeviceArray()), aa.view(Capsule(liar.dlpack(device=(10, 0))))):
        w = copy.copy(v)
        assert w.ptr == v.ptr and w.device == v.device and type(w) is type(v)


@pytest.mark.parametrize("policy", [["numpy"], ["buffer"], ["array_interface"], ["array_method"]])
def test_collector_breaks_cycles_through_copies(policy: list[str]) -> None:
    class Sub(np.ndarray):
        pass

    a = np.zeros(3).view(Sub)
    a.copy_of_it = copy.copy(aa.view(a, policy=policy))
    w = weakref.ref(a)
    del a
    gc.collect()
    assert w() is None


def test_many_dimensions() -> None:
    a = np.zeros((1,) * 40 + (3,))
    for w in (copy.copy(aa.view(a)), copy.deepcopy(aa.view(a)), through(aa.view(a), 5)):
        assert w.shape == a.shape


# ------------------------------------------------------------------ copy.deepcopy


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "S0"])
def test_deepcopy_owns_its_memory(dtype: str, layout: str) -> None:
    a = sample(dtype, layout)
    a.flags.writeable = False
    v = aa.view(a)
    w = copy.deepcopy(v)
    same(w, v, v.f_contiguous and not v.c_contiguous)
    assert w.owner is None and w.protocol is None and w.copied is True and not w.readonly
    assert w.ptr % 64 == 0 and w.ptr != v.ptr and "protocol=None" in repr(w)
    if v.dtype != "V7":
        assert np.array_equal(np.asarray(w), a)
    before = w.tolist()
    del v, a
    gc.collect()
    assert w.tolist() == before


def test_owned_memory_is_freed() -> None:
    before = aa._core._live()
    w = copy.deepcopy(aa.view(np.zeros(1000)))
    assert aa._core._live() == before + 1
    n = np.from_dlpack(w)
    w.release()
    n[0] = 5
    del w
    assert n[0] == 5 and aa._core._live() == before + 1
    del n
    assert aa._core._live() == before
