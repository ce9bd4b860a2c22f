# SPDX-License-Identifier: Apache-2.0
"""Dtype objects of other libraries as DTypes. Imports no library: one whose dtype is met is loaded."""

from __future__ import annotations

import sys
from typing import Any

from . import _core

_PYTHON_TYPES = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def from_foreign(obj: Any) -> _core.DType | None:
    """Give the DType that `obj` means in its library.

    Parameters
    ----------
    obj : object
        bool, int, float or complex; a dtype or scalar type of NumPy, ml_dtypes or JAX; a torch dtype; a DType of
        another engine, which is built into an extension.

    Returns
    -------
    DType or None
        None where `obj` stands for no dtype, or for one without a fixed layout.
    """
    try:
        return _from_foreign(obj)
    except Exception:  # obj is anything at all, and so are its attributes: then it is no dtype
        return None


def _from_foreign(obj: Any) -> _core.DType | None:
    kind = type(obj)
    torch = sys.modules.get("torch")
    if torch is not None and kind is getattr(torch, "dtype", None):
        return _named(str(obj).removeprefix("torch."))
    if kind.__name__ == "DType" and kind.__module__.rpartition(".")[2].startswith(("anyarray", "_anyarray")):
        return _of_other_engine(obj)
    if isinstance(obj, type) and obj in _PYTHON_TYPES:
        return _named(_PYTHON_TYPES[obj])
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(obj, numpy.dtype):
        return from_numpy(obj)
    if kind.__module__.partition(".")[0] == "jax":  # jax.numpy.float32 is a class with a metaclass of JAX's
        inner = getattr(obj, "dtype", None)
        return from_numpy(inner) if isinstance(inner, numpy.dtype) else None
    if isinstance(obj, type) and issubclass(obj, numpy.generic):
        return from_numpy(numpy.dtype(obj))
    return None


def _of_other_engine(dtype: Any) -> _core.DType | None:
    if dtype.fields is not None:
        rows: Any = tuple((name, _of_other_engine(inner), offset) for name, inner, offset in dtype.fields)
        return _core._struct_dtype(rows, dtype.itemsize)
    if dtype.kind == "subarray":
        base: Any = _of_other_engine(dtype.base)
        return _core._subarray_dtype(base, dtype.shape)
    return _named(dtype.name + ("_padded" if dtype.padded else ""))


def from_numpy(dtype: Any) -> _core.DType | None:
    """Give the DType of a numpy.dtype; None for objects, variable-width strings and unknown user dtypes."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = from_numpy(base)
        return None if inner is None else _core._subarray_dtype(inner, tuple(shape))
    if dtype.names is not None:
        rows = []
        for name in dtype.names:
            inner = from_numpy(dtype.fields[name][0])
            if inner is None:
                return None
            rows.append((name, inner, dtype.fields[name][1]))
        return _core._struct_dtype(tuple(rows), dtype.itemsize)
    if dtype.isbuiltin == 2:  # ml_dtypes: its sub-byte types take a byte each
        return _named(dtype.name + "_padded") or _named(dtype.name)
    return _named(dtype.str)


def _named(name: str) -> _core.DType | None:
    try:
        return _core.DType(name)
    except ValueError:
        return None
