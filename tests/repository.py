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


def engine_modules() -> list[str]:
    """The Python modules that an engine that is built in takes along."""
    text = (ROOT / "cmake" / "anyarrayEngine.cmake").read_text(encoding="utf-8")
    listed = re.search(r"ANYARRAY_ENGINE_MODULES ([\w\s/]+)\)", text)
    assert listed is not None
    return listed[1].split()


def prefix_files() -> set[str]:
    """What CMake installs below the prefix, whose library folder is lib; the kind of build is Release."""
    public = {name for name in repository_files() if name.startswith("include/")}
    package = {
        f"lib/cmake/anyarray/anyarray{name}.cmake"
        for name in ("Config", "ConfigVersion", "Engine", "Targets", "Targets-release")
    }
    engine = {
        f"share/anyarray/{name}"
        for name in repository_files()
        if re.match(r"src/.*(?<!_test)\.(h|def|cpp)$", name) or name == "src/home/in_extension.py"
    } | {f"share/anyarray/python/anyarray/{name}.py" for name in engine_modules()}
    return (
        public
        | package
        | engine
        | {f"lib/pkgconfig/{name}.pc" for name in ("anyarray", "anyarray-core")}
        | {"lib/libanyarray_core.a"}
    )


def package_files(extension_suffix: str) -> set[str]:
    """What a wheel holds beside its metadata: the Python package, the extension, and the prefix inside the package."""
    modules = {name.removeprefix("python/") for name in repository_files() if name.startswith("python/")}
    return (
        modules | {f"anyarray/_core{extension_suffix}"} | {f"anyarray/cmake_prefix/{name}" for name in prefix_files()}
    )
