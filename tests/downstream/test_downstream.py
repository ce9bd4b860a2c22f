# SPDX-License-Identifier: Apache-2.0
"""Projects that use the installed package as a stranger would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from projects import ROOT, build, build_here, imported, run

import anyarray as aa


def test_readme_builds_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for language, name in (("cmake", "CMakeLists.txt"), ("cpp", "norm.cpp")):
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", readme, re.M | re.S)
        (tmp_path / name).write_text(block, encoding="utf-8")
    (said,) = re.findall(r'-Danyarray_DIR="\$\(python -m anyarray (.*?)\)"', readme)
    folder = run(sys.executable, "-m", "anyarray", *said.split()).strip()
    options = (f"-DPython_EXECUTABLE={sys.executable}", f"-Danyarray_DIR={folder}")
    build(tmp_path, tmp_path / "build", None, *options)
    code = "import norm; print(norm.norm(memoryview(bytes(16)).cast('d', (1, 2))))"
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "build"), prepend=os.pathsep)
    assert run(sys.executable, "-c", code) == "0.0\n"


@pytest.fixture(scope="module")
def two_devices(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The example library, built and imported."""
    folder = build_here(ROOT / "examples" / "two_devices", tmp_path_factory.mktemp("two_devices"))
    return imported(folder, "two_devices")


def test_example_gives_to_others(two_devices: Any) -> None:
    host = two_devices.full(1.5, 2, 3)
    for array in (np.from_dlpack(host), np.asarray(host)):
        assert (array.shape, array.dtype, array.sum()) == ((2, 3), np.dtype("f8"), 9.0)
        array[0, 0] = 2.5
        assert two_devices.total(host) == 10.0
        array[0, 0] = 1.5
    del host
    assert array.sum() == 9.0

    device = two_devices.to_device(two_devices.full(2.0, 1, 4))
    assert device.__dlpack_device__() == (12, 0)
    view = aa.view(device)
    assert (view.device, view.shape, view.owner is device) == ("ext_dev:0", (1, 4), True)
    for name in ("__array_interface__", "__array_struct__", "__buffer__", "__cuda_array_interface__"):
        assert not hasattr(device, name)
        assert not hasattr(type(device), name)  # and so isinstance of protocols says the truth
        assert name not in dir(device)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(device)
    with pytest.raises(TypeError, match="copy it to the host"):
        np.asarray(device)


def test_example_takes_from_others(two_devices: Any) -> None:
    taken = two_devices.take(np.arange(6.0).reshape(2, 3))
    assert isinstance(taken, two_devices.HostTensor)
    assert two_devices.total(taken) == 15.0
    on_device = two_devices.take(two_devices.to_device(taken))
    assert isinstance(on_device, two_devices.DeviceTensor)
    assert two_devices.total(on_device) == 15.0
    for wrong, words in ((np.zeros(3, "f4"), "float64"), (np.zeros((4, 4)).T[1:], "C"), ([1.0], "list")):
        with pytest.raises((aa.ExchangeError, aa.NotAnArrayError), match=words):
            two_devices.take(wrong)


def test_extension_needs_the_package_at_run_time(extension: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['anyarray'] = None\ntry: import norm\nexcept ImportError as e: print('refused:', e)"
    environment = {**os.environ, "PYTHONPATH": str(extension)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, text=True, capture_output=True)
    assert done.stdout.startswith("refused: import of anyarray halted"), done.stderr
