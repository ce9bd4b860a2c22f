# SPDX-License-Identifier: Apache-2.0
"""A consumer made with nanobind, compiled when it is needed: no library that one can import takes arrays that way."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

_SOURCE = """
#include <complex>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
namespace nb = nanobind;
NB_MODULE(anyarray_nanobind_consumer, m) {
  m.def("sum", [](nb::ndarray<const float, nb::ndim<1>, nb::device::cpu> a) {
    double sum = 0;
    for (size_t i = 0; i < a.shape(0); ++i) sum += a(i);
    return sum;
  });
  m.def("imag", [](nb::ndarray<const std::complex<float>, nb::ndim<1>, nb::device::cpu> a) { return a(0).imag(); });
}
"""


def _build(target: Path) -> None:
    import nanobind

    source = Path(nanobind.source_dir()) / "nb_combined.cpp"
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "consumer.cpp"
        module.write_text(_SOURCE, encoding="utf-8")
        made = Path(folder) / target.name
        robin = Path(nanobind.include_dir()).parent / "ext" / "robin_map" / "include"
        flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", "-w"]
        includes = [f"-I{d}" for d in (sysconfig.get_paths()["include"], nanobind.include_dir(), robin)]
        command = [os.environ.get("CXX", "g++"), *flags, *includes, str(module), str(source), "-o", str(made)]
        subprocess.run(command, check=True, capture_output=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(made, target)


def consumer() -> ModuleType:
    """The module, with `sum` of a float32 vector and `imag` of the first complex64."""
    from importlib import metadata

    tag = f"{metadata.version('nanobind')}{sysconfig.get_config_var('EXT_SUFFIX')}"
    cache = Path(tempfile.gettempdir()) / f"anyarray-nanobind-{os.getuid()}" / tag
    target = cache / "anyarray_nanobind_consumer.so"
    if not target.is_file():
        _build(target)
    spec = importlib.util.spec_from_file_location("anyarray_nanobind_consumer", target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["anyarray_nanobind_consumer"] = module
    spec.loader.exec_module(module)
    return module
