# SPDX-License-Identifier: Apache-2.0
"""Headers and core without Python: installed by CMake, inside another project's tree, and by pkg-config."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from projects import HERE, PACKAGE_PREFIX, ROOT, build, cmake, compiler, run

import anyarray as aa

PROGRAM = HERE / "program" / "main.cpp"
MULTIARCH = "lib/some-machine-linux-gnu"  # as Debian has it: deeper than lib


@pytest.fixture(scope="module")
def installed_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A prefix with headers, static core and CMake package, without Python, moved after it was installed."""
    folder = tmp_path_factory.mktemp("core")
    build(ROOT, folder / "build", None, "-DANYARRAY_BUILD_PYTHON=OFF", f"-DCMAKE_INSTALL_LIBDIR={MULTIARCH}")
    run(cmake(), "--install", folder / "build", "--prefix", folder / "prefix")
    moved = folder / "moved to"
    shutil.move(folder / "prefix", moved)
    return moved


def is_right(program: Path) -> None:
    first, second, refused = run(program).splitlines()
    assert first == "float32 on cpu, shape (2, 3), strides (4, 8), 24 bytes, F order: yes"
    assert second == first
    assert refused.startswith("refused: ")


# --- CMake ------------------------------------------------------------------------------------------------------


def test_core_installs_without_python(installed_core: Path) -> None:
    """The same files as in a wheel, which tests/test_package.py holds to the repository."""

    def files(prefix: Path, library: str) -> set[str]:
        files = (path for path in prefix.rglob("*") if path.is_file() and path.suffix != ".pyc")  # which pip makes
        names = {path.relative_to(prefix).as_posix() for path in files}
        return {name.replace(f"{library}/", "LIB/", 1) for name in names}

    assert files(installed_core, MULTIARCH) == files(PACKAGE_PREFIX, "lib")


def test_program_without_python(installed_core: Path, tmp_path: Path) -> None:
    build(HERE / "program", tmp_path, None, f"-Danyarray_DIR={installed_core / MULTIARCH / 'cmake' / 'anyarray'}")
    is_right(tmp_path / "describe")


QUESTIONS = """
cmake_minimum_required(VERSION 3.21)
project(questions LANGUAGES NONE)
find_package(anyarray {arguments} CONFIG)
message(STATUS "found: ${{anyarray_FOUND}} ${{anyarray_VERSION}}")
if(anyarray_FOUND)
  foreach(name headers python core)
    foreach(property TYPE INTERFACE_LINK_LIBRARIES INTERFACE_COMPILE_OPTIONS INTERFACE_COMPILE_DEFINITIONS
            INTERFACE_COMPILE_FEATURES)
      get_target_property(value anyarray::${{name}} ${{property}})
      message(STATUS "${{name}} ${{property}}: ${{value}}")
    endforeach()
  endforeach()
endif()
"""


def answers(folder: Path, arguments: str) -> dict[str, str]:
    """What CMake says of the installed package, asked for with these arguments of find_package."""
    (folder / "CMakeLists.txt").write_text(QUESTIONS.format(arguments=arguments))
    said = run(cmake(), "-S", folder, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={PACKAGE_PREFIX}")
    lines = [line[3:].partition(": ") for line in said.splitlines() if line.startswith("-- ") and ": " in line]
    return {name: value for name, _, value in lines}


def test_targets_carry_what_is_documented(tmp_path: Path) -> None:
    said = answers(tmp_path, "0.1 COMPONENTS headers core python")
    assert said["found"] == f"1 {aa.__version__}"
    for name, kind, links in (
        ("headers", "INTERFACE_LIBRARY", "value-NOTFOUND"),
        ("python", "INTERFACE_LIBRARY", "anyarray::headers"),
        ("core", "STATIC_LIBRARY", "anyarray::headers"),
    ):
        assert (said[f"{name} TYPE"], said[f"{name} INTERFACE_LINK_LIBRARIES"]) == (kind, links)
        assert said[f"{name} INTERFACE_COMPILE_OPTIONS"] == "value-NOTFOUND"
        assert said[f"{name} INTERFACE_COMPILE_DEFINITIONS"] == "value-NOTFOUND"
    assert said["headers INTERFACE_COMPILE_FEATURES"] == "cxx_std_17"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [("", True), ("0.1.0", True), ("0.1...<0.2", True), ("0.0", False), ("0.2", False), ("1.0", False)],
)
def test_versions_that_are_compatible(tmp_path: Path, arguments: str, found: bool) -> None:
    assert answers(tmp_path, arguments)["found"].split() == (["1", aa.__version__] if found else ["0"])


def test_component_that_is_not_there(tmp_path: Path) -> None:
    assert answers(tmp_path, "COMPONENTS python nonsense")["found"] == f"0 {aa.__version__}"


INSIDE = """
cmake_minimum_required(VERSION 3.21)
project(inside LANGUAGES CXX)
set(SKBUILD ON)  # as in a package that scikit-build-core builds
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
add_subdirectory("{root}" anyarray)
add_executable(describe main.cpp)
target_link_libraries(describe PRIVATE anyarray::core)
Python_add_library(norm MODULE norm.cpp)
target_link_libraries(norm PRIVATE anyarray::python)
install(TARGETS describe norm RUNTIME DESTINATION bin LIBRARY DESTINATION bin)
"""


def test_add_subdirectory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(PROGRAM, source)
    shutil.copy(HERE / "extension" / "norm.cpp", source)
    (source / "CMakeLists.txt").write_text(INSIDE.format(root=ROOT.as_posix()))
    build(source, tmp_path / "build", None, f"-DPython_EXECUTABLE={sys.executable}")
    assert not list((tmp_path / "build").rglob("_core*.so"))
    prefix = tmp_path / "prefix"

    def install() -> set[str]:
        shutil.rmtree(prefix, ignore_errors=True)
        run(cmake(), "--install", tmp_path / "build", "--prefix", prefix)
        return {path.relative_to(prefix).parts[0] for path in prefix.rglob("*") if path.is_file()}

    assert install() == {"bin"}, "what the project installs is its own"
    is_right(prefix / "bin" / "describe")
    monkeypatch.setenv("PYTHONPATH", str(prefix / "bin"), prepend=os.pathsep)
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    assert run(sys.executable, "-c", code) == "0.0\n"
    run(cmake(), "-S", source, "-B", tmp_path / "build", "-DANYARRAY_INSTALL=ON")
    assert install() > {"bin", "include"}


# --- pkg-config and the command line ----------------------------------------------------------------------------


def pkg_config(*arguments: str, folder: Path | None) -> str:
    """What pkgconf says; without a folder, of what it finds by the entry points of installed packages."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(folder or ""), "PKG_CONFIG_LIBDIR": ""}
    program = [sys.executable, "-m", "pkgconf"]
    if folder is not None:
        import pkgconf

        program = [str(pkgconf.get_executable())]
    done = subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(params=["installed by CMake", "in the package"])
def pc_folder(request: pytest.FixtureRequest) -> Path:
    """Where the .pc files lie."""
    if request.param == "in the package":
        return PACKAGE_PREFIX / "lib" / "pkgconfig"
    return Path(request.getfixturevalue("installed_core")) / MULTIARCH / "pkgconfig"


def test_pkg_config_builds_a_program(pc_folder: Path, tmp_path: Path) -> None:
    for name in ("anyarray", "anyarray-core"):
        assert pkg_config("--modversion", name, folder=pc_folder) == aa.__version__
        pkg_config("--validate", name, folder=pc_folder)
    flags = shlex.split(pkg_config("--cflags", "--libs", "anyarray-core", folder=pc_folder))
    assert flags[-1] == "-lanyarray_core"
    run(*compiler(cxx=True), "-std=c++17", PROGRAM, *flags, "-o", tmp_path / "program")
    is_right(tmp_path / "program")


def test_pkg_config_for_a_linker_that_knows_no_cxx(pc_folder: Path, tmp_path: Path) -> None:
    cflags = shlex.split(pkg_config("--cflags", "anyarray-core", folder=pc_folder))
    libs = shlex.split(pkg_config("--static", "--libs", "anyarray-core", folder=pc_folder))
    run(*compiler(cxx=True), "-std=c++17", "-c", PROGRAM, *cflags, "-o", tmp_path / "main.o")
    run(*compiler(cxx=False), tmp_path / "main.o", *libs, "-o", tmp_path / "program")
    is_right(tmp_path / "program")


def extension_runs(flags: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles the extension by hand with these flags and calls it."""
    include = sysconfig.get_paths()["include"]
    target = folder / f"norm{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = HERE / "extension" / "norm.cpp"
    run(*compiler(cxx=True), "-std=c++17", "-shared", "-fPIC", f"-I{include}", *flags, source, "-o", target)
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    assert run(sys.executable, "-c", code) == "0.0\n"


def test_pkg_config_builds_an_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the package's entry point, as build backends find it."""
    monkeypatch.delenv("PKG_CONFIG_PATH", raising=False)
    assert pkg_config("--libs", "anyarray", folder=None) == ""
    extension_runs(shlex.split(pkg_config("--cflags", "anyarray", folder=None)), tmp_path, monkeypatch)


def config(*options: str) -> list[str]:
    return run(sys.executable, "-m", "anyarray", "config", *options).splitlines()


def test_config_builds_an_extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cflags,) = config("--cflags")
    extension_runs(shlex.split(cflags), tmp_path, monkeypatch)


def test_config_builds_a_program(tmp_path: Path) -> None:
    libs, cflags = config("--libs", "--cflags")  # in the order asked
    run(
        *compiler(cxx=True), "-std=c++17", *shlex.split(cflags), PROGRAM, *shlex.split(libs), "-o", tmp_path / "program"
    )
    is_right(tmp_path / "program")


def test_config_names_folders_that_are_there() -> None:
    prefix, include, package, pc = config("--prefix", "--includedir", "--cmakedir", "--pkgconfigdir")
    assert Path(prefix) == PACKAGE_PREFIX
    for folder, file in (
        (include, "anyarray/python.h"),
        (package, "anyarrayConfig.cmake"),
        (pc, "anyarray.pc"),
        (prefix, "include"),
    ):
        assert (Path(folder) / file).exists()
    shown = dict(line.split(maxsplit=1) for line in config())
    assert list(shown) == ["cflags", "libs", "includedir", "cmakedir", "pkgconfigdir", "prefix"]
    assert (shown["includedir"], shown["cmakedir"]) == (include, package)


def test_config_quotes_and_refuses(tmp_path: Path) -> None:
    """A folder with a blank in its name; and a package that lies there without its headers."""
    site = tmp_path / "a site"
    package = site / "anyarray"
    shutil.copytree(PACKAGE_PREFIX.parent, package, ignore=shutil.ignore_patterns("__pycache__", "_core*.so"))
    program = [sys.executable, "-m", "anyarray", "config"]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([*program, "--cflags", "--includedir"], env=environment, capture_output=True, text=True)
    include = str(package / "cmake_prefix" / "include")
    assert (done.returncode, done.stdout) == (0, f"-I{shlex.quote(include)}\n{include}\n")  # without the extension, too
    shutil.rmtree(package / "cmake_prefix")
    done = subprocess.run([*program, "--cflags"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and "install it with pip" in done.stderr
    done = subprocess.run([*program, "--nonsense"], env=environment, capture_output=True, text=True)
    assert done.returncode == 2
