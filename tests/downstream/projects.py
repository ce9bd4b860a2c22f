# SPDX-License-Identifier: Apache-2.0
"""How the projects of strangers are configured, built and run. Doesn't import anyarray: some run without it."""

from __future__ import annotations

import importlib
import os
import shlex
import shutil
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
_package = PathFinder.find_spec("anyarray")
PACKAGE_PREFIX = Path(_package.origin).parent / "cmake_prefix" if _package and _package.origin else Path(sys.prefix)
REQUIRED = frozenset(os.environ.get("ANYARRAY_REQUIRE", "").replace(",", " ").split())


def needs(name: str) -> Any:
    """The library, or a skip where it isn't installed; an error where `ANYARRAY_REQUIRE` names it."""
    required = name.partition(".")[0] in REQUIRED
    return importlib.import_module(name) if required else pytest.importorskip(name)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command; its output, or a failed test that shows it."""
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def environment(*folders: Path) -> dict[str, str]:
    """For another process, which is to import the anyarray that this one has, and what is in the folders."""
    paths = [*map(str, folders), str(PACKAGE_PREFIX.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def cmake() -> str:
    found = shutil.which("cmake")
    assert found, "cmake is not on PATH: run this by `make test`, which brings it"
    return found


def build(source: Path, build_dir: Path, prefix: Path | None, *options: str) -> None:
    """Configure and build a CMake project."""
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    where = [f"-DCMAKE_PREFIX_PATH={prefix}"] if prefix else []
    run(cmake(), "-S", source, "-B", build_dir, *generator, *where, "-DCMAKE_BUILD_TYPE=Release", *options)
    run(cmake(), "--build", build_dir)


def build_here(source: Path, build_dir: Path, *options: str) -> Path:
    """Build one against the package that is installed here, for this Python; the folder of the build."""
    build(source, build_dir, PACKAGE_PREFIX, f"-DPython_EXECUTABLE={sys.executable}", *options)
    return build_dir


def imported(folder: Path, name: str) -> Any:
    """A module of a folder that is on the path for just that long."""
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def compiler(cxx: bool) -> list[str]:
    """What compiles C++, or C: the command that the environment names, as CMake takes it, or one on PATH."""
    said = os.environ.get("CXX" if cxx else "CC", "")
    for command in (said, *(["c++", "g++", "clang++"] if cxx else ["cc", "gcc", "clang"])):
        words = shlex.split(command)
        if words and shutil.which(words[0]):
            return words
    raise AssertionError(f"no compiler of {'C++' if cxx else 'C'} on PATH")


class Way:
    """How the extensions of one build are imported, and what of their engines the tests look at."""

    def __init__(self, inside: bool) -> None:
        self.inside = inside

    def extension(self, name: str) -> Any:
        return importlib.import_module(f"inside.{name}" if self.inside else name)

    def _of_engine(self, extension: str, module: str) -> ModuleType:
        return importlib.import_module(
            f"inside.{extension}._anyarray.{module}" if self.inside else f"anyarray.{module}"
        )

    def errors(self, extension: str) -> Any:
        return self._of_engine(extension, "errors")

    def live(self, extension: str) -> int:
        count: int = self._of_engine(extension, "_core")._live()
        return count
