# SPDX-License-Identifier: Apache-2.0
"""What doesn't compile with the casters, and the sentence that says why."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest
from projects import needs

import anyarray as aa

NANOBIND = {
    "or_copy<view<float, 1>> x": "what is written to a copy would be lost",
    "or_copy<array<float, 1>> x": "what is written to a copy would be lost",
    "view<char, 1> x": "T isn't an element type",
    "view<const float, 1>* x": None,
    "or_copy<array<const float, 1>> x": "a copy doesn't know what it was made of",
}


@pytest.mark.parametrize("parameter", NANOBIND)
def test_with_nanobind(parameter: str, tmp_path: Path) -> None:
    nanobind = needs("nanobind")
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    assert compiler, "no C++ compiler on PATH"
    include = [Path(aa.__file__).parent / "cmake_prefix" / "include", nanobind.include_dir()]
    include.append(sysconfig.get_path("include"))
    command = [compiler, "-std=c++17", "-fsyntax-only", *(f"-I{folder}" for folder in include)]

    def compiles(declaration: str) -> tuple[bool, str]:
        source = tmp_path / "source.cpp"
        source.write_text(
            "#include <anyarray/casters/nanobind.h>\nusing namespace anyarray;\n"
            f"auto g = []({declaration}) {{ return given_like{{array<float, 1>(), x}}; }};\n"
            "auto f = [] { nanobind::cpp_function(g); };\n",
            encoding="utf-8",
        )
        done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr

    assert compiles("view<const float, 1> x") == (True, "")
    right, text = compiles(parameter)
    assert not right
    assert (NANOBIND[parameter] or "error") in text


PYBIND11_HEAD = """#include <anyarray/casters/pybind11.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>
namespace py = pybind11;
using View = anyarray::view<const float, 1>;
using Array = anyarray::array<const float, 1>;
PYBIND11_MODULE(wrong, m) { m.def("f", """
DURING = "shows memory that is held during the call alone"
PYBIND11 = {
    "list": ("[](std::vector<View>) {}", DURING),
    "pair": ("[](std::pair<View, int>) {}", DURING),
    "variant": ("[](std::variant<View, int>) {}", DURING),
    "optional-list": ("[](std::list<std::optional<View>>) {}", DURING),
    "map-result": ("[]() { return std::map<int, View>(); }", DURING),
    "callback": ("[](std::function<void(View)>) {}", DURING),
    "cast": ("[](py::object x) { return x.cast<View>().size(); }", DURING),
    "pointer": ("[](View*) {}", "a parameter is no pointer"),
    "reference": ("[](Array&) {}", "a parameter is no reference that can be changed"),
    "written-copy": ("[](anyarray::or_copy<anyarray::view<float, 1>>) {}", "what is written to a copy would be lost"),
}


@pytest.mark.parametrize("name", PYBIND11)
def test_with_pybind11(name: str, tmp_path: Path) -> None:
    code, words = PYBIND11[name]
    source = tmp_path / "wrong.cpp"
    source.write_text(f"{PYBIND11_HEAD}{code});\n}}\n")
    done = subprocess.run([*compiler(), "-fsyntax-only", str(source)], capture_output=True, text=True)
    assert done.returncode != 0
    assert words in done.stderr


def compiler() -> list[str]:
    """The C++ compiler with all includes that an extension needs."""
    folders = [sysconfig.get_paths()["include"], str(Path(aa.__file__).parent / "cmake_prefix" / "include")]
    folders.append(needs("pybind11").get_include())
    return [*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-fPIC", *(f"-I{folder}" for folder in folders)]
