# SPDX-License-Identifier: Apache-2.0
"""What all tests share: libraries that may be missing, the liar producer, and the check that nothing is held.

Environment: ``ANYARRAY_REQUIRE``, names of libraries that must be there, so that their tests can't be skipped;
``ANYARRAY_LIAR``, a folder that holds a built liar module (otherwise it is compiled here).
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import anyarray

REQUIRED = frozenset(os.environ.get("ANYARRAY_REQUIRE", "").replace(",", " ").split())
LIAR_SOURCE = Path(__file__).parents[1] / "liar" / "liar.c"
_missing: dict[str, int] = {}


def needs(name: str) -> Any:
    """The library, or a skip of what is being collected or run; an error where the library is required.

    Parameters
    ----------
    name : str
        Name to import, as in ``jax.numpy``; the part before the first dot is what ``ANYARRAY_REQUIRE`` lists.
    """
    top = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if top in REQUIRED:
            raise RuntimeError(f"{top} is required by ANYARRAY_REQUIRE and can't be imported") from error
        _missing[top] = _missing.get(top, 0) + 1
        pytest.skip(f"{top} isn't installed", allow_module_level=True)


def environment() -> dict[str, str]:
    """For another process, which is to import the anyarray that this one has."""
    paths = [str(Path(anyarray.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in paths if p)}


def in_a_process(code: str, timeout: float = 60) -> str:
    """What the code prints last."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, timeout=timeout, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return (done.stdout.strip().splitlines() or [""])[-1]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for name, count in sorted(_missing.items()):
        terminalreporter.write_line(f"not installed: {name} ({count} skipped for it)")


def _build_liar(folder: Path) -> Path:
    target = folder / f"liar{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    include = sysconfig.get_paths()["include"]
    command = [*compiler, "-std=gnu11", "-g", "-O1", "-shared", "-fPIC", f"-I{include}"]
    subprocess.run([*command, str(LIAR_SOURCE), "-o", str(target)], check=True)
    return target


@pytest.fixture(scope="session")
def liar_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled liar module."""
    folder = os.environ.get("ANYARRAY_LIAR")
    if folder:
        return Path(folder) / f"liar{sysconfig.get_config_var('EXT_SUFFIX')}"
    return _build_liar(tmp_path_factory.mktemp("liar"))


@pytest.fixture(scope="session")
def liar_module(liar_path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("liar", liar_path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["liar"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def liar(liar_module: Any) -> Iterator[Any]:
    """The liar, reset before; after the test everything it made must have been freed exactly once, in order."""
    liar_module.reset()
    yield liar_module
    gc.collect()
    counts = liar_module.counts()
    assert counts["deleted_again"] == 0
    assert counts["without_gil"] == 0
    assert counts["buffers_given"] == counts["buffers_released"]


@pytest.fixture(autouse=True)
def nothing_is_held() -> Iterator[None]:
    """No test may leave a borrow behind."""
    before = anyarray._core._live()
    yield
    if anyarray._core._live() > before:
        gc.collect()
    assert anyarray._core._live() <= before
