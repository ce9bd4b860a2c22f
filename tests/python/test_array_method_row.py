# SPDX-License-Identifier: Apache-2.0
"""Row `array_method`: how `__array__` is asked, what it may give, and how long that is kept."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .interface_forge import MEMORY, refused

np = needs("numpy")


def test_asked_not_to_copy() -> None:
    words = []

    class New:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            words.append((dtype, copy))
            return MEMORY

    view = aa.view(New())
    assert words == [(None, False)]
    assert (view.protocol, view.ptr, view.copied) == ("array_method", MEMORY.ctypes.data, False)


def test_a_method_too_old_for_that_word() -> None:
    class Old:
        def __array__(self, dtype: Any = None) -> Any:
            return MEMORY

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view = aa.view(Old())
    assert view.ptr == MEMORY.ctypes.data
    assert view.copied is None


def test_methods_that_fail() -> None:
    class Fails:
        error: BaseException = ValueError("a copy would be needed")

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise self.error

    attempt = refused(Fails(), "failed", "a copy would be needed")
    assert attempt.exception is Fails.error
    Fails.error = TypeError("implicit conversion")
    assert refused(Fails(), "failed", "implicit conversion").exception is Fails.error
    Fails.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        aa.view(Fails())


@pytest.mark.parametrize("result", [None, [1, 2], 3.0, b"abc", np.float64(1)])
def test_what_is_no_ndarray(result: Any) -> None:
    class Wrong:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return result

    refused(Wrong(), "invalid", type(result).__name__)


def test_an_object_that_returns_itself() -> None:
    class Self:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self

    refused(Self(), "invalid", "Self")
    array = np.zeros(3)
    assert aa.view(array, policy=["array_method"]).ptr == array.ctypes.data


def test_a_masked_result() -> None:
    class Masked:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.ma.masked_array([1.0, 2.0], [False, True])

    refused(Masked(), "guarded", "mask")
    assert aa.view(Masked(), allow=("mask",)).tolist() == [1.0, 2.0]


def test_a_result_that_has_no_memory() -> None:
    class Objects:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([object()])

    refused(Objects(), "unsupported", "object")


def test_the_result_is_held() -> None:
    made: list[Any] = []

    class Temporary:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            array = np.full(500, 3, "i4").view(type("Sub", (np.ndarray,), {}))
            made.append(weakref.ref(array))
            return array

    view = aa.view(Temporary())
    gc.collect()
    assert made[0]() is not None
    assert view.tolist() == [3] * 500
    view.release()
    del view
    gc.collect()
    assert made[0]() is None
