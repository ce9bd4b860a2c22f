# SPDX-License-Identifier: Apache-2.0
"""What the installed package holds: a header that was forgotten is a red test."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import anyarray as aa

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def shipped() -> set[str]:
    """Paths of the installed distribution, from site-packages."""
    files = metadata.files("anyarray")
    assert files, "anyarray isn't installed as a package: run the tests by `make test`"
    return {path.as_posix() for path in files}


def test_ships_every_header(shipped: set[str]) -> None:
    headers = [
        path.relative_to(ROOT).as_posix() for path in (ROOT / "include").rglob("*") if path.suffix in {".h", ".def"}
    ]
    assert len(headers) >= 15
    assert {f"anyarray/cmake_prefix/{header}" for header in headers} <= shipped


def test_ships_every_module_and_its_types(shipped: set[str]) -> None:
    package = ROOT / "python" / "anyarray"
    modules = [path.relative_to(ROOT / "python").as_posix() for path in package.rglob("*.py*") if path.suffix != ".pyc"]
    assert {"anyarray/__init__.py", "anyarray/_core.pyi"} <= set(modules)
    assert {*modules, "anyarray/py.typed"} <= shipped


def test_ships_core_config_and_licence(shipped: set[str]) -> None:
    prefix = "anyarray/cmake_prefix/lib"
    assert f"{prefix}/libanyarray_core.a" in shipped
    assert f"{prefix}/cmake/anyarray/anyarrayConfig.cmake" in shipped
    assert f"{prefix}/cmake/anyarray/anyarrayTargets.cmake" in shipped
    assert any(name.endswith("licenses/LICENSE") for name in shipped)


def test_ships_nothing_else(shipped: set[str]) -> None:
    outside = [
        name
        for name in shipped
        if not name.startswith("anyarray/") and not re.match(r"anyarray-[\d.]+\.dist-info/", name)
    ]
    assert [Path(name).name for name in outside] == ["anyarray"], "only the command lies outside the package"
    assert not [name for name in shipped if name.endswith(("_test.cpp", "_test.py"))]


def test_ships_the_engines_sources(shipped: set[str]) -> None:
    """For anyarray_add_engine(): all of them, and no other C++ source."""
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.suffix in {".h", ".def", ".cpp"} and not path.name.endswith("_test.cpp")
    }
    share = "anyarray/cmake_prefix/share/anyarray"
    assert {f"{share}/{name}" for name in sources} <= shipped
    assert {f"{share}/src/home/in_extension.py", f"{share}/python/anyarray/errors.py"} <= shipped
    assert "anyarray/cmake_prefix/lib/cmake/anyarray/anyarrayEngine.cmake" in shipped
    assert {name for name in shipped if name.endswith(".cpp")} <= {f"{share}/{name}" for name in sources}


def test_version_is_one(shipped: set[str]) -> None:
    assert aa.__version__ == metadata.version("anyarray")
    config = Path(aa.__file__).parent / "cmake_prefix/lib/cmake/anyarray/anyarrayConfigVersion.cmake"
    assert f'"{aa.__version__}"' in config.read_text()


def test_entry_points() -> None:
    entries = {(entry.group, entry.name): entry.value for entry in metadata.distribution("anyarray").entry_points}
    assert entries["console_scripts", "anyarray"] == "anyarray.cli:main"
    assert entries["cmake.prefix", "anyarray"] == "anyarray.cmake_prefix"


def test_importing_needs_and_loads_no_array_library() -> None:
    code = (
        "import sys, anyarray; anyarray.view(b'x');"
        "print([m for m in ('numpy', 'torch', 'jax', 'pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
