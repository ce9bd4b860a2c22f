# SPDX-License-Identifier: Apache-2.0
"""The sdist, the wheel that is built of it, and a stranger's package that is built against that wheel in isolation.

Each is built once. The isolated build takes its requirements from the package index.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import anyarray as aa
from repository import ROOT, package_files, repository_files

#: Functions whose version follows from the C library of the machine that builds: dladdr and threads moved into libc,
#: strtoul has another name since 2.38. In the containers that build wheels they have the old versions.
OF_THE_HOST = {"dladdr", "pthread_create", "pthread_join", "pthread_sigmask", "__isoc23_strtoul"}


def python(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run Python; what it printed, or a failed test that shows it."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def pip_wheel(folder: Path, *arguments: str | Path) -> Path:
    python("-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps", "--wheel-dir", folder, *arguments)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, made by the hook that every frontend calls."""
    folder = tmp_path_factory.mktemp("sdist")
    python("-c", f"from scikit_build_core.build import build_sdist; build_sdist({str(folder)!r})", cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def unpacked(sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(sdist.parent, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return sdist.with_name(sdist.name.removesuffix(".tar.gz"))


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pip_wheel(tmp_path_factory.mktemp("wheel"), "--no-build-isolation", unpacked)


@pytest.fixture(scope="module")
def unpacked_wheel(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_sdist_holds_the_repository(sdist: Path, unpacked: Path) -> None:
    assert sdist.name == f"anyarray-{aa.__version__}.tar.gz"
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert all(member.isfile() and not member.mode & 0o002 for member in members)
    held = {member.name.partition("/")[2] for member in members}
    expected = {name for name in repository_files() if not name.startswith(".ci/")} | {"PKG-INFO"}
    assert len(expected) > 250
    assert held == expected
    for name in expected - {"PKG-INFO"}:
        assert (unpacked / name).read_bytes() == (ROOT / name).read_bytes(), name


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert re.fullmatch(rf"anyarray-{re.escape(aa.__version__)}-cp3\d+-cp3\d+-linux_\w+\.whl", wheel.name)
    info = f"anyarray-{aa.__version__}.dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    with zipfile.ZipFile(wheel) as archive:
        assert set(archive.namelist()) == package_files(sysconfig.get_config_var("EXT_SUFFIX")) | metadata
        for name in repository_files():
            if name.startswith(("include/", "python/")):
                shipped = re.sub("^python/", "", re.sub("^include/", "anyarray/cmake_prefix/include/", name))
                assert archive.read(shipped) == (ROOT / name).read_bytes(), name
        said = archive.read(f"{info}/METADATA").decode()
    assert f"\nVersion: {aa.__version__}\n" in said and "\nRequires-Python: >=3.10\n" in said
    assert re.findall(r"^Requires-Dist: (.*)$", said, re.M)[0] == "rich>=13"


def test_wheel_is_what_auditwheel_lets_pass(wheel: Path, unpacked_wheel: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel], capture_output=True, text=True, check=True
    )
    verdict = json.loads(said.stdout)
    assert verdict["overall_tag"].startswith("manylinux_2_")
    assert verdict["external_libs"] == {} and not verdict["unsupported_isa"]

    from elftools.elf.elffile import ELFFile

    newest = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}  # of manylinux_2_28
    seen = set()
    with (unpacked_wheel / f"anyarray/_core{sysconfig.get_config_var('EXT_SUFFIX')}").open("rb") as file:
        elf = ELFFile(file)
        versions, needs = elf.get_section_by_name(".gnu.version"), elf.get_section_by_name(".gnu.version_r")
        for number, symbol in enumerate(elf.get_section_by_name(".dynsym").iter_symbols()):
            index = versions.get_symbol(number)["ndx"]
            if isinstance(index, int) and index > 1 and symbol.name not in OF_THE_HOST:
                name, _, version = needs.get_version(index)[1].name.partition("_")
                assert tuple(map(int, version.split("."))) <= newest[name], f"{symbol.name} needs {name}_{version}"
                seen.add(name)
    assert {"GLIBC", "GLIBCXX"} <= seen


@pytest.mark.parametrize(
    ("backend", "requires", "language", "file"),
    [
        ("setuptools.build_meta", ["setuptools>=64"], "python", "setup.py"),
        ("mesonpy", ["meson-python"], "meson", "meson.build"),
    ],
    ids=["setuptools", "meson-python"],
)
def test_other_backends_build_as_the_page_says(
    backend: str, requires: list[str], language: str, file: str, wheel: Path, tmp_path: Path
) -> None:
    """The README's extension, built in isolation by the block of docs/packaging.md for this backend."""
    project = tmp_path / "project"
    project.mkdir()
    for page, of, name in (("docs/packaging.md", language, file), ("README.md", "cpp", "norm.cpp")):
        (block,) = re.findall(rf"^```{of}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
        (project / name).write_text(block, encoding="utf-8")
    needed = [*requires, f"anyarray @ {wheel.as_uri()}"]
    lines = ("[build-system]", f"requires = {needed}", f'build-backend = "{backend}"')
    lines += ("[project]", 'name = "norm"', 'version = "1.0"')
    (project / "pyproject.toml").write_text("\n".join(lines), encoding="utf-8")
    site = tmp_path / "site"
    with zipfile.ZipFile(pip_wheel(tmp_path / "wheel", project)) as archive:
        archive.extractall(site)
    check = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    assert python("-c", check, PYTHONPATH=str(site)) == "0.0\n"


def test_package_is_built_in_isolation(wheel: Path, tmp_path: Path) -> None:
    """The build has nothing but what it requires, and no option names a folder."""
    source = Path(__file__).parent / "downstream" / "wheel"
    project = tmp_path / "project"
    project.mkdir()
    for path in source.iterdir():
        text = path.read_text(encoding="utf-8")
        if path.name == "pyproject.toml":
            text, count = re.subn('"anyarray>=0.1", "nanobind', f'"anyarray @ {wheel.as_uri()}", "nanobind', text)
            assert count == 1
        (project / path.name).write_text(text, encoding="utf-8")
    built = pip_wheel(tmp_path / "wheel", project)
    site = tmp_path / "site"
    with zipfile.ZipFile(built) as archive:
        archive.extractall(site)
        assert not [name for name in archive.namelist() if "anyarray" in name]
    check = """
import array, sys
from importlib import import_module
import anyarray as aa
for name in ("with_python", "with_nanobind", "with_pybind11"):
    total = import_module(f"downstream_totals.{name}").total
    x = array.array("d", [1, 2, 3.5])
    assert total(x) == 6.5 and total(memoryview(x)[::-2]) == 4.5, name
    for wrong, kind in ((array.array("f", [1]), aa.ExchangeError), ([1.0], aa.NotAnArrayError)):
        try:
            total(wrong)
        except kind as error:
            assert "float64" in str(error) or "list" in str(error)
        else:
            raise AssertionError(name)
    assert sys.getrefcount(x) == 2 and aa._core._live() == 0
print("all")
"""
    assert python("-c", check, PYTHONPATH=str(site)) == "all\n"
