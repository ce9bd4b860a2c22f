# SPDX-License-Identifier: Apache-2.0
"""What only an engine that is built into an extension has to show: that it needs no package, keeps to itself, and lives
as long as what was made with it. That it does what the package's does, test_extension.py shows.
"""

from __future__ import annotations

import copy
import gc
import importlib.util
import os
import pickle
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from projects import HERE, PACKAGE_PREFIX, ROOT, build, cmake, compiler

import anyarray as aa

BLOCKED = "import sys; sys.modules['anyarray'] = sys.modules['rich'] = None\n"


def load(file: Path, name: str) -> Any:
    """Import an extension from a file, without an entry in sys.modules."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table(built_in: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(built_in))
    return importlib.import_module("inside.table")


def run_blocked(built_in: Path, code: str) -> str:
    """Run code in a process in which neither anyarray nor rich can be imported; what it wrote."""
    environment = {**os.environ, "PYTHONPATH": str(built_in), "ANYARRAY_BUILT_IN": str(built_in)}
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + code], env=environment, text=True, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_same_tests_without_the_package(built_in: Path) -> None:
    said = run_blocked(
        built_in,
        "try: import anyarray\nexcept ImportError: pass\nelse: raise AssertionError\n"
        f"import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', {str(HERE / 'test_extension.py')!r}]))",
    )
    assert re.search(r"^1\d passed in", said, re.M), said


def test_account_without_rich(built_in: Path) -> None:
    said = run_blocked(
        built_in,
        "import inside.table as t\n"
        "print(t.explain(memoryview(b'abc')))\nprint(t.explain([1]))\nprint(repr(t.explain(b'abc')))",
    )
    lines = said.splitlines()
    assert lines[0] == "view of memoryview"
    assert lines[1].split() == ["protocol", "attribute", "status", "ns", "reason"]
    assert re.search(r"^builtin +ok +\d+$", said, re.M)
    assert "served by builtin: shape (3,), uint8, on cpu, read-only" in lines
    assert any(line.startswith("can't view list: a list is a sequence") for line in lines)
    assert lines[-1] == "<Explanation of bytes: served by builtin>"


def test_errors_are_of_the_builtin_kinds(table: Any) -> None:
    class Producer:
        def __dlpack__(self, **_: Any) -> Any:
            raise ZeroDivisionError("broken")

    with pytest.raises(BufferError, match=r"can't view .*Producer") as failed:
        table.array(Producer(), "default")
    assert "dlpack (__dlpack__): failed: ZeroDivisionError: broken" in str(failed.value)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)
    assert [a.status for a in failed.value.attempts if a.protocol == "dlpack"] == ["failed"]
    assert not isinstance(failed.value, TypeError)
    with pytest.raises(TypeError, match="a list is a sequence") as nothing:
        table.array([1], "default")
    assert isinstance(nothing.value, BufferError)
    assert {type(e.value).__module__ for e in (failed, nothing)} == {"inside.table._anyarray.errors"}
    with pytest.raises(aa.ExchangeError) as ours:
        aa.view(Producer())
    assert str(failed.value) == str(ours.value)  # one place for the sentences


def test_types_say_whose_they_are(table: Any) -> None:
    array = table.array(np.zeros(2, [("a", "i4")]), "default")
    for thing in (array, array.dtype):
        assert type(thing).__module__ == "inside.table._anyarray"
    assert type(array.device).__module__ == "inside.table._anyarray.device"
    assert repr(array).startswith("<inside.table._anyarray.HostArray")
    array.release()
    assert repr(array).startswith("<inside.table._anyarray.HostArray") and "released" in repr(array)
    assert type(aa.view(b"a")).__module__ == "anyarray" and repr(aa.view(b"a")).startswith("<anyarray.HostArray ")


def test_engines_in_one_process_take_from_each_other(table: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    theirs, ours = table.array(x, "default"), aa.view(x)
    assert type(theirs) is not type(ours) and not isinstance(theirs, aa.Array)
    for policy in ("default", "buffer", "dlpack", "dlpack_exchange"):
        again = aa.view(theirs, policy=None if policy == "default" else [policy])
        assert (again.ptr, again.shape, again.owner is theirs) == (x.ctypes.data, (2, 3), True)
    for name in ("array_interface", "array_struct", "arrow_array"):
        assert aa.view(theirs, policy=[name]).ptr == x.ctypes.data
    assert table.array(ours, "default").ptr == x.ctypes.data
    assert aa.convert(theirs, "numpy").ctypes.data == x.ctypes.data

    @aa.exchange
    class Wrong:
        def __anyarray__(self) -> Any:
            return theirs

    with pytest.raises(TypeError, match=r"returned inside\.table\._anyarray\.HostArray: it must"):
        Wrong().__dlpack__()
    with pytest.raises(aa.ExchangeError, match="it must give an anyarray"):  # by the table of classes
        aa.view(Wrong(), policy=["dlpack_exchange"])


DTYPES = ["f4", ">i8", "?", "M8[ms]", "U3", "V7", [("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "u1")])]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_of_another_engine(table: Any, dtype: Any) -> None:
    x = np.zeros(2, dtype)
    theirs, ours = table.array(x, "default").dtype, aa.view(x).dtype
    assert aa.DType(theirs) == ours == theirs
    assert hash(theirs) == hash(ours)
    assert aa.view(x, dtype=theirs).dtype == ours


def test_policies_are_its_own(table: Any) -> None:
    with aa.default_policy(["cuda_array_interface"]):
        assert table.facts(b"abc")["size"] == 3
        with pytest.raises(BufferError):
            aa.view(b"abc")


def test_copies_and_pickles(table: Any, built_in: Path, tmp_path: Path) -> None:
    x = np.arange(6, dtype="i2").reshape(2, 3)
    array = table.array(x, "default")
    assert copy.copy(array).ptr == array.ptr
    assert copy.deepcopy(array).tolist() == pickle.loads(pickle.dumps(array)).tolist() == x.tolist()
    struct = table.array(np.zeros(1, [("a", "i4"), ("b", "f8", (2,))]), "default")
    kept = tmp_path / "kept"
    kept.write_bytes(pickle.dumps([array, array.dtype, struct.dtype, array.device, type(array).__mro__[1]]))
    said = run_blocked(
        built_in,
        f"import pickle\nfirst, *rest = pickle.load(open({str(kept)!r}, 'rb'))\n"
        "print(first.tolist())\nfor other in rest: print(other)",
    )
    assert said.splitlines()[:2] == [str(x.tolist()), "int16"]
    assert said.splitlines()[2:4] == [str(struct.dtype), "cpu"]
    assert said.splitlines()[4] == "<class 'inside.table._anyarray.Array'>"


def test_two_of_one_name(table: Any, built_in: Path, tmp_path: Path) -> None:
    several = importlib.import_module("inside.several")
    other = load(Path(shutil.copy(built_in / "inside" / "several.so", tmp_path)), "inside.several")
    first, second = (extension.array(b"abc") for extension in (several, other))
    assert type(first) is not type(second) and first.tolist() == second.tolist()
    assert type(second).__module__ == "inside.several._anyarray2"
    assert table.array(second, "default").owner is second
    with pytest.raises(BufferError) as wrong:
        other.array([1])
    assert type(wrong.value).__module__ == "inside.several._anyarray2.errors"


def forget(prefix: str) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith(prefix)}


def test_imported_again(built_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(built_in))
    several = importlib.import_module("inside.several")
    array = several.array(b"abc")
    kind = type(array)
    assert forget("inside.several")
    del several
    gc.collect()
    assert (array.tolist(), array.shape, kind.__name__) == ([97, 98, 99], (3,), "HostArray")
    del array
    gc.collect()
    again = importlib.import_module("inside.several")
    assert type(again.array(b"abc")) is kind
    with pytest.raises(BufferError):
        again.array([1])


LAST = """
import os
import numpy
import inside.several as several, inside.table as table

class Last:
    def __init__(self, *arrays):
        self.arrays = arrays
    def __del__(self, say=os.write, repr=repr):
        say(1, repr([a.tolist() for a in self.arrays]).encode())

memory = bytearray(b"ab")
{keeper}.last = Last(table.array(memory, "default"), several.array(memory), table.made(2))
sys.capsule = several.array(memory).__dlpack__()
sys.ndarray = numpy.from_dlpack(table.made(3))
table.keep(memory)  # held by a variable of the extension to the end of the process
for name in [name for name in sys.modules if name.startswith("inside")]:
    del sys.modules[name]
"""


@pytest.mark.parametrize("keeper", ["several", "sys"])
def test_outlives_its_modules(built_in: Path, keeper: str) -> None:
    """What is read and given back when the interpreter has taken its modules down."""
    assert run_blocked(built_in, LAST.format(keeper=keeper)) == "[[97, 98], [97, 98], [0.0, 1.0]]"


INTERPRETERS = """
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    def run(i, code):
        failure = interpreters.exec(i, code)
        assert failure is None, failure
else:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string

WORK = '''
import sys
sys.path[:0] = [{folder!r}]
sys.modules['anyarray'] = None
from inside import several
core = sys.modules["inside.several._anyarray._core"]
assert core._live() == 0
memory = bytearray(8)
array = several.array(memory)
assert (array.tolist(), str(array.dtype), str(array.device)) == ([0] * 8, "uint8", "cpu")
exported, shown = array.__dlpack__(), memoryview(array)
again = type(array).__dlpack_c_exchange_api__
try:
    several.array([1])
except BufferError as e:
    assert "list" in str(e) and type(e).__module__ == "inside.several._anyarray.errors"
else:
    raise AssertionError
shown.release()
del array, exported, shown
memory.append(1)
assert core._live() == 0
'''
BEHIND = "sys.kept = several.array(memory), several.array(memory).__dlpack__(), several"
from inside import several
import gc
here = several.array(bytearray(3))
for left in ("pass", BEHIND, BEHIND):
    first, second = interpreters.create(), interpreters.create()
    for i in (first, second, first):
        run(i, WORK)
    run(second, left)
    interpreters.destroy(first)
    interpreters.destroy(second)
assert here.tolist() == [0, 0, 0] and sys.modules["inside.several._anyarray._core"]._live() == 0
import os
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
# From 3.12 on, interpreters keep megabytes by themselves; a sanitizer keeps what is freed.
for n in range(0 if sys.version_info >= (3, 12) or os.environ.get("ANYARRAY_SANITIZED") else 45):
    if n == 5:
        before = memory()
    identifier = interpreters.create()
    run(identifier, WORK)
    interpreters.destroy(identifier)
    assert n != 44 or memory() - before < 2048
print("done")
"""


def test_several_interpreters(built_in: Path) -> None:
    code = INTERPRETERS.replace("{folder!r}", repr(str(built_in)))
    assert run_blocked(built_in, code) == "done\n"


def test_shows_no_symbols_of_the_engine(built_in: Path) -> None:
    nm = shutil.which("nm")
    assert nm, "nm of binutils is needed"
    for name in ("norm", "table", "linked", "several"):
        lines = subprocess.run(
            [nm, "-D", "--defined-only", built_in / "inside" / f"{name}.so"], check=True, text=True, capture_output=True
        ).stdout.splitlines()
        strong = {line.split()[2] for line in lines if line.split()[1] not in "WVu"}  # the rest: inline, of headers
        assert strong == {f"PyInit_{name}"}


def test_not_under_the_limited_api(tmp_path: Path) -> None:
    source = tmp_path / "limited.cpp"
    source.write_text(
        '#define Py_LIMITED_API 0x030A0000\n#define ANYARRAY_ENGINE "limited"\n#include <anyarray/python.h>\n'
    )
    includes = [f"-I{ROOT / 'include'}", f"-I{sysconfig.get_path('include')}"]
    done = subprocess.run(
        [*compiler(cxx=True), "-std=c++17", "-fsyntax-only", *includes, source],
        text=True,
        capture_output=True,
    )
    assert done.returncode != 0 and "isn't for the limited API" in done.stderr


def test_add_subdirectory_and_the_default_name(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(HERE / "extension" / "norm.cpp", source)
    (source / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(inside LANGUAGES CXX)\n"
        "find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)\n"
        f'add_subdirectory("{ROOT}" anyarray)\n'
        "Python_add_library(norm MODULE norm.cpp)\nanyarray_add_engine(norm)\n"
    )
    build(source, tmp_path / "build", None, f"-DPython_EXECUTABLE={sys.executable}")
    code = (
        "import norm\nprint(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))\n"
        "try: norm.norm(1.5)\nexcept BufferError as e: print(type(e).__module__, e)"
    )
    said = run_blocked(tmp_path / "build", code)
    assert said.startswith("0.0\nnorm._anyarray.errors can't view float")
    assert not list((tmp_path / "build").rglob("_core*.so"))


def test_needs_pythons_headers_first(built_in: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(early LANGUAGES CXX)\nfind_package(anyarray REQUIRED CONFIG)\n"
        "add_library(early MODULE nothing.cpp)\nanyarray_add_engine(early)\n"
    )
    done = subprocess.run(
        [cmake(), "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={PACKAGE_PREFIX}"],
        text=True,
        capture_output=True,
    )
    assert done.returncode != 0 and "call find_package(Python 3.10 REQUIRED" in " ".join(done.stderr.split())
