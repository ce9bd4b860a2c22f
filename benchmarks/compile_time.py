# SPDX-License-Identifier: Apache-2.0
"""What our headers add to the time a file takes to compile, with each compiler that is here.

    python benchmarks/compile_time.py [--json FILE] [--smoke]

A header is compared with what is there anyhow: an empty file, Python.h, the binding library. Exit status: 0 all targets
are met (with --smoke: everything ran), 1 one isn't.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

INCLUDE = Path(__file__).resolve().parents[1] / "include"
#: Header, what is included before it anyhow, the most it may add in seconds.
HEADERS = [
    ("anyarray/view.h", "", None),
    ("anyarray/anyarray.h", "", 0.05),
    ("anyarray/ranges.h", "", None),
    ("anyarray/python.h", "Python.h", 0.1),
    ("anyarray/casters/nanobind.h", "nanobind/nanobind.h", 0.1),
    ("anyarray/casters/pybind11.h", "pybind11/pybind11.h", 0.1),
]
COMPILERS = [["g++"], ["clang++-19"], ["clang++-19", "-stdlib=libc++"]]


def folders() -> list[str]:
    """The folders of headers, as flags."""
    found = [f"-I{INCLUDE}", f"-I{sysconfig.get_path('include')}"]
    for module, function in (("nanobind", "include_dir"), ("pybind11", "get_include")):
        if importlib.util.find_spec(module) is not None:
            found.append(f"-I{getattr(importlib.import_module(module), function)()}")
    return found


def compiles(command: list[str], source: Path) -> float | None:
    """How long the processor worked for it, which other programs hardly change; None where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, str(source)], capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(command: list[str], folder: Path, rounds: int) -> list[dict[str, Any]]:
    """A row a header: what it adds, the least of `rounds` compilations each, taken in turn."""
    texts = {"": ""}
    for header, base, _ in HEADERS:
        before = f"#include <{base}>\n" if base else ""
        texts[base] = before
        texts[header] = f"{before}#include <{header}>\n"
    best: dict[str, float] = {}
    sources = {}
    for i, (name, text) in enumerate(texts.items()):
        sources[name] = folder / f"{i}.cpp"
        sources[name].write_text(text, encoding="utf-8")
        if compiles(command, sources[name]) is not None:  # this one warms the file cache
            best[name] = float("inf")
    for _ in range(rounds):
        for name in best:
            best[name] = min(best[name], compiles(command, sources[name]) or best[name])
    return [
        {"header": header, "over": base or "an empty file", "seconds": best[header] - best[base], "target": target}
        for header, base, target in HEADERS
        if header in best and base in best
    ]


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="What our headers cost to compile.")
    parser.add_argument("--modules", help="not used: all benchmarks are called alike")
    parser.add_argument("--smoke", action="store_true", help="one round, no verdict")
    parser.add_argument("--json", type=Path, help="write the numbers here as well")
    options = parser.parse_args()
    report: dict[str, list[dict[str, Any]]] = {}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for compiler in COMPILERS:
            name = " ".join(compiler)
            if shutil.which(compiler[0]) is None:
                print(f"{name}: not on this machine")
                continue
            command = [*compiler, "-std=c++17", "-O2", "-c", "-o", os.devnull, *folders()]
            report[name] = measure(command, Path(folder), 1 if options.smoke else 9)
            for row in report[name]:
                target = row["target"]
                over = target is not None and row["seconds"] > target
                missed += over
                verdict = "" if target is None else f"  at most {1000 * target:.0f}{': MISSED' if over else ''}"
                print(f"{name:26} {row['header']:30} {1000 * row['seconds']:6.0f} ms over {row['over']}{verdict}")
    if options.json is not None:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return 0 if options.smoke or not missed else 1


if __name__ == "__main__":
    sys.exit(main())
