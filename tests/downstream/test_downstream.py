# SPDX-License-Identifier: Apache-2.0
"""Projects that use the installed package as a stranger would."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import PACKAGE_PREFIX, ROOT, build, run

import anyarray as aa


def test_readme_builds_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "norm.cpp")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", readme, re.M | re.S)
        (tmp_path / name).write_text(block, encoding="utf-8")
    (said,) = re.findall(r'-Danyarray_DIR="\$\(python -m anyarray (.*?)\)"', readme)
    folder = run(sys.executable, "-m", "anyarray", *said.split()).strip()
    options = (f"-DPython_EXECUTABLE={sys.executable}", f"-Danyarray_DIR={folder}")
    build(tmp_path, tmp_path / "build", None, *options)
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "build"), prepend=os.pathsep)
    assert run(sys.executable, "-c", code) == "0.0\n"


def test_extension_takes_any_array(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import norm

    assert norm.norm(memoryview(bytearray(6 * 8)).cast("d", (2, 3))) == 0.0
    with pytest.raises(aa.ExchangeError, match="float64") as wrong:
        norm.norm(memoryview(bytearray(6 * 4)).cast("f", (2, 3)))
    assert [attempt.status for attempt in wrong.value.attempts].count("mismatch") == 1
    with pytest.raises(aa.NotAnArrayError):
        norm.norm(object())

    matrix = np.arange(12.0).reshape(3, 4)
    for view in (matrix, matrix.T, matrix[::-1, ::2]):
        assert norm.norm(view) == pytest.approx(float(np.linalg.norm(view)))


def test_extension_leaks_nothing(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import norm

    memory = bytearray(32)
    view = memoryview(memory).cast("d", (2, 2))
    count = sys.getrefcount(view)
    for _ in range(100):
        norm.norm(view)
    assert sys.getrefcount(view) == count
    view.release()
    memory.extend(b"x")  # BufferError if an export were left


DTYPES = ["f4", ">i8", "c16", "?", "M8[ms]", "U3", "S5", "V7", [("a", "i4"), ("b", "f8", (2, 3))], "g", "e"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_function_of_the_table(extension: Path, monkeypatch: pytest.MonkeyPatch, dtype: object) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import table

    live = aa._core._live()
    for x in (a := np.zeros((3, 4), dtype), a.T, a[::2, ::-1], a[:0], np.zeros((1,) * 20, dtype)):
        facts = table.facts(x)
        assert facts["ptr"] == x.ctypes.data
        assert (facts["shape"], facts["strides"]) == (x.shape, x.strides)
        assert (facts["size"], facts["itemsize"], facts["nbytes"]) == (x.size, x.itemsize, x.nbytes)
        assert facts["c_contiguous"] == x.flags.c_contiguous
        assert facts["f_contiguous"] == x.flags.f_contiguous
        assert not facts["readonly"]
        array = table.array(x, "default")
        assert (array.ptr, array.shape, array.owner is x) == (x.ctypes.data, x.shape, True)
        assert table.explain(x).protocol == "numpy"
    del array
    assert aa._core._live() == live


def test_statuses_without_exceptions(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import table

    masked = np.ma.masked_array(np.zeros(3), [0, 1, 0])
    assert table.facts(masked) == "guarded"
    assert table.facts(masked, 1)["size"] == 3  # waive_mask
    assert table.facts([1, 2]) == "not offered"
    assert table.facts(np.zeros(2, object)) == "unsupported"
    with pytest.raises(ValueError, match="no preset"):
        table.array(masked, "nobody")
    with pytest.raises(aa.ExchangeError, match="mask"):
        table.array(masked, "numpy")

    class Interrupted:
        def __dlpack__(self, **keywords: object) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.facts(Interrupted())


def test_arrays_made_by_an_extension(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import table

    live = aa._core._live()
    before = table.release_count()[0]
    array = table.made(5)
    assert (type(array).__name__, array.tolist(), array.owner) == ("HostArray", [0.0, 1.0, 2.0, 3.0, 4.0], None)
    capsule_of = np.from_dlpack(array)
    del array
    assert capsule_of.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert table.release_count()[0] == before
    del capsule_of
    assert table.release_count() == (before + 1, True)
    assert table.made(0).size == 0
    assert table.made(3, 12).device == "ext_dev:0"
    assert table.release_count()[0] == before + 3
    for arguments, words in (((-2,), "negative"), ((2, 1, 1), "aligned for float32"), ((2, 99), "isn't a device")):
        with pytest.raises(ValueError, match=words):
            table.made(*arguments)
    assert table.release_count()[0] == before + 3  # what was refused wasn't taken over

    owner = bytearray(b"owner")
    count = sys.getrefcount(owner)
    array = table.lent(owner)
    assert (array.tolist(), array.readonly, array.owner is owner) == ([[1, 3], [2, 4]], True, True)
    assert sys.getrefcount(owner) == count + 1
    del array
    assert sys.getrefcount(owner) == count
    assert aa._core._live() == live


def test_arrays_kept_by_an_extension(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import table

    live = aa._core._live()
    memory = bytearray(8)
    assert table.keep(memory)["size"] == 8
    with pytest.raises(BufferError):
        memory.extend(b"locked")
    shown = table.keep()
    assert (shown.owner is memory, shown.nbytes, shown.protocol) == (True, 8, None)
    table.let_go()
    with pytest.raises(BufferError):
        memory.extend(b"still locked by what was shown")
    del shown
    memory.extend(b"free")
    table.keep(memory)
    table.keep(bytes(3))  # takes the place of the first
    memory.extend(b"free again")
    table.let_go()
    with pytest.raises(aa.NotAnArrayError):
        table.keep([1])
    assert aa._core._live() == live


def test_extension_with_the_core_linked(extension: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(extension))
    import linked

    live = aa._core._live()
    array = linked.array()
    assert (array.tolist(), array.readonly, array.owner) == ([1, 2, 3], True, None)
    assert aa._core._live() == live + 1
    with pytest.raises(ValueError, match="aligned for int16"):
        linked.array(1)
    assert linked.release_count() == 0
    del array
    assert linked.release_count() == 1
    linked.shared()
    assert linked.release_count() == 2
    assert aa._core._live() == live


@pytest.fixture(scope="module")
def two_devices(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The example library, built and imported."""
    folder = tmp_path_factory.mktemp("two_devices")
    build(ROOT / "examples" / "two_devices", folder, PACKAGE_PREFIX, f"-DPython_EXECUTABLE={sys.executable}")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module("two_devices")
    finally:
        sys.path.remove(str(folder))


def test_example_gives_to_others(two_devices: Any) -> None:
    host = two_devices.full(1.5, 2, 3)
    for array in (np.from_dlpack(host), np.asarray(host)):
        assert (array.shape, array.dtype, array.sum()) == ((2, 3), np.dtype("f8"), 9.0)
        array[0, 0] = 2.5
        assert two_devices.total(host) == 10.0
        array[0, 0] = 1.5
    del host
    assert array.sum() == 9.0

    device = two_devices.to_device(two_devices.full(2.0, 1, 4))
    assert device.__dlpack_device__() == (12, 0)
    view = aa.view(device)
    assert (view.device, view.shape, view.owner is device) == ("ext_dev:0", (1, 4), True)
    for name in ("__array_interface__", "__array_struct__", "__buffer__", "__cuda_array_interface__"):
        assert not hasattr(device, name)
        assert not hasattr(type(device), name)  # and so isinstance of protocols says the truth
        assert name not in dir(device)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(device)
    with pytest.raises(TypeError, match="copy it to the host"):
        np.asarray(device)


def test_example_takes_from_others(two_devices: Any) -> None:
    taken = two_devices.take(np.arange(6.0).reshape(2, 3))
    assert isinstance(taken, two_devices.HostTensor)
    assert two_devices.total(taken) == 15.0
    on_device = two_devices.take(two_devices.to_device(taken))
    assert isinstance(on_device, two_devices.DeviceTensor)
    assert two_devices.total(on_device) == 15.0
    for wrong, words in ((np.zeros(3, "f4"), "float64"), (np.zeros((4, 4)).T[1:], "C"), ([1.0], "list")):
        with pytest.raises((aa.ExchangeError, aa.NotAnArrayError), match=words):
            two_devices.take(wrong)


def test_extension_needs_the_package_at_run_time(extension: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['anyarray'] = None\ntry: import norm\nexcept ImportError as e: print('refused:', e)"
    environment = {**os.environ, "PYTHONPATH": str(extension)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, text=True, capture_output=True)
    assert done.stdout.startswith("refused: "), done.stderr
