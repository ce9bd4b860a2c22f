# SPDX-License-Identifier: Apache-2.0
"""What our headers cost to compile stays a fraction of what including Python.h costs, in one run. Limits are wide: a
machine under load must not fail them. benchmarks/compile_time.py has the seconds and their targets."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
import toolchain
from toolchain import Compiler

#: Header, what it is compared with, and the most that it may add, in costs of <Python.h> over an empty file.
LIMITS = [("anyarray/anyarray.h", "", 0.6), ("anyarray/python.h", "#include <Python.h>\n", 0.75)]


def seconds(compiler: Compiler, texts: list[str], folder: Path) -> list[float]:
    """The processor's time of each text, the least of several compilations, taken in turn."""
    best = [float("inf")] * len(texts)
    for _ in range(5):
        for i, text in enumerate(texts):
            source = folder / f"cost{i}.cpp"
            source.write_text(text)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            compiler.accepts(source, "-std=c++17", toolchain.python_include())
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best[i] = min(best[i], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


@pytest.mark.parametrize(("header", "base", "limit"), LIMITS)
def test_headers_stay_light(header: str, base: str, limit: float, tmp_path: Path) -> None:
    compiler = toolchain.compilers()[0]
    texts = ["", "#include <Python.h>\n", base, f"{base}#include <{header}>\n"]
    empty, python, without, with_header = seconds(compiler, texts, tmp_path)
    assert with_header - without <= limit * (python - empty), (
        f"{header} adds {1000 * (with_header - without):.0f} ms; Python.h costs {1000 * (python - empty):.0f}"
    )
