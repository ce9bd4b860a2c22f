# SPDX-License-Identifier: Apache-2.0
"""PyArrow: arrays, slices, lists of fixed size, tensors, buffers; and the kinds that have no plain elements."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, load, numbers, refused
from ._mirror import witness

pa = load("pyarrow")
np = load("numpy")

_NAMES = (*INTEGERS, "float16", "float32", "float64")


def _data(name: str) -> Any:
    return np.array(numbers(name), name)


def _array(name: str, layout: str) -> Sample:
    x = pa.array(_data(name))
    x = {"C": x, "sliced": x[3:9], "size 0": x[:0], "1 element": x[4:5]}[layout]
    itemsize = np.dtype(name).itemsize
    pointer = x.buffers()[1].address + x.offset * itemsize if len(x) else None
    raw = x.buffers()[1].to_pybytes()[x.offset * itemsize :][: len(x) * itemsize]
    return Sample(
        x,
        lambda: [float(v) for v in x.to_pylist()] if name[0] == "f" else x.to_pylist(),
        (len(x),),
        name,
        True,
        pointer,
        raw,
    )


def _tensor(name: str, layout: str) -> Sample:
    x = _data(name).reshape(SHAPE)
    x = {"C": x, "F": np.asfortranarray(x), "sliced": x[1:, ::2]}[layout]
    return witness(x, pa.Tensor.from_numpy(x))


def _buffer(x: Any, data: bytes) -> Sample:
    signed = np.frombuffer(data, "i1")
    return Sample(
        x,
        signed.tolist if not x.is_mutable else lambda: np.frombuffer(x, "i1").tolist(),
        (len(data),),
        "int8",
        not x.is_mutable,
        x.address,
        data,
    )


def _fixed_shape() -> Sample:
    x = np.arange(24.0).reshape(2, 3, 4)
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(x)
    data = tensor.storage.values.buffers()[1]
    return Sample(tensor, x.tolist, x.shape, "float64", True, data.address, data.to_pybytes())


def _permuted() -> Sample:
    x = np.arange(48, dtype="i4").reshape(2, 2, 3, 4)
    storage = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 24)
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int32(), (2, 3, 4), permutation=(2, 0, 1)), storage
    )
    logical = x.transpose(0, 3, 1, 2)
    return Sample(tensor, logical.tolist, logical.shape, "int32", True, storage.values.buffers()[1].address)


def _lists(first: int) -> Sample:
    values = pa.array(range(24), "int16")
    x = pa.FixedSizeListArray.from_arrays(pa.FixedSizeListArray.from_arrays(values, 2), 3)[first:]
    pointer = values.buffers()[1].address + 12 * first
    return Sample(x, x.to_pylist, (len(x), 3, 2), "int16", True, pointer)


def _of_type(kind: str) -> Sample:
    of = {"datetime64": pa.timestamp("us"), "timedelta64": pa.duration("us")}[kind]
    x = pa.array([1, 2, 3], of)
    return Sample(x, x.to_pylist, (3,), f"{kind}[us]", True, x.buffers()[1].address)


def _chunked() -> Sample:
    x = pa.chunked_array([[1.0, 2.0, 3.0]])
    return Sample(x, x.to_pylist, (3,), "float64", True, x.chunk(0).buffers()[1].address)


def _zoned() -> Any:
    return pa.array([1, 2], pa.timestamp("us", "Europe/Paris"))


def _batch() -> Any:
    return pa.record_batch({"a": pa.array([1.0, 2.0]), "b": pa.array([3.0, 4.0])})


def cases() -> Cases:
    for name in _NAMES:
        for layout in ("C", "sliced", "size 0", "1 element"):
            yield Case("Array", name, layout, partial(_array, name, layout))
    for name in _NAMES:
        for layout in ("C", "F", "sliced"):
            yield Case("Tensor", name, layout, partial(_tensor, name, layout))
    yield Case("Buffer", "int8", "read-only", lambda: _buffer(pa.py_buffer(b"anyarray"), b"anyarray"))
    yield Case("Buffer", "int8", "writable", lambda: _buffer(pa.py_buffer(bytearray(b"anyarray")), b"anyarray"))
    yield Case("FixedShapeTensorArray", "float64", "3-D", _fixed_shape)
    yield Case("FixedShapeTensorArray", "int32", "permuted", _permuted)
    yield Case("FixedSizeListArray", "int16", "3-D", lambda: _lists(0))
    yield Case("FixedSizeListArray", "int16", "sliced", lambda: _lists(1))
    for kind in ("datetime64", "timedelta64"):
        yield Case("Array", f"{kind}[us]", "C", partial(_of_type, kind))
    yield Case("ChunkedArray", "float64", "C", _chunked)
    yield refused("ChunkedArray, two chunks", "float64", "several memories", lambda: pa.chunked_array([[1.0], [2.0]]))
    # Arrow's own protocols carry these; as views of plain elements they don't exist.
    yield refused("Array with nulls", "int64", "the nulls would be lost", lambda: pa.array([1, None, 3]))
    yield refused("Array, time zone", "datetime64[us]", "the zone would be lost", _zoned)
    yield refused("Array", "bool", "a bit an element", lambda: pa.array([True, False]))
    yield refused("Array", "string", "elements of no fixed size", lambda: pa.array(["a", "bc"]))
    yield refused("Array", "dictionary", "indices alone mean nothing", lambda: pa.array(["a", "b"]).dictionary_encode())
    yield refused("RecordBatch", "float64", "columns of several memories", _batch)
