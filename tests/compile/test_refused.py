# SPDX-License-Identifier: Apache-2.0
"""What must not compile, and that the message says why. Each file of refused/ compiles as it stands; with -DREFUSED it
doesn't, and what the compiler says matches the line that begins with `// says: `."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import toolchain
from toolchain import LEAN, Compiler

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("refused/*.cpp"))


def flags_of(compiler: Compiler, text: str) -> list[str] | None:
    """What the file needs: C++17, or what the mdspan that it includes needs; None where that isn't here."""
    if "mdspan_cuda.h" in text:
        return None if toolchain.cuda_include() is None else ["-std=c++17", f"-isystem{toolchain.cuda_include()}"]
    if "mdspan.h" in text:
        return ["-std=c++23"] if toolchain.has_mdspan(compiler, "c++23") else None
    return ["-std=c++17"]


def test_there_are_files() -> None:
    names = {path.stem for path in FILES}
    assert {"const_to_writable", "temporary_array", "temporary_taken", "mdspan_rank", "char_elements"} <= names


CASES = [
    pytest.param(path, compiler, flags, id=f"{path.stem}-{compiler.name}")
    for path in FILES
    for compiler in toolchain.compilers()
    if (flags := flags_of(compiler, path.read_text())) is not None
]


@pytest.mark.parametrize(("path", "compiler", "flags"), CASES)
def test_refused(path: Path, compiler: Compiler, flags: list[str]) -> None:
    flags = [*flags, *LEAN, "-Wall", "-Wextra", "-Werror", toolchain.python_include()]
    compiler.accepts(path, *flags)
    refused = compiler.run(path, "-fsyntax-only", "-DREFUSED", *flags)
    assert refused.returncode != 0, f"{compiler.name} compiles {path.name} with -DREFUSED"
    (says,) = re.findall(r"^// says: (.+)$", path.read_text(), re.M)
    assert re.search(says, refused.stdout), f"{compiler.name} doesn't say {says!r}:\n{refused.stdout}"


@pytest.mark.parametrize("compiler", toolchain.compilers(), ids=lambda c: c.name)
@pytest.mark.parametrize("header", ["view.h", "anyarray.h", "array.h", "python.h", "copy.h", "produce.h"])
def test_an_older_standard_is_told_what_is_needed(header: str, compiler: Compiler, tmp_path: Path) -> None:
    source = tmp_path / "old.cpp"
    source.write_text(f"#include <anyarray/{header}>\n")
    done = compiler.run(source, "-fsyntax-only", "-std=c++14", toolchain.python_include())
    first = next(line for line in done.stdout.splitlines() if "error" in line)
    assert "need C++17" in first, done.stdout
