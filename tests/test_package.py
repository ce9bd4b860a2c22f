# SPDX-License-Identifier: Apache-2.0
"""The package that is installed here: what it holds, its versions, its entry points, what an import of it loads."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

import anyarray as aa
from repository import package_files

PREFIX = Path(aa.__file__).parent / "cmake_prefix"


@pytest.fixture(scope="module")
def installed() -> set[str]:
    """Paths of the installed distribution, from site-packages, without what pip and Python make."""
    files = metadata.files("anyarray")
    assert files, "anyarray isn't installed as a package: run the tests by `make test`"
    return {path.as_posix() for path in files if path.suffix != ".pyc"}


def test_holds_what_it_should_and_nothing_else(installed: set[str]) -> None:
    expected = package_files(sysconfig.get_config_var("EXT_SUFFIX"))
    assert len(expected) > 90 and "anyarray/cmake_prefix/include/anyarray/protocols.def" in expected
    assert {name for name in installed if name.startswith("anyarray/")} == expected
    outside = {name for name in installed if not name.startswith("anyarray/") and ".dist-info/" not in name}
    assert {Path(name).name for name in outside} == {"anyarray"}, "only the command lies outside the package"


def test_version_is_one() -> None:
    assert aa.__version__ == metadata.version("anyarray")
    config = PREFIX / "lib/cmake/anyarray/anyarrayConfigVersion.cmake"
    assert f'"{aa.__version__}"' in config.read_text()
    for name in ("anyarray", "anyarray-core"):
        assert f"\nVersion: {aa.__version__}\n" in (PREFIX / f"lib/pkgconfig/{name}.pc").read_text()


def test_prefix_names_no_folder_of_the_build() -> None:
    """It may be moved, and what built it is nobody's business."""
    here = (str(Path(sys.prefix)).encode(), str(Path(__file__).parents[1]).encode())
    for path in PREFIX.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":  # which pip makes
            content = path.read_bytes()
            assert not [folder for folder in here if folder in content], path


def test_entry_points() -> None:
    entries = {(entry.group, entry.name): entry.value for entry in metadata.distribution("anyarray").entry_points}
    assert entries["console_scripts", "anyarray"] == "anyarray.cli:main"
    assert entries["cmake.prefix", "anyarray"] == "anyarray.cmake_prefix"
    assert entries["pkg_config", "anyarray"] == "anyarray.cmake_prefix.lib.pkgconfig"


def loaded_after(code: str, *modules: str) -> set[str]:
    """Which of these modules are loaded after code has run in a process of its own."""
    whole = f"import sys\n{code}\nprint(*(set({modules!r}) & sys.modules.keys()), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_needs_and_loads_no_array_library() -> None:
    code = "import anyarray; anyarray.view(b'x')"
    assert loaded_after(code, "numpy", "torch", "jax", "pyarrow", "rich", "anyarray._core") == {"anyarray._core"}


@pytest.mark.parametrize(
    "code",
    [
        "from anyarray.cli import main; main(['config']); main(['config', '--cflags', '--cmakedir'])",
        "from importlib.resources import files; import anyarray.cmake_prefix as prefix; str(files(prefix))",
        "import anyarray; anyarray.__version__",
    ],
    ids=["config", "entry point", "version"],
)
def test_a_build_loads_no_extension(code: str) -> None:
    """It may be built for another machine than the one that builds."""
    assert not loaded_after(code, "anyarray._core", "rich", "numpy")


def test_names_are_the_same_however_they_are_reached() -> None:
    code = """
import anyarray as aa
assert "view" in dir(aa) and "view" not in vars(aa)
aa.explain = "patched"  # what somebody has put there stays
view = aa.view
assert aa.explain == "patched" and vars(aa)["view"] is view is aa._core.view
assert aa.errors.ExchangeError is aa.ExchangeError and aa.device.Device is aa.Device
assert aa.explanation.Explanation is aa.Explanation
from anyarray import *
assert DType is aa._core.DType and set(aa.__all__) <= vars(aa).keys()
try:
    aa.nothing
except AttributeError as error:
    assert "'anyarray' has no attribute 'nothing'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
