# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone, with every compiler and standard library that is here, under C++17, 20 and 23,
with all warnings as errors, without exceptions and RTTI."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import toolchain
from toolchain import INCLUDE, LEAN, STANDARDS, WARNINGS, Compiler

HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h"))

Needs = Callable[[Compiler, str], "list[str] | None"]


def of_folder(folder: Path | None) -> list[str] | None:
    """The flags for a folder of others' headers; None where there is none."""
    return [f"-isystem{folder}"] if folder is not None else None


def of_binding(module: str) -> list[str] | None:
    """The flags for a binding library, which needs exceptions and RTTI."""
    folder = of_folder(toolchain.library_include(module))
    return [*folder, "-fexceptions", "-frtti"] if folder is not None else None


# Headers that need more than a compiler: the flags for it, or None where it isn't there.
NEEDS: dict[str, Needs] = {
    "anyarray/mdspan.h": lambda c, standard: [] if toolchain.has_mdspan(c, standard) else None,
    "anyarray/mdspan_cuda.h": lambda c, standard: of_folder(toolchain.cuda_include()),
    "anyarray/mdspan_kokkos.h": lambda c, standard: of_folder(toolchain.kokkos_include()),
    "anyarray/casters/nanobind.h": lambda c, standard: of_binding("nanobind"),
    "anyarray/casters/pybind11.h": lambda c, standard: of_binding("pybind11"),
}
# An older release of the reference implementation uses these without including them.
FIRST = {"anyarray/mdspan_kokkos.h": "#include <bit>\n#include <memory>\n"}


def test_what_is_required_is_here() -> None:
    assert toolchain.compilers(), "no C++ compiler that knows C++23"
    unknown = toolchain.REQUIRED - set(toolchain.WANTED)
    assert not unknown, f"ANYARRAY_REQUIRE_COMPILERS: {unknown} aren't names of {toolchain.WANTED}"
    gone = {name: what for name, what in toolchain.missing().items() if name in toolchain.REQUIRED}
    assert not gone


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize("compiler", toolchain.compilers(), ids=lambda c: c.name)
def test_each_header_compiles_alone(compiler: Compiler, standard: str, tmp_path: Path) -> None:
    assert "anyarray/view.h" in HEADERS
    failed = []
    for header in HEADERS:
        more = NEEDS[header](compiler, standard) if header in NEEDS else []
        if more is None:
            continue
        first = FIRST.get(header, "") if standard != "c++17" else "#include <memory>\n" * (header in FIRST)
        source = tmp_path / "alone.cpp"
        source.write_text(f"{first}#include <{header}>\n#include <{header}>\n")
        done = compiler.run(
            source, "-fsyntax-only", f"-std={standard}", *WARNINGS, *LEAN, toolchain.python_include(), *more
        )
        if done.returncode != 0:
            failed.append(f"{header}:\n{done.stdout}")
    assert not failed, "\n".join(failed)


@pytest.mark.parametrize("compiler", toolchain.compilers(), ids=lambda c: c.name)
def test_the_tests_of_views_compile_with_every_compiler(compiler: Compiler) -> None:
    for name in ("view_test.cpp", "array_test.cpp"):
        for standard in STANDARDS:
            compiler.accepts(
                toolchain.ROOT / "tests/cpp" / name, f"-std={standard}", "-Wall", "-Wextra", "-Werror", *LEAN
            )


def test_light_headers_include_nothing_heavy() -> None:
    """What all the headers without Python pull in of the standard library, by name: <type_traits> and C headers."""
    allowed = {"cfloat", "cstdarg", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "type_traits"}
    heavy = {"anyarray/complex.h", "anyarray/ranges.h"} | {h for h in HEADERS if "mdspan" in h or "casters/" in h}
    for header in HEADERS:
        text = (INCLUDE / header).read_text()
        if header in heavy or "Python.h" in text or "python.h" in text:
            continue
        used = set(re.findall(r"^#include <([a-z_]+)>$", text, re.M))
        assert used <= allowed, f"{header} includes {used - allowed}"
