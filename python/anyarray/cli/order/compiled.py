# SPDX-License-Identifier: Apache-2.0
"""nanobind and pybind11 take arrays in compiled functions only: small modules, built once and kept in a folder.

The folder is `ANYARRAY_ORDER_CACHE`, or one of the user's in the temporary folder; a name in it holds the versions of
the binding library and of Python.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

_NANOBIND = """
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <complex>
#include <cstdint>
namespace nb = nanobind;
nb::tuple describe(const nb::ndarray<nb::ro>& a) {
  nb::list shape;
  for (size_t i = 0; i < a.ndim(); ++i) shape.append(a.shape(i));
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(a.data()), nb::tuple(shape), int(a.dtype().code),
                        int(a.dtype().bits), int(a.dtype().lanes));
}
NB_MODULE(@NAME@, m) {
  m.def("first", [](const nb::ndarray<nb::ro>& a) { return double(*static_cast<const float*>(a.data())); });
  m.def("first_writable", [](const nb::ndarray<>& a) { return double(*static_cast<const float*>(a.data())); });
  m.def("describe", &describe);
  m.def("sum", [](const nb::ndarray<const float, nb::ndim<1>, nb::device::cpu>& a) {
    double sum = 0;
    for (size_t i = 0; i < a.shape(0); ++i) sum += a(i);
    return sum;
  });
  m.def("imag", [](const nb::ndarray<const std::complex<float>, nb::ndim<1>, nb::device::cpu>& a) {
    return a(0).imag();
  });
}
"""

_PYBIND11 = """
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
namespace py = pybind11;
PYBIND11_MODULE(@NAME@, m) {
  m.def("ensure", [](py::handle object) -> py::object {
    py::array a = py::array::ensure(object);
    return a ? py::object(a) : py::none();
  });
  m.def("first", [](const py::array_t<float>& a) { return double(*a.data()); });
}
"""


def folder() -> Path:
    """Where what is built is kept; made if need be, and refused if it is another user's."""
    given = os.environ.get("ANYARRAY_ORDER_CACHE")
    path = Path(given) if given else Path(tempfile.gettempdir()) / f"anyarray-order-{os.getuid()}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_uid != os.getuid():
        raise PermissionError(f"{path} belongs to another user; set ANYARRAY_ORDER_CACHE to a folder of your own")
    return path


def compiler() -> list[str]:
    """The command of the C++ compiler."""
    return shlex.split(os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++")


def _build(library: str, source: str, flags: list[str], units: list[str]) -> ModuleType:
    stamp = f"{metadata.version(library)} {sys.version} {source} {compiler()}"
    name = f"probe_{library}_{hashlib.sha256(stamp.encode()).hexdigest()[:12]}"
    target = folder() / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not target.exists():
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "module.cpp"
            file.write_text(source.replace("@NAME@", name))
            made = Path(scratch) / "module.so"
            options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing"]
            includes = [f"-I{sysconfig.get_paths()['include']}", *flags]
            command = [*compiler(), *options, *includes, str(file), *units, "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
                raise RuntimeError(f"the test module for {library} couldn't be built: {first}")
            kept = target.with_suffix(f".{os.getpid()}")
            kept.write_bytes(made.read_bytes())
            kept.replace(target)
    spec = importlib.util.spec_from_file_location(name, target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_nanobind(source: str) -> Any:
    """The module of this source, in which `@NAME@` stands for its name."""
    library = importlib.import_module("nanobind")
    root = Path(library.source_dir()).parent
    flags = [f"-I{library.include_dir()}", f"-I{root / 'ext' / 'robin_map' / 'include'}", "-DNDEBUG"]
    return _build("nanobind", source, flags, [str(root / "src" / "nb_combined.cpp")])


def nanobind() -> Any:
    """`first(x)` and `first_writable(x)`: the first element of an ndarray argument, read-only or not. `describe(x)`:
    its address, shape, and DLPack's three numbers of its dtype. `sum(x)` of a float32 vector and `imag(x)` of the first
    complex64 of one: arguments that say what they take.
    """
    return build_nanobind(_NANOBIND)


def pybind11() -> Any:
    """`ensure(x)`: what `py::array::ensure` gives, None for null; `first(x)`: the first element of an `array_t`."""
    library = importlib.import_module("pybind11")
    return _build("pybind11", _PYBIND11, [f"-I{library.get_include()}"], [])
