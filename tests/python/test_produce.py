# SPDX-License-Identifier: Apache-2.0
"""What an Array gives on: the buffer's flags, the interface dict, DLPack by the standard, __array__."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
from typing import Any

import pytest

import anyarray as aa

from .capsules import Capsule, pointer_in
from .conftest import environment, needs

np = needs("numpy")

LAYOUTS = {
    "c": lambda a: a,
    "f": lambda a: np.asfortranarray(a),
    "t": lambda a: a.transpose(2, 0, 1),
    "steps": lambda a: a[::2, :, ::3],
    "back": lambda a: a[::-1, :, ::-1],
    "spread": lambda a: np.broadcast_to(a[:1], (5, *a.shape[1:])),
    "zero": lambda a: a[:, :0],
    "scalar": lambda a: a[1, 1, 1, ...],
    "ones": lambda a: a[:1, :1, :1],
}
NUMBERS = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


def sample(dtype: str, layout: str) -> Any:
    a = (np.arange(60) % 7).astype(dtype).reshape(3, 4, 5)
    return LAYOUTS[layout](a)


def alike(b: Any, a: Any) -> None:
    assert b.shape == a.shape and b.dtype == a.dtype and b.tolist() == a.tolist()
    if a.size:
        assert b.ctypes.data == a.ctypes.data
        assert all(m == n for m, n, k in zip(b.strides, a.strides, a.shape) if k > 1)


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", [*NUMBERS, ">i4", "S3", "U2", "g"])
def test_numpy_reads_it_by_the_buffer(dtype: str, layout: str) -> None:
    a = sample("i8" if dtype in ("S3", "U2") else dtype, layout).astype(dtype)
    v = aa.view(a)
    m = memoryview(v)
    alike(np.asarray(m), a)
    assert m.readonly == v.readonly == (not a.flags.writeable)
    assert m.nbytes == a.nbytes and m.itemsize == a.itemsize
    assert m.c_contiguous == a.flags.c_contiguous and m.f_contiguous == a.flags.f_contiguous


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", [*NUMBERS, ">f8", "M8[us]", "m8[3D]", "V3"])
def test_numpy_reads_it_by_the_dict(dtype: str, layout: str) -> None:
    a = sample("i8" if dtype[0] in "Mm" else "S3" if dtype[0] == "V" else dtype, layout)
    a = a.view(dtype) if dtype[0] == "V" else a.astype(dtype)
    v = aa.view(a)
    d = v.__array_interface__
    assert d["version"] == 3 and (d["strides"] is None) == v.c_contiguous and d["typestr"] == a.dtype.str

    class Carrier:
        __array_interface__ = d

    b = np.asarray(Carrier())
    alike(b, a)
    assert b.flags.writeable == a.flags.writeable
    alike(np.asarray(v), a)


def test_dict_of_a_struct() -> None:
    t = np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "S2"), ("e", ">u2")])], align=True)
    a = np.zeros(3, t)
    a["a"] = [1, 2, 3]
    v = aa.view(a)
    assert v.__array_interface__["typestr"] == f"|V{t.itemsize}"
    b = np.asarray(v)
    assert b.dtype.itemsize == t.itemsize and b["a"].tolist() == [1, 2, 3] and b["c"]["e"].dtype == ">u2"
    assert b["b"].shape == (3, 2, 3) and b.ctypes.data == a.ctypes.data
    assert aa.view(b).dtype.name == v.dtype.name


def test_consumers_of_bytes() -> None:
    a = np.frombuffer(b"hello world!", "u1")
    v = aa.view(a)
    assert bytes(v) == b"hello world!" and bytearray(v) == b"hello world!" and b"".join([v]) == b"hello world!"
    import hashlib

    assert hashlib.sha256(v).digest() == hashlib.sha256(b"hello world!").digest()
    w = aa.view(bytearray(12))
    memoryview(w)[:] = b"hello world!"
    assert bytes(w) == b"hello world!"
    with pytest.raises(TypeError):
        memoryview(v)[0] = 1


# ------------------------------------------------------------------ DLPack


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", NUMBERS)
def test_numpy_reads_it_by_dlpack(dtype: str, layout: str) -> None:
    a = sample(dtype, layout)
    v = aa.view(a)
    b = np.from_dlpack(v)
    alike(b, a)
    assert b.flags.writeable == a.flags.writeable
    c = np.from_dlpack(v, copy=True)
    assert c.tolist() == a.tolist() and (a.size == 0 or c.ctypes.data != a.ctypes.data)
    assert c.flags.c_contiguous and c.flags.writeable


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float8_e5m2", "complex64", "bool", "int64", "float16"])
def test_torch_reads_it(name: str) -> None:
    torch = needs("torch")
    t = torch.zeros((2, 3), dtype=torch.uint8).to(getattr(torch, name)).t()
    v = aa.view(t)
    u = torch.from_dlpack(v)
    assert u.data_ptr() == t.data_ptr() and u.dtype == t.dtype and u.stride() == t.stride() and u.shape == t.shape
    del t, v
    assert u.to(torch.float32).abs().sum().item() == 0


def test_jax_reads_it() -> None:
    jnp = needs("jax.numpy")
    a = jnp.arange(6, dtype="bfloat16").reshape(2, 3)
    b = jnp.from_dlpack(aa.view(np.arange(12, dtype="f4").reshape(3, 4)))
    assert b.tolist() == np.arange(12.0).reshape(3, 4).tolist()
    v = aa.view(a)
    assert v.readonly and v.tolist() == a.tolist()


def capsule_name(capsule: Any) -> str:
    return repr(capsule).split('"')[1]


def test_versions() -> None:
    v = aa.view(np.arange(3.0))
    for version in (None, (0, 8), (0, 99)):
        assert capsule_name(v.__dlpack__(max_version=version)) == "dltensor"
    for version in ((1, 0), (1, 3), (1, 99), (2, 0), (9, 9)):
        capsule = v.__dlpack__(max_version=version)
        assert capsule_name(capsule) == "dltensor_versioned"
        major, minor = version_in(capsule)
        assert (major, minor) == min((1, 3), version)


def version_in(capsule: Any) -> tuple[int, int]:
    pair = (ctypes.c_uint32 * 2).from_address(pointer_in(capsule, b"dltensor_versioned"))
    return pair[0], pair[1]


def flags_in(capsule: Any) -> int:
    return ctypes.c_uint64.from_address(pointer_in(capsule, b"dltensor_versioned") + 24).value


def test_flags() -> None:
    a = np.arange(3.0)
    assert flags_in(aa.view(a).__dlpack__(max_version=(1, 0))) == 0
    assert flags_in(aa.view(a).__dlpack__(max_version=(1, 0), copy=True)) == 2
    a.flags.writeable = False
    assert flags_in(aa.view(a).__dlpack__(max_version=(1, 0))) == 1
    assert flags_in(aa.view(a).__dlpack__(max_version=(1, 0), copy=True)) == 2


def test_padded_elements() -> None:
    ml = needs("ml_dtypes")
    v = aa.view(np.arange(4).astype(ml.int4))
    assert flags_in(v.__dlpack__(max_version=(1, 1))) == 4
    for version in (None, (1, 0)):  # the flag came with 1.1
        with pytest.raises(BufferError, match="padded"):
            v.__dlpack__(max_version=version)
    again = aa.view(Capsule(v.__dlpack__(max_version=(1, 3))))
    assert again.dtype == v.dtype and again.tolist() == [0, 1, 2, 3]


def test_packed_elements_pass_on(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(code=17, bits=4, shape=(2, 4))))
    again = aa.view(Capsule(v.__dlpack__(max_version=(1, 3))))
    assert again.strides is None and again.dtype == v.dtype and again.ptr == v.ptr and again.tolist() == v.tolist()
    copied = aa.view(Capsule(v.__dlpack__(max_version=(1, 3), copy=True)))
    assert copied.copied is True and copied.tolist() == v.tolist() and copied.ptr != v.ptr


def test_read_only_needs_a_version() -> None:
    v = aa.view(b"abc")
    with pytest.raises(BufferError, match="max_version"):
        v.__dlpack__()
    assert capsule_name(v.__dlpack__(copy=True)) == "dltensor"
    assert aa.view(Capsule(v.__dlpack__(max_version=(1, 0)))).readonly


@pytest.mark.parametrize(
    "keywords",
    [{"stream": 1}, {"stream": 0}, {"stream": 1 << 80}, {"dl_device": (2, 0)}, {"dl_device": (1, 1)}],
)
def test_impossible_requests(keywords: dict[str, Any]) -> None:
    with pytest.raises(BufferError):
        aa.view(np.zeros(3)).__dlpack__(**keywords)


@pytest.mark.parametrize(
    "keywords",
    [{"stream": "x"}, {"stream": 1.5}, {"stream": True}, {"max_version": 1}, {"max_version": (1,)},
     {"max_version": (1.5, 0)}, {"copy": 1}, {"copy": "no"}, {"dl_device": 1}, {"dl_device": (1,)}, {"other": None}],
)  # fmt: skip
def test_wrong_requests(keywords: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        aa.view(np.zeros(3)).__dlpack__(**keywords)


def test_positional_arguments_are_wrong() -> None:
    with pytest.raises(TypeError):
        aa.view(np.zeros(3)).__dlpack__(None)


def test_lawful_requests() -> None:
    v = aa.view(np.zeros(3))
    for keywords in ({"stream": None}, {"stream": -1}, {"copy": False}, {"copy": None}, {"dl_device": (1, 0)},
                     {"dl_device": None}, {"dl_device": v.device}):  # fmt: skip
        v.__dlpack__(max_version=(1, 0), **keywords)
    assert v.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("device", [(99, 0), (1, -1), (0, 0), (1, 1 << 40), ("nowhere", 0)])
def test_devices_that_do_not_exist(device: Any) -> None:
    with pytest.raises(BufferError, match="dl_device"):
        aa.view(np.zeros(3)).__dlpack__(dl_device=device)


def test_released_arrays_are_a_buffer_error() -> None:
    v = aa.view(bytearray(3))
    v.release()
    with pytest.raises(BufferError, match="released"):
        v.__dlpack__()
    with pytest.raises(TypeError):
        v.__dlpack__(None)


@pytest.mark.parametrize("device", [(3, 0), (11, 0), (13, 0)])
@pytest.mark.parametrize("layout", [None, (1, 2)])
def test_pinned_memory_is_copied_to_the_host(liar: Any, device: tuple[int, int], layout: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(device=device, shape=(2, 3), strides=layout, flags=1)))
    for keywords in ({}, {"copy": None}, {"copy": True}):
        w = aa.view(Capsule(v.__dlpack__(max_version=(1, 0), dl_device=(1, 0), **keywords)))
        assert w.device == "cpu" and w.tolist() == v.tolist() and w.ptr != v.ptr and w.ptr % 64 == 0
        assert w.copied is True and not w.readonly and w.c_contiguous
    assert aa.view(Capsule(v.__dlpack__(dl_device=(1, 0)))).tolist() == v.tolist()  # legacy: nothing left to say
    with pytest.raises(BufferError, match="copy"):
        v.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
    with pytest.raises(BufferError, match=r"\(1, 0\)"):  # new pinned memory can't be made
        v.__dlpack__(max_version=(1, 0), copy=True)
    same = aa.view(Capsule(v.__dlpack__(max_version=(1, 0), dl_device=device)))
    assert same.device == device and same.ptr == v.ptr and same.readonly


def test_device_memory_goes_nowhere(liar: Any) -> None:
    for device in ((2, 1), (10, 0), (14, 0), (8, 0)):
        v = aa.view(Capsule(liar.dlpack(device=device)))
        for keywords in ({"dl_device": (1, 0)}, {"copy": True}, {"dl_device": (2, 0)}, {"dl_device": (13, 0)},
                         {"dl_device": (1, 0), "copy": True}):  # fmt: skip
            with pytest.raises(BufferError):
                v.__dlpack__(max_version=(1, 3), **keywords)
        assert aa.view(Capsule(v.__dlpack__(max_version=(1, 3), dl_device=device, copy=False))).ptr == v.ptr


@pytest.mark.parametrize(
    ("device", "lawful", "refused"),
    [((2, 0), (None, -1, 1), (0, 2, 3, 1 << 70, -2)), ((10, 0), (None, -1, 0), (1, 2, 5)),
     ((13, 0), (None, -1, 1), (0, 2)), ((3, 0), (None, -1, 1), (0,)), ((14, 0), (None, -1), (0, 1, object())),
     ((8, 0), (None, -1), (1, "queue"))],
)  # fmt: skip
def test_streams(liar: Any, device: tuple[int, int], lawful: tuple[Any, ...], refused: tuple[Any, ...]) -> None:
    v = aa.view(Capsule(liar.dlpack(device=device)))
    for stream in lawful:
        assert capsule_name(v.__dlpack__(stream=stream, max_version=(1, 0))) == "dltensor_versioned"
    for stream in refused:
        with pytest.raises(BufferError):
            v.__dlpack__(stream=stream)
    for stream in (True, 1.5) if device[0] in (2, 10, 13, 3) else (True,):
        with pytest.raises(TypeError):
            v.__dlpack__(stream=stream)


def test_copies_are_owned_by_the_consumer() -> None:
    a = np.arange(12, dtype="f4").reshape(3, 4)
    for array in (a, a.T, a[::2, ::-1], np.broadcast_to(a[:1], (3, 4)), a[1, 1, ...], a[:0], a[:, 1:3]):
        v = aa.view(array)
        for version in (None, (1, 0)):
            c = Capsule(v.__dlpack__(max_version=version, copy=True))
            w = aa.view(c)
            assert w.tolist() == array.tolist() and w.c_contiguous and not w.readonly
            assert w.copied is (version is not None)
            assert w.size == 0 or w.ptr != v.ptr


def test_strides_that_are_no_multiple_of_the_item() -> None:
    a = np.frombuffer(bytearray(32), np.dtype({"names": ["x"], "formats": ["f4"], "offsets": [1], "itemsize": 7}), 4)[
        "x"
    ]
    v = aa.view(a)
    assert v.strides == (7,)
    with pytest.raises(BufferError):
        v.__dlpack__(max_version=(1, 0))
    assert np.from_dlpack(v, copy=True).tolist() == a.tolist()
    assert np.asarray(v).tolist() == a.tolist()


def test_unconsumed_capsules_give_back() -> None:
    a = np.arange(3.0)
    before = sys.getrefcount(a)
    v = aa.view(a)
    for version in (None, (1, 0)):
        for copied in (None, True):
            capsule = v.__dlpack__(max_version=version, copy=copied)
            del capsule
    del v
    assert sys.getrefcount(a) == before


class Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", ctypes.c_char * 48),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


def consume(capsule: Any) -> int:
    """Take a legacy capsule over as a consumer does; gives the address of the struct."""
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
    address = pointer_in(capsule, b"dltensor")
    rename(capsule, USED)
    return int(address)


USED = b"used_dltensor"


def test_deleter_without_the_gil_and_from_other_threads() -> None:
    b = bytearray(8)
    v = aa.view(b)
    for run in range(2):
        address = consume(v.__dlpack__())
        deleter = Managed.from_address(address).deleter  # CFUNCTYPE gives the GIL up
        v.release()
        if run == 0:
            deleter(address)
        else:
            t = threading.Thread(target=deleter, args=(address,))
            t.start()
            t.join()
        b.append(1)
        v = aa.view(b)


def test_deleter_from_a_thread_that_python_never_saw() -> None:
    b = bytearray(8)
    v = aa.view(b)
    address = consume(v.__dlpack__())
    pointer = ctypes.cast(Managed.from_address(address).deleter, ctypes.c_void_p)
    v.release()
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    assert libc.pthread_create(ctypes.byref(thread), None, pointer, ctypes.c_void_p(address)) == 0
    assert libc.pthread_join(thread, None) == 0
    b.append(1)


def test_deleter_after_the_end_of_python() -> None:
    code = """
import ctypes, anyarray as aa
from tests.python.test_produce import consume, Managed
v = aa.view(bytearray(8))
address = consume(v.__dlpack__())
pointer = ctypes.cast(Managed.from_address(address).deleter, ctypes.c_void_p)
ctypes.CDLL(None).__cxa_atexit(pointer, ctypes.c_void_p(address), None)
"""
    from pathlib import Path

    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, env=environment(), cwd=root)


def test_arrays_that_live_to_the_end() -> None:
    code = """
import sys, numpy as np, anyarray as aa
v = aa.view(np.arange(3.0)); m = memoryview(v); d = np.from_dlpack(v); c = v.__dlpack__()
sys.keep = (v, m, d, c, aa.view(b"abc"))
class Late:
    def __del__(self):
        assert self.v.tolist() == [0.0, 1.0]
late = Late(); late.v = aa.view(np.arange(2.0)); late.me = late
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, env=environment(), capture_output=True, text=True)
    assert done.stderr == ""


# ------------------------------------------------------------------ __array__


def test_array_method_arguments() -> None:
    a = np.arange(6, dtype="i4").reshape(2, 3)
    v = aa.view(a)
    assert v.__array__().ctypes.data == a.ctypes.data
    assert v.__array__(None, copy=False).ctypes.data == a.ctypes.data
    assert v.__array__(copy=True).ctypes.data != a.ctypes.data
    assert v.__array__("f8").dtype == "f8" and v.__array__(dtype="f8", copy=None).tolist() == a.tolist()
    with pytest.raises(ValueError, match="copy"):
        v.__array__("f8", copy=False)
    with pytest.raises(TypeError):
        v.__array__(1, 2, 3)
    with pytest.raises(TypeError):
        v.__array__(other=1)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "int4", "uint2",
                                  "float4_e2m1fn", "float6_e3m2fn"])  # fmt: skip
def test_array_method_through_ml_dtypes(name: str) -> None:
    ml = needs("ml_dtypes")
    a = np.arange(24).reshape(4, 6).astype("u1").view(getattr(ml, name))[::-1, ::2]
    a.flags.writeable = False
    b = np.asarray(aa.view(a))
    assert b.dtype == a.dtype and b.strides == a.strides and b.ctypes.data == a.ctypes.data and not b.flags.writeable
    assert (b.view("u1") if b.itemsize == 1 else b.view("u2")).tolist() == a.view(f"u{a.itemsize}").tolist()


def test_array_method_unpacks(liar: Any) -> None:
    ml = needs("ml_dtypes")
    v = aa.view(Capsule(liar.dlpack(code=0, bits=4, shape=(2, 4))))
    b = np.asarray(v)
    assert b.dtype == ml.int4 and b.astype("i8").tolist() == v.tolist()
    with pytest.raises(ValueError, match="copy"):
        v.__array__(copy=False)


def test_array_method_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = needs("torch")
    v = aa.view(torch.zeros(3, dtype=torch.bfloat16))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(TypeError, match="ml_dtypes"):
        v.__array__()
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(TypeError, match="NumPy"):
        v.__array__()


def test_array_method_of_a_struct_that_no_protocol_can_say() -> None:
    ml = needs("ml_dtypes")
    v = aa.view(np.zeros(2, [("a", ml.bfloat16), ("b", "i4")]))
    assert v.tolist() == [(0.0, 0), (0.0, 0)] and type(v).__name__ == "HostArrayOpaque"
    with pytest.raises(TypeError, match="tolist"):
        np.asarray(v)


def test_array_method_of_lanes(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(code=2, bits=32, lanes=4, shape=(2,))))
    with pytest.raises(TypeError, match="tolist"):
        np.asarray(v)


def test_array_method_of_half_complex(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(code=5, bits=32, shape=(2,))))
    if not hasattr(needs("ml_dtypes"), "complex32"):
        with pytest.raises(TypeError, match="complex32"):
            np.asarray(v)
    else:
        assert np.asarray(v).astype("c8").tolist() == v.tolist() and np.asarray(v).dtype.name == "complex32"


def test_views_of_views_see_the_same_memory() -> None:
    a = np.arange(6, dtype="f4").reshape(2, 3)[:, ::-1]
    for policy in (None, ["buffer"], ["dlpack"], ["array_interface"], ["array_method"]):
        w = aa.view(aa.view(a), policy=policy)
        assert w.ptr == a.ctypes.data and w.strides == a.strides and w.dtype == "float32" and not w.readonly
    gc.collect()
