# SPDX-License-Identifier: Apache-2.0
"""Round trips with consumers' own functions: each dtype, in each layout, writable and read-only, over each protocol.

An ndarray is viewed, a library takes the view, and what the library then says (shape, dtype, strides in bytes, address,
read-only) and reads (values) is compared with the ndarray. What is an array is viewed again. A refusal has to stand in
`refusal`: those of anyarray must happen, those of a library may end with a later version of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import anyarray as aa
from anyarray.cli.order import compiled

from .conftest import needs

np = needs("numpy")
ml_dtypes = needs("ml_dtypes")

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu")
SWAPPED = (">i4", ">f8")
TIMES = ("M8[us]", "m8[ms]")
STRUCT = np.dtype([("a", "i8"), ("b", "f8", (2,))])
NUMBERS = ("bool", *INTEGERS, *FLOATS)
DTYPES = (*NUMBERS, *COMPLEX, *SMALL, *SWAPPED, *TIMES, "longdouble", "S3", "U2", "V3", "struct")

#: The dtypes that an Array gives over each protocol, as docs/protocols.md has them.
GIVEN = {
    "buffer": {*NUMBERS, *COMPLEX, *SWAPPED, "longdouble", "S3", "U2", "struct"},
    "array_interface": {*DTYPES} - {*SMALL},
    "array_struct": {*DTYPES} - {*SMALL, *TIMES, "U2"},
    "dlpack": {*NUMBERS, *COMPLEX, *SMALL},
    "arrow_array": {*NUMBERS, *TIMES, "S3"},
}

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda a: a,
    "F": lambda a: a.reshape(5, 4, 3).T,
    "sliced": lambda a: a[::2, :, 1::3],
    "reversed": lambda a: a[::-1, :, ::-1],
    "broadcast": lambda a: np.ndarray((6, 4, 5), a.dtype, a, 0, (0, *a.strides[1:])),
    "vector": lambda a: a.reshape(-1),
    "empty": lambda a: a[:, :0],
    "0-d": lambda a: a[0, 0, 0, ...],
}
COMPACT = ("C", "F", "vector", "empty", "0-d")


def dtype_of(name: str) -> Any:
    if name == "struct":
        return STRUCT
    return np.dtype(getattr(ml_dtypes, name) if name in SMALL else name)


def source(name: str, layout: str, readonly: bool) -> Any:
    """An ndarray of this kind whose memory starts at a multiple of 64 bytes, as JAX needs it to take it as it is."""
    dtype = dtype_of(name)
    room = np.zeros(60 * dtype.itemsize + 64, "u1")
    start = -room.ctypes.data % 64
    whole = room[start : start + 60 * dtype.itemsize].view(dtype).reshape(3, 4, 5)
    n = np.arange(60).reshape(3, 4, 5)
    if name == "struct":
        whole["a"] = n
        whole["b"] = n[..., None] + [0.25, 0.5]
    elif name in ("S3", "V3"):
        whole[...] = (n + 100).astype("S3").view(dtype)
    elif name == "float8_e8m0fnu":
        whole[...] = (2.0 ** (n % 8)).astype(dtype)
    else:
        whole[...] = (n % 7).astype(dtype)
    made = LAYOUTS[layout](whole)
    if readonly:
        made.flags.writeable = False
    assert made.flags.writeable != readonly
    return made


@dataclass
class Seen:
    """What a library says of what it took. None where it has no word for it.

    `values` are compared with `tolist()`; without them the elements are read at the address, by the strides.
    `back` is what can be viewed again.
    """

    dtype: Any
    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    readonly: bool | None = None
    values: Any = None
    back: Any = None
    copied: bool = False


class Only:
    """Has one attribute of an Array, and nothing else."""

    def __init__(self, array: Any, name: str) -> None:
        self.__dict__[name] = getattr(array, name)


def numpy_seen(made: Any) -> Seen:
    assert isinstance(made, np.ndarray)
    values = None if made.dtype.kind == "V" else made.tolist()  # tuples with arrays don't compare
    return Seen(made.dtype, made.ctypes.data, made.shape, made.strides, not made.flags.writeable, values, back=made)


def by_numpy_from_dlpack(view: Any) -> Seen:
    """DLPack gives no address where there are no elements. NumPy then makes memory of its own, which is writable."""
    seen = numpy_seen(np.from_dlpack(view))
    if not view.size:
        seen.readonly = None
    return seen


def by_torch(view: Any) -> Seen:
    torch = needs("torch")
    t = torch.from_dlpack(view)
    strides = tuple(n * t.element_size() for n in t.stride())
    name = str(t.dtype).removeprefix("torch.")
    values = t.to(torch.float32).tolist() if name in SMALL else t.tolist()
    return Seen(name, t.data_ptr(), tuple(t.shape), strides, None, values, back=t)


def by_jax(view: Any) -> Seen:
    """JAX shows no strides, and its arrays can't be written to, whatever they were made of."""
    jax = needs("jax")
    with jax.enable_x64(True):
        x = jax.dlpack.from_dlpack(view)
        return Seen(x.dtype.name, x.unsafe_buffer_pointer(), x.shape, None, None, x.tolist(), back=x)


def by_pyarrow(view: Any) -> Seen:
    """Arrow has nested lists for shapes, no strides, and memory that is immutable; what isn't compact is copied."""
    pa = needs("pyarrow")
    array = pa.array(view)
    values, inner, extents = array.to_pylist(), array, [len(array)]
    while pa.types.is_fixed_size_list(inner.type):
        extents.append(inner.type.list_size)
        inner = inner.values
    copied = not view.c_contiguous or view.dtype.name == "bool"
    data = inner.buffers()[1]
    ptr = data.address if data is not None else 0
    assert inner.offset == 0
    # A list of empty lists can't be viewed as one array, and bits aren't an array's elements.
    back = inner if view.size and view.dtype.name != "bool" else None
    return Seen(None, ptr, tuple(extents), None, None, values, back, copied)


def by_tvm_ffi(view: Any) -> Seen:
    t = needs("tvm_ffi").from_dlpack(view)
    item = t.dtype.itemsize
    return Seen(str(t.dtype), t.data_ptr(), tuple(t.shape), tuple(n * item for n in t.strides), back=t)


def by_cuda_core(view: Any) -> Seen:
    needs("cuda.bindings")  # cuda.core can be installed without, and then can't be imported
    s = needs("cuda.core.utils").StridedMemoryView.from_any_interface(view, stream_ptr=-1)
    strides = None if s.strides is None else tuple(n * s.dtype.itemsize for n in s.strides)
    assert not s.is_device_accessible
    return Seen(s.dtype, s.ptr, tuple(s.shape), strides, s.readonly)


def by_mpi4py(view: Any) -> Seen:
    """mpi4py's buffers are bytes: one dimension, without a dtype."""
    needs("mpi4py").rc.initialize = False
    b = needs("mpi4py.MPI").buffer(view)
    assert b.nbytes == view.nbytes and bytes(b) == bytes(memoryview(b))
    return Seen(None, b.address, (b.nbytes,), (1,), b.readonly, list(bytes(b)), back=b)


NANOBIND = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <cstdint>
namespace nb = nanobind;
template <class A> nb::tuple describe(const A& a) {
  nb::list shape, strides;
  for (size_t i = 0; i < a.ndim(); ++i) {
    shape.append(a.shape(i));
    strides.append(a.stride(i) * std::int64_t(a.itemsize()));
  }
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(a.data()), nb::tuple(shape), nb::tuple(strides),
                        int(a.dtype().code), int(a.dtype().bits));
}
NB_MODULE(@NAME@, m) {
  m.def("readable", [](const nb::ndarray<nb::ro>& a) { return describe(a); });
  m.def("writable", [](const nb::ndarray<>& a) { return describe(a); });
  m.def("back", [](const nb::ndarray<nb::ro>& a) { return nb::ndarray<nb::numpy, nb::ro>(a); });
}
"""


@functools.cache
def nanobind_module() -> Any:
    needs("nanobind")
    return compiled.build_nanobind(NANOBIND)


#: DLPack's type codes, of dtypes that nanobind can hold.
CODES = {"bool": 6, "int": 0, "uint": 1, "float": 2, "complex": 5, "bfloat": 4}
CODES_OF_SMALL = {"float8_e4m3fn": 10, "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e8m0fnu": 14}


def by_nanobind(view: Any) -> Seen:
    """Read-only shows in the argument types: an `ndarray<>` refuses it."""
    module = nanobind_module()
    ptr, shape, strides, code, bits = module.readable(view)
    name = view.dtype.name
    assert code == CODES_OF_SMALL.get(name, CODES.get(name.rstrip("0123456789"))) and bits == 8 * view.itemsize
    try:
        assert module.writable(view) == (ptr, shape, strides, code, bits)
        readonly = False
    except TypeError:
        readonly = True
    back = None if name in SMALL else module.back(view)  # NumPy has no such dtypes of its own
    return Seen(name, ptr, shape, strides, readonly, back=back)


@dataclass(frozen=True)
class Way:
    """A library's way in, the protocols that it reads, and what takes an Array by it."""

    protocols: tuple[str, ...]
    take: Callable[[Any], Seen]


WAYS = {
    "numpy, buffer": Way(("buffer",), lambda v: numpy_seen(np.asarray(memoryview(v)))),
    "numpy, interface": Way(("array_interface",), lambda v: numpy_seen(np.asarray(Only(v, "__array_interface__")))),
    "numpy, struct": Way(("array_struct",), lambda v: numpy_seen(np.asarray(Only(v, "__array_struct__")))),
    "numpy, dlpack": Way(("dlpack",), by_numpy_from_dlpack),
    "torch": Way(("dlpack",), by_torch),
    "jax": Way(("dlpack",), by_jax),
    "pyarrow": Way(("arrow_array",), by_pyarrow),
    "tvm_ffi": Way(("dlpack",), by_tvm_ffi),
    "cuda.core": Way(("dlpack",), by_cuda_core),
    "mpi4py": Way(("buffer", "dlpack"), by_mpi4py),
    "nanobind": Way(("dlpack", "buffer"), by_nanobind),
}


@dataclass(frozen=True)
class Refusal:
    """`ours` must happen and is part of what anyarray promises. The others are a library's, which may learn better."""

    reason: str
    ours: bool = False


def refusal(way: str, dtype: str, layout: str, readonly: bool) -> Refusal | None:
    """Why this may or must be refused; None where it must work."""
    if not any(dtype in GIVEN[protocol] for protocol in WAYS[way].protocols):
        return Refusal("the protocol can't say this dtype", ours=True)
    if way == "pyarrow" and layout == "0-d":
        return Refusal("Arrow's arrays have a length", ours=True)
    if way == "jax" and readonly:
        return Refusal("JAX asks for a legacy capsule, which can't say that memory is read-only")
    for ways, dtypes, layouts, reason in LIMITS:
        if way in ways and dtype in dtypes and layout in layouts:
            return Refusal(reason)
    return None


STRIDED = ("sliced", "reversed", "broadcast")
#: Ways, dtypes and layouts that a library may refuse, and why.
LIMITS: tuple[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str], ...] = (
    (("numpy, dlpack",), SMALL, tuple(LAYOUTS), "NumPy itself has no such dtypes"),
    (("jax",), DTYPES, STRIDED, "JAX's arrays are compact"),
    (("mpi4py",), DTYPES, STRIDED, "mpi4py's buffers are contiguous"),
    (
        ("mpi4py",),
        (*SWAPPED, "longdouble", "S3", "U2", "struct"),
        ("F",),
        "it takes column-major arrays by DLPack alone",
    ),
    (("mpi4py",), SMALL, ("empty",), "it looks at the strides of what has no elements"),
    (("nanobind",), (*SWAPPED, "longdouble", "S3", "U2", "struct"), tuple(LAYOUTS), "it knows DLPack's dtypes alone"),
    (("tvm_ffi",), COMPLEX, tuple(LAYOUTS), "it can't name complex dtypes"),
    (("cuda.core",), SMALL[1:], tuple(LAYOUTS), "it knows no 8-bit floats"),
)
#: What ends the process, with any producer, and can't be tried: torch's count of bytes overflows (pytorch #188023).
NOT_TRIED = {("torch", "reversed")}


def kinds() -> Iterator[tuple[str, bool]]:
    for layout in LAYOUTS:
        for readonly in (False, True):
            yield layout, readonly


def same_steps(strides: tuple[int, ...] | None, a: Any) -> bool:
    """Strides of dimensions of size 1, and of arrays of size 0, mean nothing."""
    if not a.size:
        return True
    assert strides is not None
    return all(m == n for m, n, k in zip(strides, a.strides, a.shape, strict=True) if k > 1)


class At:
    """Memory, by the array interface."""

    def __init__(self, seen: Seen, typestr: str) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": seen.shape,
            "strides": seen.strides,
            "typestr": typestr,
            "data": (seen.ptr, True),
        }


def values_of(a: Any) -> Any:
    return a.astype("f4").tolist() if a.dtype.kind == "V" and a.dtype.name in SMALL else a.tolist()


def check(way: str, a: Any, view: Any, seen: Seen) -> None:
    if seen.dtype is not None:
        assert seen.dtype == (a.dtype if isinstance(seen.dtype, np.dtype) else a.dtype.name)
    if way == "mpi4py":
        assert seen.values == list(a.tobytes("A"))
    else:
        assert seen.shape == a.shape
        assert seen.strides is None or same_steps(seen.strides, a)
        if seen.values is not None:
            assert seen.values == values_of(a)
        elif a.size:
            assert np.asarray(At(seen, f"|V{a.itemsize}")).tobytes() == a.tobytes()
    if a.size:
        assert (seen.ptr == a.ctypes.data) != seen.copied
    if seen.readonly is not None:
        assert seen.readonly == (not a.flags.writeable)
    if seen.back is not None:
        again = aa.view(seen.back)
        assert not a.size or again.ptr == seen.ptr
        assert again.nbytes == a.nbytes
        if way not in ("mpi4py", "pyarrow"):
            assert again.shape == a.shape and again.dtype == view.dtype
            assert same_steps(again.strides, a)
        if seen.readonly is not None:
            assert again.readonly == seen.readonly
        if way in ("jax", "pyarrow"):
            assert again.readonly


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", list(WAYS))
def test_round_trip(way: str, dtype: str) -> None:
    for layout, readonly in kinds():
        if (way, layout) in NOT_TRIED and dtype in GIVEN["dlpack"]:
            continue
        a = source(dtype, layout, readonly)
        view = aa.view(a)
        assert view.ptr == a.ctypes.data and view.shape == a.shape and same_steps(view.strides, a)
        assert view.readonly == readonly and not view.copied
        expected = refusal(way, dtype, layout, readonly)
        try:
            seen = WAYS[way].take(view)
        except Exception as error:
            if expected is None:
                raise AssertionError(f"{way}, {dtype}, {layout}, {readonly=}: refused: {error}") from error
            continue
        assert expected is None or not expected.ours, (layout, readonly, expected)
        try:
            check(way, a, view, seen)
        except AssertionError as error:
            raise AssertionError(f"{way}, {dtype}, {layout}, {readonly=}: {error}") from error
