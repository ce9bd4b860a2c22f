# SPDX-License-Identifier: Apache-2.0
"""Every C++ block of docs/views.md compiles, with every compiler that is here. What a block needs beside C++17, its
first line says: `// with mdspan`, `// with cuda`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import toolchain
from toolchain import Compiler

BLOCKS = re.findall(r"^```cpp\n(.*?)^```", (toolchain.ROOT / "docs/views.md").read_text(encoding="utf-8"), re.M | re.S)


def flags_of(block: str, compiler: Compiler) -> list[str] | None:
    if block.startswith("// with mdspan\n"):
        return ["-std=c++23"] if toolchain.has_mdspan(compiler, "c++23") else None
    if block.startswith("// with cuda\n"):
        folder = toolchain.cuda_include()
        return ["-std=c++17", f"-isystem{folder}"] if folder is not None else None
    return ["-std=c++17"]


CASES = [
    pytest.param(compiler, number, flags, id=f"{number}-{compiler.name}")
    for number, block in enumerate(BLOCKS)
    for compiler in toolchain.compilers()
    if (flags := flags_of(block, compiler)) is not None
]


def test_the_page_has_blocks() -> None:
    assert len(BLOCKS) >= 8


@pytest.mark.parametrize(("compiler", "number", "flags"), CASES)
def test_block_compiles(compiler: Compiler, number: int, flags: list[str], tmp_path: Path) -> None:
    source = tmp_path / "block.cpp"
    source.write_text(BLOCKS[number])
    compiler.accepts(source, *flags, "-Wall", "-Wextra", "-Wconversion", "-Werror", toolchain.python_include())
