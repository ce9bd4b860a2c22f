# SPDX-License-Identifier: Apache-2.0
"""The registry of array libraries that the matrix knows: one row each; the modules are imported in the workers only.

A library outside this table takes part by a Python file (or module) that defines `cases()`:
`anyarray matrix --library path/to/file.py`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import cast

from ..cases import Case
from ..installed import installed


@dataclass(frozen=True)
class Library:
    """`needs`: the module whose presence tells that it is installed, "" for none; `source`: "module:function".

    `origin` is what `find` was asked for, so that a worker process finds the same.
    """

    name: str
    needs: str
    distribution: str
    source: str
    origin: str

    def installed(self) -> bool:
        """Whether the library's module can be found."""
        return not self.needs or installed(self.needs)

    def cases(self) -> Iterable[Case]:
        """Imports the producer module, and with it the library. May raise whatever the import raises."""
        module_name, _, function = self.source.partition(":")
        module = _from_file(Path(module_name)) if module_name.endswith(".py") else importlib.import_module(module_name)
        return cast("Callable[[], Iterable[Case]]", getattr(module, function))()


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} can't be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _row(name: str, needs: str, distribution: str, module: str, function: str = "cases") -> Library:
    return Library(name, needs, distribution, f"{__name__}.{module}:{function}", name)


#: In the order in which they are shown.
LIBRARIES: tuple[Library, ...] = (
    _row("stdlib", "", "", "stdlib"),
    _row("numpy", "numpy", "numpy", "numpy"),
    _row("ml_dtypes", "ml_dtypes", "ml_dtypes", "ml_dtypes"),
    _row("pyarrow", "pyarrow", "pyarrow", "pyarrow"),
    _row("nanoarrow", "nanoarrow", "nanoarrow", "nanoarrow"),
    _row("tvm_ffi", "tvm_ffi", "apache-tvm-ffi", "tvm_ffi"),
    _row("pillow", "PIL", "pillow", "pillow"),
    _row("array_api_strict", "array_api_strict", "array-api-strict", "array_api_strict"),
    _row("torch", "torch", "torch", "torch"),
    _row("jax", "jax", "jax", "jax"),
    _row("tensorflow", "tensorflow", "tensorflow-cpu", "tensorflow"),
    _row("mlx", "mlx.core", "mlx", "mlx"),
    _row("paddle", "paddle", "paddlepaddle", "paddle"),
    _row("dpnp", "dpnp", "dpnp", "dpnp"),
    _row("warp", "warp", "warp-lang", "warp"),
    _row("onnxruntime", "onnxruntime", "onnxruntime", "onnxruntime"),
    _row("cuda.core", "cuda.core", "cuda-core", "cuda_core"),
    _row("mpi4py", "mpi4py", "mpi4py", "mpi4py"),
    _row("pydlpack", "dlpack", "pydlpack", "pydlpack"),
    _row("pandas", "pandas", "pandas", "frames", "pandas_cases"),
    _row("polars", "polars", "polars", "frames", "polars_cases"),
    _row("xarray", "xarray", "xarray", "frames", "xarray_cases"),
)


def find(name: str) -> Library:
    """The library of this name, or the one that a Python file or an importable module describes.

    Raises
    ------
    KeyError
        There is no such library, file or module.
    """
    for library in LIBRARIES:
        if library.name == name:
            return library
    if name.endswith(".py"):
        if not Path(name).is_file():
            raise KeyError(f"there is no file {name}")
        return Library(Path(name).stem, "", Path(name).stem, f"{name}:cases", name)
    if not installed(name):
        known = ", ".join(library.name for library in LIBRARIES)
        raise KeyError(f"{name!r} is neither a library of the matrix ({known}) nor a Python file or module")
    return Library(name, "", name.partition(".")[0], f"{name}:cases", name)
