# SPDX-License-Identifier: Apache-2.0
"""The example in Cython, and the declarations that the package ships for it."""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import PACKAGE_PREFIX, ROOT, build_here, imported

import anyarray as aa

DECLARATIONS = (Path(aa.__file__).parent / "__init__.pxd").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return imported(build_here(ROOT / "examples" / "cython", tmp_path_factory.mktemp("cython")), "moments")


def test_takes_any_array(moments: Any) -> None:
    live = aa._core._live()
    whole = np.arange(24.0).reshape(2, 3, 4)
    for x in (whole, whole.T, whole[::-1, :, ::2], whole[0, 0, 1], memoryview(whole), aa.view(whole)):
        assert moments.moments(x) == pytest.approx((np.mean(np.asarray(x)), np.var(np.asarray(x))))
    with pytest.raises(aa.ExchangeError, match="float64"):
        moments.moments(np.zeros(3, "f4"))
    with pytest.raises(aa.NotAnArrayError):
        moments.moments(3)
    with pytest.raises(ValueError, match="no mean"):
        moments.moments(np.zeros((0, 3)))
    del x
    assert aa._core._live() == live


def test_gives_arrays(moments: Any) -> None:
    live = aa._core._live()
    array = moments.ramp(4)
    assert (array.tolist(), str(array.dtype)) == ([0.0, 1.0, 2.0, 3.0], "float64")
    assert np.asarray(array).sum() == 6.0
    with pytest.raises(ValueError, match="negative"):
        moments.ramp(-1)
    del array
    assert aa._core._live() == live


def test_keeps_arrays(moments: Any) -> None:
    live = aa._core._live()
    memory = bytearray(6)
    kept = moments.Kept(memory)
    assert kept.shape == (6,)
    with pytest.raises(BufferError):
        memory.extend(b"locked")
    kept.__init__(np.zeros((2, 3)))
    memory.extend(b"free")
    assert kept.shape == (2, 3)
    with pytest.raises(aa.NotAnArrayError):
        moments.Kept("no array")
    assert moments.Kept.__new__(moments.Kept).shape is None
    del kept
    gc.collect()
    assert aa._core._live() == live


def test_declares_all_of_the_c_header() -> None:
    include = PACKAGE_PREFIX / "include" / "anyarray"
    header = re.sub(r"//.*", "", (include / "c.h").read_text(encoding="utf-8"))
    constants = set(re.findall(r"\b(ANYARRAY_[A-Z0-9_]+) = ", header))
    types = set(re.findall(r"\b(anyarray_\w+);", header)) | set(
        re.findall(r"^ANYARRAY_INLINE.*?(anyarray_\w+)\(", header, re.M)
    )
    names = set(re.findall(r'"(\w+)"', DECLARATIONS))
    assert constants and constants <= names
    assert types and types <= names
    rows = re.findall(
        r"^ANYARRAY_FUNCTION\(\d+, [^,]+, (\w+),", (include / "c_api.def").read_text(encoding="utf-8"), re.M
    )
    (table,) = re.findall(r"ctypedef struct CApi .*?\n\n", DECLARATIONS, re.S)
    assert re.findall(r"\(\*(\w+)\)\(void\* context", table) == rows
    assert re.findall(r'"ANYARRAY_SINCE_(\w+)"', DECLARATIONS) == rows
