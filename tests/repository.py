# SPDX-License-Identifier: Apache-2.0
"""What the repository holds, and what follows from that for what is built of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = {"build", "dist", "__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}


def repository_files() -> list[str]:
    """What is, or would be, in the repository, as paths from its root."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.splitlines()
    else:  # an unpacked sdist
        names = [
            path.relative_to(ROOT).as_posix()
            for path in ROOT.rglob("*")
            if not any(part in GENERATED or part.startswith(".venv") for part in path.relative_to(ROOT).parts)
        ]
    return sorted(name for name in names if (ROOT / name).is_file())


def engine_files() -> set[str]:
    """What anyarray_add_engine() builds into extensions: all sources, and the modules of the package that they hold."""
    sources = {
        name
        for name in repository_files()
        if name.startswith("src/") and name.endswith((".h", ".def", ".cpp")) and not name.endswith("_test.cpp")
    }
    cmake = (ROOT / "cmake" / "anyarrayEngine.cmake").read_text(encoding="utf-8")
    (modules,) = re.findall(r"ANYARRAY_ENGINE_MODULES\s+([\w\s/]+?)\)", cmake)
    return sources | {"src/home/in_extension.py"} | {f"python/anyarray/{name}.py" for name in modules.split()}


def prefix_files() -> set[str]:
    """What CMake installs below the prefix, whose library folder is lib; the kind of build is Release."""
    public = {name for name in repository_files() if name.startswith("include/")}
    package = {
        f"lib/cmake/anyarray/{name}.cmake"
        for name in (
            "anyarrayConfig",
            "anyarrayConfigVersion",
            "anyarrayEngine",
            "anyarrayTargets",
            "anyarrayTargets-release",
        )
    }
    return (
        public
        | package
        | {f"share/anyarray/{name}" for name in engine_files()}
        | {f"lib/pkgconfig/{name}.pc" for name in ("anyarray", "anyarray-core")}
        | {"lib/libanyarray_core.a"}
    )


def package_files(extension_suffix: str) -> set[str]:
    """What a wheel holds beside its metadata: the Python package, the extension, and the prefix inside the package."""
    modules = {name.removeprefix("python/") for name in repository_files() if name.startswith("python/")}
    return (
        modules | {f"anyarray/_core{extension_suffix}"} | {f"anyarray/cmake_prefix/{name}" for name in prefix_files()}
    )
