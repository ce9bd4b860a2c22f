# SPDX-License-Identifier: Apache-2.0
"""The examples, each built as the project of a stranger, and run."""

from __future__ import annotations

import array
import importlib
import struct
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import ROOT, build_here, imported, needs

import anyarray as aa

Build = Any


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds an example; the folder of the build."""

    def of(name: str) -> Path:
        return build_here(ROOT / "examples" / name, tmp_path_factory.mktemp(name))

    return of


def test_every_example_is_run_and_named() -> None:
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    tests = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    for name in folders - {"__pycache__"}:
        assert f"]({name})" in readme
        assert f'"{name}"' in tests


def test_c_api(built: Build) -> None:
    stats = imported(built("c_api"), "stats")
    x = np.arange(6.0)
    live = aa._core._live()
    assert stats.dot(x, x) == 55.0
    assert stats.dot(x[::2], array.array("d", [1, 2, 3])) == 16.0
    sums = stats.cumulate(memoryview(x))
    assert (type(sums).__name__, sums.tolist()) == ("HostArray", np.cumsum(x).tolist())
    del sums
    with pytest.raises(aa.ExchangeError, match=r"ndim 2, 1 was asked for; .* float32, float64 was"):
        stats.dot(np.zeros((2, 2), "f4"), x)
    with pytest.raises(ValueError, match="6 elements and 2"):
        stats.dot(x, x[:2])
    with pytest.raises(TypeError, match="takes 2"):
        stats.dot(x)
    assert aa._core._live() == live


def test_generic(built: Build) -> None:
    extrema = imported(built("generic"), "extrema").extrema
    for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "f4", "f8"):
        least, greatest = extrema(np.array([[3, 1, 2], [7, 5, 6]], dtype).T)
        assert (least, greatest) == (1, 7)
        assert isinstance(least, float if dtype[0] == "f" else int)
    with pytest.raises(aa.ExchangeError, match=r"int8, int16, .* or float64 was asked for"):
        extrema(np.zeros((1, 1), "c8"))
    with pytest.raises(ValueError, match="no elements"):
        extrema(np.zeros((0, 3)))


def test_mdspan(built: Build) -> None:
    heat = imported(built("mdspan"), "heat")
    start = np.zeros((3, 4))
    start[1, 2] = 1
    expected = np.array([[0, 0, 0.1, 0], [0, 0.1, 0.6, 0.1], [0, 0, 0.1, 0]])
    for x in (start, np.asfortranarray(start), memoryview(start), np.repeat(start, 2, axis=1)[:, ::2]):
        after = heat.step(x, 0.1)
        assert np.asarray(after) == pytest.approx(expected)
    with pytest.raises(ValueError, match="the temperatures: a stride is negative"):
        heat.step(start[::-1], 0.1)
    with pytest.raises(aa.ExchangeError, match="float64 was asked for"):
        heat.step(start.astype("f4"), 0.1)


def test_program(built: Build) -> None:
    program = built("program") / "columns"

    def columns(data: bytes, *arguments: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([program, *map(str, arguments)], input=data, capture_output=True)

    assert columns(struct.pack(">6h", 1, 2, 3, 4, 5, 6), ">i2", 2, 3).stdout == b"2.5\n3.5\n4.5\n"
    assert columns(np.array([[1.5], [2.5]], "f4").tobytes(), "float32", 2, 1).stdout == b"2\n"
    for arguments, words in (
        ((">i2", 2, 3), b"5 bytes were read, 12 are needed"),
        (("float32", -1, 3), b"negative"),
        (("nothing", 1, 1), b"usage"),
    ):
        done = columns(b"12345", *arguments)
        assert done.returncode != 0 and words in done.stderr


def kinds() -> list[Any]:
    """The same matrix in each library that is installed."""
    matrix = np.arange(6, dtype="f4").reshape(2, 3)
    made: list[Any] = [matrix, matrix.copy("F"), aa.view(matrix.copy()), memoryview(matrix.copy())]
    for name in ("torch", "tvm_ffi"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        made.append(module.from_dlpack(matrix.copy()))
    return made


def test_nanobind(built: Build) -> None:
    needs("nanobind")
    filters = imported(built("nanobind"), "filters")
    for image in kinds():
        blurred = filters.blur(image)
        assert isinstance(blurred, aa.Array if isinstance(image, memoryview) else type(image))
        assert aa.view(blurred).tolist() == [[0.5, 1.0, 1.5], [3.5, 4.0, 4.5]]
        if not aa.view(image).readonly:
            filters.clip(image, 1, 4)
            assert aa.view(image).tolist() == [[1, 1, 2], [3, 4, 4]]
        assert filters.mean(image) == 2.5
    assert filters.mean(np.arange(4, dtype="i2")[::-1]) == 1.5
    with pytest.raises(TypeError, match="incompatible function arguments") as refused:
        filters.blur(np.zeros((2, 2, 2)))
    assert "ndim 3" in str(refused.value) and "float64" in str(refused.value)
    with pytest.raises(TypeError, match="read-only"):
        filters.clip(aa.view(bytes(16)), 0, 1)

    live = aa._core._live()
    picture = np.ones((2, 2), "f4")
    background = filters.Background(picture)
    picture[0, 1] = 5
    assert background.at(0, 1) == 5
    shown = background.image
    del background, picture
    assert shown.tolist() == [[1, 5], [1, 1]]
    del shown
    assert aa._core._live() == live


def test_pybind11(built: Build) -> None:
    needs("pybind11")
    geometry = imported(built("pybind11"), "geometry")
    square = [[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]
    for dtype in ("f4", "f8"):
        points = np.array(square, dtype)
        assert geometry.length(points) == geometry.length(aa.view(points)) == 9
    points = np.array(square)
    moved = geometry.moved(points, array.array("d", [1, 1]))
    assert isinstance(moved, np.ndarray) and moved.tolist() == (points + 1).tolist()
    assert geometry.moved(points).tolist() == square
    assert geometry.bytes_of(points) == 48
    with pytest.raises(ValueError, match="as many numbers"):
        geometry.moved(points, points[:, 0])
    with pytest.raises(TypeError, match="incompatible function arguments") as refused:
        geometry.length(np.zeros((2, 2), "i4"))
    assert "int32" in str(refused.value)
