# SPDX-License-Identifier: Apache-2.0
"""Views to mdspans and back: mdspan.cpp, built and run for each kind of mdspan whose header is here, with each
compiler, and all kinds in one program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import toolchain
from toolchain import Compiler

HERE = Path(__file__).parent


def flags_of(kind: str, compiler: Compiler, standard: str) -> list[str] | None:
    """What a kind is compiled with; None where its header isn't here."""
    if kind == "STD":
        return ["-DSTD"] if toolchain.has_mdspan(compiler, standard) else None
    folder = toolchain.cuda_include() if kind == "CUDA" else toolchain.kokkos_include()
    return [f"-D{kind}", f"-isystem{folder}"] if folder is not None else None


def cases() -> list[object]:
    found = []
    for compiler in toolchain.compilers():
        for standard in ("c++17", "c++23"):
            kinds = {kind: flags_of(kind, compiler, standard) for kind in ("STD", "CUDA", "KOKKOS")}
            here = {kind: flags for kind, flags in kinds.items() if flags is not None}
            # Together, and alone where that is another program.
            sets = [list(here)] if len(here) > 1 else []
            sets += [[kind] for kind in here]
            for names in sets if standard == "c++17" or "STD" in here else []:
                flags = [flag for name in names for flag in here[name]]
                label = "+".join(names).lower()
                found.append(pytest.param(compiler, standard, flags, id=f"{label}-{compiler.name}-{standard}"))
    return found


@pytest.mark.parametrize(("compiler", "standard", "flags"), cases())
def test_to_mdspan_and_back(compiler: Compiler, standard: str, flags: list[str], tmp_path: Path) -> None:
    program = tmp_path / "mdspan"
    done = compiler.run(
        HERE / "mdspan.cpp", f"-std={standard}", "-Wall", "-Wextra", "-Werror", *flags, "-o", str(program)
    )
    assert done.returncode == 0, done.stdout
    ran = subprocess.run([program], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ran.returncode == 0, ran.stdout
    assert " 0 failed" in ran.stdout
