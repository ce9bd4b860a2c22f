# SPDX-License-Identifier: Apache-2.0
"""Old extensions with today's table, and tables that are older than the extension.

What "old" was is read from the record in tests/cpp/abi.def; the tables that are too old are cut from the real one.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from projects import HERE, PACKAGE_PREFIX, ROOT, build, build_here, environment

RECORD = (ROOT / "tests" / "cpp" / "abi.def").read_text(encoding="utf-8")
RECORDED = re.findall(r"^ABI_ROW\((\d+), (\d+), ([^,]+), (\w+),\s+(\(.*?\))\)$", RECORD, re.M | re.S)
NEWEST = max(int(row[0]) for row in RECORDED)


def python(code: str, *folders: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], env=environment(*folders), text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def headers_of(minor: int, folder: Path) -> Path:
    """An install prefix as it was when the table ended with the rows of this minor."""
    prefix = folder / "anyarray" / "cmake_prefix"  # as it lies in the wheel, to which the targets' paths are relative
    shutil.copytree(PACKAGE_PREFIX, prefix)
    include = prefix / "include" / "anyarray"
    rows = [row for row in RECORDED if int(row[0]) <= minor]
    (include / "c_api.def").write_text(
        "".join(f"ANYARRAY_FUNCTION({since}, {result}, {name}, {rest})\n" for since, _, result, name, rest in rows)
    )
    if minor == 0:  # arrays that are kept came with `take`
        shim = include / "python.h"
        whole = shim.read_text(encoding="utf-8").replace("anyarray/array.h", "anyarray/view.h")
        shim.write_text(whole[: whole.index("/// A typed view of an object")] + "}  // namespace anyarray\n")
    return prefix


# Before there were typed views.
NORM_OF_MINOR_0 = r"""
#include <anyarray/python.h>
#include <cmath>

static const anyarray::CApi* api;

static PyObject* norm(PyObject*, PyObject* x) {
  anyarray::Request wanted;
  wanted.has_dtype = true;
  wanted.dtype = anyarray::make_dtype(anyarray::TypeCode::float_, 64);
  wanted.ndim = 2;
  wanted.order = anyarray::Order::c;
  const anyarray::Borrowed a = anyarray::borrow(api, x, &wanted);
  if (!a.ok()) return nullptr;
  double sum = 0;
  for (std::int64_t i = 0; i < a->shape[0] * a->shape[1]; ++i) {
    const double value = static_cast<const double*>(a->data)[i];
    sum += value * value;
  }
  return PyFloat_FromDouble(std::sqrt(sum));
}

static PyMethodDef methods[] = {{"norm", norm, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "norm", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_norm() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
"""

USE = """
import array, sys, anyarray
data = array.array("d", [1.0, 2.0, 3.0])
if "total" in sys.argv:
    import total
    assert total.total(data) == 6.0
if "norm" in sys.argv:
    import norm
    assert norm.norm(memoryview(bytes(array.array("d", [3, 4]))).cast("B").cast("d", (1, 2))) == 5.0
if "rows" in sys.argv:
    import rows
    assert rows.word(data) == "ok" and rows.array(data, "default").tolist() == [1.0, 2.0, 3.0]
    assert rows.made(3).tolist() == [0, 1, 2] and rows.release_count() == 1
    assert rows.keep(data) == (24, data)
    rows.let_go()
if "given" in sys.argv:
    import given
    assert given.narrowed(data).tolist() == [1.0, 2.0, 3.0] and given.like(data, b"").owner is data
del data
assert anyarray._core._live() == 0
"""


def test_the_record_is_read() -> None:
    assert len(RECORDED) == RECORD.count("\nABI_ROW(") >= 10
    assert [int(row[1]) for row in RECORDED] == [24 + 8 * i for i in range(len(RECORDED))]


@pytest.mark.parametrize("minor", range(NEWEST + 1))
def test_old_extension_runs_with_this_anyarray(minor: int, tmp_path: Path) -> None:
    prefix = headers_of(minor, tmp_path)
    modules = ["total", "norm", *["rows", "given"][:minor]]
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(old LANGUAGES C CXX)\n"
        "find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)\n"
        "find_package(anyarray 0.1 REQUIRED CONFIG)\n"
        + "".join(
            f"Python_add_library({name} MODULE {'norm.cpp' if name == 'norm' else f'{name}.c'})\n"
            f"target_link_libraries({name} PRIVATE anyarray::headers)\n"
            for name in modules
        )
    )
    for source in [HERE / "extension" / "norm.cpp", *(HERE / "plain_c").glob("*.c")]:
        shutil.copy(source, tmp_path)
    if minor == 0:
        (tmp_path / "norm.cpp").write_text(NORM_OF_MINOR_0, encoding="utf-8")
    build(tmp_path, tmp_path / "build", prefix, f"-DPython_EXECUTABLE={sys.executable}")
    python(f"import sys; sys.argv += {modules}\n{USE}", tmp_path / "build")


# A copy of the real table that ends, and says that it ends, where an older one did.
OLDER = """
import ctypes, sys, anyarray
core = anyarray._core
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = ctypes.create_string_buffer(b"anyarray._core._C_API")
real = core._C_API  # keeps the real one
table = ctypes.create_string_buffer(ctypes.string_at(get(real, name.value), {size}), {size})
ctypes.memmove(table, (ctypes.c_uint32 * 3)({size}, {major}, {minor}), 12)
core._C_API = new(ctypes.addressof(table), name, None)
"""


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of today: total needs the rows of minor 0, rows and typed (C and C++) all that the headers have."""
    return build_here(HERE / "plain_c", tmp_path_factory.mktemp("extensions"), "-DLIMITED_API=ON")


def newest_minor() -> int:
    rows = (PACKAGE_PREFIX / "include" / "anyarray" / "c_api.def").read_text(encoding="utf-8")
    return max(map(int, re.findall(r"^ANYARRAY_FUNCTION\((\d+),", rows, re.M)))


@pytest.mark.parametrize(
    ("size", "major", "minor", "advice"),
    [(80, 0, 0, "upgrade the package anyarray"), (4096, 1, 9, "rebuild the extension")],
    ids=["older", "another major"],
)
@pytest.mark.parametrize("module", ["rows", "typed"])
def test_newer_extension_says_what_to_upgrade(
    extensions: Path, module: str, size: int, major: int, minor: int, advice: str
) -> None:
    code = OLDER.format(size=min(size, 128), major=major, minor=minor)
    code += f"try:\n    import {module}\nexcept ImportError as error:\n    print(error)"
    assert python(code, extensions) == (
        f"this extension was built for anyarray's C API 0.{newest_minor()}, "
        f"the installed anyarray has {major}.{minor}: {advice}\n"
    )


@pytest.mark.parametrize("raised", ["ModuleNotFoundError", "KeyboardInterrupt", "OSError"])
@pytest.mark.parametrize("module", ["rows", "typed"])
def test_why_the_package_cannot_be_imported(extensions: Path, module: str, raised: str) -> None:
    """What its import raises comes through, and isn't made an ImportError that says nothing."""
    code = f"""
import importlib.abc, sys

class Broken(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "anyarray":
            raise {raised}("why " + name)

sys.meta_path.insert(0, Broken())
try:
    import {module}
except BaseException as error:
    print(type(error).__name__, error)
"""
    assert python(code, extensions) == f"{raised} why anyarray\n"


def test_newer_extension_that_needs_old_rows_alone(extensions: Path) -> None:
    """It says the minor of the rows that it needs, and a table that ends with these is enough."""
    python(OLDER.format(size=80, major=0, minor=0) + "sys.argv += ['total']\n" + USE, extensions)
