# SPDX-License-Identifier: Apache-2.0
"""The table from Rust, by the layouts of docs/abi.md alone. Needs rustc, which ``ANYARRAY_REQUIRE=rustc`` requires."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import HERE, REQUIRED, ROOT, run

import anyarray as aa

RECORD = (ROOT / "tests" / "cpp" / "abi.def").read_text(encoding="utf-8")
SIZES = re.findall(r"^ABI_STRUCT\((\w+), \w+, (\d+)\)$", RECORD, re.M)
MEMBERS = re.findall(r"^ABI_MEMBER\((\w+), \w+, (\w+), .*?, (\d+), \d+\)$", RECORD, re.M)
ROWS = re.findall(r"^ABI_ROW\(\d+, (\d+), [^,]+, (\w+),", RECORD, re.M)


def as_recorded() -> str:
    """What rustc itself checks: the record as constant assertions."""
    lines = [f"const _: () = assert!(std::mem::size_of::<{name}>() == {size});" for name, size in SIZES]
    members = [*MEMBERS, *(("CApi", name, offset) for offset, name in ROWS)]
    for struct, member, offset in members:
        field = "r#type" if member == "type" else member
        lines.append(f"const _: () = assert!(std::mem::offset_of!({struct}, {field}) == {offset});")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def rust(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if shutil.which("rustc") is None:
        assert "rustc" not in REQUIRED, "rustc is required"
        pytest.skip("rustc isn't installed")
    folder = tmp_path_factory.mktemp("rust")
    shutil.copy(HERE / "rust" / "total.rs", folder)
    declared = (HERE / "rust" / "anyarray.rs").read_text(encoding="utf-8")
    (folder / "anyarray.rs").write_text(declared + as_recorded(), encoding="utf-8")
    library = folder / "libtotal.so"
    run(
        "rustc",
        "--edition",
        "2021",
        "--crate-type",
        "cdylib",
        "-D",
        "warnings",
        "-O",
        "-o",
        library,
        folder / "total.rs",
    )
    loaded = ctypes.PyDLL(str(library))
    loaded.total.argtypes, loaded.total.restype = [ctypes.py_object], ctypes.py_object
    loaded.made.argtypes, loaded.made.restype = [ctypes.c_int64], ctypes.py_object
    return loaded


def test_the_record_is_read() -> None:
    assert (len(SIZES), len(ROWS)) == (RECORD.count("\nABI_STRUCT("), RECORD.count("\nABI_ROW("))
    assert len(MEMBERS) == RECORD.count("\nABI_MEMBER(") > 40


def test_rust_takes_any_array(rust: Any) -> None:
    live = aa._core._live()
    whole = np.arange(24.0).reshape(2, 3, 4)
    for x in (whole, whole.T, whole[::-1, :, ::2], whole[:, :0], whole[0, 0, 0], memoryview(whole)):
        assert rust.total(x) == np.sum(np.asarray(x))
    with pytest.raises(aa.ExchangeError, match="float64"):
        rust.total(np.zeros(3, "f4"))
    with pytest.raises(aa.NotAnArrayError):
        rust.total("no array")
    del x
    assert aa._core._live() == live


def test_rust_makes_arrays(rust: Any) -> None:
    live = aa._core._live()
    array = rust.made(5)
    assert (array.tolist(), str(array.dtype)) == ([0, 1, 2, 3, 4], "int32")
    assert np.asarray(array).sum() == 10
    del array
    assert aa._core._live() == live


def test_other_layouts_are_refused(rust: Any, tmp_path: Path) -> None:
    """The assertions do fail: a struct with a member more isn't compiled."""
    declared = (HERE / "rust" / "anyarray.rs").read_text(encoding="utf-8")
    changed = declared.replace("    pub ndim: i32,\n", "    pub more: u64,\n    pub ndim: i32,\n")
    assert changed != declared
    (tmp_path / "anyarray.rs").write_text(changed + as_recorded(), encoding="utf-8")
    command = ["rustc", "--edition", "2021", "--crate-type", "rlib", "--emit", "metadata", "anyarray.rs"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode != 0 and "offset_of!(Descriptor, ndim) == 40" in done.stderr
