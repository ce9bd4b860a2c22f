# SPDX-License-Identifier: Apache-2.0
"""The compilers of this machine and the headers of others that the tests here compile with, and what wasn't there.

Environment: ``ANYARRAY_COMPILERS=first``, to use the first of them alone; ``ANYARRAY_REQUIRE_COMPILERS``, names from
``WANTED`` that must be there; ``ANYARRAY_CUDA_INCLUDE`` and
``ANYARRAY_KOKKOS_INCLUDE``, the folders that hold ``cuda/std/mdspan`` and ``mdspan/mdspan.hpp`` (or
``experimental/mdspan``), which are otherwise looked for in installed packages and in usual places.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"
STANDARDS = ("c++17", "c++20", "c++23")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror")
#: What the library itself is built with, and others may.
LEAN = ("-fno-exceptions", "-fno-rtti")
WANTED = ("g++", "clang++", "libc++", "cuda", "kokkos")
REQUIRED = frozenset(os.environ.get("ANYARRAY_REQUIRE_COMPILERS", "").replace(",", " ").split())


@dataclass(frozen=True)
class Compiler:
    """A compiler with a standard library."""

    name: str
    command: tuple[str, ...]

    def run(self, source: Path, *flags: str) -> subprocess.CompletedProcess[str]:
        """Compile a file; the messages are in English, in stdout."""
        command = [*self.command, f"-I{INCLUDE}", f"-I{ROOT}", *flags, str(source)]
        return subprocess.run(
            command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "LC_ALL": "C"}
        )

    def accepts(self, source: Path, *flags: str) -> None:
        """Compile a file without linking, or fail with what the compiler says."""
        done = self.run(source, "-fsyntax-only", *flags)
        assert done.returncode == 0, f"{self.name} {' '.join(flags)}:\n{done.stdout}"

    def knows(self, text: str, *flags: str) -> bool:
        """Whether it compiles a few lines."""
        command = [*self.command, *flags, "-fsyntax-only", "-x", "c++", "-"]
        return subprocess.run(command, input=text, text=True, capture_output=True).returncode == 0


FIRST_ALONE = os.environ.get("ANYARRAY_COMPILERS") == "first"


def compilers() -> tuple[Compiler, ...]:
    """Those that the tests are run with."""
    return all_compilers()[: 1 if FIRST_ALONE else None]


@functools.cache
def all_compilers() -> tuple[Compiler, ...]:
    """Each compiler with each standard library that it finds here, as far as it does C++23."""
    clang = next(
        (name for name in ("clang++-19", "clang++-20", "clang++-21", "clang++") if shutil.which(name)), "clang++"
    )
    candidates = (
        Compiler("g++", ("g++",)),
        Compiler("clang++", (clang,)),
        Compiler("libc++", (clang, "-stdlib=libc++")),
    )
    return tuple(
        one for one in candidates if shutil.which(one.command[0]) and one.knows("#include <cstddef>\n", "-std=c++23")
    )


def _include_of(variable: str, header: str, distributions: tuple[str, ...], usual: tuple[str, ...]) -> Path | None:
    folders = [os.environ[variable]] if variable in os.environ else []
    for name in distributions:
        try:
            files = importlib.metadata.files(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        folders += [str(f.locate())[: -len(header)] for f in files if str(f).endswith(f"/{header}")]
    folders += usual
    return next((Path(folder) for folder in folders if (Path(folder) / header).is_file()), None)


@functools.cache
def cuda_include() -> Path | None:
    """Where libcu++ is."""
    return _include_of(
        "ANYARRAY_CUDA_INCLUDE",
        "cuda/std/mdspan",
        ("nvidia-cuda-cccl", "nvidia-cuda-cccl-cu12", "cuda-cccl"),
        ("/usr/local/cuda/include/cccl", "/usr/local/cuda/include", "/usr/include"),
    )


@functools.cache
def kokkos_include() -> Path | None:
    """Where the reference implementation of mdspan is, in its own spelling or the older one."""
    for header in ("mdspan/mdspan.hpp", "experimental/mdspan"):
        found = _include_of(
            "ANYARRAY_KOKKOS_INCLUDE", header, ("libraft-cu12", "libraft-cu13"), ("/usr/local/include", "/usr/include")
        )
        if found is not None:
            return found
    return None


def has_mdspan(compiler: Compiler, standard: str) -> bool:
    """Whether its standard library has std::mdspan under this standard."""
    return compiler.knows(
        "#include <version>\n#ifdef __cpp_lib_mdspan\n#include <mdspan>\n#else\n#error\n#endif\n", f"-std={standard}"
    )


def python_include() -> str:
    """The flag for Python.h."""
    return f"-isystem{sysconfig.get_path('include')}"


def library_include(module: str) -> Path | None:
    """The headers of a binding library that is installed here."""
    if importlib.util.find_spec(module) is None:
        return None
    library = importlib.import_module(module)
    where = library.include_dir() if hasattr(library, "include_dir") else library.get_include()
    return Path(where)


def missing() -> dict[str, str]:
    """What of WANTED isn't here, and what therefore didn't run."""
    there = {compiler.name for compiler in all_compilers()}
    notes = {
        "g++": "g++ that knows C++23",
        "clang++": "clang++ that knows C++23",
        "libc++": "clang++ with libc++ (std::mdspan)",
    }
    gone = {name: what for name, what in notes.items() if name not in there}
    if cuda_include() is None:
        gone["cuda"] = "cuda/std/mdspan (package nvidia-cuda-cccl)"
    if kokkos_include() is None:
        gone["kokkos"] = "Kokkos's mdspan (mdspan/mdspan.hpp or experimental/mdspan)"
    return gone
