# SPDX-License-Identifier: Apache-2.0
"""That the record of the ABI holds: abi_test.cpp is compiled against headers that were changed. Adding must pass, and
every change of what was promised must fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import generate_abi

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = ROOT / "include" / "anyarray"
TABLE = (INCLUDE / "c_api.def").read_text(encoding="utf-8")
ROWS = re.findall(r"^ANYARRAY_FUNCTION\(.*?\)\)\n", TABLE, re.M | re.S)
NEWEST = int(re.findall(r"^ANYARRAY_FUNCTION\((\d+)", TABLE, re.M)[-1])
RECORD = (ROOT / "tests" / "cpp" / "abi.def").read_text(encoding="utf-8")

Edit = tuple[str, str, str]  # file, what stands there, what shall


def check(folder: Path, *edits: Edit) -> str:
    """What the compiler says of abi_test.cpp with headers changed so; nothing where it passes."""
    for name in ("include", "tests/cpp"):
        shutil.copytree(ROOT / name, folder / name)
    for name, old, new in edits:
        file = folder / "include" / "anyarray" / name
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{name} holds {old!r} {text.count(old)} times"
        file.write_text(text.replace(old, new), encoding="utf-8")
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-fsyntax-only", "-I", "include", "-I", "."]
    done = subprocess.run([*command, "tests/cpp/abi_test.cpp"], cwd=folder, text=True, capture_output=True)
    assert (done.returncode == 0) == (": error: " not in done.stderr), done.stderr
    return done.stderr if done.returncode != 0 else ""


def row(since: int, name: str = "later") -> str:
    return f"ANYARRAY_FUNCTION({since}, void, {name}, (void* context, anyarray_borrow* borrow))\n"


ADDED: dict[str, tuple[Edit, ...]] = {
    "nothing": (),
    "a row": (("c_api.def", ROWS[-1], ROWS[-1] + row(NEWEST + 1)),),
    "rows of two versions": (
        ("c_api.def", ROWS[-1], ROWS[-1] + row(NEWEST + 1) + row(NEWEST + 1, "more") + row(NEWEST + 2, "most")),
    ),
    "a status": (
        ("status.h", "  no_memory,", "  no_memory,\n  later,"),
        ("c.h", "ANYARRAY_STATUS_NO_MEMORY = 11", "ANYARRAY_STATUS_NO_MEMORY = 11, ANYARRAY_STATUS_LATER = 12"),
    ),
    "an element type": (
        ("dtype.h", "  interned = 71,", "  decimal = 72,\n  interned = 71,"),
        ("c.h", "  ANYARRAY_CODE_VOID = 70,", "  ANYARRAY_CODE_DECIMAL = 72,\n  ANYARRAY_CODE_VOID = 70,"),
    ),
    "a protocol, as the last": (
        (
            "protocols.def",
            "ANYARRAY_PROTOCOL(array_method,",
            'ANYARRAY_PROTOCOL(array_method, "__array__", row_host, "")\nANYARRAY_PROTOCOL(later,',
        ),
    ),
    "a waiver": (
        ("request.h", "  waive_neg = 1u << 3,", "  waive_neg = 1u << 3,\n  waive_later = 1u << 4,"),
        ("c.h", "ANYARRAY_WAIVE_NEG = 8", "ANYARRAY_WAIVE_NEG = 8, ANYARRAY_WAIVE_LATER = 16"),
    ),
}


@pytest.mark.parametrize("what", ADDED)
def test_adding_passes(what: str, tmp_path: Path) -> None:
    assert check(tmp_path, *ADDED[what]) == ""


CHANGED: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "a row in the middle": ("release stands elsewhere", (("c_api.def", ROWS[2], row(0) + ROWS[2]),)),
    "a row at the start": ("borrow stands elsewhere", (("c_api.def", ROWS[0], row(0) + ROWS[0]),)),
    "a row removed": ("a row is gone|release", (("c_api.def", ROWS[2], ""),)),
    "the last recorded row removed": ("drop", (("c_api.def", ROWS[9], ""),)),
    "a row renamed": ("explain", (("c_api.def", "explain, (", "account, ("),)),
    "two rows exchanged": (
        "preset stands elsewhere",
        (("c_api.def", ROWS[5], "HERE"), ("c_api.def", ROWS[6], ROWS[5]), ("c_api.def", "HERE", ROWS[6])),
    ),
    "two members exchanged": (
        "Descriptor::shape lies elsewhere",
        (
            ("descriptor.h", "std::int64_t* shape;  ", "std::int64_t* HERE;  "),
            ("descriptor.h", "std::int64_t* strides;  ", "std::int64_t* shape;  "),
            ("descriptor.h", "std::int64_t* HERE;  ", "std::int64_t* strides;  "),
        ),
    ),
    "a member retyped": ("Device::id has another type", (("device.h", "  std::int32_t id;", "  std::uint32_t id;"),)),
    "C's member retyped": ("anyarray_device::id has another type", (("c.h", "  int32_t id;", "  uint32_t id;"),)),
    "C's number": ("ANYARRAY_ORDER_F has another value", (("c.h", "ANYARRAY_ORDER_F = 2", "ANYARRAY_ORDER_F = 3"),)),
    "a parameter retyped": (
        "status_text has another signature",
        (("c_api.def", "anyarray_status status", "int64_t status"),),
    ),
    "a parameter added": (
        "to_array has another signature",
        (("c_api.def", "anyarray_borrow* from)", "anyarray_borrow* from, int flags)"),),
    ),
    "a result retyped": ("drop has another signature", (("c_api.def", "(1, void, drop,", "(1, int, drop,"),)),
    "a row under a version that is out": (
        "minor version of their own",
        (("c_api.def", ROWS[9], ROWS[9] + row(1)),),
    ),
    "a row's version": (
        "take came with another version",
        (("c_api.def", "(1, anyarray_holder*, take", "(0, anyarray_holder*, take"),),
    ),
    "a word before the rows": (
        "CApi::context lies elsewhere",
        (("c_api.h", "  void* context;", "  void* more;\n  void* context;"),),
    ),
    "the major version": ("c_api_major", (("c_api_version.h", "_MAJOR 0u", "_MAJOR 1u"),)),
    "a status renumbered": (
        "Status::mismatch has another value",
        (("status.h", "  device,  ", "  later,\n  device,  "),),
    ),
    "an element type renumbered": ("TypeCode::void_ has another value", (("dtype.h", "void_ = 70", "void_ = 72"),)),
    "a device renumbered": (
        "DeviceType::cuda_managed has another value",
        (("device.h", "cuda_managed = 13", "cuda_managed = 19"),),
    ),
    "a flag moved": (
        "flag_copied has another value",
        (("descriptor.h", "flag_copied = 1u << 1", "flag_copied = 1u << 4"),),
    ),
    "a protocol in the middle": (
        "Protocol::dlpack has another value",
        (
            (
                "protocols.def",
                "ANYARRAY_PROTOCOL(dlpack,",
                'ANYARRAY_PROTOCOL(early, "", 0, "")\nANYARRAY_PROTOCOL(dlpack,',
            ),
        ),
    ),
    "a cause of failure, in the policy": (
        "Policy has another size|Policy::final has another",
        (("policy.h", "  count\n};\ninline constexpr int cause", "  later,\n  count\n};\ninline constexpr int cause"),),
    ),
}
INSERTED = {
    "DType": ("dtype.h", "  std::uint16_t bits = 0; "),
    "Device": ("device.h", "  std::int32_t id;"),
    "Descriptor": ("descriptor.h", "  std::int32_t ndim; "),
    "Borrow": ("descriptor.h", "  void* owner; "),
    "Holder": ("descriptor.h", "  std::int64_t references; "),
    "Request": ("request.h", "  std::uint32_t allow = 0; "),
    "Reason": ("status.h", "  char text[240];"),
    "Policy": ("policy.h", "  std::uint8_t n = 0; "),
    "anyarray_dtype": ("c.h", "  uint16_t bits; "),
    "anyarray_device": ("c.h", "  int32_t id;"),
    "anyarray_descriptor": ("c.h", "  int32_t ndim; "),
    "anyarray_borrow": ("c.h", "  void* owner; "),
    "anyarray_holder": ("c.h", "  int64_t references; "),
    "anyarray_reason": ("c.h", "  char text[240];"),
    "anyarray_request": ("c.h", "  uint32_t allow; "),
}


@pytest.mark.parametrize("what", CHANGED)
def test_changing_fails(what: str, tmp_path: Path) -> None:
    words, edits = CHANGED[what]
    assert re.search(words, check(tmp_path, *edits))


@pytest.mark.parametrize("struct", INSERTED)
def test_members_have_no_room_for_others(struct: str, tmp_path: Path) -> None:
    file, member = INSERTED[struct]
    assert f"{struct} has another size" in check(tmp_path, (file, member, f"  void* more;\n{member}"))


def test_every_struct_of_the_record_is_changed_here() -> None:
    recorded = set(re.findall(r"^ABI_(?:OPAQUE_)?STRUCT\((\w+), (\w+)", RECORD, re.M))
    assert len(recorded) == 8
    names = {name for pair in recorded for name in pair if not name.isdigit()}
    assert names == set(INSERTED)


# --- C's names and C++'s ----------------------------------------------------------------------------------------


ENUMS = {
    ("Status", "status.h"): "STATUS",
    ("TypeCode", "dtype.h"): "CODE",
    ("TimeUnit", "dtype.h"): "UNIT",
    ("DeviceType", "device.h"): "DEVICE",
    ("DescriptorFlags", "descriptor.h"): "FLAG",
    ("Order", "request.h"): "ORDER",
    ("Waiver", "request.h"): "WAIVE",
    ("LayoutCondition", "request.h"): "LAYOUT",
}


def test_c_has_every_number_of_the_headers() -> None:
    """abi_test.cpp compares the numbers that are in the record; a later one has to be in both."""
    c = re.sub(r"//.*", "", (INCLUDE / "c.h").read_text(encoding="utf-8"))
    for (enum, header), prefix in ENUMS.items():
        text = re.sub(r"//.*", "", (INCLUDE / header).read_text(encoding="utf-8"))
        (body,) = re.findall(rf"enum (?:class )?{enum} : [\w:]+ \{{(.*?)\}}", text, re.S)
        names = [part.split("=")[0].strip() for part in body.split(",") if part.strip()]
        mine = [re.sub(r"^(flag|waive|layout)_|_$", "", {"M": "month", "m": "minute"}.get(n, n)) for n in names]
        assert re.findall(rf"\bANYARRAY_{prefix}_(\w+) = ", c) == [name.upper() for name in mine], enum


# --- docs/abi.md -------------------------------------------------------------------------------------------------


def test_docs_hold_the_record() -> None:
    text = generate_abi.PAGE.read_text(encoding="utf-8")
    assert text == generate_abi.generated(text), "run docs/generate_abi.py"
    for kind, fields in generate_abi.FIELDS.items():
        lines = generate_abi.entries(kind)
        assert len(lines) == RECORD.count(f"\n{kind}(") > 5
        assert {len(line) for line in lines} == {fields}


def test_structs_have_no_padding() -> None:
    """As docs/abi.md says: each member begins where the one before it ends, and the last one ends the struct."""
    ends = {"CApi": 0, **{name: 0 for name, _, _ in generate_abi.entries("ABI_STRUCT")}}
    for name, _, member, _, _, offset, size in generate_abi.entries("ABI_MEMBER"):
        assert ends[name] == int(offset), f"{name}::{member}"
        ends[name] += int(size)
    assert ends == {"CApi": 24, **{name: int(size) for name, _, size in generate_abi.entries("ABI_STRUCT")}}


def test_the_example_of_the_docs_compiles(tmp_path: Path) -> None:
    (block,) = re.findall(r"^```c\n(.*?)^```", (ROOT / "docs" / "abi.md").read_text(encoding="utf-8"), re.M | re.S)
    assert "borrow_or_raise" in block
    (tmp_path / "first.c").write_text(
        block
        + """
static PyMethodDef methods[] = {{"first", first, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "first", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_first(void) {
  api = anyarray_import(ANYARRAY_SINCE_borrow_or_raise);
  return api != NULL ? PyModule_Create(&module) : NULL;
}
"""
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC", "-o", "first.so"]
    folders = ["-I", str(ROOT / "include"), "-isystem", sysconfig.get_path("include")]
    subprocess.run([os.environ.get("CC", "cc"), *flags, *folders, "first.c"], cwd=tmp_path, check=True)
    code = "import first, array; print(first.first(array.array('d', [2.5, 1])), first.first(array.array('d')))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True)
    assert done.stdout == "2.5 0.0\n", done.stderr
