# SPDX-License-Identifier: Apache-2.0
"""`Array.__array__`: an ndarray over the same memory, wherever NumPy has a dtype for it."""

from __future__ import annotations

from typing import Any

from . import _core

_NUMBERS = "biufc"
_ADVICE = "use tolist(), or hand the array over with __dlpack__ or the buffer protocol"


class _Carrier:
    """Shows an Array's memory to NumPy through the dict interface, and keeps the Array."""

    def __init__(self, array: _core.Array, interface: dict[str, Any]) -> None:
        self.array = array
        self.__array_interface__ = interface


def to_ndarray(array: _core.Array, dtype: Any = None, copy: bool | None = None) -> Any:
    """Give a numpy.ndarray of `array`.

    Parameters
    ----------
    array : Array
        On a device that the host can read.
    dtype : numpy dtype, optional
        What to convert to; a conversion copies.
    copy : bool or None
        True: always. False: never, ValueError where it can't be avoided. None: where needed.

    Returns
    -------
    numpy.ndarray
        Read-only where the array is, unless copied. Keeps the array alive otherwise.

    Raises
    ------
    TypeError
        NumPy isn't installed, or has no dtype for the elements.
    ValueError
        A copy is needed and copy=False was given.
    """
    try:
        import numpy
    except ImportError as error:
        raise TypeError(f"__array__ needs NumPy, which can't be imported ({error}); {_ADVICE}") from error
    whole, fresh = _ndarray(array, numpy, copy)
    wanted = whole.dtype if dtype is None else numpy.dtype(dtype)
    if whole.dtype != wanted:
        if copy is False:
            raise ValueError(f"converting {array.dtype} to {wanted} needs a copy, and copy=False was given")
        if whole.dtype.kind in _NUMBERS and wanted.kind in _NUMBERS:
            made = _core.asarray(array, dtype=wanted, casting="unsafe")
            return _ndarray(made, numpy, None)[0]
        return whole.astype(wanted)
    if not copy or fresh:
        return whole
    return _ndarray(_core.asarray(array, copy=True), numpy, None)[0]


def _ndarray(array: _core.Array, numpy: Any, copy: bool | None) -> tuple[Any, bool]:
    """Give the ndarray in the array's own dtype, and whether its memory is new."""
    kind = array.dtype
    if hasattr(array, "__array_interface__"):
        return numpy.asarray(_Carrier(array, array.__array_interface__)), False
    if kind.lanes != 1:
        raise TypeError(f"NumPy has no dtype for elements of {kind.lanes} lanes ({kind}); {_ADVICE}")
    if kind.kind == "subarray" or kind.kind == "struct":
        return _by_buffer(array, numpy), False
    target = _ml_dtype(kind, numpy)
    if array.strides is None:
        if copy is False:
            raise ValueError(f"packed {kind} must be unpacked for NumPy, and copy=False was given")
        values = numpy.empty(array.shape, target)
        values[...] = numpy.array(array.tolist(), dtype="f8").reshape(array.shape)
        return values, True
    raw = numpy.asarray(_Carrier(array, _core._raw_interface(array)))
    whole = raw.view(target)
    return (whole.byteswap() if kind.byteorder in "<>" else whole), False


def _by_buffer(array: _core.Array, numpy: Any) -> Any:
    try:
        return numpy.asarray(memoryview(array))
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"NumPy can't read elements of dtype {array.dtype} ({error}); {_ADVICE}") from error


def _ml_dtype(kind: _core.DType, numpy: Any) -> Any:
    name = kind.name.lstrip("<>")
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(
            f"NumPy knows {kind} only through the package ml_dtypes, which can't be imported ({error}): "
            f"install ml_dtypes, or {_ADVICE}"
        ) from error
    scalar = getattr(ml_dtypes, name, None)
    if scalar is None:
        raise TypeError(f"neither NumPy nor ml_dtypes has a dtype for {kind}; {_ADVICE}")
    return numpy.dtype(scalar)
