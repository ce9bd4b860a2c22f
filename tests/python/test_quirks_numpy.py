# SPDX-License-Identifier: Apache-2.0
"""Rows of the quirks table about NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .quirk_marks import quirk, refusal, statuses


def masked_arrays(np: Any) -> dict[str, Any]:
    return {
        "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        "without a mask": np.ma.array([1.0, 2.0]),
        "constant": np.ma.masked,
        "record": np.ma.array([(1, 2.0)], dtype="i4,f4")[0],
        "subclass": np.ma.array([1, 2]).view(type("Mine", (np.ma.MaskedArray,), {})),
    }


@quirk("numpy_masked")
@pytest.mark.parametrize("row", [None, "buffer", "dlpack", "array_interface", "array_struct", "array_method"])
@pytest.mark.parametrize("kind", ["masked", "without a mask", "constant", "record", "subclass"])
def test_numpy_masks_are_refused_by_every_route(kind: str, row: str | None) -> None:
    policy = None if row is None else [row]
    x = masked_arrays(needs("numpy"))[kind]
    refusal(x, "mask", "x.filled(", "x.data", 'allow=("mask",)', policy=policy)
    refusal(x, policy=policy, allow=("grad", "conj", "neg"))


@quirk("numpy_masked")
def test_numpy_mask_waived() -> None:
    x = masked_arrays(needs("numpy"))["masked"]
    v = aa.view(x, allow=("mask",))
    assert (v.tolist(), v.ptr) == ([1, 2, 3], x.data.ctypes.data)
    assert aa.view(x.filled(0)).tolist() == [1, 0, 3]


OVERRIDES = {
    "__dlpack__": ("dlpack", lambda other: lambda self, **kw: other.__dlpack__(**kw)),
    "__array_interface__": ("array_interface", lambda other: property(lambda self: other.__array_interface__)),
    "__array_struct__": ("array_struct", lambda other: property(lambda self: other.__array_struct__)),
    "__array__": ("array_method", lambda other: lambda self, *a, **kw: other),
}


@quirk("numpy_override")
@pytest.mark.parametrize("name", OVERRIDES)
def test_numpy_subclass_is_asked_through_what_it_overrides(name: str) -> None:
    np = needs("numpy")
    row, make = OVERRIDES[name]
    other = np.arange(4.0)
    kind = type("Own", (np.ndarray,), {name: make(other)})
    v = aa.view(np.ones(3).view(kind))
    assert (v.protocol, v.tolist()) == (row, [0.0, 1.0, 2.0, 3.0])
    child = type("Child", (kind,), {})
    assert aa.view(np.ones(3).view(child)).protocol == row


@quirk("numpy_override")
def test_numpy_subclass_that_refuses_is_refused() -> None:
    np = needs("numpy")

    def closed(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("closed")

    kind = type("Closed", (np.ndarray,), {"__dlpack__": closed})
    assert set(statuses(refusal(np.ones(3).view(kind), "closed"))) == {"dlpack"}


@quirk("numpy_override")
def test_numpy_other_subclasses_are_read_in_place() -> None:
    np = needs("numpy")
    plain = type("Plain", (np.ndarray,), {"unit": "m"})
    hidden = type("Hidden", (np.ndarray,), {"__dlpack__": None})
    for x in (
        np.ones(3).view(plain),
        np.ones(3).view(hidden),
        np.matrix([[1.0]]),
        np.rec.array([(1, 2.0)], dtype="i4,f8"),
    ):
        v = aa.view(x)
        assert (v.protocol, v.ptr) == ("numpy", x.ctypes.data)
    refusal(np.ones(3).view(hidden), policy=["dlpack"])


@quirk("numpy_scalar")
@pytest.mark.parametrize("policy", [None, ["array_struct"], ["array_interface"]])
@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float64", "complex64", "bool_"])
def test_numpy_scalars_are_readonly(kind: str, policy: Any) -> None:
    np = needs("numpy")
    x = getattr(np, kind)(1)
    v = aa.view(x, policy=policy)
    assert (v.readonly, v.shape, v.item()) == (True, (), 1)
    del v
    refusal(x, policy=policy, writable=True)


@quirk("numpy_datetime", "numpy_timedelta")
@pytest.mark.parametrize("policy", [None, ["buffer"], ["buffer", "array_struct", "array_interface"]])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_numpy_times_keep_their_type(kind: str, policy: Any) -> None:
    np = needs("numpy")
    x = getattr(np, kind)(12345, "us")
    if policy == ["buffer"]:
        refusal(x, policy=policy)
        return
    v = aa.view(x, policy=policy)
    assert (str(v.dtype), v.shape, v.readonly) == (f"{kind}[us]", (), True)
    assert ctypes.c_int64.from_address(v.ptr).value == 12345


@quirk("numpy_user_scalar")
@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_numpy_scalars_of_user_dtypes_keep_their_type(kind: str) -> None:
    needs("numpy")
    x = getattr(needs("ml_dtypes"), kind)(1.5)
    v = aa.view(x)
    assert (str(v.dtype), v.shape, v.item(), v.readonly) == (kind, (), 1.5, True)
    for row in ("buffer", "array_struct", "array_interface"):
        refusal(x, policy=[row])


@quirk("numpy_bytes")
def test_numpy_bytes_keep_their_type() -> None:
    np = needs("numpy")
    for policy in (None, ["array_struct"], ["array_interface"]):
        v = aa.view(np.bytes_(b"abc"), policy=policy)
        assert (str(v.dtype), v.shape, v.tolist(), v.readonly) == ("S3", (), b"abc", True)
    refusal(np.bytes_(b"abc"), policy=["buffer"])
    assert aa.view(b"abc").tolist() == [97, 98, 99]
