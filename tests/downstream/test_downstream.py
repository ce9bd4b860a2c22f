# SPDX-License-Identifier: Apache-2.0
"""Projects that use anyarray as a stranger would: from an install prefix, and from the installed package."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import build, run

import anyarray as aa

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE_PREFIX = Path(aa.__file__).parent / "cmake_prefix"


@pytest.fixture(scope="module")
def installed_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix with headers, static core and CMake package, built and installed without Python."""
    folder = tmp_path_factory.mktemp("core")
    build(ROOT, folder / "build", None, "-DANYARRAY_BUILD_PYTHON=OFF")
    run("cmake", "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


def test_core_installs_without_python(installed_core: Path) -> None:
    names = {path.relative_to(installed_core).as_posix() for path in installed_core.rglob("*") if path.is_file()}
    assert "include/anyarray/anyarray.h" in names
    assert "include/anyarray/protocols.def" in names
    assert any(name.endswith("/libanyarray_core.a") for name in names)
    assert any(name.endswith("/cmake/anyarray/anyarrayConfig.cmake") for name in names)
    assert not [name for name in names if name.endswith(".so")]
    # What anyarray_add_engine() builds into extensions, and nothing else of the sources.
    sources = {name.removeprefix("share/anyarray/") for name in names if name.endswith((".py", ".cpp"))}
    assert {"src/engine/take.cpp", "src/home/in_extension.py", "python/anyarray/errors.py"} <= sources
    assert all((ROOT / name).is_file() and not name.endswith("_test.cpp") for name in sources)


def test_program_without_python(installed_core: Path, tmp_path: Path) -> None:
    build(HERE / "program", tmp_path, installed_core)
    first, second, refused = run(tmp_path / "describe").splitlines()
    assert first == "float32 on cpu, shape (2, 3), strides (4, 8), 24 bytes, F order: yes"
    assert second == first
    assert refused.startswith("refused: ")


def test_add_subdirectory_builds_the_core_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(HERE / "program" / "main.cpp", source)
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(inside LANGUAGES CXX)\n"
        f'add_subdirectory("{ROOT}" anyarray)\n'
        "add_executable(describe main.cpp)\ntarget_link_libraries(describe PRIVATE anyarray::core)\n"
    )
    build(source, tmp_path / "build", None)
    assert run(tmp_path / "build" / "describe").startswith("float32 on cpu")
    assert not list((tmp_path / "build").rglob("_core*.so"))


def test_readme_builds_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "norm.cpp")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", readme, re.M | re.S)
        (tmp_path / name).write_text(block, encoding="utf-8")
    (said,) = re.findall(r"\$\(python -c '(.*?)'\)", readme)
    prefix = Path(run(sys.executable, "-c", said).strip())
    build(tmp_path, tmp_path / "build", prefix, f"-DPython_EXECUTABLE={sys.executable}")
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "build"), prepend=os.pathsep)
    assert run(sys.executable, "-c", code) == "0.0\n"


OLDEST_TABLE = """
import ctypes, sys, types
class Table(ctypes.Structure):
    _fields_ = [("head", ctypes.c_uint32 * 4), ("context", ctypes.c_void_p), ("rows", ctypes.c_void_p * 7)]
table = Table((ctypes.c_uint32 * 4)(ctypes.sizeof(Table), {major}, {minor}, 0))
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = ctypes.create_string_buffer(b"anyarray._core._C_API")
core = types.ModuleType("anyarray._core")
core._C_API = new(ctypes.addressof(table), name, None)
package = types.ModuleType("anyarray")
package._core = core
sys.modules.update({{"anyarray": package, "anyarray._core": core}})
try:
    import table as extension
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("major", "minor", "advice"), [(0, 0, "upgrade the package anyarray"), (1, 9, "rebuild the extension")]
)
def test_newer_extension_says_what_to_upgrade(extension: Path, major: int, minor: int, advice: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(extension)}
    code = OLDEST_TABLE.format(major=major, minor=minor)
    done = subprocess.run([sys.executable, "-c", code], env=environment, text=True, capture_output=True)
    assert done.stdout.strip().endswith(f"the installed anyarray has {major}.{minor}: {advice}"), done.stderr


def test_old_extension_runs_with_this_anyarray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Built against the headers as they were when the table had its first rows alone."""
    prefix = tmp_path / "anyarray" / "cmake_prefix"  # as it lies in the wheel, to which the targets' paths are relative
    shutil.copytree(PACKAGE_PREFIX, prefix)
    rows = prefix / "include" / "anyarray" / "c_api.def"
    text, newer = re.subn(r"^ANYARRAY_FUNCTION\((?!0,)[^;]*?\)\)\n", "", rows.read_text(), flags=re.M)
    assert newer >= 3
    rows.write_text(text)
    header = prefix / "include" / "anyarray" / "c_api.h"
    header.write_text(re.sub(r"(c_api_minor =) \d+", r"\1 0", header.read_text()))
    shim = prefix / "include" / "anyarray" / "python.h"
    whole = shim.read_text()
    shim.write_text(whole[: whole.index("/// An array that is kept for longer")] + "}  // namespace anyarray\n")
    (tmp_path / "CMakeLists.txt").write_text(
        (HERE / "extension" / "CMakeLists.txt").read_text().split("Python_add_library(table")[0]
    )
    shutil.copy(HERE / "extension" / "norm.cpp", tmp_path)
    build(tmp_path, tmp_path / "build", prefix, f"-DPython_EXECUTABLE={sys.executable}")
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "build"), prepend=os.pathsep)
    assert run(sys.executable, "-c", code) == "0.0\n"


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
