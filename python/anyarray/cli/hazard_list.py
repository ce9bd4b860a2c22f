# SPDX-License-Identifier: Apache-2.0
"""The hazards: arrays that libraries hand to each other wrongly. Run by hazards.py, one side a process.

A side gives (what came, what was right, how). Libraries are imported inside, so that the list can be read without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyarray as aa

from .cases import load
from .order import compiled

Side = Callable[[], tuple[object, object, str]]


@dataclass(frozen=True)
class Hazard:
    """`code`: the native side in a line; `known`: where it is reported, "" if nowhere."""

    id: str
    title: str
    code: str
    needs: tuple[str, ...]
    native: Side
    ours: Side
    known: str = ""


def _converted(x: object, to: str) -> tuple[Any, str]:
    """The array for the other library, and which way it went."""
    return aa.convert(x, to), aa.explain_convert(x, to).way


# --- memory that must not be written ---


def _jax() -> Any:
    return load("jax.numpy").arange(4)


def _write_jax(give: Callable[[Any], tuple[Any, str]]) -> tuple[object, object, str]:
    j = _jax()
    t, how = give(j)
    t[0] = 99
    return j.tolist(), [0, 1, 2, 3], how


def _frozen() -> Any:
    x = load("numpy").arange(4)
    x.flags.writeable = False
    return x


def _write_frozen(give: Callable[[Any], tuple[Any, str]]) -> tuple[object, object, str]:
    x = _frozen()
    t, how = give(x)
    t[0] = 99
    return x.tolist(), [0, 1, 2, 3], how


def _native_torch(x: Any) -> tuple[Any, str]:
    return load("torch").from_dlpack(x), ""


def _ours_torch(x: Any) -> tuple[Any, str]:
    return _converted(x, "torch")


def _jax_by_tvm() -> tuple[object, object, str]:
    return _write_jax(lambda j: (load("numpy").from_dlpack(load("tvm_ffi").from_dlpack(j)), ""))


def _jax_by_tvm_ours() -> tuple[object, object, str]:
    def give(j: Any) -> tuple[Any, str]:
        tensor, how = _converted(j, "tvm_ffi")
        return aa.convert(tensor, "numpy"), how

    return _write_jax(give)


# --- memory that holds other values than the array means ---


def _neg() -> Any:
    return load("torch").tensor([1 + 2j, 3 - 4j]).conj().imag


def _neg_native() -> tuple[object, object, str]:
    return load("numpy").from_dlpack(_neg()).tolist(), _neg().tolist(), ""


def _neg_ours() -> tuple[object, object, str]:
    x, how = _converted(_neg(), "numpy")
    return x.tolist(), _neg().tolist(), how


def _masked() -> Any:
    return load("numpy").ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


def _masked_sum(to: str) -> tuple[object, object, str]:
    x = load("numpy").from_dlpack(_masked()) if to == "numpy" else load("torch").from_dlpack(_masked())
    return float(x.sum()), float(_masked().sum()), ""


def _masked_ours(to: str) -> tuple[object, object, str]:
    x, how = _converted(_masked(), to)
    return float(x.sum()), float(_masked().sum()), how


# --- layouts that end the process ---


def _reversed() -> Any:
    return load("numpy").arange(4.0)[::-1]


def _reversed_native() -> tuple[object, object, str]:
    return load("torch").from_dlpack(_reversed()).tolist(), _reversed().tolist(), ""


def _reversed_ours() -> tuple[object, object, str]:
    x, how = _converted(_reversed(), "torch")
    return x.tolist(), _reversed().tolist(), how


def _ctypes() -> Any:
    import ctypes

    return (ctypes.c_float * 4)(1, 2, 3, 4)


def _ctypes_native() -> tuple[object, object, str]:
    return compiled.nanobind().sum(_ctypes()), 10.0, ""


def _ctypes_ours() -> tuple[object, object, str]:
    return compiled.nanobind().sum(aa.view(_ctypes())), 10.0, "shared"


def _conj() -> Any:
    return load("torch").tensor([1 + 2j]).conj()


def _conj_native() -> tuple[object, object, str]:
    return compiled.nanobind().imag(_conj()), -2.0, ""


def _conj_ours() -> tuple[object, object, str]:
    x, how = _converted(_conj(), "numpy")
    return compiled.nanobind().imag(x), -2.0, how


class _DlpackOnly:
    """An array that offers DLPack and nothing else."""

    def __init__(self) -> None:
        self._x = load("numpy").arange(3.0)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._x.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class _TableAsInt(_DlpackOnly):
    """Gives a number that is no address of a table, as the exchange table was given before DLPack 1.3."""

    __dlpack_c_exchange_api__ = 64


def _table_native() -> tuple[object, object, str]:
    made = load("tvm_ffi").from_dlpack(_TableAsInt())
    return load("numpy").from_dlpack(made).tolist(), [0.0, 1.0, 2.0], ""


def _table_ours() -> tuple[object, object, str]:
    made, how = _converted(_TableAsInt(), "tvm_ffi")
    return load("numpy").from_dlpack(made).tolist(), [0.0, 1.0, 2.0], how


def _fake() -> Any:
    mode = load("torch._subclasses.fake_tensor").FakeTensorMode()
    with mode:
        return load("torch").ones(3)


def _fake_native() -> tuple[object, object, str]:
    return load("numpy").from_dlpack(_fake()).tolist() == [1.0, 1.0, 1.0], True, ""


def _fake_ours() -> tuple[object, object, str]:
    x, how = _converted(_fake(), "numpy")
    return x.tolist() == [1.0, 1.0, 1.0], True, how


# --- types that change in silence ---


def _doubles() -> Any:
    import array

    return array.array("d", [1.5, 2.5])


def _doubles_native() -> tuple[object, object, str]:
    return load("torch").asarray(_doubles()).tolist(), [1.5, 2.5], ""


def _doubles_ours() -> tuple[object, object, str]:
    x, how = _converted(_doubles(), "torch")
    return x.tolist(), [1.5, 2.5], how


def _big() -> Any:
    return load("numpy").array([2**40, 1])


def _big_native() -> tuple[object, object, str]:
    return load("jax.dlpack").from_dlpack(_big()).tolist(), [2**40, 1], ""


def _big_ours() -> tuple[object, object, str]:
    x, how = _converted(_big(), "jax")
    return x.tolist(), [2**40, 1], how


def _object_native() -> tuple[object, object, str]:
    return str(load("numpy").asarray(_DlpackOnly()).dtype), "float64", ""


def _object_ours() -> tuple[object, object, str]:
    x, how = _converted(_DlpackOnly(), "numpy")
    return str(x.dtype), "float64", how


HAZARDS: tuple[Hazard, ...] = (
    Hazard("jax_torch", "an immutable JAX array is written through torch", "torch.from_dlpack(jax_array)[0] = 99",
           ("jax", "torch"), lambda: _write_jax(_native_torch), lambda: _write_jax(_ours_torch), "jax #40789"),
    Hazard("jax_tvm", "the same through tvm-ffi, which drops the flag",
           "np.from_dlpack(tvm_ffi.from_dlpack(jax_array))[0] = 99", ("jax", "numpy", "tvm_ffi"),
           _jax_by_tvm, _jax_by_tvm_ours),
    Hazard("readonly_torch", "a read-only ndarray is written through torch", "torch.from_dlpack(frozen)[0] = 99",
           ("numpy", "torch"), lambda: _write_frozen(_native_torch), lambda: _write_frozen(_ours_torch)),
    Hazard("torch_neg", "a tensor with the negative bit arrives with the other sign", "np.from_dlpack(z.conj().imag)",
           ("numpy", "torch"), _neg_native, _neg_ours, "pytorch #59945"),
    Hazard("masked_numpy", "the mask is dropped", "np.from_dlpack(masked).sum()", ("numpy", "torch"),
           lambda: _masked_sum("numpy"), lambda: _masked_ours("numpy"), "numba #4130"),
    Hazard("masked_torch", "the mask is dropped on the way to torch", "torch.from_dlpack(masked).sum()",
           ("numpy", "torch"), lambda: _masked_sum("torch"), lambda: _masked_ours("torch")),
    Hazard("negative_torch", "negative strides end the process", "torch.from_dlpack(np.arange(4.0)[::-1])",
           ("numpy", "torch"), _reversed_native, _reversed_ours, "pytorch #188023"),
    Hazard("ctypes_nanobind", "a ctypes array ends the process: NULL strides", "nanobind_function(ctypes_array)",
           ("nanobind",), _ctypes_native, _ctypes_ours),
    Hazard("conj_nanobind", "a tensor with the conjugate bit arrives unconjugated", "nanobind_function(z.conj())",
           ("nanobind", "numpy", "torch"), _conj_native, _conj_ours, "pytorch #59945"),
    Hazard("table_as_int", "a number is followed as an exchange table", "tvm_ffi.from_dlpack(x)",
           ("numpy", "tvm_ffi"), _table_native, _table_ours, "dlpack #180"),
    Hazard("torch_fake", "a tensor without memory is read", "np.from_dlpack(fake_tensor).tolist() == [1, 1, 1]",
           ("numpy", "torch"), _fake_native, _fake_ours, "pytorch #122514"),
    Hazard("doubles_torch", "an array of doubles is read as float32", "torch.asarray(array.array('d', [1.5, 2.5]))",
           ("torch",), _doubles_native, _doubles_ours),
    Hazard("int64_jax", "64-bit integers lose their upper half", "jax.dlpack.from_dlpack(np.array([2**40, 1]))",
           ("jax", "numpy"), _big_native, _big_ours),
    Hazard("object_numpy", "what offers DLPack alone becomes an object", "np.asarray(x).dtype", ("numpy",),
           _object_native, _object_ours, "array-api #155"),
)  # fmt: skip
