# SPDX-License-Identifier: Apache-2.0
"""DType: names, equality with other libraries' dtypes, parts, and what may stand for one."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest

import anyarray as aa

from .conftest import needs

SWAPPED = ">" if sys.byteorder == "little" else "<"
NATIVE = "<" if sys.byteorder == "little" else ">"


@pytest.mark.parametrize(
    ("spelling", "name", "itemsize", "bits", "kind"),
    [
        ("float32", "float32", 4, 32, "float"),
        ("f4", "float32", 4, 32, "float"),
        (NATIVE + "f4", "float32", 4, 32, "float"),
        (SWAPPED + "f8", SWAPPED + "f8", 8, 64, "float"),
        ("|b1", "bool", 1, 8, "bool"),
        ("uint8", "uint8", 1, 8, "uint"),
        ("int64", "int64", 8, 64, "int"),
        ("bfloat16", "bfloat16", 2, 16, "bfloat"),
        ("float8_e4m3fn", "float8_e4m3fn", 1, 8, "float8"),
        ("float4_e2m1fn", "float4_e2m1fn", 1, 4, "float4"),
        ("complex64", "complex64", 8, 64, "complex"),
        ("S5", "S5", 5, 40, "bytes"),
        ("U3", "U3", 12, 96, "str"),
        ("V7", "V7", 7, 56, "void"),
        ("datetime64[us]", "datetime64[us]", 8, 64, "datetime64"),
        ("M8[10us]", "datetime64[10us]", 8, 64, "datetime64"),
        ("float32x4", "float32x4", 16, 32, "float"),
    ],
)
def test_names(spelling: str, name: str, itemsize: int, bits: int, kind: str) -> None:
    d = aa.DType(spelling)
    assert str(d) == d.name == name and repr(d) == f"DType({name!r})"
    assert (d.itemsize, d.bits, d.kind) == (itemsize, bits, kind)
    assert d == name and d == spelling and name == d and hash(d) == hash(name)
    assert d == aa.DType(name) and {d: 1}[aa.DType(spelling)] == 1
    assert aa.DType(d) == d


def test_parts() -> None:
    assert aa.DType("float32x4").lanes == 4 and aa.DType("float32").lanes == 1
    assert aa.DType("M8[10us]").unit == "10us" and aa.DType("m8[s]").unit == "s" and aa.DType("f4").unit is None
    assert aa.DType("f4").byteorder == "=" and aa.DType("u1").byteorder == "|"
    assert aa.DType(SWAPPED + "i2").byteorder == SWAPPED and aa.DType("S3").byteorder == "|"
    assert aa.DType("f4").fields is None and aa.DType("f4").shape == () and aa.DType("f4").base == "float32"
    assert aa.DType("int4").padded is False and aa.DType("int4_padded").padded is True


def test_common_ones_are_made_once() -> None:
    assert aa.DType("float32") is aa.DType("f4") is aa.view(memoryview(bytes(4)).cast("f")).dtype


def test_inequality() -> None:
    d = aa.DType("float32")
    assert d != "float64" and d != "nothing" and d != 4 and d is not None and d != None  # noqa: E711
    assert d != aa.DType(SWAPPED + "f4") and d != "float\0" and d != "\ud800"
    assert aa.DType("int4") != aa.DType("int4_padded")
    with pytest.raises(TypeError):
        d < d  # type: ignore[operator]


def test_numpy_dtypes() -> None:
    np = needs("numpy")
    for text in (
        "f2",
        "f4",
        "f8",
        "g",
        "c8",
        "c16",
        "G",
        "?",
        "i1",
        "u8",
        ">i4",
        "<i4",
        "S3",
        "U2",
        "V5",
        "M8[ns]",
        "m8[3D]",
    ):
        t = np.dtype(text)
        assert aa.DType(t) == t, text
        assert aa.view(np.zeros(2, t)).dtype == t
        assert aa.DType(t) != np.dtype("i2")
    for scalar in (np.float32, np.int8, np.bool_, np.complex64):
        assert aa.DType(scalar) == np.dtype(scalar) == aa.DType(np.dtype(scalar).name)
    with pytest.raises(TypeError):
        aa.DType(np.dtype(object))
    assert aa.DType("int8") != np.dtype(object)


def test_structs_and_sub_arrays() -> None:
    np = needs("numpy")
    t = np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "S2"), ("e", ">u2")])], align=True)
    d = aa.DType(t)
    assert d.kind == "struct" and d.itemsize == t.itemsize and d == t and d == aa.view(np.zeros(1, t)).dtype
    assert d.fields is not None
    assert [(n, o) for n, _, o in d.fields] == [(n, t.fields[n][1]) for n in t.names]
    b, c = d.fields[1][1], d.fields[2][1]
    assert b.kind == "subarray" and b.shape == (2, 3) and b.base == "float64" and b == np.dtype(("f8", (2, 3)))
    assert c.fields is not None and [str(x[1]) for x in c.fields] == ["S2", aa.DType(">u2").name]
    assert d == d.name and hash(d) == hash(d.name)
    assert aa.DType(np.dtype([("x", "i4")])) != d


def test_ml_dtypes() -> None:
    np, ml = needs("numpy"), needs("ml_dtypes")
    for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float8_e3m4", "float8_e4m3b11fnuz"):
        t = np.dtype(getattr(ml, name))
        assert aa.DType(t) == name == aa.DType(getattr(ml, name)) and aa.view(np.zeros(2, t)).dtype == t
    for name in ("int4", "uint4", "int2", "float4_e2m1fn", "float6_e2m3fn"):
        t = np.dtype(getattr(ml, name))
        assert aa.DType(t).padded and aa.DType(t).name == name and aa.view(np.zeros(2, t)).dtype == t


def test_torch_dtypes() -> None:
    torch = needs("torch")
    for name in ("float16", "bfloat16", "float32", "int8", "bool", "complex32", "complex64", "float8_e5m2", "uint16"):
        t = getattr(torch, name)
        assert aa.DType(t) == name and aa.DType(t) == t and aa.view(torch.zeros(2, dtype=t)).dtype == t
    with pytest.raises(TypeError):
        aa.DType(torch.quint8)


def test_jax_dtypes() -> None:
    jnp = needs("jax.numpy")
    for name in ("float32", "bfloat16", "int8", "float8_e4m3fn"):
        assert aa.DType(getattr(jnp, name)) == name and aa.DType(jnp.dtype(name)) == name


def test_python_types() -> None:
    assert [str(aa.DType(t)) for t in (bool, int, float, complex)] == ["bool", "int64", "float64", "complex128"]


@pytest.mark.parametrize("wrong", ["", "float33", "f3", "O", "float32 ", "flo\0at", "\ud800", "x" * 10000])
def test_wrong_names(wrong: str) -> None:
    with pytest.raises(ValueError, match="float32"):
        aa.DType(wrong)


@pytest.mark.parametrize("wrong", [None, 1, [], object(), list, str, aa.DType, {"a": 1}])
def test_wrong_objects(wrong: object) -> None:
    with pytest.raises(TypeError, match="isn't a dtype"):
        aa.DType(wrong)


def test_copy_and_pickle() -> None:
    names = [
        "float32",
        SWAPPED + "f8",
        "M8[10us]",
        "S5",
        "float32x4",
        "bfloat16",
        "int4",
        "int4_padded",
        "float4_e2m1fn",
    ]
    all_of_them = [aa.DType(n) for n in names]
    field = (("a", aa.DType("int32"), 0), ("b", aa._core._subarray_dtype(aa.DType("int4_padded"), (2, 2)), 6))
    all_of_them.append(aa._core._struct_dtype(field, 12))
    for d in all_of_them:
        for protocol in (0, 2, 5):
            assert pickle.loads(pickle.dumps(d, protocol)) == d
        assert copy.copy(d) == d and copy.deepcopy(d) == d


def test_many_different_ones() -> None:
    for n in range(1, 5000):
        assert aa.DType(f"S{n}").itemsize == n


def test_immutable() -> None:
    d = aa.DType("float32")
    with pytest.raises(AttributeError):
        d.name = "float64"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        d.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        type("Mine", (aa.DType,), {})
