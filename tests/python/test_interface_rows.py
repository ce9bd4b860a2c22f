# SPDX-License-Identifier: Apache-2.0
"""Row `array_interface`, and what it has in common with `cuda_array_interface`: what they read, what they refuse, and
how long they keep what they took."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyarray as aa

from .conftest import needs
from .interface_forge import FOREIGN, MEMORY, WHOLE, NoInt, Offers, changed, cuda, host, refused

np = needs("numpy")


# ------------------------------------------------------------------ both dicts


@pytest.mark.parametrize("make", [host, cuda])
def test_a_plain_dict(make: Callable[..., Offers]) -> None:
    view = aa.view(make(**WHOLE))
    assert (view.shape, view.strides, view.dtype) == ((24,), (4,), "float32")
    assert view.ptr == MEMORY.ctypes.data
    assert view.readonly is False
    assert view.copied is False
    assert view.device == ("cpu" if make is host else "cuda:0")
    assert aa.view(make(**changed(data=(MEMORY.ctypes.data, True)))).readonly is True


@pytest.mark.parametrize("make", [host, cuda])
@pytest.mark.parametrize(
    ("entries", "shape", "strides"),
    [
        ({"shape": (2, 3, 4)}, (2, 3, 4), (48, 16, 4)),
        ({"shape": (2, 3, 4), "strides": None}, (2, 3, 4), (48, 16, 4)),
        ({"shape": (4, 3), "strides": (4, -8)}, (4, 3), (4, -8)),
        ({"shape": (5, 2), "strides": (0, 4)}, (5, 2), (0, 4)),
        ({"shape": ()}, (), ()),
        ({"shape": (np.int64(2), np.uint8(3)), "strides": (np.int32(12), 4)}, (2, 3), (12, 4)),
        ({"shape": (1,) * 40}, (1,) * 40, (4,) * 40),
    ],
)
def test_shapes_and_strides(make: Callable[..., Offers], entries: Any, shape: Any, strides: Any) -> None:
    view = aa.view(make(**changed(**entries)))
    assert (view.shape, view.strides) == (shape, strides)


@pytest.mark.parametrize("make", [host, cuda])
@pytest.mark.parametrize(
    ("typestr", "name"),
    [
        ("f4", "float32"),
        ("|f4", "float32"),
        (b"<f4", "float32"),
        (type("Text", (str,), {})("<f4"), "float32"),
        (FOREIGN + "f4", FOREIGN + "f4"),
        ("|b1", "bool"),
        ("<M8[us]", "datetime64[us]"),
        ("|S5", "S5"),
        ("<U2", "U2"),
        ("|V6", "V6"),
    ],
)
def test_type_strings(make: Callable[..., Offers], typestr: Any, name: str) -> None:
    assert str(aa.view(make(**changed(shape=(2,), typestr=typestr))).dtype) == name


@pytest.mark.parametrize("make", [host, cuda])
@pytest.mark.parametrize(
    ("entries", "status", "word"),
    [
        ({"shape": ...}, "invalid", "shape"),
        ({"shape": [24]}, "invalid", "list"),
        ({"shape": 24}, "invalid", "int"),
        ({"shape": (2.0,)}, "invalid", "float"),
        ({"shape": (True,)}, "invalid", "bool"),
        ({"shape": (2**70,)}, "invalid", "64 bits"),
        ({"shape": (2**62, 2**62)}, "invalid", "64 bits"),
        ({"shape": (-1,)}, "invalid", ""),
        ({"shape": (-(2**63),)}, "invalid", ""),
        ({"shape": (1,) * 65}, "invalid", "64"),
        ({"shape": (NoInt(),)}, "failed", "no int today"),
        ({"strides": (4, 4)}, "invalid", "strides"),
        ({"strides": [4]}, "invalid", "strides"),
        ({"strides": ("4",)}, "invalid", "str"),
        ({"strides": (True,)}, "invalid", "bool"),
        ({"strides": (2**62,)}, "invalid", ""),
        ({"typestr": ...}, "invalid", "typestr"),
        ({"typestr": 4}, "invalid", "int"),
        ({"typestr": ""}, "invalid", ""),
        ({"typestr": "<f4 "}, "invalid", ""),
        ({"typestr": "<f4\0"}, "invalid", ""),
        ({"typestr": "\ud800"}, "invalid", "type string"),
        ({"typestr": "<f3"}, "unsupported", "f"),
        ({"typestr": "|O"}, "unsupported", ""),
        ({"typestr": "StringDType()"}, "unsupported", "StringDType"),
        ({"typestr": "SomeDType(3)"}, "unsupported", "SomeDType(3)"),
        ({"data": (-8, False)}, "invalid", "negative"),
        ({"data": (2**64, False)}, "invalid", "too large"),
        ({"data": ("0x10", False)}, "invalid", "str"),
        ({"data": (True, False)}, "invalid", "bool"),
        ({"data": (1.5, False)}, "invalid", "float"),
        ({"data": (NoInt(), False)}, "failed", "no int today"),
        ({"data": (16,)}, "invalid", "data"),
        ({"data": (16, False, 0)}, "invalid", "data"),
        ({"data": (0, False)}, "invalid", ""),
        ({"mask": np.zeros(24, "?")}, "guarded", "mask"),
    ],
)
def test_bad_entries(make: Callable[..., Offers], entries: Any, status: str, word: str) -> None:
    refused(make(**changed(**entries)), status, word)


@pytest.mark.parametrize("make", [host, cuda])
def test_no_dict(make: Callable[..., Offers]) -> None:
    name = "array_interface" if make is host else "cuda_array_interface"
    for value in (3, [], "<f4", object()):
        refused(Offers(**{name: value}), "invalid", name, type(value).__name__)
    with pytest.raises(aa.NotAnArrayError):
        aa.view(Offers(**{name: None}))


@pytest.mark.parametrize("make", [host, cuda])
def test_a_mask_of_none_or_waived(make: Callable[..., Offers]) -> None:
    assert aa.view(make(**changed(mask=None))).shape == (24,)
    assert aa.view(make(**changed(mask=MEMORY)), allow=("mask",)).shape == (24,)


@pytest.mark.parametrize("make", [host, cuda])
def test_keys_that_are_not_interned_or_unknown(make: Callable[..., Offers]) -> None:
    entries = {"".join(list(key)): value for key, value in changed(shape=(2, 12), strides=(48, 4)).items()}
    entries.update({7: 1, "": 2, "more": 3, ("a",): 4})
    obj = make()
    vars(obj).popitem()[1].update(entries)
    name = "__array_interface__" if make is host else "__cuda_array_interface__"
    vars(obj)[name] = entries
    assert aa.view(obj).strides == (48, 4)


@pytest.mark.parametrize("make", [host, cuda])
def test_a_dict_that_changes_while_it_is_read(make: Callable[..., Offers]) -> None:
    """Values that are in use stay alive whatever an __index__ does to the dict."""
    entries: dict[str, Any] = {}

    class Saboteur:
        def __index__(self) -> int:
            entries.clear()
            gc.collect()
            [tuple(range(i, i + 3)) for i in range(50)]
            return 3

    entries.update(
        shape=(Saboteur(), Saboteur(), 2**0),
        strides=(Saboteur(), 4, 4),
        typestr="".join(["<", "f", "4"]),
        data=(int(str(MEMORY.ctypes.data)), bool),
        version=3,
    )
    obj = make()
    vars(obj)["__array_interface__" if make is host else "__cuda_array_interface__"] = entries
    view = aa.view(obj)
    assert (view.shape, view.strides) == ((3, 3, 1), (3, 4, 4))
    assert view.ptr == MEMORY.ctypes.data
    assert view.readonly is True  # bool(bool)


@pytest.mark.parametrize("make", [host, cuda])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, GeneratorExit])
def test_what_is_never_passed_over(make: Callable[..., Offers], error: type[BaseException]) -> None:
    class Raises:
        def __index__(self) -> int:
            raise error

        def __bool__(self) -> bool:
            raise error

    for entries in ({"shape": (Raises(),)}, {"data": (Raises(), False)}, {"data": (8, Raises())}):
        with pytest.raises(error):
            aa.view(make(**changed(**entries)))


@pytest.mark.parametrize("row", ["array_interface", "array_struct", "cuda_array_interface", "array"])
def test_attributes_that_raise(row: str) -> None:
    def offering(error: BaseException) -> Any:
        def give(self: Any) -> Any:
            raise error

        return type("Bad", (), {f"__{row}__": property(give)})()

    failure = ValueError("apples and pears")
    attempt = refused(offering(failure), "failed", "apples and pears")
    assert attempt.exception is failure
    with pytest.raises(aa.NotAnArrayError):
        aa.view(offering(AttributeError("not here")))
    with pytest.raises(KeyboardInterrupt):
        aa.view(offering(KeyboardInterrupt()))


scalars: Any = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4), st.binary(max_size=4)
)
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.tuples(scalars), st.tuples(scalars, scalars))
hostile = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.one_of(st.lists(st.integers(-2, 5), max_size=4).map(tuple), values),
        "typestr": st.one_of(st.sampled_from(["<f4", "|V8", "|S3", "<M8[us]", "<U9"]), values),
        "strides": st.one_of(st.lists(st.integers(-9, 9), max_size=4).map(tuple), values),
        "data": st.one_of(st.just((4096, False)), st.just(bytes(40)), values),
        "offset": values,
        "descr": st.one_of(st.lists(st.tuples(st.text(max_size=2), st.sampled_from(["<i4", "|V4", "<f8"]))), values),
        "mask": st.one_of(st.none(), values),
        "version": values,
        "stream": values,
    },
)


@settings(deadline=None, max_examples=500)
@given(entries=hostile, make=st.sampled_from([host, cuda]))
def test_anything_in_the_dict(entries: dict[str, Any], make: Any) -> None:
    """A view or the one error; nothing stays held."""
    before = aa._core._live()
    try:
        view = aa.view(make(**entries))
    except aa.ExchangeError:
        pass
    else:
        assert len(view.shape) == len(entries["shape"])
        view.release()
    assert aa._core._live() == before


# ------------------------------------------------------------------ array_interface


def test_memory_of_another_object() -> None:
    block = bytearray(range(16))
    obj = host(shape=(3,), typestr="<i4", data=block, offset=4, version=3)
    view = aa.view(obj)
    assert view.ptr == ctypes.addressof(ctypes.c_char.from_buffer(block)) + 4
    assert view.tolist() == [int.from_bytes(bytes(block[i : i + 4]), "little") for i in (4, 8, 12)]
    assert view.readonly is False
    with pytest.raises(BufferError):
        block.append(0)
    view.release()
    block.append(0)
    assert aa.view(host(shape=(4,), typestr="|u1", data=b"abcd")).readonly is True
    assert aa.view(host(shape=(4,), typestr="|u1", data=memoryview(b"abcd"))).tolist() == list(b"abcd")


def test_the_buffer_of_the_object_itself() -> None:
    class Own(np.ndarray):
        pass

    for entries in ({"shape": (2, 2), "typestr": "<i2"}, {"shape": (2, 2), "typestr": "<i2", "data": None}):
        Own.__array_interface__ = entries
        array = np.arange(4, dtype="i2").view(Own)
        view = aa.view(array, policy=["array_interface"])
        assert view.ptr == array.ctypes.data
        assert view.tolist() == [[0, 1], [2, 3]]
    refused(host(shape=(2,), typestr="<i2"), "invalid", "no 'data'", "Offers")
    refused(host(shape=(2,), typestr="<i2", data=3), "invalid", "int")


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "fits"),
    [
        ((4,), None, 0, True),
        ((4,), None, 1, False),
        ((4,), None, -4, False),
        ((5,), None, 0, False),
        ((4,), (-4,), 12, True),
        ((4,), (-4,), 8, False),
        ((2, 2), (8, 4), 0, True),
        ((2, 2), (12, 4), 0, False),
        ((3,), (0,), 12, True),
        ((0,), None, 16, True),
        ((0,), None, 17, False),
        ((2,), (2**62,), 0, False),
        ((2,), (-(2**63),), 0, False),
        ((2,), None, 2**70, False),
        ((2,), None, "4", False),
    ],
)
def test_elements_must_lie_in_the_buffer(shape: Any, strides: Any, offset: Any, fits: bool) -> None:
    obj = host(shape=shape, strides=strides, typestr="<i4", data=bytes(16), offset=offset)
    if fits:
        assert aa.view(obj).shape == shape
    else:
        refused(obj, "invalid")


def test_offset_means_nothing_with_an_address() -> None:
    assert aa.view(host(**changed(offset=0))).ptr == MEMORY.ctypes.data
    refused(host(**changed(offset=4)), "invalid", "offset")


def test_a_buffer_that_refuses() -> None:
    block = np.zeros((4, 4))[:, ::2]
    attempt = refused(host(shape=(2,), typestr="<f8", data=block), "failed")
    assert attempt.exception is not None


DEEP = "{'a': {'x': S3, 'y': uint8; 4}, 'b': datetime64[D]; 12}"


@pytest.mark.parametrize(
    ("typestr", "descr", "name"),
    [
        ("|V8", [("a", "<i4"), ("b", "<f4")], "{'a': int32, 'b': float32; 8}"),
        ("|V8", [("a", "<i2"), ("", "|V2"), ("b", "<f4")], "{'a': int16, 'b': float32 @ 4; 8}"),
        ("|V8", [("a", "<i2"), ("", "|V6")], "{'a': int16; 8}"),
        ("|V12", [(("title", "a"), "<i2", (2, 3))], "{'a': (2, 3)int16; 12}"),
        ("|V6", [("a", "<i2", 3)], "{'a': (3)int16; 6}"),
        ("|V4", [("a", "<i4", ())], "{'a': int32; 4}"),
        ("|V12", [("a", [("x", "|S3"), ("y", "|u1")]), ("b", "<M8[D]")], DEEP),
        ("|V4", [("", "<i4")], "{'f0': int32; 4}"),
        ("|V8", [("", "|V8")], "V8"),
        ("|V8", None, "V8"),
        ("<f4", [("a", "<i8")], "float32"),
    ],
)
def test_descr(typestr: str, descr: Any, name: str) -> None:
    view = aa.view(host(shape=(2,), typestr=typestr, descr=descr, data=bytes(24)))
    assert view.itemsize == int(typestr[2:])
    assert str(view.dtype) == name


def nested(depth: int) -> Any:
    return "<i4" if depth == 0 else [("a", nested(depth - 1))]


@pytest.mark.parametrize(
    ("descr", "status"),
    [
        ([("a", "<i4")], "invalid"),
        ([("a", "<i4"), ("b", "<i8")], "invalid"),
        ([("a", "<i4"), ("a", "<i4")], "invalid"),
        ([("a", "<i4", (2**40, 2**40))], "invalid"),
        ([("a", "<i4", (-1,))], "invalid"),
        ([("a", "<i4", (2**70,))], "invalid"),
        ([("a", "<i4", "2")], "invalid"),
        ([("a",)], "invalid"),
        ([["a", "<i8"]], "invalid"),
        ([(1, "<i8")], "invalid"),
        ([("a", 8)], "invalid"),
        ((("a", "<i8"),), "invalid"),
        ("<i8", "invalid"),
        (8, "invalid"),
        ([("a", "|O")], "unsupported"),
        ([("a\0", "<i8")], "unsupported"),
        (nested(40), "invalid"),
    ],
)
def test_bad_descr(descr: Any, status: str) -> None:
    refused(host(shape=(1,), typestr="|V8", descr=descr, data=bytes(24)), status)


def test_a_descr_that_holds_itself() -> None:
    descr: list[Any] = []
    descr.append(("a", descr))
    refused(host(shape=(1,), typestr="|V8", descr=descr, data=bytes(8)), "invalid", "nested")


@settings(deadline=None, max_examples=200)
@given(
    dtype=st.sampled_from(
        ["?", "i2", ">u4", "f8", "c8", "M8[ms]", ">m8[7D]", "S3", ">U2", "V5", "i4,f8", "(2,3)i2,S1"]
    ),
    shape=st.lists(st.integers(0, 4), max_size=4),
    reverse=st.booleans(),
    writeable=st.booleans(),
)
def test_the_dict_of_numpy_says_what_its_struct_says(dtype: str, shape: Any, reverse: bool, writeable: bool) -> None:
    array = np.zeros(shape, dtype).T
    array = array[(*[slice(None, None, -1)] * array.ndim, ...)] if reverse else array
    array.flags.writeable = writeable
    want = aa.view(array)
    for row in ("array_interface", "array_struct"):
        if row == "array_struct" and array.dtype.kind in "mMV":
            continue  # the struct can't carry these
        got = aa.view(array, policy=[row])
        assert got.protocol == row
        assert (got.shape, got.dtype, got.readonly, got.ptr) == (want.shape, want.dtype, want.readonly, want.ptr)
        steps = zip(array.shape, got.strides, want.strides)
        assert array.size == 0 or all(a == b for n, a, b in steps if n > 1)


def test_what_was_made_for_the_dict_lives_as_long_as_the_view() -> None:
    alive: list[Any] = []

    class Fresh:
        @property
        def __array_interface__(self) -> dict[str, Any]:
            array = np.full(500, 9, "i4").view(type("Sub", (np.ndarray,), {}))
            alive.append(weakref.ref(array))
            return dict(array.__array_interface__, keeps=array)

    obj = Fresh()
    owner = weakref.ref(obj)
    view = aa.view(obj)
    del obj
    gc.collect()
    assert alive[-1]() is not None and owner() is not None
    assert view.tolist() == [9] * 500
    del view
    gc.collect()
    assert alive[-1]() is None and owner() is None


def test_scalars_of_numpy_are_read_only() -> None:
    for row in ("array_interface", "array_struct"):
        view = aa.view(np.float64(2.5), policy=[row])
        assert view.readonly is True
        assert view.item() == 2.5


def test_bfloat16_in_a_dict_stays_void() -> None:
    ml_dtypes = needs("ml_dtypes")
    array = np.zeros(3, ml_dtypes.bfloat16)
    assert str(aa.view(host(**array.__array_interface__)).dtype) == "V2"
    refused(Offers(array_struct=array.__array_struct__), "unsupported", "descr")


# ------------------------------------------------------------------ all rows


def test_no_reference_drifts() -> None:
    array = np.arange(4.0)
    dictionary, capsule = array.__array_interface__, array.__array_struct__
    block = bytearray(32)
    objects = [
        Offers(array_interface=dictionary),
        Offers(array_struct=capsule),
        Offers(cuda_array_interface=dictionary),
        Offers(array=lambda copy: array),
        host(shape=(4,), typestr="<f8", data=block),
        host(shape=(5,), typestr="<f8", data=block),
        host(**changed(shape=(NoInt(),))),
    ]
    watched = [array, dictionary, capsule, block, *objects]

    def run() -> None:
        for obj in objects:
            for _ in range(50):
                with contextlib.suppress(aa.ExchangeError):
                    aa.view(obj)

    run()
    gc.collect()
    counts = [sys.getrefcount(o) for o in watched]
    run()
    gc.collect()
    assert [sys.getrefcount(o) for o in watched] == counts
    block.append(0)
