# SPDX-License-Identifier: Apache-2.0
"""Projects that use anyarray as a stranger would: from an install prefix, and from the installed package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anyarray as aa

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGE_PREFIX = Path(aa.__file__).parent / "cmake_prefix"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command; its output, or a failed test that shows it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def build(source: Path, build_dir: Path, prefix: Path | None, *options: str) -> None:
    """Configure and build a CMake project."""
    cmake = shutil.which("cmake")
    assert cmake, "cmake is not on PATH: run this by `make test`, which brings it"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    where = [f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix else []
    run(cmake, "-S", source, "-B", build_dir, *generator, *where, "-DCMAKE_BUILD_TYPE=Release", *options)
    run(cmake, "--build", build_dir)


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
    assert not [name for name in names if name.endswith((".so", ".py"))]


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


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extension built against the package that is installed here."""
    folder = tmp_path_factory.mktemp("extension")
    build(HERE / "extension", folder, PACKAGE_PREFIX, f"-DPython_EXECUTABLE={sys.executable}")
    return folder


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


def test_extension_needs_the_package_at_run_time(extension: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['anyarray'] = None\ntry: import norm\nexcept ImportError as e: print('refused:', e)"
    environment = {**os.environ, "PYTHONPATH": str(extension)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, text=True, capture_output=True)
    assert done.stdout.startswith("refused: "), done.stderr
