# SPDX-License-Identifier: Apache-2.0
"""convert: every dtype in every layout, read-only and not, to every library that is installed; what can't be held is
copied or refused as asked, and the account says so."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import anyarray as aa
from anyarray._convert import limits, targets
from anyarray._convert.entries import ENTRIES

from .conftest import in_a_process, needs

np = needs("numpy")

LIBRARIES = ("numpy", "torch", "jax", "tvm_ffi", "pyarrow", "array_api_strict")


def library(name: str) -> Any:
    """The module; skips where it isn't installed."""
    module = needs(name)
    if name == "jax":
        module.config.update("jax_enable_x64", True)
    return module


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """A row-major array at a multiple of 64 bytes, filled with different bytes that are valid as any number or bool."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    block = np.zeros(size + 64, "u1")
    start = -block.ctypes.data % 64
    x = block[start : start + size].view(dtype).reshape(shape)
    x[...] = (np.arange(x.size).reshape(shape) % 120).astype(dtype)
    return x


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "transposed": lambda x: x.T,
    "sliced": lambda x: x[1:, ::2],
    "negative": lambda x: x[::-1, ::-1],
    "broadcast": lambda x: np.lib.stride_tricks.as_strided(x, x.shape, (0, x.strides[1])),
    "row": lambda x: x[0],
    "column": lambda x: x[:, 0],
    "0-d": lambda x: x[1, 2, ...],
    "size 0": lambda x: x[:, :0],
}
DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">f8", ">c16")
LACKS = {
    "pyarrow": "c",
    "array_api_strict": "e",
}


def lacks(name: str, dtype: Any) -> bool:
    """Whether the library has no such dtype."""
    chars = LACKS.get(name, "")
    return dtype.kind in chars or dtype.char in chars


def to_host(made: Any, name: str) -> Any:
    """The values as an ndarray, by the library's own means."""
    if name == "torch":
        return np.array(made.tolist(), dtype=str(made.dtype).removeprefix("torch.")).reshape(tuple(made.shape))
    if name == "tvm_ffi":
        return np.from_dlpack(made)
    if name == "pyarrow":
        return made.to_numpy(zero_copy_only=False) if hasattr(made, "null_count") else made.to_numpy()
    return np.asarray(made)


def address(made: Any, name: str) -> int:
    """Where the first element lies, by the library's own means."""
    if name == "torch":
        return int(made.data_ptr())
    if name == "jax":
        return int(made.unsafe_buffer_pointer())
    if name == "pyarrow":
        if hasattr(made, "buffers"):
            return int(made.buffers()[1].address)
        return int(made.to_numpy().ctypes.data)
    if name == "tvm_ffi":
        return int(np.from_dlpack(made).ctypes.data)
    return int(np.asarray(made).ctypes.data)


def needs_copy(x: Any, name: str) -> bool:
    """What the libraries' documents and their behaviour say, in words other than the table's."""
    native = x.dtype.isnative
    used = [(n, s) for n, s in zip(x.shape, x.strides, strict=True) if n > 1] if x.size else []
    if name == "numpy":
        return False
    if not native:
        return True
    if name == "array_api_strict":
        return False
    if name == "torch":
        return not x.flags.writeable or any(s < 0 for _, s in used)
    if name == "tvm_ffi":
        return not x.flags.writeable
    if name == "pyarrow":
        if x.dtype == bool or (x.ndim == 1 and not x.flags.c_contiguous):
            return True
        return x.ndim != 1 and any(s < 0 for _, s in used)
    if x.size and x.ctypes.data % 64:
        return True
    tight = sorted(s for _, s in used)
    dense = all(s > 0 for s in tight) and sum((n - 1) * s for n, s in used) + x.itemsize == x.size * x.itemsize
    return bool(used) and not dense


# --- what is given, layout by layout ------------------------------------------------------------------------------


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_every_dtype_in_every_layout(name: str, layout: str, readonly: bool) -> None:
    library(name)
    for code in DTYPES:
        x = LAYOUTS[layout](aligned((4, 6), code))
        if readonly:
            x.flags.writeable = False
        if lacks(name, x.dtype):
            with pytest.raises(aa.ExchangeError, match="has no dtype"):
                aa.convert(x, name)
            continue
        if name == "pyarrow" and x.ndim != 1 and x.dtype == bool:
            with pytest.raises(aa.ExchangeError, match="no elements of dtype bool"):
                aa.convert(x, name)
            continue
        want = x.copy()
        copies = needs_copy(x, name)
        for copy in (None, True, False):
            account = aa.explain_convert(x, name, copy=copy)
            if copies and copy is False:
                with pytest.raises(aa.ExchangeError, match="copy"):
                    aa.convert(x, name, copy=copy)
                assert account.way == "refused" and account.copied is None and "copy" in account.error
                continue
            made = aa.convert(x, name, copy=copy)
            fresh = bool(copy) or copies
            got = to_host(made, name)
            assert got.shape == x.shape and (got.dtype == x.dtype.newbyteorder("=") or name == "numpy"), (code, copy)
            assert np.array_equal(got, want), (code, copy)
            assert account.ok and account.copied is fresh, (code, copy, account)
            if x.size:
                assert (address(made, name) == x.ctypes.data) is not fresh, (code, copy)
            if fresh:
                assert account.reasons
            if name == "torch":
                assert made.element_size() == x.itemsize
                if x.size and not fresh:
                    pairs = zip(made.stride(), x.strides, x.shape, strict=True)
                    assert all(s * x.itemsize == t for s, t, n in pairs if n > 1)
            if name in ("numpy", "array_api_strict") and not fresh:
                # Shared elements could be written one by one, as if they were several.
                overlaps = name != "numpy" and layout == "broadcast"
                assert np.asarray(made).flags.writeable is (x.flags.writeable and not overlaps)


@pytest.mark.parametrize("layout", [n for n in LAYOUTS if n not in ("negative", "broadcast")])
def test_torch_to_numpy(layout: str) -> None:
    torch = library("torch")
    ml_dtypes = needs("ml_dtypes")
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
                 "float64", "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e5m2"):  # fmt: skip
        t = torch.arange(24).reshape(4, 6).to(getattr(torch, name))
        t = {
            "transposed": lambda t=t: t.T,
            "sliced": lambda t=t: t[1:, ::2],
            "row": lambda t=t: t[0],
            "column": lambda t=t: t[:, 0],
            "0-d": lambda t=t: t[1, 2],
            "size 0": lambda t=t: t[:, :0],
        }.get(layout, lambda t=t: t)()
        x = aa.convert(t, "numpy")
        assert type(x) is np.ndarray and x.shape == tuple(t.shape)
        assert x.dtype == np.dtype(getattr(ml_dtypes, name, name))
        assert x.flags.writeable and not x.flags.owndata
        if t.numel():
            assert x.ctypes.data == t.data_ptr()
            assert all(s == e * x.itemsize for s, e, n in zip(x.strides, t.stride(), t.shape, strict=True) if n > 1)
        assert x.astype("c16").tolist() == t.to(torch.complex128).tolist()
        assert aa.convert(t, "numpy", copy=True).ctypes.data != t.data_ptr()


def test_memory_lives_as_long_as_the_result() -> None:
    torch = library("torch")

    class Tracked(np.ndarray):
        pass

    for name, ask in itertools.product(LIBRARIES[1:], (None, False)):
        library(name)
        x = aligned((4,), "f4").view(Tracked)
        gone = weakref.ref(x)
        made = aa.convert(x, name, copy=ask)
        del x
        gc.collect()
        assert gone() is not None, name
        assert to_host(made, name).tolist() == [0.0, 1.0, 2.0, 3.0]
        del made
        gc.collect()
        assert gone() is None, name
    t = torch.arange(4.0)
    x = aa.convert(t, "numpy")
    del t
    x[0] = 7
    assert x.tolist() == [7, 1, 2, 3]
    with pytest.raises(AttributeError):
        x.base.release().anything  # the memory isn't given back under the ndarray
    assert x.tolist() == [7, 1, 2, 3]


def test_nothing_leaks_and_counts_stay() -> None:
    torch, jax = library("torch"), library("jax")
    gc.collect()
    live = aa._core._live()
    things = [np.arange(6.0), torch.arange(6.0), jax.numpy.arange(6.0), b"abcdef", np.arange(6.0)[::-1]]
    for x in things:
        for name in LIBRARIES:
            library(name)
            before = sys.getrefcount(x)
            for _ in range(50):
                aa.convert(x, name)
            gc.collect()
            assert sys.getrefcount(x) <= before + 1, (type(x), name)
    assert aa._core._live() == live


def test_deleter_runs_on_another_thread_and_without_the_gil() -> None:
    gc.collect()
    live = aa._core._live()
    library("torch")
    made = [aa.convert(np.arange(1000.0) + n, "torch") for n in range(50)]
    threads = [threading.Thread(target=lambda part=made[n::5]: part.clear()) for n in range(5)]
    del made
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del threads
    gc.collect()
    assert aa._core._live() == live


# --- what `to` may be --------------------------------------------------------------------------------------------


def test_forms_of_to() -> None:
    torch, jax, strict = library("torch"), library("jax"), library("array_api_strict")
    x = aligned((4,), "f4")
    for to in ("torch", torch, torch.Tensor, torch.ones(1), torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter):
        for _ in range(3):  # the extension does the later ones itself
            assert type(aa.convert(x, to)) is torch.Tensor
    for to in ("jax", "jax.numpy", jax, jax.numpy, jax.Array, jax.numpy.ones(1), type(jax.numpy.ones(1))):
        assert isinstance(aa.convert(x, to), jax.Array)
    for to in ("numpy", np, np.ndarray, np.ones(1), np.rec.array([1])):
        for _ in range(3):
            assert type(aa.convert(torch.ones(2), to)) is np.ndarray
    for to in ("array-api-strict", "array_api_strict", strict, strict.ones(1)):
        assert type(aa.convert(x, to)).__module__.startswith("array_api_strict")
    spelled = "".join(["to", "rch"])  # not the interned text
    assert type(aa.convert(x, spelled)) is torch.Tensor
    assert type(aa.convert(x, types.ModuleType("array_api_compat.torch"))) is torch.Tensor


def test_pyarrow_has_two_kinds_of_array() -> None:
    pa = library("pyarrow")
    x = aligned((4,), "f4")
    assert type(aa.convert(x, pa)) is pa.FloatArray
    assert type(aa.convert(x, pa.array([1.5]))) is pa.FloatArray
    assert type(aa.convert(x, pa.Tensor)) is pa.Tensor
    assert type(aa.convert(x.reshape(2, 2), "pyarrow")) is pa.Tensor
    tensor = aa.convert(x.reshape(2, 2), "pyarrow")
    assert aa.convert(tensor, "pyarrow") is tensor
    assert aa.convert(tensor, "numpy").ctypes.data == x.ctypes.data
    times = np.array(["2020-01-01", "NaT"], "M8[us]")
    assert aa.convert(times, "pyarrow").null_count == 1
    assert aa.convert(np.array([], "f4"), pa).to_pylist() == []


def test_the_same_library_gives_the_object_itself() -> None:
    torch = library("torch")
    leaf = torch.ones(3, requires_grad=True)
    masked = np.ma.masked_array(np.arange(3.0), [0, 1, 0])
    for x, to in ((leaf, "torch"), (masked, "numpy"), (np.arange(3)[::-1], np), (torch.ones(2).conj(), torch.Tensor)):
        for copy in (None, False):
            assert aa.convert(x, to, copy=copy) is x
            assert aa.explain_convert(x, to, copy=copy).way == "itself"
    twin = aa.convert(leaf, "torch", copy=True)
    assert twin.requires_grad and twin.data_ptr() != leaf.data_ptr()
    assert aa.convert(masked, "numpy", copy=True).mask.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("to", "error"),
    [("nonsense", ValueError), (sys, ValueError), (int, ValueError), (np.float32, ValueError), (3, TypeError),
     (None, TypeError), ([np], TypeError)],
)  # fmt: skip
def test_what_to_may_not_be(to: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"library|name|module"):
        aa.convert(np.ones(2), to)


def test_an_absent_library_is_an_import_error() -> None:
    absent = [t.name for t in targets.TARGETS if not t.installed()]
    for name in absent:
        with pytest.raises(ImportError, match=name):
            aa.convert(np.ones(2), name)
    assert set(targets.BY_NAME) >= {"cupy", "tensorflow", "mlx", "paddle", "dpnp", "warp", *LIBRARIES}


def test_wrong_calls() -> None:
    for bad in ({"copy": 1}, {"copy": "no"}, {"other": True}):
        with pytest.raises(TypeError):
            aa.convert(np.ones(2), "numpy", **bad)
    with pytest.raises(TypeError):
        aa.convert(np.ones(2))
    with pytest.raises(TypeError):
        aa.explain_convert(np.ones(2), "numpy", copy=1)
    with pytest.raises(ValueError, match="mask"):
        aa.convert(b"ab", "numpy", allow=("nothing",))
    for x in ([1, 2], 3.0, None, "text"):
        with pytest.raises(aa.NotAnArrayError):
            aa.convert(x, "numpy")


def test_a_library_that_is_not_in_the_table() -> None:
    class Other:
        """Takes an array as a consumer of DLPack would, and notes what it saw."""

        def __init__(self, x: Any) -> None:
            self.seen = x
            self.__dlpack__ = x.__dlpack__
            self.__dlpack_device__ = x.__dlpack_device__

    module: Any = types.ModuleType("otherlib")
    module.from_dlpack = Other
    x = aligned((4,), "f4")
    made = aa.convert(x, module)
    assert made.seen.ptr == x.ctypes.data
    assert aa.explain_convert(x, module).way == "shared"
    for bad in (x[::-1], np.broadcast_to(x, (3, 4))):
        assert aa.convert(bad, module).seen.ptr != x.ctypes.data
        with pytest.raises(aa.ExchangeError, match="needs a copy"):
            aa.convert(bad, module, copy=False)


# --- what can't be said ------------------------------------------------------------------------------------------


def test_bits_of_torch_are_resolved_by_a_copy() -> None:
    torch = library("torch")
    z = torch.tensor([1 + 2j, 3 - 4j])
    for x, want in ((z.conj(), [1 - 2j, 3 + 4j]), (z.conj().imag, [-2.0, 4.0])):
        for copy in (None, True):
            assert aa.convert(x, "numpy", copy=copy).tolist() == want
            assert aa.explain_convert(x, "numpy", copy=copy).copied is True
        with pytest.raises(aa.ExchangeError, match="bit is set"):
            aa.convert(x, "numpy", copy=False)
        assert aa.convert(x, "numpy", allow=("conj", "neg")).tolist() != want
    with pytest.raises(aa.ExchangeError, match="requires grad"):
        aa.convert(torch.ones(2, requires_grad=True), "numpy")
    assert aa.convert(torch.ones(2, requires_grad=True), "numpy", allow="grad").tolist() == [1, 1]


def test_masks_are_never_dropped() -> None:
    masked = np.ma.masked_array(np.arange(3.0), [0, 1, 0])
    for name in LIBRARIES[1:]:
        library(name)
        for copy in (None, True, False):
            with pytest.raises(aa.ExchangeError, match="mask"):
                aa.convert(masked, name, copy=copy)
        assert to_host(aa.convert(masked, name, allow="mask", copy=True), name).tolist() == [0, 1, 2]


def test_immutable_arrays_stay_so() -> None:
    torch, jax = library("torch"), library("jax")
    j = jax.numpy.arange(4.0)
    t = aa.convert(j, "torch")
    t[0] = 99
    assert j.tolist() == [0, 1, 2, 3]
    with pytest.raises(aa.ExchangeError, match="read-only"):
        aa.convert(j, "torch", copy=False)
    x = aa.convert(j, "numpy")
    assert not x.flags.writeable and aa.explain_convert(j, "numpy").way == "shared"
    assert not np.asarray(aa.convert(j, "array_api_strict")).flags.writeable
    b = b"abcd"
    aa.convert(b, torch)[0] = 0
    assert b == b"abcd"
    with pytest.raises(ValueError, match=r"read-only|assignment"):
        aa.convert(b, "numpy")[0] = 0
    assert isinstance(aa.convert(torch.ones(4, dtype=torch.float64), jax), jax.Array)


def test_overlapping_elements_are_read_only_in_numpy() -> None:
    torch = library("torch")
    x = aa.convert(torch.ones(1).expand(4), "numpy")
    assert x.tolist() == [1] * 4 and not x.flags.writeable
    assert "share memory" in str(aa.explain_convert(torch.ones(1).expand(4), "numpy"))


def test_jax_never_narrows_in_silence() -> None:
    jax = library("jax")
    jax.config.update("jax_enable_x64", False)
    try:
        for code in ("f8", "i8", "u8", "c16"):
            for copy in (None, True, False):
                with pytest.raises(aa.ExchangeError, match="jax_enable_x64"):
                    aa.convert(np.ones(3, code), jax, copy=copy)
        assert aa.convert(np.ones(3, "f4"), jax).dtype == "float32"
    finally:
        jax.config.update("jax_enable_x64", True)


def test_unaligned_memory_and_odd_strides() -> None:
    torch, jax = library("torch"), library("jax")
    block = np.zeros(3, np.dtype([("a", "i1"), ("b", "f4")]))
    block["b"] = 1, 2, 3
    odd = block["b"]
    assert odd.strides == (5,)
    for name in LIBRARIES[1:]:
        library(name)
        assert to_host(aa.convert(odd, name), name).tolist() == [1, 2, 3]
    assert aa.explain_convert(odd, torch).copied is True
    off = aligned((8,), "f4")[1:]
    assert aa.explain_convert(off, jax).copied is True
    with pytest.raises(aa.ExchangeError, match="multiple of 64"):
        aa.convert(off, jax, copy=False)
    assert aa.convert(aa.convert(off, jax), "numpy").ctypes.data % 64 == 0


@pytest.mark.parametrize("name", LIBRARIES)
def test_strides_that_place_nothing(name: str) -> None:
    """Of extent 1, and of arrays of size 0: whatever they are, they end no process and change nothing."""
    library(name)
    strided = np.lib.stride_tricks.as_strided
    whole = aligned((3, 4), "f4")
    for x in (whole[0, :1][::-1], whole[::-1][:, :0], whole[:1][::-1], strided(whole, (1, 3), (-7, 4)),
              strided(whole, (0, 3), (3, -8)), strided(whole, (1, 1, 1), (-4, 0, 1))):  # fmt: skip
        got = to_host(aa.convert(x, name), name)
        assert got.shape == x.shape and got.tolist() == x.tolist()


def test_a_capsule_is_taken_once() -> None:
    torch = library("torch")
    x = np.arange(3.0)
    assert aa.convert(aa.view(x).__dlpack__(max_version=(1, 0)), torch).data_ptr() == x.ctypes.data
    assert aa.convert(aa.view(x[::-1]).__dlpack__(max_version=(1, 0)), torch).tolist() == [2, 1, 0]
    account = aa.explain_convert(aa.view(x).__dlpack__(max_version=(1, 0)), torch)
    assert (account.way, account.protocol, account.shape) == ("shared", "dlpack", (3,))


@pytest.mark.parametrize("name", LIBRARIES[1:])
def test_what_libraries_have_no_dtype_for(name: str) -> None:
    library(name)
    for x in (np.array(["a"]), np.array([b"a"]), np.zeros(2, "i4,f8"), np.zeros(2, "V3"), np.zeros(2, "g"),
              np.array(["2020"], "M8[D]"), np.zeros(2, np.dtype((np.float32, 3)).base).view("V4")):  # fmt: skip
        for copy in (None, True, False):
            with pytest.raises(aa.ExchangeError, match=r"has no dtype|no elements"):
                aa.convert(x, name, copy=copy)


def test_numpy_holds_every_dtype() -> None:
    ml_dtypes = needs("ml_dtypes")
    for dtype in ("S3", "U2", "i4,f8", "M8[us]", "m8[ns]", "g", "G", ">f4", "V5", ml_dtypes.bfloat16,
                  ml_dtypes.float8_e4m3fn):  # fmt: skip
        x = np.zeros(4, dtype)
        made = aa.convert(aa.view(x), "numpy")
        assert made.dtype == x.dtype and made.ctypes.data == x.ctypes.data
        fresh = aa.convert(aa.view(x), "numpy", copy=True)
        assert fresh.ctypes.data != x.ctypes.data and fresh.dtype == x.dtype


def test_bfloat16_needs_ml_dtypes() -> None:
    library("torch")
    code = """if True:
        import sys
        sys.modules["ml_dtypes"] = None
        import torch, anyarray as aa
        try:
            aa.convert(torch.ones(2, dtype=torch.bfloat16), "numpy")
        except aa.ExchangeError as error:
            print(error)
    """
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "install ml_dtypes" in ran.stdout


def test_old_versions_lack_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = library("torch")
    monkeypatch.setattr(torch, "__version__", "2.2.1+cpu")
    with pytest.raises(aa.ExchangeError, match=r"only from version 2\.3 on"):
        aa.convert(np.ones(2, "u2"), types.ModuleType("torch.other"))


def test_a_default_policy_holds_for_convert() -> None:
    library("torch")
    with aa.default_policy(["cuda_array_interface"]), pytest.raises(aa.ExchangeError):
        aa.convert(np.ones(2), "torch")
    assert aa.convert(np.ones(2), "torch").tolist() == [1, 1]


def test_mpi4py_sends_what_was_converted() -> None:
    """In a process of its own: another test may have imported mpi4py there without starting MPI, which ends whoever
    sends then."""
    library("torch")
    needs("mpi4py")
    in_a_process(
        """if True:
        import anyarray as aa, numpy as np, torch
        from mpi4py import MPI
        out = np.zeros(3)
        x = aa.convert(torch.arange(3.0, dtype=torch.float64), "numpy")
        MPI.COMM_SELF.Sendrecv(x, 0, recvbuf=out, source=0)
        assert out.tolist() == [0, 1, 2]"""
    )


# --- the account and the table -----------------------------------------------------------------------------------


def test_the_account_says_everything() -> None:
    torch = library("torch")
    account = aa.explain_convert(np.arange(6.0)[::-1], torch)
    assert (account.way, account.target, account.protocol) == ("copied", "torch", "numpy")
    assert account.shape == (6,) and str(account.dtype) == "float64" and account.readonly is False
    assert account.explanation is not None and account.explanation.ok
    text = str(account)
    assert "numpy.ndarray to torch: copied; taken over numpy" in text and "negative strides" in text
    refused = aa.explain_convert(object(), torch)
    assert not refused.ok and refused.protocol is None and "object" in str(refused)


def test_the_table_is_whole() -> None:
    for target in targets.TARGETS:
        assert target.entry in ENTRIES and target.reference and target.types
        assert set(target.limits) <= set(limits.LIMITS)
        assert set(target.since) <= set(target.dtypes)
        for name in target.dtypes:
            assert name == "*" or str(aa.DType(name)) == name
    assert set(limits.LIMITS) >= limits.FINAL
