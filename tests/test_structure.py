# SPDX-License-Identifier: Apache-2.0
"""The architecture and the habits of the repository, held without a compiler: who may include whom, what every
registry row has, file sizes, licence lines, and what may not be in the repository at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from repository import ROOT, engine_modules, repository_files

CXX = {".h", ".cpp", ".def"}
TEXT = CXX | {
    ".py",
    ".pyi",
    ".md",
    ".toml",
    ".txt",
    ".cmake",
    ".in",
    ".json",
    ".yml",
    ".yaml",
    ".sh",
    ".pxd",
    ".pyx",
    ".rs",
    ".c",
    "",
}
FILES = repository_files()
SOURCES = [name for name in FILES if Path(name).suffix in CXX | {".py", ".pyi", ".cmake", ".pxd", ".pyx", ".rs", ".c"}]
ROW = re.compile(r'^ANYARRAY_PROTOCOL\((\w+), "(\w*)", ([\w |]+), "(.+)"\)$', re.M)
ROWS = ROW.findall((ROOT / "include/anyarray/protocols.def").read_text())
ROW_NAMES = [row[0] for row in ROWS]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def includes(name: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', read(name), re.M)


# --- who may include whom ---------------------------------------------------------------------------------------

# The first pattern that matches a file says what of this project it may include. Layers from the bottom up.
PUBLIC = r"anyarray/.*"
LAYERS = [
    (r"include/anyarray/(python\.h|c_python\.h|casters/.*)", [PUBLIC]),
    (r"include/anyarray/c(_api_version)?\.h", [r"anyarray/(c_api_version\.h|\w+\.def)"]),
    (r"include/anyarray/.*", [r"anyarray/(?!python\.h|c_python\.h|casters/).*"]),
    (r"src/core/.*", [PUBLIC, r"src/core/.*"]),
    (r"src/copy/.*", [PUBLIC, r"src/core/.*", r"src/copy/.*"]),
    (r"src/policy/.*", [PUBLIC, r"src/core/.*", r"src/policy/.*"]),
    (r"src/protocols/(\w+)/codec\w*\.cpp", [PUBLIC, r"src/core/.*", r"src/protocols/{0}/.*\.h"]),
    (r"src/support/.*", [PUBLIC, r"src/core/.*", r"src/copy/.*", r"src/support/.*"]),
    (r"src/protocols/adapters\.h", [r"src/support/context\.h", r"anyarray/protocols\.def"]),
    (
        r"src/protocols/(\w+)/.*",
        [
            r"anyarray/(?!policy\.h).*",
            r"src/core/.*",
            r"src/support/.*",
            r"src/protocols/adapters\.h",
            r"src/protocols/{0}/.*",
        ],
    ),
    (r"src/quirks/.*", [r"anyarray/(?!policy\.h).*", r"src/core/.*", r"src/support/.*", r"src/quirks/.*"]),
    (
        r"src/engine/.*",
        [PUBLIC, r"src/support/.*", r"src/protocols/adapters\.h", r"src/quirks/quirks\.h", r"src/engine/.*"],
    ),
    (
        r"src/python/.*",
        [
            PUBLIC,
            r"src/core/narrow_float\.h",
            r"src/support/.*",
            r"src/quirks/quirks\.h",
            r"src/engine/(engine|fast)\.h",
            r"src/python/.*",
        ],
    ),
    (r"src/home/.*", [r"src/python/home\.h", r"src/home/.*"]),
]
CXX_FILES = [name for name in FILES if re.match(r"(include|src)/.*\.(h|cpp)$", name)]
WITHOUT_PYTHON = re.compile(
    r"include/anyarray/(?!python\.h|c_python\.h|casters/)|src/core/|src/copy/|src/policy/|src/protocols/\w+/codec"
)
# Headers in a protocol's folder that its codec includes are the codec's: they know no Python either.
CODEC_HEADERS = {
    include
    for name in CXX_FILES
    if re.match(r"src/protocols/\w+/codec", name)
    for include in includes(name)
    if include.startswith("src/protocols/")
}
HEAVY = {
    "iostream",
    "string",
    "vector",
    "map",
    "unordered_map",
    "functional",
    "regex",
    "sstream",
    "memory",
    "algorithm",
}


def knows_no_python(name: str) -> bool:
    """Tests may compare our definitions with the headers of others, where these are installed."""
    return name in CODEC_HEADERS or (WITHOUT_PYTHON.match(name) is not None and not name.endswith("_test.cpp"))


def is_own(include: str) -> bool:
    return include.startswith(("anyarray/", "src/", "tests/"))


@pytest.mark.parametrize("name", CXX_FILES)
def test_layers(name: str) -> None:
    layer = re.sub(r"/(\w+)\.h$", r"/codec_\1.cpp", name) if name in CODEC_HEADERS else name
    for pattern, allowed in LAYERS:
        match = re.fullmatch(pattern, layer)
        if match:
            break
    else:
        pytest.fail(f"{name} is in no layer: add it to LAYERS with what it may include")
    patterns = [one.format(*match.groups()) if "{0}" in one else one for one in allowed]
    if name.endswith("_test.cpp"):
        patterns.append(r"tests/cpp/.*\.h")
    for include in filter(is_own, includes(name)):
        assert any(re.fullmatch(one, include) for one in patterns), f"{name} may not include {include}"


@pytest.mark.parametrize("name", [name for name in CXX_FILES if knows_no_python(name)])
def test_no_python_below_the_support_layer(name: str) -> None:
    assert "Python.h" not in includes(name)
    assert not re.search(r"\bPy[A-Z]\w+_\w+\(|\bPy_\w+\(", read(name)), f"{name} calls Python's C API"


def test_a_built_in_engine_has_the_modules_that_it_asks_for() -> None:
    modules = set(engine_modules())
    sources = [read(name) for name in CXX_FILES if name.startswith("src/python/")]
    asked = {module for text in sources for module in re.findall(r'package_function\([^"]*?"(\w+)"', text)}
    assert len(asked) > 5
    known = {module.removesuffix("/__init__") for module in modules} | {"_core"}
    assert asked <= known
    for module in modules:
        text = re.sub(r"^if TYPE_CHECKING:\n(    .*\n)+", "", read(f"python/anyarray/{module}.py"), flags=re.M)
        for dots, name, names in re.findall(r"^ *from (\.+)(\w*) import (.+)", text, re.M):
            folder = module.split("/")[: -len(dots)]
            own = {"/".join([*folder, one]) for one in ([name] if name else names.split(", "))}
            assert own <= known, f"{module}.py imports {own - known}"


def test_python_is_included_in_one_place_of_the_sources() -> None:
    assert [
        name
        for name in CXX_FILES
        if name.startswith("src/") and not name.endswith("_test.cpp") and "Python.h" in includes(name)
    ] == ["src/support/py.h"]


@pytest.mark.parametrize("name", [name for name in CXX_FILES if name.startswith("include/")])
def test_public_headers_are_light_and_guarded(name: str) -> None:
    assert "#pragma once" in read(name)
    if "casters/" not in name:
        assert not HEAVY & set(includes(name))
    for include in filter(is_own, includes(name)):
        assert (ROOT / "include" / include).is_file()


def test_own_includes_exist() -> None:
    for name in CXX_FILES:
        for include in filter(is_own, includes(name)):
            base = ROOT / "include" if include.startswith("anyarray/") else ROOT
            assert (base / include).is_file(), f"{name} includes {include}, which isn't there"


def test_only_the_quirks_name_libraries() -> None:
    """Framework names in string literals of the engine, the policy data excepted, would be library knowledge."""
    for name in CXX_FILES:
        if name.startswith("src/engine/"):
            literals = re.findall(r'"([^"\n]*)"', re.sub(r"//.*", "", read(name)))
            named = [text for text in literals if re.search(r"\b(torch|jax|jaxlib|tensorflow|cupy|pyarrow)\b", text)]
            assert not named, f"{name} names a library: {named}"


def test_nothing_throws() -> None:
    for name in CXX_FILES:
        if not name.startswith("include/anyarray/casters/"):
            code = re.sub(r"//.*", "", read(name))
            assert not re.search(r"\b(throw|try|catch|dynamic_cast|typeid)\b\s*[({;\w]", code), name


# --- the registry -----------------------------------------------------------------------------------------------


def test_registry_is_read() -> None:
    assert len(ROW_NAMES) == read("include/anyarray/protocols.def").count("\nANYARRAY_PROTOCOL(") > 8
    assert len(set(ROW_NAMES)) == len(ROW_NAMES)


@pytest.mark.parametrize("row", ROW_NAMES)
def test_every_row_has_adapter_docs_and_tests(row: str) -> None:
    assert f"src/protocols/{row}/adapter.cpp" in FILES
    assert re.search(rf"^## `{row}`", read("docs/protocols.md"), re.M), f"docs/protocols.md has no section `{row}`"
    tests = [name for name in FILES if name.startswith("tests/python/") and name.endswith(".py")]
    assert any(re.search(rf"[\"']{row}[\"']", read(name)) for name in tests), f"no test in tests/python names {row!r}"


def test_docs_tell_each_row_as_the_registry_does() -> None:
    docs = read("docs/protocols.md")
    assert re.findall(r"^## `(\w+)`", docs, re.M) == ROW_NAMES, "sections and rows differ, or stand in another order"
    for row, attribute, _, text in ROWS:
        assert re.search(
            rf"^\| `{row}` \| {f'`{attribute}`' if attribute else 'the C type'} \| {re.escape(text)} \|$", docs, re.M
        )


def test_no_folder_without_a_row() -> None:
    folders = {name.split("/")[2] for name in FILES if re.match(r"src/protocols/\w+/", name)}
    shared_codecs = {"arrow", "pep3118", "typestr"}  # wire formats that several rows read
    assert folders <= set(ROW_NAMES) | shared_codecs


def test_c_api_rows_are_documented() -> None:
    table = read("include/anyarray/c_api.def")
    docs = read("docs/c_api.md")
    names = re.findall(r"^ANYARRAY_FUNCTION\(\d+, [^,]+, (\w+),", table, re.M)
    assert len(names) > 5
    for name in names:
        assert f"`{name}`" in docs, f"docs/c_api.md doesn't tell of {name}"


def test_every_preset_is_documented() -> None:
    table = read("src/policy/presets.cpp")
    presets = re.findall(r'^\s+\{"([\w.]+)", ', table[table.index("const Preset presets[]") :], re.M)
    own = re.findall(r"^\| `([\w.]+)` \|", read("docs/policies.md").split("## What is asked for")[0], re.M)
    consumers = re.findall(r"^\| `([\w.]+)` \|", read("docs/which-protocol-first.md"), re.M)
    assert presets[0] == "default" and own + consumers == presets


# --- files ------------------------------------------------------------------------------------------------------


def is_test(name: str) -> bool:
    return name.startswith("tests/") or name.endswith("_test.cpp")


@pytest.mark.parametrize("name", SOURCES)
def test_size(name: str) -> None:
    lines = read(name).count("\n")
    assert lines <= (800 if is_test(name) else 500), f"{name} has {lines} lines: split it"


@pytest.mark.parametrize("name", SOURCES)
def test_licence_line(name: str) -> None:
    head = read(name).splitlines()[:2]
    assert any("SPDX-License-Identifier: Apache-2.0" in line for line in head), f"{name} lacks its SPDX line"


@pytest.mark.parametrize("name", [name for name in FILES if Path(name).suffix in TEXT and name != "LICENSE"])
def test_nothing_of_one_machine(name: str) -> None:
    folders = "|".join(["tmp", "work", "root", "home", "Users"])
    text = read(name)
    found = re.findall(rf"(?<![\w.~*$}}/-])/(?:{folders})/[\w.-]+", text)
    assert not found, f"{name} names a folder of one machine: {found}"
    hosts = re.findall(r"\b(?:files\.)?python(?:hosted)?\.org/simple|\bpypi\.org|\bpythonhosted\.org", text)
    assert not hosts or name == "tests/test_structure.py", f"{name} names a registry's host: {hosts}"


def test_no_binaries_and_nothing_foreign() -> None:
    for name in FILES:
        assert b"\0" not in (ROOT / name).read_bytes(), f"{name} is a binary"
        assert not re.search(r"(^|/)(vendor|third_party|external)/", name)


def test_no_unfinished_work() -> None:
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X"]) + r"\b")
    for name in SOURCES:
        assert not marks.search(read(name)), f"{name} has unfinished work"


# --- what runs them ---------------------------------------------------------------------------------------------


@pytest.mark.skipif("PKG-INFO" in FILES, reason="an sdist holds no CI")
def test_ci_runs_make_targets_that_exist() -> None:
    stages = re.findall(r"^(?:\w+=\S+ )?stage ([\w-]+)$", read(".ci/run"), re.M)
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    assert (
        {"test", "test-all", "compilers", "lint", "asan", "pythons", "bench-smoke", "wheel"} <= set(stages) <= targets
    )


def test_versions_agree() -> None:
    version = re.search(r'__version__ = "([\d.]+)"', read("python/anyarray/_version.py"))
    assert version is not None
    assert re.search(rf"^## .*{re.escape(version[1])}", read("CHANGELOG.md"), re.M)
