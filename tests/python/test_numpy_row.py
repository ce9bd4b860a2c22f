# SPDX-License-Identifier: Apache-2.0
"""Row `numpy`: an ndarray's C struct, read in place. Checked against what NumPy itself says of each array."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyarray as aa

from .conftest import needs

np = needs("numpy")

FOREIGN = ">" if sys.byteorder == "little" else "<"
NUMBERS = {
    "?": "bool",
    "b": "int8",
    "B": "uint8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "q": "int64",
    "Q": "uint64",
    "e": "float16",
    "f": "float32",
    "d": "float64",
    "F": "complex64",
    "D": "complex128",
}


def check(view: aa.Array, array: Any) -> None:
    """The view says what the array says."""
    assert view.protocol == "numpy"
    assert view.shape == array.shape
    assert view.strides == array.strides
    assert view.ptr == array.__array_interface__["data"][0]
    assert view.itemsize == array.itemsize
    assert view.readonly is not array.flags.writeable
    assert view.device == "cpu"
    assert view.copied is False


@pytest.mark.parametrize("letter", NUMBERS)
def test_numbers(letter: str) -> None:
    array = np.zeros((2, 3), letter)
    view = aa.view(array)
    check(view, array)
    assert view.dtype == NUMBERS[letter]


@pytest.mark.parametrize("letter", "lLqQ")
def test_long_and_long_long_are_the_same_where_their_size_is(letter: str) -> None:
    array = np.zeros(2, letter)
    assert aa.view(array).dtype == array.dtype.name


@pytest.mark.parametrize("letter", [c for c in NUMBERS if np.dtype(c).itemsize > 1])
def test_the_other_byte_order_is_named(letter: str) -> None:
    array = np.zeros(3, np.dtype(letter).newbyteorder("S"))
    view = aa.view(array)
    check(view, array)
    assert str(view.dtype) == FOREIGN + array.dtype.str[1:]
    assert view.dtype != NUMBERS[letter]


@pytest.mark.parametrize("letter", "gG")
def test_long_double_has_its_own_name_where_it_is_no_double(letter: str) -> None:
    array = np.zeros(2, letter)
    view = aa.view(array)
    check(view, array)
    plain = np.dtype("d" if letter == "g" else "D")
    assert (view.dtype == plain.name) is (array.itemsize == plain.itemsize)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("M8[us]", "datetime64[us]"),
        ("M8[D]", "datetime64[D]"),
        ("m8[25s]", "timedelta64[25s]"),
        ("M8", "datetime64"),
        (FOREIGN + "M8[ns]", FOREIGN + "M8[ns]"),
        ("S5", "S5"),
        ("U3", "U3"),
        ("V7", "V7"),
    ],
)
def test_times_strings_and_void(dtype: str, name: str) -> None:
    array = np.zeros((2, 2), dtype)
    for _ in range(2):  # read through attributes, then from the cache
        view = aa.view(array)
        check(view, array)
        assert str(view.dtype) == name


def test_structs() -> None:
    inner = np.dtype([("x", "S3"), ("y", "M8[ns]")])
    for dtype, name in [
        ([("a", "i4"), ("b", "f8")], "{'a': int32, 'b': float64; 12}"),
        (np.dtype([("a", "i4"), ("b", "f8")], align=True), "{'a': int32, 'b': float64 @ 8; 16}"),
        ([(("title", "a"), "i2", (2, 3))], "{'a': (2, 3)int16; 12}"),
        ([("a", inner)], "{'a': {'x': S3, 'y': datetime64[ns]; 11}; 11}"),
        (
            {"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2], "itemsize": 9},
            "{'a': int32, 'b': int16 @ 2; 9}",
        ),
    ]:
        array = np.zeros(2, dtype)
        view = aa.view(array)
        check(view, array)
        assert str(view.dtype) == name


def test_equal_structs_have_equal_dtypes() -> None:
    first = aa.view(np.zeros(1, [("a", "i4"), ("b", "f4")]))
    second = aa.view(np.zeros(1, [("a", "i4"), ("b", "f4")]))
    third = aa.view(np.zeros(1, [("a", "i4"), ("c", "f4")]))
    assert first.dtype == second.dtype
    assert first.dtype != third.dtype


def test_a_struct_that_is_renamed_in_place_is_read_anew() -> None:
    array = np.zeros(2, [("a", "i4"), ("b", "f4")])
    assert "'a': int32" in str(aa.view(array).dtype)
    array.dtype.names = ("x", "y")
    assert str(aa.view(array).dtype) == "{'x': int32, 'y': float32; 8}"


def test_a_dtype_that_replaces_another_is_read_anew() -> None:
    array = np.zeros(4, "M8[us]")
    assert aa.view(array).dtype == "datetime64[us]"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # NumPy 2.5 advises against it
        array.dtype = "m8[D]"
    assert aa.view(array).dtype == "timedelta64[D]"


def test_addresses_of_dead_dtypes_are_used_again() -> None:
    for i in range(1000):
        array = np.zeros(1, f"S{i % 37 + 1}")
        assert str(aa.view(array).dtype) == f"S{i % 37 + 1}"
        array = np.zeros(1, [(f"name{i}", "i4")])
        assert f"name{i}" in str(aa.view(array).dtype)


@pytest.mark.parametrize(
    ("dtype", "word"),
    [("O", "object"), ([("a", "i4"), ("b", "O")], "objects"), ([("a\0b", "i4")], "name"), ([("\udc80", "i4")], "name")],
)
def test_what_has_no_memory_of_its_own_is_refused(dtype: Any, word: str) -> None:
    with pytest.raises(aa.ExchangeError) as info:
        aa.view(np.zeros(2, dtype), policy=["numpy"])
    (attempt,) = info.value.attempts
    assert attempt.status == "unsupported"
    assert word in attempt.reason


def test_variable_length_strings_are_refused() -> None:
    if not hasattr(getattr(np, "dtypes", None), "StringDType"):
        pytest.skip("this NumPy has no StringDType")
    with pytest.raises(aa.ExchangeError, match="StringDType"):
        aa.view(np.array(["a"], np.dtypes.StringDType()))


def test_dtypes_of_ml_dtypes() -> None:
    ml_dtypes = needs("ml_dtypes")
    seen = set()
    for name in dir(ml_dtypes):
        scalar = getattr(ml_dtypes, name)
        if not (isinstance(scalar, type) and issubclass(scalar, np.generic)) or name == "bcomplex32":
            continue
        array = np.zeros((2, 2), scalar)
        view = aa.view(array)
        check(view, array)
        assert view.dtype.name.split("_padded")[0] == name
        seen.add(name)
    assert {"bfloat16", "float8_e4m3fn", "int4", "uint4"} <= seen


def test_a_registered_dtype_that_is_not_known_is_refused() -> None:
    tests = needs("numpy._core._rational_tests" if np.__version__ >= "2" else "numpy.core._rational_tests")
    with pytest.raises(aa.ExchangeError, match="rational"):
        aa.view(np.zeros(2, tests.rational), policy=["numpy"])


@pytest.mark.parametrize("ndim", [0, 1, 2, 3, 8, 9, 32])
def test_every_number_of_dimensions(ndim: int) -> None:
    array = np.zeros((2,) * min(ndim, 3) + (1,) * (ndim - 3))
    check(aa.view(array), array)
    check(aa.view(array.T), array.T)


def test_readonly_and_warn_on_write() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    assert aa.view(array).readonly
    assert aa.view(np.broadcast_to(np.zeros(3), (2, 3))).readonly
    # NumPy warns of writes to these: elements may share memory.
    shared, _ = np.broadcast_arrays(np.zeros(3), np.zeros((2, 1)))
    assert aa.view(shared).readonly


def test_subclasses_share_the_struct(tmp_path: Any) -> None:
    class Sub(np.ndarray):
        pass

    file = np.memmap(tmp_path / "file", "f4", "w+", shape=(2, 3))
    for array in (np.zeros(3).view(Sub), file, np.zeros(2, [("a", "i4")]).view(np.recarray)):
        check(aa.view(array), array)


def test_a_view_holds_the_array_and_lets_it_go() -> None:
    class Sub(np.ndarray):
        pass

    array = np.arange(1000.0).view(Sub)
    dead = weakref.ref(array)
    before = sys.getrefcount(array)
    view = aa.view(array)
    assert sys.getrefcount(array) == before + 1
    del array
    gc.collect()
    assert dead() is not None
    assert view.tolist()[999] == 999.0
    del view
    gc.collect()
    assert dead() is None


def test_no_reference_drifts() -> None:
    arrays = [np.zeros(3), np.zeros(3, "M8[us]"), np.zeros(3, [("a", "i4")]), np.zeros((1,) * 12)]
    for array in arrays:
        aa.view(array)
    counts = [(sys.getrefcount(a), sys.getrefcount(a.dtype)) for a in arrays]
    for array in arrays:
        for _ in range(100):
            aa.view(array)
    for array, (objects, dtypes) in zip(arrays, counts):
        assert abs(sys.getrefcount(array) - objects) < 5
        assert abs(sys.getrefcount(array.dtype) - dtypes) < 5


dtypes = st.sampled_from(
    [*NUMBERS, ">f4", "<f4", ">i2", "<c16", "M8[us]", ">m8[3D]", "S3", "U2", "V5", "i4,f8", "(2,3)i2,S1"]
)
slices = st.slices(5)


@settings(deadline=None, max_examples=300)
@given(
    dtype=dtypes,
    shape=st.lists(st.integers(0, 5), max_size=5),
    cuts=st.lists(slices, max_size=5),
    order=st.permutations(range(5)),
    writeable=st.booleans(),
)
def test_any_layout(dtype: str, shape: list[int], cuts: list[slice], order: list[int], writeable: bool) -> None:
    array = np.zeros(shape, dtype)[(*cuts[: len(shape)], ...)]
    array = array.transpose([axis for axis in order if axis < len(shape)])
    array.flags.writeable = writeable
    view = aa.view(array)
    check(view, array)
    assert view.size == array.size
    assert view.nbytes == array.nbytes
