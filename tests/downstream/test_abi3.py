# SPDX-License-Identifier: Apache-2.0
"""Extensions for the limited API: one binary, in C and in C++, run by this Python and by others.

``ANYARRAY_OTHER_PYTHONS``: interpreters in which anyarray is installed (``make abi3`` says the oldest and the newest);
without it this Python alone runs what it built.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from projects import HERE, build_here, environment

OTHERS = [Path(name) for name in os.environ.get("ANYARRAY_OTHER_PYTHONS", "").split(os.pathsep) if name]

# Without NumPy: it needn't be there in the other interpreters.
USE = """
import array, gc, sys
import anyarray, rows, total, typed
assert all(module.__file__.endswith(".abi3.so") for module in (rows, total, typed))
x = array.array("d", [1.0, 2.0, 3.0])
assert total.total(x) == 6.0 and total.total(anyarray.view(memoryview(bytes(48)).cast("B").cast("d", (2, 3)))) == 0.0
assert typed.dot(x, x) == 14.0
for wrong in (array.array("f", [1.0]), memoryview(x).cast("B").cast("d", (1, 3))):
    try:
        typed.dot(x, wrong)
    except anyarray.ExchangeError as error:
        assert ("float64" if type(wrong) is array.array else "ndim") in str(error), error
    else:
        raise AssertionError(wrong)
kept = typed.keep(x)
assert (kept.tolist(), kept.owner is x, typed.zeros(3).tolist()) == ([1.0, 2.0, 3.0], True, [0.0, 0.0, 0.0])
del kept
typed.let_go()
assert rows.word(x) == "ok" and rows.word(3) == "not offered"
assert rows.array(x, "default").tolist() == [1.0, 2.0, 3.0]
assert rows.made(3).tolist() == [0, 1, 2] and rows.release_count() == 1
assert rows.keep(x) == (24, x)
rows.let_go()
del wrong
x.append(4.0)  # BufferError if an export were left
assert anyarray._core._live() == 0
print(sys.version_info[:2])
"""


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_here(HERE / "plain_c", tmp_path_factory.mktemp("abi3"), "-DLIMITED_API=ON")


def test_runs_here(extensions: Path) -> None:
    if not OTHERS:
        warnings.warn("ANYARRAY_OTHER_PYTHONS isn't set: one Python builds and runs", stacklevel=1)
    done = subprocess.run([sys.executable, "-c", USE], env=environment(extensions), text=True, capture_output=True)
    assert done.stdout == f"{sys.version_info[:2]}\n", done.stderr


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_runs_in_others(extensions: Path, other: Path) -> None:
    """The same files; an interpreter that was named and can't run them is a failure."""
    alone = {**os.environ, "PYTHONPATH": str(extensions)}
    done = subprocess.run([other, "-c", USE], env=alone, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout != f"{sys.version_info[:2]}\n", f"{other} is of this version too"
