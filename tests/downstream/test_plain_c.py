# SPDX-License-Identifier: Apache-2.0
"""The function table from plain C: the headers under strict flags, every row, several interpreters."""

from __future__ import annotations

import array
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from projects import HERE, PACKAGE_PREFIX, build_here, compiler, environment, run

import anyarray as aa

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror", "-fsyntax-only"]
HEADERS = {
    "c.h": "#include <anyarray/c.h>\n",
    "c_python.h": "#include <anyarray/c_python.h>\n",
    "c.h after Python.h": "#include <Python.h>\n#include <anyarray/c.h>\n",
    "all": "#include <anyarray/c_python.h>\n#include <anyarray/c.h>\n#include <anyarray/c_api_version.h>\n",
}
USE = """
static const anyarray_request any = ANYARRAY_REQUEST_INIT;
int use(const anyarray_c_api* api);
int use(const anyarray_c_api* api) { return api->minor >= ANYARRAY_SINCE_take && any.ndim == -1; }
"""


CASES = [(name, "c99", False) for name in HEADERS] + [
    ("all", standard, limited) for standard in ("c99", "c11", "gnu17", "c++17", "c++20") for limited in (False, True)
]


@pytest.mark.parametrize(("headers", "standard", "limited"), CASES)
def test_headers_are_clean(headers: str, standard: str, limited: bool, tmp_path: Path) -> None:
    cxx = "++" in standard
    source = tmp_path / ("use.cpp" if cxx else "use.c")
    others = "#include <anyarray/python.h>\n" if cxx and headers == "all" else ""  # both sides in one file
    source.write_text(others + HEADERS[headers] + USE)
    options = [f"-std={standard}", *STRICT, *(["-DPy_LIMITED_API=0x030a0000"] if limited else [])]
    folders = ["-I", PACKAGE_PREFIX / "include", "-isystem", sysconfig.get_path("include")]
    run(*compiler(cxx), *options, *folders, source)


def test_engine_that_is_built_in_is_for_cxx(tmp_path: Path) -> None:
    source = tmp_path / "use.c"
    source.write_text("#include <anyarray/c_python.h>\n")
    folders = ["-I", PACKAGE_PREFIX / "include", "-isystem", sysconfig.get_path("include")]
    command = [*compiler(False), "-fsyntax-only", '-DANYARRAY_ENGINE="package.name"', *folders, source]
    done = subprocess.run(command, text=True, capture_output=True)
    assert done.returncode != 0 and "gives its table to C++" in done.stderr


@pytest.fixture(scope="module")
def plain_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_here(HERE / "plain_c", tmp_path_factory.mktemp("plain_c"))


def test_total_takes_any_array(plain_c: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plain_c))
    import total

    live = aa._core._live()
    whole = np.arange(24.0).reshape(2, 3, 4)
    for x in (whole, whole.T, whole[::-1, :, ::2], whole[:, :0], whole[0, 0, 0], aa.view(whole)):
        assert total.total(x) == np.sum(np.asarray(x))
    assert total.total(memoryview(bytes(16)).cast("d")) == 0.0
    with pytest.raises(aa.ExchangeError, match="float64"):
        total.total(np.zeros(3, "f4"))
    with pytest.raises(aa.NotAnArrayError):
        total.total(3)
    del x
    assert aa._core._live() == live


def test_every_row(plain_c: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plain_c))
    import rows

    live = aa._core._live()
    x = np.arange(6, dtype="i2")[::2]
    assert [rows.word(one) for one in (x, 3, np.zeros(2, object), np.ma.masked_array(x, x > 2))] == [
        "ok",
        "not offered",
        "unsupported",
        "guarded",
    ]
    taken = rows.array(x, "mpi4py_proposed")
    assert (taken.tolist(), taken.owner is x, taken.protocol) == ([0, 2, 4], True, "buffer")
    assert rows.explain(x).protocol == "numpy"
    with pytest.raises(ValueError, match="no preset nobody"):
        rows.array(x, "nobody")
    made = rows.made(4)
    assert (made.tolist(), str(made.dtype)) == ([0, 1, 2, 3], "int32")
    before = rows.release_count()
    del made
    assert rows.release_count() == before + 1
    with pytest.raises(ValueError, match="negative"):
        rows.made(-3)
    memory = bytearray(8)
    assert rows.keep(x) == (6, x)
    assert rows.keep(memory) == (8, memory)  # takes the place of x
    with pytest.raises(aa.NotAnArrayError):
        rows.keep(object())
    with pytest.raises(BufferError):
        memory.extend(b"locked")
    rows.let_go()
    memory.extend(b"free")
    del taken
    assert aa._core._live() == live


def test_rows_of_minor_2(plain_c: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plain_c))
    import given

    live = aa._core._live()
    data = array.array("d", [1.0, 2.5])
    numpy, like = given.give(data, "numpy"), given.like(data, np.zeros(1))
    assert numpy.tolist() == like.tolist() == [1.0, 2.5] and type(numpy) is type(like) is np.ndarray
    narrow = given.narrowed(data)
    assert (narrow.tolist(), str(narrow.dtype), narrow.owner) == ([1.0, 2.5], "float32", None)
    with pytest.raises(ValueError, match=r"mismatch: .*complex128 .*float32"):
        given.narrowed(np.zeros(2, complex))
    with pytest.raises(aa.NotAnArrayError):
        given.narrowed(3)
    del numpy, like, narrow
    assert aa._core._live() == live


INTERPRETERS = """
import sys, textwrap
new = sys.version_info >= (3, 13)
module = __import__("_interpreters" if new else "_xxsubinterpreters")
import total, array, anyarray
here = array.array("d", [1.5, 2.0])
assert total.total(here) == 3.5
for turn in range(3):
    there = module.create()
    code = textwrap.dedent(f'''
        import sys
        sys.path[:] = {sys.path!r}
        import total, array, anyarray
        assert total.total(array.array("d", [1.0, 2.0])) == 3.0
        try:
            total.total([])
        except anyarray.NotAnArrayError:
            pass
        assert anyarray._core._live() == 0
    ''')
    failed = (module.exec if new else module.run_string)(there, code)
    assert failed is None, failed
    module.destroy(there)
    assert total.total(here) == 3.5
print("done")
"""


def test_several_interpreters(plain_c: Path) -> None:
    """By the pointer in the module state: each interpreter's own table."""
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETERS], env=environment(plain_c), text=True, capture_output=True
    )
    assert done.stdout == "done\n", done.stderr
